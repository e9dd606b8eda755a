package sqlitestore

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/ledgertest"
)

// reopenable is a store that the suite can crash.
type reopenable struct {
	*Store
	path string
}

func (r reopenable) Reopen(tb testing.TB) ledger.Store { return openAt(tb, r.path) }

func openAt(tb testing.TB, path string) reopenable {
	tb.Helper()
	s, err := Open(path)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return reopenable{s, path}
}

func openNew(tb testing.TB) reopenable {
	tb.Helper()
	return openAt(tb, filepath.Join(tb.TempDir(), "ledger.db"))
}

func TestConformance(t *testing.T) {
	ledgertest.Run(t, func(tb testing.TB) ledger.Store { return openNew(tb) })
}
