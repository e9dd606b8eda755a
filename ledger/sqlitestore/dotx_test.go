package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// TestDoTx: the host's rows and the ledger's are there together or not at all.
func TestDoTx(t *testing.T) {
	ctx := context.Background()
	s := openNew(t)
	_, err := s.DB().ExecContext(ctx, "CREATE TABLE orders (id TEXT PRIMARY KEY)")
	require.NoError(t, err)
	orders := func() (n int) {
		require.NoError(t, s.read.QueryRow("SELECT count(*) FROM orders").Scan(&n))
		return n
	}
	begin := func(id string) *sql.Tx {
		tx, err := s.Begin(ctx)
		require.NoError(t, err)
		_, err = tx.Exec("INSERT INTO orders VALUES (?)", id)
		require.NoError(t, err)
		return tx
	}

	tx := begin("1")
	r, err := s.DoTx(ctx, tx, pay("a", "world", "user:1", 10))
	require.NoError(t, err)
	require.False(t, r.Replayed)
	b, ok := r.Balance("user:1", "BRL/2")
	require.True(t, ok)
	require.Equal(t, int64(10), b.Posted)
	require.Zero(t, posted(t, s, "user:1"), "nobody sees it before the commit")
	require.NoError(t, tx.Commit())
	require.Equal(t, int64(10), posted(t, s, "user:1"))
	require.Equal(t, 1, orders())

	tx = begin("2")
	_, err = s.DoTx(ctx, tx, pay("b", "user:1", "user:2", 3))
	require.NoError(t, err)
	require.NoError(t, tx.Rollback())
	require.Equal(t, int64(10), posted(t, s, "user:1"))
	require.Equal(t, 1, orders())

	// Refusals leave the transaction usable, with what it did before.
	tx = begin("3")
	_, err = s.DoTx(ctx, tx, pay("b", "user:1", "user:2", 3))
	require.NoError(t, err, "the id was not burnt")
	_, err = s.DoTx(ctx, tx, pay("c", "user:1", "user:2", 8))
	require.Equal(t, ledger.ErrFunds{Key: ledger.Key{Account: "user:1", Asset: "BRL/2"}, Need: 8, Have: 7}, err)
	_, err = s.DoTx(ctx, tx, pay("b", "user:1", "user:2", 4))
	require.Equal(t, ledger.ErrKeyReused{ID: "b"}, err)
	_, err = s.DoTx(ctx, tx, ledger.Tx{ID: "no good"})
	_, invalid := errors.AsType[ledger.ErrInvalid](err)
	require.True(t, invalid, "%v", err)
	r, err = s.DoTx(ctx, tx, pay("b", "user:1", "user:2", 3))
	require.NoError(t, err)
	require.True(t, r.Replayed)
	_, err = s.DoTx(ctx, tx, pay("d", "user:2", "user:3", 1))
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	require.Equal(t, 2, orders())
	require.Equal(t, int64(7), posted(t, s, "user:1"))
	require.Equal(t, int64(2), posted(t, s, "user:2"))

	// The store's own commits go on from there.
	require.True(t, do(t, s, pay("d", "user:2", "user:3", 1)).Replayed)
	do(t, s, pay("e", "user:2", "user:3", 1))
	st := replayed(t, s)
	require.Equal(t, uint64(4), st.Seq)
}

// TestDoTxInATransactionThatReadBefore: somebody else wrote since, so what it
// read may be wrong.
func TestDoTxInATransactionThatReadBefore(t *testing.T) {
	ctx := context.Background()
	s := openNew(t)
	other := openAt(t, s.path)
	deferred, err := sql.Open("sqlite3", "file:"+s.path+"?_txlock=deferred&_pragma=busy_timeout(100)")
	require.NoError(t, err)
	defer deferred.Close() //nolint:errcheck // a test
	tx, err := deferred.Begin()
	require.NoError(t, err)
	n := 0
	require.NoError(t, tx.QueryRow("SELECT count(*) FROM ledger_entry").Scan(&n))
	do(t, other, pay("a", "world", "user:1", 10))
	_, err = s.DoTx(ctx, tx, pay("b", "user:1", "user:2", 3))
	_, busy := errors.AsType[ledger.ErrBusy](err)
	require.True(t, busy, "%v", err)
	require.NoError(t, tx.Rollback())

	tx, err = deferred.Begin() // DoTx first: it waits for its turn, if need be
	require.NoError(t, err)
	_, err = s.DoTx(ctx, tx, pay("b", "user:1", "user:2", 3))
	require.NoError(t, err)
	require.NoError(t, tx.Commit())
	require.Equal(t, uint64(2), replayed(t, s).Seq)
}

// TestSealHasNothingToDo: entries are sealed when they are committed.
func TestSealHasNothingToDo(t *testing.T) {
	s := openNew(t)
	do(t, s, pay("a", "world", "user:1", 10))
	n, err := s.Seal(context.Background())
	require.NoError(t, err)
	require.Zero(t, n)
}
