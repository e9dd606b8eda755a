package fair_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse/fair"
)

// chi2Limit is about the 1 - 1e-6 quantile of χ² with k degrees of freedom
// (Wilson–Hilferty). Seeds are fixed, so a test that passes goes on passing.
func chi2Limit(k int) float64 {
	d := 2 / (9 * float64(k))
	return float64(k) * math.Pow(1-d+4.7534*math.Sqrt(d), 3)
}

func chi2(counts []int, expected func(i int) float64) float64 {
	sum := 0.0
	for i, c := range counts {
		d := float64(c) - expected(i)
		sum += d * d / expected(i)
	}
	return sum
}

func TestUniformAcceptsExactlyTheWordsBelowTheGreatestMultiple(t *testing.T) {
	// All words near every border: accepted iff below 2^64 - (2^64 mod n).
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Min(1).Draw(t, "n")
		rem := (math.MaxUint64%n + 1) % n // 2^64 mod n
		border := -rem                    // 2^64 - rem, 0 meaning 2^64
		x := border + uint64(rapid.Int64Range(-3, 3).Draw(t, "delta"))
		s := &script{words: []uint64{x, 0}}
		got := fair.Uniform(s, n)
		rejected := rem != 0 && x >= border
		if rejected != (s.used == 2) {
			t.Fatalf("n=%d word=%d: %d words used", n, x, s.used)
		}
		if !rejected && got != x%n || rejected && got != 0 {
			t.Fatalf("n=%d word=%d: got %d", n, x, got)
		}
	})
}

// With n just above 2^63 nearly half of the words are rejected; the rest hit
// each residue once.
func TestUniformRejectsUntilAWordFits(t *testing.T) {
	const n = 1<<63 + 1
	s := &script{words: []uint64{math.MaxUint64, n, n + 5, 1 << 63, 7}}
	require.Equal(t, uint64(1<<63), fair.Uniform(s, n))
	require.Equal(t, 4, s.used)
}

// Enumeration of a scaled-down word: the same rule with 8-bit words gives each
// result equally often, which the 64-bit rule of the package must share at its
// borders (see above).
func TestEveryResidueHasTheSameNumberOfAcceptedWords(t *testing.T) {
	for n := uint64(1); n <= 9; n++ {
		// The 3n words around the border of acceptance and the 3n lowest.
		rem := (math.MaxUint64%n + 1) % n
		counts := make([]int, n)
		for k := uint64(0); k < 3*n; k++ {
			for _, x := range []uint64{k, -rem - 1 - k} {
				s := &script{words: []uint64{x}}
				counts[fair.Uniform(s, n)]++
				require.Equal(t, 1, s.used)
			}
		}
		for _, c := range counts {
			require.Equal(t, 6, c, "n=%d", n)
		}
		for k := uint64(0); k < rem; k++ {
			s := &script{words: []uint64{math.MaxUint64 - k, 0}}
			fair.Uniform(s, n)
			require.Equal(t, 2, s.used)
		}
	}
}

func TestRollIsUniformPlusOne(t *testing.T) {
	require.EqualValues(t, 1, fair.Roll(&script{words: []uint64{0}}, 10))
	require.EqualValues(t, 10, fair.Roll(&script{words: []uint64{9}}, 10))
	require.EqualValues(t, 1, fair.Roll(&script{words: []uint64{10}}, 10))
}

// every calls f once for each sequence of draws of a Fisher–Yates of n.
func every(n int, f func(words []uint64)) {
	words := make([]uint64, max(n-1, 0))
	var rec func(k int)
	rec = func(k int) {
		if k == len(words) {
			f(slices.Clone(words))
			return
		}
		for w := range uint64(n - k) {
			words[k] = w
			rec(k + 1)
		}
	}
	rec(0)
}

func TestShuffleReachesEveryPermutationExactlyOnce(t *testing.T) {
	factorial := 1
	for n := range 7 {
		factorial *= max(n, 1)
		seen := map[string]int{}
		every(n, func(words []uint64) {
			s := &script{words: words}
			seen[fmt.Sprint(fair.Perm(s, n))]++
			require.Equal(t, len(words), s.used)
		})
		require.Len(t, seen, factorial, "n=%d", n)
		for p, c := range seen {
			require.Equal(t, 1, c, p)
		}
	}
}

func TestSampleReachesEveryArrangementEquallyOften(t *testing.T) {
	for n := range 6 {
		for k := 0; k <= n; k++ {
			arrangements, repeats := 1, 1
			for i := range k {
				arrangements *= n - i
			}
			for i := 2; i <= n-k; i++ {
				repeats *= i
			}
			seen := map[string]int{}
			every(n, func(words []uint64) { seen[fmt.Sprint(fair.Sample(&script{words: words}, n, k))]++ })
			require.Len(t, seen, arrangements, "n=%d k=%d", n, k)
			for p, c := range seen {
				require.Equal(t, repeats, c, p)
			}
		}
	}
}

func TestSampleIsTheReversedTailOfPerm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 60).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		seed := rapid.Uint64().Draw(t, "seed")
		perm := fair.Perm(rand.NewPCG(seed, 1), n)
		tail := slices.Clone(perm[n-k:])
		slices.Reverse(tail)
		if got := fair.Sample(rand.NewPCG(seed, 1), n, k); !slices.Equal(got, tail) {
			t.Fatalf("sample %v, tail %v", got, tail)
		}
	})
}

func TestShuffleCallsSwapFromTheTopAlsoWithItself(t *testing.T) {
	var calls [][2]int
	fair.Shuffle(&script{words: []uint64{3, 0, 1}}, 4, func(i, j int) { calls = append(calls, [2]int{i, j}) })
	require.Equal(t, [][2]int{{3, 3}, {2, 0}, {1, 1}}, calls)
}

func TestImpossibleDrawsPanic(t *testing.T) {
	w := rand.NewPCG(1, 2)
	s := root(t).Stream("x", 0, 0)
	for what, f := range map[string]func(){
		"Uniform of 0":          func() { fair.Uniform(w, 0) },
		"Roll of 0":             func() { fair.Roll(w, 0) },
		"Stream.Uniform of 0":   func() { s.Uniform(0) },
		"Stream.Roll of 0":      func() { s.Roll(0) },
		"Shuffle of -1":         func() { fair.Shuffle(w, -1, func(_, _ int) {}) },
		"Perm of -1":            func() { fair.Perm(w, -1) },
		"Sample of more":        func() { fair.Sample(w, 3, 4) },
		"Sample of less than 0": func() { fair.Sample(w, 3, -1) },
		"label of 24 bytes":     func() { root(t).Stream("123456789012345678901234", 0, 0) },
		"label not UTF-8":       func() { root(t).At("\xff", 0, 0) },
		"short secret":          func() { fair.NewKeyring(make([]byte, 15)) },
		"period of 0":           func() { fair.Drand{}.RoundAt(at(0)) },
		"period of 0, time":     func() { _, _ = fair.Drand{}.TimeOf(1) },
	} {
		require.Panics(t, f, what)
	}
	require.NotPanics(t, func() { root(t).Stream("12345678901234567890123", 0, 0); fair.NewKeyring(make([]byte, 16)) })
}

func TestStreamsAreUniformOnFixedSeeds(t *testing.T) {
	const draws = 20_000
	r := root(t)
	for _, n := range []int{2, 3, 10, 37, 100} {
		path, stream := make([]int, n), make([]int, n)
		s := r.Stream("one stream", uint64(n), 0)
		for i := range draws {
			p := r.Stream("many paths", uint64(n), uint64(i))
			path[p.Uniform(uint64(n))]++
			stream[s.Uniform(uint64(n))]++
		}
		expect := func(int) float64 { return float64(draws) / float64(n) }
		require.Less(t, chi2(path, expect), chi2Limit(n-1), "paths, n=%d", n)
		require.Less(t, chi2(stream, expect), chi2Limit(n-1), "stream, n=%d", n)
	}
}

func TestEachBitOfAWordIsBalancedOnAFixedSeed(t *testing.T) {
	const draws = 20_000
	s := root(t).Stream("bits", 0, 0)
	var ones [64]int
	for range draws {
		for w := s.Uint64(); w != 0; w &= w - 1 {
			ones[bits.TrailingZeros64(w)]++
		}
	}
	for bit, c := range ones {
		require.InDelta(t, draws/2, c, 5*math.Sqrt(draws)/2, "bit %d", bit)
	}
}

func TestSimulationGivesTheWordsOfItsSourceInOrder(t *testing.T) {
	want := rand.NewPCG(7, 9)
	sim := fair.Simulation(rand.NewPCG(7, 9))
	for i := range uint64(10) {
		require.Equal(t, want.Uint64(), sim.At("any", i, 0).Uint64())
	}
}

func ExampleUniform() {
	// 2^64 mod 3 is 1: the greatest word is dropped.
	w := &script{words: []uint64{math.MaxUint64, 4}}
	fmt.Println(fair.Uniform(w, 3), "after", w.used, "words")
	// Output: 1 after 2 words
}

func ExampleSample() {
	deck := []string{"4d", "4s", "4h", "4c", "5d", "5s", "5h", "5c"}
	for _, i := range fair.Sample(rand.NewPCG(1, 2), len(deck), 3) {
		fmt.Print(deck[i], " ")
	}
	// Output: 4d 5s 5c
}
