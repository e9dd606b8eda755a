package fair

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
)

// Entry is an item of a [Table] with its weight.
type Entry[T any] struct {
	// ID names the item, 1..128 bytes of valid UTF-8, once in a table.
	ID string
	// Weight is its share of the total; 0 makes it unreachable.
	Weight uint64
	// Item is the caller's.
	Item T
}

// Span is an item of a [Table] with the rolls it covers.
type Span[T any] struct {
	// ID names the item, 1..128 bytes of valid UTF-8, once in a table.
	ID string
	// First and Last are the rolls that it covers, both included.
	First, Last uint64
	// Item is the caller's.
	Item T
}

// Table is a weighted choice between items: integer weights with an exact sum.
// It is immutable and safe for concurrent use. Indexes are 0-based and follow
// the order in which the items were declared, whatever order they are drawn in.
type Table[T any] struct {
	ids    []string
	items  []T
	weight []uint64
	hash   Digest
	draw   drawOrder
}

// drawOrder finds items: cum[k] is the sum of the weights of the first k+1
// items in the order in which they are drawn, order[k] the declared index. Range
// tables are drawn in ascending order of range start, so that a roll means the
// same in both readings. It does not depend on the type of the items, which
// spares each search a look into a dictionary.
type drawOrder struct {
	total uint64
	cum   []uint64
	order []int
}

// NewTable builds a table of weights, drawn in the order of the entries. It
// refuses no items ([ErrNoItems]), a name that is empty, too long or not UTF-8
// ([ErrText]) or there twice ([ErrDuplicate]), a total above 2^64-1
// ([ErrOverflow]) or of 0 ([ErrZeroTotal]).
func NewTable[T any](entries ...Entry[T]) (*Table[T], error) {
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	return build(entries, order)
}

// NewRangeTable builds a table of inclusive ranges that together cover each
// roll of 1..max exactly once; they may be declared in any order. Besides the
// errors of NewTable it refuses max = 0 ([ErrZeroTotal]), an empty or reversed
// range or one outside 1..max ([ErrRange]), a gap ([ErrGap]) and an overlap
// ([ErrOverlap]), each with the item named.
func NewRangeTable[T any](max uint64, spans ...Span[T]) (*Table[T], error) {
	if max == 0 {
		return nil, fmt.Errorf("%w: max is 0", ErrZeroTotal)
	}
	entries := make([]Entry[T], len(spans))
	order := make([]int, len(spans))
	for i, s := range spans {
		if s.First == 0 || s.Last > max || s.First > s.Last {
			return nil, fmt.Errorf("%w: item %q covers %d to %d of 1 to %d", ErrRange, s.ID, s.First, s.Last, max)
		}
		entries[i] = Entry[T]{ID: s.ID, Weight: s.Last - s.First + 1, Item: s.Item}
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(spans[a].First, spans[b].First) })
	covered, last := uint64(0), ""
	for _, i := range order {
		s := spans[i]
		if s.First <= covered {
			return nil, fmt.Errorf("%w: items %q and %q both cover roll %d", ErrOverlap, last, s.ID, s.First)
		}
		if s.First != covered+1 {
			return nil, fmt.Errorf("%w: no item covers rolls %d to %d, before item %q", ErrGap, covered+1, s.First-1, s.ID)
		}
		covered, last = s.Last, s.ID
	}
	if len(spans) > 0 && covered != max {
		return nil, fmt.Errorf("%w: no item covers rolls %d to %d, after item %q", ErrGap, covered+1, max, last)
	}
	return build(entries, order)
}

func build[T any](entries []Entry[T], order []int) (*Table[T], error) {
	if len(entries) == 0 {
		return nil, ErrNoItems
	}
	t := &Table[T]{draw: drawOrder{order: order, cum: make([]uint64, 0, len(entries))}}
	seen := make(map[string]bool, len(entries))
	for i, e := range entries {
		if err := checkText(fmt.Sprintf("id of item %d", i), e.ID); err != nil {
			return nil, err
		}
		if seen[e.ID] {
			return nil, fmt.Errorf("%w: item %q", ErrDuplicate, e.ID)
		}
		seen[e.ID] = true
		t.ids = append(t.ids, e.ID)
		t.items = append(t.items, e.Item)
		t.weight = append(t.weight, e.Weight)
	}
	pre := appendLP(nil, tag+"/table")
	pre = appendU64(pre, uint64(len(entries)))
	for _, i := range order {
		e := entries[i]
		sum, carry := bits.Add64(t.draw.total, e.Weight, 0)
		if carry != 0 {
			return nil, fmt.Errorf("%w: the total at item %q passes 2^64-1", ErrOverflow, e.ID)
		}
		t.draw.total = sum
		t.draw.cum = append(t.draw.cum, sum)
		pre = appendU64(appendLP(pre, e.ID), e.Weight)
	}
	if t.draw.total == 0 {
		return nil, fmt.Errorf("%w: all %d items weigh 0", ErrZeroTotal, len(entries))
	}
	t.hash = sha256.Sum256(pre)
	return t, nil
}

// Len returns the number of items, at least 1.
func (t *Table[T]) Len() int { return len(t.ids) }

// ID returns the name of item i.
func (t *Table[T]) ID(i int) string { return t.ids[i] }

// Item returns item i.
func (t *Table[T]) Item(i int) T { return t.items[i] }

// Weight returns the weight of item i, for ranges the number of its rolls.
func (t *Table[T]) Weight(i int) uint64 { return t.weight[i] }

// Total returns the sum of the weights, at least 1; for ranges that is max.
func (t *Table[T]) Total() uint64 { return t.draw.total }

// Probability returns the exact probability of item i, a new number each time.
func (t *Table[T]) Probability(i int) *big.Rat {
	num := new(big.Int).SetUint64(t.weight[i])
	return new(big.Rat).SetFrac(num, new(big.Int).SetUint64(t.draw.total))
}

// Hash returns H_T of the scheme: SHA-256(LP(P"/table") ‖ u64(n) ‖
// Σ LP(id)‖u64(weight)) in the order in which the items are drawn. The items
// themselves are not part of it.
func (t *Table[T]) Hash() Digest { return t.hash }

// Pick draws an item: r = Uniform(w, Total()), the first item in draw order
// with r < the sum of weights up to it. It returns the declared index; an item
// of weight 0 is never returned.
func (t *Table[T]) Pick(w Words) int { return t.draw.search(Uniform(w, t.draw.total)) }

// At returns the declared index of the item for a roll of 1..Total(), which is
// the item that Pick draws with r = roll-1; -1 for a roll outside.
func (t *Table[T]) At(roll uint64) int {
	if roll == 0 || roll > t.draw.total {
		return -1
	}
	return t.draw.search(roll - 1)
}

// search returns the declared index of the first item with r < cum, r < total.
func (d *drawOrder) search(r uint64) int {
	cum := d.cum
	if len(cum) <= linear {
		for k, c := range cum {
			if r < c {
				return d.order[k]
			}
		}
	}
	// The number of sums that are ≤ r, halving without a branch that the
	// processor would have to guess.
	base, n := 0, len(cum)
	for n > 1 {
		half := n / 2
		if cum[base+half-1] <= r {
			base += half
		}
		n -= half
	}
	return d.order[base]
}

// linear is the number of items up to which a scan is at least as fast.
const linear = 48
