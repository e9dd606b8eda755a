package ledger

import (
	"slices"
	"strings"
)

// View is the state that a Tx is judged against: at least the rows of its
// [KeySet], all of one moment. What does not exist is a Balance with the
// account's own floor, a HoldRow with State 0, a Doc with Version 0, a counter
// of 0. [State] is a View that stores can fill. The bytes of what a View
// returns are read-only.
type View interface {
	Receipt(id string) (Receipt, bool)
	Balance(Key) Balance
	Hold(id string) HoldRow
	Doc(DocKey) Doc
	Counter(key string) int64
}

// Change is what a store must persist for an accepted Tx, in one commit: the
// journal entry of Tx, Receipt under its id, and as new rows Receipt.Balances,
// Receipt.Counts, Holds and Docs (each sorted by key). If Receipt.Replayed is
// true the Tx had been accepted before: persist nothing (Tx is nil then).
type Change struct {
	Tx      *Tx
	Receipt Receipt
	Holds   []HoldRow
	Docs    []DocRow
}

// Apply judges tx against v at the time at. It is pure: no clock, no I/O, no
// randomness; the same arguments give the same answer in every store and at
// the auditor's. The Change shares its bytes with tx.
//
// Errors: [ErrInvalid], [ErrKeyReused], [ErrConflict], [ErrSealed], [ErrHold],
// [ErrExpired], [ErrLimit], [ErrClosed], [ErrOverflow], [ErrFunds].
func Apply(v View, tx Tx, at int64) (Change, error) {
	ks, err := prepare(&tx, nil)
	if err != nil {
		return Change{}, err
	}
	return apply(v, &tx, &ks, Digest(tx), at)
}

// apply judges a prepared tx. Each part is judged in order of its keys, so the
// error does not depend on the order of the slices either.
func apply(v View, tx *Tx, ks *KeySet, digest [32]byte, at int64) (Change, error) {
	if r, ok := v.Receipt(tx.ID); ok {
		if r.Digest != digest {
			return Change{}, ErrKeyReused{tx.ID}
		}
		r.Replayed = true
		return Change{Receipt: r}, nil
	}
	s := step{v: v, tx: tx, ks: ks, at: at, c: Change{Tx: tx, Receipt: Receipt{ID: tx.ID, At: at, Digest: digest}}}
	// The effects are no field of step: what a step points to ends in errors
	// and receipts, so the compiler would put them on the heap.
	var few [4]effect
	net := few[:]
	if n := len(ks.Balances); n <= len(few) {
		net = net[:n]
	} else {
		net = make([]effect, n)
	}
	if err := s.run(net); err != nil {
		return Change{}, err
	}
	return s.c, nil
}

// effect is what a Tx does to one balance.
type effect struct {
	posted, held int128
	moves        bool // anything but giving a hold back
}

// effects are parallel to KeySet.Balances.
type effects []effect

type step struct {
	v  View
	tx *Tx
	ks *KeySet
	at int64
	c  Change
}

func (s *step) run(net effects) error {
	if err := s.require(); err != nil {
		return err
	}
	if err := s.docs(); err != nil {
		return err
	}
	if err := s.closes(net); err != nil {
		return err
	}
	for i := range s.tx.Post {
		p := &s.tx.Post[i]
		net.move(s.ks, p.From, p.To, p.Asset, p.Amount)
	}
	if err := s.holds(net); err != nil {
		return err
	}
	if err := s.counts(); err != nil {
		return err
	}
	return s.balances(net)
}

func (net effects) on(ks *KeySet, k Key) *effect {
	i, _ := slices.BinarySearchFunc(ks.Balances, k, compareKeys)
	return &net[i]
}

func (net effects) move(ks *KeySet, from, to AccountID, asset Asset, amount int64) {
	n := wide(amount)
	f, t := net.on(ks, Key{from, asset}), net.on(ks, Key{to, asset})
	f.posted, f.moves = f.posted.sub(n), true
	t.posted, t.moves = t.posted.add(n), true
}

// order lists the indexes of s by key.
func order[T any, S ~string](s []T, key func(*T) S) []int {
	idx := make([]int, len(s))
	for i := range idx {
		idx[i] = i
	}
	if len(s) > 1 {
		slices.SortFunc(idx, func(a, b int) int {
			return strings.Compare(string(key(&s[a])), string(key(&s[b])))
		})
	}
	return idx
}

func (s *step) require() error {
	if len(s.tx.Require) == 0 {
		return nil
	}
	for _, i := range order(s.tx.Require, func(r *Require) DocKey { return r.Key }) {
		r := &s.tx.Require[i]
		d := s.v.Doc(r.Key)
		if d.Version != r.Version || r.Status != "" && d.Status != r.Status {
			return ErrConflict{r.Key, r.Version, d.Version, r.Status, d.Status}
		}
	}
	return nil
}

func (s *step) docs() error {
	if len(s.tx.Docs) == 0 {
		return nil
	}
	s.c.Docs = make([]DocRow, 0, len(s.tx.Docs))
	s.c.Receipt.Docs = make([]DocVersion, 0, len(s.tx.Docs))
	for _, i := range order(s.tx.Docs, func(d *DocWrite) DocKey { return d.Key }) {
		w := &s.tx.Docs[i]
		d := s.v.Doc(w.Key)
		if d.Sealed {
			return ErrSealed{DocRow{w.Key, d.clone()}}
		}
		if d.Version != w.IfVersion || w.IfStatus != "" && d.Status != w.IfStatus {
			return ErrConflict{w.Key, w.IfVersion, d.Version, w.IfStatus, d.Status}
		}
		s.c.Docs = append(s.c.Docs, DocRow{w.Key, Doc{Version: d.Version + 1, Status: w.Status, Body: w.Body, Sealed: w.Seal, Updated: s.at}})
		s.c.Receipt.Docs = append(s.c.Receipt.Docs, DocVersion{w.Key, d.Version + 1})
	}
	return nil
}

func (s *step) closes(net effects) error {
	if len(s.tx.Close) == 0 {
		return nil
	}
	for _, i := range order(s.tx.Close, func(c *Close) string { return c.Hold }) {
		c := &s.tx.Close[i]
		h := s.v.Hold(c.Hold)
		if h.State != HoldOpen {
			return ErrHold{c.Hold, h.State, "not open"}
		}
		if (Key{h.From, h.Asset}) != c.Key {
			return ErrHold{c.Hold, h.State, "lies on another key"}
		}
		if !c.Void && expired(h.ExpiresAt, s.at) {
			return ErrExpired{c.Hold, h.ExpiresAt}
		}
		var sum int128
		for j := range c.Take {
			sum = sum.add(wide(c.Take[j].Amount))
		}
		taken, fits := sum.narrow()
		if !fits || taken > h.Left {
			return ErrHold{c.Hold, h.State, "less is left than is taken"}
		}
		released := h.Left
		switch {
		case c.Void:
			h.State = HoldVoided
		case c.Keep && taken < h.Left:
			released = taken
		default:
			h.State = HoldCaptured
		}
		h.Left -= released
		e := net.on(s.ks, c.Key)
		e.held = e.held.sub(wide(released))
		for j := range c.Take {
			net.move(s.ks, c.Key.Account, c.Take[j].To, c.Key.Asset, c.Take[j].Amount)
		}
		s.c.Holds = append(s.c.Holds, h)
	}
	return nil
}

func expired(expiresAt, at int64) bool { return expiresAt != 0 && at >= expiresAt }

func (s *step) holds(net effects) error {
	if len(s.tx.Hold) == 0 {
		return nil
	}
	for _, i := range order(s.tx.Hold, func(h *Hold) string { return h.ID }) {
		h := s.tx.Hold[i]
		if old := s.v.Hold(h.ID); old.State != 0 {
			return ErrHold{h.ID, old.State, "exists already"}
		}
		if expired(h.ExpiresAt, s.at) {
			return ErrExpired{h.ID, h.ExpiresAt}
		}
		e := net.on(s.ks, Key{h.From, h.Asset})
		e.held, e.moves = e.held.add(wide(h.Amount)), true
		s.c.Holds = append(s.c.Holds, HoldRow{Hold: h, Left: h.Amount, State: HoldOpen})
	}
	slices.SortFunc(s.c.Holds, func(a, b HoldRow) int { return strings.Compare(a.ID, b.ID) })
	return nil
}

func (s *step) counts() error {
	if len(s.tx.Count) == 0 {
		return nil
	}
	s.c.Receipt.Counts = make([]CountRow, 0, len(s.tx.Count))
	for _, i := range order(s.tx.Count, func(c *Count) string { return c.Key }) {
		c := &s.tx.Count[i]
		sum := wide(s.v.Counter(c.Key)).add(wide(c.Delta))
		// The limit is judged first: a counter that may not pass Max is
		// refused as such even where it would also leave int64.
		if c.Delta >= 0 && wide(c.Max).less(sum) {
			return ErrLimit{c.Key, c.Max}
		}
		n, ok := sum.narrow()
		if !ok {
			return ErrOverflow{"counter " + c.Key}
		}
		s.c.Receipt.Counts = append(s.c.Receipt.Counts, CountRow{c.Key, n})
	}
	return nil
}

func (s *step) balances(net effects) error {
	if len(net) == 0 {
		return nil
	}
	out := make([]Balance, len(net))
	for i := range net {
		k, e := s.ks.Balances[i], &net[i]
		b := s.v.Balance(k)
		b.Key = k
		before, floor, closed := wide(b.Posted).sub(wide(b.Held)), b.Floor, b.Closed
		for j := range s.tx.Open {
			if o := &s.tx.Open[j]; o.Key == k {
				closed = closed && o.Closed // reopening works at once, closing from the next Tx on
				b.Floor, b.Closed = o.Floor, o.Closed
			}
		}
		if closed && e.moves {
			return ErrClosed{k}
		}
		posted, held := wide(b.Posted).add(e.posted), wide(b.Held).add(e.held)
		after := posted.sub(held)
		var okP, okH bool
		b.Posted, okP = posted.narrow()
		b.Held, okH = held.narrow()
		// Floor 0 is the more telling answer where both are true, but an
		// amount that is out of range is no amount to compare.
		if _, okA := after.narrow(); !okP || !okH || !okA {
			return ErrOverflow{"balance of " + string(k.Asset) + " in " + string(k.Account)}
		}
		missing := wide(b.Floor).sub(after)
		if (int128{}).less(missing) && wide(floor).sub(before).less(missing) {
			return ErrFunds{Key: k, Need: before.sub(after).clamp(), Have: before.sub(wide(b.Floor)).clamp()}
		}
		b.Version++
		out[i] = b
	}
	s.c.Receipt.Balances = out
	return nil
}

// defaultFloor is the floor of an account without an Open.
func defaultFloor(a AccountID) int64 {
	first, _, _ := strings.Cut(string(a), ":")
	if first == "world" || first == "house" {
		return Unbounded
	}
	return 0
}
