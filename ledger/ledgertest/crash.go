package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// When says at which point of a commit a [Faulty] store fails.
type When uint8

// The points of a commit.
const (
	Before When = iota + 1 // the store is not reached
	Inside                 // the Tx is judged, then nothing is written
	After                  // it is written, but the reply is lost: ErrUncertain
)

// Faulty is a Store whose commit number FailAt (from 1; 0 = none) fails, once.
// It is for one goroutine at a time. Commits counts them.
type Faulty struct {
	Store   ledger.Store
	FailAt  int
	When    When
	Commits int
}

// errCrash is the failure; the ledger does not know it.
var errCrash = errors.New("crash")

// Atomic implements ledger.Store.
func (f *Faulty) Atomic(ctx context.Context, ks ledger.KeySet, apply func(ledger.View) (ledger.Change, error)) error {
	f.Commits++
	if f.Commits != f.FailAt {
		return f.Store.Atomic(ctx, ks, apply)
	}
	switch f.When {
	case Before:
		return errCrash
	case Inside:
		return f.Store.Atomic(ctx, ks, func(v ledger.View) (ledger.Change, error) {
			if _, err := apply(v); err != nil {
				return ledger.Change{}, err
			}
			return ledger.Change{}, errCrash
		})
	}
	if err := f.Store.Atomic(ctx, ks, apply); err != nil {
		return err
	}
	return ledger.ErrUncertain{ID: ks.ID, Err: errCrash}
}

// Read implements ledger.Store.
func (f *Faulty) Read(ctx context.Context, ks ledger.KeySet) (ledger.View, error) {
	return f.Store.Read(ctx, ks)
}

// Docs implements ledger.Store.
func (f *Faulty) Docs(ctx context.Context, q ledger.DocQuery) iter.Seq2[ledger.DocRow, error] {
	return f.Store.Docs(ctx, q)
}

// Journal implements ledger.Store.
func (f *Faulty) Journal(ctx context.Context, q ledger.JournalQuery) ([]ledger.Entry, error) {
	return f.Store.Journal(ctx, q)
}

// life is a game from the first deposit to the refund of a fee: every part of
// a Tx at least once. Some Txs are refused.
func life() []ledger.Tx {
	const brl = "BRL/2"
	game := ledger.DocKey("battle:9")
	escrow := game.Escrow()
	seat := func(u ledger.AccountID) []ledger.Posting {
		return []ledger.Posting{{From: u, To: escrow, Asset: brl, Amount: 500}}
	}
	txs := []ledger.Tx{
		{ID: "pay/1", Post: []ledger.Posting{{From: "world", To: "user:1", Asset: brl, Amount: 1000}}},
		{ID: "pay/2", Post: []ledger.Posting{{From: "world", To: "user:2", Asset: brl, Amount: 500}}},
		{ID: "rules", Open: []ledger.Open{{Key: ledger.Key{Account: "club:1", Asset: brl}, Floor: -50}}},
		{ID: "queue", Hold: []ledger.Hold{{ID: "queue/1", From: "user:1", Asset: brl, Amount: 100, ExpiresAt: epoch + 3600e9}}},
		{
			ID: "create", Docs: []ledger.DocWrite{{Key: game, Status: "waiting", Body: []byte("seed")}, {Key: "battle:9#config", Status: "config", Seal: true}},
			Post: seat("user:1"), Count: []ledger.Count{{Key: "nonce:user:1", Delta: 1, Max: 1}},
		},
		{ID: "join", Docs: []ledger.DocWrite{{Key: game, IfVersion: 1, IfStatus: "waiting", Status: "in_play"}}, Post: seat("user:2")},
		{ID: "late", Docs: []ledger.DocWrite{{Key: game, IfVersion: 1, IfStatus: "waiting", Status: "in_play"}}, Post: seat("user:1")},
		{ID: "broke", Post: []ledger.Posting{{From: "user:2", To: "user:1", Asset: brl, Amount: 1}}},
		{
			ID: "fee", Require: []ledger.Require{{Key: game, Version: 2}},
			Close: []ledger.Close{{Hold: "queue/1", Key: ledger.Key{Account: "user:1", Asset: brl}, Take: []ledger.Leg{{To: "house:fees", Amount: 40}}, Keep: true}},
		},
		{ID: "void", Close: []ledger.Close{{Hold: "queue/1", Key: ledger.Key{Account: "user:1", Asset: brl}, Void: true}}},
		{
			ID: "settle", Docs: []ledger.DocWrite{{Key: game, IfVersion: 2, IfStatus: "in_play", Status: "finished", Body: []byte("won by 2"), Seal: true}},
			Post: []ledger.Posting{{From: escrow, To: "user:2", Asset: brl, Amount: 950}, {From: escrow, To: "house:rake", Asset: brl, Amount: 50}},
		},
		{ID: "settle again", Docs: []ledger.DocWrite{{Key: game, IfVersion: 2, Status: "finished"}}},
	}
	txs[len(txs)-1].ID = "settle/again"
	return append(txs, ledger.Reverse(ledger.Entry{Tx: txs[0]}), ledger.Reverse(ledger.Entry{Tx: txs[8]}))
}

// crash runs the life of a game with a crash at each commit and in each way,
// repeats what was interrupted, and wants the same ledger in the end.
func crash(tb testing.TB, open func(testing.TB) ledger.Store) {
	txs := life()
	undisturbed, want, refused := run(tb, open(tb), txs, 0, Before)
	require.Equal(tb, map[string]string{"late": "conflict", "broke": "insufficient_balance", "settle/again": "sealed", "refund/pay/1": "insufficient_balance"}, refused)
	for k := 1; k <= len(txs); k++ {
		for w := Before; w <= After; w++ {
			name := fmt.Sprintf("commit %d, point %d", k, w)
			entries, got, again := run(tb, open(tb), txs, k, w)
			equal(tb, undisturbed, entries, "journals after a crash at "+name)
			equal(tb, want, got, "states after a crash at "+name)
			equal(tb, refused, again, "refusals after a crash at "+name)
		}
	}
}

func run(tb testing.TB, s ledger.Store, txs []ledger.Tx, k int, w When) ([]ledger.Entry, ledger.State, map[string]string) {
	ctx := context.Background()
	refused := map[string]string{}
	c := &clock{epoch}
	f := &Faulty{Store: s, FailAt: k, When: w}
	for _, tx := range txs {
		c.at += 1e9
		l := ledger.New(f, c.now)
		r, err := l.Do(ctx, tx)
		_, uncertain := errors.AsType[ledger.ErrUncertain](err)
		if uncertain || errors.Is(err, errCrash) {
			f.Store = reopen(tb, f.Store)
			replayed := uncertain
			r, err = l.Do(ctx, tx)
			require.Equal(tb, replayed, err == nil && r.Replayed, "retry of %s", tx.ID)
		}
		if err != nil {
			refused[tx.ID] = code(err)
		}
	}
	entries, st := verify(tb, f.Store)
	return entries, st, refused
}
