package glasshouse_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/internal/machinetest/toy"
	"github.com/glasshouse-go/glasshouse/internal/wire"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// A counter is an engine for the tests of Host alone: any number of steps, seats to take and leave, a clock that each
// Wind sets, and faults on demand.
type counter struct {
	data counterData
}

type counterData struct {
	Rev   uint64   `json:"rev"`
	At    int64    `json:"at"`
	Over  string   `json:"over,omitempty"`
	Sum   int64    `json:"sum"`
	Seats []string `json:"seats"`
	Clock int64    `json:"clock"` // ms; 0 = none
	Fault string   `json:"fault,omitempty"`
}

type counterView struct {
	Rev    uint64 `json:"rev"`
	At     int64  `json:"at"`
	Sum    int64  `json:"sum"`
	Over   string `json:"over,omitempty"`
	Viewer string `json:"viewer,omitempty"`
}

type counterCommand interface{ Kind() string }

type (
	Add   struct{ N int64 }      // a step
	Tick  struct{}               // a step that may be volatile
	Sit   struct{}               // takes a seat
	Stand struct{}               // gives it up
	Wind  struct{ MS int64 }     // sets the clock
	End   struct{ Why string }   // the last step
	Ring  struct{}               // the clock has run out
	Break struct{ Where string } // from now on the engine panics there
)

func (Add) Kind() string   { return "add" }
func (Tick) Kind() string  { return "tick" }
func (Sit) Kind() string   { return "sit" }
func (Stand) Kind() string { return "stand" }
func (Wind) Kind() string  { return "wind" }
func (End) Kind() string   { return "end" }
func (Ring) Kind() string  { return "ring" }
func (Break) Kind() string { return "break" }

// happened is the only event: the command and who sent it.
type happened struct {
	By   string          `json:"by"`
	What json.RawMessage `json:"what"`
}

func (happened) Kind() string { return "happened" }

type counterEvent interface{ Kind() string }

var (
	counterCommands = wire.NewUnion[counterCommand](1<<12, Add{}, Tick{}, Sit{}, Stand{}, Wind{}, End{}, Ring{}, Break{})
	counterEvents   = wire.NewUnion[counterEvent](1<<12, happened{})
)

type counterError string

func (e counterError) Error() string { return "counter: " + string(e) }
func (e counterError) Code() string  { return string(e) }

func (s *counter) breaks(where string) {
	if s.data.Fault == where {
		panic("broken " + where)
	}
}

func (s *counter) Step(in glasshouse.Input, cmd counterCommand) (*counter, glasshouse.Turn[counterEvent], error) {
	var none glasshouse.Turn[counterEvent]
	if err := in.Check(); err != nil {
		return nil, none, err
	}
	s.breaks("step")
	switch cmd.(type) {
	case Ring:
		if s.data.Clock == 0 || in.At.UnixMilli() < s.data.Clock {
			return nil, none, counterError("not_due")
		}
	case End:
		if s.data.Fault == "endless" {
			return nil, none, counterError("endless")
		}
	}
	if s.data.Over != "" {
		return nil, none, counterError("over")
	}
	what, err := counterCommands.Marshal(cmd)
	if err != nil {
		return nil, none, err
	}
	t := glasshouse.Turn[counterEvent]{
		Rev: s.data.Rev + 1, At: time.UnixMilli(max(s.data.At, in.At.UnixMilli())).UTC(), Actor: in.Actor, ID: in.ID,
		Events: []counterEvent{happened{in.Actor, what}},
	}
	next, err := s.Apply(t)
	return next, t, err
}

func (s *counter) Apply(t glasshouse.Turn[counterEvent]) (*counter, error) {
	ev := t.Events[0].(happened)
	cmd, err := counterCommands.Unmarshal(ev.What)
	if err != nil {
		return nil, err
	}
	next := &counter{s.data}
	d := &next.data
	d.Rev, d.At, d.Seats = t.Rev, t.At.UnixMilli(), slices.Clone(d.Seats)
	switch cmd := cmd.(type) {
	case Add:
		d.Sum += cmd.N
	case Sit:
		d.Seats = append(d.Seats, ev.By)
	case Stand:
		d.Seats = slices.DeleteFunc(d.Seats, func(x string) bool { return x == ev.By })
	case Wind:
		d.Clock = d.At + cmd.MS
	case Ring:
		d.Clock = 0
	case End:
		d.Over, d.Clock = cmd.Why, 0
	case Break:
		d.Fault = cmd.Where
	}
	return next, nil
}

func (s *counter) View(viewer string) counterView {
	if viewer != "lucky" {
		s.breaks("view")
	}
	return counterView{s.data.Rev, s.data.At, s.data.Sum, s.data.Over, viewer}
}

func (s *counter) Observe(ev counterEvent, _ string) (counterEvent, bool) {
	s.breaks("observe")
	return ev, true
}
func (s *counter) Legal(string) []counterCommand { return nil }

func (s *counter) Deadline() glasshouse.Deadline {
	s.breaks("deadline")
	if s.data.Clock == 0 {
		return glasshouse.Deadline{}
	}
	return glasshouse.Deadline{Key: "ring", At: time.UnixMilli(s.data.Clock).UTC()}
}
func (s *counter) Rev() uint64 { return s.data.Rev }
func (s *counter) Tx(key ledger.DocKey, t glasshouse.Turn[counterEvent]) ledger.Tx {
	return counterRules().Commit(key, s, t, []byte("{}"))
}

func (s *counter) Snapshot() []byte {
	b, err := wire.Marshal(s.data)
	if err != nil {
		panic(err)
	}
	return b
}

func counterRules() glasshouse.Rules[*counter, counterCommand, counterEvent, counterView] {
	return glasshouse.Rules[*counter, counterCommand, counterEvent, counterView]{
		Game: "counter", Commands: counterCommands, Events: counterEvents,
		Restore: func(_, snap []byte) (*counter, error) {
			s := new(counter)
			return s, wire.Unmarshal(snap, &s.data)
		},
		Status: func(s *counter) string {
			if s.data.Over != "" {
				return "over"
			}
			return "running"
		},
		Done:   func(s *counter) bool { return s.data.Over != "" },
		Expire: func(string) counterCommand { return Ring{} },
		Void:   func(reason string) counterCommand { return End{reason} },
		Due: func(s *counter, now time.Time) (counterCommand, bool) {
			s.breaks("due")
			return Ring{}, s.data.Clock != 0 && now.UnixMilli() >= s.data.Clock
		},
		Seated: func(s *counter, actor string) bool { return slices.Contains(s.data.Seats, actor) },
		Volatile: func(t glasshouse.Turn[counterEvent]) bool {
			cmd, err := counterCommands.Unmarshal(t.Events[0].(happened).What)
			return err == nil && cmd == counterCommand(Tick{})
		},
	}
}

type (
	counterHost   = glasshouse.Host[*counter, counterCommand, counterEvent, counterView]
	counterConfig = glasshouse.HostConfig[*counter, counterCommand, counterEvent, counterView]
	counterSub    = glasshouse.Subscription[counterView]
	counterMsg    = glasshouse.Message[counterView]
	toyHost       = glasshouse.Host[*toy.State, toy.Command, toy.Event, toy.View]
	toyConfig     = glasshouse.HostConfig[*toy.State, toy.Command, toy.Event, toy.View]
)

// failures collects what a Host reports.
type failures struct {
	mu   sync.Mutex
	errs []error
}

func (f *failures) add(_ ledger.DocKey, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = append(f.errs, err)
}

func (f *failures) take() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	errs := f.errs
	f.errs = nil
	return errs
}

// site is a ledger on which Hosts of the tests run. Times are those of the bubble.
type site struct {
	t        *testing.T
	store    *faulty
	money    *ledger.Ledger
	reported failures
}

func newSite(t *testing.T) *site {
	w := &site{t: t, store: &faulty{Store: ledger.NewMemory()}}
	w.money = ledger.New(w.store, time.Now)
	return w
}

// counters is a Host that is closed at the end of the test, if not before.
func (w *site) counters(edit ...func(*counterConfig)) *counterHost {
	cfg := counterConfig{Rules: counterRules(), Money: w.money, Now: time.Now, OnError: w.reported.add}
	for _, e := range edit {
		e(&cfg)
	}
	h := glasshouse.NewHost(cfg)
	w.t.Cleanup(func() {
		w.store.heal()
		if err := h.Close(context.Background()); err != nil {
			w.t.Errorf("close: %v", err)
		}
	})
	return h
}

func spectatorsWait(d time.Duration) func(*counterConfig) {
	return func(c *counterConfig) { c.SpectatorDelay = d }
}

// open is a counter with its first step, which ana takes a seat with.
func (w *site) open(h *counterHost, key ledger.DocKey) {
	w.t.Helper()
	require.NoError(w.t, h.Open(w.t.Context(), key, new(counter)))
	w.do(h, key, "ana", Sit{})
}

func (w *site) do(h *counterHost, key ledger.DocKey, actor string, cmd counterCommand) glasshouse.Turn[counterEvent] {
	w.t.Helper()
	turn, err := h.Do(w.t.Context(), key, glasshouse.Input{Actor: actor, At: time.Now()}, cmd)
	require.NoError(w.t, err)
	return turn
}

func (w *site) subscribe(h *counterHost, key ledger.DocKey, viewer string) *counterSub {
	w.t.Helper()
	s, err := h.Subscribe(w.t.Context(), key, viewer)
	require.NoError(w.t, err)
	return s
}

// stored is the revision of a document.
func (w *site) stored(key ledger.DocKey) uint64 {
	w.t.Helper()
	doc, err := w.money.Doc(w.t.Context(), key)
	require.NoError(w.t, err)
	return doc.Version
}

// faulty is a store that fails or blocks on demand.
type faulty struct {
	ledger.Store
	mu      sync.Mutex
	before  func(ks ledger.KeySet) error // of a commit; an error keeps it from happening
	after   func(ks ledger.KeySet) error // an error keeps the answer from being known
	reads   func() error
	commits atomic.Int64
	dead    atomic.Bool // everything fails from now on: the process is gone
}

var errDead = errors.New("the process is gone")

func (f *faulty) set(change func(f *faulty)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *faulty) heal() { f.set(func(f *faulty) { f.before, f.after, f.reads = nil, nil, nil }) }

func (f *faulty) hooks() (before, after func(ledger.KeySet) error, reads func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.before, f.after, f.reads
}

func (f *faulty) Atomic(ctx context.Context, ks ledger.KeySet, do func(ledger.View) (ledger.Change, error)) error {
	before, after, _ := f.hooks()
	f.commits.Add(1)
	if f.dead.Load() {
		return errDead
	}
	if before != nil {
		if err := before(ks); err != nil {
			return err
		}
	}
	err := f.Store.Atomic(ctx, ks, do)
	if err == nil && after != nil {
		err = after(ks)
	}
	if f.dead.Load() {
		return ledger.ErrUncertain{ID: ks.ID, Err: errDead}
	}
	return err
}

func (f *faulty) Read(ctx context.Context, ks ledger.KeySet) (ledger.View, error) {
	if f.dead.Load() {
		return nil, errDead
	}
	if _, _, reads := f.hooks(); reads != nil {
		if err := reads(); err != nil {
			return nil, err
		}
	}
	return f.Store.Read(ctx, ks)
}
