package pgstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/ledgertest"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore/pgtest"
)

var realms atomic.Int64

// pool is connected to an empty schema.
func pool(tb testing.TB, url string) *pgxpool.Pool {
	tb.Helper()
	cfg, err := pgxpool.ParseConfig(url)
	require.NoError(tb, err)
	cfg.MaxConns = 16
	p, err := pgxpool.NewWithConfig(context.Background(), cfg)
	require.NoError(tb, err)
	tb.Cleanup(p.Close)
	return p
}

// hooked adds the hooks of the suite.
type hooked struct {
	*pgstore.Store
	pool *pgxpool.Pool
	cfg  pgstore.Config
}

func open(tb testing.TB, p *pgxpool.Pool, cfg pgstore.Config) hooked {
	tb.Helper()
	s, err := pgstore.New(context.Background(), p, cfg)
	require.NoError(tb, err)
	return hooked{s, p, cfg}
}

// fresh is a store over a realm of its own.
func fresh(tb testing.TB, p *pgxpool.Pool, iso pgx.TxIsoLevel) hooked {
	tb.Helper()
	return open(tb, p, pgstore.Config{Realm: fmt.Sprint("realm:", realms.Add(1)), Isolation: iso})
}

func (h hooked) Reopen(tb testing.TB) ledger.Store { return open(tb, h.pool, h.cfg) }

func (h hooked) Seal(tb testing.TB) {
	_, err := h.Store.Seal(context.Background())
	require.NoError(tb, err)
}

func TestSuite(t *testing.T) {
	for _, iso := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.Serializable} {
		t.Run(string(iso), func(t *testing.T) {
			p := pool(t, pgtest.URL(t))
			ledgertest.Run(t, func(tb testing.TB) ledger.Store { return fresh(tb, p, iso) })
		})
	}
}
