package fair_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse/fair"
)

type (
	entry = fair.Entry[int]
	span  = fair.Span[int]
)

func weighted(t require.TestingT, weights ...uint64) *fair.Table[int] {
	entries := make([]entry, len(weights))
	for i, w := range weights {
		entries[i] = entry{ID: fmt.Sprint("item", i), Weight: w, Item: i}
	}
	tab, err := fair.NewTable(entries...)
	require.NoError(t, err)
	return tab
}

func TestEveryRollBelongsToTheItemOfALinearScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Uint64Range(0, 4), 1, 3*fair.MaxLinear).Draw(t, "weights")
		var byRoll []int
		for i, w := range weights {
			for range w {
				byRoll = append(byRoll, i)
			}
		}
		if len(byRoll) == 0 {
			t.Skip("zero total")
		}
		tab := weighted(t, weights...)
		if tab.Total() != uint64(len(byRoll)) || tab.Len() != len(weights) {
			t.Fatalf("total %d, len %d", tab.Total(), tab.Len())
		}
		for k, want := range byRoll {
			if got := tab.At(uint64(k) + 1); got != want || tab.Item(got) != want {
				t.Fatalf("roll %d: item %d, want %d", k+1, got, want)
			}
			if got := tab.Pick(&script{words: []uint64{uint64(k)}}); got != want {
				t.Fatalf("pick %d: item %d, want %d", k, got, want)
			}
		}
		for _, roll := range []uint64{0, tab.Total() + 1, math.MaxUint64} {
			if got := tab.At(roll); got != -1 {
				t.Fatalf("roll %d: item %d", roll, got)
			}
		}
	})
}

func TestProbabilitiesAreExactAndSumToOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Uint64Max(math.MaxUint64/50), 1, 40).Draw(t, "weights")
		weights[0]++
		tab := weighted(t, weights...)
		sum := new(big.Rat)
		for i, w := range weights {
			p := tab.Probability(i)
			// p × total = weight, without the constructor used inside.
			total, _ := new(big.Rat).SetString(fmt.Sprint(tab.Total()))
			want, _ := new(big.Rat).SetString(fmt.Sprint(w))
			if new(big.Rat).Mul(p, total).Cmp(want) != 0 || tab.Weight(i) != w {
				t.Fatalf("item %d: %v", i, p)
			}
			sum.Add(sum, p)
		}
		if sum.Cmp(big.NewRat(1, 1)) != 0 {
			t.Fatalf("sum %v", sum)
		}
	})
}

// cut splits 1..max into ranges in a random declared order.
func cut(t *rapid.T) (uint64, []span) {
	sizes := rapid.SliceOfN(rapid.Uint64Range(1, 1000), 1, 3*fair.MaxLinear).Draw(t, "sizes")
	var spans []span
	next := uint64(1)
	for i, size := range sizes {
		spans = append(spans, span{ID: fmt.Sprint("item", i), First: next, Last: next + size - 1, Item: i})
		next += size
	}
	rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0)).Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
	return next - 1, spans
}

func TestARangeTableGivesTheItemWhoseRangeCoversTheRoll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		max, spans := cut(t)
		tab, err := fair.NewRangeTable(max, spans...)
		if err != nil || tab.Total() != max {
			t.Fatal(err)
		}
		for i, s := range spans {
			for _, roll := range []uint64{s.First, s.Last} {
				if got := tab.At(roll); got != i || tab.ID(got) != s.ID || tab.Item(got) != s.Item {
					t.Fatalf("roll %d: item %d, want %d", roll, got, i)
				}
			}
			if tab.Weight(i) != s.Last-s.First+1 {
				t.Fatalf("weight of %d: %d", i, tab.Weight(i))
			}
		}
	})
}

func TestTheHashOfARangeTableDoesNotDependOnDisplayOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		max, spans := cut(t)
		shown := must(fair.NewRangeTable(max, spans...))
		slices.SortFunc(spans, func(a, b span) int { return int(a.First) - int(b.First) })
		var entries []entry
		for _, s := range spans {
			entries = append(entries, entry{ID: s.ID, Weight: s.Last - s.First + 1})
		}
		if shown.Hash() != must(fair.NewTable(entries...)).Hash() {
			t.Fatal("not the hash of the weights in ascending order")
		}
	})
}

func TestTheHashDependsOnOrderNamesAndWeights(t *testing.T) {
	base := []entry{{ID: "a", Weight: 1}, {ID: "b", Weight: 2}}
	h := must(fair.NewTable(base...)).Hash()
	for _, other := range [][]entry{
		{{ID: "b", Weight: 2}, {ID: "a", Weight: 1}},
		{{ID: "a", Weight: 2}, {ID: "b", Weight: 1}},
		{{ID: "a", Weight: 1}, {ID: "c", Weight: 2}},
		{{ID: "a", Weight: 1}, {ID: "b", Weight: 2}, {ID: "c", Weight: 0}},
		{{ID: "a", Weight: 1}},
	} {
		require.NotEqual(t, h, must(fair.NewTable(other...)).Hash())
	}
	base[0].Item = 9
	require.Equal(t, h, must(fair.NewTable(base...)).Hash(), "items are the caller's")
}

func TestATableDoesNotRetainTheEntries(t *testing.T) {
	entries := []entry{{ID: "a", Weight: 1}, {ID: "b", Weight: 2}}
	tab := must(fair.NewTable(entries...))
	h := tab.Hash()
	clear(entries)
	require.Equal(t, "a", tab.ID(0))
	require.Equal(t, h, tab.Hash())
	p := tab.Probability(1)
	p.SetInt64(5)
	require.Equal(t, big.NewRat(2, 3), tab.Probability(1))
}

func TestTablesThatCannotBeAreRefusedWithTheItemNamed(t *testing.T) {
	const top = math.MaxUint64
	for name, c := range map[string]struct {
		max   uint64
		spans []span
		err   error
		says  string
	}{
		"max 0":            {0, []span{{ID: "a", First: 1, Last: 1}}, fair.ErrZeroTotal, "max is 0"},
		"no items":         {5, nil, fair.ErrNoItems, ""},
		"first gap":        {5, []span{{ID: "b", First: 3, Last: 5}}, fair.ErrGap, `rolls 1 to 2, before item "b"`},
		"middle gap":       {5, []span{{ID: "b", First: 4, Last: 5}, {ID: "a", First: 1, Last: 2}}, fair.ErrGap, `rolls 3 to 3, before item "b"`},
		"last gap":         {5, []span{{ID: "a", First: 1, Last: 3}}, fair.ErrGap, `rolls 4 to 5, after item "a"`},
		"overlap":          {5, []span{{ID: "a", First: 1, Last: 3}, {ID: "b", First: 3, Last: 5}}, fair.ErrOverlap, `"a" and "b" both cover roll 3`},
		"inside":           {5, []span{{ID: "a", First: 1, Last: 5}, {ID: "b", First: 2, Last: 3}}, fair.ErrOverlap, `"a" and "b"`},
		"reversed":         {5, []span{{ID: "a", First: 3, Last: 2}}, fair.ErrRange, `"a" covers 3 to 2 of 1 to 5`},
		"from 0":           {5, []span{{ID: "a", First: 0, Last: 5}}, fair.ErrRange, `"a"`},
		"past max":         {5, []span{{ID: "a", First: 1, Last: 6}}, fair.ErrRange, `"a"`},
		"whole, and again": {top, []span{{ID: "a", First: 1, Last: top}, {ID: "b", First: 1, Last: top}}, fair.ErrOverlap, `"b"`},
		"twice":            {2, []span{{ID: "a", First: 1, Last: 1}, {ID: "a", First: 2, Last: 2}}, fair.ErrDuplicate, `"a"`},
	} {
		_, err := fair.NewRangeTable(c.max, c.spans...)
		require.ErrorIs(t, err, c.err, name)
		require.ErrorContains(t, err, c.says, name)
	}
	_, err := fair.NewTable(entry{ID: "a", Weight: top}, entry{ID: "b", Weight: 1})
	require.ErrorIs(t, err, fair.ErrOverflow)
	require.ErrorContains(t, err, `"b"`)
	_, err = fair.NewTable(entry{ID: "a", Weight: 1}, entry{ID: "", Weight: 1})
	require.ErrorIs(t, err, fair.ErrText)
	require.ErrorContains(t, err, "item 1")
	_, err = fair.NewTable(entry{ID: "a"}, entry{ID: "b"})
	require.ErrorIs(t, err, fair.ErrZeroTotal)
	require.ErrorContains(t, err, "all 2 items")
}

func TestPicksFollowTheWeightsOnAFixedSeed(t *testing.T) {
	tab := weighted(t, 1, 0, 20, 300, 79, 600)
	const draws = 20_000
	counts := make([]int, tab.Len())
	r := root(t)
	for i := range uint64(draws) {
		counts[tab.Pick(r.At("pick", i, 0))]++
	}
	require.Zero(t, counts[1])
	counts = slices.Delete(counts, 1, 2)
	expect := []float64{1, 20, 300, 79, 600}
	require.Less(t, chi2(counts, func(i int) float64 { return expect[i] * draws / 1000 }), chi2Limit(4))
}

// Every word of 0..n×total-1 is equally likely, so counting items over all of
// them gives the exact mass.
func TestTheAliasTableHasExactlyTheWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Uint64Range(0, 30), 1, 12).Draw(t, "weights")
		if slices.Max(weights) == 0 {
			weights[0] = 1
		}
		tab := weighted(t, weights...)
		a, err := tab.Alias()
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(len(weights))
		mass := make([]uint64, n)
		s := &script{words: []uint64{0}}
		for r := range n * tab.Total() {
			s.words[0], s.used = r, 0
			mass[a.Pick(s)]++
		}
		for i, w := range weights {
			if mass[i] != w*n {
				t.Fatalf("item %d has %d of %d, want %d", i, mass[i], n*tab.Total(), w*n)
			}
		}
	})
}

func TestTheAliasTableIsExactUpToTheLastBit(t *testing.T) {
	// Mass of an item = the parts of all columns that lead to it; two columns
	// can be measured at their borders.
	tab := weighted(t, 1, math.MaxUint64/2-1)
	a := must(tab.Alias())
	total := tab.Total()
	pick := func(r uint64) int { return a.Pick(&script{words: []uint64{r}}) }
	require.Equal(t, 0, pick(0))
	require.Equal(t, 0, pick(1)) // 1 × 2 units of the first column
	require.Equal(t, 1, pick(2))
	require.Equal(t, 1, pick(total-1))
	require.Equal(t, 1, pick(total))
	require.Equal(t, 1, pick(2*total-1))

	_, err := weighted(t, 1, math.MaxUint64/2).Alias()
	require.ErrorIs(t, err, fair.ErrOverflow)
	_, err = weighted(t, math.MaxUint64).Alias()
	require.NoError(t, err)
}

func ExampleNewRangeTable() {
	table, err := fair.NewRangeTable(10_000_000,
		fair.Span[string]{ID: "pistol", First: 2_001, Last: 10_000_000, Item: "Pistol"},
		fair.Span[string]{ID: "knife", First: 1, Last: 2_000, Item: "Knife"},
	)
	if err != nil {
		panic(err)
	}
	fmt.Println(table.Item(table.At(2_000)), table.Probability(1))
	_, err = fair.NewRangeTable(100, fair.Span[string]{ID: "knife", First: 1, Last: 99})
	fmt.Println(err)
	// Output:
	// Knife 1/5000
	// fair: gap: no item covers rolls 100 to 100, after item "knife"
}
