package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/sqlstore"
)

// rotten is a change that the rules would never make.
func rotten(id string) (ledger.KeySet, func(ledger.View) (ledger.Change, error)) {
	k := ledger.Key{Account: "user:1", Asset: "BRL/2"}
	tx := &ledger.Tx{ID: id}
	return ledger.KeySet{ID: id, Balances: []ledger.Key{k}}, func(v ledger.View) (ledger.Change, error) {
		b := v.Balance(k)
		b.Posted, b.Version = -1, b.Version+1
		return ledger.Change{Tx: tx, Receipt: ledger.Receipt{ID: id, At: epoch, Digest: ledger.Digest(*tx), Balances: []ledger.Balance{b}}}, nil
	}
}

// TestOneRottenMemberOfABatch does not spoil the others, and what its
// successors saw of it is undone.
func TestOneRottenMemberOfABatch(t *testing.T) {
	s := openNew(t)
	txs := []ledger.Tx{pay("a", "world", "user:1", 10), {}, pay("b", "user:1", "user:2", 4), pay("c", "user:1", "user:2", 40)}
	sets := make([]ledger.KeySet, len(txs))
	for i, tx := range txs {
		sets[i] = ledger.Keys(tx)
	}
	var bad func(ledger.View) (ledger.Change, error)
	sets[1], bad = rotten("rotten")
	errs := s.AtomicAll(context.Background(), sets, func(i int, v ledger.View) (ledger.Change, error) {
		if i == 1 {
			return bad(v)
		}
		return ledger.Apply(v, txs[i], epoch)
	})
	require.NoError(t, errs[0])
	violated, ok := errors.AsType[sqlstore.ErrViolated](errs[1])
	require.True(t, ok, "%v", errs[1])
	require.Equal(t, "rotten", violated.ID)
	require.Equal(t, "corrupt", violated.Code())
	require.NoError(t, errs[2])
	require.Equal(t, ledger.ErrFunds{Key: ledger.Key{Account: "user:1", Asset: "BRL/2"}, Need: 40, Have: 6}, errs[3])
	require.Equal(t, int64(6), posted(t, s, "user:1"))
	require.Equal(t, uint64(2), replayed(t, s).Seq)
}

// TestCallersShareCommits: while one commit is under way the next callers
// gather, each with an outcome of his own.
func TestCallersShareCommits(t *testing.T) {
	s, f := openFaulty(t)
	do(t, s, pay("fund", "world", "user:0", 30))
	start := f.commits.Load()
	const callers = 64
	var wg sync.WaitGroup
	errs := make([]error, callers)
	gate := make(chan struct{})
	for i := range errs {
		wg.Go(func() {
			<-gate
			_, errs[i] = ledger.New(s, fixed).Do(context.Background(), pay(fmt.Sprint("t/", i), "user:0", "user:1", 1))
		})
	}
	close(gate)
	wg.Wait()
	paid := 0
	for _, err := range errs {
		if err == nil {
			paid++
			continue
		}
		_, ok := errors.AsType[ledger.ErrFunds](err)
		require.True(t, ok, "%v", err)
	}
	require.Equal(t, 30, paid)
	require.Equal(t, int64(30), posted(t, s, "user:1"))
	require.Equal(t, uint64(31), replayed(t, s).Seq)
	require.Less(t, f.commits.Load()-start, int32(30), "each had a commit of his own")
}

// TestWaitingEndsWithTheContext, for the one who leads and for those behind
// him; nothing is burnt, and those who wait on get their turn.
func TestWaitingEndsWithTheContext(t *testing.T) {
	s := openNew(t)
	hold, err := s.Begin(context.Background())
	require.NoError(t, err)
	l := ledger.New(s, fixed)
	var wg sync.WaitGroup
	errs := make([]error, 6)
	var ended atomic.Int32
	stays := func(i int) bool { return i == 1 || i == 5 } // number 1 leads once number 0 has gone
	for i := range errs {
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if !stays(i) {
			ctx, cancel = context.WithTimeout(ctx, time.Duration(10+5*i)*time.Millisecond)
		}
		wg.Go(func() {
			defer cancel()
			_, errs[i] = l.Do(ctx, pay(fmt.Sprint("t/", i), "world", "user:1", 1))
			ended.Add(1)
		})
		time.Sleep(time.Millisecond)
	}
	require.Eventually(t, func() bool { return ended.Load() == 4 }, 10*time.Second, time.Millisecond, "they wait although their time is over")
	require.NoError(t, hold.Rollback())
	wg.Wait()
	for i, err := range errs {
		if stays(i) {
			require.NoError(t, err)
		} else {
			require.Equal(t, context.DeadlineExceeded, err)
		}
	}
	require.Equal(t, int64(2), posted(t, s, "user:1"))
	require.False(t, do(t, s, pay("t/0", "world", "user:1", 1)).Replayed)
}

// TestCancelledWhileDecided: a commit that is under way is not cut in half,
// and says what became of it.
func TestCancelledWhileDecided(t *testing.T) {
	s := openNew(t)
	for i := range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		tx := pay(fmt.Sprint("t/", i), "world", "user:1", 1)
		err := s.Atomic(ctx, ledger.Keys(tx), func(v ledger.View) (ledger.Change, error) {
			cancel()
			return ledger.Apply(v, tx, epoch)
		})
		require.NoError(t, err)
		require.Equal(t, int64(i+1), posted(t, s, "user:1"))
	}
}

// TestPanicOfTheFunction goes to its caller; the store goes on.
func TestPanicOfTheFunction(t *testing.T) {
	s := openNew(t)
	require.PanicsWithValue(t, "bug", func() {
		_ = s.Atomic(context.Background(), ledger.KeySet{ID: "p"}, func(ledger.View) (ledger.Change, error) { panic("bug") })
	})
	do(t, s, pay("a", "world", "user:1", 1))
	require.Equal(t, uint64(1), replayed(t, s).Seq)
}

// TestViewsStand while the ledger goes on.
func TestViewsStand(t *testing.T) {
	s := openNew(t)
	do(t, s, pay("a", "world", "user:1", 1))
	ks := ledger.Keys(pay("a", "world", "user:1", 1))
	v, err := s.Read(context.Background(), ks)
	require.NoError(t, err)
	do(t, s, pay("b", "world", "user:1", 1))
	require.Equal(t, int64(1), v.Balance(ledger.Key{Account: "user:1", Asset: "BRL/2"}).Posted)
	require.Equal(t, int64(-1), v.Balance(ledger.Key{Account: "world", Asset: "BRL/2"}).Posted)
}

// TestReadIsOneMoment: a balance and a counter that move together are never
// seen apart.
func TestReadIsOneMoment(t *testing.T) {
	ctx := context.Background()
	s := openNew(t)
	tx := func(i int) ledger.Tx {
		tx := pay(fmt.Sprint("t/", i), "world", "user:1", 1)
		tx.Count = []ledger.Count{{Key: "n", Delta: 1, Max: 1 << 40}}
		return tx
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 200 {
			_, err := ledger.New(s, fixed).Do(ctx, tx(i))
			if err != nil {
				t.Error(err)
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		v, err := s.Read(ctx, ledger.Keys(tx(0)))
		require.NoError(t, err)
		require.Equal(t, v.Balance(ledger.Key{Account: "user:1", Asset: "BRL/2"}).Posted, v.Counter("n"))
	}
	require.Equal(t, int64(200), posted(t, s, "user:1"))
}

// TestOddDocumentQueries are answered as by the store in memory, whatever
// bytes they hold.
func TestOddDocumentQueries(t *testing.T) {
	ctx := context.Background()
	s, m := openNew(t), ledger.NewMemory()
	var tx ledger.Tx
	keys := []ledger.DocKey{"p", "p#", "p-", "p:1", "p:1z", "p:z", "p:zz", "pz", "pzz", "q", "P", "_p", "z", "zz", "#"}
	for _, k := range keys {
		tx.Docs = append(tx.Docs, ledger.DocWrite{Key: k, Status: "s"})
	}
	tx.ID = "all"
	do(t, s, tx)
	do(t, m, tx)
	odd := append(keys, "", "~", " ", "p ", "p\x00", "p\xff", "p:\xff", "\xff", "p%", "p'", "ü", "p,", "p:zzz", "p:z~")
	for _, prefix := range odd {
		for _, after := range odd {
			for _, status := range []string{"", "s", "\xff"} {
				q := ledger.DocQuery{Prefix: prefix, After: after, Status: status}
				var want, got []ledger.DocRow
				for d, err := range m.Docs(ctx, q) {
					require.NoError(t, err)
					want = append(want, d)
				}
				for d, err := range s.Docs(ctx, q) {
					require.NoError(t, err)
					got = append(got, d)
				}
				require.Equal(t, want, got, "%+v", q)
			}
		}
	}
	for _, doc := range odd {
		want, err := m.Journal(ctx, ledger.JournalQuery{Doc: doc, After: 1 << 63})
		require.NoError(t, err)
		got, err := s.Journal(ctx, ledger.JournalQuery{Doc: doc, After: 1 << 63})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
