package stores_test

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore/pgtest"
	"github.com/glasshouse-go/glasshouse/ledger/sqlitestore"
	"github.com/glasshouse-go/glasshouse/ledger/sqlstore"
)

// kinds are the stores, each new and empty. PostgreSQL's skip their tests
// where there is none.
var kinds = []struct {
	name string
	open func(testing.TB) ledger.Store
}{
	{"memory", func(testing.TB) ledger.Store { return ledger.NewMemory() }},
	{"sqlite", openSQLite},
	{"postgres", func(tb testing.TB) ledger.Store { return openPostgres(tb, pgx.ReadCommitted) }},
	{"postgres serializable", func(tb testing.TB) ledger.Store { return openPostgres(tb, pgx.Serializable) }},
	{"postgres through database/sql", openSQL},
}

func openSQLite(tb testing.TB) ledger.Store {
	s, err := sqlitestore.Open(filepath.Join(tb.TempDir(), "ledger.db"))
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

func openPostgres(tb testing.TB, iso pgx.TxIsoLevel) ledger.Store {
	s, err := pgstore.Open(context.Background(), pgtest.URL(tb), pgstore.Config{Isolation: iso})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

func openSQL(tb testing.TB) ledger.Store {
	db, err := sql.Open("pgx", pgtest.URL(tb))
	require.NoError(tb, err)
	db.SetMaxOpenConns(8)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	s, err := sqlstore.Open(context.Background(), db, sqlstore.Config{Dialect: sqlstore.Postgres})
	require.NoError(tb, err)
	return s
}

// journal is all that was committed.
func journal(tb testing.TB, s ledger.Store) []ledger.Entry {
	tb.Helper()
	if f, ok := s.(*flaky); ok {
		s = f.Store
	}
	if x, ok := s.(interface {
		Seal(context.Context) (int, error)
	}); ok {
		_, err := x.Seal(context.Background())
		require.NoError(tb, err)
	}
	entries, err := s.Journal(context.Background(), ledger.JournalQuery{})
	require.NoError(tb, err)
	return entries
}

// flaky loses requests and replies: the caller cannot know which.
type flaky struct {
	ledger.Store
	mu    sync.Mutex
	r     *rand.Rand
	one   int // in so many
	count int
}

func (f *flaky) fails() (before, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.r.IntN(2 * f.one)
	if n < 2 {
		f.count++
	}
	return n == 0, n == 1
}

func (f *flaky) Atomic(ctx context.Context, ks ledger.KeySet, apply func(ledger.View) (ledger.Change, error)) error {
	before, after := f.fails()
	lost := ledger.ErrUncertain{ID: ks.ID, Err: context.DeadlineExceeded}
	if before {
		return lost
	}
	if err := f.Store.Atomic(ctx, ks, apply); err != nil || !after {
		return err
	}
	return lost
}

// AtomicAll loses each outcome on its own.
func (f *flaky) AtomicAll(ctx context.Context, sets []ledger.KeySet, apply func(int, ledger.View) (ledger.Change, error)) []error {
	b, ok := f.Store.(ledger.Batcher)
	errs := make([]error, len(sets))
	if !ok {
		for i := range sets {
			errs[i] = f.Atomic(ctx, sets[i], func(v ledger.View) (ledger.Change, error) { return apply(i, v) })
		}
		return errs
	}
	errs = b.AtomicAll(ctx, sets, apply)
	for i := range errs {
		if _, after := f.fails(); after && errs[i] == nil {
			errs[i] = ledger.ErrUncertain{ID: sets[i].ID, Err: context.DeadlineExceeded}
		}
	}
	return errs
}
