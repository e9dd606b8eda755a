package fair_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/glasshouse-go/glasshouse/fair"
)

var sink uint64

// alternate runs both in short turns within one benchmark and reports the
// medians and their ratio, so that a machine shared with others, which takes the
// processor away in some turns, disturbs neither. ns/op and allocs/op are those
// of a turn of both.
func alternate(b *testing.B, ours, baseline func(i int)) {
	const turn = 128
	mine, base := make([]time.Duration, 0, 1<<16), make([]time.Duration, 0, 1<<16)
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		for i := range turn {
			ours(i)
		}
		mid := time.Now()
		for i := range turn {
			baseline(i)
		}
		end := time.Now()
		mine, base = append(mine, mid.Sub(start)), append(base, end.Sub(mid))
	}
	slices.Sort(mine)
	slices.Sort(base)
	m, n := float64(mine[len(mine)/2]), float64(base[len(base)/2])
	b.ReportMetric(m/turn, "ns/draw")
	b.ReportMetric(n/turn, "ns/baseline")
	b.ReportMetric(m/n, "x-of-baseline")
}

// The baseline is what one would write with crypto/hmac: a cached key, Reset,
// a message in a reused buffer, the same modulus.
func BenchmarkRootStreamRoll(b *testing.B) {
	r := root(b)
	m := hmac.New(sha256.New, make([]byte, 32))
	msg := make([]byte, 28)
	sum := make([]byte, 0, 32)
	alternate(b, func(i int) {
		s := r.Stream("roll", uint64(i), 3)
		sink += s.Roll(10_000_000)
	}, func(i int) {
		binary.BigEndian.PutUint32(msg, 4)
		copy(msg[4:], "roll")
		binary.BigEndian.PutUint64(msg[8:], uint64(i))
		binary.BigEndian.PutUint64(msg[16:], 3)
		m.Reset()
		m.Write(msg)
		sum = m.Sum(sum[:0])
		sink += binary.BigEndian.Uint64(sum)%10_000_000 + 1
	})
}

// linearScan is what one would write without a table.
func linearScan(w fair.Words, cum []uint64, total uint64) int {
	r := fair.Uniform(w, total)
	for i, c := range cum {
		if r < c {
			return i
		}
	}
	return -1
}

func BenchmarkTablePick(b *testing.B) {
	for _, n := range []int{2, 10, 30, 48, 49, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			weights := make([]uint64, n)
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			var cum []uint64
			sum := uint64(0)
			for i := range weights {
				weights[i] = 1 + rng.Uint64N(1000)
				sum += weights[i]
				cum = append(cum, sum)
			}
			tab := weighted(b, weights...)
			w1, w2 := rand.NewPCG(3, 4), rand.NewPCG(3, 4)
			alternate(b, func(int) { sink += uint64(tab.Pick(w1)) }, func(int) { sink += uint64(linearScan(w2, cum, sum)) })
		})
	}
}

func BenchmarkAliasPick(b *testing.B) {
	weights := make([]uint64, 1000)
	for i := range weights {
		weights[i] = uint64(1 + i*i)
	}
	a := must(weighted(b, weights...).Alias())
	w := rand.NewPCG(3, 4)
	b.ReportAllocs()
	for b.Loop() {
		sink += uint64(a.Pick(w))
	}
}

func BenchmarkSample40(b *testing.B) {
	r := root(b)
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		sink += uint64(fair.Sample(r.At("deal", i, 0), 40, 7)[0])
	}
}
