package audit

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// playedTxs plays a battle to its end and returns what it wrote.
func playedTxs(t *testing.T) []ledger.Tx {
	t.Helper()
	ctx := t.Context()
	now := time.Unix(1_773_500_000, 0).UTC()
	store := ledger.NewMemory()
	money := ledger.New(store, func() time.Time { return now })
	for _, user := range []string{"ana", "bruno"} {
		_, err := money.Do(ctx, ledger.Tx{ID: "fund/" + user, Post: []ledger.Posting{{
			From: "world:bank", To: battle.UserAccount(user), Asset: "BRL/2", Amount: 1000,
		}}})
		require.NoError(t, err)
	}
	rows := []battle.CaseItem{
		{Row: "1", Item: battle.Item{ID: "one", Name: "One", Value: 90}, First: 1, Last: 5_000_000},
		{Row: "2", Item: battle.Item{ID: "two", Name: "Two", Value: 180}, First: 5_000_001, Last: battle.MaxRoll},
	}
	s, err := battle.New(battle.Config{
		ID: "b", Creator: "ana", Asset: "BRL/2", Layout: battle.Layout{Teams: 2, Size: 1}, Mode: battle.Normal,
		Payout: battle.ExactCash, Cases: []battle.Case{{ID: "box", Name: "Box", Price: 100, Active: true, Items: rows}},
	})
	require.NoError(t, err)
	table, err := glasshouse.OpenTable(ctx, battle.Rules(), money, fair.NewKeyring(make([]byte, 32)), battle.Key("b"), s)
	require.NoError(t, err)
	for _, do := range []struct {
		actor string
		cmd   battle.Command
	}{{glasshouse.System, battle.Create{}}, {"bruno", battle.Join{Team: 2, ClientSeed: "x"}}} {
		_, err := table.Do(ctx, glasshouse.Input{Actor: do.actor, At: now}, do.cmd)
		require.NoError(t, err)
	}
	for !table.State().Status().Done() {
		now = table.State().Deadline().At
		_, err := table.Tick(ctx, now)
		require.NoError(t, err)
	}
	entries, err := money.Journal(ctx, ledger.JournalQuery{})
	require.NoError(t, err)
	txs := make([]ledger.Tx, len(entries))
	for i, e := range entries {
		txs[i] = e.Tx
	}
	return txs
}

// journalOf commits the txs anew, so that the chain is whole whatever was changed in them.
func journalOf(t *testing.T, txs []ledger.Tx) string {
	t.Helper()
	money := ledger.New(ledger.NewMemory(), func() time.Time { return time.Unix(1_773_500_001, 0) })
	for _, tx := range txs {
		_, err := money.Do(context.Background(), tx)
		require.NoError(t, err)
	}
	entries, err := money.Journal(t.Context(), ledger.JournalQuery{})
	require.NoError(t, err)
	var b strings.Builder
	for _, e := range entries {
		line, err := e.MarshalJSON()
		require.NoError(t, err)
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func TestGamesOfAJournalAreFollowed(t *testing.T) {
	res := read(journalOf(t, playedTxs(t)))
	require.True(t, res.OK, "%+v", res)
	require.Equal(t, findingSteps, res.Report.Findings[5].Name)
	require.Equal(t, "6 steps", res.Report.Findings[5].Got)
	require.Equal(t, findingRecords, res.Report.Findings[6].Name)
}

func TestMoneyThatAGameDoesNotMoveIsNamed(t *testing.T) {
	last := len(playedTxs(t)) - 1
	for name, change := range map[string]func(tx *ledger.Tx){
		"a posting more": func(tx *ledger.Tx) {
			tx.Post = append(tx.Post, ledger.Posting{From: "house:battle", To: "user:ana", Asset: "BRL/2", Amount: 1})
		},
		"another winner's items": func(tx *ledger.Tx) {
			for i := range tx.Post {
				if tx.Post[i].From == battle.ItemsAccount {
					tx.Post[i].To = "user:eve"
				}
			}
		},
		"another body": func(tx *ledger.Tx) { tx.Docs[0].Body = append(tx.Docs[0].Body, ' ') },
	} {
		t.Run(name, func(t *testing.T) {
			txs := playedTxs(t)
			change(&txs[last])
			res := read(journalOf(t, txs))
			require.False(t, res.OK)
			failed := res.Report.Failed()
			require.Len(t, failed, 1)
			require.Equal(t, findingSteps, failed[0].Name)
			require.Contains(t, failed[0].Got, "battle:b")
		})
	}
}

func TestAGameWithoutItsBeginningIsNamed(t *testing.T) {
	txs := playedTxs(t)
	txs[2].Memo = []byte("no turn")
	res := read(journalOf(t, txs))
	require.False(t, res.OK)
	require.Equal(t, findingSteps, res.Report.Failed()[0].Name)
}
