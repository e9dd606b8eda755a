package pgstore

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
	stamp int64 // of the last Tx that saw the row
	dirty bool  // to be written
	read  bool  // only the stamp is to be written
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

// seen is the greatest stamp of the rows of ks. A hold changes only together
// with the balance it lies on.
func (v *view) seen(ks *ledger.KeySet) (last int64) {
	for _, k := range ks.Balances {
		last = max(last, v.balances[k].stamp)
	}
	for _, k := range ks.Docs {
		last = max(last, v.docs[k].stamp)
	}
	for _, k := range ks.Counts {
		last = max(last, v.counts[k].stamp)
	}
	return last
}

// absorb takes over what an accepted Change says. Documents that were only
// read are stamped, too, so that their next writer comes after this entry;
// sealed ones have no next writer.
func (v *view) absorb(c *ledger.Change, ks *ledger.KeySet, stamp int64) {
	for _, b := range c.Receipt.Balances {
		v.balances[b.Key] = row[ledger.Balance]{v: b, stamp: stamp, dirty: true}
	}
	for _, h := range c.Holds {
		v.holds[h.ID] = row[ledger.HoldRow]{v: h, stamp: stamp, dirty: true}
	}
	for _, k := range ks.Docs {
		if d := v.docs[k]; !d.v.Sealed {
			d.stamp, d.read = stamp, true
			v.docs[k] = d
		}
	}
	for _, d := range c.Docs {
		v.docs[d.Key] = row[ledger.Doc]{v: d.Doc, stamp: stamp, dirty: true}
	}
	for _, n := range c.Receipt.Counts {
		v.counts[n.Key] = row[int64]{v: n.Value, stamp: stamp, dirty: true}
	}
	v.receipts[c.Receipt.ID] = c.Receipt
}

// union is all keys of the units, sorted and once each; ids apart, because
// there are many.
func union(units []*unit) (ks ledger.KeySet, ids []string) {
	if len(units) == 1 {
		u := units[0]
		if u.ks.ID != "" {
			ids = []string{u.ks.ID}
		}
		return u.ks, ids
	}
	for _, u := range units {
		if u.ks.ID != "" {
			ids = append(ids, u.ks.ID)
		}
		ks.Balances = append(ks.Balances, u.ks.Balances...)
		ks.Holds = append(ks.Holds, u.ks.Holds...)
		ks.Docs = append(ks.Docs, u.ks.Docs...)
		ks.Counts = append(ks.Counts, u.ks.Counts...)
	}
	slices.SortFunc(ks.Balances, compareKeys)
	ks.Balances = slices.Compact(ks.Balances)
	return ledger.KeySet{Balances: ks.Balances, Holds: distinct(ks.Holds), Docs: distinct(ks.Docs), Counts: distinct(ks.Counts)}, distinct(ids)
}

func distinct[S ~string](list []S) []S {
	slices.Sort(list)
	return slices.Compact(list)
}

func compareKeys(a, b ledger.Key) int {
	if c := strings.Compare(string(a.Account), string(b.Account)); c != 0 {
		return c
	}
	return strings.Compare(string(a.Asset), string(b.Asset))
}
