package battle

import (
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/wire"
)

// Command is what somebody asks of a battle. Who asks is in the Input, never in here.
type Command interface {
	Kind() string
	command()
}

// maxCommand is the largest encoding of a command that is read, in bytes.
const maxCommand = 4 << 10

type (
	// Create opens the battle: the host's first command. It draws the server seed and publishes the commitment, and
	// takes the creator's entry.
	Create struct{}

	// Join takes the first free slot of a team and pays the entry. ClientSeed, 0..64 bytes of text, is what the player
	// adds to the randomness.
	Join struct {
		Team       int    `json:"team"`
		Code       string `json:"code,omitempty"` // private battles
		ClientSeed string `json:"client_seed,omitempty"`
	}

	// Seed replaces the player's own client seed, as often as he likes until the battle starts.
	Seed struct {
		ClientSeed string `json:"client_seed"`
	}

	// AddBots fills every free seat with bots of the house, in team order, which starts the battle. Only the creator
	// may; he may bring his own client seed along.
	AddBots struct {
		ClientSeed string `json:"client_seed,omitempty"`
	}

	// Leave gives up the seat before the start, entry back. The creator cannot leave, he cancels.
	Leave struct{}

	// Cancel ends a battle that is waiting, all entries back. Only the creator may.
	Cancel struct{}

	// Expire fires the clock of that key, once it has run out. The host's.
	Expire struct {
		Key string `json:"key"`
	}

	// Beacon brings the public random value that was named when entries closed, once it is out. The host's.
	Beacon struct {
		Value fair.Beacon `json:"value"`
	}

	// Nonces brings the players' counters for a round, in seat order. The host's, in Legacy52 battles only, one round
	// at a time in the round's round_starting phase; the round waits for it.
	Nonces struct {
		Round  int     `json:"round"`  // from 1
		Values []int64 `json:"values"` // 0..2^53−1
	}

	// Void ends a battle that cannot go on, all entries back: while it waits, and after the start as long as no roll
	// is known: where a beacon is waited for, until the moment it comes out. The host's.
	Void struct {
		Reason string `json:"reason"` // at most 200 bytes; players see it
	}
)

// The names of the commands.

func (Create) Kind() string  { return "create" }
func (Join) Kind() string    { return "join" }
func (Seed) Kind() string    { return "seed" }
func (AddBots) Kind() string { return "add_bots" }
func (Leave) Kind() string   { return "leave" }
func (Cancel) Kind() string  { return "cancel" }
func (Expire) Kind() string  { return "expire" }
func (Beacon) Kind() string  { return "beacon" }
func (Nonces) Kind() string  { return "nonces" }
func (Void) Kind() string    { return "void" }

func (Create) command()  {}
func (Join) command()    {}
func (Seed) command()    {}
func (AddBots) command() {}
func (Leave) command()   {}
func (Cancel) command()  {}
func (Expire) command()  {}
func (Beacon) command()  {}
func (Nonces) command()  {}
func (Void) command()    {}

var commands = wire.NewUnion[Command](maxCommand,
	Create{}, Join{}, Seed{}, AddBots{}, Leave{}, Cancel{}, Expire{}, Beacon{}, Nonces{}, Void{})

// MarshalCommand writes {"kind":"join","data":{…}}.
func MarshalCommand(c Command) ([]byte, error) { return commands.Marshal(c) }

// UnmarshalCommand reads it, strictly: an unknown kind or field, a field twice or trailing data are errors.
func UnmarshalCommand(data []byte) (Command, error) { return commands.Unmarshal(data) }
