package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore/pgtest"
)

var epoch = time.Unix(1_700_000_000, 0)

func now() time.Time { return epoch }

func pay(id string, n int64) ledger.Tx {
	return ledger.Tx{ID: id, Post: []ledger.Posting{{From: "world", To: "user:1", Asset: "BRL/2", Amount: n}}}
}

// replay seals and reads the whole journal, and wants the head that the
// database has.
func replay(tb testing.TB, s hooked) ledger.State {
	tb.Helper()
	s.Seal(tb)
	entries, err := s.Journal(context.Background(), ledger.JournalQuery{})
	require.NoError(tb, err)
	st, err := ledger.Replay(func(yield func(ledger.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	})
	require.NoError(tb, err)
	require.Empty(tb, ledger.Audit(st))
	var seq int64
	var hash []byte
	require.NoError(tb, s.pool.QueryRow(context.Background(), "SELECT seq, hash FROM ledger_head WHERE realm = $1", s.cfg.Realm).Scan(&seq, &hash))
	require.Equal(tb, st.Seq, uint64(seq))
	require.Equal(tb, st.Head[:], hash)
	var held []ledger.Key
	for _, b := range st.Balances {
		held = append(held, b.Key)
	}
	v, err := s.Read(context.Background(), ledger.KeySet{Balances: held})
	require.NoError(tb, err)
	for _, b := range st.Balances {
		require.Equal(tb, b, v.Balance(b.Key))
	}
	return st
}

func uncertain(err error) bool {
	_, ok := errors.AsType[ledger.ErrUncertain](err)
	return ok
}

func TestConnectionLostAtCommit(t *testing.T) {
	ctx := context.Background()
	l := &line{}
	p := l.connect(t, pgtest.URL(t))
	for _, c := range []struct {
		name      string
		sync      int // of the two round trips
		fault     fault
		uncertain bool
		replayed  bool // when it is sent again
	}{
		{"locks never asked for", 1, lostRequest, false, true},
		{"locks never heard of", 1, lostReply, false, true},
		{"commit never sent", 2, lostRequest, true, false},
		{"commit never heard of", 2, lostReply, false, true},
		{"commit never heard of and nobody to ask", 2, lostServer, true, true},
	} {
		for _, batch := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, batch %t", c.name, batch), func(t *testing.T) {
				s := fresh(t, p, pgx.ReadCommitted)
				led := ledger.New(s, now)
				do := func(tx ledger.Tx) (ledger.Receipt, error) {
					if batch {
						r := led.DoAll(ctx, []ledger.Tx{tx, {ID: "no", Post: []ledger.Posting{{From: "poor", To: "user:1", Asset: "BRL/2", Amount: 1}}}})
						_, poor := errors.AsType[ledger.ErrFunds](r[1].Err)
						require.True(t, poor, "%v", r[1].Err)
						return r[0].Receipt, r[0].Err
					}
					return led.Do(ctx, tx)
				}
				for i := range 2 { // the second time all statements are prepared
					_, err := do(pay(fmt.Sprint("warm/", i), 1))
					require.NoError(t, err)
				}
				l.arm(c.sync, c.fault)
				first, err := do(pay("x", 5))
				require.True(t, l.repair(), "nothing broke")
				if c.uncertain {
					require.True(t, uncertain(err), "%v", err)
				} else {
					require.NoError(t, err)
					require.False(t, first.Replayed)
				}
				again, err := do(pay("x", 5))
				require.NoError(t, err)
				require.Equal(t, c.replayed, again.Replayed)
				require.Equal(t, int64(7), again.Balances[0].Posted)
				require.Equal(t, uint64(3), replay(t, s).Seq)
			})
		}
	}
}

// A backend that is terminated between the locks and the commit.
func TestBackendTerminatedAtCommit(t *testing.T) {
	ctx := context.Background()
	url := pgtest.URL(t)
	s := fresh(t, pool(t, url), pgx.ReadCommitted)
	other := pool(t, url)
	tx := pay("x", 5)
	kill := true
	f := func(v ledger.View) (ledger.Change, error) {
		if kill {
			kill = false
			_, err := other.Exec(ctx, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'idle in transaction' AND query LIKE '%ledger_%'")
			require.NoError(t, err)
		}
		return ledger.Apply(v, tx, epoch.UnixNano())
	}
	err := s.Atomic(ctx, ledger.Keys(tx), f)
	require.False(t, kill)
	// Where the client notices that it can send nothing, it begins again.
	require.True(t, err == nil || uncertain(err), "%v", err)
	require.NoError(t, s.Atomic(ctx, ledger.Keys(tx), f))
	st := replay(t, s)
	require.Equal(t, int64(5), st.Balance(ledger.Key{Account: "user:1", Asset: "BRL/2"}).Posted)
}

// Every round trip of a little history fails once in each way; what is
// uncertain is sent again; the outcome is that of the undisturbed run.
func TestEveryRoundTripFails(t *testing.T) {
	ctx := context.Background()
	l := &line{}
	p := l.connect(t, pgtest.URL(t))
	history := []ledger.Tx{
		pay("a", 10),
		{ID: "b", Docs: []ledger.DocWrite{{Key: "game:1", Status: "on", Body: []byte("x")}}, Post: []ledger.Posting{{From: "user:1", To: "escrow:game:1", Asset: "BRL/2", Amount: 4}}},
		{ID: "c", Hold: []ledger.Hold{{ID: "h", From: "user:1", Asset: "BRL/2", Amount: 2}}, Count: []ledger.Count{{Key: "n", Delta: 1, Max: 1}}},
		{ID: "d", Docs: []ledger.DocWrite{{Key: "game:1", IfVersion: 1, Status: "done", Seal: true}}, Post: []ledger.Posting{{From: "escrow:game:1", To: "user:2", Asset: "BRL/2", Amount: 4}}},
	}
	run := func(n int, f fault) (ledger.State, bool) {
		s := fresh(t, p, pgx.ReadCommitted)
		led := ledger.New(s, now)
		if n > 0 {
			l.arm(n, f)
		}
		broke := false
		for _, tx := range history {
			_, err := led.Do(ctx, tx)
			broke = l.repairIfBroken() || broke
			if uncertain(err) || errors.Is(err, errLine) {
				_, err = led.Do(ctx, tx)
			}
			require.NoError(t, err, "Sync %d, fault %d", n, f)
		}
		l.repair()
		return replay(t, s), broke
	}
	run(0, 0) // prepares all statements
	want, _ := run(0, 0)
	for f := lostRequest; f <= lostServer; f++ {
		n := 1
		for ; ; n++ {
			got, broke := run(n, f)
			if !broke {
				break
			}
			require.Equal(t, want, got, "Sync %d, fault %d", n, f)
		}
		require.Greater(t, n, 2*len(history))
	}
}

// repairIfBroken repairs a line that has broken and leaves another one armed.
func (l *line) repairIfBroken() bool {
	l.mu.Lock()
	broke := l.broke > 0
	l.mu.Unlock()
	return broke && l.repair()
}

// Contexts that end at any moment: what was refused is not there, what was
// accepted is.
func TestCancelledContextsLeaveNothingHalfDone(t *testing.T) {
	s := fresh(t, pool(t, pgtest.URL(t)), pgx.ReadCommitted)
	led := ledger.New(s, now)
	_, err := led.Do(context.Background(), pay("warm", 1))
	require.NoError(t, err)
	const workers, each = 4, 25
	outcomes := make([]map[string]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		outcomes[w] = map[string]error{}
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			for i := range each {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.IntN(40_000))*time.Microsecond)
				id := fmt.Sprintf("t/%d/%d", w, i)
				_, err := led.Do(ctx, pay(id, 1))
				outcomes[w][id] = err
				cancel()
			}
		})
	}
	wg.Wait()
	accepted := map[bool]int{}
	st := replay(t, s)
	for _, m := range outcomes {
		for id, err := range m {
			_, ok := st.Receipt(id)
			accepted[ok]++
			switch {
			case err == nil:
				require.True(t, ok, id)
			case uncertain(err):
			default:
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.False(t, ok, "%s: %v", id, err)
			}
		}
	}
	require.Equal(t, int64(1+accepted[true]), st.Balance(ledger.Key{Account: "user:1", Asset: "BRL/2"}).Posted)
	t.Log(accepted)
}

// A context ends the wait for a lock, and a lock that is never given ends in
// ErrBusy.
func TestWaitingForALockEnds(t *testing.T) {
	ctx := context.Background()
	url := pgtest.URL(t)
	p := pool(t, url)
	s := fresh(t, p, pgx.ReadCommitted)
	led := ledger.New(s, now)
	_, err := led.Do(ctx, pay("a", 1))
	require.NoError(t, err)
	tx, err := p.Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(ctx)
	_, err = tx.Exec(ctx, "SELECT 1 FROM ledger_balance WHERE realm = $1 AND account = 'user:1' FOR UPDATE", s.cfg.Realm)
	require.NoError(t, err)

	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = led.Do(short, pay("b", 1))
	require.ErrorIs(t, err, context.DeadlineExceeded)

	impatient := open(t, pool(t, url+"&lock_timeout=5ms"), s.cfg)
	_, err = ledger.New(impatient, now).Do(ctx, pay("c", 1))
	_, busy := errors.AsType[ledger.ErrBusy](err)
	require.True(t, busy, "%v", err)

	require.NoError(t, tx.Rollback(ctx))
	_, err = led.Do(ctx, pay("d", 1))
	require.NoError(t, err)
	require.Equal(t, uint64(2), replay(t, s).Seq)
}

// A deadlock with somebody who locks in another order is tried again.
func TestDeadlockIsTriedAgain(t *testing.T) {
	ctx := context.Background()
	url := pgtest.URL(t)
	p := pool(t, url)
	s := fresh(t, pool(t, url+"&deadlock_timeout=20ms"), pgx.ReadCommitted)
	led := ledger.New(s, now)
	_, err := led.Do(ctx, pay("a", 1))
	require.NoError(t, err)
	stranger, err := p.Begin(ctx)
	require.NoError(t, err)
	defer stranger.Rollback(ctx)
	lock := func(account string) error {
		_, err := stranger.Exec(ctx, "SELECT 1 FROM ledger_balance WHERE realm = $1 AND account = $2 FOR UPDATE", s.cfg.Realm, account)
		return err
	}
	require.NoError(t, lock("world"))
	done := make(chan error, 1)
	go func() {
		_, err := led.Do(ctx, pay("b", 1)) // locks user:1, waits for world
		done <- err
	}()
	require.Eventually(t, func() bool {
		n := 0
		require.NoError(t, p.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%ledger_balance%'").Scan(&n))
		return n > 0
	}, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, lock("user:1"))
	require.NoError(t, stranger.Rollback(ctx))
	require.NoError(t, <-done)
	require.Equal(t, uint64(2), replay(t, s).Seq)
}

// The tables are the last net: what the rules would never allow is refused.
func TestConstraintsAreTheLastNet(t *testing.T) {
	ctx := context.Background()
	p := pool(t, pgtest.URL(t))
	s := fresh(t, p, pgx.ReadCommitted)
	tx := ledger.Tx{ID: "a", Post: []ledger.Posting{{From: "user:1", To: "user:2", Asset: "BRL/2", Amount: 5}}}
	blind := func(v ledger.View) (ledger.Change, error) { return ledger.Apply(noFloors{v}, tx, 1) }
	bad := func(v ledger.View) (ledger.Change, error) {
		c, err := blind(v)
		for i := range c.Receipt.Balances {
			c.Receipt.Balances[i].Floor = 0
		}
		return c, err
	}
	err := s.Atomic(ctx, ledger.Keys(tx), bad)
	violated, ok := errors.AsType[pgstore.ErrViolated](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "a", violated.ID)
	require.Equal(t, "corrupt", violated.Code())

	// In a batch the others are not to blame.
	good := pay("b", 3)
	errs := s.AtomicAll(ctx, []ledger.KeySet{ledger.Keys(good), ledger.Keys(tx)}, func(i int, v ledger.View) (ledger.Change, error) {
		if i == 1 {
			return bad(v)
		}
		return ledger.Apply(v, good, 1)
	})
	require.NoError(t, errs[0])
	require.ErrorAs(t, errs[1], &violated)
	v, err := s.Read(ctx, ledger.KeySet{Balances: []ledger.Key{{Account: "user:1", Asset: "BRL/2"}, {Account: "user:2", Asset: "BRL/2"}}})
	require.NoError(t, err)
	require.Equal(t, int64(3), v.Balance(ledger.Key{Account: "user:1", Asset: "BRL/2"}).Posted, "the credit of a refused Tx was kept")
	require.Zero(t, v.Balance(ledger.Key{Account: "user:2", Asset: "BRL/2"}).Posted)
}

type noFloors struct{ ledger.View }

func (v noFloors) Balance(k ledger.Key) ledger.Balance {
	b := v.View.Balance(k)
	b.Floor = ledger.Unbounded
	return b
}
