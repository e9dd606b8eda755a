package ledger

import (
	"math"
	"math/bits"
)

// int128 is a two's complement sum. Adding int64s cannot overflow it before
// 2^63 of them.
type int128 struct {
	hi int64
	lo uint64
}

func wide(n int64) int128 { return int128{n >> 63, uint64(n)} }

func (a int128) add(b int128) int128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(uint64(a.hi), uint64(b.hi), carry)
	return int128{int64(hi), lo}
}

func (a int128) sub(b int128) int128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(uint64(a.hi), uint64(b.hi), borrow)
	return int128{int64(hi), lo}
}

func (a int128) less(b int128) bool {
	if a.hi != b.hi {
		return a.hi < b.hi
	}
	return a.lo < b.lo
}

// narrow is a as an int64, if it fits.
func (a int128) narrow() (int64, bool) {
	n := int64(a.lo)
	return n, a.hi == n>>63
}

// clamp is the int64 nearest to a.
func (a int128) clamp() int64 {
	if n, ok := a.narrow(); ok {
		return n
	}
	if a.hi < 0 {
		return math.MinInt64
	}
	return math.MaxInt64
}
