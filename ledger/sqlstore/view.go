package sqlstore

import (
	"slices"
	"strings"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// view is the rows of a key set, and what the Txs before changed of them.
type view struct {
	balances map[ledger.Key]row[ledger.Balance]
	holds    map[string]row[ledger.HoldRow]
	docs     map[ledger.DocKey]row[ledger.Doc]
	counts   map[string]row[int64]
	receipts map[string]ledger.Receipt
}

type row[T any] struct {
	v     T
	stamp int64
	dirty bool // to be written
}

func newView() *view {
	return &view{
		balances: map[ledger.Key]row[ledger.Balance]{},
		holds:    map[string]row[ledger.HoldRow]{},
		docs:     map[ledger.DocKey]row[ledger.Doc]{},
		counts:   map[string]row[int64]{},
		receipts: map[string]ledger.Receipt{},
	}
}

// none knows what the ledger says of rows that do not exist.
var none = &ledger.State{}

func (v *view) Receipt(id string) (ledger.Receipt, bool) {
	r, ok := v.receipts[id]
	return r, ok
}

func (v *view) Balance(k ledger.Key) ledger.Balance {
	if b := v.balances[k].v; b.Version > 0 {
		return b
	}
	return none.Balance(k)
}

func (v *view) Hold(id string) ledger.HoldRow  { return v.holds[id].v }
func (v *view) Doc(k ledger.DocKey) ledger.Doc { return v.docs[k].v }
func (v *view) Counter(key string) int64       { return v.counts[key].v }

// stamp is the next one for an entry of the time at with these keys.
func (v *view) stamp(ks *ledger.KeySet, at int64) int64 {
	last := at - 1
	for _, k := range ks.Balances {
		last = max(last, v.balances[k].stamp)
	}
	// A hold changes only together with the balance it lies on.
	for _, k := range ks.Docs {
		last = max(last, v.docs[k].stamp)
	}
	for _, k := range ks.Counts {
		last = max(last, v.counts[k].stamp)
	}
	return last + 1
}

// absorb takes over what an accepted Change says. With reads, documents that
// were only read are stamped, too: their next writer comes after this entry.
func (v *view) absorb(c *ledger.Change, ks *ledger.KeySet, stamp int64, reads bool) {
	for _, b := range c.Receipt.Balances {
		v.balances[b.Key] = row[ledger.Balance]{b, stamp, true}
	}
	for _, h := range c.Holds {
		v.holds[h.ID] = row[ledger.HoldRow]{h, stamp, true}
	}
	if reads {
		for _, k := range ks.Docs {
			if d := v.docs[k]; !d.v.Sealed {
				d.stamp, d.dirty = stamp, true
				v.docs[k] = d
			}
		}
	}
	for _, d := range c.Docs {
		v.docs[d.Key] = row[ledger.Doc]{d.Doc, stamp, true}
	}
	for _, n := range c.Receipt.Counts {
		v.counts[n.Key] = row[int64]{n.Value, stamp, true}
	}
	v.receipts[c.Receipt.ID] = c.Receipt
}

// union is all keys of the units, sorted; ids apart, because there are many.
func union(units []*unit) (ks ledger.KeySet, ids []string) {
	if len(units) == 1 {
		ks = units[0].ks
	}
	for _, u := range units {
		if u.ks.ID != "" {
			ids = append(ids, u.ks.ID)
		}
		if len(units) > 1 {
			ks.Balances = append(ks.Balances, u.ks.Balances...)
			ks.Holds = append(ks.Holds, u.ks.Holds...)
			ks.Docs = append(ks.Docs, u.ks.Docs...)
			ks.Counts = append(ks.Counts, u.ks.Counts...)
		}
	}
	slices.Sort(ids)
	if len(units) > 1 {
		slices.SortFunc(ks.Balances, compareKeys)
		slices.Sort(ks.Holds)
		slices.Sort(ks.Docs)
		slices.Sort(ks.Counts)
		ks.Balances, ks.Holds = slices.Compact(ks.Balances), slices.Compact(ks.Holds)
		ks.Docs, ks.Counts = slices.Compact(ks.Docs), slices.Compact(ks.Counts)
	}
	return ks, slices.Compact(ids)
}

func compareKeys(a, b ledger.Key) int {
	if c := strings.Compare(string(a.Account), string(b.Account)); c != 0 {
		return c
	}
	return strings.Compare(string(a.Asset), string(b.Asset))
}
