package ledgertest_test

import (
	"testing"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/ledgertest"
)

func TestMemory(t *testing.T) {
	ledgertest.Run(t, func(testing.TB) ledger.Store { return ledger.NewMemory() })
}
