package glasshouse_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/machinetest/toy"
	"github.com/glasshouse-go/glasshouse/ledger"
)

type table = glasshouse.Table[*toy.State, toy.Command, toy.Event, toy.View]

func secrets() *fair.Keyring { return fair.NewKeyring([]byte("sixteen secret bytes")) }

func config(id string) toy.Config {
	return toy.Config{ID: id, Asset: "BRL/2", Entry: 100, Players: []string{"ana", "bob"}, JoinMS: 60_000, ChooseMS: 10_000}
}

// world is a ledger with money in it and a game that nobody has stepped.
type world struct {
	money *ledger.Ledger
	fresh *toy.State
}

func newWorld(t *testing.T, cfg toy.Config, store ledger.Store) *world {
	t.Helper()
	fresh, err := toy.NewGame(cfg)
	require.NoError(t, err)
	w := &world{ledger.New(store, func() time.Time { return noon }), fresh}
	tx := ledger.Tx{ID: "fund"}
	for _, p := range cfg.Players {
		tx.Post = append(tx.Post, ledger.Posting{From: "world", To: ledger.AccountID("user:" + p), Asset: cfg.Asset, Amount: 150})
	}
	_, err = w.money.Do(t.Context(), tx)
	require.NoError(t, err)
	return w
}

func (w *world) open(t *testing.T, key ledger.DocKey) *table {
	t.Helper()
	tb, err := glasshouse.OpenTable(t.Context(), toy.Rules(), w.money, secrets(), key, w.fresh)
	require.NoError(t, err)
	return tb
}

func input(actor, id string) glasshouse.Input {
	return glasshouse.Input{Actor: actor, ID: id, At: noon}
}

func (w *world) do(t *testing.T, tb *table, actor, id string, cmd toy.Command) turn {
	t.Helper()
	tn, err := tb.Do(t.Context(), input(actor, id), cmd)
	require.NoError(t, err)
	return tn
}

func (w *world) balance(t *testing.T, a ledger.AccountID) int64 {
	t.Helper()
	b, err := w.money.Balance(t.Context(), a, "BRL/2")
	require.NoError(t, err)
	return b.Posted
}

// entries is the journal without the players' money.
func (w *world) entries(t *testing.T) []ledger.Entry {
	t.Helper()
	all, err := w.money.Journal(t.Context(), ledger.JournalQuery{After: 1})
	require.NoError(t, err)
	return all
}

func TestTablePlaysAGame(t *testing.T) {
	w := newWorld(t, config("g"), ledger.NewMemory())
	tb := w.open(t, "toy:g")
	require.Zero(t, tb.State().Rev())
	w.do(t, tb, glasshouse.System, "", toy.OpenGame{})
	w.do(t, tb, "ana", "", toy.Join{})
	w.do(t, tb, "bob", "", toy.Join{})
	require.EqualValues(t, 200, w.balance(t, "escrow:toy:g"))
	require.EqualValues(t, 0, tb.View("").Seats[0].Roll, "a spectator sees no roll")
	require.NotZero(t, tb.View("ana").Seats[0].Roll)
	w.do(t, tb, "ana", "", toy.Show{})
	last := w.do(t, tb, "bob", "", toy.Fold{})
	require.Equal(t, "settled", last.Events[1].Kind())
	require.Equal(t, toy.Finished, tb.State().Status())
	require.EqualValues(t, 250, w.balance(t, "user:ana"))
	require.EqualValues(t, 50, w.balance(t, "user:bob"))
	require.EqualValues(t, 0, w.balance(t, "escrow:toy:g"))
}

func TestTableKeepsNothingOfARefusedStep(t *testing.T) {
	w := newWorld(t, config("g"), ledger.NewMemory())
	tb := w.open(t, "toy:g")
	w.do(t, tb, glasshouse.System, "", toy.OpenGame{})
	before := tb.State()
	for _, tc := range []struct {
		in   glasshouse.Input
		cmd  toy.Command
		code string
	}{
		{input("eve", "r1"), toy.Join{}, "not_invited"},
		{input("ana", "r2"), toy.Void{}, "host_only"},
		{input("", ""), toy.Join{}, "no_actor"},
		{input("a:b", ""), toy.Join{}, "bad_actor"},
	} {
		_, err := tb.Do(t.Context(), tc.in, tc.cmd)
		r, ok := errors.AsType[glasshouse.Refusal](err)
		require.True(t, ok)
		require.Equal(t, tc.code, r.Code())
	}
	require.Same(t, before, tb.State())
	require.Len(t, w.entries(t), 1)
}

func TestTableWithoutMoneyForTheEntryStaysAsItWas(t *testing.T) {
	cfg := config("g")
	cfg.Entry = 151
	w := newWorld(t, cfg, ledger.NewMemory())
	tb := w.open(t, "toy:g")
	w.do(t, tb, glasshouse.System, "", toy.OpenGame{})
	before := tb.State()
	_, err := tb.Do(t.Context(), input("ana", "r1"), toy.Join{})
	_, short := errors.AsType[ledger.ErrFunds](err)
	require.True(t, short, "%v", err)
	require.Same(t, before, tb.State())

	_, err = w.money.Do(t.Context(), ledger.Tx{ID: "more", Post: []ledger.Posting{{From: "world", To: "user:ana", Asset: "BRL/2", Amount: 1}}})
	require.NoError(t, err)
	w.do(t, tb, "ana", "r1", toy.Join{}) // a refused request has not used its id up
}

func TestTableNeedsASourceOnlyWhereTheInputBringsNone(t *testing.T) {
	w := newWorld(t, config("g"), ledger.NewMemory())
	tb, err := glasshouse.OpenTable(t.Context(), toy.Rules(), w.money, nil, "toy:g", w.fresh)
	require.NoError(t, err)
	_, err = tb.Do(t.Context(), input(glasshouse.System, ""), toy.OpenGame{})
	require.ErrorIs(t, err, toy.ErrNoDraw)
	in := input(glasshouse.System, "")
	in.Draw = secrets().For("toy:g")
	own, err := tb.Do(t.Context(), in, toy.OpenGame{})
	require.NoError(t, err)

	other := newWorld(t, config("g"), ledger.NewMemory())
	byKeyring := other.do(t, other.open(t, "toy:g"), glasshouse.System, "", toy.OpenGame{})
	require.Equal(t, own, byKeyring, "the keyring's source is the one of the table's key")
}

func TestRequestIDGetsItsFirstAnswer(t *testing.T) {
	w := newWorld(t, config("g"), ledger.NewMemory())
	tb, other := w.open(t, "toy:g"), w.open(t, "toy:g")
	w.do(t, tb, glasshouse.System, "", toy.OpenGame{})
	first := w.do(t, tb, "ana", "r1", toy.Join{Seed: "one"})
	w.do(t, tb, "bob", "r1", toy.Join{}) // another actor's r1 is another request

	later := input("ana", "r1")
	later.At = noon.Add(time.Hour) // and another command: the id decides
	for name, tb := range map[string]*table{"the same table": tb, "a table that is behind": other, "after a restart": w.open(t, "toy:g")} {
		again, err := tb.Do(t.Context(), later, toy.Join{Seed: "two"})
		require.NoError(t, err, name)
		require.Equal(t, first, again, name)
	}
	require.Len(t, w.entries(t), 3)
	require.EqualValues(t, 50, w.balance(t, "user:ana"))
}

func TestRequestIDGetsOneAnswerHoweverManyAskAtOnce(t *testing.T) {
	w := newWorld(t, config("g"), ledger.NewMemory())
	w.do(t, w.open(t, "toy:g"), glasshouse.System, "", toy.OpenGame{})
	tables := []*table{w.open(t, "toy:g"), w.open(t, "toy:g"), w.open(t, "toy:g")}
	answers := make([]turn, 12)
	errs := make([]error, len(answers))
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			in := input("ana", "r1")
			in.At = noon.Add(time.Duration(i) * time.Millisecond)
			answers[i], errs[i] = tables[i%len(tables)].Do(t.Context(), in, toy.Join{})
		})
	}
	wg.Wait()
	for i := range answers {
		require.NoError(t, errs[i])
		require.Equal(t, answers[0], answers[i])
	}
	require.Len(t, w.entries(t), 2)
	require.EqualValues(t, 50, w.balance(t, "user:ana"))
}

func TestTableThatLostTheRaceReloadsAndTriesAgain(t *testing.T) {
	w := newWorld(t, config("g"), ledger.NewMemory())
	a, b := w.open(t, "toy:g"), w.open(t, "toy:g")
	w.do(t, a, glasshouse.System, "", toy.OpenGame{})
	w.do(t, a, "ana", "", toy.Join{})
	require.Zero(t, b.State().Rev(), "b has not looked since")

	joined := w.do(t, b, "bob", "", toy.Join{})
	require.EqualValues(t, 3, joined.Rev)
	in := input("bob", "")
	in.At = noon.Add(time.Second)
	_, err := a.Do(t.Context(), in, toy.Join{}) // judged by the newest state, not by a's
	require.ErrorIs(t, err, toy.ErrNotOpen)
	require.EqualValues(t, 3, a.State().Rev())
	require.Equal(t, b.State().Snapshot(), a.State().Snapshot())
}

// TestSameStepInTwoProcessesIsOne: the very same input on the same state writes the same Tx, which counts once.
func TestSameStepInTwoProcessesIsOne(t *testing.T) {
	w := newWorld(t, config("g"), ledger.NewMemory())
	a, b := w.open(t, "toy:g"), w.open(t, "toy:g")
	first := w.do(t, a, glasshouse.System, "", toy.OpenGame{})
	w.do(t, a, "ana", "", toy.Join{})
	require.Equal(t, first, w.do(t, b, glasshouse.System, "", toy.OpenGame{}))
	require.EqualValues(t, 2, b.State().Rev(), "and b shows what has come since")
	require.Len(t, w.entries(t), 2)
}

func TestTableGivesUpARaceThatDoesNotEnd(t *testing.T) {
	store := &flaky{Store: ledger.NewMemory()}
	w := newWorld(t, config("g"), store)
	tb := w.open(t, "toy:g")
	n := 0
	store.before = func() error { n++; return ledger.ErrConflict{Doc: "toy:g", Want: 0, Have: 1} }
	_, err := tb.Do(t.Context(), input(glasshouse.System, ""), toy.OpenGame{})
	_, conflict := errors.AsType[ledger.ErrConflict](err)
	require.True(t, conflict, "%v", err)
	require.Greater(t, n, 1)
	require.Less(t, n, 100)
}

// flaky is a store whose commits fail: before says so before the effect, after when it has happened.
type flaky struct {
	ledger.Store
	before, after func() error
	commits       atomic.Int64
}

func (f *flaky) Atomic(ctx context.Context, ks ledger.KeySet, do func(ledger.View) (ledger.Change, error)) error {
	f.commits.Add(1)
	if f.before != nil {
		if err := f.before(); err != nil {
			return err
		}
	}
	err := f.Store.Atomic(ctx, ks, do)
	if err == nil && f.after != nil {
		err = f.after()
	}
	return err
}

// times answers with err so often, and then with nothing.
func times(n int, err error) func() error {
	return func() error {
		if n == 0 {
			return nil
		}
		n--
		return err
	}
}

const forever = -1

var (
	errDown = errors.New("the store is down")
	errLost = ledger.ErrUncertain{ID: "?", Err: errors.New("the reply was lost")}
)

func opened(t *testing.T) (*world, *flaky, *table) {
	t.Helper()
	store := &flaky{Store: ledger.NewMemory()}
	w := newWorld(t, config("g"), store)
	tb := w.open(t, "toy:g")
	w.do(t, tb, glasshouse.System, "", toy.OpenGame{})
	return w, store, tb
}

func requireUncertain(t *testing.T, err error) {
	t.Helper()
	_, ok := errors.AsType[ledger.ErrUncertain](err)
	require.True(t, ok, "want ErrUncertain, got %v", err)
}

func TestTableAfterAFailedCommitIsAsBefore(t *testing.T) {
	w, store, tb := opened(t)
	before := tb.State()
	store.before = times(1, errDown)
	_, err := tb.Do(t.Context(), input("ana", ""), toy.Join{})
	require.ErrorIs(t, err, errDown)
	require.Same(t, before, tb.State())
	w.do(t, tb, "ana", "", toy.Join{})
	require.EqualValues(t, 50, w.balance(t, "user:ana"))
}

func TestTableRepeatsACommitWhoseReplyWasLost(t *testing.T) {
	for name, lose := range map[string]func(*flaky){
		"before the effect": func(f *flaky) { f.before = times(2, errLost) },
		"after the effect":  func(f *flaky) { f.after = times(2, errLost) },
	} {
		t.Run(name, func(t *testing.T) {
			w, store, tb := opened(t)
			lose(store)
			tn := w.do(t, tb, "ana", "", toy.Join{})
			require.EqualValues(t, 2, tn.Rev)
			require.EqualValues(t, 2, tb.State().Rev())
			require.Len(t, w.entries(t), 2)
			require.EqualValues(t, 50, w.balance(t, "user:ana"))
		})
	}
}

// TestSameInputAfterErrUncertainIsSafe: without a request id, in the same table.
func TestSameInputAfterErrUncertainIsSafe(t *testing.T) {
	for name, lose := range map[string]func(*flaky){
		"before the effect": func(f *flaky) { f.before = times(forever, errLost) },
		"after the effect":  func(f *flaky) { f.after = times(forever, errLost) },
	} {
		t.Run(name, func(t *testing.T) {
			w, store, tb := opened(t)
			lose(store)
			before := tb.State()
			for range 2 {
				_, err := tb.Do(t.Context(), input("ana", ""), toy.Join{})
				requireUncertain(t, err)
				require.Same(t, before, tb.State(), "what is uncertain is not shown")
			}
			store.before, store.after = nil, nil
			tn := w.do(t, tb, "ana", "", toy.Join{})
			require.EqualValues(t, 2, tn.Rev)
			require.Len(t, w.entries(t), 2)
			require.EqualValues(t, 50, w.balance(t, "user:ana"))
			_, err := tb.Do(t.Context(), input("ana", ""), toy.Join{}) // it was answered: this is a new one
			require.ErrorIs(t, err, toy.ErrJoined)
		})
	}
}

// TestOnceUncertainOnlyTheLedgersJudgementCounts: an error that says "nothing happened" speaks of the second attempt.
func TestOnceUncertainOnlyTheLedgersJudgementCounts(t *testing.T) {
	for name, second := range map[string]error{"down": errDown, "busy": ledger.ErrBusy{Err: errDown}, "cancelled": context.Canceled} {
		t.Run(name, func(t *testing.T) {
			w, store, tb := opened(t)
			lost := times(1, errLost)
			store.after = func() error {
				if err := lost(); err != nil {
					store.before = times(forever, second)
					return err
				}
				return nil
			}
			_, err := tb.Do(t.Context(), input("ana", ""), toy.Join{})
			requireUncertain(t, err)
			require.ErrorIs(t, err, second)
			store.before = nil
			require.EqualValues(t, 2, w.do(t, tb, "ana", "", toy.Join{}).Rev)
			require.Len(t, w.entries(t), 2)
		})
	}
}

func TestAnotherCommandWaitsUntilTheUncertainOneIsKnown(t *testing.T) {
	w, store, tb := opened(t)
	store.before = times(forever, errLost)
	_, err := tb.Do(t.Context(), input("ana", ""), toy.Join{})
	requireUncertain(t, err)

	_, err = tb.Do(t.Context(), input("bob", ""), toy.Join{})
	_, busy := errors.AsType[ledger.ErrBusy](err)
	require.True(t, busy, "%v", err)
	_, uncertain := errors.AsType[ledger.ErrUncertain](err)
	require.False(t, uncertain, "bob's own command is not uncertain")

	store.before = nil
	require.EqualValues(t, 3, w.do(t, tb, "bob", "", toy.Join{}).Rev, "ana's was repeated first")
	require.Equal(t, "ana", tb.View("").Seats[0].Player)
}

func TestUncertainStepThatLostTheRaceIsSteppedAnew(t *testing.T) {
	w, store, tb := opened(t)
	store.before = times(forever, errLost)
	_, err := tb.Do(t.Context(), input("ana", ""), toy.Join{})
	requireUncertain(t, err)
	store.before = nil
	w.do(t, w.open(t, "toy:g"), "bob", "", toy.Join{})
	require.EqualValues(t, 3, w.do(t, tb, "ana", "", toy.Join{}).Rev)
	require.EqualValues(t, 50, w.balance(t, "user:ana"))
	require.Equal(t, "bob", tb.View("").Seats[0].Player)
}

func TestUncertainStepThatIsRefusedInTheEndWasNever(t *testing.T) {
	for name, next := range map[string]string{"asked again": "ana", "and another one comes": "bob"} {
		t.Run(name, func(t *testing.T) {
			w, store, tb := opened(t)
			store.before = times(forever, errLost)
			_, err := tb.Do(t.Context(), input("ana", ""), toy.Join{})
			requireUncertain(t, err)
			store.before = nil
			_, err = w.money.Do(t.Context(), ledger.Tx{ID: "spent", Post: []ledger.Posting{{From: "user:ana", To: "world", Asset: "BRL/2", Amount: 150}}})
			require.NoError(t, err)
			tn, err := tb.Do(t.Context(), input(next, ""), toy.Join{})
			if next == "bob" {
				require.NoError(t, err)
				require.EqualValues(t, 2, tn.Rev)
				return
			}
			_, short := errors.AsType[ledger.ErrFunds](err)
			require.True(t, short, "%v", err)
			require.EqualValues(t, 1, tb.State().Rev())
		})
	}
}

func TestUncertainRequestIDIsSafeEvenAfterARestart(t *testing.T) {
	w, store, tb := opened(t)
	store.after = times(forever, errLost)
	_, err := tb.Do(t.Context(), input("ana", "r1"), toy.Join{})
	requireUncertain(t, err)
	store.after = nil
	in := input("ana", "r1")
	in.At = noon.Add(time.Second)
	tn, err := w.open(t, "toy:g").Do(t.Context(), in, toy.Join{})
	require.NoError(t, err)
	require.EqualValues(t, 2, tn.Rev)
	require.Equal(t, noon, tn.At)
	same, err := tb.Do(t.Context(), in, toy.Join{})
	require.NoError(t, err)
	require.Equal(t, tn, same)
	require.Len(t, w.entries(t), 2)
}

func TestCancelledContextChangesNothing(t *testing.T) {
	w, _, tb := opened(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, id := range []string{"", "r1"} {
		_, err := tb.Do(ctx, input("ana", id), toy.Join{})
		require.ErrorIs(t, err, context.Canceled)
	}
	require.EqualValues(t, 1, tb.State().Rev())
	_, err := glasshouse.OpenTable(ctx, toy.Rules(), w.money, secrets(), "toy:g", w.fresh)
	require.ErrorIs(t, err, context.Canceled)
}

func TestTickFiresWhatIsDueAndNotBefore(t *testing.T) {
	w := newWorld(t, config("g"), ledger.NewMemory())
	tb := w.open(t, "toy:g")
	w.do(t, tb, glasshouse.System, "", toy.OpenGame{})
	w.do(t, tb, "ana", "", toy.Join{})
	w.do(t, tb, "bob", "", toy.Join{})
	choose := tb.State().Deadline()
	require.Equal(t, glasshouse.Deadline{Key: "choose", At: noon.Add(10 * time.Second)}, choose)

	turns, err := tb.Tick(t.Context(), choose.At.Add(-time.Millisecond))
	require.NoError(t, err)
	require.Empty(t, turns)
	turns, err = tb.Tick(t.Context(), choose.At)
	require.NoError(t, err)
	require.Len(t, turns, 1)
	require.Equal(t, glasshouse.System, turns[0].Actor)
	require.Equal(t, choose.At, turns[0].At)
	turns, err = tb.Tick(t.Context(), choose.At.Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, turns)
}

func TestTickInManyProcessesFiresOnce(t *testing.T) {
	w := newWorld(t, config("g"), ledger.NewMemory())
	first := w.open(t, "toy:g")
	w.do(t, first, glasshouse.System, "", toy.OpenGame{})
	w.do(t, first, "ana", "", toy.Join{})
	behind := w.open(t, "toy:g")
	at := first.State().Deadline().At
	turns, err := first.Tick(t.Context(), at)
	require.NoError(t, err)
	require.Len(t, turns, 1)
	turns, err = behind.Tick(t.Context(), at.Add(time.Second))
	require.NoError(t, err, "that another one was first is no error")
	require.Empty(t, turns)
	require.Equal(t, toy.Voided, behind.State().Status())
	require.EqualValues(t, 150, w.balance(t, "user:ana"))
}

func TestTickReturnsWhatItCommittedBesideAnError(t *testing.T) {
	_, store, tb := opened(t)
	store.before = times(forever, errDown)
	turns, err := tb.Tick(t.Context(), noon.Add(time.Hour))
	require.ErrorIs(t, err, errDown)
	require.Empty(t, turns)
}

// TestFinishedGameNeverStartsAnew: the incident in which a finished game was made again and everybody paid twice.
func TestFinishedGameNeverStartsAnew(t *testing.T) {
	w := newWorld(t, config("g"), ledger.NewMemory())
	tb, behind := w.open(t, "toy:g"), w.open(t, "toy:g")
	w.do(t, tb, glasshouse.System, "", toy.OpenGame{})
	w.do(t, tb, "ana", "join", toy.Join{})
	w.do(t, tb, "bob", "", toy.Join{})
	w.do(t, tb, "ana", "", toy.Show{})
	w.do(t, tb, "bob", "", toy.Fold{})
	entries := len(w.entries(t))
	for name, tb := range map[string]*table{"the table": tb, "one that is still at the start": behind, "a new one": w.open(t, "toy:g")} {
		again := input(glasshouse.System, "")
		again.At = noon.Add(time.Minute)
		_, err := tb.Do(t.Context(), again, toy.OpenGame{})
		require.ErrorIs(t, err, toy.ErrNotNew, name)
		_, err = tb.Do(t.Context(), input("ana", ""), toy.Join{})
		require.ErrorIs(t, err, toy.ErrNotOpen, name)
		require.Equal(t, toy.Finished, tb.State().Status(), name)
		require.NotEmpty(t, tb.View("").Payouts, name)
	}
	require.Len(t, w.entries(t), entries)
	require.EqualValues(t, 250, w.balance(t, "user:ana"))
}

func TestOpenTableContinuesAfterARestart(t *testing.T) {
	w := newWorld(t, config("g"), ledger.NewMemory())
	w.do(t, w.open(t, "toy:g"), glasshouse.System, "", toy.OpenGame{})
	before := w.open(t, "toy:g").State().Deadline()
	other := config("g")
	other.Entry = 1 // the stored config decides, not the one at hand
	fresh, err := toy.NewGame(other)
	require.NoError(t, err)
	tb, err := glasshouse.OpenTable(t.Context(), toy.Rules(), w.money, secrets(), "toy:g", fresh)
	require.NoError(t, err)
	require.Equal(t, before, tb.State().Deadline(), "no clock is renewed")
	w.do(t, tb, "ana", "", toy.Join{})
	require.EqualValues(t, 100, w.balance(t, "escrow:toy:g"))
}

func TestCorruptDocumentsStop(t *testing.T) {
	good := newWorld(t, config("g"), ledger.NewMemory())
	tb := good.open(t, "toy:g")
	good.do(t, tb, glasshouse.System, "", toy.OpenGame{})
	snapshot, cfg := tb.State().Snapshot(), config("g").JSON()
	for _, tc := range []struct {
		name string
		docs []ledger.DocWrite
	}{
		{"nonsense", []ledger.DocWrite{{Key: "toy:g", Status: "open", Body: []byte("{}")}, {Key: "toy:g#config", Body: cfg}}},
		{"no config", []ledger.DocWrite{{Key: "toy:g", Status: "open", Body: snapshot}}},
		{"another config", []ledger.DocWrite{{Key: "toy:g", Status: "open", Body: snapshot}, {Key: "toy:g#config", Body: config("h").JSON()}}},
		{"another status", []ledger.DocWrite{{Key: "toy:g", Status: "playing", Body: snapshot}, {Key: "toy:g#config", Body: cfg}}},
		{"sealed too early", []ledger.DocWrite{{Key: "toy:g", Status: "open", Body: snapshot, Seal: true}, {Key: "toy:g#config", Body: cfg}}},
		{"good", []ledger.DocWrite{{Key: "toy:g", Status: "open", Body: snapshot}, {Key: "toy:g#config", Body: cfg}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, config("g"), ledger.NewMemory())
			_, err := w.money.Do(t.Context(), ledger.Tx{ID: "forged", Docs: tc.docs})
			require.NoError(t, err)
			_, err = glasshouse.OpenTable(t.Context(), toy.Rules(), w.money, secrets(), "toy:g", w.fresh)
			if tc.name == "good" {
				require.NoError(t, err)
				return
			}
			corrupt, ok := errors.AsType[*glasshouse.CorruptError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, "document toy:g", corrupt.What)
		})
	}
	t.Run("another revision", func(t *testing.T) {
		_, err := good.money.Do(t.Context(), ledger.Tx{ID: "forged", Docs: []ledger.DocWrite{{Key: "toy:g", IfVersion: 1, Status: "open", Body: snapshot}}})
		require.NoError(t, err)
		_, err = glasshouse.OpenTable(t.Context(), toy.Rules(), good.money, secrets(), "toy:g", good.fresh)
		_, ok := errors.AsType[*glasshouse.CorruptError](err)
		require.True(t, ok, "%v", err)
	})
	t.Run("a request's answer", func(t *testing.T) {
		w := newWorld(t, config("g"), ledger.NewMemory())
		_, err := w.money.Do(t.Context(), ledger.Tx{ID: "forged", Docs: []ledger.DocWrite{{Key: "req:toy:g:ana:r1", Body: []byte("{}")}}})
		require.NoError(t, err)
		_, err = w.open(t, "toy:g").Do(t.Context(), input("ana", "r1"), toy.Join{})
		_, ok := errors.AsType[*glasshouse.CorruptError](err)
		require.True(t, ok, "%v", err)
	})
}

// TestTableIsSafeForConcurrentUse is for the race detector: commands, ticks and readers of two tables of one game.
func TestTableIsSafeForConcurrentUse(t *testing.T) {
	w := newWorld(t, config("g"), ledger.NewMemory())
	tables := []*table{w.open(t, "toy:g"), w.open(t, "toy:g")}
	steps := []struct {
		actor string
		cmd   toy.Command
	}{{glasshouse.System, toy.OpenGame{}}, {"ana", toy.Join{}}, {"bob", toy.Join{}}, {"ana", toy.Show{}}, {"bob", toy.Show{}}}
	try := func(tb *table, actor string, cmd toy.Command) {
		if _, err := tb.Do(t.Context(), input(actor, ""), cmd); err != nil {
			if _, refused := errors.AsType[glasshouse.Refusal](err); !refused {
				t.Errorf("%T: %v", cmd, err)
			}
		}
	}
	var wg sync.WaitGroup
	for _, tb := range tables {
		for _, step := range steps {
			wg.Go(func() {
				for range 20 {
					try(tb, step.actor, step.cmd)
				}
			})
		}
		wg.Go(func() {
			last := uint64(0)
			for range 200 {
				rev := tb.View("ana").Rev
				if rev < last {
					t.Errorf("a reader sees rev %d after %d", rev, last)
				}
				last = rev
			}
		})
		wg.Go(func() {
			for range 20 {
				if _, err := tb.Tick(t.Context(), noon); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, step := range steps { // whoever had used up his attempts before it was his turn
		try(tables[0], step.actor, step.cmd)
	}
	require.Equal(t, toy.Finished, w.open(t, "toy:g").State().Status())
	require.EqualValues(t, 300, w.balance(t, "user:ana")+w.balance(t, "user:bob"))
	require.Len(t, w.entries(t), 5)
}

// TestUncertainIsNoLostRaceWhateverItsCause: an error that the outcome is unknown may wrap a conflict; to step anew on
// it could do the command twice.
func TestUncertainIsNoLostRaceWhateverItsCause(t *testing.T) {
	w, store, tb := opened(t)
	store.after = times(forever, ledger.ErrUncertain{ID: "?", Err: ledger.ErrConflict{Doc: "toy:g", Want: 1, Have: 2}})
	_, err := tb.Do(t.Context(), input("ana", ""), toy.Join{})
	requireUncertain(t, err)
	store.after = nil
	require.EqualValues(t, 2, w.do(t, tb, "ana", "", toy.Join{}).Rev)
	require.Len(t, w.entries(t), 2)
}

// TestContextEndsWaitingForTheCommandBefore: a commit that hangs must not hang those who came later and gave up.
func TestContextEndsWaitingForTheCommandBefore(t *testing.T) {
	w, store, tb := opened(t)
	hangs, release := make(chan struct{}), make(chan struct{})
	store.before = func() error { close(hangs); <-release; return nil }
	first := make(chan error, 1)
	go func() {
		_, err := tb.Do(t.Context(), input("ana", ""), toy.Join{})
		first <- err
	}()
	<-hangs
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() {
		_, err := tb.Do(ctx, input("bob", ""), toy.Join{})
		second <- err
	}()
	cancel()
	select {
	case err := <-second:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(5 * time.Second):
		t.Error("bob waits although he has given up")
	}
	close(release)
	require.NoError(t, <-first)
	store.before = nil
	require.EqualValues(t, 3, w.do(t, tb, "bob", "", toy.Join{}).Rev)
}

// TestAnotherOnesAnswerIsCorrupt: a document that holds somebody else's turn must not be told to this actor.
func TestAnotherOnesAnswerIsCorrupt(t *testing.T) {
	w, _, tb := opened(t)
	w.do(t, tb, "ana", "r1", toy.Join{})
	doc, err := w.money.Doc(t.Context(), "req:toy:g:ana:r1")
	require.NoError(t, err)
	for _, key := range []ledger.DocKey{"req:toy:g:bob:r1", "req:toy:g:ana:r2"} {
		_, err = w.money.Do(t.Context(), ledger.Tx{ID: "forged/" + string(key), Docs: []ledger.DocWrite{{Key: key, Body: doc.Body}}})
		require.NoError(t, err)
	}
	for actor, id := range map[string]string{"bob": "r1", "ana": "r2"} {
		_, err = tb.Do(t.Context(), input(actor, id), toy.Join{})
		_, ok := errors.AsType[*glasshouse.CorruptError](err)
		require.True(t, ok, "%s %s: %v", actor, id, err)
	}
}

// TestATableInALogDealsOutNothing: fmt looks into unexported fields and calls no method there.
func TestATableInALogDealsOutNothing(t *testing.T) {
	w, store, tb := opened(t)
	store.before = times(forever, errLost)
	_, err := tb.Do(t.Context(), input("ana", ""), toy.Join{})
	requireUncertain(t, err)
	doc, err := w.money.Doc(t.Context(), "toy:g")
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
		require.Equal(t, "{table toy:g rev:1}", fmt.Sprintf(verb, tb), verb)
		require.NotContains(t, fmt.Sprintf(verb, tb), string(doc.Body))
	}
}
