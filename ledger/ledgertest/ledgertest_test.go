package ledgertest_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/ledgertest"
)

func TestMemory(t *testing.T) {
	ledgertest.Run(t, func(testing.TB) ledger.Store { return ledger.NewMemory() })
}

// plain is a store without batches and with both hooks.
type plain struct {
	ledger.Store
	reopened, sealed *atomic.Int64
}

func (p plain) Reopen(testing.TB) ledger.Store { p.reopened.Add(1); return p }
func (p plain) Seal(testing.TB)                { p.sealed.Add(1) }

func TestStoreWithoutBatchesAndWithHooks(t *testing.T) {
	var reopened, sealed atomic.Int64
	ledgertest.Run(t, func(testing.TB) ledger.Store { return plain{ledger.NewMemory(), &reopened, &sealed} })
	require.Positive(t, reopened.Load(), "Reopen was never called")
	require.Positive(t, sealed.Load(), "Seal was never called")
}
