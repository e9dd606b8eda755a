package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

func at(n int64) func() time.Time { return func() time.Time { return time.Unix(0, n) } }

func each(entries []ledger.Entry) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// history is a short journal with all parts of a Tx.
func history(t testing.TB) []ledger.Entry {
	ctx := context.Background()
	l := ledger.New(ledger.NewMemory(), at(1000))
	k := key("user:1")
	for _, tx := range []ledger.Tx{
		{ID: "1", Post: []ledger.Posting{post("world", "user:1", 100)}, Memo: []byte{0, 255}},
		{ID: "2", Hold: []ledger.Hold{{ID: "h", From: "user:1", Asset: brl, Amount: 10, ExpiresAt: 2000}}, Docs: []ledger.DocWrite{{Key: "d", Status: "a", Body: []byte("body")}}},
		{ID: "3", Close: []ledger.Close{{Hold: "h", Key: k, Take: []ledger.Leg{{To: "house", Amount: 4}}, Keep: true}}, Count: []ledger.Count{{Key: "c", Delta: -1, Max: 5}}},
		{ID: "4", Open: []ledger.Open{{Key: k, Floor: -5, Closed: true}}, Require: []ledger.Require{{Key: "d", Version: 1, Status: "a"}}},
		{ID: "5", Close: []ledger.Close{{Hold: "h", Key: k, Void: true}}, Docs: []ledger.DocWrite{{Key: "d", IfVersion: 1, IfStatus: "a", Seal: true}}},
	} {
		_, err := l.Do(ctx, tx)
		require.NoError(t, err)
	}
	entries, err := l.Journal(ctx, ledger.JournalQuery{})
	require.NoError(t, err)
	return entries
}

func TestReplayRebuildsTheState(t *testing.T) {
	entries := history(t)
	s, err := ledger.Replay(each(entries))
	require.NoError(t, err)
	require.Equal(t, uint64(5), s.Seq)
	require.Equal(t, entries[4].Hash, s.Head)
	require.Equal(t, []ledger.Balance{
		{Key: key("house"), Posted: 4, Floor: ledger.Unbounded, Version: 1},
		{Key: key("user:1"), Posted: 96, Floor: -5, Version: 5, Closed: true},
		{Key: key("world"), Posted: -100, Floor: ledger.Unbounded, Version: 1},
	}, s.Balances)
	require.Equal(t, []ledger.HoldRow{{Hold: ledger.Hold{ID: "h", From: "user:1", Asset: brl, Amount: 10, ExpiresAt: 2000}, State: ledger.HoldVoided}}, s.Holds)
	require.Equal(t, []ledger.DocRow{{Key: "d", Doc: ledger.Doc{Version: 2, Sealed: true, Updated: 1000}}}, s.Docs)
	require.Equal(t, []ledger.CountRow{{Key: "c", Value: -1}}, s.Counts)
	require.Len(t, s.Receipts, 5)
	require.Empty(t, ledger.Audit(s))
	s, err = ledger.Replay(each(nil))
	require.NoError(t, err)
	require.Zero(t, s)
	boom := errors.New("disk")
	s, err = ledger.Replay(func(yield func(ledger.Entry, error) bool) {
		_ = yield(entries[0], nil) && yield(ledger.Entry{}, boom)
	})
	require.Equal(t, boom, err)
	require.Equal(t, uint64(1), s.Seq)
}

// link computes digests and hashes anew from entry i on, as a forger would.
func link(entries []ledger.Entry, i int) {
	for ; i < len(entries); i++ {
		var prev [32]byte
		if i > 0 {
			prev = entries[i-1].Hash
		}
		e := &entries[i]
		e.Digest = ledger.Digest(e.Tx)
		e.Hash = ledger.Chain(prev, e.Seq, e.At, e.Digest)
	}
}

func TestReplayFindsTheFirstFault(t *testing.T) {
	for name, c := range map[string]struct {
		damage func([]ledger.Entry) []ledger.Entry
		seq    uint64
		why    string
	}{
		"first missing":  {func(e []ledger.Entry) []ledger.Entry { return e[1:] }, 1, "entry missing or out of order"},
		"one missing":    {func(e []ledger.Entry) []ledger.Entry { return append(e[:2:2], e[3:]...) }, 3, "entry missing or out of order"},
		"swapped":        {func(e []ledger.Entry) []ledger.Entry { e[1], e[2] = e[2], e[1]; return e }, 2, "entry missing or out of order"},
		"amount changed": {func(e []ledger.Entry) []ledger.Entry { e[0].Tx.Post[0].Amount++; return e }, 1, "digest is not that of the tx"},
		"digest changed": {func(e []ledger.Entry) []ledger.Entry { e[3].Digest[0]++; return e }, 4, "digest is not that of the tx"},
		"time changed":   {func(e []ledger.Entry) []ledger.Entry { e[2].At++; return e }, 3, "hash does not continue the chain"},
		"hash changed":   {func(e []ledger.Entry) []ledger.Entry { e[4].Hash[31]++; return e }, 5, "hash does not continue the chain"},
		"overdraft, forged": {func(e []ledger.Entry) []ledger.Entry {
			e[1].Tx.Hold[0].Amount = 101
			link(e, 1)
			return e
		}, 2, "tx is not acceptable"},
		"paid twice, forged": {func(e []ledger.Entry) []ledger.Entry {
			e[1].Tx = e[0].Tx
			link(e, 1)
			return e
		}, 2, "id occurs twice"},
	} {
		entries := c.damage(history(t))
		s, err := ledger.Replay(each(entries))
		e, ok := errors.AsType[ledger.ErrCorrupt](err)
		require.True(t, ok, "%s: %v", name, err)
		require.Equal(t, c.seq, e.Seq, name)
		require.Equal(t, c.why, e.Why, name)
		require.Equal(t, c.seq-1, s.Seq, name)
		if strings.HasPrefix(name, "overdraft") {
			f, ok := errors.AsType[ledger.ErrFunds](err)
			require.True(t, ok)
			require.Equal(t, key("user:1"), f.Key)
		}
	}
}

func TestAnExportedJournalReplays(t *testing.T) {
	var file bytes.Buffer
	enc := json.NewEncoder(&file)
	entries := history(t)
	for _, e := range entries {
		require.NoError(t, enc.Encode(e))
	}
	require.Equal(t, len(entries), strings.Count(file.String(), "\n"))
	dec := json.NewDecoder(&file)
	s, err := ledger.Replay(func(yield func(ledger.Entry, error) bool) {
		for dec.More() {
			var e ledger.Entry
			if err := dec.Decode(&e); !yield(e, err) || err != nil {
				return
			}
		}
	})
	require.NoError(t, err)
	require.Equal(t, entries[4].Hash, s.Head)
}

func TestEntryJSON(t *testing.T) {
	e := ledger.Entry{Seq: 1 << 60, At: -5, Tx: full(), Digest: [32]byte{1}, Hash: [32]byte{31: 0xaf}}
	text := `{"seq":"1152921504606846976","at":"-5","tx":{"id":"tx/1",` +
		`"require":[{"key":"r","version":"1","status":"s"}],` +
		`"docs":[{"key":"d","if_version":"1","if_status":"a","status":"b","body":"AP8=","seal":true}],` +
		`"close":[{"hold":"h","key":{"account":"a","asset":"X"},"take":[{"to":"b","amount":"2"}],"keep":true}],` +
		`"post":[{"from":"a","to":"b","asset":"X","amount":"3"},{"from":"b","to":"c","asset":"X","amount":"4"}],` +
		`"hold":[{"id":"i","from":"a","asset":"X","amount":"5","expires_at":"6"}],` +
		`"count":[{"key":"c","delta":"-7","max":"8"}],` +
		`"open":[{"key":{"account":"o","asset":"X"},"floor":"-9","closed":true}],"memo":"bWVtbw=="},` +
		`"digest":"01` + strings.Repeat("00", 31) + `","hash":"` + strings.Repeat("00", 31) + `af"}`
	got, err := json.Marshal(e)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
	var back ledger.Entry
	require.NoError(t, json.Unmarshal([]byte(text), &back))
	require.Equal(t, e, back)
	var spaced bytes.Buffer
	require.NoError(t, json.Indent(&spaced, []byte(text), " ", "\t"))
	require.NoError(t, json.Unmarshal(spaced.Bytes(), &back))
	require.Equal(t, e, back)

	for _, edit := range [][2]string{
		{`"at":"-5"`, `"at":"-5","at":"-5"`},          // a name twice
		{`"at":"-5"`, `"At":"-5"`},                    // wrong case
		{`"at":"-5",`, ``},                            // missing
		{`"at":"-5"`, `"at":-5`},                      // a number
		{`"at":"-5"`, `"at":"-05"`},                   // not canonical
		{`"at":"-5"`, `"at":null`},                    // null
		{`"at":"-5"`, `"at":"-5","more":1`},           // unknown
		{`"amount":"2"`, `"amount":"2","amount":"3"`}, // deep down
		{`"amount":"3"`, `"amount":"3.0"`},
		{`"amount":"3"`, `"amount":"9223372036854775808"`},
		{`"body":"AP8="`, `"body":"AP9="`}, // spare bits of base64
		{`"body":"AP8="`, `"body":[0,255]`},
		{`"seal":true`, `"seal":true,"keep":false`},
		{`"keep":true`, `"keep":true,"void":false`},
		{`"digest":"01`, `"digest":"0`},
		{`"digest":"01`, `"digest":"0100`},
		{`"digest":"01`, `"digest":"zz`},
		{`00af"`, `00AF"`},
		{`"id":"tx/1"`, `"id":"tx\/1"`},
		{`"id":"tx/1"`, "\"id\":\"tx/\xff\""},
	} {
		bad := strings.Replace(text, edit[0], edit[1], 1)
		require.NotEqual(t, text, bad, "%v", edit)
		require.Error(t, json.Unmarshal([]byte(bad), &back), "%v", edit)
	}
	require.Error(t, new(ledger.Entry).UnmarshalJSON([]byte(text+text)), "trailing data")
	require.Error(t, new(ledger.Entry).UnmarshalJSON([]byte("null")))
}

func TestReceiptJSONRoundTripsWithoutReplayed(t *testing.T) {
	r := ledger.Receipt{
		ID: "tx", At: 7, Digest: [32]byte{1}, Replayed: true,
		Balances: []ledger.Balance{{Key: key("a"), Posted: -1, Held: 2, Floor: ledger.Unbounded, Version: 3, Closed: true}},
		Docs:     []ledger.DocVersion{{Key: "d", Version: 4}}, Counts: []ledger.CountRow{{Key: "c", Value: -5}},
	}
	b, err := json.Marshal(r)
	require.NoError(t, err)
	require.Equal(t, `{"id":"tx","at":"7","digest":"01`+strings.Repeat("00", 31)+`","balances":[{"key":{"account":"a","asset":"BRL/2"},"posted":"-1","held":"2","floor":"-9223372036854775808","version":"3","closed":true}],"docs":[{"key":"d","version":"4"}],"counts":[{"key":"c","value":"-5"}]}`, string(b))
	var back ledger.Receipt
	require.NoError(t, json.Unmarshal(b, &back))
	r.Replayed = false
	require.Equal(t, r, back)
	require.Error(t, json.Unmarshal([]byte(`{"id":"tx"}`), &back))
}

func TestReverseMirrorsPostingsAndCaptures(t *testing.T) {
	e := ledger.Entry{Tx: ledger.Tx{
		ID:    "x",
		Close: []ledger.Close{{Hold: "h", Key: key("user:1"), Take: []ledger.Leg{{To: "house", Amount: 4}, {To: "user:2", Amount: 5}}}, {Hold: "i", Key: key("a"), Void: true}},
		Post:  []ledger.Posting{post("a", "b", 1), post("b", "c", 2)},
		Docs:  []ledger.DocWrite{{Key: "d"}}, Memo: []byte("m"), Count: []ledger.Count{{Key: "c", Delta: 1}},
	}}
	require.Equal(t, ledger.Tx{ID: "refund/x", Post: []ledger.Posting{post("c", "b", 2), post("b", "a", 1), post("user:2", "user:1", 5), post("house", "user:1", 4)}}, ledger.Reverse(e))
}

func TestARefundHappensOnce(t *testing.T) {
	ctx := context.Background()
	l := ledger.New(ledger.NewMemory(), at(1000))
	_, err := l.Do(ctx, ledger.Tx{ID: "pay", Post: []ledger.Posting{post("world", "user:1", 100)}})
	require.NoError(t, err)
	entries, err := l.Journal(ctx, ledger.JournalQuery{})
	require.NoError(t, err)
	for i := range 3 {
		r, err := l.Do(ctx, ledger.Reverse(entries[0]))
		require.NoError(t, err)
		require.Equal(t, i > 0, r.Replayed)
	}
	b, err := l.Balance(ctx, "user:1", brl)
	require.NoError(t, err)
	require.Zero(t, b.Posted)
}

func TestAuditNamesEachBrokenInvariant(t *testing.T) {
	good := func() ledger.State {
		return ledger.State{
			Balances: []ledger.Balance{
				{Key: key("escrow:g"), Version: 1},
				{Key: key("escrow:live"), Posted: 5, Version: 1},
				{Key: key("user:1"), Posted: 10, Held: 7, Version: 1},
				{Key: key("world"), Posted: -15, Floor: ledger.Unbounded, Version: 1},
			},
			Holds: []ledger.HoldRow{
				{Hold: ledger.Hold{ID: "a", From: "user:1", Asset: brl, Amount: 5}, Left: 5, State: ledger.HoldOpen},
				{Hold: ledger.Hold{ID: "b", From: "user:1", Asset: brl, Amount: 5}, Left: 2, State: ledger.HoldOpen},
				{Hold: ledger.Hold{ID: "c", From: "user:1", Asset: brl, Amount: 5}, State: ledger.HoldVoided},
			},
			Docs:   []ledger.DocRow{{Key: "g", Doc: ledger.Doc{Version: 1, Sealed: true}}, {Key: "live", Doc: ledger.Doc{Version: 1}}},
			Counts: []ledger.CountRow{{Key: "a"}, {Key: "b"}}, Receipts: []ledger.Receipt{{ID: "a"}, {ID: "b"}},
		}
	}
	require.Empty(t, ledger.Audit(good()))
	for i, c := range []struct {
		damage func(*ledger.State)
		want   []ledger.Finding
	}{
		{func(s *ledger.State) { s.Balances[3].Posted++ }, []ledger.Finding{{"unbalanced", "BRL/2", "balances add up to 1"}}},
		{func(s *ledger.State) { s.Balances[3].Key.Asset = "X" }, []ledger.Finding{{"unbalanced", "BRL/2", "balances add up to 15"}, {"unbalanced", "X", "balances add up to -15"}}},
		{func(s *ledger.State) { s.Balances[2].Held-- }, []ledger.Finding{{"held", "user:1 BRL/2", "holds 6, open holds add up to 7"}}},
		{func(s *ledger.State) { s.Holds[1].State = ledger.HoldCaptured }, []ledger.Finding{{"held", "user:1 BRL/2", "holds 7, open holds add up to 5"}, {"hold", "b", "captured with 2 left"}}},
		{func(s *ledger.State) { s.Holds[0].Amount = 4 }, []ledger.Finding{{"hold", "a", "open with 5 left of 4"}}},
		{func(s *ledger.State) { s.Holds[1].Left, s.Balances[2].Held = 0, 5 }, []ledger.Finding{{"hold", "b", "open with 0 left of 5"}}},
		{func(s *ledger.State) { s.Holds[0].From = "user:0"; s.Balances[2].Held = 2 }, []ledger.Finding{{"held", "user:0 BRL/2", "hold a lies on no balance"}}},
		{func(s *ledger.State) { s.Holds[0].From = "zz"; s.Balances[2].Held = 2 }, []ledger.Finding{{"held", "zz BRL/2", "hold a lies on no balance"}}},
		{func(s *ledger.State) { s.Balances[2].Floor = 4 }, []ledger.Finding{{"floor", "user:1 BRL/2", "available 3, floor 4"}}},
		{func(s *ledger.State) { s.Balances[2].Floor = 3 }, nil},
		{func(s *ledger.State) { s.Docs[1].Doc.Sealed = true }, []ledger.Finding{{"escrow", "live", "sealed with 5 BRL/2 in escrow"}}},
		{func(s *ledger.State) { s.Docs[1].Doc.Version = 0 }, []ledger.Finding{{"document", "live", "version 0"}}},
		{func(s *ledger.State) { s.Docs[0], s.Docs[1] = s.Docs[1], s.Docs[0] }, []ledger.Finding{{"order", "docs[1]", "not after the row before"}}},
		{func(s *ledger.State) { s.Counts[1].Key = "a" }, []ledger.Finding{{"order", "counts[1]", "not after the row before"}}},
		{func(s *ledger.State) { s.Receipts[1].ID = "a" }, []ledger.Finding{{"order", "receipts[1]", "not after the row before"}}},
		{func(s *ledger.State) { s.Holds[2].ID = "b" }, []ledger.Finding{{"order", "holds[2]", "not after the row before"}}},
		{func(s *ledger.State) { s.Balances[0].Key = s.Balances[1].Key }, []ledger.Finding{{"order", "balances[1]", "not after the row before"}}},
	} {
		s := good()
		c.damage(&s)
		require.Equal(t, c.want, ledger.Audit(s), "case %d", i)
	}
	// Held money in a sealed document's escrow counts, and so do all assets.
	s := good()
	s.Balances[0].Key.Asset = "A"
	s.Balances[0].Held = 1
	s.Balances = append(s.Balances[:1], append([]ledger.Balance{{Key: ledger.Key{Account: "escrow:g", Asset: "B"}}}, s.Balances[1:]...)...)
	codes := []string{}
	for _, f := range ledger.Audit(s) {
		codes = append(codes, f.Code+" "+f.Subject)
	}
	require.Equal(t, []string{"held escrow:g A", "floor escrow:g A", "escrow g"}, codes)
}

func TestErrorsHaveUniqueCodesAndLeakNothing(t *testing.T) {
	_, sealed := apply(t, ledger.Tx{Docs: []ledger.DocWrite{{Key: "d/sealed"}}}, 1)
	errs := []interface {
		error
		Code() string
	}{
		ledger.ErrInvalid{"f", "w"},
		ledger.ErrFunds{Key: key("a")},
		ledger.ErrConflict{Doc: "d"},
		sealed.(ledger.ErrSealed),
		ledger.ErrKeyReused{"i"},
		ledger.ErrOverflow{"x"},
		ledger.ErrHold{ID: "h"},
		ledger.ErrExpired{ID: "h"},
		ledger.ErrLimit{Key: "k"},
		ledger.ErrClosed{key("a")},
		ledger.ErrBusy{errors.New("x")},
		ledger.ErrUncertain{ID: "i", Err: errors.New("x")},
		ledger.ErrCorrupt{Seq: 1},
	}
	codes := map[string]bool{}
	for _, e := range errs {
		require.Regexp(t, `^ledger: `, e.Error())
		require.Regexp(t, `^[a-z_]+$`, e.Code())
		codes[e.Code()] = true
	}
	require.Len(t, codes, len(errs))
	require.Equal(t, "insufficient_balance", ledger.ErrFunds{}.Code())
	require.Equal(t, "ledger: document d is at version 3, not 2", ledger.ErrConflict{Doc: "d", Want: 2, Have: 3, HaveStatus: "a"}.Error())
	require.Equal(t, `ledger: document d is "a", not "b"`, ledger.ErrConflict{Doc: "d", Want: 2, Have: 2, WantStatus: "b", HaveStatus: "a"}.Error())
	boom := errors.New("boom")
	require.Contains(t, ledger.ErrBusy{boom}.Error(), "boom")
	require.ErrorIs(t, ledger.ErrBusy{boom}, boom)
	require.ErrorIs(t, ledger.ErrUncertain{"i", boom}, boom)
	require.ErrorIs(t, ledger.ErrCorrupt{Err: boom}, boom)

	secret := []byte("ROYALFLUSH")
	tx := ledger.Tx{ID: "t", Memo: secret, Docs: []ledger.DocWrite{{Key: "d", Body: secret}}}
	d := ledger.Doc{Body: secret}
	values := []any{
		tx, &tx, tx.Docs[0], d, &d,
		ledger.DocRow{Doc: d},
		ledger.Entry{Tx: tx},
		ledger.ErrSealed{ledger.DocRow{Doc: d}},
		ledger.Change{Tx: &tx, Docs: []ledger.DocRow{{Doc: d}}},
		ledger.State{Docs: []ledger.DocRow{{Doc: d}}},
	}
	for _, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d"} {
			text := fmt.Sprintf(verb, v)
			for _, leak := range []string{"ROYAL", fmt.Sprintf("%x", secret[:5]), fmt.Sprint(secret[:5])[1:15], "0x52, 0x4f"} {
				require.NotContains(t, text, leak, "%s of %T", verb, v)
			}
		}
	}
}
