package battle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/fair/legacy"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// alwaysFlips is a case whose second roulette turns every time.
func alwaysFlips(id string) Case {
	c := oneItem(id, 500)
	c.FlipThreshold = 1
	return c
}

// timed is one phase and when it ends, in ms after the start of the battle.
type timed struct {
	phase Phase
	round int
	ends  int64
}

func timeline(g *game) []timed {
	var out []timed
	for _, p := range eventsOf[PhaseStarted](g) {
		out = append(out, timed{p.Phase, p.Round, p.EndsAt - g.s.d.StartedAt})
	}
	return out
}

func TestTimelineWithAndWithoutFlip(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*Config)
		want []timed
		ends int64
	}{
		{"announced by the source", func(*Config) {}, []timed{
			{PhaseCountdown, 0, 3000},
			{PhaseRoundStarting, 1, 3500},
			{PhaseSpinning, 1, 3500 + 8550},
			{PhaseRoundComplete, 1, 13_050},
			{PhaseRoundStarting, 2, 13_550},
			{PhaseSpinning, 2, 13_550 + 22_050},
			{PhaseRoundComplete, 2, 36_600},
		}, 36_600},
		{"waited for by the source", func(c *Config) { c.Compat.SourceTimeline = true }, []timed{
			{PhaseCountdown, 0, 3000},
			{PhaseRoundStarting, 1, 3000},
			{PhaseSpinning, 1, 11_550},
			{PhaseRoundComplete, 1, 11_550},
			{PhaseRoundStarting, 2, 11_550},
			{PhaseSpinning, 2, 33_600},
			{PhaseRoundComplete, 2, 33_600},
		}, 33_600},
		{"phases of no length", func(c *Config) { c.Timeline = Timeline{0, 0, 7, 0, 0} }, []timed{
			{PhaseCountdown, 0, 0},
			{PhaseRoundStarting, 1, 0},
			{PhaseSpinning, 1, 7},
			{PhaseRoundComplete, 1, 7},
			{PhaseRoundStarting, 2, 7},
			{PhaseSpinning, 2, 7},
			{PhaseRoundComplete, 2, 7},
		}, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := finished(t, testConfig(c.edit, func(c *Config) { c.Cases = []Case{oneItem("plain", 100), alwaysFlips("flip")} }))
			require.Equal(t, c.want, timeline(g))
			require.Equal(t, c.ends, g.s.d.EndedAt-g.s.d.StartedAt)
			require.Equal(t, start.Add(time.Duration(c.ends)*time.Millisecond), g.turns[len(g.turns)-1].At)
		})
	}
}

// TestAPhaseStartsWhenItsStepComes: a host that was away is late, and the next phase lasts its full time.
func TestAPhaseStartsWhenItsStepComes(t *testing.T) {
	g := started(t, testConfig())
	g.wait(3000 + 60_000)
	g.tick()
	require.Equal(t, timed{PhaseRoundStarting, 1, 63_500}, timeline(g)[1])
	require.Equal(t, glasshouse.Deadline{Key: "phase/1/round_starting", At: start.Add(63_500 * time.Millisecond)}, g.s.Deadline())
}

func TestTickStepsAllThatIsDueAndNoMore(t *testing.T) {
	cfg := testConfig(func(c *Config) { c.Timeline = Timeline{3000, 0, 10, 10, 0} })
	money := fundedLedger(t, func() time.Time { return start }, cfg.Asset)
	table := openTable(t, money, cfg)
	do := func(actor string, cmd Command) {
		_, err := table.Do(t.Context(), glasshouse.Input{Actor: actor, At: start}, cmd)
		require.NoError(t, err)
	}
	do(system, Create{})
	do("bob", Join{Team: 2})
	tick := func(ms int64) []string {
		turns, err := table.Tick(t.Context(), start.Add(time.Duration(ms)*time.Millisecond))
		require.NoError(t, err)
		var out []string
		for _, turn := range turns {
			out = append(out, kindsOf(turn)[len(turn.Events)-1]+" "+table.State().d.Phase.String())
		}
		return out
	}
	require.Empty(t, tick(2999))
	require.Len(t, tick(3000), 2, "round starting, of no length, and spinning")
	require.Empty(t, tick(3009))
	require.Len(t, tick(3010), 3, "complete, starting, spinning")
	require.Len(t, tick(3020), 2, "complete and the settlement")
	require.Equal(t, StatusFinished, table.State().Status())
	require.Empty(t, tick(9_000_000))
}

func TestTheWaitingTimeIsNeverRenewed(t *testing.T) {
	g := created(t, testConfig(withLayout(2, 2)))
	want := glasshouse.Deadline{Key: "expiry", At: start.Add(30 * time.Minute)}
	for _, do := range []func(){
		func() { g.do("bob", Join{Team: 2}) }, func() { g.do("bob", Seed{"x"}) }, func() { g.do("bob", Leave{}) },
		func() { g.do("bob", Join{Team: 1}) }, func() { g.do("ana", Seed{"y"}) },
		func() {
			s, err := Restore(g.cfg, g.s.Snapshot())
			require.NoError(t, err)
			g.s = s
		},
	} {
		g.wait(60_000)
		do()
		require.Equal(t, want, g.s.Deadline())
		require.Equal(t, want.At.UnixMilli(), g.s.View("").ExpiresAt)
		require.Zero(t, g.s.View("").PhaseEndsAt)
	}
}

func TestNoncesDoNotRenewTheirPhase(t *testing.T) {
	for late, ends := range map[int64]int64{0: 500, 200: 500, 500: 500, 900: 900} {
		g := started(t, testConfig(legacy52))
		g.tick()
		require.Empty(t, g.s.Deadline(), "the round waits for the nonces")
		require.Zero(t, eventsOf[PhaseStarted](g)[1].EndsAt)
		require.Zero(t, g.s.View("").PhaseEndsAt)
		phaseAt := g.now
		g.wait(late)
		g.do(system, Nonces{1, []int64{1, 2}})
		require.Equal(t, glasshouse.Deadline{Key: "phase/1/round_starting", At: phaseAt.Add(time.Duration(ends) * time.Millisecond)}, g.s.Deadline())
	}
}

func TestTimeNeverRunsBackwards(t *testing.T) {
	g := created(t, testConfig())
	g.now = start.Add(-time.Hour)
	turn := g.do("bob", Join{Team: 2})
	require.Equal(t, start, turn.At)
	require.Equal(t, start.Add(3*time.Second), g.s.Deadline().At)
	g.now = start.Add(999_999 * time.Nanosecond)
	require.Equal(t, start, mustTurn(t, g, created(t, testConfig(func(c *Config) { c.ID = "b2" }))).At, "whole milliseconds")
}

func mustTurn(t *testing.T, clock, g *game) Turn {
	t.Helper()
	g.now = clock.now
	return g.do("bob", Join{Team: 2})
}

func TestLeaveAndComeBack(t *testing.T) {
	g := created(t, testConfig(withLayout(2, 2)))
	g.do("bob", Join{Team: 1, ClientSeed: "first"})
	require.EqualValues(t, 200, g.spent("bob"))
	require.EqualValues(t, 400, g.escrow())
	turn := g.do("bob", Leave{})
	require.Equal(t, []Event{Left{"bob", 1}}, turn.Events)
	require.Zero(t, g.spent("bob"))
	require.EqualValues(t, 200, g.escrow())
	require.Equal(t, []string{"ana", "", "", ""}, seated(g))
	require.Empty(t, g.s.View("").Seats[1].ClientSeed, "his words go with him")
	g.refused("bob", Leave{}, ErrNotJoined)

	g.do("bob", Join{Team: 2})
	g.do("cid", Join{Team: 1})
	g.do("cid", Leave{})
	g.do("dan", Join{Team: 1})
	g.do("cid", Join{Team: 2})
	g.finish()
	require.Equal(t, []string{"ana", "dan", "bob", "cid"}, seated(g))
	require.Zero(t, g.escrow())
	report, err := Verify(g.record())
	require.NoError(t, err)
	require.True(t, report.OK(), report)
	g.audited()
}

// TestEveryEndWithoutWinnersPaysEverybodyBackOnce with people and bots, in every state that allows it.
func TestEveryEndWithoutWinnersPaysEverybodyBackOnce(t *testing.T) {
	threeInFour := func(t *testing.T, edit ...func(*Config)) *game {
		g := created(t, testConfig(append(edit, withLayout(2, 2))...))
		g.do("bob", Join{Team: 2, ClientSeed: "x"})
		g.do("cid", Join{Team: 1})
		return g
	}
	withBots := func(t *testing.T, edit ...func(*Config)) *game {
		g := threeInFour(t, edit...)
		g.do("ana", AddBots{})
		require.EqualValues(t, 800, g.escrow())
		require.EqualValues(t, -200, g.balance(HouseAccount), "the house pays for its bot")
		return g
	}
	for _, c := range []struct {
		name string
		end  func(t *testing.T) *game
		want Cancelled
	}{
		{"creator cancels", func(t *testing.T) *game {
			g := threeInFour(t)
			g.do("ana", Cancel{})
			return g
		}, Cancelled{Reason: "cancelled"}},
		{"nobody comes", func(t *testing.T) *game {
			g := threeInFour(t)
			g.tick()
			return g
		}, Cancelled{Reason: "expired"}},
		{"host voids a waiting battle", func(t *testing.T) *game {
			g := threeInFour(t)
			g.do(system, Void{"cancelled"}) // his words, whatever they are
			return g
		}, Cancelled{Void: true, Reason: "cancelled"}},
		{"beacon does not come", func(t *testing.T) *game {
			g := withBots(t, withBeacon)
			g.tick()
			return g
		}, Cancelled{Reason: "beacon_missing"}},
		{"host voids before the beacon", func(t *testing.T) *game {
			g := withBots(t, withBeacon)
			g.do(system, Void{""})
			return g
		}, Cancelled{Void: true}},
		{"host voids in the countdown of a Legacy52 battle", func(t *testing.T) *game {
			g := withBots(t, legacy52)
			g.do(system, Void{"no nonces"})
			return g
		}, Cancelled{Void: true, Reason: "no nonces"}},
		{"host voids before the first nonces", func(t *testing.T) *game {
			g := withBots(t, legacy52)
			g.tick()
			g.do(system, Void{"no nonces"})
			return g
		}, Cancelled{Void: true, Reason: "no nonces"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := c.end(t)
			for _, p := range []string{"ana", "bob", "cid"} {
				require.Zero(t, g.spent(p), p)
			}
			require.Zero(t, g.balance(HouseAccount))
			require.Zero(t, g.escrow())
			require.Equal(t, StatusCancelled, g.s.Status())
			require.Empty(t, g.s.Deadline())
			require.Equal(t, []Cancelled{c.want}, eventsOf[Cancelled](g))
			require.Equal(t, &c.want, g.s.View("").Cancelled)
			require.Equal(t, g.now.UnixMilli(), g.s.View("").EndedAt)
			require.Equal(t, g.s.life().Commitment(), commitmentOf(t, g), "the seed that is shown is the one of the commitment")

			g.refused(system, Expire{expiryKey}, ErrStaleKey)
			last := g.turns[len(g.turns)-1]
			receipt, err := g.money.Do(t.Context(), g.s.Tx(Key("b1"), last))
			require.NoError(t, err)
			require.True(t, receipt.Replayed, "the same Tx again pays nothing again")
			doc, err := g.money.Doc(t.Context(), Key("b1"))
			require.NoError(t, err)
			require.True(t, doc.Sealed)
			require.Equal(t, "cancelled", doc.Status)
			g.audited()
			report, err := Verify(g.record())
			require.NoError(t, err)
			require.True(t, report.OK(), report)
		})
	}
}

// commitmentOf is the commitment to the seed that was revealed.
func commitmentOf(t *testing.T, g *game) fair.Digest {
	t.Helper()
	shown := eventsOf[SeedRevealed](g)
	require.Len(t, shown, 1)
	require.Equal(t, shown[0].Seed, g.s.View("").ServerSeed)
	seed, err := fair.ParseSeed(string(shown[0].Seed))
	require.NoError(t, err)
	c, err := seed.Commit(g.cfg.ID)
	require.NoError(t, err)
	return c
}

func TestVoidPaysNothingOnceARollIsKnown(t *testing.T) {
	g := started(t, testConfig(legacy52))
	g.tick()
	g.do(system, Nonces{1, []int64{1, 2}})
	g.refused(system, Void{"too late"}, ErrRollsKnown)
	g.tick()
	g.refused(system, Void{"too late"}, ErrRollsKnown)
	g.until(PhaseRoundStarting, 2)
	g.refused(system, Void{"too late"}, ErrRollsKnown)
	g.finish()
}

// TestRollsFollowFromWhatWasPublished derives all rolls of a battle again, from the record's facts alone.
func TestRollsFollowFromWhatWasPublished(t *testing.T) {
	for name, edit := range map[string]func(*Config){"without": func(*Config) {}, "with a beacon": withBeacon} {
		t.Run(name, func(t *testing.T) {
			g := created(t, testConfig(edit, withLayout(2, 2)))
			g.do("bob", Join{Team: 2, ClientSeed: "not this"})
			g.do("bob", Seed{"but this"})
			g.do("ana", AddBots{"and that"})
			g.finish()

			hash, err := g.cfg.Hash()
			require.NoError(t, err)
			transcript := fair.Transcript{
				Kind: "battle", Session: "b1", Commitment: commitmentOf(t, g), ConfigHash: hash,
				Tables: eventsOf[Created](g)[0].Tables,
				Contributions: []fair.Contribution{
					{Player: "ana", Seed: []byte("and that")},
					{Player: "bot:1", Operator: true},
					{Player: "bob", Seed: []byte("but this")},
					{Player: "bot:2", Operator: true},
				},
			}
			var desc fair.Descriptor
			var target uint64
			var beacon *fair.Beacon
			if g.cfg.Beacon != nil {
				// The Unix second of the start less the genesis, in rounds of 3 s from 1, and 2 rounds later.
				target = uint64((start.Unix()-1000)/3) + 1 + 2
				b := beaconOf(target)
				desc, beacon = drandOfTests().Descriptor(), &b
			}
			freeze, err := transcript.Freeze(desc, target)
			require.NoError(t, err)
			require.Equal(t, []Started{{freeze, target}}, eventsOf[Started](g))
			seed, err := fair.ParseSeed(string(eventsOf[SeedRevealed](g)[0].Seed))
			require.NoError(t, err)
			root, err := fair.NewRoot(seed, freeze, desc, target, beacon)
			require.NoError(t, err)

			rolls := eventsOf[Rolled](g)
			require.Len(t, rolls, 8)
			for i, r := range rolls {
				round, seat := i/4+1, i%4
				require.Equal(t, fair.Roll(root.At("roll", uint64(round), uint64(seat)), 10_000_000), r.Roll)
				require.Equal(t, Path{"roll", uint64(round), uint64(seat)}, r.Path)
				row, flip := sourceItemOf(testCase(), r.Roll)
				require.Equal(t, row, r.Row)
				require.Equal(t, flip, r.Flip)
			}
		})
	}
}

// sourceItemOf is the source's search: from the threshold on first among the items that begin there or later.
func sourceItemOf(c Case, roll uint64) (row int, flip bool) {
	covers := func(it CaseItem) bool { return it.First <= roll && roll <= it.Last }
	if c.FlipThreshold > 0 && roll >= c.FlipThreshold {
		for i, it := range c.Items {
			if it.First >= c.FlipThreshold && covers(it) {
				return i, true
			}
		}
	}
	return slices.IndexFunc(c.Items, covers), false
}

func TestAFlipNeedsAnItemThatLiesAboveTheThreshold(t *testing.T) {
	s, err := New(testConfig())
	require.NoError(t, err)
	for roll, want := range map[uint64]struct {
		row  int
		flip bool
	}{
		1: {0, false}, 5_000_000: {0, false}, 5_000_001: {1, false}, 8_000_001: {2, false}, 8_999_999: {2, false},
		9_000_000: {2, false}, 9_500_000: {2, false}, // the item straddles the threshold
		9_500_001: {3, true}, 10_000_000: {3, true},
	} {
		row, flip := s.setup.item(1, roll)
		require.Equal(t, want.row, row, roll)
		require.Equal(t, want.flip, flip, roll)
	}
	rapid.Check(t, func(t *rapid.T) {
		cuts := rapid.SliceOfNDistinct(rapid.Uint64Range(1, MaxRoll-1), 1, 6, rapid.ID).Draw(t, "cuts")
		slices.Sort(cuts)
		c := Case{ID: "x", Price: 1, Active: true, FlipThreshold: rapid.OneOf(rapid.Just(uint64(0)), rapid.SampledFrom(cuts), rapid.Uint64Range(1, MaxRoll)).Draw(t, "threshold")}
		first := uint64(1)
		for i, cut := range append(cuts, MaxRoll) {
			c.Items = append(c.Items, CaseItem{Row: fmt.Sprint("r", i), Item: Item{ID: "i"}, First: first, Last: cut})
			first = cut + 1
		}
		c.Items = rapid.Permutation(c.Items).Draw(t, "order")
		s, err := New(testConfig(func(cfg *Config) { cfg.Cases = []Case{c} }))
		require.NoError(t, err)
		roll := rapid.OneOf(rapid.SampledFrom(cuts), rapid.Uint64Range(1, MaxRoll), rapid.Just(c.FlipThreshold+1)).Draw(t, "roll")
		roll = min(roll, MaxRoll)
		row, flip := s.setup.item(1, roll)
		wantRow, wantFlip := sourceItemOf(c, roll)
		require.Equal(t, wantRow, row)
		require.Equal(t, wantFlip, flip)
	})
}

func TestBeaconIsAwaitedAndThenCounted(t *testing.T) {
	g := started(t, testConfig(withBeacon))
	_, target := g.s.life().Target()
	due := time.Unix(1000+3*int64(target-1), 0).UTC()
	require.True(t, due.After(start), "nobody can know the value when entries close")
	require.Less(t, due.Sub(start), 6*time.Second+time.Millisecond)
	require.Equal(t, PhaseAwaitingBeacon, g.s.d.Phase)
	require.Equal(t, glasshouse.Deadline{Key: "beacon", At: due.Add(10 * time.Minute)}, g.s.Deadline())
	v := g.s.View("")
	require.Equal(t, target, v.Target)
	require.Nil(t, v.Beacon)

	g.now = due.Add(1234 * time.Millisecond)
	b := beaconOf(target)
	turn := g.do(system, Beacon{b})
	require.Equal(t, []Event{BeaconKnown{b}, PhaseStarted{PhaseCountdown, 0, g.now.UnixMilli() + 3000}}, turn.Events)
	require.Equal(t, &b, g.s.View("").Beacon)
	b.Signature[0] ^= 1
	require.NotEqual(t, b.Signature, g.s.View("").Beacon.Signature, "the state keeps the caller's bytes")
	require.NotEqual(t, b.Signature, turn.Events[0].(BeaconKnown).Value.Signature)

	g.finish()
	report, err := Verify(g.record())
	require.NoError(t, err)
	require.True(t, report.OK(), report)
	names := findings(report)
	require.Contains(t, names, fair.FindingBeaconSignature)
	require.Contains(t, names, fair.FindingBeaconAfterFreeze)
}

func findings(r fair.Report) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, f.Name)
	}
	return out
}

func TestLegacy52WritesTheSourcesRows(t *testing.T) {
	g := finished(t, testConfig(legacy52, withLayout(3, 1), func(c *Config) { c.Cases = []Case{testCase(), alwaysFlips("f"), testCase()} }))
	rolls := eventsOf[Rolled](g)
	require.Len(t, rolls, 9)
	seen := map[string]bool{}
	for i, r := range rolls {
		round, seat := i/3+1, i%3
		c := g.cfg.Cases[round-1]
		table := legacy.Table52{Max: 10_000_000}
		if c.FlipThreshold > 0 {
			table.FlipThreshold = &c.FlipThreshold
		}
		for _, it := range c.Items {
			table.Items = append(table.Items, legacy.Item52{ID: it.Item.ID, First: it.First, Last: it.Last})
		}
		require.EqualValues(t, 100*seat+round, r.Legacy.Nonce)
		row := legacy.Row52{
			ServerSeed: r.Legacy.ServerSeed, ServerSeedHash: r.Legacy.ServerSeedHash.String(), ClientSeed: r.Legacy.ClientSeed,
			Nonce: r.Legacy.Nonce, Roll: r.Roll, IsFlip: r.Flip, ItemID: c.Items[r.Row].Item.ID,
		}
		if r.Flip { // as the source stores a flip
			flipSeed, flipNonce := row.ServerSeed+"_flip", row.Nonce+1
			row.FlipServerSeed, row.FlipClientSeed, row.FlipNonce, row.FlipRoll = &flipSeed, &row.ClientSeed, &flipNonce, &row.Roll
		}
		report, err := legacy.Record52{Row: row, Table: &table}.Verify()
		require.NoError(t, err)
		require.True(t, report.OK(), report)
		require.Regexp(t, `^1777636800000[0-9a-f]{32}$`, r.Legacy.ClientSeed, "ms of the start and 16 bytes, as the source makes them")
		require.Len(t, r.Legacy.ServerSeed, 64)
		require.False(t, seen[r.Legacy.ServerSeed] || seen[r.Legacy.ClientSeed], "a seed twice")
		seen[r.Legacy.ServerSeed], seen[r.Legacy.ClientSeed] = true, true
		require.Equal(t, Path{"legacy_server", uint64(round), uint64(seat)}, r.Path)
	}
	report, err := Verify(g.record())
	require.NoError(t, err)
	require.True(t, report.OK(), report)
	require.Contains(t, report.NotProven, "that the seeds of scheme legacy/52 were not chosen: the house made them after entries were closed")
}

// TestEveryModeAndPolicyWithMoney plays battles to the end under each mode, payout and tie policy, and counts the money.
func TestEveryModeAndPolicyWithMoney(t *testing.T) {
	for mode := Normal; mode <= Points; mode++ {
		for _, lowest := range []bool{false, true} {
			if lowest && mode == Shared {
				continue
			}
			for payout := Pool; payout <= WholeItems; payout++ {
				for ties := SplitAll; ties <= Refund; ties++ {
					for _, equal := range []bool{false, true} {
						name := fmt.Sprintf("%s/lowest=%t/%s/%s/equal=%t", mode, lowest, payout, ties, equal)
						t.Run(name, func(t *testing.T) {
							cfg := testConfig(withLayout(2, 2), func(c *Config) {
								c.Mode, c.Lowest, c.Payout, c.Ties = mode, lowest, payout, ties
								if equal {
									c.Cases = []Case{oneItem("x", 75), oneItem("y", 0)}
								}
							})
							g := created(t, cfg)
							g.do("bob", Join{Team: 2})
							g.do("ana", AddBots{}) // ana and bot:1 against bob and bot:2
							g.finish()
							countMoney(t, g)
						})
					}
				}
			}
		}
	}
}

func countMoney(t *testing.T, g *game) {
	settled := eventsOf[Settled](g)
	require.Len(t, settled, 1)
	st := settled[0].Settlement
	require.Equal(t, &st, g.s.View("").Settlement)
	state := g.audited()
	require.Zero(t, g.escrow())
	doc := state.Doc(Key("b1"))
	require.True(t, doc.Sealed)
	require.Equal(t, "finished", doc.Status)
	require.Equal(t, g.s.Rev(), doc.Version)

	worth, pieces := map[string]int64{}, int64(0)
	for _, cs := range append(slices.Clone(g.cfg.Cases), Case{Items: asRows(g.cfg.Catalogue)}) {
		for _, it := range cs.Items {
			worth["item:"+it.Item.ID] = it.Item.Value
		}
	}
	items := map[string]int64{}
	for _, b := range state.Balances {
		if asset := string(b.Key.Asset); strings.HasPrefix(asset, "item:") && b.Key.Account != ItemsAccount {
			items[string(b.Key.Account)] += worth[asset] * b.Posted
			pieces += b.Posted
		}
	}
	if st.Outcome == Refunded {
		require.Zero(t, g.spent("ana")+g.spent("bob")+g.balance(HouseAccount)+pieces)
		return
	}
	winners := map[int]bool{}
	var cash int64
	for _, w := range st.Winners {
		winners[w] = true
	}
	wantTeams(t, g, st, winners)
	for _, b := range st.Bundles {
		user := g.s.d.Seats[b.Seat].User
		if g.s.d.Seats[b.Seat].Bot {
			require.Zero(t, items["user:"+user]+g.balance(UserAccount("bot"))+items[user], "a bot's bundle stays with the house")
			continue
		}
		require.Equal(t, b.Items, items["user:"+user], user)
		require.Equal(t, 200-b.Cash, g.spent(user))
		require.Equal(t, b.Items+b.Cash-200, *g.s.View("").Seats[b.Seat].Profit)
		cash += b.Cash
	}
	for seat, p := range g.s.d.Seats {
		if !winners[seat] && !p.Bot {
			require.EqualValues(t, 200, g.spent(p.User))
			require.Zero(t, items["user:"+p.User])
			require.EqualValues(t, -200, *g.s.View("").Seats[seat].Profit)
		}
	}
	require.EqualValues(t, 2*200-cash, g.balance(HouseAccount), "what people paid; the bots' entries went out and came back")
}

func asRows(items []Item) []CaseItem {
	out := make([]CaseItem, len(items))
	for i, it := range items {
		out[i].Item = it
	}
	return out
}

// wantTeams judges a 2v2 again.
func wantTeams(t *testing.T, g *game, st Settlement, winners map[int]bool) {
	var total, last, points [2]int64
	for round, cs := range g.cfg.Cases {
		var opened [2]int64
		for seat := range 4 {
			opened[seat/2] += cs.Items[g.s.d.Rolls[4*round+seat].Row].Item.Value
		}
		for team := range 2 {
			total[team] += opened[team]
			if opened[team] == opened[1-team] || opened[team] > opened[1-team] != g.cfg.Lowest {
				points[team]++
			}
		}
		last = opened
	}
	require.Equal(t, Amounts(total[:]), st.Totals)
	require.Equal(t, total[0]+total[1], st.Value)
	score, lowest := total, g.cfg.Lowest
	switch g.cfg.Mode {
	case Terminal:
		score = last
	case Points:
		score, lowest = points, false
	case Shared:
		require.Len(t, winners, 4)
		require.Equal(t, EverybodyWins, st.Outcome)
		return
	case Jackpot:
		require.Len(t, winners, 2)
		require.Equal(t, TeamWins, st.Outcome)
		return
	}
	switch {
	case score[0] != score[1]:
		first := score[0] > score[1] != lowest
		require.Equal(t, map[bool]int{true: 1, false: 2}[first], st.Team)
	case g.cfg.Ties == ExtraRoll:
		require.Contains(t, []int{1, 2}, st.Team)
		require.NotEmpty(t, st.TieRolls)
	default:
		require.Equal(t, Tied, st.Outcome)
		require.Len(t, winners, 4)
		return
	}
	require.Equal(t, map[int]bool{2*st.Team - 2: true, 2*st.Team - 1: true}, winners)
}

// TestPostingsOfEveryStep are the exact postings of one battle, by hand.
func TestPostingsOfEveryStep(t *testing.T) {
	g := created(t, testConfig(withLayout(2, 2), func(c *Config) {
		c.Cases, c.Payout = []Case{oneItem("x", 75)}, ExactCash
		c.Mode = Shared
	}))
	post := func(from, to, asset string, amount int64) ledger.Posting {
		return ledger.Posting{From: ledger.AccountID(from), To: ledger.AccountID(to), Asset: ledger.Asset(asset), Amount: amount}
	}
	const escrow = "escrow:battle:b1"
	posted := func() []ledger.Posting { return g.s.Tx("battle:b1", g.turns[len(g.turns)-1]).Post }
	require.Equal(t, []ledger.Posting{post("user:ana", escrow, "BRL/2", 100)}, posted())
	g.do("bob", Join{Team: 2})
	require.Equal(t, []ledger.Posting{post("user:bob", escrow, "BRL/2", 100)}, posted())
	g.do("bob", Seed{"x"})
	require.Empty(t, posted())
	g.do("bob", Leave{})
	require.Equal(t, []ledger.Posting{post(escrow, "user:bob", "BRL/2", 100)}, posted())
	g.do("bob", Join{Team: 2})
	g.do("ana", AddBots{})
	bot := post("house:battle", escrow, "BRL/2", 100)
	require.Equal(t, []ledger.Posting{bot, bot}, posted())
	for g.s.Status() != StatusFinished {
		g.advance()
		if g.s.Status() != StatusFinished {
			require.Empty(t, posted())
		}
	}
	// 4 × 75 in the pot, 75 a share: everybody gets one item, the bots' stay where they are.
	require.Equal(t, []ledger.Posting{
		post(escrow, "house:battle", "BRL/2", 400),
		post("house:items", "user:ana", "item:x-item", 1), post("house:items", "user:bob", "item:x-item", 1),
	}, posted())
}

// TestEqualItemsAreOnePosting of two pieces.
func TestEqualItemsAreOnePosting(t *testing.T) {
	g := finished(t, testConfig(func(c *Config) {
		c.Cases, c.Payout, c.Ties = []Case{oneItem("x", 75), oneItem("a", 0), oneItem("x", 75)}, WholeItems, ExtraRoll
	}))
	st := g.s.View("").Settlement
	winner := g.s.d.Seats[st.Winners[0]].User
	require.EqualValues(t, 4, g.holds(UserAccount(winner), "item:x-item"))
	require.EqualValues(t, 2, g.holds(UserAccount(winner), "item:a-item"))
	post := g.s.Tx(Key("b1"), g.turns[len(g.turns)-1]).Post
	require.Equal(t, []ledger.Posting{
		{From: "escrow:battle:b1", To: "house:battle", Asset: "BRL/2", Amount: 600},
		{From: "house:items", To: UserAccount(winner), Asset: "item:a-item", Amount: 2},
		{From: "house:items", To: UserAccount(winner), Asset: "item:x-item", Amount: 4},
	}, post)
}

func TestAFreeBattlePostsNoMoney(t *testing.T) {
	g := finished(t, testConfig(func(c *Config) { c.Cases[0].Price, c.Cases[1].Price = 0, 0 }))
	for _, e := range g.journal()[1:] {
		for _, p := range e.Tx.Post {
			require.NotEqual(t, g.cfg.Asset, p.Asset)
		}
	}
}

func TestARequestThatComesTwiceIsAnsweredTwiceAndDoneOnce(t *testing.T) {
	cfg := testConfig(withLayout(2, 2))
	money := fundedLedger(t, func() time.Time { return start }, cfg.Asset)
	table := openTable(t, money, cfg)
	_, err := table.Do(t.Context(), glasshouse.Input{Actor: system, At: start}, Create{})
	require.NoError(t, err)
	in := glasshouse.Input{Actor: "bob", ID: "r-1", At: start}
	first, err := table.Do(t.Context(), in, Join{Team: 2})
	require.NoError(t, err)
	require.Equal(t, "r-1", first.ID)
	in.At = start.Add(time.Minute)
	again, err := openTable(t, money, cfg).Do(t.Context(), in, Join{Team: 1})
	require.NoError(t, err)
	require.Equal(t, first, again)
	b, err := money.Balance(t.Context(), UserAccount("bob"), cfg.Asset)
	require.NoError(t, err)
	require.EqualValues(t, 1000*entryCents-200, b.Posted)
	in.Actor = "cid"
	other, err := table.Do(t.Context(), in, Join{Team: 1})
	require.NoError(t, err, "another player's requests are his own")
	require.NotEqual(t, first, other)
}

// TestNothingPrintsASecret looks for seeds, code and legacy secrets under every verb that a log might use.
func TestNothingPrintsASecret(t *testing.T) {
	g := started(t, testConfig(private, legacy52))
	g.tick()
	g.do(system, Nonces{1, []int64{1, 2}})
	seed := seedOf(g.s)
	secrets := []string{g.code(), seed.Hex(), strings.ToUpper(seed.Hex()), fmt.Sprintf("%d", seed[:])[1:30], fmt.Sprintf("%#v", seed[:])[8:40]}
	for _, s := range g.s.d.Secrets.Seeds {
		secrets = append(secrets, s.Server.Hex(), s.Client, fmt.Sprintf("%x", s.Client))
	}
	secrets = append(secrets, fmt.Sprintf("%x", g.code()), fmt.Sprintf("%X", g.code()))
	type wrapped struct{ S any }
	values := []any{
		g.s, *g.s,
		wrapped{g.s},
		[]*State{g.s},
		eventsOf[SeedDrawn](g)[0], eventsOf[LegacyDrawn](g)[0], g.turns, &g.turns[0],
		eventsOf[LegacyDrawn](g)[0].Seeds[0], g.s.d.Code, g.s.View("bob"), g.s.View(""), g.s.Legal("ana"), g.s.Tx(Key("b1"), g.turns[0]),
	}
	for i, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			text := fmt.Sprintf(verb, v)
			for _, secret := range secrets {
				require.NotContains(t, text, secret, "value %d under %s", i, verb)
			}
		}
	}
	for _, v := range []any{g.s, *g.s, wrapped{g.s}, g.s.View("bob"), g.s.View("")} {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		for _, secret := range secrets {
			require.NotContains(t, string(b), secret)
		}
	}
	require.Equal(t, "battle b1 rev 4", fmt.Sprint(g.s))
	for _, viewer := range []string{"", "bob", "ana", system} {
		for _, ev := range []Event{eventsOf[SeedDrawn](g)[0], eventsOf[LegacyDrawn](g)[0]} {
			_, ok := g.s.Observe(ev, viewer)
			require.False(t, ok)
		}
	}
}

func TestViewShowsWhatThePhaseAllows(t *testing.T) {
	cfg := testConfig(private, func(c *Config) { c.Cases = []Case{alwaysFlips("f"), oneItem("x", 75)} })
	g := created(t, cfg)
	v := g.s.View("ana")
	require.Equal(t, g.code(), v.Code)
	require.Empty(t, g.s.View("bob").Code)
	require.Empty(t, g.s.View("").Code)
	require.Equal(t, []int{0, -1, -1}, []int{v.You, g.s.View("bob").You, g.s.View("").You})
	require.EqualValues(t, 200, v.Entry)
	require.Equal(t, []CaseView{{"f", "Case f", "", 100, 0}, {"x", "Case x", "", 100, 1}}, v.Cases)
	require.Equal(t, []SeatView{{Team: 1, User: "ana"}, {Team: 2}}, v.Seats)
	require.Equal(t, start.UnixMilli(), v.CreatedAt)

	g.wait(50)
	g.fill()
	v = g.s.View("bob")
	require.Equal(t, 1, v.You)
	require.Equal(t, []int64{start.UnixMilli() + 50, start.UnixMilli() + 3050, 0, 0}, []int64{v.StartedAt, v.PhaseEndsAt, v.ExpiresAt, v.EndedAt})
	require.Equal(t, eventsOf[Started](g)[0].Freeze, v.Freeze)
	require.Empty(t, v.Rolls)

	g.until(PhaseSpinning, 1)
	v = g.s.View("")
	require.True(t, v.HasFlip)
	require.Equal(t, v.PhaseAt, v.SpinningAt)
	require.Equal(t, start.UnixMilli()+50+3500, v.PhaseAt)
	require.Len(t, v.Rolls, 2)
	require.Equal(t, cfg.Cases[0].Items[0].Item, v.Rolls[1].Item)
	require.Equal(t, []int64{500, 500}, []int64{v.Seats[0].Total, v.Seats[1].Total})
	require.Nil(t, v.Seats[0].Profit)
	require.Nil(t, v.Settlement)
	require.Empty(t, v.ServerSeed)

	g.until(PhaseRoundComplete, 1)
	require.True(t, g.s.View("").HasFlip)
	require.Zero(t, g.s.View("").SpinningAt)
	g.until(PhaseRoundStarting, 2)
	require.False(t, g.s.View("").HasFlip, "the new round has not been opened")
	g.until(PhaseSpinning, 2)
	v = g.s.View("")
	require.False(t, v.HasFlip)
	require.Equal(t, []int64{575, 575}, []int64{v.Seats[0].Total, v.Seats[1].Total})
	g.finish()
	v = g.s.View("")
	require.Equal(t, PhaseFinished, v.Phase)
	require.Equal(t, g.now.UnixMilli(), v.EndedAt)
	require.Zero(t, v.PhaseEndsAt)
	require.NotEmpty(t, v.ServerSeed)
}

func TestBotsAreMarkedAndNamed(t *testing.T) {
	g := created(t, testConfig(withLayout(3, 2)))
	g.do("bob", Join{Team: 2})
	turn := g.do("ana", AddBots{})
	require.Equal(t, []Event{
		Joined{"bot:1", 1, true, ""}, Joined{"bot:2", 3, true, ""}, Joined{"bot:3", 4, true, ""}, Joined{"bot:4", 5, true, ""},
	}, turn.Events[:4])
	seats := g.s.View("").Seats
	require.Equal(t, SeatView{Team: 2, Slot: 1, User: "bot:2", Name: "Battle Bot #2", Bot: true}, seats[3])
	require.Equal(t, SeatView{Team: 2, Slot: 0, User: "bob"}, seats[2])
}

func TestLegal(t *testing.T) {
	g := newGame(t, testConfig(withLayout(3, 1)))
	legal := func(actor string) []Command { return g.s.Legal(actor) }
	require.Equal(t, []Command{Create{}}, legal(system))
	require.Empty(t, legal("ana"))
	g.do(system, Create{})
	require.Equal(t, []Command{Void{}}, legal(system))
	require.Equal(t, []Command{Seed{}, AddBots{}, Cancel{}}, legal("ana"))
	require.Equal(t, []Command{Join{Team: 2}, Join{Team: 3}}, legal("bob"))
	require.Empty(t, legal(""))
	require.Empty(t, legal("bot:1"))
	g.do("bob", Join{Team: 3})
	require.Equal(t, []Command{Seed{}, Leave{}}, legal("bob"))
	require.Equal(t, []Command{Join{Team: 2}}, legal("cid"))
	g.do("cid", Join{Team: 2})
	for _, actor := range []string{system, "ana", "bob", "dan"} {
		require.Empty(t, legal(actor))
	}
	require.Empty(t, created(t, testConfig(private)).s.Legal("bob"), "nobody can guess the code")
	require.Equal(t, []Command{Void{}}, started(t, testConfig(withBeacon)).s.Legal(system))
}

func TestRulesTellTheHostWhatIsDue(t *testing.T) {
	rules := Rules()
	g := newGame(t, testConfig())
	_, due := rules.Due(g.s, start.Add(time.Hour))
	require.False(t, due)
	g.do(system, Create{})
	_, due = rules.Due(g.s, start.Add(30*time.Minute-1))
	require.False(t, due)
	cmd, due := rules.Due(g.s, start.Add(30*time.Minute))
	require.True(t, due)
	require.Equal(t, Expire{"expiry"}, cmd)
	require.Equal(t, "waiting", rules.Status(g.s))
	require.False(t, rules.Done(g.s))
	require.Equal(t, Expire{"k"}, rules.Expire("k"))
	require.Equal(t, Void{"why"}, rules.Void("why"))
	require.Equal(t, "battle", rules.Game)
	g.do("ana", Cancel{})
	require.True(t, rules.Done(g.s))
}

// TestRestoreRefusesWhatSnapshotDidNotWrite changes a snapshot in ways that would make later steps go wrong.
func TestRestoreRefusesWhatSnapshotDidNotWrite(t *testing.T) {
	waiting, running, done := created(t, testConfig()), started(t, testConfig()), finished(t, testConfig())
	running.until(PhaseSpinning, 1)
	snap := string(running.s.Snapshot())
	for _, g := range []*game{waiting, running, done} {
		s, err := Restore(g.cfg, g.s.Snapshot())
		require.NoError(t, err)
		require.Equal(t, string(g.s.Snapshot()), string(s.Snapshot()))
	}
	replace := func(old, new string) string {
		require.Contains(t, snap, old)
		return strings.Replace(snap, old, new, 1)
	}
	for place, bytes := range map[string]string{
		"end of data":                     "",
		"format: 2":                       replace(`"format":1`, `"format":2`),
		"another config's snapshot":       string(started(t, testConfig(func(c *Config) { c.Expiry = 1000 })).s.Snapshot()),
		"rev: ":                           replace(fmt.Sprintf(`"rev":%d`, running.s.Rev()), `"rev":0`),
		"phase: ":                         replace(`"round":1`, `"round":2`),
		"life: resolved":                  replace(`"status":"in_progress"`, `"status":"waiting"`),
		"seats[1]: another contribution":  replace(`{"user":"bob"`, `{"user":"cid"`),
		"seats[1]: not a player's name":   replace(`{"user":"bob"`, `{"user":"ana"`),
		"seats: 1, want 2":                replace(`"seats":[`+snap[strings.Index(snap, `{"user":"ana"`):strings.Index(snap, `{"user":"bob"`)], `"seats":[`),
		"clock: not that":                 replace(`"phase/1/spinning"`, `"phase/2/spinning"`),
		"unknown field":                   replace(`"format":1`, `"format":1,"x":1`),
		"written differently":             snap + " ",
		"rolls[0]: 0, want 1 to 10000000": replace(`"rolls":[`, `"rolls":[0,`),
		"rolls[0]: 10000001, want":        replace(`"rolls":[`, `"rolls":[10000001,`),
		"phase: 3 rolls":                  replace(`"rolls":[`, `"rolls":[7,`),
		"rolls: 6 of 2 seats":             replace(`"rolls":[`, `"rolls":[7,7,7,7,`),
		"legacy_rows: 1 for 2 rolls":      snap[:len(snap)-1] + `,"legacy_rows":[{"server_seed":"","server_seed_hash":"` + strings.Repeat("0", 64) + `","client_seed":"","nonce":"0"}]}`,
	} {
		_, err := Restore(running.cfg, []byte(bytes))
		var corrupt *glasshouse.CorruptError
		require.ErrorAs(t, err, &corrupt, place)
		require.ErrorContains(t, err, place)
	}
	_, err := Restore(Config{}, running.s.Snapshot())
	require.ErrorIs(t, err, ErrConfig)
	_, err = Rules().Restore([]byte("{"), running.s.Snapshot())
	require.ErrorContains(t, err, "battle config")
}

// TestApplyRefusesTurnsThatDoNotFit takes each turn of battles out of its place.
func TestApplyRefusesTurnsThatDoNotFit(t *testing.T) {
	corrupt := func(s *State, turn Turn, want string) {
		t.Helper()
		_, err := s.Apply(turn)
		var c *glasshouse.CorruptError
		require.ErrorAs(t, err, &c)
		require.ErrorContains(t, err, want)
	}
	g := finished(t, testConfig())
	s, err := New(g.cfg)
	require.NoError(t, err)
	for _, turn := range g.turns {
		edit := func(f func(*Turn)) Turn {
			c := turn
			c.Events = slices.Clone(turn.Events)
			f(&c)
			return c
		}
		corrupt(s, edit(func(c *Turn) { c.Rev++ }), "rev: follows")
		corrupt(s, edit(func(c *Turn) { c.Actor = "" }), "actor: missing")
		corrupt(s, edit(func(c *Turn) { c.Events = nil }), "events: none")
		if turn.Rev > 1 {
			corrupt(s, edit(func(c *Turn) { c.At = start.Add(-time.Second) }), "at: before")
		}
		for n := range turn.Events { // every event is needed, and needed once
			corrupt(s, edit(func(c *Turn) { c.Events = slices.Delete(c.Events, n, n+1) }), "")
			corrupt(s, edit(func(c *Turn) { c.Events = slices.Insert(c.Events, n, c.Events[n]) }), "")
		}
		next, err := s.Apply(turn)
		require.NoError(t, err)
		s = next
	}
	replayed, err := Replay(g.cfg, g.all())
	require.NoError(t, err)
	require.Equal(t, string(g.s.Snapshot()), string(replayed.Snapshot()))
	_, err = Replay(g.cfg, func(yield func(Turn, error) bool) { yield(Turn{}, context.Canceled) })
	require.ErrorIs(t, err, context.Canceled)
	_, err = NewRecord(g.cfg, func(yield func(Turn, error) bool) { yield(Turn{}, context.Canceled) })
	require.ErrorIs(t, err, context.Canceled)
	_, err = Replay(Config{}, g.all())
	require.ErrorIs(t, err, ErrConfig)
	_, err = NewRecord(Config{}, g.all())
	require.ErrorIs(t, err, ErrConfig)
	_, err = NewRecord(g.cfg, turnsOf(g.turns[1:]))
	require.ErrorContains(t, err, "rev: follows 0")
}

func TestExplainTellsCreationRoundsAndSettlement(t *testing.T) {
	g := created(t, testConfig())
	explain := func() string {
		var b strings.Builder
		require.NoError(t, g.s.Explain(&b))
		return b.String()
	}
	waiting := explain()
	require.Contains(t, waiting, "Battle "+g.cfg.ID+", "+g.cfg.Layout.String()+", mode "+g.cfg.Mode.String())
	require.Contains(t, waiting, "Commitment "+g.s.View("").Commitment.String())
	require.Contains(t, waiting, "free\n")
	require.Contains(t, waiting, "It is waiting\n")

	g = finished(t, testConfig())
	text := explain()
	for _, r := range g.s.View("").Rolls {
		require.Contains(t, text, fmt.Sprintf("rolls %d: %s, %d.%02d", r.Roll, r.Item.Name, r.Item.Value/100, r.Item.Value%100))
	}
	for round := range g.cfg.Cases {
		require.Contains(t, text, fmt.Sprintf("Round %d of %d, %s\n", round+1, len(g.cfg.Cases), g.cfg.Cases[round].Name))
	}
	var settlement strings.Builder
	require.NoError(t, g.s.d.Settlement.Explain(&settlement, Labels{}))
	first, _, _ := strings.Cut(settlement.String(), "\n")
	require.Contains(t, text, first)

	g = created(t, testConfig())
	g.do(g.cfg.Creator, Cancel{})
	require.Contains(t, explain(), `Cancelled, every entry paid back: "cancelled"`)
}
