package battle

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// BenchmarkBattle plays a whole 4v4 over ten cases, from Create to the sealed document, over a ledger in memory: 50
// steps, each with its commit.
func BenchmarkBattle(b *testing.B) {
	ctx := context.Background()
	money := ledger.New(ledger.NewMemory(), func() time.Time { return start })
	people := append([]string{"ana"}, manyPlayers(7)...)
	fund := ledger.Tx{ID: "deposits"}
	for _, p := range people {
		fund.Post = append(fund.Post, ledger.Posting{From: "world", To: UserAccount(p), Asset: "BRL/2", Amount: 1 << 60})
	}
	if _, err := money.Do(ctx, fund); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		cfg := testConfig(withLayout(2, 4), func(c *Config) {
			c.ID, c.Cases = fmt.Sprintf("b%d", n), slices.Repeat([]Case{testCase()}, 10)
		})
		s, err := New(cfg)
		if err != nil {
			b.Fatal(err)
		}
		in := glasshouse.Input{Actor: system, At: start, Draw: hostSecrets.For(string(Key(cfg.ID)))}
		step := func(actor string, cmd Command) {
			in.Actor = actor
			next, turn, err := s.Step(in, cmd)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := money.Do(ctx, next.Tx(Key(cfg.ID), turn)); err != nil {
				b.Fatal(err)
			}
			s = next
		}
		step(system, Create{})
		for i, p := range people[1:] {
			step(p, Join{Team: cfg.Layout.Team(i + 1), ClientSeed: "words"})
		}
		for !s.Status().Done() {
			d := s.Deadline()
			in.At = d.At
			step(system, Expire{d.Key})
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "battles/s")
}
