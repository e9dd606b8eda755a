package battle

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/glasshouse-go/glasshouse/internal/wire"
)

// OutcomeKind says how the winning side was found.
type OutcomeKind uint8

// The outcomes.
const (
	TeamWins      OutcomeKind = iota + 1 // one team, Settlement.Team
	Tied                                 // teams level at the top share, see Ties
	EverybodyWins                        // mode Shared
	Refunded                             // a tie under the Refund policy: the entries go back
)

var outcomeNames = []string{"", "team_wins", "tied", "everybody_wins", "refunded"}

// RecordType says what happened to an item.
type RecordType uint8

// The record types, with the source's meaning.
const (
	Dropped       RecordType = iota + 1 // a drop that a winner keeps
	RemovedToPool                       // a drop that the house takes, or under ExactCash buys at face value
	AddedFromPool                       // an item of the catalogue that a winner gets
)

var recordNames = []string{"", "dropped", "removed_to_pool", "added_from_pool"}

func (k OutcomeKind) String() string                { return wire.EnumString(outcomeNames, k) }
func (k OutcomeKind) MarshalText() ([]byte, error)  { return wire.EnumText(outcomeNames, k) }
func (k *OutcomeKind) UnmarshalText(b []byte) error { return parseEnum("outcome", outcomeNames, b, k) }

func (t RecordType) String() string               { return wire.EnumString(recordNames, t) }
func (t RecordType) MarshalText() ([]byte, error) { return wire.EnumText(recordNames, t) }
func (t *RecordType) UnmarshalText(b []byte) error {
	return parseEnum("record type", recordNames, b, t)
}

// Amounts is a list of integers, mostly cents, that JSON shows as decimal strings: they may pass 2^53.
type Amounts []int64

// MarshalJSON writes ["12","-3"].
func (a Amounts) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, n := range a {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = strconv.AppendInt(b, n, 10)
		b = append(b, '"')
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON writes, and nothing that it would have written differently ("+1", "007").
func (a *Amounts) UnmarshalJSON(data []byte) error {
	var texts []string
	if err := json.Unmarshal(data, &texts); err != nil {
		return err
	}
	out := make(Amounts, len(texts))
	for i, text := range texts {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != text {
			return fmt.Errorf("not an amount: %.40q", text)
		}
		out[i] = n
	}
	*a = out
	return nil
}

// TieRoll is one roll of one team under the ExtraRoll policy.
type TieRoll struct {
	Attempt int    `json:"attempt"`     // from 0; the path of the roll is ("tie", Attempt, Team)
	Team    int    `json:"team"`        // from 1
	Roll    uint64 `json:"roll,string"` // 1..10,000,000
}

// Bundle is what one winner gets. Amounts are cents.
type Bundle struct {
	Seat        int   `json:"seat"`
	Distributed int64 `json:"distributed,string"` // value held when the drops have been given out
	Kept        int64 `json:"kept,string"`        // … and after the removal of excess
	Added       int64 `json:"added,string"`       // value of the items from the catalogue
	AddedCount  int   `json:"added_count"`        // their number, at most 200
	Items       int64 `json:"items,string"`       // Kept + Added: the value of the items in the end
	Cash        int64 `json:"cash,string"`        // paid besides the items
}

// Record is what happened to one item. All references are indexes; the names belong to the Config.
type Record struct {
	Type RecordType `json:"type"`
	// Winner is an index into Settlement.Winners: who keeps, gets or loses the item. The source books a drop worth more
	// than the share on the first winner, whoever opened it, and so do Pool and PoolCash. It is -1 for a drop sold
	// under ExactCash, which no winner held.
	Winner int32 `json:"winner"`
	// Drop is the index of the drop that really moved, -1 for AddedFromPool. Every drop occurs in exactly one record.
	Drop int32 `json:"drop"`
	// Booked is the index of the drop whose round the source's row carries. It is another copy of the same item where
	// the source takes the first copy out of the pile and writes down the last; otherwise it equals Drop.
	Booked int32 `json:"booked"`
	// Catalogue is an index into the catalogue, -1 unless AddedFromPool.
	Catalogue int32 `json:"catalogue"`
	Value     int64 `json:"value,string"` // cents
}

// Settlement is the outcome of a battle and what becomes of every item. Amounts are cents. Three equations hold in
// every Settlement that Settle returns:
//
//	HouseGain = Value − Σ Bundle.Items − Σ Bundle.Cash
//	HouseGain = Removed − Added − Cash
//	HouseGain = Remainder + Residual − Overshoot − Cash
type Settlement struct {
	Outcome OutcomeKind `json:"outcome"`
	Team    int         `json:"team"` // the winning team, 0 unless Outcome is TeamWins (the source's winnerTeam)
	// Totals is the value of all that a team opened, in team order; always of all rounds.
	Totals Amounts `json:"totals"`
	// Scores is what was compared, in team order: the totals in Normal, the totals of the last round in Terminal, the
	// points in Points, the weights of the draw in Jackpot. In Shared nothing is compared and it repeats the totals.
	Scores    Amounts   `json:"scores"`
	TieRolls  []TieRoll `json:"tie_rolls,omitempty"`     // in the order of rolling
	Ticket    uint64    `json:"ticket,string,omitempty"` // Jackpot: 1..Σ Scores; the first team that reaches it wins
	Winners   []int     `json:"winners,omitempty"`       // seats, ascending; none when Refunded
	Value     int64     `json:"value,string"`            // V, what is shared out: all drops, or 0 when Refunded
	Share     int64     `json:"share,string"`            // ⌊V/n⌋ for n winners
	Remainder int64     `json:"remainder,string"`        // V mod n
	Bundles   []Bundle  `json:"bundles,omitempty"`       // one a winner, in the order of Winners
	Records   []Record  `json:"records,omitempty"`       // the source's order, see Settle
	Removed   int64     `json:"removed,string"`          // Σ RemovedToPool
	Added     int64     `json:"added,string"`            // Σ AddedFromPool
	Cash      int64     `json:"cash,string"`             // Σ Bundle.Cash
	Residual  int64     `json:"residual_deficit,string"` // Σ of what the items fall short of the share
	Overshoot int64     `json:"overshoot,string"`        // Σ of what the items exceed the share by
	HouseGain int64     `json:"house_gain,string"`       // what the house keeps; negative: what it adds
	CapHit    bool      `json:"cap_hit"`                 // the limit of 200 items kept a winner from an item that would have fitted
}

// Profit is the source's figure for a seat that paid entry cents: a winner's items and cash less the entry, a loser's
// entry lost, 0 when Refunded.
func (s Settlement) Profit(seat int, entry int64) int64 {
	if s.Outcome == Refunded {
		return 0
	}
	for _, b := range s.Bundles {
		if b.Seat == seat {
			return b.Items + b.Cash - entry
		}
	}
	return -entry
}
