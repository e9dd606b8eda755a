package toy

import (
	"crypto/sha256"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/wire"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// Sides of the die.
const Sides = 100

// Config is what is fixed about a game.
type Config struct {
	ID       string       `json:"id"`
	Asset    ledger.Asset `json:"asset"`
	Entry    int64        `json:"entry,string"`
	Players  []string     `json:"players"` // who may join
	JoinMS   int64        `json:"join_ms"`
	ChooseMS int64        `json:"choose_ms"`
	Bug      string       `json:"bug,omitempty"` // what to do wrong, see the tests of machinetest
}

// JSON is the config as its document holds it.
func (c Config) JSON() []byte {
	b, err := wire.Marshal(c)
	if err != nil {
		panic(err) // plain data
	}
	return b
}

// Hash is the SHA-256 of JSON.
func (c Config) Hash() fair.Digest { return sha256.Sum256(c.JSON()) }

// Validate names the field at fault.
func (c Config) Validate() error {
	switch {
	case !glasshouse.ValidName(c.ID):
		return fmt.Errorf("%w: id", ErrConfig)
	case c.Entry < 1 || c.Entry > 1e12:
		return fmt.Errorf("%w: entry", ErrConfig)
	case len(c.Players) < 2:
		return fmt.Errorf("%w: players", ErrConfig)
	case c.JoinMS < 1 || c.ChooseMS < 1 || c.JoinMS > 1e9 || c.ChooseMS > 1e9:
		return fmt.Errorf("%w: clocks", ErrConfig)
	}
	for i, p := range c.Players {
		if !glasshouse.ValidName(p) || slices.Contains(c.Players[:i], p) {
			return fmt.Errorf("%w: players[%d]", ErrConfig, i)
		}
	}
	return nil
}

// RuleError is a refusal.
type RuleError string

// The refusals.
const (
	ErrConfig   RuleError = "bad_config"
	ErrNotNew   RuleError = "already_open"
	ErrNotOpen  RuleError = "not_open"
	ErrPlaying  RuleError = "not_playing"
	ErrHostOnly RuleError = "host_only"
	ErrStranger RuleError = "not_invited"
	ErrJoined   RuleError = "already_joined"
	ErrChosen   RuleError = "already_chosen"
	ErrTooLate  RuleError = "too_late"
	ErrNotDue   RuleError = "not_due"
	ErrStaleKey RuleError = "stale_key"
	ErrText     RuleError = "bad_text"
	ErrNoDraw   RuleError = "no_draw"
	ErrCommand  RuleError = "unknown_command"
)

func (e RuleError) Error() string { return "toy: " + strings.ReplaceAll(string(e), "_", " ") }

// Code is the stable name.
func (e RuleError) Code() string { return string(e) }

// Status is where the game stands.
type Status uint8

// The statuses.
const (
	New Status = iota + 1
	Open
	Playing
	Finished
	Voided
)

var statusNames = []string{"", "new", "open", "playing", "finished", "voided"}

func (s Status) String() string               { return wire.EnumString(statusNames, s) }
func (s Status) MarshalText() ([]byte, error) { return wire.EnumText(statusNames, s) }

// UnmarshalText reads a name.
func (s *Status) UnmarshalText(b []byte) error { return wire.ParseEnum(statusNames, b, s) }

// Done says that nothing follows.
func (s Status) Done() bool { return s == Finished || s == Voided }

// Choice is what a player has done with his roll.
type Choice uint8

// The choices.
const (
	Undecided Choice = iota
	Showed
	Gone
)

// hidden is a roll that does not print.
type hidden uint64

func (hidden) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[secret]") }

type seat struct {
	Player string `json:"player"`
	Seed   string `json:"seed"`
	Roll   hidden `json:"roll"`
	Choice Choice `json:"choice"`
}

// Payout is money that leaves the pot.
type Payout struct {
	Player string `json:"player"`
	Amount int64  `json:"amount,string"`
}

type clock struct {
	Key string `json:"key"`
	At  int64  `json:"at"`
}

// State is one game, immutable.
type State struct {
	cfg     Config
	rev     uint64
	at      int64
	status  Status
	life    fair.Life
	seats   []seat
	clock   clock
	payouts []Payout
}

// NewGame is a game that nobody has stepped.
func NewGame(cfg Config) (*State, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Players = slices.Clone(cfg.Players)
	return &State{cfg: cfg, status: New}, nil
}

// Format prints nothing that is hidden, whatever the verb.
func (s *State) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "toy %s rev %d %s", s.cfg.ID, s.rev, s.status)
	if s.cfg.Bug == "print" && s.status != New {
		b, _ := wire.Marshal(s.life)
		_, _ = f.Write(b)
	}
}

func (s *State) bug(name string) bool { return s.cfg.Bug == name }

// Rev counts the steps.
func (s *State) Rev() uint64 { return s.rev }

// Status is where the game stands.
func (s *State) Status() Status { return s.status }

// Deadline is the only clock there is.
func (s *State) Deadline() glasshouse.Deadline {
	if s.clock.Key == "" {
		return glasshouse.Deadline{}
	}
	return glasshouse.Deadline{Key: s.clock.Key, At: time.UnixMilli(s.clock.At).UTC()}
}

func (s *State) seat(player string) int {
	return slices.IndexFunc(s.seats, func(x seat) bool { return x.Player == player })
}

// counter is the global state that a toy with the bug "global" has.
var counter atomic.Uint64

// Step decides what follows from the command, and applies it to a copy.
func (s *State) Step(in glasshouse.Input, cmd Command) (*State, glasshouse.Turn[Event], error) {
	none := glasshouse.Turn[Event]{}
	if err := in.Check(); err != nil {
		return nil, none, err
	}
	at := max(in.At.UnixMilli(), s.at)
	if s.bug("mutate") {
		s.at = at
	}
	events, err := s.decide(in, at, cmd)
	if err != nil {
		return nil, none, err
	}
	t := glasshouse.Turn[Event]{Rev: s.rev + 1, At: time.UnixMilli(at).UTC(), Actor: in.Actor, ID: in.ID, Events: events}
	next, err := s.apply(t)
	if err != nil {
		return nil, none, err
	}
	return next, t, nil
}

func (s *State) decide(in glasshouse.Input, at int64, cmd Command) ([]Event, error) {
	switch cmd := cmd.(type) {
	case OpenGame:
		return s.open(in)
	case Join:
		return s.join(in, at, cmd)
	case Show, Fold:
		return s.choose(in.Actor, at, cmd)
	case Expire:
		return s.expire(in.Actor, at, cmd.Key)
	case Void:
		return s.void(in.Actor, cmd)
	}
	return nil, ErrCommand
}

func (s *State) open(in glasshouse.Input) ([]Event, error) {
	switch {
	case in.Actor != glasshouse.System:
		return nil, ErrHostOnly
	case s.status != New:
		return nil, ErrNotNew
	case in.Draw == nil:
		return nil, ErrNoDraw
	}
	seed := fair.SeedFrom(in.Draw.At("seed", 0, 0))
	if s.bug("draw twice") {
		in.Draw.At("seed", 0, 0)
	}
	c, err := seed.Commit(s.cfg.ID)
	return []Event{Opened{Seed: &seed, Commitment: c}}, err
}

func (s *State) join(in glasshouse.Input, at int64, cmd Join) ([]Event, error) {
	switch {
	case s.status != Open:
		return nil, ErrNotOpen
	case at >= s.clock.At:
		return nil, ErrTooLate
	case !slices.Contains(s.cfg.Players, in.Actor):
		return nil, ErrStranger
	case s.seat(in.Actor) >= 0:
		return nil, ErrJoined
	case len(cmd.Seed) > 64:
		return nil, ErrText
	}
	joined := Joined{Player: in.Actor, Seed: cmd.Seed}
	if s.bug("global") {
		joined.Seed = fmt.Sprint(counter.Add(1))
	}
	if len(s.seats) == 0 {
		return []Event{joined}, nil
	}
	// The rolls follow from what is fixed now: look ahead by applying the entry.
	full := s.clone()
	if err := full.joined(joined); err != nil {
		return nil, err
	}
	events := []Event{joined}
	for i, x := range full.seats {
		path, roll := full.roll(i, at)
		events = append(events, Dealt{Player: x.Player, Path: path, Roll: roll})
	}
	return events, nil
}

// roll is what seat i gets, and where it was drawn.
func (s *State) roll(i int, at int64) (string, hidden) {
	j := uint64(i)
	if s.bug("redraw") {
		j = uint64(at)
	}
	stream := s.life.Root().Stream("roll", 1, j)
	path := fmt.Sprintf("roll/1/%d", j)
	switch {
	case s.bug("path twice"):
		path = "roll/1/0"
	case s.bug("no path"):
		path = ""
	}
	return path, hidden(stream.Roll(Sides))
}

func (s *State) choose(player string, at int64, cmd Command) ([]Event, error) {
	i := s.seat(player)
	switch {
	case s.status != Playing:
		return nil, ErrPlaying
	case i < 0:
		return nil, ErrStranger
	case at >= s.clock.At:
		return nil, ErrTooLate
	case s.seats[i].Choice != Undecided && !s.bug("again"):
		if s.bug("telling refusal") {
			return nil, fmt.Errorf("%w: the other one has %d", ErrChosen, uint64(s.seats[1-i].Roll))
		}
		return nil, ErrChosen
	}
	var ev Event = Folded{Player: player}
	choice := Gone
	if _, ok := cmd.(Show); ok {
		ev, choice = Shown{Player: player, Roll: uint64(s.seats[i].Roll)}, Showed
	}
	next := s.clone()
	next.seats[i].Choice = choice
	return append([]Event{ev}, next.end(false)...), nil
}

// end is the settlement, once everybody has chosen.
func (s *State) end(now bool) []Event {
	for _, x := range s.seats {
		if x.Choice == Undecided && !now {
			return nil
		}
	}
	revealed, _ := s.life.Reveal()
	seed, _ := revealed.Seed()
	return []Event{Settled{Payouts: s.settle(), Seed: seed.Hex()}}
}

// settle gives the pot to the higher roll that was shown; level, or with none shown, everybody has his entry back.
func (s *State) settle() []Payout {
	a, b := s.score(0), s.score(1)
	pot := 2 * s.cfg.Entry
	switch {
	case s.bug("keep one"):
		pot--
	case s.bug("pay more"):
		pot++
	}
	if a == b {
		return s.refund()
	}
	if a < b {
		return []Payout{{s.seats[1].Player, pot}}
	}
	return []Payout{{s.seats[0].Player, pot}}
}

func (s *State) score(i int) hidden {
	if s.seats[i].Choice != Showed {
		return 0
	}
	return s.seats[i].Roll
}

func (s *State) refund() []Payout {
	out := make([]Payout, len(s.seats))
	for i, x := range s.seats {
		out[i] = Payout{x.Player, s.cfg.Entry}
	}
	return out
}

func (s *State) expire(actor string, at int64, key string) ([]Event, error) {
	if s.bug("early") {
		at++
	}
	switch {
	case actor != glasshouse.System:
		return nil, ErrHostOnly
	case key == "" || key != s.clock.Key:
		return nil, ErrStaleKey
	case at < s.clock.At:
		return nil, ErrNotDue
	case s.status == Open:
		return []Event{Stopped{Reason: "nobody came", Payouts: s.refund()}}, nil
	}
	var events []Event
	next := s.clone()
	for i := range next.seats {
		if next.seats[i].Choice == Undecided {
			next.seats[i].Choice = Gone
			events = append(events, Folded{Player: next.seats[i].Player})
		}
	}
	return append(events, next.end(true)...), nil
}

func (s *State) void(actor string, cmd Void) ([]Event, error) {
	switch {
	case actor != glasshouse.System:
		return nil, ErrHostOnly
	case s.status != Open:
		return nil, ErrNotOpen
	case len(cmd.Reason) > 200:
		return nil, ErrText
	}
	return []Event{Stopped{Reason: cmd.Reason, Payouts: s.refund()}}, nil
}
