package battle

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSortWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.SampledFrom([]uint64{0, 1, 63, 64, 4095, 1 << 20, 1<<30 - 1, 1 << 30, MaxCents}).Draw(t, "top")
		values := rapid.SliceOfN(rapid.Uint64Range(0, top), 1, 100).Draw(t, "values")
		base := rapid.Uint64Range(0, MaxCents-top).Draw(t, "base")
		words := make([]uint64, len(values))
		for i, v := range values {
			words[i] = (base+v)<<dropBits | uint64(i)
		}
		want := slices.Clone(words)
		slices.Sort(want)
		sortWords(words, make([]uint64, dropLimit), dropBits)
		require.Equal(t, want, words)
	})
}

// Both ways of sorting, at the border between them.
func TestSortWordsByWidth(t *testing.T) {
	for bit := range 50 {
		words := []uint64{1 << bit << dropBits, 1, 1<<bit<<dropBits | 2, 3}
		sortWords(words, make([]uint64, 4), dropBits)
		require.Equal(t, []uint64{1, 3, 1 << bit << dropBits, 1<<bit<<dropBits | 2}, words, "bit %d", bit)
	}
}
