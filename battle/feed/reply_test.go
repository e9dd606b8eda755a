package feed

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
)

func TestAcks(t *testing.T) {
	require.JSONEq(t, `{"event":"battle:joined","data":{"battleId":"123456","room":"battle:123456"}}`, jsonOf(t, Joined("123456")))
	require.JSONEq(t, `{"event":"battle:left","data":{"battleId":"123456"}}`, jsonOf(t, Left("123456")))
	require.JSONEq(t, `{"event":"battle:state","data":{"battleId":"123456","status":"NOT_FOUND"}}`, jsonOf(t, NotFound("123456")))
}

func (g *game) stateIs(now time.Time, want string) {
	g.t.Helper()
	got := State(g.s, now, people)
	require.Equal(g.t, "battle:state", got.Event)
	require.JSONEq(g.t, want, string(got.Data))
}

// without is roundOneResults without the roulettes, as completed rounds have them.
func without(t *testing.T, results string) string {
	var list []map[string]any
	require.NoError(t, json.Unmarshal([]byte(results), &list))
	for _, r := range list {
		delete(r, "normalItems")
		delete(r, "flipItems")
	}
	return jsonOf(t, list)
}

// battle:state through a whole battle. Contradiction 18: STARTING is what clients see of the countdown.
func TestState(t *testing.T) {
	fresh, err := battle.New(duo())
	require.NoError(t, err)
	require.Equal(t, NotFound("9"), State(fresh, noon, people), "no battle before Create")

	g := scripted(t)
	ms := func(after int64) int64 { return atNoon + after }
	g.stateIs(noon.Add(10*seconds), fmt.Sprintf(`{"battleId":"9","status":"WAITING","currentRound":0,"totalRounds":2,
		"phaseEndsAt":%d,"hasFlipInCurrentRound":false,"completedRounds":[],"playerTotals":{"ana":0,"bob":0,"cid":0},
		"isPhaseExpired":false,"timeRemainingMs":1790000,"serverTime":%d}`, ms(1_800_000), ms(10_000)))
	g.bots()
	totals := `"playerTotals":{"ana":0,"bob":0,"bot:1":0,"cid":0}`
	g.stateIs(noon.Add(12_999*time.Millisecond), fmt.Sprintf(`{"battleId":"9","status":"STARTING","currentRound":0,"totalRounds":2,
		"currentPhase":"COUNTDOWN","phaseEndsAt":%d,"hasFlipInCurrentRound":false,"completedRounds":[],%s,
		"isPhaseExpired":false,"timeRemainingMs":1,"serverTime":%d}`, ms(13_000), totals, ms(12_999)))
	g.tick()
	snowRound := `"currentRoundCaseId":"11","currentRoundCaseName":"Snow Case"`
	g.stateIs(noon.Add(13_500*time.Millisecond), fmt.Sprintf(`{"battleId":"9","status":"IN_PROGRESS","currentRound":1,"totalRounds":2,
		"currentPhase":"ROUND_STARTING","phaseEndsAt":%d,"hasFlipInCurrentRound":false,%s,"completedRounds":[],%s,
		"isPhaseExpired":true,"timeRemainingMs":0,"serverTime":%d}`, ms(13_500), snowRound, totals, ms(13_500)))
	g.tick()
	g.stateIs(noon.Add(15*seconds), fmt.Sprintf(`{"battleId":"9","status":"IN_PROGRESS","currentRound":1,"totalRounds":2,
		"currentPhase":"SPINNING","phaseEndsAt":%d,"hasFlipInCurrentRound":true,"spinStartedAt":%d,%s,
		"currentRoundResults":%s,"completedRounds":[],%s,
		"isPhaseExpired":false,"timeRemainingMs":20550,"serverTime":%d}`,
		ms(35_550), ms(13_500), snowRound, roundOneResults, totals, ms(15_000)))
	g.tick()
	one := `{"roundNumber":1,"caseId":"11","caseName":"Snow Case","results":` + without(t, roundOneResults) + `}`
	g.stateIs(noon.Add(36*seconds), fmt.Sprintf(`{"battleId":"9","status":"IN_PROGRESS","currentRound":1,"totalRounds":2,
		"currentPhase":"ROUND_COMPLETE","phaseEndsAt":%d,"hasFlipInCurrentRound":true,%s,
		"currentRoundResults":%s,"completedRounds":[%s],"playerTotals":{"ana":100,"bob":1000,"cid":50,"bot:1":50},
		"isPhaseExpired":false,"timeRemainingMs":550,"serverTime":%d}`, ms(36_550), snowRound, roundOneResults, one, ms(36_000)))
	g.tick()
	g.stateIs(noon.Add(36_600*time.Millisecond), fmt.Sprintf(`{"battleId":"9","status":"IN_PROGRESS","currentRound":2,"totalRounds":2,
		"currentPhase":"ROUND_STARTING","phaseEndsAt":%d,"hasFlipInCurrentRound":false,
		"currentRoundCaseId":"12","currentRoundCaseName":"Star Case",
		"completedRounds":[%s],"playerTotals":{"ana":100,"bob":1000,"cid":50,"bot:1":50},
		"isPhaseExpired":false,"timeRemainingMs":450,"serverTime":%d}`, ms(37_050), one, ms(36_600)))
	g.finish()
	var got battleState
	require.NoError(t, json.Unmarshal(State(g.s, g.now, people).Data, &got))
	require.Equal(t, "FINISHED", got.Status)
	require.Equal(t, "FINISHED", got.CurrentPhase)
	require.Equal(t, ms(46_600), got.PhaseEndsAt)
	require.True(t, got.IsPhaseExpired)
	require.Nil(t, got.CurrentRoundResults)
	require.Len(t, got.CompletedRounds, 2)
	require.Equal(t, map[string]number{"ana": 200, "bob": 1100, "cid": 150, "bot:1": 100}, got.PlayerTotals)
}

func TestStateOfACancelledBattle(t *testing.T) {
	g := newGame(t, duo(), nil)
	g.do(glasshouse.System, battle.Create{})
	g.now = noon.Add(seconds)
	g.do("ana", battle.Cancel{})
	g.stateIs(noon.Add(2*seconds), fmt.Sprintf(`{"battleId":"9","status":"CANCELLED","currentRound":0,"totalRounds":2,
		"phaseEndsAt":%d,"hasFlipInCurrentRound":false,"completedRounds":[],"playerTotals":{"ana":0},
		"isPhaseExpired":true,"timeRemainingMs":0,"serverTime":%d}`, int64(atNoon+1000), int64(atNoon+2000)))
}

// A round that waits for its nonces is shown with the time that the source announces.
func TestStateWhileNoncesAreAwaited(t *testing.T) {
	g := newGame(t, duo(duel, legacy52), nil)
	g.do(glasshouse.System, battle.Create{})
	g.do("bob", battle.Join{Team: 2})
	g.tick()
	require.Zero(t, g.s.View("").PhaseEndsAt)
	require.Contains(t, string(State(g.s, g.now, people).Data), fmt.Sprintf(`"currentPhase":"ROUND_STARTING","phaseEndsAt":%d,`, int64(atNoon+3500)))
}

// 2^53 is the last whole number that a JavaScript number holds with all those before it.
func TestTotalsBeyondJavaScript(t *testing.T) {
	require.Equal(t, `9007199254740992`, jsonOf(t, number(1<<53)))
	require.Equal(t, `"9007199254740993"`, jsonOf(t, number(1<<53+1)))
}
