package ledger_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse/ledger"
)

const brl = ledger.Asset("BRL/2")

func key(a ledger.AccountID) ledger.Key { return ledger.Key{Account: a, Asset: brl} }

func post(from, to ledger.AccountID, n int64) ledger.Posting {
	return ledger.Posting{From: from, To: to, Asset: brl, Amount: n}
}

// world is a small state: user:1 has 100 of which 30 are held, user:2 has
// nothing, user:low lies 50 below its floor, user:shut is closed.
func world() *ledger.State {
	return &ledger.State{
		Balances: []ledger.Balance{
			{Key: key("user:1"), Posted: 100, Held: 30, Version: 4},
			{Key: key("user:low"), Posted: 10, Held: 10, Floor: 50, Version: 1},
			{Key: key("user:rich"), Posted: math.MaxInt64 - 1, Version: 1},
			{Key: key("user:shut"), Posted: 100, Held: 5, Version: 1, Closed: true},
		},
		Holds: []ledger.HoldRow{
			{Hold: ledger.Hold{ID: "h/done", From: "user:1", Asset: brl, Amount: 5}, State: ledger.HoldCaptured},
			{Hold: ledger.Hold{ID: "h/late", From: "user:1", Asset: brl, Amount: 10, ExpiresAt: 1000}, Left: 10, State: ledger.HoldOpen},
			{Hold: ledger.Hold{ID: "h/open", From: "user:1", Asset: brl, Amount: 25}, Left: 20, State: ledger.HoldOpen},
			{Hold: ledger.Hold{ID: "h/shut", From: "user:shut", Asset: brl, Amount: 5}, Left: 5, State: ledger.HoldOpen},
			{Hold: ledger.Hold{ID: "h/void", From: "user:1", Asset: brl, Amount: 5}, State: ledger.HoldVoided},
		},
		Docs: []ledger.DocRow{
			{Key: "d/live", Doc: ledger.Doc{Version: 3, Status: "waiting", Body: []byte("secret"), Updated: 7}},
			{Key: "d/sealed", Doc: ledger.Doc{Version: 2, Status: "finished", Body: []byte("secret"), Sealed: true, Updated: 8}},
		},
		Counts: []ledger.CountRow{{Key: "c/five", Value: 5}, {Key: "c/low", Value: math.MinInt64}, {Key: "c/max", Value: math.MaxInt64}},
	}
}

func apply(t require.TestingT, tx ledger.Tx, at int64) (ledger.Change, error) {
	if tx.ID == "" {
		tx.ID = "tx"
	}
	return ledger.Apply(world(), tx, at)
}

func TestApplyRefusesEachFaultWithItsOwnError(t *testing.T) {
	take := func(hold string, k ledger.Key, n ...int64) ledger.Tx {
		c := ledger.Close{Hold: hold, Key: k}
		for _, n := range n {
			c.Take = append(c.Take, ledger.Leg{To: "house", Amount: n})
		}
		return ledger.Tx{Close: []ledger.Close{c}}
	}
	hold := func(h ledger.Hold) ledger.Tx { return ledger.Tx{Hold: []ledger.Hold{h}} }
	doc := func(w ledger.DocWrite) ledger.Tx { return ledger.Tx{Docs: []ledger.DocWrite{w}} }
	need := func(r ledger.Require) ledger.Tx { return ledger.Tx{Require: []ledger.Require{r}} }
	count := func(c ledger.Count) ledger.Tx { return ledger.Tx{Count: []ledger.Count{c}} }
	open := func(a ledger.AccountID, floor int64, closed bool) ledger.Tx {
		return ledger.Tx{Open: []ledger.Open{{Key: key(a), Floor: floor, Closed: closed}}}
	}
	sealed := ledger.ErrSealed{Doc: ledger.DocRow{Key: "d/sealed", Doc: ledger.Doc{Version: 2, Status: "finished", Body: []byte("secret"), Sealed: true, Updated: 8}}}
	for i, c := range []struct {
		tx   ledger.Tx
		want error
	}{
		{ledger.Tx{Post: []ledger.Posting{post("user:1", "user:2", 70)}}, nil},
		{ledger.Tx{Post: []ledger.Posting{post("user:1", "user:2", 71)}}, ledger.ErrFunds{Key: key("user:1"), Need: 71, Have: 70}},
		{ledger.Tx{Post: []ledger.Posting{post("user:2", "user:1", 1)}}, ledger.ErrFunds{Key: key("user:2"), Need: 1}},
		{ledger.Tx{Post: []ledger.Posting{post("world", "user:2", math.MaxInt64)}}, nil},
		{ledger.Tx{Post: []ledger.Posting{post("house:a", "user:2", 1)}}, nil},
		{ledger.Tx{Post: []ledger.Posting{post("world:x", "house", 1)}}, nil},
		{ledger.Tx{Post: []ledger.Posting{post("worlds", "house", 1)}}, ledger.ErrFunds{Key: key("worlds"), Need: 1}},
		{ledger.Tx{Post: []ledger.Posting{post("housed:a", "house", 1)}}, ledger.ErrFunds{Key: key("housed:a"), Need: 1}},
		{ledger.Tx{Post: []ledger.Posting{post("world", "user:rich", 1)}}, nil},
		{ledger.Tx{Post: []ledger.Posting{post("world", "user:rich", 2)}}, ledger.ErrOverflow{What: "balance of BRL/2 in user:rich"}},
		{ledger.Tx{Post: []ledger.Posting{post("world", "user:2", math.MaxInt64), post("world", "house", 2)}}, ledger.ErrOverflow{What: "balance of BRL/2 in world"}},
		{ledger.Tx{Post: []ledger.Posting{post("world", "user:2", math.MaxInt64), post("world", "house", 1)}}, nil},
		// Below the floor: credited, never worsened.
		{ledger.Tx{Post: []ledger.Posting{post("user:1", "user:low", 1)}}, nil},
		{ledger.Tx{Post: []ledger.Posting{post("user:low", "user:1", 1)}}, ledger.ErrFunds{Key: key("user:low"), Need: 1, Have: -50}},
		{ledger.Tx{Post: []ledger.Posting{post("user:low", "user:1", 5), post("user:1", "user:low", 5)}}, nil},
		{open("user:low", 49, false), nil},
		{open("user:low", 51, false), ledger.ErrFunds{Key: key("user:low"), Need: 0, Have: -51}},
		// Rules of accounts.
		{open("user:1", 70, false), nil},
		{open("user:1", 71, false), ledger.ErrFunds{Key: key("user:1"), Need: 0, Have: -1}},
		{ledger.Tx{Open: []ledger.Open{{Key: key("user:2"), Floor: -9}}, Post: []ledger.Posting{post("user:2", "house", 9)}}, nil},
		{ledger.Tx{Open: []ledger.Open{{Key: key("user:2"), Floor: -9}}, Post: []ledger.Posting{post("user:2", "house", 10)}}, ledger.ErrFunds{Key: key("user:2"), Need: 10, Have: 9}},
		{ledger.Tx{Open: []ledger.Open{{Key: key("user:2"), Floor: ledger.Unbounded}}, Post: []ledger.Posting{post("user:2", "house", math.MaxInt64)}}, nil},
		{ledger.Tx{Open: []ledger.Open{{Key: key("house"), Floor: 0}}, Post: []ledger.Posting{post("house", "user:2", 1)}}, ledger.ErrFunds{Key: key("house"), Need: 1}},
		{ledger.Tx{Post: []ledger.Posting{post("user:shut", "house", 1)}}, ledger.ErrClosed{Key: key("user:shut")}},
		{ledger.Tx{Post: []ledger.Posting{post("house", "user:shut", 1)}}, ledger.ErrClosed{Key: key("user:shut")}},
		{hold(ledger.Hold{ID: "n", From: "user:shut", Asset: brl, Amount: 1}), ledger.ErrClosed{Key: key("user:shut")}},
		{take("h/shut", key("user:shut"), 1), ledger.ErrClosed{Key: key("user:shut")}},
		{ledger.Tx{Close: []ledger.Close{{Hold: "h/shut", Key: key("user:shut"), Void: true}}}, nil},
		{open("user:shut", 0, true), nil},
		{ledger.Tx{Open: []ledger.Open{{Key: key("user:shut")}}, Post: []ledger.Posting{post("user:shut", "house", 1)}}, nil},
		{ledger.Tx{Open: []ledger.Open{{Key: key("user:shut"), Closed: true}}, Post: []ledger.Posting{post("user:shut", "house", 1)}}, ledger.ErrClosed{Key: key("user:shut")}},
		{ledger.Tx{Open: []ledger.Open{{Key: key("user:1"), Closed: true}}, Post: []ledger.Posting{post("user:1", "house", 1)}}, nil},
		// Holds.
		{hold(ledger.Hold{ID: "n", From: "user:1", Asset: brl, Amount: 70}), nil},
		{hold(ledger.Hold{ID: "n", From: "user:1", Asset: brl, Amount: 71}), ledger.ErrFunds{Key: key("user:1"), Need: 71, Have: 70}},
		{hold(ledger.Hold{ID: "n", From: "world", Asset: brl, Amount: math.MaxInt64}), nil},
		{ledger.Tx{Hold: []ledger.Hold{{ID: "n", From: "world", Asset: brl, Amount: math.MaxInt64}, {ID: "m", From: "world", Asset: brl, Amount: 1}}}, ledger.ErrOverflow{What: "balance of BRL/2 in world"}},
		{ledger.Tx{Post: []ledger.Posting{post("world", "user:2", 2)}, Hold: []ledger.Hold{{ID: "n", From: "world", Asset: brl, Amount: math.MaxInt64}}}, ledger.ErrOverflow{What: "balance of BRL/2 in world"}},
		{hold(ledger.Hold{ID: "h/open", From: "user:1", Asset: brl, Amount: 1}), ledger.ErrHold{ID: "h/open", State: ledger.HoldOpen, Why: "exists already"}},
		{hold(ledger.Hold{ID: "h/void", From: "user:1", Asset: brl, Amount: 1}), ledger.ErrHold{ID: "h/void", State: ledger.HoldVoided, Why: "exists already"}},
		{hold(ledger.Hold{ID: "n", From: "user:1", Asset: brl, Amount: 1, ExpiresAt: 1001}), nil},
		{hold(ledger.Hold{ID: "n", From: "user:1", Asset: brl, Amount: 1, ExpiresAt: 1000}), ledger.ErrExpired{ID: "n", ExpiresAt: 1000}},
		{take("h/open", key("user:1"), 20), nil},
		{take("h/open", key("user:1"), 21), ledger.ErrHold{ID: "h/open", State: ledger.HoldOpen, Why: "less is left than is taken"}},
		{take("h/open", key("user:1"), 10, 11), ledger.ErrHold{ID: "h/open", State: ledger.HoldOpen, Why: "less is left than is taken"}},
		{take("h/open", key("user:1"), math.MaxInt64, math.MaxInt64, 2), ledger.ErrHold{ID: "h/open", State: ledger.HoldOpen, Why: "less is left than is taken"}},
		{take("h/open", key("user:2"), 1), ledger.ErrHold{ID: "h/open", State: ledger.HoldOpen, Why: "lies on another key"}},
		{take("h/open", ledger.Key{Account: "user:1", Asset: "X"}, 1), ledger.ErrHold{ID: "h/open", State: ledger.HoldOpen, Why: "lies on another key"}},
		{take("h/none", key("user:1"), 1), ledger.ErrHold{ID: "h/none", Why: "not open"}},
		{take("h/done", key("user:1"), 1), ledger.ErrHold{ID: "h/done", State: ledger.HoldCaptured, Why: "not open"}},
		{take("h/late", key("user:1"), 1), ledger.ErrExpired{ID: "h/late", ExpiresAt: 1000}},
		{ledger.Tx{Close: []ledger.Close{{Hold: "h/late", Key: key("user:1"), Void: true}}}, nil},
		{ledger.Tx{Close: []ledger.Close{{Hold: "h/void", Key: key("user:1"), Void: true}}}, ledger.ErrHold{ID: "h/void", State: ledger.HoldVoided, Why: "not open"}},
		// What a void gives back can be spent by the same Tx.
		{ledger.Tx{Close: []ledger.Close{{Hold: "h/open", Key: key("user:1"), Void: true}}, Post: []ledger.Posting{post("user:1", "house", 90)}}, nil},
		{ledger.Tx{Close: []ledger.Close{{Hold: "h/open", Key: key("user:1"), Void: true}}, Post: []ledger.Posting{post("user:1", "house", 91)}}, ledger.ErrFunds{Key: key("user:1"), Need: 71, Have: 70}},
		// Documents.
		{doc(ledger.DocWrite{Key: "d/live", IfVersion: 3}), nil},
		{doc(ledger.DocWrite{Key: "d/live", IfVersion: 3, IfStatus: "waiting"}), nil},
		{doc(ledger.DocWrite{Key: "d/live", IfVersion: 3, IfStatus: "other"}), ledger.ErrConflict{Doc: "d/live", Want: 3, Have: 3, WantStatus: "other", HaveStatus: "waiting"}},
		{doc(ledger.DocWrite{Key: "d/live", IfVersion: 2}), ledger.ErrConflict{Doc: "d/live", Want: 2, Have: 3, HaveStatus: "waiting"}},
		{doc(ledger.DocWrite{Key: "d/live"}), ledger.ErrConflict{Doc: "d/live", Have: 3, HaveStatus: "waiting"}},
		{doc(ledger.DocWrite{Key: "d/new"}), nil},
		{doc(ledger.DocWrite{Key: "d/new", IfVersion: 1}), ledger.ErrConflict{Doc: "d/new", Want: 1}},
		{doc(ledger.DocWrite{Key: "d/sealed", IfVersion: 2}), sealed},
		{doc(ledger.DocWrite{Key: "d/sealed"}), sealed},
		{need(ledger.Require{Key: "d/sealed", Version: 2, Status: "finished"}), nil},
		{need(ledger.Require{Key: "d/sealed", Version: 2}), nil},
		{need(ledger.Require{Key: "d/sealed", Version: 1}), ledger.ErrConflict{Doc: "d/sealed", Want: 1, Have: 2, HaveStatus: "finished"}},
		{need(ledger.Require{Key: "d/sealed", Version: 2, Status: "other"}), ledger.ErrConflict{Doc: "d/sealed", Want: 2, Have: 2, WantStatus: "other", HaveStatus: "finished"}},
		{need(ledger.Require{Key: "d/new"}), nil},
		{need(ledger.Require{Key: "d/live"}), ledger.ErrConflict{Doc: "d/live", Have: 3, HaveStatus: "waiting"}},
		// Counters.
		{count(ledger.Count{Key: "c/five", Delta: 1, Max: 6}), nil},
		{count(ledger.Count{Key: "c/five", Delta: 2, Max: 6}), ledger.ErrLimit{Key: "c/five", Max: 6}},
		{count(ledger.Count{Key: "c/five", Delta: 0, Max: 5}), nil},
		{count(ledger.Count{Key: "c/five", Delta: 0, Max: 4}), ledger.ErrLimit{Key: "c/five", Max: 4}},
		{count(ledger.Count{Key: "c/five", Delta: -1, Max: 0}), nil},
		{count(ledger.Count{Key: "c/five", Delta: -9, Max: 0}), nil},
		{count(ledger.Count{Key: "c/max", Delta: 1, Max: math.MaxInt64}), ledger.ErrLimit{Key: "c/max", Max: math.MaxInt64}},
		{count(ledger.Count{Key: "c/low", Delta: -1, Max: 0}), ledger.ErrOverflow{What: "counter c/low"}},
	} {
		_, err := apply(t, c.tx, 1000)
		require.Equal(t, c.want, err, "case %d: %v", i, c.tx)
	}
}

func TestApplyWritesWhatTheTxSays(t *testing.T) {
	tx := ledger.Tx{
		ID: "tx", Memo: []byte("why"),
		Docs: []ledger.DocWrite{{Key: "z"}, {Key: "d/live", IfVersion: 3, Status: "in_play", Body: []byte("b"), Seal: true}},
		Close: []ledger.Close{
			{Hold: "h/open", Key: key("user:1"), Take: []ledger.Leg{{To: "house", Amount: 5}, {To: "user:2", Amount: 3}}, Keep: true},
			{Hold: "h/late", Key: key("user:1"), Take: []ledger.Leg{{To: "house", Amount: 4}}},
		},
		Post:  []ledger.Posting{post("user:1", "user:2", 2)},
		Hold:  []ledger.Hold{{ID: "a", From: "user:1", Asset: brl, Amount: 6}},
		Count: []ledger.Count{{Key: "c/new", Delta: 2, Max: 2}, {Key: "c/five", Delta: -1, Max: 0}},
		Open:  []ledger.Open{{Key: key("user:3"), Floor: -5, Closed: true}},
	}
	c, err := apply(t, tx, 999)
	require.NoError(t, err)
	require.Equal(t, ledger.Change{
		Tx: &tx,
		Receipt: ledger.Receipt{
			ID: "tx", At: 999, Digest: ledger.Digest(tx),
			Balances: []ledger.Balance{
				{Key: key("house"), Posted: 9, Floor: ledger.Unbounded, Version: 1},
				{Key: key("user:1"), Posted: 100 - 8 - 4 - 2, Held: 30 - 8 - 10 + 6, Version: 5},
				{Key: key("user:2"), Posted: 5, Version: 1},
				{Key: key("user:3"), Floor: -5, Version: 1, Closed: true},
			},
			Docs:   []ledger.DocVersion{{Key: "d/live", Version: 4}, {Key: "z", Version: 1}},
			Counts: []ledger.CountRow{{Key: "c/five", Value: 4}, {Key: "c/new", Value: 2}},
		},
		Holds: []ledger.HoldRow{
			{Hold: tx.Hold[0], Left: 6, State: ledger.HoldOpen},
			{Hold: ledger.Hold{ID: "h/late", From: "user:1", Asset: brl, Amount: 10, ExpiresAt: 1000}, State: ledger.HoldCaptured},
			{Hold: ledger.Hold{ID: "h/open", From: "user:1", Asset: brl, Amount: 25}, Left: 12, State: ledger.HoldOpen},
		},
		Docs: []ledger.DocRow{
			{Key: "d/live", Doc: ledger.Doc{Version: 4, Status: "in_play", Body: []byte("b"), Sealed: true, Updated: 999}},
			{Key: "z", Doc: ledger.Doc{Version: 1, Updated: 999}},
		},
	}, c)
	b, ok := c.Receipt.Balance("user:2", brl)
	require.True(t, ok)
	require.Equal(t, int64(5), b.Posted)
	_, ok = c.Receipt.Balance("user:2", "X")
	require.False(t, ok)
	require.Equal(t, uint64(4), c.Receipt.Version("d/live"))
	require.Zero(t, c.Receipt.Version("d/none"))
	n, ok := c.Receipt.Counter("c/new")
	require.True(t, ok)
	require.Equal(t, int64(2), n)
	_, ok = c.Receipt.Counter("c/none")
	require.False(t, ok)
	// Keep of everything that is left closes the hold; so does a void.
	for _, cl := range []ledger.Close{
		{Hold: "h/open", Key: key("user:1"), Take: []ledger.Leg{{To: "house", Amount: 20}}, Keep: true},
		{Hold: "h/open", Key: key("user:1"), Void: true},
	} {
		c, err = apply(t, ledger.Tx{Close: []ledger.Close{cl}}, 999)
		require.NoError(t, err)
		want := ledger.HoldCaptured
		if cl.Void {
			want = ledger.HoldVoided
		}
		require.Equal(t, want, c.Holds[0].State)
		require.Zero(t, c.Holds[0].Left)
		b, _ := c.Receipt.Balance("user:1", brl)
		require.Equal(t, int64(10), b.Held)
	}
}

// TestPartsAreJudgedInTheirOrder takes a Tx with every fault and mends the
// part that was named until nothing is left.
func TestPartsAreJudgedInTheirOrder(t *testing.T) {
	tx := ledger.Tx{
		ID:      "tx",
		Require: []ledger.Require{{Key: "zz", Version: 1}, {Key: "aa", Version: 1}},
		Docs:    []ledger.DocWrite{{Key: "d/sealed", IfVersion: 2}, {Key: "d/live", IfVersion: 1}},
		Close:   []ledger.Close{{Hold: "y", Key: key("user:1"), Void: true}, {Hold: "h/late", Key: key("user:1"), Take: []ledger.Leg{{To: "house", Amount: 1}}}},
		Post:    []ledger.Posting{post("user:9", "house", 1), post("user:8", "house", 1), post("user:shut", "house", 1)},
		Hold:    []ledger.Hold{{ID: "h/void", From: "user:1", Asset: brl, Amount: 1}, {ID: "a", From: "user:1", Asset: brl, Amount: 1, ExpiresAt: 1}},
		Count:   []ledger.Count{{Key: "z", Delta: 1, Max: 0}, {Key: "c/low", Delta: -1, Max: 0}},
	}
	var got []string
	for range 20 {
		_, err := apply(t, tx, 1000)
		if err == nil {
			break
		}
		text := ""
		switch e := err.(type) {
		case ledger.ErrConflict:
			text = string(e.Doc)
			if tx.Require != nil {
				if tx.Require = tx.Require[:len(tx.Require)-1]; len(tx.Require) == 0 {
					tx.Require = nil
				}
			} else {
				tx.Docs = tx.Docs[:1]
			}
		case ledger.ErrSealed:
			text, tx.Docs = string(e.Doc.Key), nil
		case ledger.ErrExpired:
			text = e.ID
			if len(tx.Close) > 1 {
				tx.Close = tx.Close[:1]
			} else {
				tx.Hold = tx.Hold[:1]
			}
		case ledger.ErrHold:
			text = e.ID
			if tx.Close != nil {
				tx.Close = nil
			} else {
				tx.Hold = nil
			}
		case ledger.ErrOverflow:
			text, tx.Count = e.What, tx.Count[:1]
		case ledger.ErrLimit:
			text, tx.Count = e.Key, nil
		case ledger.ErrFunds:
			text = string(e.Key.Account)
			tx.Post = append(tx.Post, post("world", e.Key.Account, 1))
		case ledger.ErrClosed:
			text = string(e.Key.Account)
			tx.Open = []ledger.Open{{Key: e.Key}}
		}
		got = append(got, text)
	}
	require.Equal(t, []string{"aa", "zz", "d/live", "d/sealed", "h/late", "y", "a", "h/void", "counter c/low", "z", "user:8", "user:9", "user:shut"}, got)
}

func TestTheIdIsLookedUpBeforeAnyGuard(t *testing.T) {
	s := world()
	tx := ledger.Tx{ID: "done", Docs: []ledger.DocWrite{{Key: "d/live", IfVersion: 2, Status: "waiting", Body: []byte("secret")}}, Post: []ledger.Posting{post("user:2", "house", 1)}}
	first := ledger.Receipt{ID: "done", At: 5, Digest: ledger.Digest(tx), Docs: []ledger.DocVersion{{Key: "d/live", Version: 3}}}
	s.Receipts = []ledger.Receipt{{ID: "aaa"}, first, {ID: "eee"}}
	c, err := ledger.Apply(s, tx, 1000)
	require.NoError(t, err)
	first.Replayed = true
	require.Equal(t, ledger.Change{Receipt: first}, c)
	tx.Memo = []byte{0}
	_, err = ledger.Apply(s, tx, 1000)
	require.Equal(t, ledger.ErrKeyReused{ID: "done"}, err)
}

func TestApplyNamesTheFieldAtFault(t *testing.T) {
	long := strings.Repeat("x", 129)
	k := func(a ledger.AccountID, s ledger.Asset) ledger.Key { return ledger.Key{Account: a, Asset: s} }
	legs := []ledger.Leg{{To: "b", Amount: 1}}
	cases := map[string]ledger.Tx{
		"tx":                      {},
		"require[0].key":          {Require: []ledger.Require{{}}},
		"require[0].version":      {Require: []ledger.Require{{Key: "a", Version: math.MaxInt64}}},
		"require[0].status":       {Require: []ledger.Require{{Key: "a", Version: 1, Status: "é"}}},
		"require[1].status":       {Require: []ledger.Require{{Key: "b"}, {Key: "a", Status: "x"}}},
		"docs[0].key":             {Docs: []ledger.DocWrite{{Key: "a b"}}},
		"docs[0].if_version":      {Docs: []ledger.DocWrite{{Key: "a", IfVersion: math.MaxInt64}}},
		"docs[0].if_status":       {Docs: []ledger.DocWrite{{Key: "a", IfVersion: 1, IfStatus: "?"}}},
		"docs[1].if_status":       {Docs: []ledger.DocWrite{{Key: "b"}, {Key: "a", IfStatus: "x"}}},
		"docs[0].status":          {Docs: []ledger.DocWrite{{Key: "a", Status: long}}},
		"close[0].hold":           {Close: []ledger.Close{{Key: k("a", "X"), Void: true}}},
		"close[0].key.account":    {Close: []ledger.Close{{Hold: "h", Key: k("", "X"), Void: true}}},
		"close[0].key.asset":      {Close: []ledger.Close{{Hold: "h", Key: k("a", ""), Void: true}}},
		"close[0].keep":           {Close: []ledger.Close{{Hold: "h", Key: k("a", "X"), Void: true, Keep: true}}},
		"close[0].take":           {Close: []ledger.Close{{Hold: "h", Key: k("a", "X"), Void: true, Take: legs}}},
		"close[1].take":           {Close: []ledger.Close{{Hold: "g", Key: k("a", "X"), Void: true}, {Hold: "h", Key: k("a", "X"), Keep: true}}},
		"close[0].take[0].to":     {Close: []ledger.Close{{Hold: "h", Key: k("a", "X"), Take: []ledger.Leg{{Amount: 1}}}}},
		"close[0].take[1].to":     {Close: []ledger.Close{{Hold: "h", Key: k("a", "X"), Take: []ledger.Leg{legs[0], {To: "a", Amount: 1}}}}},
		"close[0].take[0].amount": {Close: []ledger.Close{{Hold: "h", Key: k("a", "X"), Take: []ledger.Leg{{To: "b"}}}}},
		"post[0].from":            {Post: []ledger.Posting{{From: "", To: "b", Asset: "X", Amount: 1}}},
		"post[0].to":              {Post: []ledger.Posting{{From: "a", To: "\x00", Asset: "X", Amount: 1}}},
		"post[1].to":              {Post: []ledger.Posting{post("a", "b", 1), post("a", "a", 1)}},
		"post[0].asset":           {Post: []ledger.Posting{{From: "a", To: "b", Asset: "", Amount: 1}}},
		"post[0].amount":          {Post: []ledger.Posting{post("a", "b", 0)}},
		"post[2].amount":          {Post: []ledger.Posting{post("a", "b", 1), post("a", "b", 1), post("a", "b", -1)}},
		"hold[0].id":              {Hold: []ledger.Hold{{From: "a", Asset: "X", Amount: 1}}},
		"hold[0].from":            {Hold: []ledger.Hold{{ID: "h", Asset: "X", Amount: 1}}},
		"hold[0].asset":           {Hold: []ledger.Hold{{ID: "h", From: "a", Amount: 1}}},
		"hold[0].amount":          {Hold: []ledger.Hold{{ID: "h", From: "a", Asset: "X"}}},
		"hold[0].expires_at":      {Hold: []ledger.Hold{{ID: "h", From: "a", Asset: "X", Amount: 1, ExpiresAt: -1}}},
		"count[0].key":            {Count: []ledger.Count{{Key: ""}}},
		"open[0].key.account":     {Open: []ledger.Open{{Key: k("", "X")}}},
		"open[0].key.asset":       {Open: []ledger.Open{{Key: k("a", "X\n")}}},
		// Twice.
		"require[2].key": {Require: []ledger.Require{{Key: "a"}, {Key: "b"}, {Key: "a"}}},
		"require[3].key": {Require: []ledger.Require{{Key: "c"}, {Key: "d"}, {Key: "e"}, {Key: "a"}}, Docs: []ledger.DocWrite{{Key: "a"}}},
		"docs[1].key":    {Docs: []ledger.DocWrite{{Key: "a"}, {Key: "a"}}},
		"close[2].hold":  {Close: []ledger.Close{{Hold: "h", Key: k("a", "X"), Void: true}, {Hold: "i", Key: k("a", "X"), Void: true}, {Hold: "h", Key: k("a", "X"), Void: true}}},
		"hold[1].id":     {Hold: []ledger.Hold{{ID: "h", From: "a", Asset: "X", Amount: 1}, {ID: "h", From: "b", Asset: "X", Amount: 1}}},
		"hold[2].id":     {Close: []ledger.Close{{Hold: "h", Key: k("a", "X"), Void: true}}, Hold: []ledger.Hold{{ID: "f", From: "a", Asset: "X", Amount: 1}, {ID: "g", From: "a", Asset: "X", Amount: 1}, {ID: "h", From: "b", Asset: "X", Amount: 1}}},
		"count[2].key":   {Count: []ledger.Count{{Key: "c"}, {Key: "b"}, {Key: "c"}}},
		"open[2].key":    {Open: []ledger.Open{{Key: k("a", "X")}, {Key: k("a", "Y")}, {Key: k("a", "X")}}},
	}
	for field, tx := range cases {
		_, err := apply(t, tx, 1)
		e, ok := errors.AsType[ledger.ErrInvalid](err)
		require.True(t, ok, "%s: %v", field, err)
		require.Equal(t, field, e.Field)
	}
	for _, id := range []string{"", long, "a b", "a\n", "ä", "a\x00", "a'", "a*"} {
		_, err := ledger.Apply(world(), ledger.Tx{ID: id, Memo: []byte("m")}, 1)
		e, _ := errors.AsType[ledger.ErrInvalid](err)
		require.Equal(t, "id", e.Field, "%q", id)
	}
	for _, id := range []string{long[1:], "a", "AZaz09._:/#@-"} {
		_, err := ledger.Apply(world(), ledger.Tx{ID: id, Memo: []byte("m")}, 1)
		require.NoError(t, err)
	}
	for c := range 256 { // the alphabet, byte by byte
		_, err := ledger.Apply(world(), ledger.Tx{ID: string([]byte{byte(c)}), Memo: []byte("m")}, 1)
		want := strings.ContainsRune("._:/#@-", rune(c)) || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		require.Equal(t, want, err == nil, "%q", c)
	}
	_, err := apply(t, ledger.Tx{Require: []ledger.Require{{Key: "a", Version: math.MaxInt64 - 1}}}, 1)
	require.Equal(t, ledger.ErrConflict{Doc: "a", Want: math.MaxInt64 - 1}, err)
	_, err = apply(t, ledger.Tx{Docs: []ledger.DocWrite{{Key: "a", IfVersion: math.MaxInt64 - 1}}}, 1)
	require.Equal(t, ledger.ErrConflict{Doc: "a", Want: math.MaxInt64 - 1}, err)
}

// manyPosts draws postings among few accounts, some of which cannot pay.
func manyPosts(t *rapid.T) []ledger.Posting {
	accounts := []ledger.AccountID{"user:1", "user:2", "user:rich", "user:low", "world", "house"}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ledger.Posting {
		i := rapid.IntRange(0, 5).Draw(t, "from")
		j := (i + rapid.IntRange(1, 5).Draw(t, "to")) % 6
		n := rapid.OneOf(rapid.Int64Range(1, 40), rapid.Int64Range(math.MaxInt64-2, math.MaxInt64)).Draw(t, "amount")
		return post(accounts[i], accounts[j], n)
	}), 2, 12).Draw(t, "posts")
}

func TestOrderOfSlicesNeverMattersToTheOutcome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tx := ledger.Tx{ID: "tx", Post: manyPosts(t)}
		for i := range rapid.IntRange(0, 3).Draw(t, "counts") {
			tx.Count = append(tx.Count, ledger.Count{Key: fmt.Sprint("c/", i), Delta: 1, Max: rapid.Int64Range(0, 3).Draw(t, "max")})
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "docs") {
			tx.Docs = append(tx.Docs, ledger.DocWrite{Key: ledger.DocKey(fmt.Sprint("n/", i)), IfVersion: rapid.Uint64Range(0, 1).Draw(t, "version")})
		}
		want, wantErr := apply(t, tx, 1)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "shuffle"), 0))
		r.Shuffle(len(tx.Post), func(i, j int) { tx.Post[i], tx.Post[j] = tx.Post[j], tx.Post[i] })
		r.Shuffle(len(tx.Count), func(i, j int) { tx.Count[i], tx.Count[j] = tx.Count[j], tx.Count[i] })
		r.Shuffle(len(tx.Docs), func(i, j int) { tx.Docs[i], tx.Docs[j] = tx.Docs[j], tx.Docs[i] })
		got, gotErr := apply(t, tx, 1)
		require.Equal(t, wantErr, gotErr)
		want.Receipt.Digest, want.Tx = got.Receipt.Digest, got.Tx
		require.Equal(t, want, got)
	})
}
