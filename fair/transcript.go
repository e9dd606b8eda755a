package fair

import (
	"crypto/sha256"
	"fmt"
	"slices"
)

// Contribution is what one player adds to the randomness.
type Contribution struct {
	// Player is the player's id, 1..128 bytes of valid UTF-8.
	Player string `json:"player"`
	// Operator marks bytes made by the house: those of bots and of house
	// players. They prove nothing to anybody, and the record says so.
	Operator bool `json:"operator"`
	// Seed is 0..64 bytes, taken as given; JSON has it as lower-case hex. An
	// empty one is allowed and adds nothing.
	Seed Bytes `json:"seed"`
}

func (c Contribution) check() error {
	if err := checkText("player", c.Player); err != nil {
		return err
	}
	if len(c.Seed) > maxContribution {
		return fmt.Errorf("%w: player %q gives %d bytes, want at most %d", ErrContribution, c.Player, len(c.Seed), maxContribution)
	}
	return nil
}

// Terms is what the house publishes with its commitment.
type Terms struct {
	// Kind is the kind of game, such as "battle": the same seed means
	// something else in another game. 1..128 bytes of valid UTF-8.
	Kind string `json:"kind"`
	// Session names this one game, 1..128 bytes of valid UTF-8.
	Session string `json:"session"`
	// ConfigHash is the hash of the rules; zero if there are none.
	ConfigHash Digest `json:"config_hash"`
	// Tables are the hashes of the weighted tables in the order of the rules.
	Tables []Digest `json:"tables"`
}

func (t Terms) check() error {
	if err := checkText("kind", t.Kind); err != nil {
		return err
	}
	return checkText("session", t.Session)
}

// Transcript is everything that the freeze fixes: the terms, the commitment and
// the contributions in seat order.
type Transcript struct {
	Kind          string         `json:"kind"`
	Session       string         `json:"session"`
	Commitment    Digest         `json:"commitment"`
	ConfigHash    Digest         `json:"config_hash"`
	Tables        []Digest       `json:"tables"`
	Contributions []Contribution `json:"contributions"`
}

// Bytes returns T of the scheme: LP(kind) ‖ LP(session) ‖ LP(C) ‖
// LP(configHash) ‖ u64(m) ‖ Σ LP(H_T) ‖ u64(k) ‖ Σ (LP(player) ‖ u8(operator) ‖
// LP(seed)). Errors are [ErrText], [ErrCommitment], [ErrContribution] and
// [ErrDuplicate], with the name of the thing at fault.
func (t Transcript) Bytes() ([]byte, error) {
	if err := (Terms{Kind: t.Kind, Session: t.Session}).check(); err != nil {
		return nil, err
	}
	if t.Commitment.IsZero() {
		return nil, fmt.Errorf("%w: session %q has none", ErrCommitment, t.Session)
	}
	b := appendLP(nil, t.Kind)
	b = appendLP(b, t.Session)
	b = appendLP(b, t.Commitment[:])
	b = appendLP(b, t.ConfigHash[:])
	b = appendU64(b, uint64(len(t.Tables)))
	for _, h := range t.Tables {
		b = appendLP(b, h[:])
	}
	b = appendU64(b, uint64(len(t.Contributions)))
	if _, err := seats(t.Contributions); err != nil {
		return nil, err
	}
	for _, c := range t.Contributions {
		if err := c.check(); err != nil {
			return nil, err
		}
		b = appendLP(b, c.Player)
		if c.Operator {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
		b = appendLP(b, c.Seed)
	}
	return b, nil
}

// Freeze returns the digest that closes entries and names the one beacon value
// to come: F = SHA-256(LP(P"/freeze") ‖ T ‖ LP(descriptor) ‖ u64(target)). The
// target is the drand round or the block height, and 0 exactly if the
// descriptor is the zero one ([ErrTarget]).
func (t Transcript) Freeze(d Descriptor, target uint64) (Digest, error) {
	body, err := t.Bytes()
	if err != nil {
		return Digest{}, err
	}
	if err := checkTarget(d, target); err != nil {
		return Digest{}, err
	}
	b := appendLP(nil, tag+"/freeze")
	b = append(b, body...)
	b = appendLP(b, d.bytes())
	b = appendU64(b, target)
	return sha256.Sum256(b), nil
}

// seats returns the index of each player, or ErrDuplicate.
func seats(list []Contribution) (map[string]int, error) {
	at := make(map[string]int, len(list))
	for i, c := range list {
		if _, twice := at[c.Player]; twice {
			return nil, fmt.Errorf("%w: player %.140q", ErrDuplicate, c.Player)
		}
		at[c.Player] = i
	}
	return at, nil
}

func find(list []Contribution, player string) int {
	return slices.IndexFunc(list, func(c Contribution) bool { return c.Player == player })
}
