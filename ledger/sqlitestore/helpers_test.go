package sqlitestore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

const epoch = int64(1_700_000_000_000_000_000)

func fixed() time.Time { return time.Unix(0, epoch) }

// replayed rebuilds the state from the journal, which proves that it is whole
// and chained, and audits it.
func replayed(tb testing.TB, s ledger.Store) ledger.State {
	tb.Helper()
	entries, err := s.Journal(context.Background(), ledger.JournalQuery{})
	require.NoError(tb, err)
	st, err := ledger.Replay(func(yield func(ledger.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	})
	require.NoError(tb, err)
	require.Empty(tb, ledger.Audit(st))
	return st
}

func posted(tb testing.TB, s ledger.Store, a ledger.AccountID) int64 {
	tb.Helper()
	b, err := ledger.New(s, fixed).Balance(context.Background(), a, "BRL/2")
	require.NoError(tb, err)
	return b.Posted
}

func pay(id string, from, to ledger.AccountID, amount int64) ledger.Tx {
	return ledger.Tx{ID: id, Post: []ledger.Posting{{From: from, To: to, Asset: "BRL/2", Amount: amount}}}
}

func do(tb testing.TB, s ledger.Store, tx ledger.Tx) ledger.Receipt {
	tb.Helper()
	r, err := ledger.New(s, fixed).Do(context.Background(), tx)
	require.NoError(tb, err)
	return r
}

// game is n Txs in which games are paid for, played and settled; some are
// refused. Number i is of the time epoch + i seconds.
func game(n int) (txs []ledger.Tx) {
	for i := range n {
		g := i / 8
		key := ledger.DocKey(fmt.Sprintf("battle:%d", g))
		a, b := ledger.AccountID(fmt.Sprintf("user:%d", g%5)), ledger.AccountID(fmt.Sprintf("user:%d", (g+1)%5))
		hold := fmt.Sprintf("queue/%d", g)
		tx := ledger.Tx{ID: fmt.Sprintf("tx/%d", i)}
		switch i % 8 {
		case 0:
			tx.Post = []ledger.Posting{{From: "world", To: a, Asset: "BRL/2", Amount: 100}, {From: "world", To: b, Asset: "BRL/2", Amount: 70}}
		case 1:
			tx.Hold = []ledger.Hold{{ID: hold, From: a, Asset: "BRL/2", Amount: 60}}
		case 2:
			tx.Docs = []ledger.DocWrite{{Key: key, Status: "waiting", Body: []byte{1, 0, byte(i)}}}
			tx.Post = []ledger.Posting{{From: b, To: key.Escrow(), Asset: "BRL/2", Amount: 50}}
		case 3: // more than anybody has
			tx.Post = []ledger.Posting{{From: b, To: a, Asset: "BRL/2", Amount: 1 << 40}}
		case 4:
			tx.Docs = []ledger.DocWrite{{Key: key, IfVersion: 1, IfStatus: "waiting", Status: "in_play"}}
			tx.Close = []ledger.Close{{Hold: hold, Key: ledger.Key{Account: a, Asset: "BRL/2"}, Take: []ledger.Leg{{To: key.Escrow(), Amount: 50}}}}
			tx.Count = []ledger.Count{{Key: "games", Delta: 1, Max: 1 << 40}}
		case 5: // too late
			tx.Docs = []ledger.DocWrite{{Key: key, IfVersion: 1, Status: "voided"}}
		case 6:
			tx.Docs = []ledger.DocWrite{{Key: key, IfVersion: 2, Status: "finished", Seal: true, Body: make([]byte, 500)}}
			tx.Post = []ledger.Posting{{From: key.Escrow(), To: a, Asset: "BRL/2", Amount: 95}, {From: key.Escrow(), To: "house:rake", Asset: "BRL/2", Amount: 5}}
		case 7:
			tx.Require = []ledger.Require{{Key: key, Version: 3, Status: "finished"}}
			tx.Memo = []byte("published")
		}
		txs = append(txs, tx)
	}
	return txs
}

// play sends the Txs one by one, each at its own time.
func play(tb testing.TB, s ledger.Store, txs []ledger.Tx, done func(int)) (refused int) {
	for i, tx := range txs {
		at := time.Unix(0, epoch+int64(i)*1e9)
		l := ledger.New(s, func() time.Time { return at })
		if _, err := l.Do(context.Background(), tx); err != nil {
			_, rule := err.(interface{ Code() string })
			require.True(tb, rule, "%s: %v", tx.ID, err)
			refused++
		}
		done(i)
	}
	return refused
}
