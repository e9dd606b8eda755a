package battle

import (
	"fmt"

	"github.com/glasshouse-go/glasshouse/internal/wire"
)

// Mode says who wins.
type Mode uint8

// The modes. With Config.Lowest the comparison is turned round; the source's FLIP is Normal with Lowest.
const (
	Normal   Mode = iota + 1 // the highest total
	Shared                   // everybody
	Terminal                 // the highest total of the last case alone
	Jackpot                  // one committed draw, weighted by the totals
	Points                   // the most rounds won; a tied round is a point for each of the tied
)

var modeNames = []string{"", "normal", "shared", "terminal", "jackpot", "points"}

// Payout is the policy by which the winners share the items.
type Payout uint8

// The payout policies. See Settle for what each of them promises.
const (
	Pool       Payout = iota + 1 // the source's eleven steps, to the bit
	PoolCash                     // Pool, then what is missing in cash
	ExactCash                    // everybody exactly his share, items first, the rest in cash; the house gains nothing
	WholeItems                   // items only, nothing removed or added; envy-free up to any item
)

var payoutNames = []string{"", "pool", "pool_cash", "exact_cash", "whole_items"}

// Ties is the policy for teams level at the top.
type Ties uint8

// The tie policies.
const (
	SplitAll  Ties = iota + 1 // everybody shares, teams that lost outright too (the source)
	SplitTied                 // the tied teams share
	ExtraRoll                 // the tied teams roll until one is ahead
	Refund                    // the entries go back, nobody gets items
)

var tiesNames = []string{"", "split_all", "split_tied", "extra_roll", "refund"}

// Status is where a battle is in its life.
type Status uint8

// The statuses. The zero Status belongs to a State before its first step.
const (
	StatusWaiting    Status = iota + 1 // for players
	StatusInProgress                   // all seats taken, rounds being opened
	StatusFinished                     // settled and paid
	StatusCancelled                    // every entry paid back
)

var statusNames = []string{"", "waiting", "in_progress", "finished", "cancelled"}

// Done reports whether no step can follow.
func (s Status) Done() bool { return s == StatusFinished || s == StatusCancelled }

// Phase is where a battle in progress stands on its timeline.
type Phase uint8

// The phases.
const (
	PhaseAwaitingBeacon Phase = iota + 1 // entries are closed, the public random value is not out yet
	PhaseCountdown
	PhaseRoundStarting
	PhaseSpinning
	PhaseRoundComplete
	PhaseFinished
)

var phaseNames = []string{"", "awaiting_beacon", "countdown", "round_starting", "spinning", "round_complete", "finished"}

// The text forms are those of the JSON; parsing an unknown one is an error.

func (m Mode) String() string                { return wire.EnumString(modeNames, m) }
func (m Mode) MarshalText() ([]byte, error)  { return wire.EnumText(modeNames, m) }
func (m *Mode) UnmarshalText(b []byte) error { return parseEnum("mode", modeNames, b, m) }

func (p Payout) String() string                { return wire.EnumString(payoutNames, p) }
func (p Payout) MarshalText() ([]byte, error)  { return wire.EnumText(payoutNames, p) }
func (p *Payout) UnmarshalText(b []byte) error { return parseEnum("payout", payoutNames, b, p) }

func (t Ties) String() string                { return wire.EnumString(tiesNames, t) }
func (t Ties) MarshalText() ([]byte, error)  { return wire.EnumText(tiesNames, t) }
func (t *Ties) UnmarshalText(b []byte) error { return parseEnum("ties", tiesNames, b, t) }

func (s Status) String() string                { return wire.EnumString(statusNames, s) }
func (s Status) MarshalText() ([]byte, error)  { return wire.EnumText(statusNames, s) }
func (s *Status) UnmarshalText(b []byte) error { return parseEnum("status", statusNames, b, s) }

func (p Phase) String() string                { return wire.EnumString(phaseNames, p) }
func (p Phase) MarshalText() ([]byte, error)  { return wire.EnumText(phaseNames, p) }
func (p *Phase) UnmarshalText(b []byte) error { return parseEnum("phase", phaseNames, b, p) }

// parseEnum names what was to be read: encoding/json does not say which field it was at.
func parseEnum[T ~uint8](what string, names []string, text []byte, v *T) error {
	if err := wire.ParseEnum(names, text, v); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
