package legacy

import (
	"fmt"
	"strconv"

	"github.com/glasshouse-go/glasshouse/fair"
)

// Row52 is what concerns fairness in the original's BattleRound row, under the
// original's names.
type Row52 struct {
	ServerSeed     string  `json:"serverSeed"`
	ServerSeedHash string  `json:"serverSeedHash"`
	ClientSeed     string  `json:"clientSeed"`
	Nonce          int64   `json:"nonce"`
	Roll           uint64  `json:"roll"`
	IsFlip         bool    `json:"isFlip"`
	FlipServerSeed *string `json:"flipServerSeed"`
	FlipClientSeed *string `json:"flipClientSeed"`
	FlipNonce      *int64  `json:"flipNonce"`
	FlipRoll       *uint64 `json:"flipRoll"`
	ItemID         string  `json:"itemId,omitempty"` // "" = not given
}

// Item52 is an item of a case: an id and the rolls it covers, both included.
type Item52 struct {
	ID    string `json:"id"`
	First uint64 `json:"hashRangeStart"`
	Last  uint64 `json:"hashRangeEnd"`
}

// Table52 is a case as the original holds it. Ranges may overlap or leave gaps:
// the first match in order wins, and a gap is an error in the middle of a paid
// battle.
type Table52 struct {
	// Max is the greatest roll, 10,000,000 in the original.
	Max uint64 `json:"max"`
	// FlipThreshold is the roll from which the second roulette is tried; nil
	// if the case has none.
	FlipThreshold *uint64  `json:"flipThreshold"`
	Items         []Item52 `json:"items"`
}

// Default52 is the max of every roll in the original.
const Default52 = 10_000_000

// Record52 is a row with the case that it was drawn from, if that is known: the
// original does not keep it with the row.
type Record52 struct {
	Row   Row52    `json:"row"`
	Table *Table52 `json:"table"`
}

// Select returns the item for a roll as the original does, and whether it is a
// flip: from the threshold on, the first item that covers the roll among those
// that begin at or above the threshold; else the first item that covers it. ok
// is false where the original throws.
func (t Table52) Select(roll uint64) (item Item52, flip, ok bool) {
	if t.FlipThreshold != nil && roll >= *t.FlipThreshold {
		for _, it := range t.Items {
			if it.First >= *t.FlipThreshold && it.covers(roll) {
				return it, true, true
			}
		}
	}
	for _, it := range t.Items {
		if it.covers(roll) {
			return it, false, true
		}
	}
	return Item52{}, false, false
}

func (it Item52) covers(roll uint64) bool { return it.First <= roll && roll <= it.Last }

// Verify derives the row again. The only error is [ErrMax], for a table whose
// max no roll can have. Findings: commitment_matches, roll_matches,
// flip_consistent, and with a table and an item item_in_range.
func (r Record52) Verify() (fair.Report, error) {
	max := uint64(Default52)
	if r.Table != nil {
		max = r.Table.Max
	}
	if err := checkMax(max); err != nil {
		return fair.Report{}, err
	}
	var p pads
	p.set(r.Row.ServerSeed)
	var rep fair.Report
	rep.Check(fair.FindingCommitment, r.Row.ServerSeedHash, p.commit().String())
	rep.Check(fair.FindingRoll, decimal(r.Row.Roll), decimal(p.roll(r.Row.ClientSeed, r.Row.Nonce, max)))
	r.item(&rep)
	got, want := r.flip()
	rep.Check(fair.FindingFlip, got, want)
	r.unproven(&rep)
	return rep, nil
}

func (r Record52) item(rep *fair.Report) {
	switch {
	case r.Table == nil:
		rep.Unproven("which item the roll gives: the case's ranges are not in the record")
	case r.Row.ItemID == "":
		rep.Unproven("which item was given: the record names none")
	default:
		want := "no item covers the roll"
		if it, _, ok := r.Table.Select(r.Row.Roll); ok {
			want = it.ID
		}
		rep.Check(fair.FindingItemInRange, r.Row.ItemID, want)
	}
}

// flip returns what the row says about the second roulette, and what it should
// say. The flip uses the roll itself; the four fields only repeat the row.
func (r Record52) flip() (got, want string) {
	row := r.Row
	got = flipText(row.IsFlip, row.FlipServerSeed, row.FlipClientSeed, row.FlipNonce, row.FlipRoll)
	flip := row.IsFlip
	if r.Table != nil {
		_, flip, _ = r.Table.Select(row.Roll)
	}
	if !flip {
		return got, flipText(false, nil, nil, nil, nil)
	}
	seed, nonce := row.ServerSeed+"_flip", row.Nonce+1
	return got, flipText(true, &seed, &row.ClientSeed, &nonce, &row.Roll)
}

func flipText(flip bool, server, client *string, nonce *int64, roll *uint64) string {
	return fmt.Sprintf("isFlip=%t flipServerSeed=%s flipClientSeed=%s flipNonce=%s flipRoll=%s",
		flip, show(server, strconv.Quote), show(client, strconv.Quote),
		show(nonce, func(n int64) string { return strconv.FormatInt(n, 10) }), show(roll, decimal))
}

func show[T any](v *T, text func(T) string) string {
	if v == nil {
		return "null"
	}
	return text(*v)
}

func (r Record52) unproven(rep *fair.Report) {
	if r.Row.IsFlip {
		rep.Unproven("the documented re-check of a flip (seed + \"_flip\", nonce + 1) is not applicable: the flip uses the first roll, and the two never equal but by chance")
		if r.Table == nil {
			rep.Unproven("that the roll reached the flip threshold: it is not in the record")
		}
	}
	rep.Unproven("that the hash was shown to anybody before the roll: the original publishes none")
	rep.Unproven("that the player chose the client seed: the server makes both seeds")
	rep.Unproven("that no roll was discarded: the nonce is shared between games, so gaps are normal")
	rep.Unproven("who the players are, and that anything was paid")
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
