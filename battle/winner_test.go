package battle

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// duel is a battle of one-seat teams; rounds[r][team] are values.
func duel(mode Mode, lowest bool, rounds ...[]int64) Drops {
	d := Drops{Layout: Layout{Teams: len(rounds[0]), Size: 1}, Mode: mode, Lowest: lowest}
	for _, round := range rounds {
		for _, v := range round {
			d.Drops = append(d.Drops, Drop{Item: int32(len(d.Drops)), Value: v})
		}
	}
	return d
}

func TestModes(t *testing.T) {
	rounds := [][]int64{{50, 20, 10}, {1, 20, 10}, {3, 2, 40}}
	for _, c := range []struct {
		mode   Mode
		lowest bool
		team   int
		scores Amounts
	}{
		{Normal, false, 3, Amounts{54, 42, 60}},
		{Normal, true, 2, Amounts{54, 42, 60}},
		{Terminal, false, 3, Amounts{3, 2, 40}},
		{Terminal, true, 2, Amounts{3, 2, 40}},
		{Shared, false, 0, Amounts{54, 42, 60}},
		{Points, false, 0, Amounts{1, 1, 1}},
		{Points, true, 0, Amounts{1, 1, 1}},
	} {
		s, err := Settle(duel(c.mode, c.lowest, rounds...), Policy{Payout: WholeItems, Ties: SplitAll})
		require.NoError(t, err)
		require.Equal(t, c.team, s.Team, "%v lowest=%v", c.mode, c.lowest)
		require.Equal(t, c.scores, s.Scores)
		require.Equal(t, Amounts{54, 42, 60}, s.Totals)
		require.Equal(t, int64(156), s.Value, "the whole pot is shared in every mode")
	}
}

func TestPointsCountsTiedRoundsForEachOfTheTied(t *testing.T) {
	d := duel(Points, false, []int64{5, 5, 1}, []int64{7, 1, 7}, []int64{0, 0, 0})
	s, err := Settle(d, Policy{Payout: WholeItems, Ties: SplitAll})
	require.NoError(t, err)
	require.Equal(t, Amounts{3, 2, 2}, s.Scores)
	require.Equal(t, 1, s.Team)

	d.Lowest = true // a point for the lowest in a round; most points still win
	s, err = Settle(d, Policy{Payout: WholeItems, Ties: SplitAll})
	require.NoError(t, err)
	require.Equal(t, Amounts{1, 2, 2}, s.Scores)
	require.Equal(t, []any{Tied, 0}, []any{s.Outcome, s.Team})
}

func TestTiePolicies(t *testing.T) {
	d := duel(Normal, false, []int64{8, 3, 8})
	for _, c := range []struct {
		ties    Ties
		outcome OutcomeKind
		winners []int
	}{
		{SplitAll, Tied, []int{0, 1, 2}},
		{SplitTied, Tied, []int{0, 2}},
		{Refund, Refunded, nil},
	} {
		s, err := Settle(d, Policy{Payout: Pool, Ties: c.ties})
		require.NoError(t, err)
		require.Equal(t, c.outcome, s.Outcome)
		require.Equal(t, c.winners, s.Winners)
		require.Zero(t, s.Team)
	}
	refunded, err := Settle(d, Policy{Payout: PoolCash, Ties: Refund})
	require.NoError(t, err)
	require.Equal(t, Settlement{Outcome: Refunded, Totals: Amounts{8, 3, 8}, Scores: Amounts{8, 3, 8}}, refunded)
	require.Zero(t, refunded.Profit(0, 100))
}

// rolls scripts the extra rolls: rolls[attempt][team].
func rolls(table ...map[int]uint64) *script {
	return &script{word: func(label string, i, j uint64) uint64 {
		if label != "tie" || int(i) >= len(table) || table[i][int(j)] == 0 {
			panic("not to be asked")
		}
		return table[i][int(j)] - 1 // a roll is the word plus one, below 10,000,000
	}}
}

func TestExtraRolls(t *testing.T) {
	level := duel(Normal, false, []int64{8, 3, 8, 8})
	for _, c := range []struct {
		name   string
		lowest bool
		values []int64
		draw   *script
		team   int
		rolls  []TieRoll
	}{
		{
			"the highest wins", false,
			[]int64{8, 3, 8, 8},
			rolls(map[int]uint64{1: 5, 3: 10_000_000, 4: 1}), 3,
			[]TieRoll{{0, 1, 5}, {0, 3, 10_000_000}, {0, 4, 1}},
		},
		{
			"with lowest the lowest", true,
			[]int64{8, 9, 8, 8},
			rolls(map[int]uint64{1: 5, 3: 10_000_000, 4: 1}), 4,
			[]TieRoll{{0, 1, 5}, {0, 3, 10_000_000}, {0, 4, 1}},
		},
		{
			"only those still level roll again", false,
			[]int64{8, 3, 8, 8},
			rolls(map[int]uint64{1: 6, 3: 2, 4: 6}, map[int]uint64{1: 9, 4: 9}, map[int]uint64{1: 3, 4: 4}), 4,
			[]TieRoll{{0, 1, 6}, {0, 3, 2}, {0, 4, 6}, {1, 1, 9}, {1, 4, 9}, {2, 1, 3}, {2, 4, 4}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := duel(Normal, c.lowest, c.values)
			d.Draw = c.draw
			s, err := Settle(d, Policy{Payout: WholeItems, Ties: ExtraRoll})
			require.NoError(t, err)
			require.Equal(t, TeamWins, s.Outcome)
			require.Equal(t, c.team, s.Team)
			require.Equal(t, c.rolls, s.TieRolls)
			require.Equal(t, []int{c.team - 1}, s.Winners)
			require.Len(t, c.draw.asked, len(c.rolls))
		})
	}
	t.Run("no source", func(t *testing.T) {
		_, err := Settle(level, Policy{Payout: Pool, Ties: ExtraRoll})
		require.ErrorContains(t, err, "needs a source")
	})
	t.Run("bounded", func(t *testing.T) {
		d := level
		stuck := &script{word: func(string, uint64, uint64) uint64 { return 4 }}
		d.Draw = stuck
		s, err := Settle(d, Policy{Payout: Pool, Ties: ExtraRoll})
		require.ErrorContains(t, err, "256")
		require.Empty(t, s)
		require.Len(t, stuck.asked, 256*3)
	})
	t.Run("the last attempt counts", func(t *testing.T) {
		d := level
		d.Draw = &script{word: func(_ string, attempt, team uint64) uint64 { return attempt / 255 * team }}
		s, err := Settle(d, Policy{Payout: Pool, Ties: ExtraRoll})
		require.NoError(t, err)
		require.Equal(t, 4, s.Team)
	})
}

// Every ticket there is: each team wins as often as its weight says.
func TestJackpotWeights(t *testing.T) {
	for _, c := range []struct {
		name   string
		lowest bool
		values []int64
		scores Amounts
	}{
		{"own total", false, []int64{5, 0, 1, 14}, Amounts{5, 0, 1, 14}},
		{"lowest: all but the own total", true, []int64{5, 0, 1, 14}, Amounts{15, 20, 19, 6}},
		{"nothing of value", false, []int64{0, 0, 0}, Amounts{1, 1, 1}},
		{"nothing of value, lowest", true, []int64{0, 0, 0}, Amounts{1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sum int64
			for _, w := range c.scores {
				sum += w
			}
			wins := make(Amounts, len(c.values))
			for ticket := range uint64(sum) {
				d := duel(Jackpot, c.lowest, c.values)
				d.Draw = &script{word: func(string, uint64, uint64) uint64 { return ticket }}
				s, err := Settle(d, Policy{Payout: Pool, Ties: SplitAll})
				require.NoError(t, err)
				require.Equal(t, c.scores, s.Scores)
				require.Equal(t, ticket+1, s.Ticket)
				require.Equal(t, TeamWins, s.Outcome)
				require.Equal(t, []int{s.Team - 1}, s.Winners)
				wins[s.Team-1]++
			}
			require.Equal(t, c.scores, wins)
		})
	}
	_, err := Settle(duel(Jackpot, false, []int64{1, 2}), Policy{Payout: Pool, Ties: SplitAll})
	require.ErrorContains(t, err, "needs a source")
}

func TestTicketBeyondTheWeightsIsImpossible(t *testing.T) {
	require.Panics(t, func() { holderOf([]int64{1, 2}, 4) })
}
