package legacy_test

import (
	"crypto/sha256"
	"encoding/binary"
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

// alternate runs both in short turns within one benchmark, so that a noisy
// machine disturbs both alike, and reports ours and the ratio.
func alternate(b *testing.B, ours, baseline func(i int)) {
	const turn = 512
	var mine, base time.Duration
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		start := time.Now()
		for i := range turn {
			ours(i)
		}
		mid := time.Now()
		for i := range turn {
			baseline(i)
		}
		mine += mid.Sub(start)
		base += time.Since(mid)
		n += turn
	}
	b.ReportMetric(float64(mine.Nanoseconds())/float64(n), "ns/draw")
	b.ReportMetric(float64(base.Nanoseconds())/float64(n), "ns/baseline")
	b.ReportMetric(float64(mine)/float64(base), "x-of-baseline")
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
