package fair

import (
	"crypto/sha256"
	"fmt"
)

// CardOpening shows the card at one position of a committed deal, and nothing
// about the others.
type CardOpening struct {
	// Pos is the position in the deal, from 0.
	Pos uint64 `json:"pos"`
	// Card is the card's name, 1..128 bytes of valid UTF-8.
	Card string `json:"card"`
	// Salt hides the card until it is opened.
	Salt Digest `json:"salt"`
}

// OpenCard returns the opening of one position; the salt is block 0 of the path
// ("salt", pos, deal) of the root. Keep it secret until the rules show the
// card.
func OpenCard(root *Root, deal, pos uint64, card string) CardOpening {
	return CardOpening{Pos: pos, Card: card, Salt: root.block("salt", pos, deal)}
}

// CommitCard returns what is published at the deal for one position:
// SHA-256(LP(P"/card") ‖ u64(pos) ‖ LP(card) ‖ salt). A card that is not
// 1..128 bytes of valid UTF-8 is [ErrText].
func CommitCard(root *Root, deal, pos uint64, card string) (Digest, error) {
	return OpenCard(root, deal, pos, card).Commitment()
}

// Commitment returns the commitment that the opening belongs to.
func (o CardOpening) Commitment() (Digest, error) {
	if err := checkText("card", o.Card); err != nil {
		return Digest{}, err
	}
	b := appendLP(nil, tag+"/card")
	b = appendU64(b, o.Pos)
	b = appendLP(b, o.Card)
	b = append(b, o.Salt[:]...)
	return sha256.Sum256(b), nil
}

// Check tells whether the opening fits the list published at the deal, which
// has one commitment per position: [ErrPosition] if it has no such position,
// [ErrOpening] if it does not fit.
func (o CardOpening) Check(published []Digest) error {
	if o.Pos >= uint64(len(published)) {
		return fmt.Errorf("%w: %d of %d", ErrPosition, o.Pos, len(published))
	}
	c, err := o.Commitment()
	if err != nil {
		return err
	}
	if c != published[o.Pos] {
		return fmt.Errorf("%w: %q at position %d", ErrOpening, o.Card, o.Pos)
	}
	return nil
}
