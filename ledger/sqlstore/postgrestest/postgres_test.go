package postgrestest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/ledgertest"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore/pgtest"
	"github.com/glasshouse-go/glasshouse/ledger/sqlstore"
)

const epoch = int64(1_700_000_000_000_000_000)

func fixed() time.Time { return time.Unix(0, epoch) }

func database(tb testing.TB) *sql.DB {
	tb.Helper()
	db, err := sql.Open("pgx", pgtest.Server(tb))
	require.NoError(tb, err)
	db.SetMaxIdleConns(8)
	db.SetMaxOpenConns(16)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	return db
}

var tables = []string{"format", "entry", "head", "doc_entry", "balance", "hold", "doc", "counter"}

var opened atomic.Int64

// prefix is one that no test before used; its tables go with the test.
func prefix(tb testing.TB, db *sql.DB) string {
	tb.Helper()
	p := fmt.Sprintf("t%d_%d_", os.Getpid(), opened.Add(1))
	tb.Cleanup(func() {
		for _, t := range tables {
			_, err := db.Exec("DROP TABLE IF EXISTS " + p + t)
			require.NoError(tb, err)
		}
	})
	return p
}

// store is what the suite tests: it seals when the suite wants to read.
type store struct {
	*sqlstore.Store
	db  *sql.DB
	cfg sqlstore.Config
}

func (s store) Seal(tb testing.TB) {
	_, err := s.Store.Seal(context.Background())
	require.NoError(tb, err)
}

func (s store) Reopen(tb testing.TB) ledger.Store { return open(tb, s.db, s.cfg) }

func open(tb testing.TB, db *sql.DB, cfg sqlstore.Config) store {
	tb.Helper()
	s, err := sqlstore.Open(context.Background(), db, cfg)
	require.NoError(tb, err)
	return store{s, db, cfg}
}

var realms atomic.Int64

// suite opens realms in one set of tables: new tables for each case would
// take longer than the tests.
func suite(t *testing.T, isolation sql.IsolationLevel) {
	db := database(t)
	p := prefix(t, db)
	ledgertest.Run(t, func(tb testing.TB) ledger.Store {
		return open(tb, db, sqlstore.Config{Dialect: sqlstore.Postgres, Prefix: p, Realm: fmt.Sprint("r", realms.Add(1)), Isolation: isolation})
	})
}

func TestConformanceReadCommitted(t *testing.T) { suite(t, sql.LevelReadCommitted) }
func TestConformanceSerializable(t *testing.T)  { suite(t, sql.LevelSerializable) }

func openNew(t *testing.T) store {
	t.Helper()
	db := database(t)
	return open(t, db, sqlstore.Config{Dialect: sqlstore.Postgres, Prefix: prefix(t, db)})
}

func pay(id string, from, to ledger.AccountID, amount int64) ledger.Tx {
	return ledger.Tx{ID: id, Post: []ledger.Posting{{From: from, To: to, Asset: "BRL/2", Amount: amount}}}
}

func do(tb testing.TB, s ledger.Store, tx ledger.Tx) ledger.Receipt {
	tb.Helper()
	r, err := ledger.New(s, fixed).Do(context.Background(), tx)
	require.NoError(tb, err)
	return r
}

func replayed(tb testing.TB, s store) ledger.State {
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
	return st
}

// TestSealedOrderReplays though clocks disagree, several processes seal, and
// commits go on meanwhile: documents that are only read, counters and balances
// all tie entries together.
func TestSealedOrderReplays(t *testing.T) {
	t.Run("sealed meanwhile", func(t *testing.T) { sealedOrder(t, 2) })
	t.Run("sealed in the end", func(t *testing.T) { sealedOrder(t, 0) })
}

func sealedOrder(t *testing.T, processes int) {
	ctx := context.Background()
	s := openNew(t)
	for i := range 3 {
		do(t, s, pay(fmt.Sprint("fund/", i), "world", ledger.AccountID(fmt.Sprint("user:", i)), 100))
	}
	do(t, s, ledger.Tx{ID: "table", Docs: []ledger.DocWrite{{Key: "table", Status: "open"}}})
	stop := make(chan struct{})
	var sealers, workers sync.WaitGroup
	for range processes {
		sealers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.Seal(t)
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	var accepted atomic.Int64
	for w := range 6 {
		at := time.Unix(0, epoch+int64(w-3)*3600e9) // hours apart
		l := ledger.New(s, func() time.Time { return at })
		workers.Go(func() {
			for i := range 30 {
				d, err := l.Doc(ctx, "table")
				require.NoError(t, err)
				tx := ledger.Tx{ID: fmt.Sprintf("%d/%d", w, i), Memo: []byte("m")}
				switch i % 5 {
				case 0:
					tx.Docs = []ledger.DocWrite{{Key: "table", IfVersion: d.Version, Status: "open"}}
				case 1:
					tx.Require = []ledger.Require{{Key: "table", Version: d.Version}, {Key: ledger.DocKey(fmt.Sprint("later:", i+3))}}
				case 2: // never above 1: in another order it would be
					tx.Count = []ledger.Count{{Key: "n", Delta: int64(1 - 2*(w%2)), Max: 1}}
				case 3: // few have what they give away
					tx.Post = pay("", ledger.AccountID(fmt.Sprint("user:", (i+w)%3)), ledger.AccountID(fmt.Sprint("user:", (i+w+1)%3)), 100).Post
				case 4:
					tx.Docs = []ledger.DocWrite{{Key: ledger.DocKey(fmt.Sprint("later:", i))}}
				}
				_, err = l.Do(ctx, tx)
				if err == nil {
					accepted.Add(1)
					continue
				}
				_, rule := err.(interface{ Code() string })
				require.True(t, rule, "%v", err)
				_, busy := errors.AsType[ledger.ErrBusy](err)
				require.False(t, busy, "%v", err)
			}
		})
	}
	workers.Wait()
	close(stop)
	sealers.Wait()
	st := replayed(t, s)
	require.Equal(t, uint64(accepted.Load()+4), st.Seq)
	for _, b := range st.Balances {
		have, err := ledger.New(s, fixed).Balance(ctx, b.Key.Account, b.Key.Asset)
		require.NoError(t, err)
		require.Equal(t, b, have)
	}
	n, err := ledger.New(s, fixed).Counter(ctx, "n")
	require.NoError(t, err)
	require.Equal(t, st.Counter("n"), n)
	docs, err := s.Journal(ctx, ledger.JournalQuery{Doc: "table"})
	require.NoError(t, err)
	require.True(t, slices.IsSortedFunc(docs, func(a, b ledger.Entry) int { return int(a.Seq) - int(b.Seq) }))
	require.Equal(t, st.Doc("table").Version, uint64(len(docs)))
}

// TestOneIDFromMany: one is the first, all others are answered with it.
func TestOneIDFromMany(t *testing.T) {
	s := openNew(t)
	do(t, s, pay("fund", "world", "user:1", 5))
	var wg sync.WaitGroup
	var first atomic.Int64
	for range 12 {
		wg.Go(func() {
			tx := pay("once", "user:1", "user:2", 5)
			tx.Docs = []ledger.DocWrite{{Key: "d", Seal: true}}
			if !do(t, s, tx).Replayed {
				first.Add(1)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(1), first.Load())
	require.Equal(t, uint64(2), replayed(t, s).Seq)
}

// TestRefusalsLeaveNoRows behind, neither alone nor in a batch nor in DoTx.
func TestRefusalsLeaveNoRows(t *testing.T) {
	ctx := context.Background()
	s := openNew(t)
	l := ledger.New(s, fixed)
	bad := func(n int) ledger.Tx {
		return ledger.Tx{
			ID: fmt.Sprint("bad/", n), Post: []ledger.Posting{{From: "user:9", To: "user:8", Asset: "BRL/2", Amount: 1}},
			Docs: []ledger.DocWrite{{Key: "bad"}}, Count: []ledger.Count{{Key: "bad", Delta: 1, Max: 1}},
			Hold: []ledger.Hold{{ID: "bad", From: "user:9", Asset: "BRL/2", Amount: 1}},
		}
	}
	_, err := l.Do(ctx, bad(0))
	require.Error(t, err)
	res := l.DoAll(ctx, []ledger.Tx{bad(1), pay("good", "world", "user:1", 5), bad(2), {ID: "memo", Memo: []byte("m")}})
	require.Error(t, res[0].Err)
	require.NoError(t, res[1].Err)
	require.Error(t, res[2].Err)
	require.NoError(t, res[3].Err)
	tx, err := s.db.BeginTx(ctx, nil)
	require.NoError(t, err)
	_, err = s.DoTx(ctx, tx, bad(3))
	funds, ok := errors.AsType[ledger.ErrFunds](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, int64(2), funds.Need)
	_, err = s.DoTx(ctx, tx, pay("in tx", "user:1", "user:2", 5))
	_, invalid := errors.AsType[ledger.ErrInvalid](err)
	require.True(t, invalid, "%v", err)
	_, err = s.DoTx(ctx, tx, pay("in/tx", "user:1", "user:2", 5))
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	for table, want := range map[string]int{"entry": 3, "balance": 3, "hold": 0, "doc": 0, "counter": 0} {
		n := 0
		require.NoError(t, s.db.QueryRow("SELECT count(*) FROM "+s.cfg.Prefix+table).Scan(&n))
		require.Equal(t, want, n, table)
	}
	require.Equal(t, uint64(3), replayed(t, s).Seq)
}

// TestWaitingForALockEndsWithTheContext and burns nothing.
func TestWaitingForALockEndsWithTheContext(t *testing.T) {
	ctx := context.Background()
	s := openNew(t)
	do(t, s, pay("fund", "world", "user:1", 5))
	tx, err := s.db.BeginTx(ctx, nil)
	require.NoError(t, err)
	_, err = s.DoTx(ctx, tx, pay("host", "user:1", "user:2", 5))
	require.NoError(t, err)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, err = ledger.New(s, fixed).Do(short, pay("a", "user:1", "user:3", 5))
	require.Equal(t, context.DeadlineExceeded, err)
	require.NoError(t, tx.Rollback())
	require.False(t, do(t, s, pay("a", "user:1", "user:3", 5)).Replayed)
	require.Equal(t, uint64(2), replayed(t, s).Seq)
}

// TestConnectionLost in the middle of a transaction: nothing happened.
func TestConnectionLost(t *testing.T) {
	ctx := context.Background()
	s := openNew(t)
	tx := pay("a", "world", "user:1", 5)
	lost := false
	err := s.Atomic(ctx, ledger.Keys(tx), func(v ledger.View) (ledger.Change, error) {
		if !lost {
			lost = true
			_, err := s.db.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction' AND query LIKE '%" + s.cfg.Prefix + "%'")
			require.NoError(t, err)
		}
		return ledger.Apply(v, tx, epoch)
	})
	require.Error(t, err)
	_, code := err.(interface{ Code() string })
	require.False(t, code, "%v", err)
	require.False(t, do(t, s, tx).Replayed)
	require.Equal(t, uint64(1), replayed(t, s).Seq)
}

func TestOpenedByManyAtOnce(t *testing.T) {
	db := database(t)
	cfg := sqlstore.Config{Dialect: sqlstore.Postgres, Prefix: prefix(t, db)}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { _, errs[i] = sqlstore.Open(context.Background(), db, cfg) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	format, err := sqlstore.Format(context.Background(), db, cfg)
	require.NoError(t, err)
	require.Equal(t, 1, format)
}

func TestForeignTablesAreLeftAlone(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		create string
		as     any
	}{
		"no format":    {"CREATE TABLE {p}entry (id INTEGER)", &sqlstore.ErrForeign{}},
		"other column": {"CREATE TABLE {p}format (a INTEGER)", &sqlstore.ErrForeign{}},
		"other magic":  {"CREATE TABLE {p}format AS SELECT 1 AS id, 'x' AS magic, 1 AS format", &sqlstore.ErrForeign{}},
		"newer":        {"CREATE TABLE {p}format AS SELECT 1 AS id, 'glasshouse/ledger' AS magic, 9 AS format", &sqlstore.ErrNewer{}},
	} {
		db := database(t)
		cfg := sqlstore.Config{Dialect: sqlstore.Postgres, Prefix: prefix(t, db)}
		_, err := db.Exec(strings.ReplaceAll(c.create, "{p}", cfg.Prefix))
		require.NoError(t, err)
		_, err = sqlstore.Open(ctx, db, cfg)
		require.Error(t, err, name)
		require.True(t, errors.As(err, c.as), "%s: %v", name, err)
		n := 0
		require.NoError(t, db.QueryRow("SELECT count(*) FROM information_schema.tables WHERE table_name LIKE $1", cfg.Prefix+"%").Scan(&n))
		require.Equal(t, 1, n, name)
	}
}

// TestTheTablesRefuse what the rules exclude, and one who is refused does not
// spoil the batch.
func TestTheTablesRefuse(t *testing.T) {
	s := openNew(t)
	k := ledger.Key{Account: "user:1", Asset: "BRL/2"}
	good := pay("good", "world", "user:2", 5)
	bad := &ledger.Tx{ID: "rotten"}
	errs := s.AtomicAll(context.Background(), []ledger.KeySet{ledger.Keys(good), {ID: "rotten", Balances: []ledger.Key{k}}}, func(i int, v ledger.View) (ledger.Change, error) {
		if i == 0 {
			return ledger.Apply(v, good, epoch)
		}
		return ledger.Change{Tx: bad, Receipt: ledger.Receipt{ID: "rotten", At: epoch, Digest: ledger.Digest(*bad), Balances: []ledger.Balance{{Key: k, Posted: -1, Version: 1}}}}, nil
	})
	require.NoError(t, errs[0])
	_, violated := errors.AsType[sqlstore.ErrViolated](errs[1])
	require.True(t, violated, "%v", errs[1])
	require.Equal(t, uint64(1), replayed(t, s).Seq)
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
			if _, err := ledger.New(s, fixed).Do(ctx, tx(i)); err != nil {
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
}
