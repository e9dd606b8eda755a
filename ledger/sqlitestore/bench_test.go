package sqlitestore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// BenchmarkBatchesAgainstSingles commits 100 transfers in one batch, then 100
// one by one, in turns on one file with synchronous FULL, and reports how many
// times as fast the batch is.
func BenchmarkBatchesAgainstSingles(b *testing.B) {
	const block = 100
	s, err := Open(b.TempDir() + "/ledger.db")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a benchmark
	ctx := context.Background()
	l := ledger.New(s, fixed)
	for i := range 1000 {
		if _, err := l.Do(ctx, pay(fmt.Sprint("fund/", i), "world", account(i), 1<<40)); err != nil {
			b.Fatal(err)
		}
	}
	n := 0
	transfers := func() (txs []ledger.Tx) {
		for range block {
			n++
			txs = append(txs, pay(fmt.Sprint("t/", n), account(n*7), account(n*7+13), int64(1+n%100)))
		}
		return txs
	}
	var together, single time.Duration
	b.ReportAllocs()
	for b.Loop() {
		txs := transfers()
		start := time.Now()
		for _, r := range l.DoAll(ctx, txs) {
			if r.Err != nil {
				b.Fatal(r.Err)
			}
		}
		together += time.Since(start)
		txs = transfers()
		start = time.Now()
		for i := range txs {
			if _, err := l.Do(ctx, txs[i]); err != nil {
				b.Fatal(err)
			}
		}
		single += time.Since(start)
	}
	total := float64(b.N * block)
	b.ReportMetric(float64(single)/float64(together), "×single")
	b.ReportMetric(total/together.Seconds(), "batched-tx/s")
	b.ReportMetric(total/single.Seconds(), "single-tx/s")
}

func account(i int) ledger.AccountID { return ledger.AccountID(fmt.Sprint("user:", i%1000)) }
