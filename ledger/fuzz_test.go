package ledger_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

func FuzzEntry(f *testing.F) {
	for _, e := range history(f) {
		b, err := json.Marshal(e)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var e ledger.Entry
		if e.UnmarshalJSON(data) != nil {
			return
		}
		again, err := e.MarshalJSON()
		require.NoError(t, err)
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, data))
		require.Equal(t, compact.String(), string(again), "what was accepted is not what is written")
		_, _ = ledger.Apply(&ledger.State{}, e.Tx, e.At) // must not panic
		ledger.Keys(ledger.Reverse(e))
	})
}

func FuzzReceipt(f *testing.F) {
	f.Add([]byte(`{"id":"a","at":"1","digest":"0000000000000000000000000000000000000000000000000000000000000000","counts":[{"key":"a","value":"1"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r ledger.Receipt
		if r.UnmarshalJSON(data) != nil {
			return
		}
		again, err := r.MarshalJSON()
		require.NoError(t, err)
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, data))
		require.Equal(t, compact.String(), string(again))
	})
}
