package ledgertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// Two guards keep a game from paying twice: its document and the floor of its
// escrow. A test in which both are on proves nothing about either, so here
// settle and void meet with one of them switched off.

// twicePaid starts a game, settles it, then voids it, each with the guards
// that are on; it returns what the void met and what is left in escrow.
func twicePaid(tb testing.TB, s ledger.Store, g game, document, escrow bool) (left int64, void error) {
	at := time.Unix(0, epoch)
	ctx := context.Background()
	l := ledger.New(s, func() time.Time { return at })
	start := g.start()
	if !escrow {
		start.Open = []ledger.Open{{Key: g.money(), Floor: ledger.Unbounded}}
	}
	_, err := l.Do(ctx, start)
	require.NoError(tb, err)
	settle := ledger.Tx{ID: g.id("settle"), Post: []ledger.Posting{{From: g.escrow(), To: g.user(1), Asset: "BRL/2", Amount: 200}}}
	voided := ledger.Tx{ID: g.id("void"), Post: g.back()}
	if document {
		settle.Docs, voided.Docs = g.write("finished", true), g.write("voided", true)
	}
	_, err = l.Do(ctx, settle)
	require.NoError(tb, err)
	_, void = l.Do(ctx, voided)
	b, err := l.Balance(ctx, g.escrow(), "BRL/2")
	require.NoError(tb, err)
	return b.Posted, void
}

func documentGuard(tb testing.TB, open func(testing.TB) ledger.Store) {
	left, err := twicePaid(tb, open(tb), 1, true, false)
	require.Equal(tb, ledger.ErrSealed{Doc: ledger.DocRow{Key: "battle:1", Doc: ledger.Doc{Version: 2, Status: "finished", Sealed: true, Updated: epoch}}}, err)
	require.Zero(tb, left)
}

func escrowGuard(tb testing.TB, open func(testing.TB) ledger.Store) {
	left, err := twicePaid(tb, open(tb), 1, false, true)
	require.Equal(tb, ledger.ErrFunds{Key: game(1).money(), Need: 200, Have: 0}, err)
	require.Zero(tb, left)
}

// neitherGuard shows that the two tests before can fail.
func neitherGuard(tb testing.TB, open func(testing.TB) ledger.Store) {
	left, err := twicePaid(tb, open(tb), 1, false, false)
	require.NoError(tb, err)
	require.Equal(tb, int64(-200), left)
}
