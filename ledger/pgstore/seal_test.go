package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore/pgtest"
)

// hammer moves money among three accounts through two stores over one realm,
// each with several goroutines, sometimes in batches, with documents that some
// only read. meanwhile runs as long as that lasts. It returns one store and
// how many Txs were accepted.
func hammer(t *testing.T, iso pgx.TxIsoLevel, workers, each int, meanwhile func(hooked)) (hooked, int) {
	ctx := context.Background()
	url := pgtest.URL(t)
	a := fresh(t, pool(t, url), iso)
	stores := []hooked{a, open(t, pool(t, url), a.cfg)}
	fund := ledger.Tx{ID: "fund", Docs: []ledger.DocWrite{{Key: "rules"}}}
	for i := range 3 {
		fund.Post = append(fund.Post, ledger.Posting{From: "world", To: hot(i), Asset: "BRL/2", Amount: 100})
	}
	_, err := ledger.New(a, now).Do(ctx, fund)
	require.NoError(t, err)
	var accepted atomic.Int64
	accepted.Store(1)
	check := func(r ledger.Receipt, err error) {
		if _, poor := errors.AsType[ledger.ErrFunds](err); poor {
			return
		}
		if _, late := errors.AsType[ledger.ErrConflict](err); late {
			return
		}
		if err != nil || r.Replayed {
			t.Errorf("%v, replayed %t", err, r.Replayed)
		}
		accepted.Add(1)
	}
	var wg, helpers sync.WaitGroup
	stop := make(chan struct{})
	if meanwhile != nil {
		for _, s := range stores {
			helpers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						meanwhile(s)
					}
				}
			})
		}
	}
	for w := range workers {
		wg.Go(func() {
			l := ledger.New(stores[w%2], time.Now)
			for i := range each {
				tx := ledger.Tx{
					ID:      fmt.Sprintf("t/%d/%d", w, i),
					Post:    []ledger.Posting{{From: hot(w + i), To: hot(w + i + 1 + w%2), Asset: "BRL/2", Amount: 7}},
					Count:   []ledger.Count{{Key: fmt.Sprint("n:", i%5), Delta: 1, Max: 1 << 40}},
					Require: []ledger.Require{{Key: "rules", Version: 1}},
				}
				switch {
				case i%10 == 9 && w == 0: // once: from then on the others conflict
					if i > each/2 {
						tx = ledger.Tx{ID: tx.ID, Docs: []ledger.DocWrite{{Key: "rules", IfVersion: 1, Status: "new"}}}
					}
					check(l.Do(ctx, tx))
				case i%4 == 3:
					other := tx
					other.ID += "/b"
					for _, r := range l.DoAll(ctx, []ledger.Tx{tx, other}) {
						check(r.Receipt, r.Err)
					}
				default:
					check(l.Do(ctx, tx))
				}
			}
		})
	}
	wg.Wait()
	close(stop)
	helpers.Wait()
	return a, int(accepted.Load())
}

func hot(i int) ledger.AccountID { return ledger.AccountID(fmt.Sprint("user:", i%3)) }

func TestHammerOnThreeHotAccounts(t *testing.T) {
	each := 40
	if testing.Short() {
		each = 15
	}
	for _, iso := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		t.Run(string(iso), func(t *testing.T) {
			s, accepted := hammer(t, iso, 6, each, nil)
			st := replay(t, s)
			require.Equal(t, uint64(accepted), st.Seq)
			sum := int64(0)
			for i := range 3 {
				b := st.Balance(ledger.Key{Account: hot(i), Asset: "BRL/2"})
				require.GreaterOrEqual(t, b.Posted, int64(0))
				sum += b.Posted
			}
			require.Equal(t, int64(300), sum)
		})
	}
}

// Two processes that seal while two write give one chain, which replays, and
// what was listed once is listed so for ever.
func TestTwoSealersMakeOneChain(t *testing.T) {
	each := 40
	if testing.Short() {
		each = 15
	}
	for _, iso := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.Serializable} {
		t.Run(string(iso), func(t *testing.T) {
			ctx := context.Background()
			var sealed atomic.Int64
			var mu sync.Mutex
			seen := map[uint64][32]byte{}
			s, accepted := hammer(t, iso, 4, each, func(s hooked) {
				n, err := s.Store.Seal(ctx)
				if _, busy := errors.AsType[ledger.ErrBusy](err); err != nil && !busy {
					t.Error(err)
				}
				sealed.Add(int64(n))
				entries, err := s.Journal(ctx, ledger.JournalQuery{})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for i, e := range entries {
					if old, ok := seen[e.Seq]; e.Seq != uint64(i)+1 || ok && old != e.Hash {
						t.Errorf("entry %d at %d has changed", e.Seq, i)
					}
					seen[e.Seq] = e.Hash
				}
			})
			n, err := s.Store.Seal(ctx)
			require.NoError(t, err)
			require.Equal(t, int64(accepted), sealed.Load()+int64(n))
			require.Greater(t, sealed.Load(), int64(0))
			st := replay(t, s)
			require.Equal(t, uint64(accepted), st.Seq)
			for seq, hash := range seen {
				if seq == st.Seq {
					require.Equal(t, st.Head, hash)
				}
			}
		})
	}
}

// A commit does not wait for somebody who seals, and shows in the journal only
// when it is sealed.
func TestCommitsDoNotWaitForTheHead(t *testing.T) {
	ctx := context.Background()
	p := pool(t, pgtest.URL(t))
	s := fresh(t, p, pgx.ReadCommitted)
	l := ledger.New(s, now)
	_, err := l.Do(ctx, pay("a", 1))
	require.NoError(t, err)
	s.Seal(t)
	tx, err := p.Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(ctx)
	_, err = tx.Exec(ctx, "SELECT 1 FROM ledger_head FOR UPDATE")
	require.NoError(t, err)
	_, err = l.Do(ctx, pay("b", 1))
	require.NoError(t, err)
	entries, err := s.Journal(ctx, ledger.JournalQuery{})
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.NoError(t, tx.Rollback(ctx))
	require.Equal(t, uint64(2), replay(t, s).Seq)
}

// More than one block, in the order of the commits.
func TestSealInBlocks(t *testing.T) {
	ctx := context.Background()
	s := fresh(t, pool(t, pgtest.URL(t)), pgx.ReadCommitted)
	var txs []ledger.Tx
	for i := range 2100 {
		txs = append(txs, ledger.Tx{ID: fmt.Sprint(7919 * i % 2100), Memo: []byte("x")})
	}
	for _, r := range ledger.New(s, now).DoAll(ctx, txs) {
		require.NoError(t, r.Err)
	}
	n, err := s.Store.Seal(ctx)
	require.NoError(t, err)
	require.Equal(t, len(txs), n)
	entries, err := s.Journal(ctx, ledger.JournalQuery{})
	require.NoError(t, err)
	for i, e := range entries {
		require.Equal(t, txs[i].ID, e.Tx.ID)
	}
	replay(t, s)
}
