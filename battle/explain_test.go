package battle

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func explained(t *testing.T, d Drops, p Policy, l Labels) string {
	t.Helper()
	s, err := Settle(d, p)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, s.Explain(&b, l))
	return b.String()
}

func TestExplainPool(t *testing.T) {
	d := duel(Shared, false, []int64{10, 9999}, []int64{3, 5})
	var err error
	d.Catalogue, err = NewCatalogue([]int64{2, 4000})
	require.NoError(t, err)
	before, _, _ := strings.Cut(explained(t, d, Policy{Payout: Pool, Ties: SplitAll}, Labels{}), "\nseat 1")
	require.Equal(t, `Team 1: 0.13
Team 2: 100.04
Everybody wins.
Pot 100.17, 2 winners: 50.08 each, 0.01 left over

seat 0: 44.08 in items, 6.00 below the share
  keeps drop 0, 0.10
  is added 1 × catalogue item 1, 40.00
  is added 199 × catalogue item 0, 0.02
`, before)
	text := explained(t, d, Policy{Payout: Pool, Ties: SplitAll}, Labels{
		Seat:   func(seat int) string { return []string{"ana", "bo"}[seat] },
		Item:   func(r Record) string { return "a " + r.Type.String() + " item" },
		Amount: func(cents int64) string { return "R$" + text(cents) },
	})
	require.Contains(t, text, "\nbo: R$4406 in items, R$602 below the share\n  keeps a dropped item, R$5\n")
	require.Contains(t, text, "\nThe limit of 200 added items kept a winner from more.\n")
	require.True(t, strings.HasSuffix(text, "\nTo the house: a removed_to_pool item, R$9999, more than a share\n"+
		"House: R$9999 removed - R$8796 added - R$0 cash = R$1203\n"), text)
}

func TestExplainOtherOutcomes(t *testing.T) {
	require.Equal(t, "Team 1: 0.05\nTeam 2: 0.05\nA tie at the top: the entries go back.\n",
		explained(t, duel(Normal, false, []int64{5, 5}), Policy{Payout: Pool, Ties: Refund}, Labels{}))

	d := duel(Normal, false, []int64{100, 100})
	d.Draw = rolls(map[int]uint64{1: 7, 2: 7}, map[int]uint64{1: 4, 2: 3})
	require.Equal(t, `Team 1: 1.00
Team 2: 1.00
Extra roll 1 of team 1: 7
Extra roll 1 of team 2: 7
Extra roll 2 of team 1: 4
Extra roll 2 of team 2: 3
Team 1 wins.
Pot 2.00, 1 winner: 2.00 each

seat 0: 2.00 in items
  keeps drop 0, 1.00
  keeps drop 1, 1.00

House: 0.00 removed - 0.00 added - 0.00 cash = 0.00
`, explained(t, d, Policy{Payout: Pool, Ties: ExtraRoll}, Labels{}))

	d = duel(Jackpot, true, []int64{100, 300})
	d.Draw = &script{word: func(string, uint64, uint64) uint64 { return 299 }}
	require.Contains(t, explained(t, d, Policy{Payout: Pool, Ties: SplitAll}, Labels{}), `Team 1: 1.00 (compared: 300)
Team 2: 3.00 (compared: 100)
Ticket drawn: 300
Team 1 wins.
`)

	require.Equal(t, `Team 1: 1.00
Team 2: 0.50
Everybody wins.
Pot 1.50, 2 winners: 0.75 each

seat 0: 0.60 in items, 0.15 in cash
  keeps drop 0, 0.60

seat 1: 0.50 in items, 0.25 in cash
  keeps drop 1, 0.50
  keeps drop 3, 0.00

Sold to the house: drop 2, 0.40
House: 0.40 removed - 0.00 added - 0.40 cash = 0.00
`, explained(t, duel(Shared, false, []int64{60, 50}, []int64{40, 0}), Policy{Payout: ExactCash, Ties: SplitAll}, Labels{}))
}

func TestExplainExcessAndOvershoot(t *testing.T) {
	for _, v := range loadVectors(t).Vectors {
		if v.ID == "S35" {
			d, _ := v.Input.drops(t)
			text := explained(t, d, sourcePolicy(v), Labels{})
			require.Contains(t, text, "To the house: drop 8, 0.40, in excess of seat 1's share\n")
			require.Contains(t, text, "seat 1: 2.85 in items, 0.05 above the share\n")
			require.Contains(t, text, "= -0.02\n")
		}
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken pipe")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestExplainReturnsTheWritersError(t *testing.T) {
	require.ErrorIs(t, Settlement{Outcome: Refunded}.Explain(brokenWriter{}, Labels{}), errBroken)
}
