package sqlitestore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/sqlstore"
)

// file makes a database with these statements and returns its path.
func file(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.db")
	db, err := sql.Open("sqlite3", path)
	require.NoError(t, err)
	for _, s := range statements {
		_, err := db.Exec(s)
		require.NoError(t, err, s)
	}
	require.NoError(t, db.Close())
	return path
}

// TestForeignFilesAreLeftAlone: refused with an error that says why, and not a
// byte of them changed.
func TestForeignFilesAreLeftAlone(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(garbage, []byte("These are no tables, but rather more than a header's worth of text, in lines.\n"), 0o600))
	foreign, newer := sqlstore.ErrForeign{}, sqlstore.ErrNewer{}
	for name, c := range map[string]struct {
		path string
		as   any
	}{
		"no database":          {garbage, &foreign},
		"another application":  {file(t, "CREATE TABLE users (id INTEGER)", "INSERT INTO users VALUES (1)"), &foreign},
		"tables of our names":  {file(t, "CREATE TABLE ledger_entry (id INTEGER)"), &foreign},
		"a format of no kind":  {file(t, "CREATE TABLE ledger_format (a INTEGER)"), &foreign},
		"another magic":        {file(t, "CREATE TABLE ledger_format (id INTEGER, magic TEXT, format INTEGER)", "INSERT INTO ledger_format VALUES (1, 'x', 1)"), &foreign},
		"a format without row": {file(t, "CREATE TABLE ledger_format (id INTEGER, magic TEXT, format INTEGER)"), &foreign},
		"a newer format":       {file(t, "CREATE TABLE ledger_format (id INTEGER, magic TEXT, format INTEGER)", "INSERT INTO ledger_format VALUES (1, 'glasshouse/ledger', 2)"), &newer},
	} {
		before, err := os.ReadFile(c.path)
		require.NoError(t, err)
		_, err = Open(c.path)
		require.Error(t, err, name)
		require.True(t, errors.As(err, c.as), "%s: %v", name, err)
		after, err := os.ReadFile(c.path)
		require.NoError(t, err)
		require.True(t, bytes.Equal(before, after), name)
	}
	require.Equal(t, sqlstore.ErrNewer{Have: 2, Known: 1}, newer)
	for _, path := range []string{"", ":memory:", filepath.Join(t.TempDir(), "no", "such", "folder.db")} {
		_, err := Open(path)
		require.Error(t, err, path)
	}
}

// TestFilesWithOddNames: what means something in a URI is part of the name.
func TestFilesWithOddNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?mode=ro#c%41.db")
	s, err := Open(path)
	require.NoError(t, err)
	do(t, s, pay("a", "world", "user:1", 5))
	require.NoError(t, s.Close())
	_, err = os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, int64(5), posted(t, openAt(t, path), "user:1"))
}

func TestSettings(t *testing.T) {
	s := openNew(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "busy_timeout": "10000", "query_only": "0"} {
		have := ""
		require.NoError(t, s.write.QueryRow("PRAGMA "+pragma).Scan(&have))
		require.Equal(t, want, have, pragma)
	}
	_, err := s.read.Exec("DELETE FROM ledger_head")
	require.Error(t, err, "readers cannot write")
}

// TestOpenedByManyAtOnce: one migrates, the others find it done.
func TestOpenedByManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() {
			s, err := Open(path)
			if errs[i] = err; err == nil {
				errs[i] = s.Close()
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	s := openAt(t, path)
	n := 0
	require.NoError(t, s.write.QueryRow("SELECT count(*) FROM ledger_format WHERE format = 1").Scan(&n))
	require.Equal(t, 1, n)
}

// TestRealms share a file and nothing else.
func TestRealms(t *testing.T) {
	a := openNew(t)
	b, err := OpenConfig(context.Background(), Config{Path: a.path, Realm: "other"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	require.False(t, do(t, a, pay("x", "world", "user:1", 5)).Replayed)
	require.False(t, do(t, b, pay("x", "world", "user:1", 7)).Replayed)
	require.Equal(t, int64(5), posted(t, a, "user:1"))
	require.Equal(t, int64(7), posted(t, b, "user:1"))
	require.Equal(t, uint64(1), replayed(t, a).Seq)
	require.Equal(t, uint64(1), replayed(t, b).Seq)
	_, err = OpenConfig(context.Background(), Config{Path: a.path, Realm: "no spaces"})
	require.Error(t, err)
}

// TestTwoProcesses write to one file: no entry is lost, the chain is one.
func TestTwoProcesses(t *testing.T) {
	a := openNew(t)
	b := openAt(t, a.path)
	var wg sync.WaitGroup
	for i, s := range []*Store{a.Store, b.Store, a.Store, b.Store} {
		wg.Go(func() {
			for j := range 25 {
				do(t, s, pay(string(rune('a'+i))+"/"+string(rune('a'+j)), "world", "user:1", 1))
			}
		})
	}
	wg.Wait()
	require.Equal(t, uint64(100), replayed(t, a).Seq)
	require.Equal(t, int64(100), posted(t, b, "user:1"))
}

// TestAnotherProcessWrites for longer than the store waits: that is busy, not
// a lack of funds, and the same Tx goes through later.
func TestAnotherProcessWrites(t *testing.T) {
	a := openNew(t)
	b, err := OpenConfig(context.Background(), Config{Path: a.path, Busy: 20 * time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	tx, err := a.Begin(context.Background())
	require.NoError(t, err)
	_, err = ledger.New(b, fixed).Do(context.Background(), pay("x", "world", "user:1", 1))
	busy, ok := errors.AsType[ledger.ErrBusy](err)
	require.True(t, ok, "%v", err)
	require.Error(t, busy.Err)
	require.Zero(t, posted(t, b, "user:1"), "readers do not wait for writers")
	require.NoError(t, tx.Rollback())
	require.False(t, do(t, b, pay("x", "world", "user:1", 1)).Replayed)
}

// TestTablesRefuseWhatTheRulesExclude: the last net.
func TestTablesRefuseWhatTheRulesExclude(t *testing.T) {
	s := openNew(t)
	play(t, s, game(8), func(int) {})
	for _, statement := range []string{
		"UPDATE ledger_balance SET posted = floor - 1 WHERE account = 'user:0'",
		"UPDATE ledger_balance SET held = -1 WHERE account = 'user:0'",
		"UPDATE ledger_balance SET posted = 9223372036854775807, posted = posted + 9223372036854775807 WHERE account = 'user:0'",
		"UPDATE ledger_balance SET posted = 1.5 WHERE account = 'user:0'",
		"UPDATE ledger_hold SET remaining = amount + 1",
		"UPDATE ledger_hold SET state = 1",
		"UPDATE ledger_doc SET sealed = 2",
		"UPDATE ledger_counter SET value = 9223372036854775807 + value",
		"UPDATE ledger_entry SET hash = NULL",
		"INSERT INTO ledger_entry SELECT * FROM ledger_entry LIMIT 1",
	} {
		_, err := s.write.Exec(statement)
		require.Error(t, err, statement)
		require.Equal(t, sqlstore.Violated, classify(err), statement)
	}
	require.NotEmpty(t, replayed(t, s).Docs)
}
