package ledger

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestKeyIndexListsWhatWasInsertedInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var x keyIndex
		var all []DocKey
		seed := rapid.IntRange(1, 1000).Draw(t, "seed")
		for i := range rapid.IntRange(0, 3*blockSize).Draw(t, "n") {
			k := DocKey(fmt.Sprintf("%04d", i*seed%3001))
			if !slices.Contains(all, k) {
				x.insert(k)
				all = append(all, k)
			}
		}
		slices.Sort(all)
		require.Equal(t, all, slices.Collect(x.from("")))
		from := DocKey(fmt.Sprintf("%04d", rapid.IntRange(0, 3200).Draw(t, "from")))
		i, _ := slices.BinarySearch(all, from)
		require.True(t, slices.Equal(all[i:], slices.Collect(x.from(from))))
		for _, b := range x.blocks {
			require.Less(t, len(b), blockSize)
			require.NotEmpty(t, b)
		}
	})
}

func TestInt128AgreesWithBigInt(t *testing.T) {
	text := func(a int128) *big.Int {
		n := new(big.Int).Lsh(big.NewInt(a.hi), 64)
		return n.Add(n, new(big.Int).SetUint64(a.lo))
	}
	n := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64}))
	rapid.Check(t, func(t *rapid.T) {
		var sum int128
		want := new(big.Int)
		for _, v := range rapid.SliceOf(n).Draw(t, "terms") {
			if rapid.Bool().Draw(t, "minus") {
				sum = sum.sub(wide(v))
				want.Sub(want, big.NewInt(v))
			} else {
				sum = sum.add(wide(v))
				want.Add(want, big.NewInt(v))
			}
		}
		require.Zero(t, want.Cmp(text(sum)))
		got, ok := sum.narrow()
		require.Equal(t, want.IsInt64(), ok)
		switch {
		case ok:
			require.Equal(t, want.Int64(), got)
			require.Equal(t, got, sum.clamp())
		case want.Sign() < 0:
			require.Equal(t, int64(math.MinInt64), sum.clamp())
		default:
			require.Equal(t, int64(math.MaxInt64), sum.clamp())
		}
		require.False(t, sum.less(sum))
		other := wide(n.Draw(t, "other"))
		require.Equal(t, want.Cmp(text(other)) < 0, sum.less(other))
		require.Equal(t, want.Cmp(text(other)) > 0, other.less(sum))
	})
}
