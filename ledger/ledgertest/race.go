package ledgertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// A game of the race table: two players have paid 100 each, a third one has a
// hold of 30. needs says what each action must have for itself: the turn of
// the document, the money in escrow, the hold.
var actions = []struct {
	name                string
	turn, escrow, queue bool
	tx                  func(game) ledger.Tx
}{
	{"join", true, false, false, func(g game) ledger.Tx {
		return ledger.Tx{Docs: g.write("waiting", false), Post: []ledger.Posting{{From: g.user(4), To: g.escrow(), Asset: "BRL/2", Amount: 100}}}
	}},
	{"fill", true, false, false, func(g game) ledger.Tx { return ledger.Tx{Docs: g.write("in_play", false)} }},
	{"settle", true, true, false, func(g game) ledger.Tx {
		return ledger.Tx{Docs: g.write("finished", true), Post: []ledger.Posting{{From: g.escrow(), To: g.user(1), Asset: "BRL/2", Amount: 190}, {From: g.escrow(), To: "house:rake", Asset: "BRL/2", Amount: 10}}}
	}},
	{"void", true, true, false, func(g game) ledger.Tx { return ledger.Tx{Docs: g.write("voided", true), Post: g.back()} }},
	{"reconcile", true, true, false, func(g game) ledger.Tx { return ledger.Tx{Docs: g.write("voided", true), Post: g.back()} }},
	{"refund", false, true, false, func(g game) ledger.Tx { return ledger.Tx{Post: g.back()[:1]} }},
	{"capture", false, false, true, func(g game) ledger.Tx {
		return ledger.Tx{Close: []ledger.Close{{Hold: g.hold(), Key: ledger.Key{Account: g.user(3), Asset: "BRL/2"}, Take: []ledger.Leg{{To: "house:fees", Amount: 30}}}}}
	}},
	{"expire", false, false, true, func(g game) ledger.Tx {
		return ledger.Tx{Close: []ledger.Close{{Hold: g.hold(), Key: ledger.Key{Account: g.user(3), Asset: "BRL/2"}, Void: true}}}
	}},
}

// game is one game of the tests, by number; its users are its own.
type game int

func (g game) key() ledger.DocKey          { return ledger.DocKey(fmt.Sprintf("battle:%d", g)) }
func (g game) escrow() ledger.AccountID    { return g.key().Escrow() }
func (g game) hold() string                { return fmt.Sprintf("queue/%d", g) }
func (g game) id(what string) string       { return fmt.Sprintf("battle/%d/%s", g, what) }
func (g game) user(n int) ledger.AccountID { return ledger.AccountID(fmt.Sprintf("user:%d:%d", g, n)) }

func (g game) pay(n int) ledger.Posting {
	return ledger.Posting{From: g.user(n), To: g.escrow(), Asset: "BRL/2", Amount: 100}
}
func (g game) money() ledger.Key { return ledger.Key{Account: g.escrow(), Asset: "BRL/2"} }
func (g game) write(status string, seal bool) []ledger.DocWrite {
	return []ledger.DocWrite{{Key: g.key(), IfVersion: 1, IfStatus: "waiting", Status: status, Seal: seal}}
}

// back returns both payments.
func (g game) back() []ledger.Posting {
	return []ledger.Posting{{From: g.escrow(), To: g.user(1), Asset: "BRL/2", Amount: 100}, {From: g.escrow(), To: g.user(2), Asset: "BRL/2", Amount: 100}}
}

// start funds the users and opens the game.
func (g game) start() ledger.Tx {
	tx := ledger.Tx{ID: g.id("start"), Docs: []ledger.DocWrite{{Key: g.key(), Status: "waiting"}}}
	for n := 1; n <= 4; n++ {
		tx.Post = append(tx.Post, ledger.Posting{From: "world", To: g.user(n), Asset: "BRL/2", Amount: 100})
	}
	tx.Post = append(tx.Post, g.pay(1), g.pay(2))
	tx.Hold = []ledger.Hold{{ID: g.hold(), From: g.user(3), Asset: "BRL/2", Amount: 30}}
	return tx
}

// races runs each pair of actions in both orders and at once: of a pair that
// needs the same thing exactly one wins, otherwise both do.
func races(tb testing.TB, open func(testing.TB) ledger.Store) {
	at := time.Unix(0, epoch)
	ctx := context.Background()
	s := open(tb)
	l := ledger.New(s, func() time.Time { return at })
	n := game(0)
	for i, a := range actions {
		for j, b := range actions {
			for _, concurrent := range []bool{false, true} {
				if concurrent && j < i {
					continue
				}
				n++
				_, err := l.Do(ctx, n.start())
				require.NoError(tb, err)
				txs := []ledger.Tx{a.tx(n), b.tx(n)}
				txs[0].ID, txs[1].ID = n.id(a.name), n.id(b.name)
				classes := make([]string, 2)
				var wg sync.WaitGroup
				for k := range txs {
					do := func() {
						r, err := l.Do(ctx, txs[k])
						classes[k] = class(r, err)
					}
					if concurrent {
						wg.Go(do)
					} else {
						do()
					}
				}
				wg.Wait()
				exclusive := a.turn && b.turn || a.escrow && b.escrow || a.queue && b.queue
				won := 0
				for _, c := range classes {
					if c == "ok" {
						won++
					}
				}
				name := fmt.Sprintf("%s and %s (concurrent %t): %v", a.name, b.name, concurrent, classes)
				switch {
				case i == j:
					require.ElementsMatch(tb, []string{"ok", "replayed"}, classes, name)
				case exclusive:
					require.Equal(tb, 1, won, name)
					for _, c := range classes {
						require.Contains(tb, []string{"ok", "conflict", "sealed", "insufficient_balance", "hold"}, c, name)
					}
				default:
					require.Equal(tb, 2, won, name)
				}
			}
		}
	}
	entries, st := verify(tb, s)
	require.NotEmpty(tb, entries)
	for _, d := range st.Docs {
		if d.Doc.Sealed {
			require.Zero(tb, st.Balance(ledger.Key{Account: d.Key.Escrow(), Asset: "BRL/2"}).Posted, "escrow of %s", d.Key)
		}
	}
}

// transfers moves money in circles from many goroutines: nothing is lost and
// nobody overspends, though each spends more than he has.
func transfers(tb testing.TB, open func(testing.TB) ledger.Store) {
	const workers, each = 8, 25
	at := time.Unix(0, epoch)
	ctx := context.Background()
	s := open(tb)
	l := ledger.New(s, func() time.Time { return at })
	fund := ledger.Tx{ID: "fund"}
	for i := range 3 {
		fund.Post = append(fund.Post, ledger.Posting{From: "world", To: user(i), Asset: "BRL/2", Amount: 10})
	}
	_, err := l.Do(ctx, fund)
	require.NoError(tb, err)
	var wg sync.WaitGroup
	errs := make([][]error, workers)
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				tx := ledger.Tx{
					ID:    fmt.Sprintf("t/%d/%d", w, i),
					Post:  []ledger.Posting{{From: user((w + i) % 3), To: user((w + i + 1 + w%2) % 3), Asset: "BRL/2", Amount: 7}},
					Count: []ledger.Count{{Key: "accepted", Delta: 1, Max: 1 << 40}},
				}
				_, err := l.Do(ctx, tx)
				errs[w] = append(errs[w], err)
			}
		})
	}
	wg.Wait()
	accepted := int64(0)
	for _, list := range errs {
		for _, err := range list {
			switch c := code(err); c {
			case "ok":
				accepted++
			default:
				require.Equal(tb, "insufficient_balance", c)
			}
		}
	}
	n, err := l.Counter(ctx, "accepted")
	require.NoError(tb, err)
	require.Equal(tb, accepted, n, "lost updates of a counter")
	sum := int64(0)
	for i := range 3 {
		b, err := l.Balance(ctx, user(i), "BRL/2")
		require.NoError(tb, err)
		require.GreaterOrEqual(tb, b.Posted, int64(0))
		sum += b.Posted
	}
	require.Equal(tb, int64(30), sum)
	entries, _ := verify(tb, s)
	require.Len(tb, entries, 1+int(accepted))
}
