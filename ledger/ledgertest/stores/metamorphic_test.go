package stores_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

const (
	epoch = int64(1_700_000_000_000_000_000)
	block = 10 // Txs of one time
)

// generator makes Txs over few keys, so that they meet. What it knows of the
// state it reads from the reference.
type generator struct {
	r    *rand.Rand
	ref  *ledger.Ledger
	sent []ledger.Tx
	n    int
	at   int64
}

func (g *generator) user() ledger.AccountID {
	return ledger.AccountID(fmt.Sprint("user:", g.r.IntN(5)))
}

func (g *generator) asset() ledger.Asset { return []ledger.Asset{"BRL/2", "TICKET"}[g.r.IntN(2)] }

func (g *generator) id() string { return fmt.Sprintf("tx/%d", g.n*7919%100_003) } // not in the order of the commits

func (g *generator) next(tb testing.TB) ledger.Tx {
	g.n++
	if len(g.sent) > 20 && g.r.IntN(8) == 0 { // again, or something else under its id
		tx := g.sent[g.r.IntN(len(g.sent))]
		if g.r.IntN(2) == 0 {
			tx.Memo = fmt.Append(nil, "altered ", g.n)
		}
		return tx
	}
	tx := ledger.Tx{ID: g.id()}
	for range 1 + g.r.IntN(2) {
		parts[g.r.IntN(len(parts))](tb, g, &tx)
	}
	g.sent = append(g.sent, tx)
	return tx
}

// parts are what a Tx is made of; many do not fit the state.
var parts = []func(testing.TB, *generator, *ledger.Tx){fund, transfer, transfer, write, write, hold, closing, count, rule, reading}

func fund(_ testing.TB, g *generator, tx *ledger.Tx) {
	tx.Post = append(tx.Post, ledger.Posting{From: "world", To: g.user(), Asset: g.asset(), Amount: 1 + g.r.Int64N(200)})
}

func transfer(_ testing.TB, g *generator, tx *ledger.Tx) {
	from, to := g.user(), g.user()
	if from == to {
		to = "house:rake"
	}
	tx.Post = append(tx.Post, ledger.Posting{From: from, To: to, Asset: g.asset(), Amount: 1 + g.r.Int64N(120)})
}

func (g *generator) doc(tb testing.TB) (ledger.DocKey, ledger.Doc) {
	k := ledger.DocKey(fmt.Sprintf("game:%d", g.n/40+g.r.IntN(4)))
	d, err := g.ref.Doc(context.Background(), k)
	require.NoError(tb, err)
	return k, d
}

func write(tb testing.TB, g *generator, tx *ledger.Tx) {
	k, d := g.doc(tb)
	w := ledger.DocWrite{Key: k, IfVersion: d.Version, Status: []string{"", "waiting", "in_play"}[g.r.IntN(3)], Body: fmt.Append(nil, g.n), Seal: g.r.IntN(6) == 0}
	if g.r.IntN(8) == 0 {
		w.IfVersion++
	}
	tx.Docs = append(tx.Docs, w)
}

func reading(tb testing.TB, g *generator, tx *ledger.Tx) {
	k, d := g.doc(tb)
	tx.Require = append(tx.Require, ledger.Require{Key: k, Version: d.Version})
	tx.Memo = []byte("a reader")
}

func (g *generator) hold() ledger.Hold {
	i := g.n/10 - g.r.IntN(3)
	return ledger.Hold{ID: fmt.Sprint("hold/", i), From: ledger.AccountID(fmt.Sprint("user:", (i+5)%5)), Asset: "BRL/2", Amount: 1 + g.r.Int64N(60), ExpiresAt: g.at + int64(g.r.IntN(4))*1e9}
}

func hold(_ testing.TB, g *generator, tx *ledger.Tx) { tx.Hold = append(tx.Hold, g.hold()) }

func closing(_ testing.TB, g *generator, tx *ledger.Tx) {
	h := g.hold()
	c := ledger.Close{Hold: h.ID, Key: ledger.Key{Account: h.From, Asset: h.Asset}}
	if g.r.IntN(3) == 0 {
		c.Void = true
	} else {
		c.Take, c.Keep = []ledger.Leg{{To: "house:rake", Amount: h.Amount/2 + 1}}, g.r.IntN(2) == 0
	}
	tx.Close = append(tx.Close, c)
}

func count(_ testing.TB, g *generator, tx *ledger.Tx) {
	tx.Count = append(tx.Count, ledger.Count{Key: fmt.Sprint("n:", g.n/90), Delta: g.r.Int64N(5) - 1, Max: []int64{2, math.MaxInt64}[g.r.IntN(2)]})
}

func rule(_ testing.TB, g *generator, tx *ledger.Tx) {
	k := ledger.Key{Account: ledger.AccountID(fmt.Sprint("club:", g.r.IntN(3))), Asset: "BRL/2"}
	tx.Open = append(tx.Open, ledger.Open{Key: k, Floor: -g.r.Int64N(100), Closed: g.r.IntN(5) == 0})
	if g.r.IntN(2) == 0 {
		tx.Post = append(tx.Post, ledger.Posting{From: k.Account, To: "house:rake", Asset: k.Asset, Amount: 1 + g.r.Int64N(50)})
	}
}

// outcome is what the caller of Do sees.
type outcome struct {
	receipt ledger.Receipt
	err     error
}

// history is the stream and what the reference said.
type history struct {
	txs     [][]ledger.Tx // in blocks
	want    []outcome
	entries []ledger.Entry
	state   ledger.State
}

func record(tb testing.TB, seed uint64, blocks int) history {
	ctx := context.Background()
	var h history
	g := &generator{r: rand.New(rand.NewPCG(seed, 2)), at: epoch}
	mem := ledger.NewMemory()
	g.ref = ledger.New(mem, func() time.Time { return time.Unix(0, g.at) })
	classes := map[string]int{}
	for range blocks {
		g.at += 1e9
		var txs []ledger.Tx
		for range block {
			tx := g.next(tb)
			r, err := g.ref.Do(ctx, tx)
			txs = append(txs, tx)
			h.want = append(h.want, outcome{r, err})
			classes[class(r, err)]++
		}
		h.txs = append(h.txs, txs)
	}
	h.entries = journal(tb, mem)
	var err error
	h.state, err = ledger.Replay(all(h.entries))
	require.NoError(tb, err)
	require.Empty(tb, ledger.Audit(h.state))
	total := blocks * block
	require.Greater(tb, classes["ok"], total*30/100, "%v", classes)
	for _, c := range []string{"insufficient_balance", "conflict", "sealed", "hold", "replayed", "key_reused", "limit", "expired"} {
		require.Greater(tb, classes[c], total/200, "%s: %v", c, classes)
	}
	return h
}

func class(r ledger.Receipt, err error) string {
	if c, ok := errors.AsType[interface {
		error
		Code() string
	}](err); ok {
		return c.Code()
	}
	switch {
	case err != nil:
		return err.Error()
	case r.Replayed:
		return "replayed"
	}
	return "ok"
}

func all(entries []ledger.Entry) func(func(ledger.Entry, error) bool) {
	return func(yield func(ledger.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// play runs the stream through s and gives what the callers saw. An uncertain
// Tx is sent until it is certain.
func play(tb testing.TB, s ledger.Store, h history, batched bool) (got []outcome) {
	ctx := context.Background()
	at := epoch
	l := ledger.New(s, func() time.Time { return time.Unix(0, at) })
	certain := func(tx ledger.Tx, o outcome) outcome {
		for range 100 {
			if _, uncertain := errors.AsType[ledger.ErrUncertain](o.err); !uncertain {
				return o
			}
			o.receipt, o.err = l.Do(ctx, tx)
		}
		require.FailNow(tb, "uncertain for ever")
		return o
	}
	for _, txs := range h.txs {
		at += 1e9
		if batched {
			for i, r := range l.DoAll(ctx, txs) {
				got = append(got, certain(txs[i], outcome{r.Receipt, r.Err}))
			}
			continue
		}
		for _, tx := range txs {
			r, err := l.Do(ctx, tx)
			got = append(got, certain(tx, outcome{r, err}))
		}
	}
	return got
}

func TestStoresAgree(t *testing.T) {
	blocks := 150
	if testing.Short() {
		blocks = 50
	}
	h := record(t, 1, blocks)
	for _, k := range kinds {
		for _, batched := range []bool{false, true} {
			for _, lossy := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, batched %t, lossy %t", k.name, batched, lossy), func(t *testing.T) {
					s := k.open(t)
					if lossy {
						s = &flaky{Store: s, r: rand.New(rand.NewPCG(3, 3)), one: 5}
					}
					got := play(t, s, h, batched)
					require.Len(t, got, len(h.want))
					for i, want := range h.want {
						if lossy { // the caller may have been the one before, too
							want.receipt.Replayed, got[i].receipt.Replayed = false, false
						}
						require.Equal(t, want.err, got[i].err, "Tx %d", i)
						sameReceipt(t, want.receipt, got[i].receipt)
					}
					if f, ok := s.(*flaky); ok {
						require.Greater(t, f.count, blocks)
					}
					sameState(t, h, s)
				})
			}
		}
	}
}

func sameReceipt(tb testing.TB, want, got ledger.Receipt) {
	tb.Helper()
	a, err := want.MarshalJSON()
	require.NoError(tb, err)
	b, err := got.MarshalJSON()
	require.NoError(tb, err)
	require.Equal(tb, string(a), string(b))
	require.Equal(tb, want.Replayed, got.Replayed, want.ID)
}

// sameState compares the journal, entry by entry with its hash, and every row.
func sameState(tb testing.TB, h history, s ledger.Store) {
	tb.Helper()
	entries := journal(tb, s)
	require.Len(tb, entries, len(h.entries))
	for i, want := range h.entries {
		a, err := want.MarshalJSON()
		require.NoError(tb, err)
		b, err := entries[i].MarshalJSON()
		require.NoError(tb, err)
		require.Equal(tb, string(a), string(b))
	}
	var ks ledger.KeySet
	for _, b := range h.state.Balances {
		ks.Balances = append(ks.Balances, b.Key)
	}
	for _, x := range h.state.Holds {
		ks.Holds = append(ks.Holds, x.ID)
	}
	for _, d := range h.state.Docs {
		ks.Docs = append(ks.Docs, d.Key)
	}
	for _, c := range h.state.Counts {
		ks.Counts = append(ks.Counts, c.Key)
	}
	v, err := s.Read(context.Background(), ks)
	require.NoError(tb, err)
	for _, want := range h.state.Balances {
		require.Equal(tb, want, v.Balance(want.Key))
	}
	for _, want := range h.state.Holds {
		require.Equal(tb, want, v.Hold(want.ID))
	}
	for _, want := range h.state.Docs {
		require.Equal(tb, want.Doc, v.Doc(want.Key))
	}
	for _, want := range h.state.Counts {
		require.Equal(tb, want.Value, v.Counter(want.Key))
	}
	i := 0
	for d, err := range s.Docs(context.Background(), ledger.DocQuery{}) {
		require.NoError(tb, err)
		require.Equal(tb, h.state.Docs[i], d)
		i++
	}
	require.Len(tb, h.state.Docs, i)
}
