package ledgertest

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// model is a second opinion on the rules: a naive implementation that shares
// nothing with package ledger but the types. It works on a copy and throws it
// away when a rule says no.
type model struct {
	balances map[ledger.Key]purse
	holds    map[string]ledger.HoldRow
	docs     map[ledger.DocKey]ledger.Doc
	counts   map[string]int64
	bodies   map[string][]byte // accepted Txs as JSON
}

type purse struct {
	posted, held, floor *big.Int // floor nil: unbounded
	closed              bool
	version             uint64
}

func newModel() *model {
	return &model{
		balances: map[ledger.Key]purse{}, holds: map[string]ledger.HoldRow{}, docs: map[ledger.DocKey]ledger.Doc{},
		counts: map[string]int64{}, bodies: map[string][]byte{},
	}
}

func (m *model) clone() *model {
	return &model{maps.Clone(m.balances), maps.Clone(m.holds), maps.Clone(m.docs), maps.Clone(m.counts), maps.Clone(m.bodies)}
}

func (m *model) purse(k ledger.Key) purse {
	if p, ok := m.balances[k]; ok {
		return p
	}
	p := purse{posted: new(big.Int), held: new(big.Int), floor: new(big.Int)}
	switch a := string(k.Account); {
	case a == "world", a == "house", strings.HasPrefix(a, "world:"), strings.HasPrefix(a, "house:"):
		p.floor = nil
	}
	return p
}

// available is what k could give, at most what fits.
func (m *model) available(k ledger.Key) int64 {
	p := m.purse(k)
	if p.floor == nil || p.closed {
		return 0
	}
	n := new(big.Int).Sub(p.posted, p.held)
	if n.Sub(n, p.floor).Sign() < 0 {
		return 0
	}
	return n.Int64()
}

// do judges tx, changes m if it is accepted, and says which class it is.
func (m *model) do(tx ledger.Tx, at int64) string {
	next, class := m.judge(tx, at)
	if class == "ok" {
		*m = *next
	}
	return class
}

func (m *model) judge(tx ledger.Tx, at int64) (*model, string) {
	body, err := json.Marshal(tx)
	if err != nil {
		return m, "invalid"
	}
	for _, p := range tx.Post {
		if p.Amount < 1 || p.From == p.To { // the only faults of shape the generator makes
			return m, "invalid"
		}
	}
	if old, ok := m.bodies[tx.ID]; ok {
		if bytes.Equal(old, body) {
			return m, "replayed"
		}
		return m, "key_reused"
	}
	n := m.clone()
	n.bodies[tx.ID] = body
	for _, r := range tx.Require {
		if d := m.docs[r.Key]; d.Version != r.Version || r.Status != "" && r.Status != d.Status {
			return m, "conflict"
		}
	}
	for _, w := range tx.Docs {
		d := m.docs[w.Key]
		if d.Sealed {
			return m, "sealed"
		}
		if d.Version != w.IfVersion || w.IfStatus != "" && w.IfStatus != d.Status {
			return m, "conflict"
		}
		n.docs[w.Key] = ledger.Doc{Version: w.IfVersion + 1, Status: w.Status, Body: w.Body, Sealed: w.Seal, Updated: at}
	}
	touched := map[ledger.Key]bool{} // true: by more than giving a hold back
	add := func(k ledger.Key, posted, held int64) {
		p := n.purse(k)
		p.posted = new(big.Int).Add(p.posted, big.NewInt(posted))
		p.held = new(big.Int).Add(p.held, big.NewInt(held))
		n.balances[k] = p
		touched[k] = touched[k] || posted != 0 || held > 0
	}
	for _, c := range tx.Close {
		h := m.holds[c.Hold]
		if h.State != ledger.HoldOpen || c.Key.Account != h.From || c.Key.Asset != h.Asset {
			return m, "hold"
		}
		if !c.Void && h.ExpiresAt != 0 && h.ExpiresAt <= at {
			return m, "expired"
		}
		left := h.Left
		for _, l := range c.Take {
			if left -= l.Amount; left < 0 {
				return m, "hold"
			}
			add(c.Key, -l.Amount, -l.Amount)
			add(ledger.Key{Account: l.To, Asset: c.Key.Asset}, l.Amount, 0)
		}
		h.Left = left
		if !c.Keep || left == 0 {
			add(c.Key, 0, -left)
			h.Left, h.State = 0, ledger.HoldCaptured
			if c.Void {
				h.State = ledger.HoldVoided
			}
		}
		n.holds[c.Hold] = h
	}
	for _, p := range tx.Post {
		add(ledger.Key{Account: p.From, Asset: p.Asset}, -p.Amount, 0)
		add(ledger.Key{Account: p.To, Asset: p.Asset}, p.Amount, 0)
	}
	for _, h := range tx.Hold {
		if m.holds[h.ID].State != 0 {
			return m, "hold"
		}
		if h.ExpiresAt != 0 && h.ExpiresAt <= at {
			return m, "expired"
		}
		add(ledger.Key{Account: h.From, Asset: h.Asset}, 0, h.Amount)
		n.holds[h.ID] = ledger.HoldRow{Hold: h, Left: h.Amount, State: ledger.HoldOpen}
	}
	for _, c := range tx.Count {
		sum := new(big.Int).Add(big.NewInt(m.counts[c.Key]), big.NewInt(c.Delta))
		if c.Delta >= 0 && sum.Cmp(big.NewInt(c.Max)) > 0 {
			return m, "limit"
		}
		if !sum.IsInt64() {
			return m, "overflow"
		}
		n.counts[c.Key] = sum.Int64()
	}
	reopened := map[ledger.Key]bool{}
	for _, o := range tx.Open {
		p := n.purse(o.Key)
		p.closed = o.Closed
		p.floor = big.NewInt(o.Floor)
		if o.Floor == math.MinInt64 {
			p.floor = nil
		}
		n.balances[o.Key] = p
		reopened[o.Key] = !o.Closed
		touched[o.Key] = touched[o.Key] || false
	}
	keys := slices.SortedFunc(maps.Keys(touched), func(a, b ledger.Key) int {
		if a.Account != b.Account {
			return strings.Compare(string(a.Account), string(b.Account))
		}
		return strings.Compare(string(a.Asset), string(b.Asset))
	})
	for _, k := range keys {
		p := n.balances[k]
		if m.purse(k).closed && touched[k] && !reopened[k] {
			return m, "account_closed"
		}
		free := new(big.Int).Sub(p.posted, p.held)
		if !p.posted.IsInt64() || !p.held.IsInt64() || !free.IsInt64() {
			return m, "overflow"
		}
		if p.floor != nil && free.Cmp(p.floor) < 0 { // the model is never below a floor before
			return m, "insufficient_balance"
		}
		p.version++
		n.balances[k] = p
	}
	return n, "ok"
}

// rows are the model's balances as the ledger would show them.
func (m *model) rows(keys []ledger.Key) []ledger.Balance {
	var out []ledger.Balance
	for _, k := range keys {
		p := m.purse(k)
		b := ledger.Balance{Key: k, Posted: p.posted.Int64(), Held: p.held.Int64(), Floor: math.MinInt64, Version: p.version, Closed: p.closed}
		if p.floor != nil {
			b.Floor = p.floor.Int64()
		}
		out = append(out, b)
	}
	return out
}

// keys names all that the model knows.
func (m *model) keys() ledger.KeySet {
	var ks ledger.KeySet
	ks.Balances = slices.SortedFunc(maps.Keys(m.balances), func(a, b ledger.Key) int {
		if a.Account != b.Account {
			return strings.Compare(string(a.Account), string(b.Account))
		}
		return strings.Compare(string(a.Asset), string(b.Asset))
	})
	ks.Holds = slices.Sorted(maps.Keys(m.holds))
	ks.Docs = slices.Sorted(maps.Keys(m.docs))
	ks.Counts = slices.Sorted(maps.Keys(m.counts))
	return ks
}

// state is the model as a State.
func (m *model) state() ledger.State {
	ks := m.keys()
	s := ledger.State{Balances: m.rows(ks.Balances)}
	for _, id := range ks.Holds {
		s.Holds = append(s.Holds, m.holds[id])
	}
	for _, k := range ks.Docs {
		s.Docs = append(s.Docs, ledger.DocRow{Key: k, Doc: m.docs[k]})
	}
	for _, k := range ks.Counts {
		s.Counts = append(s.Counts, ledger.CountRow{Key: k, Value: m.counts[k]})
	}
	return s
}
