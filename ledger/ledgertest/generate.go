package ledgertest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// deck is one round of planned outcomes: 17 of 50 are accepted (34 %), each
// other class has 3 (6 %). Dealing from a shuffled deck keeps the shares
// exact, and a naive generator would mostly make refusals.
var deck = func() (d []string) {
	for range 17 {
		d = append(d, "ok")
	}
	for range 3 {
		d = append(d, "insufficient_balance", "conflict", "sealed", "key_reused", "replayed", "limit",
			"hold", "expired", "invalid", "account_closed", "overflow")
	}
	return d
}()

// generator makes Txs whose outcome is planned. Its only source is the model.
type generator struct {
	r        *rand.Rand
	m        *model
	clock    *clock
	n        int
	accepted []ledger.Tx
	deck     []string
	used     map[string]bool // what the Tx being made has touched
}

const (
	users  = 6
	frozen = ledger.AccountID("user:frozen")
	rich   = ledger.AccountID("user:rich")
)

var assets = []ledger.Asset{"BRL/2", "TICKET"}

func newGenerator(seed uint64) *generator {
	return &generator{r: rand.New(rand.NewPCG(seed, 1)), m: newModel(), clock: &clock{epoch}}
}

// setup gives every planned class something to meet.
func (g *generator) setup() []ledger.Tx {
	fund := ledger.Tx{ID: "setup/fund"}
	for i := range users {
		for _, a := range assets {
			fund.Post = append(fund.Post, ledger.Posting{From: "world", To: user(i), Asset: a, Amount: 1000})
		}
	}
	fund.Post = append(fund.Post,
		ledger.Posting{From: "world", To: frozen, Asset: "BRL/2", Amount: 50},
		ledger.Posting{From: "house:mint", To: rich, Asset: "GOLD", Amount: math.MaxInt64 - 5})
	return []ledger.Tx{fund, {
		ID:    "setup/rules",
		Open:  []ledger.Open{{Key: ledger.Key{Account: frozen, Asset: "BRL/2"}, Closed: true}},
		Docs:  []ledger.DocWrite{{Key: "done:1", Status: "finished", Body: []byte("result"), Seal: true}, {Key: "live:0", Status: "waiting"}},
		Count: []ledger.Count{{Key: "full", Delta: 5, Max: 5}},
		Hold: []ledger.Hold{
			{ID: "late", From: user(0), Asset: "TICKET", Amount: 7, ExpiresAt: epoch + 1},
			{ID: "open", From: user(1), Asset: "TICKET", Amount: 7},
		},
	}}
}

func user(i int) ledger.AccountID { return ledger.AccountID(fmt.Sprintf("user:%d", i)) }

// next makes one Tx and the class it must meet, and updates the model.
func (g *generator) next(tb testing.TB) (ledger.Tx, string) {
	if len(g.deck) == 0 {
		g.deck = append(g.deck, deck...)
		g.r.Shuffle(len(g.deck), func(i, j int) { g.deck[i], g.deck[j] = g.deck[j], g.deck[i] })
	}
	plan := g.deck[0]
	g.deck = g.deck[1:]
	g.n++
	for range 50 {
		tx := g.make(plan)
		if _, class := g.m.judge(tx, g.clock.at); class == plan {
			g.m.do(tx, g.clock.at)
			if class == "ok" {
				g.accepted = append(g.accepted, tx)
			}
			return tx, plan
		}
	}
	require.FailNow(tb, "the generator found no Tx that is "+plan)
	return ledger.Tx{}, ""
}

func pick[T any](g *generator, s []T) T { return s[g.r.IntN(len(s))] }

// make is a good Tx, spoilt as planned.
func (g *generator) make(plan string) ledger.Tx {
	if plan == "replayed" {
		return pick(g, g.accepted)
	}
	tx := ledger.Tx{ID: fmt.Sprintf("tx/%d", g.n)}
	g.used = map[string]bool{}
	for range 1 + g.r.IntN(3) {
		good[g.r.IntN(len(good))](g, &tx)
	}
	if g.r.IntN(4) == 0 || len(tx.Post)+len(tx.Docs)+len(tx.Count)+len(tx.Hold)+len(tx.Close)+len(tx.Open) == 0 {
		tx.Memo = []byte(fmt.Sprintf("memo %d", g.r.IntN(100)))
	}
	if spoil := spoilers[plan]; spoil != nil {
		spoil(g, &tx)
	}
	return tx
}

// claim reserves something for the Tx being made.
func (g *generator) claim(name string) bool {
	if g.used[name] {
		return false
	}
	g.used[name] = true
	return true
}

// spend is an amount that k can give, at most a third of what it has so that
// a few parts do not exhaust it; 0 if there is none.
func (g *generator) spend(k ledger.Key) int64 {
	if most := g.m.available(k) / 3; most > 0 {
		return 1 + g.r.Int64N(most)
	}
	return 0
}

// good are the parts of an accepted Tx. One that finds nothing to do does
// nothing.
var good = []func(*generator, *ledger.Tx){transfer, through, fund, hold, capture, void, create, update, finish, count, open}

func transfer(g *generator, tx *ledger.Tx) {
	i, a := g.r.IntN(users), pick(g, assets)
	if n := g.spend(ledger.Key{Account: user(i), Asset: a}); n > 0 {
		to := pick(g, []ledger.AccountID{user((i + 1 + g.r.IntN(users-1)) % users), "house:rake", "world"})
		tx.Post = append(tx.Post, ledger.Posting{From: user(i), To: to, Asset: a, Amount: n})
	}
}

// through passes money through an account that has none: only the net counts.
func through(g *generator, tx *ledger.Tx) {
	i, a := g.r.IntN(users), pick(g, assets)
	if n := g.spend(ledger.Key{Account: user(i), Asset: a}); n > 0 {
		tx.Post = append(tx.Post,
			ledger.Posting{From: "transit", To: "house:fees", Asset: a, Amount: n},
			ledger.Posting{From: user(i), To: "transit", Asset: a, Amount: n})
	}
}

func fund(g *generator, tx *ledger.Tx) {
	tx.Post = append(tx.Post, ledger.Posting{From: "world", To: user(g.r.IntN(users)), Asset: pick(g, assets), Amount: 1 + g.r.Int64N(200)})
}

func hold(g *generator, tx *ledger.Tx) {
	k := ledger.Key{Account: user(g.r.IntN(users)), Asset: pick(g, assets)}
	if n := g.spend(k); n > 0 {
		h := ledger.Hold{ID: fmt.Sprintf("hold/%d/%d", g.n, len(tx.Hold)), From: k.Account, Asset: k.Asset, Amount: n}
		if g.r.IntN(3) == 0 {
			h.ExpiresAt = g.clock.at + (1+g.r.Int64N(40))*1e9
		}
		tx.Hold = append(tx.Hold, h)
	}
}

// find is an open hold, expired or not.
func (g *generator) find(expired bool) (ledger.HoldRow, bool) {
	var found []ledger.HoldRow
	for _, id := range g.m.keys().Holds {
		h := g.m.holds[id]
		if h.State == ledger.HoldOpen && (h.ExpiresAt != 0 && h.ExpiresAt <= g.clock.at) == expired && id != "late" && id != "open" {
			found = append(found, h)
		}
	}
	if len(found) == 0 {
		return ledger.HoldRow{}, false
	}
	return pick(g, found), true
}

func capture(g *generator, tx *ledger.Tx) {
	h, ok := g.find(false)
	if !ok || !g.claim(h.ID) {
		return
	}
	c := ledger.Close{Hold: h.ID, Key: ledger.Key{Account: h.From, Asset: h.Asset}, Keep: g.r.IntN(2) == 0}
	n := 1 + g.r.Int64N(h.Left)
	c.Take = []ledger.Leg{{To: "house:rake", Amount: n}}
	if n < h.Left && g.r.IntN(2) == 0 {
		c.Take = append(c.Take, ledger.Leg{To: "transit:fees", Amount: 1 + g.r.Int64N(h.Left-n)})
	}
	tx.Close = append(tx.Close, c)
}

func void(g *generator, tx *ledger.Tx) {
	h, ok := g.find(g.r.IntN(2) == 0)
	if ok && g.claim(h.ID) {
		tx.Close = append(tx.Close, ledger.Close{Hold: h.ID, Key: ledger.Key{Account: h.From, Asset: h.Asset}, Void: true})
	}
}

// create makes a game and pays into its escrow.
func create(g *generator, tx *ledger.Tx) {
	k := ledger.DocKey(fmt.Sprintf("game:%d", g.n))
	if !g.claim(string(k)) {
		return
	}
	tx.Docs = append(tx.Docs, ledger.DocWrite{Key: k, Status: "waiting", Body: []byte{byte(g.n), 0, 255}})
	p := ledger.Key{Account: user(g.r.IntN(users)), Asset: "BRL/2"}
	if n := g.spend(p); n > 0 {
		tx.Post = append(tx.Post, ledger.Posting{From: p.Account, To: k.Escrow(), Asset: "BRL/2", Amount: n})
	}
}

// game is an unsealed game that this Tx does not touch yet.
func (g *generator) game() (ledger.DocKey, ledger.Doc, bool) {
	var found []ledger.DocKey
	for _, k := range g.m.keys().Docs {
		if k != "live:0" && !g.m.docs[k].Sealed {
			found = append(found, k)
		}
	}
	if len(found) == 0 {
		return "", ledger.Doc{}, false
	}
	k := pick(g, found)
	return k, g.m.docs[k], g.claim(string(k))
}

func update(g *generator, tx *ledger.Tx) {
	if k, d, ok := g.game(); ok {
		w := ledger.DocWrite{Key: k, IfVersion: d.Version, Status: "in_play", Body: []byte(fmt.Sprint("turn ", g.n))}
		if g.r.IntN(2) == 0 {
			w.IfStatus = d.Status
		}
		tx.Docs = append(tx.Docs, w)
		if g.r.IntN(3) == 0 && g.claim("live:0") {
			tx.Require = append(tx.Require, ledger.Require{Key: "live:0", Version: g.m.docs["live:0"].Version, Status: "waiting"})
		}
	}
}

// finish empties the escrow and seals.
func finish(g *generator, tx *ledger.Tx) {
	k, d, ok := g.game()
	if !ok {
		return
	}
	tx.Docs = append(tx.Docs, ledger.DocWrite{Key: k, IfVersion: d.Version, IfStatus: d.Status, Status: "finished", Body: d.Body, Seal: true})
	if n := g.m.available(ledger.Key{Account: k.Escrow(), Asset: "BRL/2"}); n > 0 {
		tx.Post = append(tx.Post, ledger.Posting{From: k.Escrow(), To: user(g.r.IntN(users)), Asset: "BRL/2", Amount: n})
	}
}

func count(g *generator, tx *ledger.Tx) {
	k := fmt.Sprintf("nonce:user:%d", g.r.IntN(users))
	if g.claim(k) {
		tx.Count = append(tx.Count, ledger.Count{Key: k, Delta: g.r.Int64N(4) - 1, Max: math.MaxInt64})
	}
}

// open gives and takes a credit line.
func open(g *generator, tx *ledger.Tx) {
	k := ledger.Key{Account: ledger.AccountID(fmt.Sprintf("club:%d", g.r.IntN(3))), Asset: "BRL/2"}
	if g.claim(string(k.Account)) {
		tx.Open = append(tx.Open, ledger.Open{Key: k, Floor: -g.r.Int64N(100)})
	}
}

// spoilers turn a good Tx into one that is refused for one reason.
var spoilers = map[string]func(*generator, *ledger.Tx){
	"insufficient_balance": func(g *generator, tx *ledger.Tx) {
		k := ledger.Key{Account: user(g.r.IntN(users)), Asset: pick(g, assets)}
		switch n := g.m.available(k); g.r.IntN(3) {
		case 0:
			tx.Hold = append(tx.Hold, ledger.Hold{ID: fmt.Sprintf("much/%d", g.n), From: k.Account, Asset: k.Asset, Amount: n + 1000})
		case 1: // one unit too much, alone
			*tx = ledger.Tx{ID: tx.ID, Post: []ledger.Posting{{From: k.Account, To: "house:rake", Asset: k.Asset, Amount: n + 1}}}
		default:
			tx.Post = append(tx.Post, ledger.Posting{From: k.Account, To: "house:rake", Asset: k.Asset, Amount: n + 1000})
		}
	},
	"conflict": func(g *generator, tx *ledger.Tx) {
		v := g.m.docs["live:0"].Version
		g.unclaim(tx)
		switch g.r.IntN(5) {
		case 0:
			tx.Docs = append(tx.Docs, ledger.DocWrite{Key: "live:0", IfVersion: v + 1, Status: "x"})
		case 1:
			tx.Docs = append(tx.Docs, ledger.DocWrite{Key: "live:0", IfVersion: 0, Status: "x"})
		case 2:
			tx.Docs = append(tx.Docs, ledger.DocWrite{Key: "live:0", IfVersion: v, IfStatus: "in_play", Status: "x"})
		case 3:
			tx.Require = append(tx.Require, ledger.Require{Key: "live:0", Version: v, Status: "in_play"})
		default:
			tx.Require = append(tx.Require, ledger.Require{Key: "missing:1", Version: 1})
		}
	},
	"sealed": func(g *generator, tx *ledger.Tx) {
		tx.Docs = append(tx.Docs, ledger.DocWrite{Key: "done:1", IfVersion: uint64(g.r.IntN(3)), Status: "again"})
	},
	"key_reused": func(g *generator, tx *ledger.Tx) {
		tx.ID = pick(g, g.accepted).ID
		tx.Memo = []byte(fmt.Sprint("another body ", g.n))
	},
	"limit": func(g *generator, tx *ledger.Tx) {
		tx.Count = append(tx.Count, ledger.Count{Key: "full", Delta: g.r.Int64N(3), Max: 4})
	},
	"hold": func(g *generator, tx *ledger.Tx) {
		right, wrong := ledger.Key{Account: user(1), Asset: "TICKET"}, ledger.Key{Account: user(2), Asset: "TICKET"}
		switch g.r.IntN(5) {
		case 0:
			tx.Close = append(tx.Close, ledger.Close{Hold: "none", Key: right, Void: true})
		case 1:
			tx.Close = append(tx.Close, ledger.Close{Hold: "open", Key: wrong, Void: true})
		case 2:
			tx.Close = append(tx.Close, ledger.Close{Hold: "open", Key: right, Take: []ledger.Leg{{To: "house", Amount: 4}, {To: "house", Amount: 4}}})
		case 3:
			tx.Hold = append(tx.Hold, ledger.Hold{ID: "open", From: right.Account, Asset: right.Asset, Amount: 1})
		default: // a hold that is closed
			for _, id := range g.m.keys().Holds {
				if h := g.m.holds[id]; h.State != ledger.HoldOpen {
					tx.Close = append(tx.Close, ledger.Close{Hold: id, Key: ledger.Key{Account: h.From, Asset: h.Asset}, Void: true})
					return
				}
			}
		}
	},
	"expired": func(g *generator, tx *ledger.Tx) {
		k := ledger.Key{Account: user(0), Asset: "TICKET"}
		if g.r.IntN(2) == 0 {
			tx.Close = append(tx.Close, ledger.Close{Hold: "late", Key: k, Take: []ledger.Leg{{To: "house", Amount: 1}}})
		} else {
			tx.Hold = append(tx.Hold, ledger.Hold{ID: fmt.Sprintf("past/%d", g.n), From: k.Account, Asset: k.Asset, Amount: 1, ExpiresAt: g.clock.at})
		}
	},
	"invalid": func(g *generator, tx *ledger.Tx) {
		tx.Post = append(tx.Post, pick(g, []ledger.Posting{
			{From: user(0), To: user(1), Asset: "BRL/2", Amount: 0},
			{From: user(0), To: user(1), Asset: "BRL/2", Amount: -5},
			{From: user(0), To: user(0), Asset: "BRL/2", Amount: 5},
		}))
	},
	"account_closed": func(g *generator, tx *ledger.Tx) {
		if g.r.IntN(2) == 0 {
			tx.Post = append(tx.Post, ledger.Posting{From: frozen, To: "house:rake", Asset: "BRL/2", Amount: 1})
		} else {
			tx.Post = append(tx.Post, ledger.Posting{From: "house:rake", To: frozen, Asset: "BRL/2", Amount: 1})
		}
	},
	"overflow": func(g *generator, tx *ledger.Tx) {
		switch g.r.IntN(3) {
		case 0:
			tx.Post = append(tx.Post, ledger.Posting{From: "house:mint", To: rich, Asset: "GOLD", Amount: 6 + g.r.Int64N(1000)})
		case 1: // the sum alone is more than 64 bits
			for range 5 {
				tx.Post = append(tx.Post, ledger.Posting{From: "house:mint", To: rich, Asset: "GOLD", Amount: math.MaxInt64})
			}
		default:
			tx.Count = append(tx.Count, ledger.Count{Key: "full", Delta: math.MinInt64, Max: 0},
				ledger.Count{Key: "deep", Delta: math.MinInt64, Max: 0}, ledger.Count{Key: "deeper", Delta: -1, Max: 0})
			tx.Post = append(tx.Post, ledger.Posting{From: rich, To: "house:mint", Asset: "GOLD", Amount: 1},
				ledger.Posting{From: "house:mint", To: rich, Asset: "GOLD", Amount: 7})
		}
	},
}

// unclaim drops a Require of live:0, so that it can be written.
func (g *generator) unclaim(tx *ledger.Tx) {
	if g.used["live:0"] {
		tx.Require = nil
	}
}
