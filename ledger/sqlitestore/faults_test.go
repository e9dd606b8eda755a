package sqlitestore

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/driver"
	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/sqlstore"
)

// faulty is the driver with faults. It also counts commits and notes
// statements.
type faulty struct {
	sqldriver.Connector
	lose    atomic.Int32 // the next commit: 1 happens, 2 does not; its reply is lost
	fail    atomic.Int32 // the statement from now on that fails; 0 none
	commits atomic.Int32
	mu      sync.Mutex
	texts   map[string]bool
}

var (
	errLost = fmt.Errorf("disk: %w", sqlite3.IOERR)
	errRead = fmt.Errorf("read: %w", sqlite3.IOERR)
)

// openFaulty opens a new file through the driver with faults.
func openFaulty(tb testing.TB) (*sqlstore.Store, *faulty) {
	tb.Helper()
	cfg := Config{Path: tb.TempDir() + "/ledger.db"}
	c, err := (&driver.SQLite{}).OpenConnector("file:" + cfg.Path + "?_txlock=immediate&_pragma=busy_timeout(1000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	require.NoError(tb, err)
	f := &faulty{Connector: c, texts: map[string]bool{}}
	db := sql.OpenDB(f)
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	s, err := sqlstore.Open(context.Background(), db, sqlstore.Config{Dialect: sqlstore.SQLite, Classify: classify})
	require.NoError(tb, err)
	return s, f
}

// rich is what database/sql finds in a connection of the driver.
type rich interface {
	sqldriver.Conn
	sqldriver.ConnBeginTx
	sqldriver.ConnPrepareContext
	sqldriver.ExecerContext
	sqldriver.NamedValueChecker
}

type faultyConn struct {
	rich
	f *faulty
}

type faultyTx struct {
	sqldriver.Tx
	f *faulty
}

type faultyStmt struct {
	richStmt
	f *faulty
}

type richStmt interface {
	sqldriver.Stmt
	sqldriver.StmtExecContext
	sqldriver.StmtQueryContext
	sqldriver.NamedValueChecker
}

func (f *faulty) Connect(ctx context.Context) (sqldriver.Conn, error) {
	c, err := f.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return faultyConn{c.(rich), f}, nil
}

func (c faultyConn) BeginTx(ctx context.Context, o sqldriver.TxOptions) (sqldriver.Tx, error) {
	tx, err := c.rich.BeginTx(ctx, o)
	return faultyTx{tx, c.f}, err
}

func (c faultyConn) PrepareContext(ctx context.Context, text string) (sqldriver.Stmt, error) {
	c.f.mu.Lock()
	c.f.texts[text] = true
	c.f.mu.Unlock()
	st, err := c.rich.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return faultyStmt{st.(richStmt), c.f}, nil
}

// broken says whether this statement is the one that fails.
func (f *faulty) broken() bool { return f.fail.Load() > 0 && f.fail.Add(-1) == 0 }

func (s faultyStmt) ExecContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Result, error) {
	if s.f.broken() {
		return nil, errRead
	}
	return s.richStmt.ExecContext(ctx, args)
}

func (s faultyStmt) QueryContext(ctx context.Context, args []sqldriver.NamedValue) (sqldriver.Rows, error) {
	if s.f.broken() {
		return nil, errRead
	}
	return s.richStmt.QueryContext(ctx, args)
}

func (tx faultyTx) Commit() error {
	tx.f.commits.Add(1)
	switch tx.f.lose.Swap(0) {
	case 1:
		return errors.Join(errLost, tx.Tx.Commit())
	case 2:
		return errors.Join(errLost, tx.Tx.Rollback())
	}
	return tx.Tx.Commit()
}

// TestLostReplyAtCommit: what happened is found out, what is not known is said.
func TestLostReplyAtCommit(t *testing.T) {
	ctx := context.Background()
	s, f := openFaulty(t)
	l := ledger.New(s, fixed)
	do(t, s, pay("fund", "world", "user:1", 10))

	f.lose.Store(1)
	r, err := l.Do(ctx, pay("a", "user:1", "user:2", 1))
	require.NoError(t, err, "the look-up shows that it was committed")
	require.False(t, r.Replayed)

	f.lose.Store(2)
	_, err = l.Do(ctx, pay("b", "user:1", "user:2", 1))
	uncertain, ok := errors.AsType[ledger.ErrUncertain](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, "b", uncertain.ID)
	require.ErrorIs(t, err, sqlite3.IOERR)
	require.False(t, do(t, s, pay("b", "user:1", "user:2", 1)).Replayed)

	// In a batch: refused is refused, all that leans on the commit is not known.
	batch := []ledger.Tx{pay("c", "user:1", "user:2", 1), pay("c", "user:1", "user:2", 1), pay("much", "user:1", "user:2", 100), pay("b", "user:1", "user:2", 1)}
	f.lose.Store(2)
	codes := ""
	for _, r := range l.DoAll(ctx, batch) {
		c, ok := r.Err.(interface{ Code() string })
		if !ok {
			codes += fmt.Sprint(r.Err, " ")
			continue
		}
		codes += c.Code() + " "
	}
	require.Equal(t, "uncertain uncertain insufficient_balance <nil> ", codes)
	f.lose.Store(1)
	res := l.DoAll(ctx, batch)
	require.NoError(t, res[0].Err)
	require.True(t, res[1].Receipt.Replayed)
	require.Equal(t, int64(7), posted(t, s, "user:1"))
	require.Len(t, replayed(t, s).Receipts, 4)
}

// TestEveryStatementFails: a disk that fails at statement n of a commit leaves
// nothing behind, is not uncertain, and does not burn the id.
func TestEveryStatementFails(t *testing.T) {
	ctx := context.Background()
	s, f := openFaulty(t)
	l := ledger.New(s, fixed)
	play(t, s, game(8), func(int) {})
	before := replayed(t, s)
	tx := ledger.Tx{
		ID: "all", Post: []ledger.Posting{{From: "world", To: "user:1", Asset: "BRL/2", Amount: 5}},
		Docs:  []ledger.DocWrite{{Key: "d", Status: "s"}},
		Hold:  []ledger.Hold{{ID: "h", From: "user:1", Asset: "BRL/2", Amount: 1}},
		Count: []ledger.Count{{Key: "c", Delta: 1, Max: 1}},
	}
	n := int32(1)
	for ; ; n++ {
		f.fail.Store(n)
		_, err := l.Do(ctx, tx)
		if f.fail.Load() > 0 {
			f.fail.Store(0)
			require.NoError(t, err)
			break
		}
		require.ErrorIs(t, err, sqlite3.IOERR)
		_, code := err.(interface{ Code() string })
		require.False(t, code, "%v", err)
		require.Equal(t, before, replayed(t, s))
	}
	require.Greater(t, n, int32(10), "a commit has more statements than that")
	require.Len(t, replayed(t, s).Receipts, len(before.Receipts)+1)
}

// TestFullDisk: no room is no change; with room the same Tx goes through.
func TestFullDisk(t *testing.T) {
	ctx := context.Background()
	s := openNew(t)
	l := ledger.New(s, fixed)
	_, err := s.write.ExecContext(ctx, "PRAGMA max_page_count = 60")
	require.NoError(t, err)
	big := func(i int) ledger.Tx {
		return ledger.Tx{ID: fmt.Sprint("big/", i), Docs: []ledger.DocWrite{{Key: ledger.DocKey(fmt.Sprint("doc:", i)), Body: make([]byte, 9000)}}}
	}
	n := 0
	for ; err == nil; n++ {
		require.Less(t, n, 100)
		_, err = l.Do(ctx, big(n))
	}
	n--
	require.ErrorIs(t, err, sqlite3.FULL)
	_, code := err.(interface{ Code() string })
	require.False(t, code, "%v", err)
	require.Len(t, replayed(t, s).Docs, n)
	for _, r := range l.DoAll(ctx, []ledger.Tx{big(n), big(n + 1)}) {
		require.ErrorIs(t, r.Err, sqlite3.FULL)
	}
	require.Len(t, replayed(t, s).Docs, n)
	_, err = s.write.ExecContext(ctx, "PRAGMA max_page_count = 600")
	require.NoError(t, err)
	require.False(t, do(t, s, big(n)).Replayed)
	require.Len(t, replayed(t, s).Docs, n+1)
}

// TestStatementsReadPrimaryKeys looks at the plan of every statement that a
// game runs: tables are searched, never scanned.
func TestStatementsReadPrimaryKeys(t *testing.T) {
	ctx := context.Background()
	s, f := openFaulty(t)
	l := ledger.New(s, fixed)
	play(t, s, game(16), func(int) {})
	for range l.Docs(ctx, ledger.DocQuery{Prefix: "battle:", After: "battle:0", Status: "finished", OlderThan: 9, Limit: 3}) {
	}
	for range l.Docs(ctx, ledger.DocQuery{}) {
	}
	for _, doc := range []ledger.DocKey{"", "battle:1"} {
		_, err := l.Journal(ctx, ledger.JournalQuery{After: 1, Doc: doc, Limit: 3})
		require.NoError(t, err)
	}
	path := f.Connector
	db := sql.OpenDB(path)
	defer db.Close() //nolint:errcheck // a test
	seen := 0
	for text := range f.texts {
		if !strings.Contains(text, "WHERE realm") && !strings.Contains(text, "d.realm") {
			continue
		}
		seen++
		args := make([]any, strings.Count(text, "?"))
		for i := range args {
			args[i] = "1"
		}
		rows, err := db.QueryContext(ctx, "EXPLAIN QUERY PLAN "+text, args...)
		require.NoError(t, err, text)
		for rows.Next() {
			var id, parent, x int
			var detail string
			require.NoError(t, rows.Scan(&id, &parent, &x, &detail))
			require.False(t, strings.HasPrefix(detail, "SCAN ledger_"), "%s\n%s", text, detail)
			if strings.HasPrefix(detail, "SEARCH ledger_balance") {
				require.Contains(t, detail, "realm=? AND account=? AND asset=?", text)
			}
		}
		require.NoError(t, rows.Err())
	}
	require.Greater(t, seen, 10)
}
