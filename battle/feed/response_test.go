package feed

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/fair/legacy"
)

const duoCases = `[{"id":"11","name":"Snow Case","imageUrl":"snow.png","priceCents":"500","priceFormatted":"5.00","order":0},
	{"id":"12","name":"Star Case","imageUrl":"","priceCents":"500","priceFormatted":"5.00","order":1}]`

func TestResponseOfAWaitingBattle(t *testing.T) {
	g := scripted(t)
	require.JSONEq(t, `{"id":"9","mode":"NORMAL","type":"TWO_VS_TWO","status":"WAITING",
		"creator":{"id":"ana","username":"Ana","avatarUrl":"/ana.png"},
		"players":[
			{"id":"9:0","odUserId":"ana","odUsername":"Ana","odAvatarUrl":"/ana.png","team":1,"totalProfitCents":"0","totalProfitFormatted":"0.00"},
			{"id":"9:1","odUserId":"bob","odUsername":"Bob","team":1,"totalProfitCents":"0","totalProfitFormatted":"0.00"},
			{"id":"9:2","odUserId":"cid","odUsername":"cid","team":2,"totalProfitCents":"0","totalProfitFormatted":"0.00"}],
		"cases":`+duoCases+`,"totalValueCents":"1000","totalValueFormatted":"10.00","isPrivate":false,
		"createdAt":"2026-05-01T12:00:00.000Z"}`, jsonOf(t, Response(g.s, "ana", people)))
}

// Contradictions 6 and 7: winner is the first member of the winning team.
func TestResponseOfAFinishedBattle(t *testing.T) {
	g := scripted(t)
	g.bots()
	g.finish()
	result := func(user, name, item string) string {
		return `{"odUserId":"` + user + `","odUsername":"` + name + `",` + item + `}`
	}
	a := func(roll string) string {
		return `"itemId":"a","itemName":"AK-47 | Redline <3 & more","itemImage":"a.png","itemRarity":"rare","itemValueCents":"100","roll":` + roll + `,"isFlip":false`
	}
	b := `"itemId":"b","itemName":"P250","itemImage":"b.png","itemRarity":"common","itemValueCents":"50","roll":5000001,"isFlip":false`
	d := `"itemId":"d","itemName":"Dragon","itemImage":"d.png","itemRarity":"gold","itemValueCents":"1000","roll":9000001,"isFlip":true,"flipRoll":9000001`
	require.JSONEq(t, `{"id":"9","mode":"NORMAL","type":"TWO_VS_TWO","status":"FINISHED",
		"creator":{"id":"ana","username":"Ana","avatarUrl":"/ana.png"},
		"winner":{"id":"ana","username":"Ana"},"winnerTeam":1,
		"players":[
			{"id":"9:0","odUserId":"ana","odUsername":"Ana","odAvatarUrl":"/ana.png","team":1,"totalProfitCents":"-225","totalProfitFormatted":"-2.25"},
			{"id":"9:1","odUserId":"bob","odUsername":"Bob","team":1,"totalProfitCents":"-225","totalProfitFormatted":"-2.25"},
			{"id":"9:2","odUserId":"cid","odUsername":"cid","team":2,"totalProfitCents":"-1000","totalProfitFormatted":"-10.00"},
			{"id":"9:3","odUserId":"bot:1","odUsername":"Battle Bot #1","team":2,"totalProfitCents":"-1000","totalProfitFormatted":"-10.00"}],
		"cases":`+duoCases+`,"totalValueCents":"1000","totalValueFormatted":"10.00","isPrivate":false,
		"createdAt":"2026-05-01T12:00:00.000Z","startedAt":"2026-05-01T12:00:10.000Z","finishedAt":"2026-05-01T12:00:46.600Z",
		"winners":`+duoWinners+`,"settlementData":`+duoData+`,
		"rounds":[
			{"roundNumber":1,"caseId":"11","results":[`+result("ana", "Ana", a("1"))+`,`+result("bob", "Bob", d)+`,`+result("cid", "cid", b)+`,`+result("bot:1", "Battle Bot #1", b)+`]},
			{"roundNumber":2,"caseId":"12","results":[`+result("ana", "Ana", a("1"))+`,`+result("bob", "Bob", a("1"))+`,`+result("cid", "cid", a("1"))+`,`+result("bot:1", "Battle Bot #1", b)+`]}]}`,
		jsonOf(t, Response(g.s, "cid", people)))
}

// Contradictions 6 and 7: a tie and mode SHARED have winnerTeam 0, and the first of all players as winner. A profile of
// a bot's replaces its name.
func TestResponseWhereEverybodyWins(t *testing.T) {
	for _, edit := range []func(*battle.Config){
		func(*battle.Config) {},
		func(c *battle.Config) { c.Mode = battle.Shared },
	} {
		g := newGame(t, duo(duel, edit), nil)
		g.script = [][]int{{0, 0}, {1, 1}}
		g.do(glasshouse.System, battle.Create{})
		g.do("ana", battle.AddBots{})
		g.finish()
		b := Response(g.s, "", Profiles{"bot:1": {Username: "HAL", AvatarURL: "/avatar/1.png"}})
		require.Equal(t, 0, *b.WinnerTeam)
		require.Equal(t, &Person{ID: "ana", Username: "ana"}, b.Winner)
		require.Len(t, b.Winners, 2)
		require.Equal(t, Winner{UserID: "bot:1", Username: "HAL", AvatarURL: "/avatar/1.png", Team: 2, TotalWonCents: "150"}, b.Winners[1])
		require.Contains(t, jsonOf(t, b), `"winnerTeam":0,`)
	}
}

// The fields of the end are absent before it, and a cancelled battle has not finished.
func TestResponseBeforeTheEnd(t *testing.T) {
	g := scripted(t)
	g.bots()
	for range 5 {
		g.tick()
	}
	text := jsonOf(t, Response(g.s, "ana", people))
	for _, field := range []string{"winner", "winners", "winnerTeam", "settlementData", "rounds", "finishedAt", "joinCode"} {
		require.NotContains(t, text, `"`+field+`"`)
	}
	require.Contains(t, text, `"startedAt"`)
	g = newGame(t, duo(), nil)
	g.do(glasshouse.System, battle.Create{})
	g.do("ana", battle.Cancel{})
	b := Response(g.s, "", nil)
	require.Equal(t, "CANCELLED", b.Status)
	require.Empty(t, b.FinishedAt+b.StartedAt)
}

// secrets collects what a host knows of a turn and nobody else may.
func secrets(turns []battle.Turn) (seeds, code []string) {
	for _, turn := range turns {
		for _, ev := range turn.Events {
			switch ev := ev.(type) {
			case battle.SeedDrawn:
				seeds, code = append(seeds, ev.Seed.Hex()), append(code, string(ev.Code))
			case battle.LegacyDrawn:
				for _, s := range ev.Seeds {
					seeds = append(seeds, s.Server.Hex(), s.Client)
				}
			}
		}
	}
	return seeds, code
}

// Whatever is asked, at any moment of a private battle, by whomever: no server seed, no seeds of a roll to come, and no
// join code but the creator's own. The pairs of Legacy52 are shown by RoundRows with their rolls, and by nothing else.
func TestSecretsStayInside(t *testing.T) {
	for _, edit := range []func(*battle.Config){func(*battle.Config) {}, legacy52} {
		g := newGame(t, duo(private, edit), bank(t))
		g.do(glasshouse.System, battle.Create{})
		g.do("bob", battle.Join{Team: 2, Code: g.s.View("ana").Code})
		g.do("ana", battle.AddBots{})
		g.finish()
		seeds, code := secrets(g.turns)
		require.Len(t, code, 1)
		require.Len(t, code[0], 8)
		for i, turn := range g.turns {
			s := g.states[i]
			var all strings.Builder
			all.WriteString(jsonOf(t, Messages(s, turn, people)))
			all.WriteString(jsonOf(t, Pending(s, people, noon)))
			all.WriteString(jsonOf(t, State(s, turn.At, people)))
			all.WriteString(jsonOf(t, SettlementRows(s)))
			for _, viewer := range []string{"", "bob", "cid", "bot:1", glasshouse.System} {
				all.WriteString(jsonOf(t, Response(s, viewer, people)))
			}
			for _, secret := range append(append([]string{}, seeds...), code...) {
				require.NotContains(t, all.String(), secret, "turn %d", turn.Rev)
			}
			require.Equal(t, code[0], Response(s, "ana", people).JoinCode)

			rows := jsonOf(t, RoundRows(s))
			require.NotContains(t, rows, code[0])
			require.NotContains(t, rows, seeds[0], "the server seed is in the record, not in rows")
			known := 1 + 2*len(RoundRows(s)) // the server seed, then a pair for each roll so far
			if g.cfg.Compat.Legacy52 {
				for n, secret := range seeds[1:] {
					require.Equal(t, n+1 < known, strings.Contains(rows, secret), "turn %d, seed %d", turn.Rev, n)
				}
			}
		}
	}
}

// Rows of a Legacy52 battle pass the verifier of the source's scheme, flips too, and fail it once touched.
func TestRoundRowsVerify(t *testing.T) {
	low := snow() // the second roulette turns at about every other roll
	low.FlipThreshold = 5_000_001
	g := newGame(t, duo(legacy52, func(c *battle.Config) { c.Cases = []battle.Case{low, low, star()} }), nil)
	g.do(glasshouse.System, battle.Create{})
	g.do("ana", battle.AddBots{})
	g.finish()
	rows := RoundRows(g.s)
	require.Len(t, rows, 12)
	flips := 0
	for i, r := range rows {
		require.Equal(t, "9", r.BattleID)
		require.Equal(t, i/4+1, r.RoundNumber)
		require.Equal(t, "9:"+string(rune('0'+i%4)), r.PlayerID)
		require.Equal(t, int64(100*r.RoundNumber+i%4), r.Nonce)
		cs := g.cfg.Cases[r.RoundNumber-1]
		require.Equal(t, cs.ID, r.CaseID)
		table := &legacy.Table52{Max: battle.MaxRoll}
		if cs.FlipThreshold > 0 {
			table.FlipThreshold = &cs.FlipThreshold
		}
		for _, it := range cs.Items {
			table.Items = append(table.Items, legacy.Item52{ID: it.Item.ID, First: it.First, Last: it.Last})
		}
		rec := legacy.Record52{Row: *r.Row52, Table: table}
		require.True(t, verified(t, rec), "row %d", i)
		rec.Row.Nonce++
		require.False(t, verified(t, rec), "row %d", i)

		text := jsonOf(t, r)
		if r.IsFlip {
			flips++
			require.Equal(t, r.ServerSeed+"_flip", *r.FlipServerSeed)
			require.Equal(t, r.ClientSeed, *r.FlipClientSeed)
			require.Equal(t, r.Nonce+1, *r.FlipNonce)
			require.Equal(t, r.Roll, *r.FlipRoll)
		} else {
			require.Contains(t, text, `"flipServerSeed":null,"flipClientSeed":null,"flipNonce":null,"flipRoll":null`)
		}
		for _, field := range []string{
			"battleId", "roundNumber", "playerId", "caseId", "itemId", "itemValueCents", "itemName", "itemImage", "itemRarity",
			"serverSeed", "serverSeedHash", "clientSeed", "nonce", "roll", "isFlip",
		} {
			require.Equal(t, 1, strings.Count(text, `"`+field+`":`), field)
		}
	}
	require.NotZero(t, flips)
	require.Less(t, flips, 8)
}

func verified(t *testing.T, rec legacy.Record52) bool {
	t.Helper()
	rep, err := rec.Verify()
	require.NoError(t, err)
	return rep.OK()
}

// A fair/v2 roll has no seeds of its own: the fields are not there.
func TestRoundRowsWithoutLegacy(t *testing.T) {
	g := scripted(t)
	g.bots()
	require.Empty(t, RoundRows(g.s))
	g.tick()
	g.tick()
	require.JSONEq(t, `{"battleId":"9","roundNumber":1,"playerId":"9:1","caseId":"11","itemId":"d","itemValueCents":"1000",
		"itemName":"Dragon","itemImage":"d.png","itemRarity":"gold","roll":9000001,"isFlip":true}`, jsonOf(t, RoundRows(g.s)[1]))
}

func TestSettlementRows(t *testing.T) {
	g := scripted(t)
	require.Nil(t, SettlementRows(g.s))
	g.bots()
	g.finish()
	row := func(user, item, kind, cents, round string) string {
		return `{"battleId":"9","odUserId":"` + user + `","itemId":"` + item + `","type":"` + kind + `","valueCents":"` + cents + `","roundNumber":` + round + `}`
	}
	require.JSONEq(t, `[`+strings.Join([]string{
		row("ana", "a", "DROPPED", "100", "1"), row("ana", "a", "DROPPED", "100", "2"),
		row("ana", "b", "DROPPED", "50", "1"), row("ana", "b", "DROPPED", "50", "2"),
		row("ana", "gold", "ADDED_FROM_POOL", "400", "null"), row("ana", "silver", "ADDED_FROM_POOL", "60", "null"),
		row("ana", "dust", "ADDED_FROM_POOL", "5", "null"), row("ana", "dust", "ADDED_FROM_POOL", "5", "null"), row("ana", "dust", "ADDED_FROM_POOL", "5", "null"),
		row("bob", "a", "DROPPED", "100", "2"), row("bob", "a", "DROPPED", "100", "2"), row("bob", "b", "DROPPED", "50", "1"),
		row("bob", "gold", "ADDED_FROM_POOL", "400", "null"), row("bob", "silver", "ADDED_FROM_POOL", "60", "null"),
		row("bob", "silver", "ADDED_FROM_POOL", "60", "null"), row("bob", "dust", "ADDED_FROM_POOL", "5", "null"),
		// Bob opened the dragon in round 1; the source books it on the first winner.
		row("ana", "d", "REMOVED_TO_POOL", "1000", "1"),
	}, ",")+`]`, jsonOf(t, SettlementRows(g.s)))
}

// Where two copies of an item are in a winner's pile, the row of a removed one has the round that the source writes
// down: that of the last copy, though it takes out the first.
func TestSettlementRowsHaveTheSourcesRound(t *testing.T) {
	found := false
	for n := range 40 {
		g := newGame(t, duo(func(c *battle.Config) {
			c.ID = "n" + strconv.Itoa(n)
			c.Compat.PoolUnsorted = true
			c.Cases = []battle.Case{star(), star(), star(), star()}
		}), nil)
		g.do(glasshouse.System, battle.Create{})
		g.do("ana", battle.AddBots{})
		g.finish()
		v := g.s.View("")
		for i, r := range v.Settlement.Records {
			if r.Type == battle.AddedFromPool {
				continue
			}
			require.Equal(t, v.Rolls[r.Booked].Round, *SettlementRows(g.s)[i].RoundNumber)
			found = found || v.Rolls[r.Booked].Round != v.Rolls[r.Drop].Round
		}
	}
	require.True(t, found, "no battle removed one of several copies")
}
