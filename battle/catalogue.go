package battle

import (
	"cmp"
	"fmt"
	"slices"
)

// Catalogue is the list of items from which the house compensates winners, prepared for Settle. It is immutable and
// safe for concurrent use. A nil *Catalogue is an empty one.
type Catalogue struct {
	values []int64 // the different values above 0, descending
	index  []int   // where each of them stands in the catalogue for the first time
}

// NewCatalogue prepares the items with these values (cents, 0..MaxCents), in catalogue order; the order decides
// between equal values. Items worth 0 are never given out. A value out of range is an error. The slice is not kept.
func NewCatalogue(values []int64) (*Catalogue, error) {
	order := make([]int, 0, len(values))
	for i, v := range values {
		if v < 0 || v > MaxCents {
			return nil, fmt.Errorf("battle: catalogue item %d: value %d out of 0..%d", i, v, int64(MaxCents))
		}
		if v > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	c := new(Catalogue)
	for _, i := range order {
		if n := len(c.values); n > 0 && c.values[n-1] == values[i] {
			continue // an equal one stands before it and can be given out again and again
		}
		c.values = append(c.values, values[i])
		c.index = append(c.index, i)
	}
	return c, nil
}

// grant is a number of copies of one catalogue item for one winner.
type grant struct {
	winner, entry, copies int
}

// maxAdded is how many items the source adds for one winner at most.
const maxAdded = 200

// fill appends the grants that bring a winner up by deficit cents: always the largest item that still fits, at most
// 200 in all. The source first drops the items above deficit + 1000, which changes nothing: none of them could fit.
// The second result is the deficit left, the third tells whether the limit kept out an item that would have fitted.
func (c *Catalogue) fill(grants []grant, winner int, deficit int64) ([]grant, int64, bool) {
	if c == nil {
		return grants, deficit, false
	}
	left := int64(maxAdded)
	for i := c.fitting(deficit, 0); i < len(c.values); i = c.fitting(deficit, i) {
		if left == 0 {
			return grants, deficit, true
		}
		copies := min(deficit/c.values[i], left)
		grants = append(grants, grant{winner, i, int(copies)})
		deficit -= copies * c.values[i]
		left -= copies
	}
	return grants, deficit, false
}

// fitting is the first entry from i on that is worth at most limit, len(c.values) if there is none. It is written out
// because it is where a large catalogue spends its time.
func (c *Catalogue) fitting(limit int64, i int) int {
	j := len(c.values)
	for i < j {
		mid := int(uint(i+j) >> 1)
		if c.values[mid] > limit {
			i = mid + 1
		} else {
			j = mid
		}
	}
	return i
}
