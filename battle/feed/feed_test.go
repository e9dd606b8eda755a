package feed

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/fair"
)

// The literals below are the source's payloads, written by hand from its description.

const (
	room    = "battle:9"
	atNoon  = 1_777_636_800_000 // 2026-05-01T12:00:00Z
	seconds = time.Second
)

func TestCreated(t *testing.T) {
	g := newGame(t, duo(), bank(t))
	g.same(g.do(glasshouse.System, battle.Create{}),
		sample{"user:ana", "balance:updated", 0, `{"userId":"ana"}`},
		sample{"", "battle:created", 0, `{
			"id":"9","mode":"NORMAL","type":"TWO_VS_TWO","status":"WAITING","totalValueCents":"1000",
			"playersCount":1,"maxPlayers":4,
			"creator":{"id":"ana","username":"Ana","avatarUrl":"/ana.png"},
			"cases":[{"id":"11","name":"Snow Case","imageUrl":"snow.png","order":0},
			         {"id":"12","name":"Star Case","imageUrl":"","order":1}],
			"isPrivate":false}`})
}

func TestJoinAndLeave(t *testing.T) {
	g := newGame(t, duo(), bank(t))
	g.do(glasshouse.System, battle.Create{})
	g.same(g.do("bob", battle.Join{Team: 2, ClientSeed: "x"}),
		sample{"user:bob", "balance:updated", 0, `{"userId":"bob"}`},
		sample{room, "battle:player_joined", 0, `{"battleId":"9","player":{"odUserId":"bob","odUsername":"Bob","team":2}}`},
		sample{"", "battle:updated", 0, `{"id":"9","status":"WAITING","playersCount":2,"maxPlayers":4}`})
	g.same(g.do("bob", battle.Seed{ClientSeed: "y"}))
	g.same(g.do("bob", battle.Leave{}),
		sample{"user:bob", "balance:updated", 0, `{"userId":"bob"}`},
		sample{room, "battle:player_left", 0, `{"battleId":"9","odUserId":"bob","team":2}`},
		sample{"", "battle:updated", 0, `{"id":"9","status":"WAITING","playersCount":1,"maxPlayers":4}`})
}

// A new battle has one player, also if it is announced late.
func TestCreatedLate(t *testing.T) {
	g := newGame(t, duo(), bank(t))
	s, turn, err := g.s.Step(glasshouse.Input{Actor: glasshouse.System, At: g.now, Draw: g.draws}, battle.Create{})
	require.NoError(t, err)
	later, _, err := s.Step(glasshouse.Input{Actor: "bob", At: g.now}, battle.Join{Team: 2})
	require.NoError(t, err)
	require.Equal(t, Messages(s, turn, nil), Messages(later, turn, nil))
}

// Contradiction 19: startsAt is the end of the countdown.
func TestLastSeatStarts(t *testing.T) {
	g := newGame(t, duo(duel), bank(t))
	g.do(glasshouse.System, battle.Create{})
	g.now = noon.Add(10 * time.Second)
	g.same(g.do("bob", battle.Join{Team: 2}),
		sample{"user:bob", "balance:updated", 0, `{"userId":"bob"}`},
		sample{room, "battle:player_joined", 0, `{"battleId":"9","player":{"odUserId":"bob","odUsername":"Bob","team":2}}`},
		sample{"", "battle:updated", 0, `{"id":"9","status":"WAITING","playersCount":2,"maxPlayers":2}`},
		sample{"", "battle:updated", 0, `{"id":"9","status":"IN_PROGRESS","playersCount":2,"maxPlayers":2}`},
		sample{room, "battle:starting", 0, `{"battleId":"9","startsAt":"2026-05-01T12:00:13.000Z"}`})
}

// A bot pays nothing of a user's, and is announced as the source announces it.
func TestBotsStart(t *testing.T) {
	g := scripted(t)
	g.same(g.bots(),
		sample{room, "battle:player_joined", 0, `{"battleId":"9","player":{"odUserId":"bot:1","odUsername":"Battle Bot #1","team":2}}`},
		sample{"", "battle:updated", 0, `{"id":"9","status":"IN_PROGRESS","playersCount":4,"maxPlayers":4}`},
		sample{room, "battle:starting", 0, `{"battleId":"9","startsAt":"2026-05-01T12:00:13.000Z"}`})
}

const snowRoulette = `[
	{"id":"r3","itemId":"d","itemName":"Dragon","itemImage":"d.png","rarity":"gold","valueCents":"1000","valueFormatted":"10.00","dropChance":9.99999,"weight":0,"weaponCategory":null,"isStatTrak":false},
	{"id":"r4","itemId":"e","itemName":"Eagle","itemImage":"e.png","rarity":"gold","valueCents":"1000","valueFormatted":"10.00","dropChance":0.00001,"weight":0,"weaponCategory":null,"isStatTrak":false},
	{"id":"r1","itemId":"a","itemName":"AK-47 | Redline <3 & more","itemImage":"a.png","rarity":"rare","valueCents":"100","valueFormatted":"1.00","dropChance":50,"weight":50,"weaponCategory":"Rifle","exterior":"Field-Tested","isStatTrak":true},
	{"id":"r2","itemId":"b","itemName":"P250","itemImage":"b.png","rarity":"common","valueCents":"50","valueFormatted":"0.50","dropChance":40.00000,"weight":40,"weaponCategory":null,"isStatTrak":false}]`

// dragonRoulette is what lies at or above the threshold, by value.
const dragonRoulette = `[
	{"id":"r3","itemId":"d","itemName":"Dragon","itemImage":"d.png","rarity":"gold","valueCents":"1000","valueFormatted":"10.00","dropChance":9.99999,"weight":0,"weaponCategory":null,"isStatTrak":false},
	{"id":"r4","itemId":"e","itemName":"Eagle","itemImage":"e.png","rarity":"gold","valueCents":"1000","valueFormatted":"10.00","dropChance":0.00001,"weight":0,"weaponCategory":null,"isStatTrak":false}]`

const roundOneResults = `[
	{"odPlayerId":"ana","odUsername":"Ana","itemId":"a","itemName":"AK-47 | Redline <3 & more","itemImage":"a.png","itemRarity":"rare","itemValueCents":"100","roll":1,"isFlip":false,"normalItems":` + snowRoulette + `},
	{"odPlayerId":"bob","odUsername":"Bob","itemId":"d","itemName":"Dragon","itemImage":"d.png","itemRarity":"gold","itemValueCents":"1000","roll":9000001,"isFlip":true,"flipRoll":9000001,"flipItems":` + dragonRoulette + `,"normalItems":` + snowRoulette + `},
	{"odPlayerId":"cid","odUsername":"cid","itemId":"b","itemName":"P250","itemImage":"b.png","itemRarity":"common","itemValueCents":"50","roll":5000001,"isFlip":false,"normalItems":` + snowRoulette + `},
	{"odPlayerId":"bot:1","odUsername":"Battle Bot #1","itemId":"b","itemName":"P250","itemImage":"b.png","itemRarity":"common","itemValueCents":"50","roll":5000001,"isFlip":false,"normalItems":` + snowRoulette + `}]`

// A round with a flip spins for 22.05 s: pushes at 2, 4 … 22 s. Live drops come 12 s after the roll, or 30 s after it
// for the player who had the flip; the bot has none (contradiction 21).
func TestRoundWithFlip(t *testing.T) {
	g := scripted(t)
	g.bots()
	g.same(g.tick(), sample{room, "battle:round_start", 0, `{"battleId":"9","roundNumber":1,"caseId":"11","caseName":"Snow Case"}`})
	got := g.tick()
	start := int64(atNoon + 13_500)
	want := []sample{{room, "battle:round_result", 0, `{"battleId":"9","roundNumber":1,"results":` + roundOneResults + `}`}}
	push := func(k int64) sample {
		return sample{room, "battle:state_push", time.Duration(k) * 2 * seconds, fmt.Sprintf(
			`{"currentPhase":"SPINNING","phaseEndsAt":%d,"currentRound":1,"hasFlipInCurrentRound":true,"spinStartedAt":%d,"serverTime":%d}`,
			start+22_050, start, start+2000*k)}
	}
	for k := int64(1); k <= 11; k++ {
		want = append(want, push(k))
		if k == 6 {
			want = append(want,
				sample{"", "live:drop", 12 * seconds, `{"userName":"Ana","userAvatar":"/ana.png","itemName":"AK-47 | Redline <3 & more","itemImage":"a.png","itemValueCents":"100","rarity":"rare","source":"battle","timestamp":"2026-05-01T12:00:25.500Z","dropChance":50,"isTopDrop":false,"caseImage":"snow.png"}`},
				sample{"", "live:drop", 12 * seconds, `{"userName":"cid","itemName":"P250","itemImage":"b.png","itemValueCents":"50","rarity":"common","source":"battle","timestamp":"2026-05-01T12:00:25.500Z","dropChance":40.00000,"isTopDrop":false,"caseImage":"snow.png"}`})
		}
	}
	want = append(want, sample{"", "live:drop", 30 * seconds, `{"userName":"Bob","itemName":"Dragon","itemImage":"d.png","itemValueCents":"1000","rarity":"gold","source":"battle","timestamp":"2026-05-01T12:00:43.500Z","dropChance":9.99999,"isTopDrop":false,"caseImage":"snow.png"}`})
	g.same(got, want...)
	require.Contains(t, string(got[0].Payload), `"dropChance":0.00001,`, "the exact decimal text, not 1e-05")
	require.Contains(t, string(got[0].Payload), `Redline <3 & more`)
	g.same(g.tick()) // ROUND_COMPLETE has no message
}

// A round without a flip spins for 8.55 s: pushes at 2, 4, 6 and 8 s. A case without an image has no caseImage.
func TestRoundWithoutFlip(t *testing.T) {
	g := scripted(t)
	g.bots()
	for range 4 { // countdown, starting, spinning, complete
		g.tick()
	}
	got := g.tick()
	require.Equal(t, noon.Add(37_050*time.Millisecond), g.now, "13.5 + 22.05 + 1 + 0.5 s")
	var dues []time.Duration
	for _, m := range only(got, "battle:state_push") {
		dues = append(dues, m.Due.Sub(g.now))
		require.Contains(t, string(m.Payload), `"currentRound":2,"hasFlipInCurrentRound":false`)
	}
	require.Equal(t, []time.Duration{2 * seconds, 4 * seconds, 6 * seconds, 8 * seconds}, dues)
	drops := only(got, "live:drop")
	require.Len(t, drops, 3)
	for _, m := range drops {
		require.NotContains(t, string(m.Payload), "caseImage")
		require.Equal(t, 12*seconds, m.Due.Sub(g.now))
	}
	require.NotContains(t, string(got[0].Payload), "flip", "isFlip false leaves flipRoll and flipItems out")
}

// A push stands before the end of the spin, never on it.
func TestNoPushAtTheEndOfASpin(t *testing.T) {
	for spin, want := range map[int64]int{0: 0, 1: 0, 2000: 0, 2001: 1, 4000: 1, 4001: 2} {
		g := newGame(t, duo(duel, func(c *battle.Config) {
			c.Timeline = battle.SourceTimes()
			c.Timeline.Spinning, c.Timeline.FlipSpinning = spin, spin
		}), nil)
		g.do(glasshouse.System, battle.Create{})
		g.do("bob", battle.Join{Team: 2})
		g.tick()
		require.Len(t, only(g.tick(), "battle:state_push"), want, "spin of %d ms", spin)
	}
}

// By hand: V = 1550, two winners, share 775. The dragon (1000) is worth more and is booked on the first winner. Of the
// rest, by value: 100s of Ana 1, Ana 2, Bob 2, cid 2, 50s of cid 1, bot 1, bot 2 go to Ana, Bob, Ana, Bob, Ana, Bob,
// Ana: 300 and 250. Ana lacks 475 = 400 + 60 + 3·5, Bob 525 = 400 + 2·60 + 5.
var (
	itemA  = `{"itemId":"a","itemName":"AK-47 | Redline <3 & more","itemImage":"a.png","itemRarity":"rare","valueCents":"100","type":"DROPPED"},`
	itemB  = `{"itemId":"b","itemName":"P250","itemImage":"b.png","itemRarity":"common","valueCents":"50","type":"DROPPED"},`
	gold   = `{"itemId":"gold","itemName":"Gold","itemImage":"gold.png","itemRarity":"gold","valueCents":"400","type":"ADDED_FROM_POOL"},`
	silver = `{"itemId":"silver","itemName":"Silver","itemImage":"silver.png","itemRarity":"rare","valueCents":"60","type":"ADDED_FROM_POOL"},`
	dust   = `{"itemId":"dust","itemName":"Dust","itemImage":"dust.png","itemRarity":"common","valueCents":"5","type":"ADDED_FROM_POOL"}`
	dragon = `{"itemId":"d","itemName":"Dragon","itemImage":"d.png","itemRarity":"gold","valueCents":"1000","type":"REMOVED_TO_POOL"}`

	duoData = `{"ana":[` + itemA + itemA + itemB + itemB + gold + silver + dust + `,` + dust + `,` + dust + `,` + dragon + `],
		"bob":[` + itemA + itemA + itemB + gold + silver + silver + dust + `]}`
	duoWinners = `[{"odUserId":"ana","odUsername":"Ana","odAvatarUrl":"/ana.png","team":1,"totalWonCents":"775"},
		{"odUserId":"bob","odUsername":"Bob","team":1,"totalWonCents":"775"}]`
)

func TestFinished(t *testing.T) {
	g := scripted(t)
	g.bots()
	for range 6 {
		g.tick()
	}
	payload := `{"battleId":"9","winners":` + duoWinners + `,"totalPotCents":"1550","settlementData":` + duoData + `}`
	g.same(g.tick(),
		sample{room, "battle:finished", 0, payload},
		sample{"", "battle:completed", 0, payload},
		sample{"", "battle:updated", 0, `{"id":"9","status":"FINISHED","playersCount":4,"maxPlayers":4}`})
}

func TestCancelled(t *testing.T) {
	g := scripted(t)
	g.same(g.do("ana", battle.Cancel{}),
		sample{"user:ana", "balance:updated", 0, `{"userId":"ana"}`},
		sample{"user:bob", "balance:updated", 0, `{"userId":"bob"}`},
		sample{"user:cid", "balance:updated", 0, `{"userId":"cid"}`},
		sample{room, "battle:cancelled", 0, `{"battleId":"9","reason":"cancelled"}`},
		sample{"", "battle:updated", 0, `{"id":"9","status":"CANCELLED","playersCount":3,"maxPlayers":4}`})
	g = newGame(t, duo(), bank(t))
	g.do(glasshouse.System, battle.Create{})
	require.JSONEq(t, `{"battleId":"9","reason":"expired"}`, string(only(g.tick(), "battle:cancelled")[0].Payload))
}

// Cash is money that moves: those who get it are told, and it is part of what they won.
func TestCashPayout(t *testing.T) {
	g := newGame(t, duo(func(c *battle.Config) { c.Payout = battle.ExactCash }), bank(t))
	g.script = duoScript
	g.do(glasshouse.System, battle.Create{})
	g.do("bob", battle.Join{Team: 1})
	g.do("ana", battle.AddBots{})
	g.finish()
	got := Messages(g.s, g.turns[len(g.turns)-1], people)
	// 775 each: Ana has items worth 300 and Bob 250; the dragon is bought by the house.
	require.Equal(t, []string{"user:ana", "user:bob", room, "", ""}, []string{got[0].Room, got[1].Room, got[2].Room, got[3].Room, got[4].Room})
	require.Contains(t, string(got[2].Payload), `"totalWonCents":"775","cashCents":"475"`)
	require.Contains(t, string(got[2].Payload), `"totalWonCents":"775","cashCents":"525"`)
	rows := SettlementRows(g.s)
	last := rows[len(rows)-1]
	require.Equal(t, []string{"REMOVED_TO_POOL", "d", "ana", "1000"}, []string{last.Type, last.ItemID, last.UserID, last.ValueCents})
	require.Equal(t, 1, *last.RoundNumber)
}

// Beyond the source: a tie that is refunded has no winner, team 0, and says so.
func TestRefundedTie(t *testing.T) {
	g := newGame(t, duo(duel, func(c *battle.Config) { c.Ties = battle.Refund }), bank(t))
	g.script = [][]int{{0, 0}, {1, 1}}
	g.do(glasshouse.System, battle.Create{})
	g.do("bob", battle.Join{Team: 2})
	g.finish()
	g.same(Messages(g.s, g.turns[len(g.turns)-1], people),
		sample{"user:ana", "balance:updated", 0, `{"userId":"ana"}`},
		sample{"user:bob", "balance:updated", 0, `{"userId":"bob"}`},
		sample{room, "battle:finished", 0, `{"battleId":"9","winners":[],"totalPotCents":"0","settlementData":{},"isRefunded":true}`},
		sample{"", "battle:completed", 0, `{"battleId":"9","winners":[],"totalPotCents":"0","settlementData":{},"isRefunded":true}`},
		sample{"", "battle:updated", 0, `{"id":"9","status":"FINISHED","playersCount":2,"maxPlayers":2}`})
	b := Response(g.s, "", people)
	require.Nil(t, b.Winner)
	require.Equal(t, 0, *b.WinnerTeam)
	require.Contains(t, jsonOf(t, b), `"winners":[],"settlementData":{},"rounds":[{`)
	require.Equal(t, "0", b.Players[0].TotalProfitCents)
	require.Empty(t, SettlementRows(g.s))
}

// Contradiction 28: a private battle is not announced to everybody; live drops name no battle and are sent.
func TestPrivateBattleStaysInItsRoom(t *testing.T) {
	g := newGame(t, duo(duel, private), bank(t))
	g.do(glasshouse.System, battle.Create{})
	g.do("bob", battle.Join{Team: 2, Code: g.s.View("ana").Code})
	g.finish()
	events := map[string]int{}
	for _, m := range g.all() {
		if m.Event == "live:drop" {
			require.NotContains(t, string(m.Payload), "battleId")
			continue
		}
		require.NotEmpty(t, m.Room, m.Event)
		events[m.Event]++
	}
	require.Zero(t, events["battle:created"])
	require.Zero(t, events["battle:completed"])
	require.Equal(t, 3, events["battle:updated"])
	require.Equal(t, 1, events["battle:finished"])
}

func TestTopDrop(t *testing.T) {
	for value, want := range map[int64]bool{99_999: false, 100_000: true} {
		g := newGame(t, duo(duel, func(c *battle.Config) {
			c.Cases = []battle.Case{star()}
			c.Cases[0].Items[0].Item.Value = value
		}), nil)
		g.script = [][]int{{0, 1}}
		g.do(glasshouse.System, battle.Create{})
		g.do("bob", battle.Join{Team: 2})
		g.tick()
		drops := only(g.tick(), "live:drop")
		require.Contains(t, string(drops[0].Payload), fmt.Sprintf(`"isTopDrop":%t`, want))
		require.Contains(t, string(drops[1].Payload), `"isTopDrop":false`)
	}
}

func TestModeAndTypeNames(t *testing.T) {
	for _, c := range []struct {
		mode   battle.Mode
		lowest bool
		want   string
	}{
		{battle.Normal, false, `"mode":"NORMAL","type"`},
		{battle.Normal, true, `"mode":"FLIP","type"`},
		{battle.Shared, false, `"mode":"SHARED","type"`},
		{battle.Terminal, false, `"mode":"TERMINAL","type"`},
		{battle.Terminal, true, `"mode":"TERMINAL","lowest":true,"type"`},
		{battle.Jackpot, true, `"mode":"JACKPOT","lowest":true,"type"`},
		{battle.Points, true, `"mode":"POINTS","lowest":true,"type"`},
	} {
		g := newGame(t, duo(func(cfg *battle.Config) { cfg.Mode, cfg.Lowest = c.mode, c.lowest }), nil)
		created := only(g.do(glasshouse.System, battle.Create{}), "battle:created")
		require.Contains(t, string(created[0].Payload), c.want)
		require.Contains(t, jsonOf(t, Response(g.s, "", nil)), c.want)
	}
	for layout, want := range map[string]string{
		"1v1": "ONE_VS_ONE", "4v4": "FOUR_VS_FOUR", "1v1v1v1": "ONE_VS_ONE_VS_ONE_VS_ONE", "2v2v2": "2v2v2",
	} {
		l, err := battle.ParseLayout(layout)
		require.NoError(t, err)
		g := newGame(t, duo(func(cfg *battle.Config) { cfg.Layout = l }), nil)
		g.do(glasshouse.System, battle.Create{})
		require.Equal(t, want, Response(g.s, "", nil).Type)
	}
}

func TestFormatted(t *testing.T) {
	for cents, want := range map[int64]string{
		0: "0.00", 5: "0.05", 50: "0.50", 100: "1.00", 70765: "707.65", -5: "-0.05", -22_550: "-225.50", battle.MaxCents: "10000000000000.00",
	} {
		require.Equal(t, want, formatted(cents))
	}
}

// The public value that the source does not know: the room hears of the start once it is there, or of the end.
func TestBeaconNotYetKnown(t *testing.T) {
	g := newGame(t, duo(duel, func(c *battle.Config) {
		c.Beacon = &battle.BeaconRule{Drand: fair.Drand{Chain: fair.Digest{1}, Genesis: 1000, Period: 3}}
	}), bank(t))
	g.do(glasshouse.System, battle.Create{})
	got := g.do("bob", battle.Join{Team: 2})
	require.Empty(t, only(got, "battle:starting"))
	require.JSONEq(t, `{"id":"9","status":"IN_PROGRESS","playersCount":2,"maxPlayers":2}`, string(got[len(got)-1].Payload))
	ends := g.s.Deadline().At.UnixMilli()
	require.JSONEq(t, fmt.Sprintf(`{"battleId":"9","status":"STARTING","currentRound":0,"totalRounds":2,"currentPhase":"COUNTDOWN",
		"phaseEndsAt":%d,"hasFlipInCurrentRound":false,"completedRounds":[],"playerTotals":{"ana":0,"bob":0},
		"isPhaseExpired":false,"timeRemainingMs":%d,"serverTime":%d}`, ends, ends-atNoon, int64(atNoon)), string(State(g.s, noon, people).Data))
	got = g.tick()
	require.JSONEq(t, `{"battleId":"9","reason":"beacon_missing"}`, string(only(got, "battle:cancelled")[0].Payload))
	require.Len(t, only(got, "balance:updated"), 2)
}

// Once it is known, the room hears of the countdown.
func TestBeaconKnown(t *testing.T) {
	g := newGame(t, duo(duel, func(c *battle.Config) {
		c.Beacon = &battle.BeaconRule{Drand: fair.Drand{Chain: fair.Digest{1}, Genesis: 1000, Period: 3}}
	}), nil)
	g.do(glasshouse.System, battle.Create{})
	g.do("bob", battle.Join{Team: 2})
	g.now = noon.Add(9 * seconds)
	value := fair.Beacon{Round: g.s.View("").Target, Signature: []byte("signature")}
	value.Randomness = sha256.Sum256(value.Signature)
	g.same(g.do(glasshouse.System, battle.Beacon{Value: value}),
		sample{room, "battle:starting", 0, `{"battleId":"9","startsAt":"2026-05-01T12:00:12.000Z"}`})
}

// Contradiction 20: under SourceTimeline nothing waits between the countdown, the spins and the end.
func TestSourceTimeline(t *testing.T) {
	g := newGame(t, duo(duel, func(c *battle.Config) { c.Compat.SourceTimeline = true }), nil)
	g.script = [][]int{{0, 2}, {0, 0}}
	g.do(glasshouse.System, battle.Create{})
	g.do("bob", battle.Join{Team: 2})
	g.finish()
	var dues []string
	for _, m := range g.all() {
		if m.Event == "battle:round_start" || m.Event == "battle:round_result" || m.Event == "battle:finished" {
			dues = append(dues, m.Event+" "+m.Due.Sub(noon).String())
		}
	}
	require.Equal(t, []string{
		"battle:round_start 3s", "battle:round_result 3s",
		"battle:round_start 25.05s", "battle:round_result 25.05s", "battle:finished 33.6s",
	}, dues)
}

// A battle that costs nothing changes no balance.
func TestFreeBattle(t *testing.T) {
	g := newGame(t, duo(duel, func(c *battle.Config) { c.Cases[0].Price, c.Cases[1].Price = 0, 0 }), bank(t))
	g.do(glasshouse.System, battle.Create{})
	g.do("bob", battle.Join{Team: 2})
	g.finish()
	require.Empty(t, only(g.all(), "balance:updated"))
}

func TestMessagesNeedTheStateAfterTheTurn(t *testing.T) {
	g := scripted(t)
	require.Panics(t, func() { Messages(g.states[0], g.turns[1], people) })
	// A later state will do; the players counted are its own.
	got := Messages(g.s, g.turns[1], people)
	require.JSONEq(t, `{"id":"9","status":"WAITING","playersCount":3,"maxPlayers":4}`, string(got[2].Payload))
}

// The whole stream of a battle, for people to read.
func TestStreamGolden(t *testing.T) {
	g := scripted(t)
	g.bots()
	g.finish()
	var out strings.Builder
	for i, turn := range g.turns {
		fmt.Fprintf(&out, "# turn %d by %s:", turn.Rev, turn.Actor)
		for _, ev := range turn.Events {
			fmt.Fprintf(&out, " %s", ev.Kind())
		}
		fmt.Fprintln(&out)
		for _, m := range Messages(g.states[i], turn, people) {
			to := m.Room
			if to == "" {
				to = "everybody"
			}
			fmt.Fprintf(&out, "%9.3f s  %-11s %-21s %s\n", m.Due.Sub(noon).Seconds(), to, m.Event, m.Payload)
		}
	}
	path := filepath.Join("testdata", "stream.txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}

// delayed are the messages that Pending is to find.
func delayed(ms []Message, after time.Time) []Message {
	out := []Message{}
	for _, m := range ms {
		if m.Due.After(after) && (m.Event == "live:drop" || m.Event == "battle:state_push") {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b Message) int { return a.Due.Compare(b.Due) })
	return out
}

// A host that starts again finds in the state alone what it had scheduled, at every moment of the battle. Once a round
// has stopped spinning its pushes are over.
func TestPendingIsWhatWasScheduled(t *testing.T) {
	for _, edit := range []func(*battle.Config){
		func(*battle.Config) {},
		legacy52,
		func(c *battle.Config) { c.Compat.SourceTimeline = true },
		func(c *battle.Config) { c.Cases = append(c.Cases, snow(), snow(), star()) },
	} {
		g := newGame(t, duo(edit), bank(t))
		g.do(glasshouse.System, battle.Create{})
		g.do("bob", battle.Join{Team: 2})
		g.do("ana", battle.AddBots{})
		g.finish()
		var sent []Message
		found := 0
		for i, turn := range g.turns {
			sent = append(sent, Messages(g.states[i], turn, people)...)
			for _, wait := range []time.Duration{0, 1999 * time.Millisecond, 2 * seconds, 11 * seconds} {
				now := turn.At.Add(wait)
				if i+1 < len(g.turns) && now.After(g.turns[i+1].At) {
					continue
				}
				want := delayed(sent, now)
				require.Equal(t, want, append([]Message{}, Pending(g.states[i], people, now)...), "turn %d, %s later", turn.Rev, wait)
				found += len(want)
			}
		}
		require.NotZero(t, found)
	}
}

// Where clocks were stepped late, a drop of an earlier round comes later by no more than that, and never sooner.
func TestPendingAfterLateSteps(t *testing.T) {
	g := newGame(t, duo(duel, func(c *battle.Config) { c.Cases = append(c.Cases, snow(), snow()) }), nil)
	g.late = 7 * time.Millisecond
	g.do(glasshouse.System, battle.Create{})
	g.do("bob", battle.Join{Team: 2})
	var sent []Message
	for !g.s.Status().Done() {
		sent = append(sent, g.tick()...)
		want := only(sent, "live:drop")
		got := only(Pending(g.s, people, noon), "live:drop")
		require.Len(t, got, len(want))
		slices.SortStableFunc(want, func(a, b Message) int { return a.Due.Compare(b.Due) })
		for i := range got {
			late := got[i].Due.Sub(want[i].Due)
			require.GreaterOrEqual(t, late, time.Duration(0))
			require.LessOrEqual(t, late, time.Duration(len(g.turns))*g.late)
		}
	}
}

// The same state, turn and profiles give the same bytes, whether the state was stepped, restored or replayed, and the
// turn read back from the journal.
func TestSameInputsSameBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := randomGame(t, rt)
		rules := battle.Rules()
		for i, turn := range g.turns {
			memo, err := rules.MarshalTurn(turn)
			require.NoError(t, err)
			turn2, err := rules.UnmarshalTurn(memo)
			require.NoError(t, err)
			restored, err := battle.Restore(g.cfg, g.states[i].Snapshot())
			require.NoError(t, err)
			require.Equal(t, Messages(g.states[i], turn, people), Messages(restored, turn2, people))
			require.Equal(t, State(g.states[i], turn.At, people), State(restored, turn.At, people))
			require.Equal(t, jsonOf(t, Response(g.states[i], "ana", people)), jsonOf(t, Response(restored, "ana", people)))
		}
	})
}

// Messages keep their promises in any battle: in order of Due, none before the turn; one result, start and end a round;
// a live drop for every roll of a person.
func TestStreamsAreComplete(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := randomGame(t, rt)
		count := map[string]int{}
		for i, turn := range g.turns {
			ms := Messages(g.states[i], turn, people)
			require.True(t, slices.IsSortedFunc(ms, func(a, b Message) int { return a.Due.Compare(b.Due) }))
			for _, m := range ms {
				require.False(t, m.Due.Before(turn.At))
				count[m.Event]++
			}
		}
		persons := 0
		for _, seat := range g.s.View("").Seats {
			if !seat.Bot {
				persons++
			}
		}
		rounds := len(g.cfg.Cases)
		require.Equal(t, rounds, count["battle:round_start"])
		require.Equal(t, rounds, count["battle:round_result"])
		require.Equal(t, rounds*persons, count["live:drop"])
		require.Equal(t, 1, count["battle:starting"])
		require.Equal(t, 1, count["battle:finished"])
		require.Equal(t, g.cfg.Layout.Seats()-1, count["battle:player_joined"])
	})
}

func randomGame(t *testing.T, rt *rapid.T) *game {
	cfg := duo(func(c *battle.Config) {
		c.ID = fmt.Sprintf("r%d", rapid.IntRange(1, 1_000_000).Draw(rt, "id"))
		c.Layout = battle.Layout{Teams: rapid.IntRange(2, 4).Draw(rt, "teams"), Size: rapid.IntRange(1, 2).Draw(rt, "size")}
		c.Mode = battle.Mode(rapid.IntRange(int(battle.Normal), int(battle.Points)).Draw(rt, "mode"))
		c.Lowest = c.Mode != battle.Shared && rapid.Bool().Draw(rt, "lowest")
		c.Payout = battle.Payout(rapid.IntRange(int(battle.Pool), int(battle.WholeItems)).Draw(rt, "payout"))
		c.Ties = battle.Ties(rapid.IntRange(int(battle.SplitAll), int(battle.Refund)).Draw(rt, "ties"))
		c.Cases = c.Cases[:rapid.IntRange(1, 2).Draw(rt, "rounds")]
		c.Compat.Legacy52 = rapid.Bool().Draw(rt, "legacy52")
		c.Compat.SourceTimeline = rapid.Bool().Draw(rt, "source timeline")
	})
	g := newGame(t, cfg, nil)
	g.late = time.Duration(rapid.IntRange(0, 50).Draw(rt, "late")) * time.Millisecond
	g.do(glasshouse.System, battle.Create{})
	if rapid.Bool().Draw(rt, "bob") {
		g.do("bob", battle.Join{Team: cfg.Layout.Teams, ClientSeed: "b"})
	}
	if g.s.Status() == battle.StatusWaiting {
		g.do("ana", battle.AddBots{})
	}
	return g.finish()
}
