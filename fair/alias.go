package fair

import (
	"fmt"
	"math/bits"
)

// Alias draws from the same distribution as a [Table] in constant time, exactly,
// by other items for the same words: it is for simulation and can never
// reproduce a record.
type Alias struct {
	total uint64
	cut   []uint64 // of column k: rests below cut[k] are item k, the others item other[k]
	other []int
}

// Alias builds the alias table (Vose's method in integers: each column holds
// Total() units, each item weight × Len() of them, so nothing is rounded). It
// is [ErrOverflow] if Total() × Len() does not fit 64 bits.
func (t *Table[T]) Alias() (*Alias, error) {
	n := uint64(len(t.weight))
	if hi, _ := bits.Mul64(t.draw.total, n); hi != 0 {
		return nil, fmt.Errorf("%w: total %d times %d items passes 2^64-1", ErrOverflow, t.draw.total, n)
	}
	a := &Alias{total: t.draw.total, cut: make([]uint64, n), other: make([]int, n)}
	var small, large []int // columns below the total, and all others
	for i, w := range t.weight {
		a.cut[i], a.other[i] = w*n, i
		if a.cut[i] < t.draw.total {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 {
		// Units are conserved, so whoever lacks some finds who has them.
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		a.other[s] = l
		a.cut[l] -= t.draw.total - a.cut[s]
		if a.cut[l] < t.draw.total {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	return a, nil
}

// Pick draws an item and returns its declared index; items of weight 0 are
// never returned.
func (a *Alias) Pick(w Words) int {
	r := Uniform(w, a.total*uint64(len(a.cut)))
	column, rest := r/a.total, r%a.total
	if rest < a.cut[column] {
		return int(column)
	}
	return a.other[column]
}
