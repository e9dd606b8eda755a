package glasshouse_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/ledger"
)

type battleHost = glasshouse.Host[*battle.State, battle.Command, battle.Event, battle.View]

// duel is a battle of two over one case.
func duel(id string) battle.Config {
	return battle.Config{
		ID: id, Creator: "ana", Asset: "BRL/2", Layout: battle.Layout{Teams: 2, Size: 1}, Mode: battle.Normal, Expiry: 120_000,
		Cases: []battle.Case{{
			ID: "spring", Name: "Spring case", Price: 250, Active: true,
			Items: []battle.CaseItem{
				{Row: "1", Item: battle.Item{ID: "p250", Name: "P250", Value: 100}, First: 1, Last: 9_000_000},
				{Row: "2", Item: battle.Item{ID: "awp", Name: "AWP", Value: 1500}, First: 9_000_001, Last: battle.MaxRoll},
			},
		}},
	}
}

// arcade is several processes over one ledger, which die at any time.
type arcade struct {
	t      *testing.T
	memory *ledger.Memory
	mu     sync.Mutex
	procs  []*process
	died   int
	errs   failures
}

type process struct {
	store *faulty
	host  *battleHost
}

func newArcade(t *testing.T, processes int) *arcade {
	a := &arcade{t: t, memory: ledger.NewMemory()}
	for range processes {
		a.procs = append(a.procs, a.process())
	}
	t.Cleanup(func() {
		for _, p := range a.procs {
			_ = p.host.Close(context.Background())
		}
	})
	return a
}

func (a *arcade) process() *process {
	store := &faulty{Store: a.memory}
	return &process{store, glasshouse.NewHost(glasshouse.HostConfig[*battle.State, battle.Command, battle.Event, battle.View]{
		Rules: battle.Rules(), Money: ledger.New(store, time.Now), Secrets: secrets(), Now: time.Now,
		SpectatorDelay: time.Second, Poll: 10 * time.Second,
		OnError: func(key ledger.DocKey, err error) {
			// What a dead process reports is its own affair; the rest would be a fault, but for what cannot be voided.
			if !store.dead.Load() && !errors.Is(err, errDead) && !errors.Is(err, battle.ErrRollsKnown) {
				a.errs.add(key, err)
			}
		},
	})}
}

func (a *arcade) any(r *rand.Rand) *battleHost {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.procs[r.IntN(len(a.procs))].host
}

// kill ends a process without a word, and starts another one in its place.
func (a *arcade) kill(r *rand.Rand) {
	i := r.IntN(len(a.procs))
	a.procs[i].store.dead.Store(true)
	_ = a.procs[i].host.Close(a.t.Context()) // nothing of it reaches the ledger: only its goroutines end, as with a process
	time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
	p := a.process()
	a.mu.Lock()
	a.died++
	a.procs[i] = p
	a.mu.Unlock()
	if err := p.host.Resume(a.t.Context()); err != nil {
		a.t.Error(err)
	}
}

// gone reports whether an error is that of a process that has died.
func gone(err error) bool { return errors.Is(err, errDead) || errors.Is(err, glasshouse.ErrHostClosed) }

// answer is what a request led to: the turn, or a refusal.
type answer struct {
	key ledger.DocKey
	in  glasshouse.Input
	cmd battle.Command
	got battle.Turn
}

// ask sends a command to one process or the other, until somebody answers.
func (a *arcade) ask(r *rand.Rand, cfg battle.Config, actor, id string, cmd battle.Command) (answer, bool) {
	fresh, err := battle.New(cfg)
	if err != nil {
		a.t.Error(err)
		return answer{}, false
	}
	key := battle.Key(cfg.ID)
	for range 200 {
		h, in := a.any(r), glasshouse.Input{Actor: actor, ID: id, At: time.Now()}
		err := h.Open(a.t.Context(), key, fresh)
		var turn battle.Turn
		if err == nil {
			turn, err = h.Do(a.t.Context(), key, in, cmd)
		}
		_, refused := errors.AsType[battle.RuleError](err)
		switch {
		case err == nil:
			return answer{key, in, cmd, turn}, true
		case refused:
			return answer{}, false
		}
		_, uncertain := errors.AsType[ledger.ErrUncertain](err)
		_, busy := errors.AsType[ledger.ErrBusy](err)
		_, conflict := errors.AsType[ledger.ErrConflict](err)
		if !uncertain && !busy && !conflict && !gone(err) {
			a.t.Errorf("%s by %s: %v", cmd.Kind(), actor, err)
			return answer{}, false
		}
		time.Sleep(time.Duration(1+r.IntN(500)) * time.Millisecond)
	}
	a.t.Errorf("%s by %s: nobody answers", cmd.Kind(), actor)
	return answer{}, false
}

// play is the life of one battle: created by its creator, joined by others and by bots, given up, or left to expire.
func (a *arcade) play(i int, keep func(answer)) battle.Config {
	r := rand.New(rand.NewPCG(7, uint64(i)))
	cfg := duel(fmt.Sprintf("b%04d", i))
	time.Sleep(time.Duration(r.IntN(60_000)) * time.Millisecond)
	ask := func(actor string, cmd battle.Command) {
		if got, ok := a.ask(r, cfg, actor, "r-"+cmd.Kind(), cmd); ok {
			keep(got)
		}
	}
	ask(glasshouse.System, battle.Create{})
	fate := r.IntN(10)
	if fate == 0 {
		return cfg // nobody comes
	}
	var wg sync.WaitGroup
	for n, who := range []string{"bob", "cid"} { // for the same seat, at once
		rr := rand.New(rand.NewPCG(uint64(n), uint64(i)))
		wg.Go(func() {
			time.Sleep(time.Duration(rr.IntN(10)) * time.Millisecond)
			if fate < 6 {
				if got, ok := a.ask(rr, cfg, who, "r-join", battle.Join{Team: 2, ClientSeed: who}); ok {
					keep(got)
				}
			}
		})
	}
	switch fate {
	case 5, 6:
		ask("ana", battle.Cancel{})
	case 7, 8, 9:
		ask("ana", battle.AddBots{ClientSeed: "mine"})
	}
	wg.Wait()
	return cfg
}

// TestTwoHostsThatDieAtAnyTimePlayEveryBattleOnce: two processes over one ledger, each killed again and again.
func TestTwoHostsThatDieAtAnyTimePlayEveryBattleOnce(t *testing.T) {
	battles := 200
	if *long || !testing.Short() {
		battles = 1000
	}
	synctest.Test(t, func(t *testing.T) {
		a := newArcade(t, 2)
		fund := ledger.Tx{ID: "fund"}
		for _, p := range []string{"ana", "bob", "cid"} {
			fund.Post = append(fund.Post, ledger.Posting{From: "world", To: battle.UserAccount(p), Asset: "BRL/2", Amount: 1_000_000})
		}
		money := ledger.New(a.memory, time.Now)
		_, err := money.Do(t.Context(), fund)
		require.NoError(t, err)

		var answers []answer
		var mu sync.Mutex
		keep := func(got answer) {
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, got)
		}
		cfgs := make([]battle.Config, battles)
		var wg sync.WaitGroup
		for i := range battles {
			wg.Go(func() { cfgs[i] = a.play(i, keep) })
		}
		r := rand.New(rand.NewPCG(1, 2))
		for began := time.Now(); time.Since(began) < 3*time.Minute; {
			time.Sleep(time.Duration(r.IntN(12_000)) * time.Millisecond)
			a.kill(r)
			for range 2 { // both sweep
				h := a.any(r)
				wg.Go(func() {
					if _, err := h.Sweep(t.Context(), "waiting", 100*time.Second, "stuck"); err != nil && !gone(err) {
						t.Error(err)
					}
				})
			}
		}
		wg.Wait()
		time.Sleep(3 * time.Minute)
		require.Empty(t, a.errs.take())
		require.Greater(t, a.died, 10)

		last := audit(t, money)
		ends := map[battle.Status]int{}
		for _, cfg := range cfgs {
			ends[endsOnce(t, money, cfg)]++
		}
		require.Len(t, ends, 2)
		require.Greater(t, ends[battle.StatusFinished], battles/2)
		for _, got := range answers { // each request once
			got.in.At = time.Now()
			again, err := a.any(r).Do(t.Context(), got.key, got.in, got.cmd)
			require.NoError(t, err)
			require.Equal(t, got.got, again)
		}
		entries, err := money.Journal(t.Context(), ledger.JournalQuery{})
		require.NoError(t, err)
		require.Equal(t, last, entries[len(entries)-1].Hash, "asking again has changed nothing")
		t.Logf("%d battles: %d finished, %d cancelled; %d processes died", battles, ends[battle.StatusFinished], ends[battle.StatusCancelled], a.died)
	})
}

// audit replays the whole journal: the chain is sound, the books sum to zero, no game holds money. It returns the head.
func audit(t *testing.T, money *ledger.Ledger) [32]byte {
	t.Helper()
	entries, err := money.Journal(t.Context(), ledger.JournalQuery{})
	require.NoError(t, err)
	s, err := ledger.Replay(func(yield func(ledger.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	})
	require.NoError(t, err)
	require.Empty(t, ledger.Audit(s))
	require.Equal(t, entries[len(entries)-1].Hash, s.Head)
	sums := map[ledger.Asset]int64{}
	for _, b := range s.Balances {
		sums[b.Key.Asset] += b.Posted
		if strings.HasPrefix(string(b.Key.Account), "escrow:") {
			require.Zero(t, b.Posted, b.Key.Account)
		}
		have, err := money.Balance(t.Context(), b.Key.Account, b.Key.Asset)
		require.NoError(t, err)
		require.Equal(t, b.Posted, have.Posted)
	}
	for asset, sum := range sums {
		require.Zero(t, sum, asset)
	}
	return s.Head
}

// endsOnce verifies a battle from its journal, as an auditor would, and returns how it ended.
func endsOnce(t *testing.T, money *ledger.Ledger, cfg battle.Config) battle.Status {
	t.Helper()
	key := battle.Key(cfg.ID)
	entries, err := money.Journal(t.Context(), ledger.JournalQuery{Doc: key})
	require.NoError(t, err)
	ended := 0
	turns := func(yield func(battle.Turn, error) bool) {
		ended = 0
		for _, e := range entries {
			turn, err := battle.Rules().UnmarshalTurn(e.Tx.Memo)
			for _, ev := range turn.Events {
				switch ev.(type) {
				case battle.Settled, battle.Cancelled:
					ended++
				}
			}
			if !yield(turn, err) {
				return
			}
		}
	}
	record, err := battle.NewRecord(cfg, iter.Seq2[battle.Turn, error](turns))
	require.NoError(t, err)
	require.Equal(t, 1, ended)
	report, err := battle.Verify(record)
	require.NoError(t, err)
	require.True(t, report.OK(), "%v", report.Failed())
	doc, err := money.Doc(t.Context(), key)
	require.NoError(t, err)
	require.True(t, doc.Sealed)
	require.EqualValues(t, len(entries), doc.Version)
	final, err := battle.Replay(cfg, turns)
	require.NoError(t, err)
	require.Equal(t, doc.Body, final.Snapshot())
	return final.Status()
}

// TestSweepLeavesABattleAloneWhoseRollsAreKnown: it is reported, and played to its end.
func TestSweepLeavesABattleAloneWhoseRollsAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		money := ledger.New(ledger.NewMemory(), time.Now)
		_, err := money.Do(t.Context(), ledger.Tx{ID: "fund", Post: []ledger.Posting{{From: "world", To: "user:ana", Asset: "BRL/2", Amount: 1000}}})
		require.NoError(t, err)
		var reported failures
		h := glasshouse.NewHost(glasshouse.HostConfig[*battle.State, battle.Command, battle.Event, battle.View]{
			Rules: battle.Rules(), Money: money, Secrets: secrets(), Now: time.Now, OnError: reported.add,
		})
		defer func() { require.NoError(t, h.Close(context.Background())) }()
		fresh, err := battle.New(duel("b"))
		require.NoError(t, err)
		require.NoError(t, h.Open(t.Context(), "battle:b", fresh))
		for _, step := range []struct {
			actor string
			cmd   battle.Command
		}{{glasshouse.System, battle.Create{}}, {"ana", battle.AddBots{}}} {
			_, err = h.Do(t.Context(), "battle:b", glasshouse.Input{Actor: step.actor, At: time.Now()}, step.cmd)
			require.NoError(t, err)
		}
		time.Sleep(100 * time.Millisecond)
		n, err := h.Sweep(t.Context(), battle.StatusInProgress.String(), time.Millisecond, "stuck")
		require.NoError(t, err)
		require.Zero(t, n)
		errs := reported.take()
		require.Len(t, errs, 1)
		require.ErrorIs(t, errs[0], battle.ErrRollsKnown)
		time.Sleep(5 * time.Minute)
		require.Equal(t, battle.StatusFinished, endsOnce(t, money, duel("b")))
	})
}

func TestAGameIsPlayedUnderItsOwnKeyOnly(t *testing.T) {
	money := ledger.New(ledger.NewMemory(), time.Now)
	fresh, err := battle.New(duel("one"))
	require.NoError(t, err)
	open := func(key ledger.DocKey, s *battle.State) error {
		_, err := glasshouse.OpenTable(t.Context(), battle.Rules(), money, nil, key, s)
		return err
	}
	require.Equal(t, ledger.ErrInvalid{Field: "key", Why: "want battle:one"}, open("battle:two", fresh))
	require.ErrorIs(t, open("battle:one", nil), glasshouse.ErrNoGame)
	require.NoError(t, open("battle:one", fresh))
}
