package ledgertest

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// stream runs the planned stream through the store, beside memory one by one.
// Batch is the size of DoAll calls, 1 for Do. With retries every third Tx is
// sent twice.
func stream(tb testing.TB, open func(testing.TB) ledger.Store, batch int, retries bool) {
	rounds := 20
	if testing.Short() {
		rounds = 8
	}
	ctx := context.Background()
	g := newGenerator(uint64(batch))
	s := open(tb)
	l := ledger.New(s, g.clock.now)
	ref := ledger.New(ledger.NewMemory(), g.clock.now)
	for _, tx := range g.setup() {
		require.Equal(tb, "ok", g.m.do(tx, g.clock.at))
		for _, x := range []*ledger.Ledger{l, ref} {
			_, err := x.Do(ctx, tx)
			require.NoError(tb, err)
		}
		g.accepted = append(g.accepted, tx)
	}
	shares := map[string]int{}
	total := rounds * len(deck)
	total -= total % batch
	for done := 0; done < total; done += batch {
		g.clock.at += 1e9
		var txs []ledger.Tx
		var plans []string
		for range batch {
			tx, plan := g.next(tb)
			txs, plans = append(txs, tx), append(plans, plan)
			shares[plan]++
		}
		var sent []ledger.Tx
		var at []int // where each tx is in sent; its twin, if any, follows it
		for i, tx := range txs {
			at = append(at, len(sent))
			sent = append(sent, tx)
			if retries && (done+i)%3 == 0 {
				sent = append(sent, tx)
			}
		}
		var got []ledger.Result
		if batch == 1 {
			for _, tx := range sent {
				r, err := l.Do(ctx, tx)
				got = append(got, ledger.Result{Receipt: r, Err: err})
			}
		} else {
			got = l.DoAll(ctx, sent)
			require.Len(tb, got, len(sent))
		}
		for i, tx := range txs {
			want, err := ref.Do(ctx, tx)
			first := got[at[i]]
			require.Equal(tb, plans[i], class(want, err), "memory, %v", tx)
			require.Equal(tb, plans[i], class(first.Receipt, first.Err), "%v", tx)
			require.Equal(tb, err, first.Err, "%v", tx)
			equal(tb, want, first.Receipt, "receipts")
			if at[i]+1 == len(sent) || i+1 < len(at) && at[i]+1 == at[i+1] {
				continue
			}
			twin := got[at[i]+1]
			require.Equal(tb, err, twin.Err, "the second time, %v", tx)
			require.Equal(tb, err == nil, twin.Receipt.Replayed)
			equalReceipt(tb, first.Receipt, twin.Receipt)
		}
		invariants(tb, s, g.m)
	}
	for _, c := range slices.Compact(slices.Sorted(slices.Values(deck))) {
		least := total * 5 / 100
		if c == "ok" {
			least = total * 30 / 100
		}
		require.GreaterOrEqual(tb, shares[c], least, "too few Txs are %s for the stream to mean anything", c)
	}
	entries, _ := verify(tb, s)
	want, err := ref.Journal(ctx, ledger.JournalQuery{})
	require.NoError(tb, err)
	equal(tb, want, entries, "journals")
}

// invariants audits all rows of s and compares them with the model.
func invariants(tb testing.TB, s ledger.Store, m *model) {
	tb.Helper()
	got := state(tb, s, m.keys())
	require.Empty(tb, ledger.Audit(got))
	equal(tb, m.state(), got, "states")
}

// idempotency replays and alters every accepted Tx.
func idempotency(tb testing.TB, open func(testing.TB) ledger.Store) {
	ctx := context.Background()
	g := newGenerator(77)
	s := open(tb)
	l := ledger.New(s, g.clock.now)
	var first []ledger.Receipt
	do := func(tx ledger.Tx) {
		if r, err := l.Do(ctx, tx); err == nil && !r.Replayed {
			first = append(first, r)
		}
	}
	for _, tx := range g.setup() {
		g.m.do(tx, g.clock.at)
		g.accepted = append(g.accepted, tx)
		do(tx)
	}
	for range 4 * len(deck) {
		g.clock.at += 1e9
		tx, _ := g.next(tb)
		do(tx)
	}
	require.Len(tb, first, len(g.accepted))
	before := journal(tb, s)
	g.clock.at += 1e9
	for i, tx := range g.accepted {
		r, err := l.Do(ctx, tx)
		require.NoError(tb, err, "replay of %s", tx.ID)
		require.True(tb, r.Replayed)
		equalReceipt(tb, first[i], r)
		for _, alter := range alterations {
			other := tx
			if !alter(&other) {
				continue
			}
			_, err := l.Do(ctx, other)
			require.Equal(tb, ledger.ErrKeyReused{ID: tx.ID}, err, "%v", other)
		}
	}
	equal(tb, before, journal(tb, s), "journals")
	invariants(tb, s, g.m)
	verify(tb, s)
}

// alterations change a Tx into another valid one; false: nothing to change.
var alterations = []func(*ledger.Tx) bool{
	func(tx *ledger.Tx) bool { tx.Memo = append(slices.Clone(tx.Memo), 'x'); return true },
	func(tx *ledger.Tx) bool {
		tx.Post = slices.Clone(tx.Post)
		if len(tx.Post) == 0 {
			return false
		}
		tx.Post[0].Amount++
		return true
	},
	func(tx *ledger.Tx) bool { // order is part of the body
		tx.Post = slices.Clone(tx.Post)
		slices.Reverse(tx.Post)
		return len(tx.Post) > 1 && tx.Post[0] != tx.Post[len(tx.Post)-1]
	},
	func(tx *ledger.Tx) bool {
		tx.Docs = slices.Clone(tx.Docs)
		if len(tx.Docs) == 0 {
			return false
		}
		tx.Docs[0].Seal = !tx.Docs[0].Seal
		return true
	},
	func(tx *ledger.Tx) bool {
		tx.Count = append(slices.Clone(tx.Count), ledger.Count{Key: "altered", Delta: 1, Max: 9})
		return true
	},
}
