package battle

import (
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
	Clocks     []clock      `json:"clocks,omitempty"`
	Life       *fair.Life   `json:"life,omitempty"` // the server seed's; never changed in place
	Code       JoinCode     `json:"code,omitempty"`
	Seats      []seat       `json:"seats"`
	Bots       int          `json:"bots,omitempty"`
	Nonces     *NoncesSet   `json:"nonces,omitempty"`  // of the round to come
	Secrets    *LegacyDrawn `json:"secrets,omitempty"` // of the round to come
	Rolls      []Rolled     `json:"rolls,omitempty"`   // round by round, in seat order
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

// clock fires at At, in ms.
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

// Deadline is the earliest running clock, ties by key.
func (s *State) Deadline() glasshouse.Deadline {
	var first *clock
	for i := range s.d.Clocks {
		c := &s.d.Clocks[i]
		if first == nil || c.At < first.At || c.At == first.At && c.Key < first.Key {
			first = c
		}
	}
	if first == nil {
		return glasshouse.Deadline{}
	}
	return glasshouse.Deadline{Key: first.Key, At: time.UnixMilli(first.At).UTC()}
}

// Format keeps the secrets out of a printed State.
func (s *State) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "battle %s rev %d", s.setup.cfg.ID, s.d.Rev)
}

// deadline is the earliest running clock in ms, 0 if there is none.
func (s *State) deadline() int64 {
	if d := s.Deadline(); d.Key != "" {
		return d.At.UnixMilli()
	}
	return 0
}

type snapshot struct {
	Format     int         `json:"format"`
	ConfigHash fair.Digest `json:"config_hash"`
	data
}

// Snapshot is the state as it is stored: never send it, it holds the secrets.
func (s *State) Snapshot() []byte {
	b, err := wire.Marshal(snapshot{Format: snapshotFormat, ConfigHash: s.setup.hash, data: s.d})
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
	return s, s.check()
}

// check refuses a snapshot that would make methods panic; that it is a state which steps can lead to is the journal's
// to prove.
func (s *State) check() error {
	d, n, rounds := &s.d, s.setup.cfg.Layout.Seats(), len(s.setup.cfg.Cases)
	switch {
	case d.Rev == 0 || d.Status == 0 || d.Life == nil:
		return errors.New("rev: no battle is stored before Create")
	case len(d.Seats) != n:
		return fmt.Errorf("seats: %d, want %d", len(d.Seats), n)
	case d.Round < 0 || d.Round > rounds:
		return fmt.Errorf("round: %d, want 0 to %d", d.Round, rounds)
	case len(d.Rolls)%n != 0 || len(d.Rolls) > n*rounds:
		return fmt.Errorf("rolls: %d of %d seats", len(d.Rolls), n)
	case d.Status == StatusFinished && (d.Settlement == nil || len(d.Rolls) != n*rounds):
		return errors.New("settlement: missing in a finished battle")
	case d.Status == StatusCancelled && d.Cancelled == nil:
		return errors.New("cancelled: missing in a cancelled battle")
	case d.Status == StatusInProgress && s.free() >= 0:
		return fmt.Errorf("seats[%d]: free in a battle that has started", s.free())
	}
	for i, r := range d.Rolls {
		if err := s.checkRoll(r); err != nil || r.Round != i/n+1 || r.Seat != i%n {
			return fmt.Errorf("rolls[%d]: out of place", i)
		}
	}
	if d.Nonces != nil && (d.Secrets == nil || len(d.Nonces.Values) != n || len(d.Secrets.Seeds) != n) {
		return errors.New("nonces: not one for each seat")
	}
	return s.checkSettlement(d.Settlement)
}

func (s *State) checkRoll(r Rolled) error {
	switch {
	case r.Round < 1 || r.Round > len(s.setup.cfg.Cases):
		return fmt.Errorf("round %d", r.Round)
	case r.Seat < 0 || r.Seat >= len(s.d.Seats):
		return fmt.Errorf("seat %d", r.Seat)
	case r.Row < 0 || r.Row >= len(s.setup.cfg.Cases[r.Round-1].Items):
		return fmt.Errorf("row %d", r.Row)
	case (r.Legacy != nil) != s.setup.cfg.Compat.Legacy52:
		return errors.New("another scheme's roll")
	}
	return nil
}

// checkSettlement refuses indexes that point nowhere.
func (s *State) checkSettlement(st *Settlement) error {
	if st == nil {
		return nil
	}
	drops := len(s.d.Seats) * len(s.setup.cfg.Cases)
	for i, w := range st.Winners {
		if w < 0 || w >= len(s.d.Seats) {
			return fmt.Errorf("settlement.winners[%d]: no such seat", i)
		}
	}
	if len(st.Bundles) != len(st.Winners) {
		return errors.New("settlement.bundles: not one for each winner")
	}
	for i, r := range st.Records {
		added := r.Type == AddedFromPool
		if r.Winner < -1 || r.Winner >= len(st.Winners) || r.Winner < 0 && r.Type != RemovedToPool ||
			!added && (r.Drop < 0 || r.Drop >= drops || r.Booked < 0 || r.Booked >= drops) ||
			added && (r.Catalogue < 0 || r.Catalogue >= len(s.setup.cfg.Catalogue)) {
			return fmt.Errorf("settlement.records[%d]: points nowhere", i)
		}
	}
	return nil
}

// clone copies what on may change; the slices of finished things are shared.
func (s *State) clone() *State {
	next := *s
	next.d.Seats = slices.Clone(s.d.Seats)
	next.d.Clocks = slices.Clone(s.d.Clocks)
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

// has reports whether the clock of that key is running, and until when.
func (s *State) has(key string) (at int64, ok bool) {
	for _, c := range s.d.Clocks {
		if c.Key == key {
			return c.At, true
		}
	}
	return 0, false
}

func (s *State) setClock(key string, at int64) { s.d.Clocks = append(s.d.Clocks, clock{key, at}) }

// restoreDocuments is Restore from the two documents of a stored battle.
func restoreDocuments(config, snap []byte) (*State, error) {
	var cfg Config
	if err := wire.Unmarshal(config, &cfg); err != nil {
		return nil, &glasshouse.CorruptError{What: "battle config", Err: err}
	}
	return Restore(cfg, snap)
}
