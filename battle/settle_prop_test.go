package battle

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse/fair"
)

// script is a source of draws whose words are fixed by path: the same path always gives the same word, again and again.
type script struct {
	word  func(label string, i, j uint64) uint64
	asked []string
}

type fixedWord uint64

func (w fixedWord) Uint64() uint64 { return uint64(w) }

func (s *script) At(label string, i, j uint64) fair.Words {
	s.asked = append(s.asked, label+"/"+strconv.FormatUint(i, 10)+"/"+strconv.FormatUint(j, 10))
	return fixedWord(s.word(label, i, j))
}

// mixed gives words that differ by path and by seed, small enough to be a roll less one.
func mixed(seed uint64) *script {
	return &script{word: func(_ string, i, j uint64) uint64 {
		x := seed + i*0x9E3779B97F4A7C15 + j*0xBF58476D1CE4E5B9
		x ^= x >> 31
		x *= 0x94D049BB133111EB
		return (x ^ x>>29) >> 16 % 7 // seven different rolls only: ties occur
	}}
}

// drawDrops draws a battle. Copies of an item have equal values, as in the source.
func drawDrops(t *rapid.T) (Drops, []int64) {
	d := Drops{
		Layout: Layout{Teams: rapid.IntRange(2, MaxTeams).Draw(t, "teams"), Size: rapid.IntRange(1, MaxTeamSize).Draw(t, "size")},
		Mode:   rapid.SampledFrom([]Mode{Normal, Shared, Terminal, Jackpot, Points}).Draw(t, "mode"),
		Draw:   mixed(rapid.Uint64().Draw(t, "draws")),
	}
	if d.Mode != Shared {
		d.Lowest = rapid.Bool().Draw(t, "lowest")
	}
	rounds := rapid.IntRange(1, min(10, 1+60/d.Layout.Seats())).Draw(t, "rounds")
	top := rapid.SampledFrom([]int64{2, 9, 300, 20_000, MaxCents}).Draw(t, "top")
	value := rapid.Int64Range(0, top)
	heavy := rapid.Int64Range(top/2, top)
	ids := map[int64]int32{}
	for range rounds * d.Layout.Seats() {
		v := value.Draw(t, "value")
		if rapid.IntRange(0, 9).Draw(t, "tail") > 0 {
			v /= 1 + top/50
		} else {
			v = heavy.Draw(t, "heavy")
		}
		if _, ok := ids[v]; !ok {
			ids[v] = int32(2 * len(ids)) // two items of each value
		}
		d.Drops = append(d.Drops, Drop{Item: ids[v] + rapid.Int32Range(0, 1).Draw(t, "copy"), Value: v})
	}
	filler := rapid.SampledFrom([]int64{1, 3, 40, 500}).Draw(t, "filler")
	catalogue := rapid.SliceOfN(rapid.Int64Range(filler-1, filler*40), 0, 12).Draw(t, "catalogue")
	c, err := NewCatalogue(catalogue)
	require.NoError(t, err)
	d.Catalogue = c
	return d, catalogue
}

func drawPolicy(t *rapid.T) Policy {
	p := Policy{
		Payout: rapid.SampledFrom([]Payout{Pool, PoolCash, ExactCash, WholeItems}).Draw(t, "payout"),
		Ties:   rapid.SampledFrom([]Ties{SplitAll, SplitTied, ExtraRoll, Refund}).Draw(t, "ties"),
	}
	if p.Payout <= PoolCash {
		p.Unsorted = rapid.Bool().Draw(t, "unsorted")
	}
	return p
}

// settled settles, and skips the rare battle whose tie is never broken by the seven rolls of mixed.
func settled(t *rapid.T, d Drops, p Policy) Settlement {
	s, err := Settle(d, p)
	if err != nil {
		require.ErrorContains(t, err, "still level after 256 rolls")
		t.Skip("never resolved")
	}
	return s
}

func TestPoolEqualsTheSourceModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, catalogue := drawDrops(t)
		d.Mode = rapid.SampledFrom([]Mode{Normal, Shared}).Draw(t, "source mode")
		d.Lowest = d.Lowest && d.Mode == Normal
		unsorted := rapid.Bool().Draw(t, "unsorted")
		s, err := Settle(d, Policy{Payout: Pool, Ties: SplitAll, Unsorted: unsorted})
		require.NoError(t, err)
		want := sourceBattleOf(d, catalogue).settle(unsorted)

		user := func(w int) string { return "u" + strconv.Itoa(s.Winners[w]) }
		require.Equal(t, want.team, s.Team)
		require.Len(t, s.Winners, len(want.users))
		for w, b := range s.Bundles {
			require.Equal(t, want.users[w], user(w))
			require.Equal(t, want.piles[user(w)].total, b.Items)
		}
		var rows []sourceItem
		for _, r := range s.Records {
			row := sourceItem{user: user(int(r.Winner)), cents: r.Value, drop: int(r.Drop)}
			switch r.Type {
			case Dropped:
				row.kind = "DROPPED"
			case RemovedToPool:
				row.kind = "REMOVED_TO_POOL"
			case AddedFromPool:
				row.kind, row.item = "ADDED_FROM_POOL", "c"+strconv.Itoa(int(r.Catalogue))
			}
			if r.Type != AddedFromPool {
				row.item = "i" + strconv.Itoa(int(d.Drops[int(r.Drop)].Item))
				row.round = int(r.Booked)/d.Layout.Seats() + 1
			}
			rows = append(rows, row)
		}
		require.Equal(t, want.rows, rows)
	})
}

func TestNothingIsCreatedOrLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, catalogue := drawDrops(t)
		p := drawPolicy(t)
		s := settled(t, d, p)
		if s.Outcome == Refunded {
			require.Equal(t, Settlement{Outcome: Refunded, Totals: s.Totals, Scores: s.Scores}, s)
			return
		}
		var pot, removed, added, items, cash int64
		for _, drop := range d.Drops {
			pot += drop.Value
		}
		moved := map[int]int{}
		holds := make([]int64, len(s.Winners))
		count := make([]int, len(s.Winners))
		for _, r := range s.Records {
			switch r.Type {
			case Dropped, RemovedToPool:
				moved[int(r.Drop)]++
				require.Equal(t, d.Drops[int(r.Drop)], d.Drops[int(r.Booked)])
				require.Equal(t, d.Drops[int(r.Drop)].Value, r.Value)
				require.Equal(t, -1, int(r.Catalogue))
			case AddedFromPool:
				require.Equal(t, []int{-1, -1}, []int{int(r.Drop), int(r.Booked)})
				require.Equal(t, catalogue[int(r.Catalogue)], r.Value)
				require.Equal(t, slices.Index(catalogue, r.Value), int(r.Catalogue), "the first of equals")
				require.Positive(t, r.Value)
				added += r.Value
				count[int(r.Winner)]++
			}
			if r.Type == RemovedToPool {
				removed += r.Value
				require.Equal(t, p.Payout == ExactCash, int(r.Winner) == -1)
			} else {
				holds[int(r.Winner)] += r.Value
			}
		}
		for i := range d.Drops {
			require.Equal(t, 1, moved[i], "drop %d", i)
		}
		n := int64(len(s.Winners))
		require.Equal(t, pot, s.Value)
		require.Equal(t, pot, s.Share*n+s.Remainder)
		require.Less(t, s.Remainder, n)
		var residual, overshoot int64
		for w, b := range s.Bundles {
			require.Equal(t, s.Winners[w], b.Seat)
			require.Equal(t, holds[w], b.Items)
			require.Equal(t, b.Items, b.Kept+b.Added)
			require.Equal(t, count[w], b.AddedCount)
			require.LessOrEqual(t, b.AddedCount, 200)
			require.LessOrEqual(t, b.Kept, b.Distributed)
			require.GreaterOrEqual(t, b.Cash, int64(0))
			require.Equal(t, b.Items+b.Cash-7, s.Profit(b.Seat, 7))
			items += b.Items
			cash += b.Cash
			residual += max(s.Share-b.Items, 0)
			overshoot += max(b.Items-s.Share, 0)
		}
		require.Equal(t, []int64{removed, added, cash, residual, overshoot, pot - items - cash},
			[]int64{s.Removed, s.Added, s.Cash, s.Residual, s.Overshoot, s.HouseGain})
		require.Equal(t, s.HouseGain, removed-added-cash)
		require.Equal(t, s.HouseGain+cash, s.Remainder+residual-overshoot)
		for seat := range d.Layout.Seats() {
			if !slices.Contains(s.Winners, seat) {
				require.Equal(t, int64(-7), s.Profit(seat, 7))
			}
		}
	})
}

// The laws of Pool in its sorted reading, for n winners, share s and remainder ρ: at most n−1 drops are worth more than
// s; what is removed from a winner is worth 1..ρ; a winner above s is above it by no more than (ρ + x(n−1))/n and by
// less than x, his cheapest drop; at most n−1 are; a winner below s misses less than the cheapest catalogue item.
func TestPoolLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, catalogue := drawDrops(t)
		p := Policy{Payout: Pool, Ties: SplitAll}
		s := settled(t, d, p)
		n := int64(len(s.Winners))
		cheapest := make([]int64, n)
		over, above := int64(0), int64(0)
		for w := range cheapest {
			cheapest[w] = MaxCents + 1
		}
		for _, r := range s.Records {
			switch {
			case r.Type == Dropped:
				cheapest[int(r.Winner)] = min(cheapest[int(r.Winner)], r.Value)
			case r.Type == RemovedToPool && r.Value > s.Share:
				require.Equal(t, 0, int(r.Winner))
				over++
			case r.Type == RemovedToPool:
				require.Positive(t, r.Value)
				require.LessOrEqual(t, r.Value, s.Remainder)
			}
		}
		require.Less(t, over, n)
		filler := int64(-1)
		for _, v := range catalogue {
			if v > 0 && (filler < 0 || v < filler) {
				filler = v
			}
		}
		for w, b := range s.Bundles {
			if o := b.Items - s.Share; o > 0 {
				above++
				require.LessOrEqual(t, o*n, s.Remainder+cheapest[w]*(n-1))
				require.Less(t, o, cheapest[w])
				require.Zero(t, b.AddedCount)
			}
			if b.Kept < s.Share && filler > 0 && b.AddedCount < 200 {
				require.Less(t, s.Share-b.Items, filler)
			}
		}
		require.Less(t, above, n)
		if n == 1 {
			require.Zero(t, s.HouseGain)
		}
	})
}

func TestPoolCashPaysWhatPoolMisses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, _ := drawDrops(t)
		p := drawPolicy(t)
		p.Unsorted = rapid.Bool().Draw(t, "unsorted again")
		p.Payout = Pool
		pool := settled(t, d, p)
		p.Payout = PoolCash
		s := settled(t, d, p)
		require.Equal(t, pool.Records, s.Records)
		for w, b := range s.Bundles {
			want := max(0, s.Share-b.Items)
			if int64(w) < s.Remainder {
				want++
			}
			require.Equal(t, want, b.Cash)
			b.Cash = 0
			require.Equal(t, pool.Bundles[w], b)
		}
		require.Equal(t, -s.Overshoot, s.HouseGain)
		if s.Outcome != Refunded {
			require.Equal(t, s.Residual+s.Remainder, s.Cash)
		}
	})
}

func TestExactCashIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, _ := drawDrops(t)
		p := drawPolicy(t)
		p.Payout, p.Unsorted = ExactCash, false
		s := settled(t, d, p)
		for w, b := range s.Bundles {
			want := s.Share
			if int64(w) < s.Remainder {
				want++
			}
			require.Equal(t, want, b.Items+b.Cash)
			require.GreaterOrEqual(t, b.Cash, int64(0))
		}
		require.Zero(t, s.HouseGain)
		require.Equal(t, s.Removed, s.Cash)
		over := 0
		for _, r := range s.Records {
			if r.Type == RemovedToPool && r.Value > s.Share+1 {
				over++
			}
		}
		require.LessOrEqual(t, over, max(0, len(s.Winners)-1))
	})
}

func TestWholeItemsIsEnvyFreeUpToAnyItem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, _ := drawDrops(t)
		p := drawPolicy(t)
		p.Payout, p.Unsorted = WholeItems, false
		s := settled(t, d, p)
		require.Zero(t, s.HouseGain)
		require.Zero(t, s.Removed+s.Added+s.Cash)
		for _, r := range s.Records {
			require.Equal(t, Dropped, r.Type)
			if r.Value == 0 {
				continue
			}
			for _, b := range s.Bundles {
				require.LessOrEqual(t, s.Bundles[int(r.Winner)].Items-r.Value, b.Items)
			}
		}
	})
}

// Exchanging teams, and players within a team, changes who holds which bundle, but not one bundle's value.
func TestPermutingPlayersPermutesBundlesOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, _ := drawDrops(t)
		if d.Mode == Jackpot {
			d.Mode = Normal // the draw belongs to the seat, not to the player
		}
		p := drawPolicy(t)
		p.Unsorted = false
		if p.Ties == ExtraRoll {
			p.Ties = SplitTied
		}
		s := settled(t, d, p)

		l := d.Layout
		teams := rapid.Permutation(seq(l.Teams)).Draw(t, "teams")
		to := make([]int, l.Seats())
		for team := range teams {
			for slot, newSlot := range rapid.Permutation(seq(l.Size)).Draw(t, "slots") {
				to[team*l.Size+slot] = teams[team]*l.Size + newSlot
			}
		}
		e := d
		e.Drops = make([]Drop, len(d.Drops))
		for i, drop := range d.Drops {
			e.Drops[i-i%l.Seats()+to[i%l.Seats()]] = drop
		}
		moved := settled(t, e, p)

		require.Equal(t, s.Outcome, moved.Outcome)
		for team, total := range s.Totals {
			require.Equal(t, total, moved.Totals[teams[team]])
			require.Equal(t, s.Scores[team], moved.Scores[teams[team]])
		}
		var winners []int
		for _, seat := range s.Winners {
			winners = append(winners, to[seat])
		}
		slices.Sort(winners)
		require.Equal(t, winners, moved.Winners)
		for w := range s.Bundles {
			a, b := s.Bundles[w], moved.Bundles[w]
			a.Seat, b.Seat = 0, 0
			require.Equal(t, a, b)
		}
		require.Equal(t, s.HouseGain, moved.HouseGain)
	})
}

func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// contest is who wins, in the slowest words: a team leads if no other beats it.
func contest(scores []int64, lowest bool) (lead []int) {
	for a := range scores {
		beaten := false
		for b := range scores {
			beaten = beaten || !lowest && scores[b] > scores[a] || lowest && scores[b] < scores[a]
		}
		if !beaten {
			lead = append(lead, a+1)
		}
	}
	return lead
}

func TestWinnersAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, _ := drawDrops(t)
		if rapid.Bool().Draw(t, "narrow") { // so that teams are level often
			for i := range d.Drops {
				d.Drops[i].Value %= 3
			}
		}
		p := drawPolicy(t)
		s := settled(t, d, p)

		seats := d.Layout.Seats()
		rounds := len(d.Drops) / seats
		sum := func(team, from, to int) (total int64) {
			for i, drop := range d.Drops {
				if r := i / seats; d.Layout.Team(i%seats) == team && from <= r && r < to {
					total += drop.Value
				}
			}
			return total
		}
		table := func(from, to int) (out []int64) {
			for team := 1; team <= d.Layout.Teams; team++ {
				out = append(out, sum(team, from, to))
			}
			return out
		}
		totals := table(0, rounds)
		require.Equal(t, Amounts(totals), s.Totals)

		scores, lowest := totals, d.Lowest
		switch d.Mode {
		case Terminal:
			scores = table(rounds-1, rounds)
		case Points:
			scores = make([]int64, d.Layout.Teams)
			for r := range rounds {
				for _, team := range contest(table(r, r+1), d.Lowest) {
					scores[team-1]++
				}
			}
			lowest = false
		case Jackpot:
			require.Equal(t, []string{"jackpot/0/0"}, d.Draw.(*script).asked)
			require.Equal(t, TeamWins, s.Outcome)
			require.NotZero(t, s.Ticket)
			return // see TestJackpotWeights
		case Shared:
			require.Equal(t, Settlement{Outcome: EverybodyWins}, Settlement{Outcome: s.Outcome, Team: s.Team})
			require.Equal(t, seq(seats), s.Winners)
			return
		}
		require.Equal(t, Amounts(scores), s.Scores)
		require.Zero(t, s.Ticket)
		lead := contest(scores, lowest)
		if len(lead) > 1 && p.Ties == ExtraRoll {
			lead = rollOff(t, s.TieRolls, lead, d.Lowest)
		} else {
			require.Empty(t, s.TieRolls)
			require.Empty(t, d.Draw.(*script).asked)
		}
		var want []int
		for seat := range seats {
			if slices.Contains(lead, d.Layout.Team(seat)) || len(lead) > 1 && p.Ties == SplitAll {
				want = append(want, seat)
			}
		}
		outcome, team := Tied, 0
		switch {
		case len(lead) == 1:
			outcome, team = TeamWins, lead[0]
		case p.Ties == Refund:
			outcome, want = Refunded, nil
		}
		require.Equal(t, []any{outcome, team, want}, []any{s.Outcome, s.Team, s.Winners})
	})
}

// rollOff follows the rolls that were written down.
func rollOff(t *rapid.T, rolls []TieRoll, tied []int, lowest bool) []int {
	for attempt := 0; len(tied) > 1; attempt++ {
		var values []int64
		for _, team := range tied {
			require.NotEmpty(t, rolls)
			require.Equal(t, []int{attempt, team}, []int{rolls[0].Attempt, rolls[0].Team})
			values = append(values, int64(rolls[0].Roll))
			rolls = rolls[1:]
		}
		var still []int
		for _, i := range contest(values, lowest) {
			still = append(still, tied[i-1])
		}
		tied = still
	}
	require.Empty(t, rolls)
	return tied
}
