package toy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/wire"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// Command is what somebody asks.
type Command interface {
	Kind() string
	command()
}

// Event is what has happened.
type Event interface {
	Kind() string
	event()
}

// The commands.
type (
	OpenGame struct{}
	Join     struct {
		Seed string `json:"seed"`
	}
	Show   struct{}
	Fold   struct{}
	Expire struct {
		Key string `json:"key"`
	}
	Void struct {
		Reason string `json:"reason"`
	}
)

// The events.
type (
	Opened struct {
		Seed       *fair.ServerSeed `json:"seed,omitempty"` // the host's
		Commitment fair.Digest      `json:"commitment"`
	}
	Joined struct {
		Player string `json:"player"`
		Seed   string `json:"seed"`
	}
	Dealt struct {
		Player string `json:"player"`
		Path   string `json:"path"`
		Roll   hidden `json:"roll,omitempty"` // the player's
	}
	Shown struct {
		Player string `json:"player"`
		Roll   uint64 `json:"roll"`
	}
	Folded struct {
		Player string `json:"player"`
	}
	Settled struct {
		Payouts []Payout `json:"payouts"`
		Seed    string   `json:"seed"` // revealed
	}
	Stopped struct {
		Reason  string   `json:"reason"`
		Payouts []Payout `json:"payouts"`
	}
)

func (OpenGame) Kind() string { return "open" }
func (Join) Kind() string     { return "join" }
func (Show) Kind() string     { return "show" }
func (Fold) Kind() string     { return "fold" }
func (Expire) Kind() string   { return "expire" }
func (Void) Kind() string     { return "void" }
func (Opened) Kind() string   { return "opened" }
func (Joined) Kind() string   { return "joined" }
func (Dealt) Kind() string    { return "dealt" }
func (Shown) Kind() string    { return "shown" }
func (Folded) Kind() string   { return "folded" }
func (Settled) Kind() string  { return "settled" }
func (Stopped) Kind() string  { return "stopped" }

func (OpenGame) command() {}
func (Join) command()     {}
func (Show) command()     {}
func (Fold) command()     {}
func (Expire) command()   {}
func (Void) command()     {}
func (Opened) event()     {}
func (Joined) event()     {}
func (Dealt) event()      {}
func (Shown) event()      {}
func (Folded) event()     {}
func (Settled) event()    {}
func (Stopped) event()    {}

var (
	commands = wire.NewUnion[Command](1<<12, OpenGame{}, Join{}, Show{}, Fold{}, Expire{}, Void{})
	events   = wire.NewUnion[Event](1<<12, Opened{}, Joined{}, Dealt{}, Shown{}, Folded{}, Settled{}, Stopped{})
)

// Rules is what Table needs.
func Rules() glasshouse.Rules[*State, Command, Event, View] {
	return glasshouse.Rules[*State, Command, Event, View]{
		Game: "toy", Commands: commands, Events: events,
		Restore: Restore,
		Status:  func(s *State) string { return s.status.String() },
		Done:    func(s *State) bool { return s.status.Done() },
		Expire:  func(key string) Command { return Expire{key} },
		Void:    func(reason string) Command { return Void{reason} },
		Due: func(s *State, now time.Time) (Command, bool) {
			if s.clock.Key == "" || now.UnixMilli() < s.clock.At {
				return nil, false
			}
			return Expire{s.clock.Key}, true
		},
	}
}

type snapshot struct {
	Format     int         `json:"format"`
	Rev        uint64      `json:"rev"`
	ConfigHash fair.Digest `json:"config_hash"`
	At         int64       `json:"at"`
	Status     Status      `json:"status"`
	Life       fair.Life   `json:"life"`
	Seats      []seat      `json:"seats"`
	Clock      clock       `json:"clock"`
	Payouts    []Payout    `json:"payouts"`
}

// Snapshot is the whole state: store it, never send it.
func (s *State) Snapshot() []byte {
	snap := snapshot{1, s.rev, s.cfg.Hash(), s.at, s.status, s.life, slices.Clone(s.seats), s.clock, s.payouts}
	if s.bug("forget") {
		for i := range snap.Seats {
			snap.Seats[i].Choice = Undecided
		}
	}
	b, err := wire.Marshal(snap)
	if err != nil {
		panic(err)
	}
	return b
}

// Restore reads a snapshot.
func Restore(config, data []byte) (*State, error) {
	var cfg Config
	if err := wire.Unmarshal(config, &cfg); err != nil {
		return nil, corrupt("config: %w", err)
	}
	fresh, err := NewGame(cfg)
	if err != nil {
		return nil, corrupt("config: %w", err)
	}
	var x snapshot
	if err := wire.Unmarshal(data, &x); err != nil {
		return nil, corrupt("snapshot: %w", err)
	}
	s := &State{fresh.cfg, x.Rev, x.At, x.Status, x.Life, x.Seats, x.Clock, x.Payouts}
	if x.Format != 1 || x.ConfigHash != cfg.Hash() || !s.sound() {
		return nil, corrupt("snapshot: %w", errMisfit)
	}
	return s, nil
}

// sound keeps a snapshot that somebody has altered from making the code panic.
func (s *State) sound() bool {
	seats, stage := len(s.seats), s.life.Stage()
	for _, x := range s.seats {
		if x.Choice > Gone || x.Roll > Sides {
			return false
		}
	}
	switch s.status {
	case New:
		return seats == 0 && stage == 0 && s.rev == 0
	case Open, Voided:
		return seats < 2 && stage == fair.StageOpen
	case Playing:
		return seats == 2 && stage == fair.StageResolved
	}
	return seats == 2 && stage == fair.StageRevealed
}

// Tx is what the step of t, which led to s, must write.
func (s *State) Tx(key ledger.DocKey, t glasshouse.Turn[Event]) ledger.Tx {
	tx := Rules().Commit(key, s, t, s.cfg.JSON())
	pay := func(payouts []Payout) {
		for _, p := range payouts {
			tx.Post = append(tx.Post, ledger.Posting{From: key.Escrow(), To: ledger.AccountID("user:" + p.Player), Asset: s.cfg.Asset, Amount: p.Amount})
		}
	}
	for _, ev := range t.Events {
		switch ev := ev.(type) {
		case Joined:
			tx.Post = append(tx.Post, ledger.Posting{From: ledger.AccountID("user:" + ev.Player), To: key.Escrow(), Asset: s.cfg.Asset, Amount: s.cfg.Entry})
		case Settled:
			pay(ev.Payouts)
		case Stopped:
			pay(ev.Payouts)
		}
	}
	return tx
}

type record struct {
	Format int               `json:"format"`
	Config Config            `json:"config"`
	Turns  []json.RawMessage `json:"turns"`
	Digest string            `json:"digest"`
}

func (r record) bytes() ([]byte, error) {
	r.Digest = ""
	b, err := wire.Marshal(r)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	r.Digest = hex.EncodeToString(sum[:])
	return wire.Marshal(r)
}

// NewRecord is what an auditor gets.
func NewRecord(cfg Config, turns iter.Seq2[glasshouse.Turn[Event], error]) ([]byte, error) {
	r := record{Format: 1, Config: cfg}
	for t, err := range turns {
		if err != nil {
			return nil, err
		}
		b, err := Rules().MarshalTurn(t)
		if err != nil {
			return nil, err
		}
		r.Turns = append(r.Turns, b)
	}
	return r.bytes()
}

// Verify derives everything again.
func Verify(data []byte) (fair.Report, error) {
	var rep fair.Report
	var r record
	if err := wire.Unmarshal(data, &r); err != nil {
		return rep, err
	}
	again, err := r.bytes()
	if err != nil {
		return rep, err
	}
	if r.Config.Bug != "gullible" {
		rep.Check(fair.FindingRecordDigest, string(data), string(again))
	}
	s, err := NewGame(r.Config)
	if err != nil {
		return rep, err
	}
	for _, raw := range r.Turns {
		t, err := Rules().UnmarshalTurn(raw)
		if err != nil {
			return rep, err
		}
		if s, err = s.Apply(t); err != nil {
			return rep, err
		}
	}
	rep.Add("over", s.status.Done(), s.status.String(), "finished or voided")
	return rep, nil
}
