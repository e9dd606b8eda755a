// Package ledgertest holds the tests that every ledger.Store must pass.
//
//	func TestStore(t *testing.T) {
//		ledgertest.Run(t, func(tb testing.TB) ledger.Store { return mystore.Open(tb.TempDir()) })
//	}
//
// # What is tested
//
// A random stream of Txs whose outcomes are planned, judged by a second,
// naive implementation of the rules, through the store one by one, in batches
// and with retries: the same receipts, balances and journal each time. The
// invariants after every step. Replay and alteration of every accepted Tx.
// A crash at every commit, before the effect, inside it, and after it with the
// reply lost. Every pair of things that race for one game. Each of the two
// guards of a game's money while the other is switched off. The queries.
//
// # Hooks
//
// A store that can crash should implement [Reopener]; one that numbers its
// journal after the commit, [Sealer]. Both are looked for on the value that
// open returns, so a test can add them in a wrapper.
package ledgertest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// Reopener is a store that can be opened again after a crash. The suite drops
// the old value, without closing it, and goes on with the new one, which must
// hold all that was committed. A store without it just goes on.
type Reopener interface {
	Reopen(tb testing.TB) ledger.Store
}

// Sealer is a store that gives journal entries their place after the commit.
// Seal returns once all that was committed shows in Journal.
type Sealer interface {
	Seal(tb testing.TB)
}

// Run tests the stores that open gives, each new and empty. open registers
// what must be cleaned up with the testing.TB. Run takes about a second with a
// store in memory and makes some 10,000 commits; half of it with -short.
func Run(t *testing.T, open func(testing.TB) ledger.Store) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.run(t, open) })
	}
}

var cases = []struct {
	name string
	run  func(testing.TB, func(testing.TB) ledger.Store)
}{
	{"stream one by one", func(tb testing.TB, open func(testing.TB) ledger.Store) { stream(tb, open, 1, false) }},
	{"stream with retries", func(tb testing.TB, open func(testing.TB) ledger.Store) { stream(tb, open, 1, true) }},
	{"stream in batches of 10", func(tb testing.TB, open func(testing.TB) ledger.Store) { stream(tb, open, 10, false) }},
	{"stream in batches of 100 with retries", func(tb testing.TB, open func(testing.TB) ledger.Store) { stream(tb, open, 100, true) }},
	{"idempotency sweep", idempotency},
	{"crash at every commit", crash},
	{"races", races},
	{"document guard alone", documentGuard},
	{"escrow guard alone", escrowGuard},
	{"neither guard", neitherGuard},
	{"concurrent transfers", transfers},
	{"reads", reads},
	{"document queries", docQueries},
	{"journal queries", journalQueries},
	{"cancelled context", cancelled},
	{"ownership", ownership},
}

// epoch is when all tests begin; clocks go on by the second.
const epoch = int64(1_700_000_000_000_000_000)

// clock is a clock that the test moves.
type clock struct{ at int64 }

func (c *clock) now() time.Time { return time.Unix(0, c.at) }

func seal(tb testing.TB, s ledger.Store) {
	if x, ok := s.(Sealer); ok {
		x.Seal(tb)
	}
}

func reopen(tb testing.TB, s ledger.Store) ledger.Store {
	if x, ok := s.(Reopener); ok {
		return x.Reopen(tb)
	}
	return s
}

// journal reads the whole journal, in pages.
func journal(tb testing.TB, s ledger.Store) []ledger.Entry {
	tb.Helper()
	seal(tb, s)
	var all []ledger.Entry
	for {
		q := ledger.JournalQuery{Limit: 97}
		if len(all) > 0 {
			q.After = all[len(all)-1].Seq
		}
		page, err := s.Journal(context.Background(), q)
		require.NoError(tb, err)
		require.LessOrEqual(tb, len(page), q.Limit)
		all = append(all, page...)
		if len(page) < q.Limit {
			return all
		}
	}
}

// state reads from s all that ks names, as a State.
func state(tb testing.TB, s ledger.Store, ks ledger.KeySet) ledger.State {
	tb.Helper()
	v, err := s.Read(context.Background(), ks)
	require.NoError(tb, err)
	var out ledger.State
	for _, k := range ks.Balances {
		out.Balances = append(out.Balances, v.Balance(k))
	}
	for _, id := range ks.Holds {
		if h := v.Hold(id); h.State != 0 {
			out.Holds = append(out.Holds, h)
		}
	}
	for _, k := range ks.Docs {
		if d := v.Doc(k); d.Version != 0 {
			out.Docs = append(out.Docs, ledger.DocRow{Key: k, Doc: d})
		}
	}
	for _, k := range ks.Counts {
		out.Counts = append(out.Counts, ledger.CountRow{Key: k, Value: v.Counter(k)})
	}
	return out
}

// verify replays the journal of s and compares every row that the journal
// ever touched with what the store says; it returns the journal and the state.
func verify(tb testing.TB, s ledger.Store) ([]ledger.Entry, ledger.State) {
	tb.Helper()
	entries := journal(tb, s)
	replayed, err := ledger.Replay(func(yield func(ledger.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	})
	require.NoError(tb, err)
	require.Empty(tb, ledger.Audit(replayed))
	var all ledger.KeySet
	for _, e := range entries {
		ks := ledger.Keys(e.Tx)
		all.Balances = append(all.Balances, ks.Balances...)
		all.Holds = append(all.Holds, ks.Holds...)
		all.Docs = append(all.Docs, ks.Docs...)
		all.Counts = append(all.Counts, ks.Counts...)
	}
	slices.SortFunc(all.Balances, func(a, b ledger.Key) int {
		return slices.Compare([]string{string(a.Account), string(a.Asset)}, []string{string(b.Account), string(b.Asset)})
	})
	all.Balances = slices.Compact(all.Balances)
	slices.Sort(all.Holds)
	all.Holds = slices.Compact(all.Holds)
	slices.Sort(all.Docs)
	all.Docs = slices.Compact(all.Docs)
	slices.Sort(all.Counts)
	all.Counts = slices.Compact(all.Counts)
	got := state(tb, s, all)
	equal(tb, replayed.Balances, got.Balances, "balances against the journal")
	equal(tb, replayed.Holds, got.Holds, "holds against the journal")
	equal(tb, replayed.Docs, got.Docs, "documents against the journal")
	equal(tb, replayed.Counts, got.Counts, "counters against the journal")
	for _, e := range entries {
		v, err := s.Read(context.Background(), ledger.KeySet{ID: e.Tx.ID})
		require.NoError(tb, err)
		r, ok := v.Receipt(e.Tx.ID)
		require.True(tb, ok, "receipt of %s is gone", e.Tx.ID)
		want, _ := replayed.Receipt(e.Tx.ID)
		equalReceipt(tb, want, r)
	}
	return entries, replayed
}
