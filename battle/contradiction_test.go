package battle

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/wire"
)

// The source's document contradicts itself in 32 places. Each has its number in the name of the test of our resolution.
// Those about payloads (19's startsAt on the wire, 21, 28's broadcasts, 29, 30) are in battle/feed; those about the
// settlement's arithmetic (8, 9, 10, 11, 13) are held by TestVectors and the tests beside it, and only touched here.

func TestContradiction01And02TeamsCountToTheLayoutsNumberAndEverySeatHasOne(t *testing.T) {
	for text, want := range map[string][2]int{ // players a team, teams
		"ONE_VS_ONE": {1, 2}, "TWO_VS_TWO": {2, 2}, "THREE_VS_THREE": {3, 2}, "FOUR_VS_FOUR": {4, 2},
		"ONE_VS_ONE_VS_ONE": {1, 3}, "ONE_VS_ONE_VS_ONE_VS_ONE": {1, 4},
	} {
		layout, err := ParseLayout(text)
		require.NoError(t, err)
		require.Equal(t, Layout{Teams: want[1], Size: want[0]}, layout)
		g := created(t, testConfig(func(c *Config) { c.Layout = layout }))
		people := append([]string{"bob", "cid", "dan", "eva"}, manyPlayers(4)...)
		for team := layout.Teams; team >= 1; team-- { // the last team first: nobody is put into another one
			for slot := range layout.Size {
				if team == 1 && slot == 0 {
					continue
				}
				require.Equal(t, StatusWaiting, g.s.Status(), "it starts only when every team is full")
				g.do(people[0], Join{Team: team})
				require.Equal(t, people[0], g.s.d.Seats[layout.Seat(team, slot)].User)
				people = people[1:]
			}
		}
		require.Equal(t, StatusInProgress, g.s.Status())
	}
}

func TestContradiction03BotsFillTheFirstTeamWithAFreeSlot(t *testing.T) {
	g := created(t, testConfig(withLayout(4, 1)))
	g.do("ana", AddBots{})
	require.Equal(t, []string{"ana", "bot:1", "bot:2", "bot:3"}, seated(g), "teams 2, 3 and 4 get one each")
	g = created(t, testConfig(withLayout(4, 1)))
	g.do("bob", Join{Team: 3})
	g.do("ana", AddBots{})
	require.Equal(t, []string{"ana", "bot:1", "bob", "bot:2"}, seated(g))
	g = created(t, testConfig(withLayout(2, 3)))
	g.do("bob", Join{Team: 2})
	g.do("ana", AddBots{})
	require.Equal(t, []string{"ana", "bot:1", "bot:2", "bob", "bot:3", "bot:4"}, seated(g))
}

func TestContradiction04And05SixNamesAreReadAndNoOther(t *testing.T) {
	for _, name := range []string{
		"ONE_VS_ONE", "TWO_VS_TWO", "THREE_VS_THREE", "FOUR_VS_FOUR", "ONE_VS_ONE_VS_ONE", "ONE_VS_ONE_VS_ONE_VS_ONE",
	} {
		_, err := ParseLayout(name)
		require.NoError(t, err)
	}
	_, err := ParseLayout("TWO_VS_ONE") // which the source takes for a battle of two
	require.Error(t, err)
}

// tie is a 1v1v1 in which all teams open the same.
func tie(t *testing.T, edit ...func(*Config)) Settlement {
	g := finished(t, testConfig(append(edit, withLayout(3, 1), func(c *Config) { c.Cases = []Case{oneItem("x", 70)} })...))
	return eventsOf[Settled](g)[0].Settlement
}

func TestContradiction06And07OutcomeSaysWhyThereIsNoSingleWinner(t *testing.T) {
	tied := tie(t)
	require.Equal(t, Tied, tied.Outcome)
	require.Zero(t, tied.Team)
	require.Equal(t, []int{0, 1, 2}, tied.Winners)
	shared := tie(t, func(c *Config) { c.Mode = Shared })
	require.Equal(t, EverybodyWins, shared.Outcome)
	require.Zero(t, shared.Team)
	rolled := tie(t, func(c *Config) { c.Ties = ExtraRoll })
	require.Equal(t, TeamWins, rolled.Outcome)
	require.Equal(t, []int{rolled.Team - 1}, rolled.Winners)
	b, err := json.Marshal(tied)
	require.NoError(t, err)
	require.Contains(t, string(b), `"outcome":"tied","team":0`, "0 is said, not left out")
}

func TestContradiction08TheHouseKeepsWhatNoWinnerCanHold(t *testing.T) {
	// Whatever came, each of the two ends with less than the dearest item, so it goes to the house and the catalogue
	// makes up for it as far as it can.
	g := finished(t, testConfig(func(c *Config) { c.Mode = Shared }))
	st := eventsOf[Settled](g)[0].Settlement
	require.Equal(t, st.HouseGain, st.Value-st.Bundles[0].Items-st.Bundles[1].Items)
	require.Equal(t, st.HouseGain, st.Removed-st.Added)
	for _, r := range st.Records {
		require.Equal(t, r.Type == Dropped, r.Type != AddedFromPool && r.Value <= st.Share, "%+v", r)
	}
}

func TestContradiction12ALaterPriceChangesNothing(t *testing.T) {
	cfg := testConfig(func(c *Config) { c.Cases = []Case{oneItem("x", 70)} })
	g := started(t, cfg)
	cfg.Cases[0].Items[0].Item.Value = 9999 // the host's own copy
	g.finish()
	require.EqualValues(t, 140, eventsOf[Settled](g)[0].Settlement.Value)
	_, err := Restore(cfg, g.s.Snapshot())
	require.ErrorContains(t, err, "another config's snapshot")
}

func TestContradiction14AFlipIsNoSecondDraw(t *testing.T) {
	g := finished(t, testConfig(func(c *Config) { c.Cases = []Case{alwaysFlips("f"), oneItem("x", 1)} }))
	rolls := eventsOf[Rolled](g)
	require.Len(t, rolls, 4, "one roll a player a round, flip or not")
	require.True(t, rolls[0].Flip && rolls[1].Flip && !rolls[2].Flip && !rolls[3].Flip)
}

func TestContradiction15TwoThingsAreCalledFlip(t *testing.T) {
	// The mode is Normal with Lowest; the second roulette is the case's threshold. Neither needs the other.
	g := finished(t, testConfig(func(c *Config) { c.Lowest, c.Cases = true, []Case{alwaysFlips("f")} }))
	require.True(t, g.s.View("").Lowest)
	require.True(t, eventsOf[Rolled](g)[0].Flip)
	// An item that begins below the threshold is no flip item, wherever it ends: see
	// TestAFlipNeedsAnItemThatLiesAboveTheThreshold.
	s, err := New(testConfig())
	require.NoError(t, err)
	_, flip := s.setup.item(1, 9_200_000)
	require.False(t, flip)
}

func TestContradiction16TheSeedIsCommittedToBeforeAnybodyContributes(t *testing.T) {
	g := newGame(t, testConfig())
	turn := g.do(system, Create{})
	require.Equal(t, []string{"seed_drawn", "created", "joined"}, kindsOf(turn))
	require.Empty(t, turn.Events[2].(Joined).ClientSeed, "the creator has not seen the commitment yet")
	commitment := turn.Events[1].(Created).Commitment
	require.Equal(t, commitment, g.s.View("").Commitment)
	g.do("ana", Seed{"mine"})
	g.do("bob", Join{Team: 2, ClientSeed: "his"})
	g.refused("bob", Seed{"too late"}, ErrNotWaiting)
	g.finish()
	require.Equal(t, commitment, commitmentOf(t, g))
}

func TestContradiction17RollsAreUniformAndTheBiasedSchemeIsOnlyForCompatibility(t *testing.T) {
	require.Contains(t, string(finished(t, testConfig()).record()), `"scheme":"fair/v2"`)
	require.False(t, testConfig().WithDefaults().Compat.Legacy52)
	r := eventsOf[Rolled](finished(t, testConfig(legacy52)))[0]
	require.Equal(t, "legacy_server", r.Path.Label)
}

func TestContradiction18PhaseIsNotStatus(t *testing.T) {
	g := started(t, testConfig())
	require.Equal(t, StatusInProgress, g.s.Status())
	require.Equal(t, PhaseCountdown, g.s.View("").Phase)
	for _, text := range []string{"starting", "not_found", "STARTING"} {
		require.Error(t, new(Status).UnmarshalText([]byte(text)))
	}
}

func TestContradiction19And20TheTimelineIsAsAnnounced(t *testing.T) {
	g := started(t, testConfig(func(c *Config) { c.Cases = []Case{oneItem("x", 1)} }))
	require.Equal(t, start.UnixMilli()+3000, eventsOf[PhaseStarted](g)[0].EndsAt, "the countdown ends 3 s after it is announced")
	g.finish()
	require.EqualValues(t, 3000+500+8550+1000, g.s.d.EndedAt-g.s.d.StartedAt, "announced")
	g = finished(t, testConfig(func(c *Config) { c.Cases, c.Compat.SourceTimeline = []Case{oneItem("x", 1)}, true }))
	require.EqualValues(t, 3000+8550, g.s.d.EndedAt-g.s.d.StartedAt, "really waited for by the source")
}

func TestContradiction22ABattleCanBeCancelledLeftAndExpires(t *testing.T) {
	g := created(t, testConfig(withLayout(2, 2)))
	g.do("bob", Join{Team: 1})
	g.do("bob", Leave{})
	g.do("bob", Join{Team: 2})
	g.do("ana", Cancel{})
	require.Zero(t, g.spent("ana")+g.spent("bob"))
	g = created(t, testConfig())
	g.tick()
	require.Zero(t, g.spent("ana"))
}

// Contradiction 23, two users in the last seat and a start that happens twice, is TestTheLastSeatIsSoldOnce and
// TestJoinRacesAddBots.

func TestContradiction24BotsArePaidForByTheHouse(t *testing.T) {
	g := created(t, testConfig(withLayout(2, 2), withBeacon))
	g.do("ana", AddBots{})
	require.EqualValues(t, -3*200, g.balance(HouseAccount))
	require.EqualValues(t, 4*200, g.escrow())
}

func TestContradiction25ACrashIsResumedToTheSameResult(t *testing.T) {
	want := finished(t, testConfig())
	g := started(t, testConfig())
	for !g.s.Status().Done() {
		s, err := Restore(g.cfg, g.s.Snapshot()) // the process dies after every step
		require.NoError(t, err)
		g.s = s
		g.advance()
	}
	require.Equal(t, eventsOf[Rolled](want), eventsOf[Rolled](g))
	require.Equal(t, eventsOf[Settled](want), eventsOf[Settled](g))
	require.Equal(t, string(want.s.Snapshot()), string(g.s.Snapshot()))
}

func TestContradiction26ABotIsMarkedAndNoPersonCanBeTakenForOne(t *testing.T) {
	g := created(t, testConfig(withLayout(2, 2)))
	g.set("BOT_1", 200)
	g.do("BOT_1", Join{Team: 2}) // a person may be called what the source calls its bots
	require.False(t, g.s.View("").Seats[2].Bot)
	g.do("ana", AddBots{})
	require.True(t, g.s.View("").Seats[1].Bot)
}

func TestContradiction27TheNonceIsRoundAndSeat(t *testing.T) {
	for i, r := range eventsOf[Rolled](finished(t, testConfig(withLayout(3, 1)))) {
		require.Equal(t, Path{"roll", uint64(i/3 + 1), uint64(i % 3)}, r.Path)
	}
}

func TestContradiction28OnlyTheCreatorSeesTheCode(t *testing.T) {
	g := created(t, testConfig(private))
	require.Equal(t, g.code(), g.s.View("ana").Code)
	for _, viewer := range []string{"", "bob", system} {
		require.Empty(t, g.s.View(viewer).Code)
	}
	b, err := wire.Marshal(g.s.View("bob"))
	require.NoError(t, err)
	require.NotContains(t, string(b), g.code())
}

func TestContradiction31TheEntryIsNotCalledAValue(t *testing.T) {
	g := finished(t, testConfig(func(c *Config) { c.Cases = []Case{oneItem("x", 70)} }))
	v := g.s.View("")
	require.EqualValues(t, 100, v.Entry)
	require.EqualValues(t, 140, v.Settlement.Value)
}

func TestContradiction32CasesAreFrozenAndCommittedAtCreation(t *testing.T) {
	cases, err := Pick(shelf, []string{"case-1"})
	require.NoError(t, err)
	cfg := testConfig(func(c *Config) { c.Cases = cases })
	g := created(t, cfg)
	want, err := cfg.Hash()
	require.NoError(t, err)
	require.Equal(t, want, eventsOf[Created](g)[0].ConfigHash)
	require.Equal(t, []fair.Digest{tableHash(t, cases[0])}, eventsOf[Created](g)[0].Tables)
	cases[0].Items[0].Last, cases[0].Items[1].First = 4_000_000, 4_000_001
	require.Equal(t, testCase().Items, g.s.Config().Cases[0].Items)
}

// tableHash is the hash of a case's weighted table, from its ranges in ascending order.
func tableHash(t *testing.T, c Case) fair.Digest {
	var spans []fair.Span[struct{}]
	for _, it := range c.Items {
		spans = append(spans, fair.Span[struct{}]{ID: it.Row, First: it.First, Last: it.Last})
	}
	slices.SortFunc(spans, func(a, b fair.Span[struct{}]) int { return strings.Compare(a.ID, b.ID) })
	table, err := fair.NewRangeTable(MaxRoll, spans...)
	require.NoError(t, err)
	return table.Hash()
}
