package ledger

import (
	"slices"
	"strings"
)

// KeySet names all that a Tx reads or writes, each list sorted bytewise and
// without duplicates (Balances by account, then asset). It is known before
// the Tx runs, so a store can lock in this one order and never deadlock. ID is
// "" in a set that only reads.
type KeySet struct {
	ID       string
	Balances []Key
	Holds    []string
	Docs     []DocKey
	Counts   []string
}

// Keys lists what tx touches, its id included. It does not check tx.
func Keys(tx Tx) KeySet {
	ks := gather(&tx, nil)
	ks.Holds = slices.Compact(ks.Holds)
	ks.Docs = slices.Compact(ks.Docs)
	ks.Counts = slices.Compact(ks.Counts)
	return ks
}

// gather leaves duplicates, which a valid Tx does not have, in all lists but
// Balances.
func gather(tx *Tx, room []Key) KeySet {
	ks := KeySet{ID: tx.ID}
	n := 2*len(tx.Post) + len(tx.Hold) + len(tx.Open)
	for i := range tx.Close {
		n += 1 + len(tx.Close[i].Take)
	}
	if n > 0 {
		b := room
		if cap(b) < n {
			b = make([]Key, 0, n)
		}
		for i := range tx.Close {
			c := &tx.Close[i]
			b = append(b, c.Key)
			for j := range c.Take {
				b = append(b, Key{c.Take[j].To, c.Key.Asset})
			}
		}
		for i := range tx.Post {
			p := &tx.Post[i]
			b = append(b, Key{p.From, p.Asset}, Key{p.To, p.Asset})
		}
		for i := range tx.Hold {
			b = append(b, Key{tx.Hold[i].From, tx.Hold[i].Asset})
		}
		for i := range tx.Open {
			b = append(b, tx.Open[i].Key)
		}
		if len(b) == 2 { // a single posting, the commonest Tx
			switch c := compareKeys(b[0], b[1]); {
			case c > 0:
				b[0], b[1] = b[1], b[0]
			case c == 0:
				b = b[:1]
			}
		} else {
			slices.SortFunc(b, compareKeys)
			b = slices.Compact(b)
		}
		ks.Balances = b
	}
	if n := len(tx.Close) + len(tx.Hold); n > 0 {
		ks.Holds = make([]string, 0, n)
		for i := range tx.Close {
			ks.Holds = append(ks.Holds, tx.Close[i].Hold)
		}
		for i := range tx.Hold {
			ks.Holds = append(ks.Holds, tx.Hold[i].ID)
		}
		slices.Sort(ks.Holds)
	}
	if n := len(tx.Docs) + len(tx.Require); n > 0 {
		ks.Docs = make([]DocKey, 0, n)
		for i := range tx.Require {
			ks.Docs = append(ks.Docs, tx.Require[i].Key)
		}
		for i := range tx.Docs {
			ks.Docs = append(ks.Docs, tx.Docs[i].Key)
		}
		slices.Sort(ks.Docs)
	}
	if len(tx.Count) > 0 {
		ks.Counts = make([]string, 0, len(tx.Count))
		for i := range tx.Count {
			ks.Counts = append(ks.Counts, tx.Count[i].Key)
		}
		slices.Sort(ks.Counts)
	}
	return ks
}

func compareKeys(a, b Key) int {
	if c := strings.Compare(string(a.Account), string(b.Account)); c != 0 {
		return c
	}
	return strings.Compare(string(a.Asset), string(b.Asset))
}

func searchBalance(s []Balance, k Key) (int, bool) {
	return slices.BinarySearchFunc(s, k, func(b Balance, k Key) int { return compareKeys(b.Key, k) })
}

func searchCount(s []CountRow, k string) (int, bool) {
	return slices.BinarySearchFunc(s, k, func(c CountRow, k string) int { return strings.Compare(c.Key, k) })
}
