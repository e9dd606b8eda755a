package sqlitestore

import (
	"context"
	"fmt"
	"sync"
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

// BenchmarkCallersThatShareCommits commits transfers from 32 goroutines, then
// as many from one, in turns, and reports how many times as fast the many are.
func BenchmarkCallersThatShareCommits(b *testing.B) {
	const callers, each = 32, 4
	s, err := Open(b.TempDir() + "/ledger.db")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // a benchmark
	l := ledger.New(s, fixed)
	n := 0
	run := func(goroutines, each int) time.Duration {
		n++
		start := time.Now()
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() {
				for i := range each {
					if _, err := l.Do(context.Background(), pay(fmt.Sprintf("%d/%d/%d", n, g, i), "world", account(g), 1)); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
		return time.Since(start)
	}
	var many, one time.Duration
	for b.Loop() {
		many += run(callers, each)
		one += run(1, callers*each)
	}
	b.ReportMetric(float64(one)/float64(many), "×single")
	b.ReportMetric(float64(b.N*callers*each)/many.Seconds(), "shared-tx/s")
}

func account(i int) ledger.AccountID { return ledger.AccountID(fmt.Sprint("user:", i%1000)) }
