package ledgertest

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// equal compares; nil and empty are the same to a store.
func equal(tb testing.TB, want, got any, what string, args ...any) {
	tb.Helper()
	if reflect.DeepEqual(want, got) { // much faster than cmp, and nearly always true
		return
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		require.FailNowf(tb, what+" differ (-want +got)", d, args...)
	}
}

// equalReceipt compares all but Replayed.
func equalReceipt(tb testing.TB, want, got ledger.Receipt) {
	tb.Helper()
	want.Replayed, got.Replayed = false, false
	equal(tb, want, got, "receipts of "+want.ID)
}

// code is the Code of err, "ok" for nil, or the text of any other error.
func code(err error) string {
	if err == nil {
		return "ok"
	}
	if c, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		return c.Code()
	}
	return err.Error()
}

// class is code, with "replayed" told apart.
func class(r ledger.Receipt, err error) string {
	if err == nil && r.Replayed {
		return "replayed"
	}
	return code(err)
}
