package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// reads: what does not exist has its default, and a View does not move.
func reads(tb testing.TB, open func(testing.TB) ledger.Store) {
	ctx := context.Background()
	s := open(tb)
	c := &clock{epoch}
	l := ledger.New(s, c.now)
	user, house := ledger.Key{Account: "user:1", Asset: "BRL/2"}, ledger.Key{Account: "house:rake", Asset: "BRL/2"}
	ks := ledger.KeySet{ID: "tx/1", Balances: []ledger.Key{house, user}, Holds: []string{"h"}, Docs: []ledger.DocKey{"d"}, Counts: []string{"c"}}
	old, err := s.Read(ctx, ks)
	require.NoError(tb, err)
	empty := func(v ledger.View) {
		_, ok := v.Receipt("tx/1")
		require.False(tb, ok)
		require.Equal(tb, ledger.Balance{Key: user}, v.Balance(user))
		require.Equal(tb, ledger.Balance{Key: house, Floor: ledger.Unbounded}, v.Balance(house))
		require.Zero(tb, v.Hold("h"))
		require.Zero(tb, v.Doc("d").Version)
		require.Zero(tb, v.Counter("c"))
	}
	empty(old)
	tx := ledger.Tx{
		ID: "tx/1", Post: []ledger.Posting{{From: "house:rake", To: "user:1", Asset: "BRL/2", Amount: 9}},
		Hold: []ledger.Hold{{ID: "h", From: "user:1", Asset: "BRL/2", Amount: 4}}, Count: []ledger.Count{{Key: "c", Delta: 3, Max: 3}},
		Docs: []ledger.DocWrite{{Key: "d", Status: "s", Body: []byte{0, 1, 255}, Seal: true}},
	}
	_, err = l.Do(ctx, tx)
	require.NoError(tb, err)
	empty(old)
	b, err := l.Balance(ctx, "user:1", "BRL/2")
	require.NoError(tb, err)
	require.Equal(tb, ledger.Balance{Key: user, Posted: 9, Held: 4, Version: 1}, b)
	require.Equal(tb, int64(5), b.Available())
	h, err := l.Hold(ctx, "h")
	require.NoError(tb, err)
	require.Equal(tb, ledger.HoldRow{Hold: tx.Hold[0], Left: 4, State: ledger.HoldOpen}, h)
	d, err := l.Doc(ctx, "d")
	require.NoError(tb, err)
	equal(tb, ledger.Doc{Version: 1, Status: "s", Body: []byte{0, 1, 255}, Sealed: true, Updated: epoch}, d, "documents")
	n, err := l.Counter(ctx, "c")
	require.NoError(tb, err)
	require.Equal(tb, int64(3), n)
}

// docQueries compares every kind of query with a filter over a plain list.
func docQueries(tb testing.TB, open func(testing.TB) ledger.Store) {
	ctx := context.Background()
	s := open(tb)
	c := &clock{epoch}
	l := ledger.New(s, c.now)
	r := rand.New(rand.NewPCG(5, 5))
	n := 700
	if testing.Short() {
		n = 300
	}
	var all []ledger.DocRow
	var tx ledger.Tx
	for i := range n {
		k := ledger.DocKey(fmt.Sprintf("%s:%d", []string{"a", "battle", "battle#x", "Z", "~"[:0] + "b"}[r.IntN(5)], r.IntN(1<<30)))
		w := ledger.DocWrite{Key: k, Status: []string{"", "waiting", "in_play"}[r.IntN(3)], Body: []byte(k), Seal: r.IntN(4) == 0}
		tx.Docs = append(tx.Docs, w)
		all = append(all, ledger.DocRow{Key: k, Doc: ledger.Doc{Version: 1, Status: w.Status, Body: w.Body, Sealed: w.Seal, Updated: c.at}})
		if i%20 == 19 {
			tx.ID = fmt.Sprint("docs/", i)
			_, err := l.Do(ctx, tx)
			require.NoError(tb, err)
			c.at += 1e9
			tx = ledger.Tx{}
		}
	}
	slices.SortFunc(all, func(a, b ledger.DocRow) int { return strings.Compare(string(a.Key), string(b.Key)) })
	for _, prefix := range []ledger.DocKey{"", "b", "battle", "battle:", "battle:1", "Z:", "none"} {
		for _, status := range []string{"", "waiting", "other"} {
			for _, older := range []int64{0, epoch, epoch + 7e9} {
				for _, limit := range []int{0, 1, 10, n} {
					for _, after := range []ledger.DocKey{"", all[n/3].Key, "battle", "zz"} {
						q := ledger.DocQuery{Prefix: prefix, Status: status, OlderThan: older, After: after, Limit: limit}
						if testing.Short() && r.IntN(4) > 0 {
							continue
						}
						var want, got []ledger.DocRow
						for _, d := range all {
							if strings.HasPrefix(string(d.Key), string(prefix)) && (status == "" || d.Doc.Status == status) &&
								(older == 0 || d.Doc.Updated < older) && d.Key > after && (limit == 0 || len(want) < limit) {
								want = append(want, d)
							}
						}
						for d, err := range l.Docs(ctx, q) {
							require.NoError(tb, err)
							got = append(got, d)
						}
						if len(want)+len(got) > 0 { // cmp is slow on the many empty ones
							equal(tb, want, got, fmt.Sprintf("rows of %+v", q))
						}
					}
				}
			}
		}
	}
	// Stuck leaves sealed documents out, and the ledger can be used in between.
	c.at = epoch + 100e9
	stuck := 0
	for d, err := range l.Stuck(ctx, "waiting", 90*time.Second) {
		require.NoError(tb, err)
		require.False(tb, d.Doc.Sealed)
		require.Equal(tb, "waiting", d.Doc.Status)
		require.Less(tb, d.Doc.Updated, epoch+10e9)
		_, err := l.Do(ctx, ledger.Tx{ID: "sweep/" + string(d.Key), Docs: []ledger.DocWrite{{Key: d.Key, IfVersion: 1, Status: "voided", Seal: true}}})
		require.NoError(tb, err)
		if stuck++; stuck == 3 {
			break
		}
	}
	require.Equal(tb, 3, stuck)
}

func journalQueries(tb testing.TB, open func(testing.TB) ledger.Store) {
	ctx := context.Background()
	s := open(tb)
	c := &clock{epoch}
	l := ledger.New(s, c.now)
	for i := range 30 {
		c.at++
		k := ledger.DocKey(fmt.Sprint("doc:", i%3))
		tx := ledger.Tx{ID: fmt.Sprint("w/", i), Docs: []ledger.DocWrite{{Key: k, IfVersion: uint64(i / 3), Body: []byte{byte(i)}}}}
		if i%3 == 0 { // only reading a document is not writing it
			tx.Require = []ledger.Require{{Key: "doc:1", Version: uint64(i / 3)}}
		}
		_, err := l.Do(ctx, tx)
		require.NoError(tb, err)
	}
	all := journal(tb, s)
	require.Len(tb, all, 30)
	for _, doc := range []ledger.DocKey{"", "doc:0", "doc:1", "none"} {
		for after := uint64(0); after <= 31; after++ {
			for _, limit := range []int{0, 1, 4, 100} {
				var want []ledger.Entry
				for _, e := range all {
					writes := doc == "" || slices.ContainsFunc(e.Tx.Docs, func(w ledger.DocWrite) bool { return w.Key == doc })
					if writes && e.Seq > after && (limit == 0 || len(want) < limit) {
						want = append(want, e)
					}
				}
				got, err := l.Journal(ctx, ledger.JournalQuery{After: after, Doc: doc, Limit: limit})
				require.NoError(tb, err)
				equal(tb, want, got, "entries")
			}
		}
	}
	verify(tb, s)
}

// cancelled: a context that is over before the call changes nothing.
func cancelled(tb testing.TB, open func(testing.TB) ledger.Store) {
	s := open(tb)
	c := &clock{epoch}
	l := ledger.New(s, c.now)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	tx := ledger.Tx{ID: "a", Post: []ledger.Posting{{From: "world", To: "user:1", Asset: "X", Amount: 1}}}
	_, err := l.Do(ctx, tx)
	require.ErrorIs(tb, err, context.Canceled)
	for _, r := range l.DoAll(ctx, []ledger.Tx{tx, tx}) {
		require.ErrorIs(tb, r.Err, context.Canceled)
	}
	_, err = l.Balance(ctx, "user:1", "X")
	require.ErrorIs(tb, err, context.Canceled)
	_, err = l.Journal(ctx, ledger.JournalQuery{})
	require.ErrorIs(tb, err, context.Canceled)
	rows := 0
	for _, err := range l.Docs(ctx, ledger.DocQuery{}) {
		require.ErrorIs(tb, err, context.Canceled)
		rows++
	}
	require.Equal(tb, 1, rows)
	require.Empty(tb, journal(tb, s))
	r, err := l.Do(context.Background(), tx)
	require.NoError(tb, err)
	require.False(tb, r.Replayed, "a refused Tx burnt its id")
}

// ownership: what goes in and what comes out is the caller's.
func ownership(tb testing.TB, open func(testing.TB) ledger.Store) {
	ctx := context.Background()
	s := open(tb)
	c := &clock{epoch}
	l := ledger.New(s, c.now)
	tx := ledger.Tx{
		ID: "a", Memo: []byte("memo"),
		Post:  []ledger.Posting{{From: "world", To: "user:1", Asset: "X", Amount: 5}},
		Docs:  []ledger.DocWrite{{Key: "d", Body: []byte("body"), Seal: true}},
		Count: []ledger.Count{{Key: "c", Delta: 1, Max: 1}},
	}
	r, err := l.Do(ctx, tx)
	require.NoError(tb, err)
	tx.Memo[0], tx.Docs[0].Body[0], tx.Post[0].Amount = 'X', 'X', 6
	r.Balances[0].Posted, r.Docs[0].Version, r.Counts[0].Value = 99, 99, 99
	d, err := l.Doc(ctx, "d")
	require.NoError(tb, err)
	require.Equal(tb, "body", string(d.Body))
	d.Body[0] = 'Y'
	for d, err := range l.Docs(ctx, ledger.DocQuery{}) {
		require.NoError(tb, err)
		require.Equal(tb, "body", string(d.Doc.Body))
		d.Doc.Body[0] = 'Z'
	}
	_, err = l.Do(ctx, ledger.Tx{ID: "b", Docs: []ledger.DocWrite{{Key: "d", IfVersion: 1}}})
	e, ok := errors.AsType[ledger.ErrSealed](err)
	require.True(tb, ok)
	require.Equal(tb, "body", string(e.Doc.Doc.Body))
	e.Doc.Doc.Body[0] = 'W'
	entries := journal(tb, s)
	entries[0].Tx.Memo[0], entries[0].Tx.Docs[0].Body[0], entries[0].Tx.Post[0].Amount = 'X', 'X', 6
	tx.Memo[0], tx.Docs[0].Body[0], tx.Post[0].Amount = 'm', 'b', 5
	again, err := l.Do(ctx, tx)
	require.NoError(tb, err)
	require.True(tb, again.Replayed)
	require.NotEqual(tb, int64(99), again.Balances[0].Posted)
	require.Equal(tb, uint64(1), again.Version("d"))
	v, ok := again.Counter("c")
	require.True(tb, ok)
	require.Equal(tb, int64(1), v)
	d, err = l.Doc(ctx, "d")
	require.NoError(tb, err)
	require.Equal(tb, "body", string(d.Body))
	verify(tb, s)
}
