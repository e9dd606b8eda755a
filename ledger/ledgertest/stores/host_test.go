package stores_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore/pgtest"
	"github.com/glasshouse-go/glasshouse/ledger/sqlitestore"
)

// workerEnv names the store in the environment of a process that plays.
const workerEnv = "GLASSHOUSE_TEST_HOST_STORE"

// TestMain lets the test's own binary be the processes that are killed.
func TestMain(m *testing.M) {
	if where := os.Getenv(workerEnv); where != "" {
		if err := playAll(context.Background(), where); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestBattlesOfProcessesThatAreKilledEndOnce: two processes with a Host each play the same battles over one database
// and are killed and replaced all the time. In the end every battle is finished or cancelled once, and the books hold.
func TestBattlesOfProcessesThatAreKilledEndOnce(t *testing.T) {
	for name, where := range map[string]func(t *testing.T) string{
		"sqlite":     func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "ledger.db") },
		"postgresql": func(t *testing.T) string { return "postgresql:" + pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			battles, kills := 1000, 20
			if testing.Short() {
				battles, kills = 30, 3
			}
			killed(t, where(t), battles, kills)
		})
	}
}

func killed(t *testing.T, where string, battles, kills int) {
	store, err := openAt(t.Context(), where)
	require.NoError(t, err)
	defer func() { require.NoError(t, store.close()) }()
	money := ledger.New(store, time.Now)
	deposits := ledger.Tx{ID: "deposits"}
	for _, user := range []string{"ana", "bruno"} {
		deposits.Post = append(deposits.Post, ledger.Posting{
			From: "world:bank", To: battle.UserAccount(user), Asset: "BRL/2", Amount: 250 * int64(battles),
		})
	}
	_, err = money.Do(t.Context(), deposits)
	require.NoError(t, err)

	var workers [2]*worker
	for i := range workers {
		workers[i] = startWorker(t, where, battles)
	}
	r := rand.New(rand.NewPCG(7, 7))
	for range kills {
		time.Sleep(time.Duration(50+r.IntN(400)) * time.Millisecond)
		i := r.IntN(len(workers))
		require.NoError(t, workers[i].kill())
		workers[i] = startWorker(t, where, battles)
	}
	for _, w := range workers {
		require.NoError(t, w.wait(), w.errors.String())
	}
	judge(t, store, battles)
}

// judge looks at what the processes left behind.
func judge(t *testing.T, store hostStore, battles int) {
	require.NoError(t, store.seal(t.Context()))
	entries, err := store.Journal(t.Context(), ledger.JournalQuery{})
	require.NoError(t, err)
	state, err := ledger.Replay(func(yield func(ledger.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, entries[len(entries)-1].Hash, state.Head)
	require.Empty(t, ledger.Audit(state))
	stored, err := ledger.New(store, time.Now).Balance(t.Context(), "house:battle", "BRL/2")
	require.NoError(t, err)

	turns := make(map[ledger.DocKey][]battle.Turn)
	for _, e := range entries {
		for _, d := range e.Tx.Docs {
			if strings.HasPrefix(string(d.Key), "battle:") && !strings.Contains(string(d.Key), "#") {
				turn, err := battle.Rules().UnmarshalTurn(e.Tx.Memo)
				require.NoError(t, err)
				turns[d.Key] = append(turns[d.Key], turn)
			}
		}
	}
	require.Len(t, turns, battles)
	ends := make(map[battle.Status]int64)
	for i := range battles {
		cfg := duel(i)
		all := turns[battle.Key(cfg.ID)]
		s, err := battle.Replay(cfg, each(all)) // refuses a second end, a second join, anything after the end
		require.NoError(t, err)
		require.True(t, s.Status().Done(), "battle %d is %v", i, s.Status())
		ends[s.Status()]++
		if i%25 == 0 {
			record, err := battle.NewRecord(cfg, each(all))
			require.NoError(t, err)
			report, err := battle.Verify(record)
			require.NoError(t, err)
			require.True(t, report.OK(), report)
		}
	}
	require.Positive(t, ends[battle.StatusFinished])
	require.Positive(t, ends[battle.StatusCancelled])
	require.Equal(t, 2*250*ends[battle.StatusFinished], stored.Posted, "each seat of a finished battle is paid once")
	for _, user := range []string{"ana", "bruno"} {
		b, err := ledger.New(store, time.Now).Balance(t.Context(), battle.UserAccount(user), "BRL/2")
		require.NoError(t, err)
		require.Equal(t, 250*ends[battle.StatusCancelled], b.Posted, user)
	}
}

func each(turns []battle.Turn) iter.Seq2[battle.Turn, error] {
	return func(yield func(battle.Turn, error) bool) {
		for _, t := range turns {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// duel is the i-th battle: every fifth is for nobody and runs out, in most of the others bruno joins.
func duel(i int) battle.Config {
	cfg := battle.Config{
		ID: fmt.Sprintf("duel-%04d", i), Creator: "ana", Asset: "BRL/2", Layout: battle.Layout{Teams: 2, Size: 1}, Mode: battle.Normal,
		Timeline: battle.Timeline{Countdown: 1, RoundStarting: 1, Spinning: 1, FlipSpinning: 1, RoundComplete: 1},
		Cases: []battle.Case{{
			ID: "spring", Name: "Spring case", Price: 250, Active: true,
			Items: []battle.CaseItem{
				{Row: "1", Item: battle.Item{ID: "p250", Name: "P250", Value: 100}, First: 1, Last: 9_000_000},
				{Row: "2", Item: battle.Item{ID: "awp", Name: "AWP", Value: 1500}, First: 9_000_001, Last: battle.MaxRoll},
			},
		}},
	}
	if i%5 == 0 {
		cfg.Expiry = 30
	}
	return cfg
}

// hostStore is a store that a process can open by name.
type hostStore struct {
	ledger.Store
	close func() error
	seal  func(context.Context) error
}

func openAt(ctx context.Context, where string) (hostStore, error) {
	kind, name, _ := strings.Cut(where, ":")
	if kind == "sqlite" {
		s, err := sqlitestore.Open(name)
		if err != nil {
			return hostStore{}, err
		}
		return hostStore{s, s.Close, func(context.Context) error { return nil }}, nil
	}
	s, err := pgstore.Open(ctx, name, pgstore.Config{})
	if err != nil {
		return hostStore{}, err
	}
	return hostStore{s, s.Close, func(ctx context.Context) error {
		for {
			if n, err := s.Seal(ctx); n == 0 || err != nil {
				return err
			}
		}
	}}, nil
}

// playAll is one of the processes: it opens and plays every battle it can, and ends when all are over.
func playAll(ctx context.Context, where string) error {
	var battles int
	if _, err := fmt.Sscan(os.Getenv(workerEnv+"_BATTLES"), &battles); err != nil {
		return err
	}
	store, err := openAt(ctx, where)
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	host := glasshouse.NewHost(glasshouse.HostConfig[*battle.State, battle.Command, battle.Event, battle.View]{
		Rules: battle.Rules(), Money: ledger.New(store, time.Now), Secrets: fair.NewKeyring(make([]byte, 32)), Now: time.Now,
		Poll: 50 * time.Millisecond, Retry: 20 * time.Millisecond,
		OnError: func(key ledger.DocKey, err error) {
			if !passes(err) {
				select {
				case failed <- fmt.Errorf("%s: %w", key, err):
				default:
				}
			}
		},
	})
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			_ = store.seal(ctx) // what is left is sealed next time, or by the other process
		}
	}()
	if err := host.Resume(ctx); err != nil {
		return err
	}
	for _, i := range rand.Perm(battles) {
		if err := duelTo(ctx, host, i); err != nil {
			return fmt.Errorf("battle %d: %w", i, err)
		}
	}
	for {
		select {
		case err := <-failed:
			return err
		default:
		}
		over, err := allOver(ctx, store, battles)
		if err != nil && !passes(err) {
			return err
		}
		if over {
			return errors.Join(host.Close(ctx), store.close())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// duelTo does what there is to do in one battle; refusals say that the other process was there before.
func duelTo(ctx context.Context, host *glasshouse.Host[*battle.State, battle.Command, battle.Event, battle.View], i int) error {
	cfg := duel(i)
	fresh, err := battle.New(cfg)
	if err != nil {
		return err
	}
	key := battle.Key(cfg.ID)
	steps := []func() error{
		func() error { return host.Open(ctx, key, fresh) },
		func() error {
			_, err := host.Do(ctx, key, glasshouse.Input{Actor: glasshouse.System, At: time.Now()}, battle.Create{})
			return err
		},
	}
	switch {
	case i%5 == 0:
	case i%7 == 0:
		steps = append(steps, func() error {
			_, err := host.Do(ctx, key, glasshouse.Input{Actor: "ana", At: time.Now()}, battle.Cancel{})
			return err
		})
	default:
		steps = append(steps, func() error {
			_, err := host.Do(ctx, key, glasshouse.Input{Actor: "bruno", ID: "join", At: time.Now()}, battle.Join{Team: 2})
			return err
		})
	}
	for _, step := range steps {
		for {
			err := step()
			if err == nil || refused(err) {
				break
			}
			if !passes(err) {
				return err
			}
		}
	}
	return nil
}

func refused(err error) bool {
	_, ok := errors.AsType[battle.RuleError](err)
	return ok
}

// passes reports whether an error is one of those that a busy database, or a killed neighbour, may lead to.
func passes(err error) bool {
	_, busy := errors.AsType[ledger.ErrBusy](err)
	_, uncertain := errors.AsType[ledger.ErrUncertain](err)
	_, conflict := errors.AsType[ledger.ErrConflict](err)
	return busy || uncertain || conflict
}

func allOver(ctx context.Context, store ledger.Store, battles int) (bool, error) {
	over := 0
	for row, err := range store.Docs(ctx, ledger.DocQuery{Prefix: "battle:"}) {
		if err != nil {
			return false, err
		}
		if row.Doc.Sealed && !strings.Contains(string(row.Key), "#") {
			over++
		}
	}
	return over == battles, nil
}

// worker is a process that plays.
type worker struct {
	cmd    *exec.Cmd
	errors strings.Builder
}

func startWorker(t *testing.T, where string, battles int) *worker {
	exe, err := os.Executable()
	require.NoError(t, err)
	w := &worker{cmd: exec.Command(exe)}
	w.cmd.Env = append(os.Environ(), workerEnv+"="+where, fmt.Sprintf("%s_BATTLES=%d", workerEnv, battles))
	w.cmd.Stdout, w.cmd.Stderr = io.Discard, &w.errors
	require.NoError(t, w.cmd.Start())
	t.Cleanup(func() { _ = w.cmd.Process.Kill() })
	return w
}

// kill ends the process as a power cut would; one that had already ended must have ended well.
func (w *worker) kill() error {
	_ = w.cmd.Process.Kill()
	err := w.cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == -1 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, w.errors.String())
	}
	return nil
}

func (w *worker) wait() error { return w.cmd.Wait() }

// BenchmarkHost is what a Host takes in a second: commands of real battles (a player replaces his client seed), each
// committed, over memory, SQLite and PostgreSQL, at one table and at 64, eight callers at once.
func BenchmarkHost(b *testing.B) {
	for _, kind := range []string{"memory", "sqlite", "postgresql"} {
		for _, tables := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/tables=%d", kind, tables), func(b *testing.B) {
				var store ledger.Store = ledger.NewMemory()
				if kind != "memory" {
					where := "sqlite:" + filepath.Join(b.TempDir(), "ledger.db")
					if kind == "postgresql" {
						where = "postgresql:" + pgtest.URL(b)
					}
					opened, err := openAt(b.Context(), where)
					require.NoError(b, err)
					b.Cleanup(func() { require.NoError(b, opened.close()) })
					store = opened
				}
				benchmarkHost(b, store, tables)
			})
		}
	}
}

func benchmarkHost(b *testing.B, store ledger.Store, tables int) {
	money := ledger.New(store, time.Now)
	_, err := money.Do(b.Context(), ledger.Tx{ID: "deposit", Post: []ledger.Posting{
		{From: "world:bank", To: battle.UserAccount("ana"), Asset: "BRL/2", Amount: 250 * int64(tables)},
	}})
	require.NoError(b, err)
	host := glasshouse.NewHost(glasshouse.HostConfig[*battle.State, battle.Command, battle.Event, battle.View]{
		Rules: battle.Rules(), Money: money, Secrets: fair.NewKeyring(make([]byte, 32)), Now: time.Now,
	})
	keys := make([]ledger.DocKey, tables)
	for i := range keys {
		cfg := duel(5*i + 1) // those that wait for half an hour
		keys[i] = battle.Key(cfg.ID)
		fresh, err := battle.New(cfg)
		require.NoError(b, err)
		require.NoError(b, host.Open(b.Context(), keys[i], fresh))
		_, err = host.Do(b.Context(), keys[i], glasshouse.Input{Actor: glasshouse.System, At: time.Now()}, battle.Create{})
		require.NoError(b, err)
	}
	var mu sync.Mutex
	var took []time.Duration
	var callers atomic.Int64
	b.SetParallelism(max(1, 8/runtime.GOMAXPROCS(0)))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		var mine []time.Duration
		for n := int(callers.Add(1)); pb.Next(); n += 7 {
			began := time.Now()
			_, err := host.Do(b.Context(), keys[n%tables], glasshouse.Input{Actor: "ana", At: began}, battle.Seed{ClientSeed: "other words"})
			if err != nil {
				b.Error(err)
				return
			}
			mine = append(mine, time.Since(began))
		}
		mu.Lock()
		defer mu.Unlock()
		took = append(took, mine...)
	})
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "commands/s")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	require.NoError(b, host.Close(context.Background()))
}
