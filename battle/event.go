package battle

import (
	"fmt"
	"io"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/wire"
)

// Event is one thing that happened. Events are private host data: players get what State.Observe returns.
type Event interface {
	Kind() string
	event()
}

// Turn is one step of a battle.
type Turn = glasshouse.Turn[Event]

// maxEvent is the largest encoding of an event that is read, in bytes: a settlement of 320 drops and its compensation
// stays far below.
const maxEvent = 4 << 20

// JoinCode is the code of a private battle: 8 upper-case hex digits. It prints as [secret].
type JoinCode string

// Format prints [secret] whatever the verb.
func (JoinCode) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[secret]") }

type (
	// SeedDrawn holds what only the host may know until the end. Nobody observes it.
	SeedDrawn struct {
		Seed fair.ServerSeed `json:"seed"`
		Code JoinCode        `json:"code,omitempty"`
	}

	// Created opens the battle: from now on the commitment is public.
	Created struct {
		Commitment fair.Digest   `json:"commitment"`
		ConfigHash fair.Digest   `json:"config_hash"`
		Tables     []fair.Digest `json:"tables"`     // one a round
		ExpiresAt  int64         `json:"expires_at"` // ms
	}

	// Joined: somebody took a seat and paid the entry.
	Joined struct {
		User       string `json:"user"`
		Seat       int    `json:"seat"`
		Bot        bool   `json:"bot,omitempty"`
		ClientSeed string `json:"client_seed,omitempty"`
	}

	// SeedSet: a player replaced his client seed.
	SeedSet struct {
		Seat       int    `json:"seat"`
		ClientSeed string `json:"client_seed"`
	}

	// Left: a player gave up his seat and got the entry back.
	Left struct {
		User string `json:"user"`
		Seat int    `json:"seat"`
	}

	// Started: every seat is taken, entries are closed, and with them everything that the rolls follow from except the
	// beacon's value, if one is named.
	Started struct {
		Freeze fair.Digest `json:"freeze"`
		Target uint64      `json:"target,string"` // drand round; 0 without a beacon
	}

	// BeaconKnown: the public random value came.
	BeaconKnown struct {
		Value fair.Beacon `json:"value"`
	}

	// PhaseStarted moves the battle along its timeline.
	PhaseStarted struct {
		Phase  Phase `json:"phase"`
		Round  int   `json:"round"`   // from 1; 0 before the first
		EndsAt int64 `json:"ends_at"` // ms; 0 where the phase waits for something else than time
	}

	// NoncesSet: the players' counters for a round, in seat order (Legacy52).
	NoncesSet struct {
		Round  int     `json:"round"`
		Values []int64 `json:"values"`
	}

	// LegacyDrawn holds the seeds made for a round (Legacy52), in seat order. Nobody observes it; each roll shows its
	// own.
	LegacyDrawn struct {
		Round int            `json:"round"`
		Seeds []LegacySecret `json:"seeds"`
	}

	// Rolled: a player's item. Path is the draw: ("roll", Round, Seat), or with Legacy52 the pair of seeds.
	Rolled struct {
		Path   Path       `json:"path"`
		Round  int        `json:"round"` // from 1
		Seat   int        `json:"seat"`
		Roll   uint64     `json:"roll"` // 1..MaxRoll
		Row    int        `json:"row"`  // index into the case's items
		Flip   bool       `json:"flip,omitempty"`
		Legacy *LegacyRow `json:"legacy,omitempty"`
	}

	// Settled: who won, and who gets what.
	Settled struct {
		Settlement Settlement `json:"settlement"`
	}

	// SeedRevealed ends the secrecy: everything can be derived again.
	SeedRevealed struct {
		Seed RevealedSeed `json:"seed"`
	}

	// Cancelled: every entry was paid back. Reason is "expired", "cancelled" (by the creator), "beacon_missing", or
	// what the host gave to Void.
	Cancelled struct {
		Void   bool   `json:"void,omitempty"`
		Reason string `json:"reason"`
	}
)

// Path names a draw: the label and the two numbers of fair.Source.At.
type Path struct {
	Label string `json:"label"`
	I     uint64 `json:"i"`
	J     uint64 `json:"j"`
}

// RevealedSeed is a server seed that is public now, 64 hex digits.
type RevealedSeed string

// LegacySecret is a pair of seeds of scheme legacy/52 before its roll. It prints as [secret].
type LegacySecret struct {
	Server fair.ServerSeed `json:"server"`
	Client string          `json:"client"`
}

// Format prints [secret] whatever the verb.
func (LegacySecret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[secret]") }

// LegacyRow is what the source stores of a roll, beside the roll itself. A flip stores ServerSeed+"_flip", the same
// ClientSeed, Nonce+1 and the same roll again; see feed.RoundRows.
type LegacyRow struct {
	ServerSeed     string      `json:"server_seed"`
	ServerSeedHash fair.Digest `json:"server_seed_hash"`
	ClientSeed     string      `json:"client_seed"`
	Nonce          int64       `json:"nonce,string"`
}

// The names of the events.

func (SeedDrawn) Kind() string    { return "seed_drawn" }
func (Created) Kind() string      { return "created" }
func (Joined) Kind() string       { return "joined" }
func (SeedSet) Kind() string      { return "seed_set" }
func (Left) Kind() string         { return "left" }
func (Started) Kind() string      { return "started" }
func (BeaconKnown) Kind() string  { return "beacon_known" }
func (PhaseStarted) Kind() string { return "phase_started" }
func (NoncesSet) Kind() string    { return "nonces_set" }
func (LegacyDrawn) Kind() string  { return "legacy_drawn" }
func (Rolled) Kind() string       { return "rolled" }
func (Settled) Kind() string      { return "settled" }
func (SeedRevealed) Kind() string { return "seed_revealed" }
func (Cancelled) Kind() string    { return "cancelled" }

func (SeedDrawn) event()    {}
func (Created) event()      {}
func (Joined) event()       {}
func (SeedSet) event()      {}
func (Left) event()         {}
func (Started) event()      {}
func (BeaconKnown) event()  {}
func (PhaseStarted) event() {}
func (NoncesSet) event()    {}
func (LegacyDrawn) event()  {}
func (Rolled) event()       {}
func (Settled) event()      {}
func (SeedRevealed) event() {}
func (Cancelled) event()    {}

var events = wire.NewUnion[Event](maxEvent,
	SeedDrawn{}, Created{}, Joined{}, SeedSet{}, Left{}, Started{}, BeaconKnown{}, PhaseStarted{}, NoncesSet{},
	LegacyDrawn{}, Rolled{}, Settled{}, SeedRevealed{}, Cancelled{})

// MarshalEvent writes {"kind":"rolled","data":{…}}, secrets included.
func MarshalEvent(ev Event) ([]byte, error) { return events.Marshal(ev) }

// UnmarshalEvent reads it, strictly.
func UnmarshalEvent(data []byte) (Event, error) { return events.Unmarshal(data) }

// Observe is the event as viewer may see it; false if he may not know that it happened. Everything but the secrets is
// public, so the observed events of a finished battle are a record that anybody can verify.
func (s *State) Observe(ev Event, _ string) (Event, bool) {
	switch ev.(type) {
	case SeedDrawn, LegacyDrawn:
		return nil, false
	}
	return ev, true
}
