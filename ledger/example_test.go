package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/glasshouse-go/glasshouse/ledger"
)

var noon = func() time.Time { return time.Date(2026, 8, 23, 12, 0, 0, 0, time.UTC) }

// A game from the deposit to the prize: state and money in the same commits.
func Example() {
	ctx := context.Background()
	l := ledger.New(ledger.NewMemory(), noon)
	game := ledger.DocKey("battle:9")

	for _, tx := range []ledger.Tx{
		{ID: "deposit/1", Post: []ledger.Posting{{From: "world", To: "user:7", Asset: "BRL/2", Amount: 500}}},
		{
			ID:   "battle/9/join",
			Docs: []ledger.DocWrite{{Key: game, Status: "in_play"}},
			Post: []ledger.Posting{{From: "user:7", To: game.Escrow(), Asset: "BRL/2", Amount: 500}},
		},
		{
			ID:   "battle/9/settle",
			Docs: []ledger.DocWrite{{Key: game, IfVersion: 1, Status: "finished", Seal: true}},
			Post: []ledger.Posting{
				{From: game.Escrow(), To: "user:7", Asset: "BRL/2", Amount: 475},
				{From: game.Escrow(), To: "house:rake", Asset: "BRL/2", Amount: 25},
			},
		},
	} {
		if _, err := l.Do(ctx, tx); err != nil {
			fmt.Println(err)
		}
	}
	b, _ := l.Balance(ctx, "user:7", "BRL/2")
	fmt.Println("user:7 has", b.Available())

	_, err := l.Do(ctx, ledger.Tx{ID: "battle/9/void", Docs: []ledger.DocWrite{{Key: game, IfVersion: 1, Status: "voided", Seal: true}}})
	if e, ok := errors.AsType[ledger.ErrSealed](err); ok {
		fmt.Println(e.Code(), "as", e.Doc.Doc.Status)
	}
	// Output:
	// user:7 has 475
	// sealed as finished
}

func ExampleLedger_Do_retry() {
	ctx := context.Background()
	l := ledger.New(ledger.NewMemory(), noon)
	tx := ledger.Tx{ID: "deposit/1", Post: []ledger.Posting{{From: "world", To: "user:7", Asset: "BRL/2", Amount: 500}}}
	for range 2 {
		r, err := l.Do(ctx, tx)
		b, _ := r.Balance("user:7", "BRL/2")
		fmt.Println(b.Posted, r.Replayed, err)
	}
	tx.Post[0].Amount = 900
	_, err := l.Do(ctx, tx)
	fmt.Println(err)
	// Output:
	// 500 false <nil>
	// 500 true <nil>
	// ledger: id deposit/1 was used with another body
}

func ExampleReplay() {
	ctx := context.Background()
	l := ledger.New(ledger.NewMemory(), noon)
	_, _ = l.Do(ctx, ledger.Tx{ID: "deposit/1", Post: []ledger.Posting{{From: "world", To: "user:7", Asset: "BRL/2", Amount: 500}}})
	entries, _ := l.Journal(ctx, ledger.JournalQuery{})

	s, err := ledger.Replay(each(entries))
	fmt.Println(s.Seq, s.Balance(ledger.Key{Account: "user:7", Asset: "BRL/2"}).Posted, err, ledger.Audit(s) == nil)

	entries[0].Tx.Post[0].Amount = 5
	_, err = ledger.Replay(each(entries))
	fmt.Println(err)
	// Output:
	// 1 500 <nil> true
	// ledger: journal corrupt at entry 1: digest is not that of the tx
}

func ExampleSplit() {
	for _, rule := range []ledger.Remainder{ledger.Largest, ledger.Last, ledger.House} {
		shares, rest, _ := ledger.Split(1000, []int64{1, 1, 1}, rule)
		fmt.Println(rule, shares, rest)
	}
	// Output:
	// largest [334 333 333] 0
	// last [333 333 334] 0
	// house [333 333 333] 1
}

func ExamplePortion() {
	rake, _ := ledger.ParsePercent("2.5")
	fee, _ := ledger.Portion(999, rake, 10_000, ledger.Down)
	fmt.Println(rake, fee)
	// Output: 250 24
}

func ExampleWindow() {
	w := ledger.Window{Every: "1d", Loc: time.FixedZone("UTC-3", -3*60*60)}
	now := time.Date(2026, 8, 23, 1, 30, 0, 0, time.UTC) // still the 22nd there
	fmt.Println(w.CounterKey("plays:box1:user7", now))
	// Output: plays:box1:user7@1d@2026-08-22T03:00:00Z
}
