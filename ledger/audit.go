package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Finding is a broken invariant. Code is one of
//
//   - "order": a list of the State is not sorted or names something twice;
//   - "unbalanced": the balances of an asset do not add up to 0;
//   - "held": a balance's Held is not the sum of its open holds;
//   - "floor": less than the floor is available;
//   - "hold": a hold holds more than its amount, is closed and holds any, or is
//     neither open nor closed;
//   - "document": a listed document has version 0;
//   - "escrow": a sealed document's escrow is not empty.
//
// Subject names the row, Detail says what is wrong with it, for people.
type Finding struct{ Code, Subject, Detail string }

// Audit checks the books: nil means that every invariant of a State holds. A
// State must be whole (from [Replay], or all rows of a store). That versions
// went up one by one, that no hold closed twice and that the hashes chain is
// in the journal: Replay checks it.
func Audit(s State) []Finding {
	a := audit{s: &s}
	a.order()
	a.assets()
	a.balances()
	a.holds()
	a.docs()
	return a.found
}

type audit struct {
	s     *State
	found []Finding
}

func (a *audit) add(code, subject, detail string) {
	a.found = append(a.found, Finding{code, subject, detail})
}

func (k Key) text() string { return string(k.Account) + " " + string(k.Asset) }

func (a *audit) order() {
	// The other checks rely on it, and a row listed twice is counted twice.
	ascending(a, "balances", a.s.Balances, func(x, y *Balance) int { return compareKeys(x.Key, y.Key) })
	ascending(a, "holds", a.s.Holds, func(x, y *HoldRow) int { return strings.Compare(x.ID, y.ID) })
	ascending(a, "docs", a.s.Docs, func(x, y *DocRow) int { return cmp.Compare(x.Key, y.Key) })
	ascending(a, "counts", a.s.Counts, func(x, y *CountRow) int { return strings.Compare(x.Key, y.Key) })
	ascending(a, "receipts", a.s.Receipts, func(x, y *Receipt) int { return strings.Compare(x.ID, y.ID) })
}

func ascending[T any](a *audit, name string, rows []T, compare func(x, y *T) int) {
	for i := 1; i < len(rows); i++ {
		if compare(&rows[i-1], &rows[i]) >= 0 {
			a.add("order", at(name, i, ""), "not after the row before")
		}
	}
}

func (a *audit) assets() {
	type amount struct {
		asset  Asset
		posted int64
	}
	all := make([]amount, len(a.s.Balances))
	for i := range a.s.Balances {
		all[i] = amount{a.s.Balances[i].Key.Asset, a.s.Balances[i].Posted}
	}
	slices.SortFunc(all, func(x, y amount) int { return cmp.Compare(x.asset, y.asset) })
	var sum int128
	for i := range all {
		sum = sum.add(wide(all[i].posted))
		if i+1 < len(all) && all[i+1].asset == all[i].asset {
			continue
		}
		if sum != (int128{}) {
			a.add("unbalanced", string(all[i].asset), fmt.Sprintf("balances add up to %d", sum.clamp()))
		}
		sum = int128{}
	}
}

func (a *audit) balances() {
	open := make([]HoldRow, 0, len(a.s.Holds))
	for i := range a.s.Holds {
		if a.s.Holds[i].State == HoldOpen {
			open = append(open, a.s.Holds[i])
		}
	}
	key := func(h *HoldRow) Key { return Key{h.From, h.Asset} }
	slices.SortFunc(open, func(x, y HoldRow) int { return compareKeys(key(&x), key(&y)) })
	held := func(k Key) (sum int128) { // takes the holds up to and on k
		for ; len(open) > 0 && compareKeys(key(&open[0]), k) < 0; open = open[1:] {
			a.add("held", key(&open[0]).text(), "hold "+open[0].ID+" lies on no balance")
		}
		for ; len(open) > 0 && key(&open[0]) == k; open = open[1:] {
			sum = sum.add(wide(open[0].Left))
		}
		return sum
	}
	for i := range a.s.Balances {
		b := &a.s.Balances[i]
		if sum := held(b.Key); sum != wide(b.Held) {
			a.add("held", b.Key.text(), fmt.Sprintf("holds %d, open holds add up to %d", b.Held, sum.clamp()))
		}
		if available := wide(b.Posted).sub(wide(b.Held)); available.less(wide(b.Floor)) {
			a.add("floor", b.Key.text(), fmt.Sprintf("available %d, floor %d", available.clamp(), b.Floor))
		}
	}
	for i := range open {
		a.add("held", key(&open[i]).text(), "hold "+open[i].ID+" lies on no balance")
	}
}

func (a *audit) holds() {
	for i := range a.s.Holds {
		h := &a.s.Holds[i]
		switch {
		case h.State < HoldOpen || h.State > HoldVoided:
			a.add("hold", h.ID, "neither open nor closed")
		case h.State == HoldOpen && (h.Left < 1 || h.Left > h.Amount):
			a.add("hold", h.ID, fmt.Sprintf("open with %d left of %d", h.Left, h.Amount))
		case h.State != HoldOpen && h.Left != 0:
			a.add("hold", h.ID, fmt.Sprintf("%s with %d left", h.State, h.Left))
		}
	}
}

func (a *audit) docs() {
	for i := range a.s.Docs {
		d := &a.s.Docs[i]
		if d.Doc.Version == 0 {
			a.add("document", string(d.Key), "version 0")
		}
		if !d.Doc.Sealed {
			continue
		}
		escrow := d.Key.Escrow()
		for j, _ := searchBalance(a.s.Balances, Key{Account: escrow}); j < len(a.s.Balances) && a.s.Balances[j].Key.Account == escrow; j++ {
			if b := &a.s.Balances[j]; b.Posted != 0 || b.Held != 0 {
				a.add("escrow", string(d.Key), fmt.Sprintf("sealed with %d %s in escrow", b.Posted, b.Key.Asset))
			}
		}
	}
}
