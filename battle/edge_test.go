package battle

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// edgeConfig is a battle of cases with the given values, each as likely as its number of rolls.
func edgeConfig(l Layout, mode Mode, price int64, catalogue []int64, cases ...[]face) Config {
	cfg := Config{ID: "edge", Creator: "ana", Asset: "BRL/2", Layout: l, Mode: mode}
	for i, faces := range cases {
		cs := Case{ID: "case" + text(int64(i)), Name: "Case", Price: price, Active: true}
		next := uint64(1)
		for row, f := range faces {
			id := text(int64(row))
			cs.Items = append(cs.Items, CaseItem{
				Row: id, Item: Item{ID: "item" + id, Name: "Item", Value: f.value}, First: next, Last: next + uint64(f.rolls) - 1,
			})
			next += uint64(f.rolls)
		}
		cfg.Cases = append(cfg.Cases, cs)
	}
	for i, v := range catalogue {
		cfg.Catalogue = append(cfg.Catalogue, Item{ID: "fill" + text(int64(i)), Name: "Filler", Value: v})
	}
	return cfg
}

func rat(a, b int64) *big.Rat { return big.NewRat(a, b) }

func requireRat(t *testing.T, want, got *big.Rat) {
	t.Helper()
	require.Equal(t, want.RatString(), got.RatString())
}

// By hand: 1v1 shared, one case, 99 with probability 1/4 and 1 otherwise, no catalogue. Equal drops (10/16): nothing
// lost. 99 and 1 (6/16): the share is 50, the 99 goes to the house.
func TestEdgeByHand(t *testing.T) {
	quarter := []face{{1, 7_500_000}, {99, 2_500_000}}
	cfg := edgeConfig(Layout{2, 1}, Shared, 30, nil, quarter)
	r, err := Edge(cfg, Policy{Payout: Pool, Ties: SplitAll}, EdgeOptions{})
	require.NoError(t, err)
	require.True(t, r.Exact)
	require.Equal(t, uint64(4), r.Battles)
	require.Equal(t, int64(60), r.Entries)
	requireRat(t, rat(2*102, 4), r.Value) // 99/4 + 3/4 = 102/4 a drop
	requireRat(t, rat(6*99, 16), r.Gain)
	requireRat(t, rat(0, 1), r.Loses)
	requireRat(t, new(big.Rat).Sub(rat(60, 1), rat(51*16-6*99, 16)), r.Margin)
	require.Zero(t, r.StdErr)

	// A catalogue of fifties gives one winner 49 + nothing, the other nothing + 50: 1 in the pile of the first, deficit 49.
	cfg = edgeConfig(Layout{2, 1}, Shared, 30, []int64{50}, quarter)
	r, err = Edge(cfg, Policy{Payout: Pool, Ties: SplitAll}, EdgeOptions{})
	require.NoError(t, err)
	requireRat(t, rat(6*(99-50), 16), r.Gain)

	for _, p := range []Payout{ExactCash, WholeItems} {
		r, err = Edge(cfg, Policy{Payout: p, Ties: SplitAll}, EdgeOptions{})
		require.NoError(t, err)
		requireRat(t, rat(0, 1), r.Gain)
		requireRat(t, rat(60-51, 1), r.Margin)
	}

	// Refund: level in 10 of 16 battles, in which the entries go back and nothing is handed out.
	cfg.Mode = Normal
	r, err = Edge(cfg, Policy{Payout: Pool, Ties: Refund}, EdgeOptions{})
	require.NoError(t, err)
	requireRat(t, rat(10, 16), r.Refunds)
	requireRat(t, rat(0, 1), r.Gain)
	requireRat(t, rat(6*(60-100), 16), r.Margin)
}

// By hand: 2v2, one case of 600, 500, 400, 0 as in the vectors, but each as likely: where the team gets 600+900 of 1500
// the house adds. Checked against all 256 outcomes settled one by one.
func TestEdgeAgainstEveryOutcome(t *testing.T) {
	faces := []face{{600, 1_000_000}, {500, 2_000_000}, {400, 3_000_000}, {0, 4_000_000}}
	for _, c := range []struct {
		mode   Mode
		lowest bool
		ties   Ties
	}{{Normal, false, SplitAll}, {Normal, true, SplitTied}, {Jackpot, false, SplitAll}, {Jackpot, true, SplitAll}, {Points, false, ExtraRoll}, {Shared, false, SplitAll}, {Terminal, false, Refund}} {
		cfg := edgeConfig(Layout{2, 2}, c.mode, 100, []int64{40, 7}, faces)
		cfg.Lowest = c.lowest
		for payout := Pool; payout <= WholeItems; payout++ {
			p := Policy{Payout: payout, Ties: c.ties, Unsorted: payout == PoolCash}
			r, err := Edge(cfg, p, EdgeOptions{})
			require.NoError(t, err)
			require.True(t, r.Exact)
			require.Equal(t, uint64(256), r.Battles)

			catalogue, err := NewCatalogue([]int64{40, 7})
			require.NoError(t, err)
			gain, value, loses, refunds, margin := new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat), new(big.Rat)
			for n := range 256 {
				d := Drops{Layout: cfg.Layout, Mode: c.mode, Lowest: c.lowest, Catalogue: catalogue}
				d.Draw = &script{word: func(_ string, _, team uint64) uint64 { return 100 - team }}
				chance := rat(1, 1)
				opened := int64(0)
				for range 4 {
					f := faces[n%4]
					n /= 4
					d.Drops = append(d.Drops, Drop{Value: f.value})
					opened += f.value
					chance.Mul(chance, rat(f.rolls, MaxRoll))
				}
				s, err := Settle(d, p)
				require.NoError(t, err)
				add := func(sum *big.Rat, v int64) { sum.Add(sum, new(big.Rat).Mul(chance, rat(v, 1))) }
				add(value, opened)
				add(gain, s.HouseGain)
				if s.HouseGain < 0 {
					add(loses, 1)
				}
				if s.Outcome == Refunded {
					add(refunds, 1)
					continue
				}
				paid := int64(0)
				for _, b := range s.Bundles {
					paid += b.Items + b.Cash
				}
				add(margin, 400-paid)
			}
			requireRat(t, gain, r.Gain)
			requireRat(t, value, r.Value)
			requireRat(t, loses, r.Loses)
			requireRat(t, refunds, r.Refunds)
			requireRat(t, margin, r.Margin)
		}
	}
}

func TestEdgeSimulatesWhatIsTooLarge(t *testing.T) {
	faces := []face{{600, 1_000_000}, {500, 2_000_000}, {400, 3_000_000}, {0, 4_000_000}}
	cfg := edgeConfig(Layout{2, 2}, Normal, 100, []int64{40, 7}, faces)
	p := Policy{Payout: Pool, Ties: SplitAll}
	exact, err := Edge(cfg, p, EdgeOptions{Outcomes: 256})
	require.NoError(t, err)
	require.True(t, exact.Exact)
	opts := EdgeOptions{Outcomes: 255, Battles: 4000, Seed: 9}
	sim, err := Edge(cfg, p, opts)
	require.NoError(t, err)
	require.False(t, sim.Exact)
	require.Equal(t, []uint64{4000, 9}, []uint64{sim.Battles, sim.Seed})
	require.Positive(t, sim.StdErr)
	want, _ := exact.Gain.Float64()
	got, _ := sim.Gain.Float64()
	require.InDelta(t, want, got, 5*sim.StdErr)
	require.Less(t, sim.StdErr, 10.0)
	wantValue, _ := exact.Value.Float64()
	gotValue, _ := sim.Value.Float64()
	require.InDelta(t, wantValue, gotValue, 40)

	again, err := Edge(cfg, p, opts)
	require.NoError(t, err)
	require.Equal(t, sim, again)
	opts.Seed++
	other, err := Edge(cfg, p, opts)
	require.NoError(t, err)
	require.NotEqual(t, sim.Gain.RatString(), other.Gain.RatString())

	always, err := Edge(cfg, p, EdgeOptions{Outcomes: -1, Battles: 2})
	require.NoError(t, err)
	require.False(t, always.Exact)

	large := edgeConfig(Layout{8, 4}, Jackpot, 100, nil, faces, faces, faces) // 4^96 outcomes
	r, err := Edge(large, p, EdgeOptions{Battles: 50})
	require.NoError(t, err)
	require.False(t, r.Exact)
}

// The standard error, against the plain formula.
func TestEdgeStandardError(t *testing.T) {
	// The gain is 99 with probability 6/16 and 0 otherwise: the sample's variance follows from its mean.
	cfg := edgeConfig(Layout{2, 1}, Shared, 30, nil, []face{{1, 7_500_000}, {99, 2_500_000}})
	r, err := Edge(cfg, Policy{Payout: Pool, Ties: SplitAll}, EdgeOptions{Outcomes: -1, Battles: 1000, Seed: 3})
	require.NoError(t, err)
	mean, _ := r.Gain.Float64()
	hits := mean * 1000 / 99
	variance := (hits*(99-mean)*(99-mean) + (1000-hits)*mean*mean) / 999
	require.InDelta(t, variance/1000, r.StdErr*r.StdErr, 1e-9)
}

func TestEdgeRefuses(t *testing.T) {
	cfg := edgeConfig(Layout{2, 1}, Normal, 30, nil, []face{{1, MaxRoll}})
	p := Policy{Payout: Pool, Ties: SplitAll}
	_, err := Edge(cfg, p, EdgeOptions{Battles: 1})
	require.ErrorContains(t, err, "1 battles")
	_, err = Edge(cfg, p, EdgeOptions{Battles: -1})
	require.ErrorContains(t, err, "-1 battles")
	_, err = Edge(cfg, Policy{}, EdgeOptions{})
	require.ErrorContains(t, err, "payout invalid(0)")
	_, err = Edge(cfg, Policy{}, EdgeOptions{Outcomes: -1})
	require.ErrorContains(t, err, "payout invalid(0)")
	_, err = Edge(Config{}, p, EdgeOptions{})
	require.ErrorIs(t, err, ErrConfig)
	require.Error(t, EdgeReport{}.Write(&strings.Builder{}))
}

func TestEdgeReportText(t *testing.T) {
	cfg := edgeConfig(Layout{2, 1}, Shared, 30, nil, []face{{1, 7_500_000}, {99, 2_500_000}})
	r, err := Edge(cfg, Policy{Payout: Pool, Ties: SplitAll}, EdgeOptions{})
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, r.Write(&b))
	require.Equal(t, `edge: 1v1 shared, payout pool, ties split_all (exact, 4 outcomes)
entries  60
opened   51.0000
gain     37.1250 (72.794 % of what is opened)
loses in 0.000 % of battles, refunds in 0.000 %
margin   46.1250
`, b.String())

	cfg.Mode, cfg.Lowest = Normal, true
	r, err = Edge(cfg, Policy{Payout: WholeItems, Ties: Refund}, EdgeOptions{Outcomes: -1, Battles: 16, Seed: 5})
	require.NoError(t, err)
	b.Reset()
	require.NoError(t, r.Write(&b))
	require.Contains(t, b.String(), "edge: 1v1 normal lowest, payout whole_items, ties refund (16 simulated battles, seed 5)\n")
	require.Contains(t, b.String(), "gain     0.0000 ± 0.0000 (0.000 % of what is opened)\n")
	require.ErrorIs(t, r.Write(brokenWriter{}), errBroken)
}

// Items of one value are one face, wherever they stand in the case.
func TestEdgeJoinsItemsOfOneValue(t *testing.T) {
	cfg := edgeConfig(Layout{2, 1}, Shared, 30, nil, []face{{1, 2_500_000}, {99, 2_500_000}, {1, 5_000_000}})
	r, err := Edge(cfg, Policy{Payout: Pool, Ties: SplitAll}, EdgeOptions{})
	require.NoError(t, err)
	require.Equal(t, uint64(4), r.Battles)
	requireRat(t, rat(6*99, 16), r.Gain)
}

func TestRollBeyondTheFacesIsImpossible(t *testing.T) {
	require.Equal(t, int64(7), draw([]face{{3, 2}, {7, 1}}, 2))
	require.Equal(t, int64(3), draw([]face{{3, 2}, {7, 1}}, 1))
	require.Panics(t, func() { draw([]face{{3, 2}, {7, 1}}, 3) })
}
