package ledger

import (
	"slices"
	"strings"
)

// State is the content of a ledger, or of a part of it, each list sorted by
// key: what [Replay] rebuilds and [Audit] judges. Seq and Head are the last
// entry's number and hash (zero when empty). It is also the View that a store
// can fill with the rows it has read.
type State struct {
	Seq      uint64
	Head     [32]byte
	Balances []Balance
	Holds    []HoldRow
	Docs     []DocRow
	Counts   []CountRow
	Receipts []Receipt // by id
}

// Receipt of the accepted Tx with this id.
func (s *State) Receipt(id string) (Receipt, bool) {
	i, ok := slices.BinarySearchFunc(s.Receipts, id, func(r Receipt, id string) int { return strings.Compare(r.ID, id) })
	if !ok {
		return Receipt{}, false
	}
	return s.Receipts[i], true
}

// Balance at k, zero with the account's own floor if k was never used.
func (s *State) Balance(k Key) Balance {
	if i, ok := searchBalance(s.Balances, k); ok {
		return s.Balances[i]
	}
	return Balance{Key: k, Floor: defaultFloor(k.Account)}
}

// Hold with this id; State 0 if there is none.
func (s *State) Hold(id string) HoldRow {
	i, ok := slices.BinarySearchFunc(s.Holds, id, func(h HoldRow, id string) int { return strings.Compare(h.ID, id) })
	if !ok {
		return HoldRow{}
	}
	return s.Holds[i]
}

// Doc with this key; Version 0 if there is none.
func (s *State) Doc(k DocKey) Doc {
	i, ok := slices.BinarySearchFunc(s.Docs, k, func(d DocRow, k DocKey) int { return strings.Compare(string(d.Key), string(k)) })
	if !ok {
		return Doc{}
	}
	return s.Docs[i].Doc
}

// Counter with this key; 0 if it was never moved.
func (s *State) Counter(key string) int64 {
	if i, ok := searchCount(s.Counts, key); ok {
		return s.Counts[i].Value
	}
	return 0
}
