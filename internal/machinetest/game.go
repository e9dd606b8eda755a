package machinetest

import (
	"iter"
	"time"

	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// Start is a game that nobody has stepped yet.
type Start[S any] struct {
	Key    ledger.DocKey    // "battle:7"
	Config []byte           // as Rules.Restore takes it, and as the first Tx writes it
	State  S                // at Rev 0
	Fund   []ledger.Posting // what the players begin with, from "world"; let some be short of money
	At     time.Time        // when it begins; zero is noon of 1 May 2026, UTC
}

// Draw is one outcome that an event tells: the path it was drawn at and what came. An outcome whose event does not
// name its path has Path "".
type Draw struct{ Path, Value string }

// Game is an engine with what is needed to play it at random. Rules, Start, Actors and Next are needed by all laws.
type Game[S glasshouse.Machine[S, C, E, V], C glasshouse.Command, E glasshouse.Event, V any] struct {
	Rules glasshouse.Rules[S, C, E, V]

	// Start draws a game. Small ones find more: few seats, few rounds, little money.
	Start func(t *rapid.T) Start[S]

	// Actors lists whose Legal counts: the players that s knows and those who may still come, and glasshouse.System
	// if the engine lists commands for it.
	Actors func(s S) []string

	// Next draws a command that somebody sends. Commands of Legal and clocks come without it, so it is for what
	// Legal cannot list (free parameters) and above all for what is to be refused: another's turn, a wrong amount,
	// a stranger, a player with the host's command. The command shares no memory with s.
	Next func(t *rapid.T, s S) (actor string, cmd C)

	// Viewers lists who looks on. Nil means the Actors without System, the spectator "" and a "stranger".
	Viewers func(s S) []string

	// Epoch is the connection epoch that an actor's input carries. Nil means 0, for games without connections.
	Epoch func(s S, actor string) uint64

	// Plain strips the free text of a command (a reason, a seed), to look for it in Legal; ok is false for commands
	// that Legal cannot list and so says nothing about. Nil means that all are judged as they are.
	Plain func(cmd C) (plain C, ok bool)

	// Secrets lists texts that viewer must not find in s, in its views or in an event that led to it: seeds in hex,
	// join codes, other hands' card names with what makes them unmistakable. For the viewer "" these are also the
	// texts that printing s, its turns and events must not show. Short texts will be found by chance.
	Secrets func(s S, viewer string) []string

	// Swap draws a state that differs from s only in what viewer cannot know: other seeds, other hands, with the
	// digests that belong to them. ok is false where he knows everything, or nothing is hidden.
	Swap func(t *rapid.T, s S, viewer string) (other S, ok bool)

	// SwapEvent does the same to an event of private data. Nil if no event has a secret in it.
	SwapEvent func(t *rapid.T, ev E, viewer string) (other E, ok bool)

	// Mask lists what a Swap changes although everybody sees it: the published digests of what is hidden, as paths
	// into the JSON of a View or, with the kind before it, of an event's data: "commitment", "seats.*.digest",
	// "opened.commitment". Their values are masked wherever they stand.
	Mask []string

	// Draws lists what an event tells of the outcomes of chance, secrets included.
	Draws func(ev E) []Draw

	// Record and Verify are the engine's NewRecord and Verify. Nil until it has them.
	Record func(config []byte, turns iter.Seq2[glasshouse.Turn[E], error]) ([]byte, error)
	Verify func(record []byte) (fair.Report, error)
}

// noon is when a game begins unless its Start says otherwise.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func (g *Game[S, C, E, V]) viewers(s S) []string {
	if g.Viewers != nil {
		return g.Viewers(s)
	}
	out := []string{"", "stranger"}
	for _, a := range g.Actors(s) {
		if a != glasshouse.System {
			out = append(out, a)
		}
	}
	return out
}
