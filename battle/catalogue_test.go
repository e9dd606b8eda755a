package battle

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCatalogueRange(t *testing.T) {
	_, err := NewCatalogue([]int64{0, MaxCents})
	require.NoError(t, err)
	_, err = NewCatalogue([]int64{3, -1})
	require.EqualError(t, err, "battle: catalogue item 1: value -1 out of 0..1000000000000000")
	_, err = NewCatalogue([]int64{MaxCents + 1})
	require.EqualError(t, err, "battle: catalogue item 0: value 1000000000000001 out of 0..1000000000000000")
}

// fill against the source's search, which goes through the sorted list for every single item.
func TestFillEqualsTheSourceSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 60), 0, 20).Draw(t, "values")
		deficit := rapid.Int64Range(1, rapid.SampledFrom([]int64{50, 500, 12_000}).Draw(t, "top")).Draw(t, "deficit")
		b := sourceBattle{}
		for _, v := range values {
			b.items = append(b.items, sourceItem{cents: v})
		}
		c, err := NewCatalogue(values)
		require.NoError(t, err)
		grants, left, capHit := c.fill(nil, 3, deficit)
		var got []int64
		for _, g := range grants {
			require.Equal(t, 3, g.winner)
			require.Positive(t, g.copies)
			require.Equal(t, slices.Index(values, c.values[g.entry]), c.index[g.entry])
			got = append(got, slices.Repeat([]int64{c.values[g.entry]}, g.copies)...)
		}
		var want []int64
		rest := deficit
		for _, item := range b.compensation(deficit) {
			want = append(want, item.cents)
			rest -= item.cents
		}
		require.Equal(t, want, got)
		require.Equal(t, rest, left)
		fits := slices.ContainsFunc(values, func(v int64) bool { return v > 0 && v <= rest })
		require.Equal(t, len(want) == 200 && fits, capHit)
	})
}

func TestFillLimit(t *testing.T) {
	c, err := NewCatalogue([]int64{1, 7})
	require.NoError(t, err)
	for _, x := range []struct {
		deficit, left int64
		grants        []grant
		capHit        bool
	}{
		{0, 0, nil, false},
		{1400, 0, []grant{{0, 0, 200}}, false}, // the limit, but nothing missing
		{1401, 1, []grant{{0, 0, 200}}, true},  // a cheaper one would have fitted
		{1407, 7, []grant{{0, 0, 200}}, true},
		{1396, 2, []grant{{0, 0, 199}, {0, 1, 1}}, true}, // 199 sevens are 1393; one of three pennies is allowed
		{1394, 0, []grant{{0, 0, 199}, {0, 1, 1}}, false},
	} {
		grants, left, hit := c.fill(nil, 0, x.deficit)
		require.Equal(t, x.grants, grants)
		require.Equal(t, x.left, left)
		require.Equal(t, x.capHit, hit)
	}
	sevens, err := NewCatalogue([]int64{7})
	require.NoError(t, err)
	_, left, hit := sevens.fill(nil, 0, 1403)
	require.Equal(t, []any{int64(3), false}, []any{left, hit}, "nothing would have fitted")
	_, left, hit = sevens.fill(nil, 0, 1407)
	require.Equal(t, []any{int64(7), true}, []any{left, hit}, "just one more would have fitted")

	var none *Catalogue
	grants, left, hit := none.fill(nil, 0, 9)
	require.Equal(t, []any{[]grant(nil), int64(9), false}, []any{grants, left, hit})
}
