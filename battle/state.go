package battle

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/wire"
)

// Game is the name of this engine in memos, records and commitments.
const Game = "battle"

// snapshotFormat is the format of State.Snapshot.
const snapshotFormat = 1

// State is a battle between two steps. It is immutable: safe to read from any goroutine, and never changed by a method.
type State struct {
	setup *setup // what follows from the config alone
	d     data
}

// setup is computed once from the config and shared by all states of a battle.
type setup struct {
	cfg       Config
	json      []byte // the config as it is stored and hashed
	hash      fair.Digest
	entry     int64
	tables    []*fair.Table[int] // one a round
	hashes    []fair.Digest
	items     [][]int32 // per round and row: a number for each different item id
	catalogue *Catalogue
}

// data is everything else, in the form in which snapshots hold it.
type data struct {
	Rev        uint64       `json:"rev"`
	At         int64        `json:"at"` // ms, of the last step
	Status     Status       `json:"status,omitzero"`
	Phase      Phase        `json:"phase,omitzero"`
	Round      int          `json:"round,omitempty"`    // from 1, while and after it is opened
	PhaseAt    int64        `json:"phase_at,omitempty"` // when the phase started
	CreatedAt  int64        `json:"created_at,omitempty"`
	StartedAt  int64        `json:"started_at,omitempty"`
	EndedAt    int64        `json:"ended_at,omitempty"`
	Clock      clock        `json:"clock,omitzero"`
	Life       *fair.Life   `json:"life,omitempty"` // the server seed's; never changed in place
	Code       JoinCode     `json:"code,omitempty"`
	Seats      []seat       `json:"seats"`
	Bots       int          `json:"bots,omitempty"`
	Nonces     *NoncesSet   `json:"nonces,omitempty"`  // of the round to come
	Secrets    *LegacyDrawn `json:"secrets,omitempty"` // of the round to come
	Rolls      []Rolled     `json:"-"`                 // round by round, in seat order; see snapshot
	Settlement *Settlement  `json:"settlement,omitempty"`
	Cancelled  *Cancelled   `json:"cancelled,omitempty"`
	Revealed   RevealedSeed `json:"revealed,omitempty"`
}

// seat is a place in a team; User is empty while it is free. Players are seats that are taken.
type seat struct {
	User       string `json:"user,omitempty"`
	Bot        bool   `json:"bot,omitempty"`
	ClientSeed string `json:"client_seed,omitempty"`
	JoinedAt   int64  `json:"joined_at,omitempty"` // ms
}

// clock fires at At, in ms. At most one is running at any time; without a Key, none is.
type clock struct {
	Key string `json:"key"`
	At  int64  `json:"at"`
}

// The keys of clocks that are no phase's; a phase's is phase/<round>/<phase>.
const (
	expiryKey = "expiry"
	beaconKey = "beacon"
)

// New is the battle before its first step, which is Create. It draws nothing and is never stored. Errors are those of
// Config.Validate.
func New(cfg Config) (*State, error) {
	st, err := prepare(cfg.WithDefaults().Clone())
	if err != nil {
		return nil, err
	}
	return &State{setup: st, d: data{Seats: make([]seat, cfg.Layout.Seats())}}, nil
}

func prepare(cfg Config) (*setup, error) {
	tables, err := cfg.tables()
	if err != nil {
		return nil, err
	}
	st := &setup{cfg: cfg, entry: cfg.Entry(), tables: tables}
	if st.json, err = wire.Marshal(cfg); err != nil {
		return nil, err
	}
	st.hash = hashConfig(st.json)
	values := make([]int64, len(cfg.Catalogue))
	for i, it := range cfg.Catalogue {
		values[i] = it.Value
	}
	if st.catalogue, err = NewCatalogue(values); err != nil {
		return nil, err
	}
	ids := make(map[string]int32)
	for i, cs := range cfg.Cases {
		st.hashes = append(st.hashes, tables[i].Hash())
		rows := make([]int32, len(cs.Items))
		for r, it := range cs.Items {
			n, ok := ids[it.Item.ID]
			if !ok {
				n = int32(len(ids))
				ids[it.Item.ID] = n
			}
			rows[r] = n
		}
		st.items = append(st.items, rows)
	}
	return st, nil
}

// Rev is how many steps there have been.
func (s *State) Rev() uint64 { return s.d.Rev }

// Status is where the battle is in its life; the zero Status before Create.
func (s *State) Status() Status { return s.d.Status }

// Config is the battle's config with its defaults filled in. It is the caller's to change.
func (s *State) Config() Config { return s.setup.cfg.Clone() }

// Deadline is the running clock: until the battle expires, the beacon is missed, or the phase ends.
func (s *State) Deadline() glasshouse.Deadline {
	if s.d.Clock.Key == "" {
		return glasshouse.Deadline{}
	}
	return glasshouse.Deadline{Key: s.d.Clock.Key, At: time.UnixMilli(s.d.Clock.At).UTC()}
}

// Format keeps the secrets out of a printed State, a copy of it included.
func (s State) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "battle %s rev %d", s.setup.cfg.ID, s.d.Rev)
}

// snapshot is a State as it is stored. Of the rolls it holds the numbers, from which all the rest follows, and the rows
// of scheme legacy/52.
type snapshot struct {
	Format     int         `json:"format"`
	ConfigHash fair.Digest `json:"config_hash"`
	data
	Rolls []uint64    `json:"rolls,omitempty"`
	Rows  []LegacyRow `json:"legacy_rows,omitempty"`
}

// Snapshot is the state as it is stored: never send it, it holds the secrets.
func (s *State) Snapshot() []byte {
	out := snapshot{Format: snapshotFormat, ConfigHash: s.setup.hash, data: s.d, Rolls: make([]uint64, len(s.d.Rolls))}
	for i, r := range s.d.Rolls {
		out.Rolls[i] = r.Roll
		if r.Legacy != nil {
			out.Rows = append(out.Rows, *r.Legacy)
		}
	}
	b, err := wire.Marshal(out)
	if err != nil {
		panic("battle: snapshot: " + err.Error()) // plain data of our own
	}
	return b
}

// Restore makes the State of a snapshot again. Bytes that Snapshot did not write for this config are a
// [*glasshouse.CorruptError].
func Restore(cfg Config, snap []byte) (*State, error) {
	st, err := prepare(cfg.WithDefaults().Clone())
	if err != nil {
		return nil, err
	}
	s, err := restore(st, snap)
	if err != nil {
		return nil, &glasshouse.CorruptError{What: "battle snapshot", Err: err}
	}
	return s, nil
}

func restore(st *setup, snap []byte) (*State, error) {
	var in snapshot
	if err := wire.Unmarshal(snap, &in); err != nil {
		return nil, err
	}
	if in.Format != snapshotFormat {
		return nil, fmt.Errorf("format: %d is unknown", in.Format)
	}
	if in.ConfigHash != st.hash {
		return nil, errors.New("config_hash: another config's snapshot")
	}
	s := &State{setup: st, d: in.data}
	if err := s.addRolls(in); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if !bytes.Equal(s.Snapshot(), snap) {
		return nil, errors.New("written differently than this program does")
	}
	return s, nil
}

// addRolls makes the rolls of a snapshot again.
func (s *State) addRolls(in snapshot) error {
	switch {
	case len(s.d.Seats) == 0 || len(in.Rolls) > len(s.d.Seats)*len(s.setup.cfg.Cases):
		return fmt.Errorf("rolls: %d of %d seats", len(in.Rolls), len(s.d.Seats))
	case len(in.Rows) != 0 && len(in.Rows) != len(in.Rolls):
		return fmt.Errorf("legacy_rows: %d for %d rolls", len(in.Rows), len(in.Rolls))
	}
	for i, roll := range in.Rolls {
		if roll < 1 || roll > MaxRoll {
			return fmt.Errorf("rolls[%d]: %d, want 1 to %d", i, roll, MaxRoll)
		}
		var row *LegacyRow
		if len(in.Rows) > 0 {
			row = &in.Rows[i]
		}
		s.d.Rolls = append(s.d.Rolls, s.rolled(i, roll, row))
	}
	return nil
}

// clone copies what on may change; the slices of finished things are shared.
func (s *State) clone() *State {
	next := *s
	next.d.Seats = slices.Clone(s.d.Seats)
	next.d.Rolls = slices.Clip(s.d.Rolls) // append copies
	return &next
}

// free is the first free seat, or -1.
func (s *State) free() int {
	return slices.IndexFunc(s.d.Seats, func(p seat) bool { return p.User == "" })
}

// seatOf is the seat of a user, or -1.
func (s *State) seatOf(user string) int {
	if user == "" {
		return -1
	}
	return slices.IndexFunc(s.d.Seats, func(p seat) bool { return p.User == user })
}

// rollsKnown reports whether the host could already work out a roll.
func (s *State) rollsKnown() bool {
	if s.setup.cfg.Compat.Legacy52 {
		return s.d.Nonces != nil || len(s.d.Rolls) > 0
	}
	return s.d.Life != nil && s.d.Life.Root() != nil
}

// beaconOut reports whether the beacon that is waited for has come out by now: with it the host, who has the seed, can
// work out the rolls.
func (s *State) beaconOut() bool {
	at, ok := s.has(beaconKey)
	return ok && s.setup.cfg.Beacon != nil && s.d.At >= at-s.setup.cfg.Beacon.Timeout
}

// has reports whether the clock of that key is running, and until when.
func (s *State) has(key string) (at int64, ok bool) {
	return s.d.Clock.At, key != "" && s.d.Clock.Key == key
}

// restoreDocuments is Restore from the two documents of a stored battle.
func restoreDocuments(config, snap []byte) (*State, error) {
	var cfg Config
	if err := wire.Unmarshal(config, &cfg); err != nil {
		return nil, &glasshouse.CorruptError{What: "battle config", Err: err}
	}
	return Restore(cfg, snap)
}
