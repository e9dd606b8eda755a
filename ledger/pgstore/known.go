package pgstore

import (
	"sync"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// known are keys whose rows are committed. Those are never deleted, so nothing
// has to make sure of them again. Holds are not worth it: most are read twice.
type known struct {
	mu       sync.Mutex
	balances map[ledger.Key]struct{}
	docs     map[ledger.DocKey]struct{}
	counts   map[string]struct{}
}

// maxKnown bounds each kind; beyond it all are forgotten.
const maxKnown = 1 << 14

// without leaves those keys that may have no row.
func (n *known) without(ks *ledger.KeySet) ledger.KeySet {
	n.mu.Lock()
	defer n.mu.Unlock()
	return ledger.KeySet{
		Balances: unknownOf(n.balances, ks.Balances), Holds: ks.Holds,
		Docs: unknownOf(n.docs, ks.Docs), Counts: unknownOf(n.counts, ks.Counts),
	}
}

func unknownOf[K comparable](have map[K]struct{}, keys []K) (rest []K) {
	for _, k := range keys {
		if _, ok := have[k]; !ok {
			rest = append(rest, k)
		}
	}
	return rest
}

// learn notes the rows of v that somebody has committed. false: some of ks have
// no row at all, because somebody has emptied the tables; all is forgotten.
func (n *known) learn(v *view, ks *ledger.KeySet) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	whole := noteRows(&n.balances, ks.Balances, v.balances, func(r *row[ledger.Balance]) bool { return r.v.Version > 0 })
	whole = noteRows(&n.docs, ks.Docs, v.docs, func(r *row[ledger.Doc]) bool { return r.stamp > 0 }) && whole
	whole = noteRows(&n.counts, ks.Counts, v.counts, func(r *row[int64]) bool { return r.stamp > 0 }) && whole
	if !whole {
		n.balances, n.docs, n.counts = nil, nil, nil
	}
	return whole
}

func noteRows[K comparable, T any](have *map[K]struct{}, keys []K, rows map[K]row[T], committed func(*row[T]) bool) bool {
	if *have == nil || len(*have) > maxKnown {
		*have = map[K]struct{}{}
	}
	for _, k := range keys {
		r, ok := rows[k]
		if !ok {
			return false
		}
		if committed(&r) {
			(*have)[k] = struct{}{}
		}
	}
	return true
}
