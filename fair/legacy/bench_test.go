package legacy_test

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/glasshouse-go/glasshouse/fair/legacy"
)

// oneShot is the baseline: HMAC by hand with two Sum256 on stack buffers, for a
// key of 64 bytes and a message that fits.
func oneShot(key, client string, nonce int64, empty bool) [32]byte {
	var in [64 + 128]byte
	var out [64 + 32]byte
	copy(in[:], key)
	for i := range 64 {
		out[i] = in[i] ^ 0x5c
		in[i] ^= 0x36
	}
	msg := in[:64]
	if !empty {
		msg = append(msg, client...)
		msg = append(msg, ':')
		msg = strconv.AppendInt(msg, nonce, 10)
	}
	sum := sha256.Sum256(msg)
	copy(out[64:], sum[:])
	return sha256.Sum256(out[:])
}

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

var (
	benchKey    = strings.Repeat("3c9c71aa9ffa2691", 4)
	benchClient = "173568960000000112233445566778899aabbccddeeff"
)

func BenchmarkRoll52FreshKey(b *testing.B) {
	alternate(b, func(i int) {
		r, _ := legacy.Roll52(benchKey, benchClient, int64(i), 10_000_000)
		sink += r
	}, func(i int) {
		sum := oneShot(benchKey, benchClient, int64(i), false)
		sink += binary.BigEndian.Uint64(sum[:8])>>12%10_000_000 + 1
	})
}

func BenchmarkCommitAndRoll52(b *testing.B) {
	alternate(b, func(i int) {
		c := legacy.Commit52(benchKey)
		r, _ := legacy.Roll52(benchKey, benchClient, int64(i), 10_000_000)
		sink += r + uint64(c[0])
	}, func(i int) {
		c := oneShot(benchKey, "", 0, true)
		sum := oneShot(benchKey, benchClient, int64(i), false)
		sink += binary.BigEndian.Uint64(sum[:8])>>12%10_000_000 + uint64(c[0])
	})
}

func BenchmarkRecord52Verify(b *testing.B) {
	rec := legacy.Record52{Row: row()}
	b.ReportAllocs()
	for b.Loop() {
		rep, err := rec.Verify()
		if err != nil || !rep.OK() {
			b.Fatal(err, rep)
		}
	}
}
