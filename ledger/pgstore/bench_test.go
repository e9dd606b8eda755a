package pgstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore/pgtest"
)

// naive is a Tx as one would write it without much thought, but right: every
// row is read, locked and written by a statement of its own. It writes the
// same journal row and the same balances, and nothing for a chain.
type naive struct {
	pool *pgxpool.Pool
}

func (n naive) do(ctx context.Context, tx ledger.Tx) error {
	return pgx.BeginFunc(ctx, n.pool, func(db pgx.Tx) error {
		if _, err := db.Exec(ctx, "INSERT INTO ledger_tx (realm, id) VALUES ('naive', $1)", tx.ID); err != nil {
			return err
		}
		st := &ledger.State{}
		for _, k := range ledger.Keys(tx).Balances {
			if _, err := db.Exec(ctx, "INSERT INTO ledger_balance (realm, account, asset) VALUES ('naive', $1, $2) ON CONFLICT DO NOTHING", k.Account, k.Asset); err != nil {
				return err
			}
			b := ledger.Balance{Key: k}
			row := db.QueryRow(ctx, "SELECT posted, held, floor, version FROM ledger_balance WHERE realm = 'naive' AND account = $1 AND asset = $2 FOR UPDATE", k.Account, k.Asset)
			if err := row.Scan(&b.Posted, &b.Held, &b.Floor, &b.Version); err != nil {
				return err
			}
			if b.Version > 0 {
				st.Balances = append(st.Balances, b)
			}
		}
		c, err := ledger.Apply(st, tx, epoch.UnixNano())
		if err != nil {
			return err
		}
		for _, b := range c.Receipt.Balances {
			if _, err := db.Exec(ctx, "UPDATE ledger_balance SET posted = $3, held = $4, floor = $5, version = $6 WHERE realm = 'naive' AND account = $1 AND asset = $2",
				b.Key.Account, b.Key.Asset, b.Posted, b.Held, b.Floor, b.Version); err != nil {
				return err
			}
		}
		body, err := json.Marshal(c.Tx)
		if err != nil {
			return err
		}
		receipt, err := json.Marshal(c.Receipt)
		if err != nil {
			return err
		}
		_, err = db.Exec(ctx, "UPDATE ledger_tx SET at = $2, digest = $3, tx = $4, receipt = $5 WHERE realm = 'naive' AND id = $1", tx.ID, c.Receipt.At, c.Receipt.Digest[:], string(body), string(receipt))
		return err
	})
}

// BenchmarkPipelined compares the store with the naive transaction on the same
// server, in turns: ratio is naive time / store time, by the medians. Run it
// with -benchtime 40x or more: one is a turn of 48 Txs each.
func BenchmarkPipelined(b *testing.B) {
	ctx := context.Background()
	for _, c := range []struct {
		name           string
		conns          int
		accounts, size int // size: Txs per call
		options        string
	}{
		{"1 connection", 1, 1000, 1, ""},
		{"8 connections", 8, 1000, 1, ""},
		{"8 connections, 3 hot accounts", 8, 3, 1, ""},
		{"1 connection, batches of 48", 1, 1000, 48, ""},
		// The disk set aside, which both wait for once per commit.
		{"1 connection, no flush", 1, 1000, 1, "&synchronous_commit=off"},
		{"8 connections, no flush", 8, 1000, 1, "&synchronous_commit=off"},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := pool(b, pgtest.URL(b)+c.options)
			s := fresh(b, p, pgx.ReadCommitted)
			l, n := ledger.New(s, now), naive{p}
			var ids atomic.Int64
			tx := func() ledger.Tx {
				i := int(ids.Add(1))
				from := ledger.AccountID(fmt.Sprint("house:", i*7919%c.accounts))
				to := ledger.AccountID(fmt.Sprint("house:", (i*7919+1)%c.accounts))
				return ledger.Tx{ID: fmt.Sprint("t/", i), Post: []ledger.Posting{{From: from, To: to, Asset: "BRL/2", Amount: 5}}}
			}
			const turn = 48
			run := func(do func() error) time.Duration {
				began := time.Now()
				var wg sync.WaitGroup
				for range c.conns {
					wg.Go(func() {
						for range turn / c.conns {
							if err := do(); err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
				return time.Since(began)
			}
			one := func() error { _, err := l.Do(ctx, tx()); return err }
			slow := func() error { return n.do(ctx, tx()) }
			batch := func() error {
				txs := make([]ledger.Tx, c.size)
				for i := range txs {
					txs[i] = tx()
				}
				for _, r := range l.DoAll(ctx, txs) {
					if r.Err != nil {
						return r.Err
					}
				}
				return nil
			}
			fast := func() time.Duration { return run(one) }
			if c.size > 1 {
				fast = func() time.Duration {
					began := time.Now()
					require.NoError(b, batch())
					return time.Since(began)
				}
			}
			grow(b, s, c.accounts)
			fast()
			run(slow)
			var mine, theirs []time.Duration
			for b.Loop() {
				mine, theirs = append(mine, fast()), append(theirs, run(slow))
			}
			m, t := median(mine), median(theirs)
			b.ReportMetric(turn/m.Seconds(), "tx/s")
			b.ReportMetric(turn/t.Seconds(), "naive-tx/s")
			b.ReportMetric(t.Seconds()/m.Seconds(), "ratio")
		})
	}
}

// grow fills the tables of both sides alike, to a size at which the server
// plans as it would with any greater one.
func grow(b *testing.B, s hooked, accounts int) {
	ctx := context.Background()
	txs := make([]ledger.Tx, 5000)
	for i := range txs {
		to := ledger.AccountID(fmt.Sprint("house:", i%accounts))
		txs[i] = ledger.Tx{ID: fmt.Sprint("grow/", i), Post: []ledger.Posting{{From: "house:bank", To: to, Asset: "BRL/2", Amount: 5}}}
	}
	for _, r := range ledger.New(s, now).DoAll(ctx, txs) {
		require.NoError(b, r.Err)
	}
	s.Seal(b)
	for _, text := range []string{
		"INSERT INTO ledger_balance SELECT 'naive', account, asset, posted, held, floor, version, closed, stamp FROM ledger_balance",
		"INSERT INTO ledger_tx SELECT 'naive', id, at, digest, tx, receipt FROM ledger_tx",
		"VACUUM ANALYZE",
		"CHECKPOINT",
	} {
		_, err := s.pool.Exec(ctx, text)
		require.NoError(b, err)
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkSeal is the price of an entry's place in the journal.
func BenchmarkSeal(b *testing.B) {
	ctx := context.Background()
	s := fresh(b, pool(b, pgtest.URL(b)), pgx.ReadCommitted)
	l := ledger.New(s, now)
	txs := make([]ledger.Tx, 500)
	sealed, n := 0, 0
	var spent time.Duration
	for b.Loop() {
		for i := range txs {
			n++
			txs[i] = ledger.Tx{ID: fmt.Sprint("t/", n), Memo: []byte("x")}
		}
		for _, r := range l.DoAll(ctx, txs) {
			require.NoError(b, r.Err)
		}
		began := time.Now()
		k, err := s.Store.Seal(ctx)
		require.NoError(b, err)
		spent += time.Since(began)
		sealed += k
	}
	require.Equal(b, n, sealed)
	b.ReportMetric(float64(sealed)/spent.Seconds(), "entries/s")
}
