package ledger_test

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// TestPortionNeverWrapsWhileRounding: the quotient is 2^64 − 1 and a fraction, so that rounding up leaves uint64.
func TestPortionNeverWrapsWhileRounding(t *testing.T) {
	for _, rounding := range []ledger.Rounding{ledger.Down, ledger.Up, ledger.HalfEven} {
		n, err := ledger.Portion(math.MaxInt64-2, 3074457345618258603, 1537228672809129301, rounding)
		require.Equal(t, ledger.ErrOverflow{What: "portion"}, err, "%s gives %d", rounding, n)
	}
}

// TestBytesWhoseLengthTheDigestCannotSayAreRefused: a length is 4 bytes there, so 2^32 bytes would read as none, and
// two bodies could have one digest. The bytes are never touched, so they cost no memory.
func TestBytesWhoseLengthTheDigestCannotSayAreRefused(t *testing.T) {
	if math.MaxInt == math.MaxInt32 {
		t.Skip("no slice is that long here")
	}
	if b, ok := debug.ReadBuildInfo(); ok && slices.Contains(b.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("the race detector keeps notes on every byte")
	}
	size := uint64(1) << 32 // no constant: 32-bit compilers would refuse it
	huge := make([]byte, size)
	for field, tx := range map[string]ledger.Tx{
		"docs[0].body": {ID: "a", Docs: []ledger.DocWrite{{Key: "d", Body: huge}}},
		"memo":         {ID: "a", Memo: huge},
	} {
		_, err := ledger.Apply(&ledger.State{}, tx, 1)
		require.Equal(t, ledger.ErrInvalid{Field: field, Why: "want at most 4294967295 bytes"}, err)
	}
}

// TestAStoreOrLedgerInALogDealsOutNothing: fmt looks into unexported fields and calls no method there.
func TestAStoreOrLedgerInALogDealsOutNothing(t *testing.T) {
	store := ledger.NewMemory()
	l := ledger.New(store, noon)
	secret := []byte("queen of spades")
	_, err := l.Do(t.Context(), ledger.Tx{ID: "deal", Docs: []ledger.DocWrite{{Key: "hand", Body: secret}}, Memo: secret})
	require.NoError(t, err)
	for _, v := range []any{store, l, *l} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
			out := fmt.Sprintf(verb, v)
			for _, form := range []string{string(secret), fmt.Sprintf("%x", secret), strings.Trim(fmt.Sprint(secret), "[]"), "0x71, 0x75"} {
				require.NotContains(t, out, form, "%T with %s", v, verb)
			}
		}
	}
}

// TestAuditFindsAHoldOfNoState: it is neither open nor closed, so no other check looks at it.
func TestAuditFindsAHoldOfNoState(t *testing.T) {
	for _, state := range []ledger.HoldState{0, 9} {
		s := ledger.State{Holds: []ledger.HoldRow{{Hold: ledger.Hold{ID: "a", From: "user:1", Asset: brl, Amount: 5}, State: state}}}
		require.Equal(t, []ledger.Finding{{Code: "hold", Subject: "a", Detail: "neither open nor closed"}}, ledger.Audit(s))
	}
}

func TestAvailableIsWhatIsNotHeld(t *testing.T) {
	require.Equal(t, int64(7), ledger.Balance{Posted: 10, Held: 3}.Available())
	require.Equal(t, int64(-13), ledger.Balance{Posted: -10, Held: 3}.Available())
}
