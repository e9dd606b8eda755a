package fair

import (
	"fmt"
	"math/rand/v2"
)

// Words is an endless supply of independent uniform 64-bit words. Every
// math/rand/v2.Source is one, and so is a *[Stream].
type Words interface{ Uint64() uint64 }

// Source gives an independent supply of words for each named draw. A name is a
// path: a label and two numbers, whose meaning is the caller's (round and seat,
// hand and position). A recorded game never uses one path twice.
type Source interface {
	At(label string, i, j uint64) Words
}

// Uniform returns a number in [0, n), each with exactly the same probability:
// with t = 2^64 mod n, words of 2^64-t and above are rejected, the first word
// below is reduced mod n. It panics if n is 0.
func Uniform(w Words, n uint64) uint64 {
	if n == 0 {
		panic("fair: Uniform of 0")
	}
	for {
		if x := w.Uint64(); accept(x, n) {
			return x % n
		}
	}
}

// accept tells whether the word x may be reduced mod n. The common case needs
// no division: t < n, so every word below 2^64-n is below 2^64-t too. t = 0
// (n a power of two) means that no word is rejected.
func accept(x, n uint64) bool {
	if x < -n {
		return true
	}
	t := -n % n
	return t == 0 || x < -t
}

// Roll returns a number in 1..max, which is Uniform(w, max) + 1. It panics if
// max is 0.
func Roll(w Words, max uint64) uint64 { return Uniform(w, max) + 1 }

// Shuffle permutes n elements by Fisher–Yates from the top: for i = n-1 down to
// 1 it swaps i with Uniform(i+1). It panics if n is negative.
func Shuffle(w Words, n int, swap func(i, j int)) {
	if n < 0 {
		panic(fmt.Sprintf("fair: Shuffle of %d elements", n))
	}
	for i := n - 1; i >= 1; i-- {
		swap(i, int(Uniform(w, uint64(i)+1)))
	}
}

// Perm returns a shuffled list of 0..n-1. It panics if n is negative.
func Perm(w Words, n int) []int {
	p := identity(n)
	Shuffle(w, n, func(i, j int) { p[i], p[j] = p[j], p[i] })
	return p
}

// Sample returns k different numbers of 0..n-1: the first k steps of the
// Fisher–Yates shuffle, taken from the top, so that Sample(w, n, k) is the
// reversed tail of Perm with the same words. It panics unless 0 ≤ k ≤ n.
func Sample(w Words, n, k int) []int {
	if k < 0 || k > n {
		panic(fmt.Sprintf("fair: Sample of %d out of %d", k, n))
	}
	p := identity(n)
	out := make([]int, 0, k)
	for i := n - 1; i >= n-k; i-- {
		// The last element that is left has only itself to change with: no
		// word is drawn for it, as in Shuffle.
		if i > 0 {
			j := int(Uniform(w, uint64(i)+1))
			p[i], p[j] = p[j], p[i]
		}
		out = append(out, p[i])
	}
	return out
}

func identity(n int) []int {
	if n < 0 {
		panic(fmt.Sprintf("fair: permutation of %d elements", n))
	}
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	return p
}

// Simulation turns any math/rand/v2 source into a [Source] for expected-value
// runs. Paths are ignored: words come in the order they are asked for. It can
// never produce a proof, is as unpredictable as src, and is as safe for
// concurrent use as src.
func Simulation(src rand.Source) Source { return simulation{src} }

type simulation struct{ src rand.Source }

func (s simulation) At(string, uint64, uint64) Words { return s.src }
