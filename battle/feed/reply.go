package feed

import (
	"encoding/json"
	"time"

	"github.com/glasshouse-go/glasshouse/battle"
)

// Reply is an answer to one client, the event and its one argument.
type Reply struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
}

// Joined answers battle:join. If the battle is in progress, [State] follows it.
func Joined(id string) Reply {
	return Reply{"battle:joined", encode(struct {
		BattleID string `json:"battleId"`
		Room     string `json:"room"`
	}{id, Room(id)})}
}

// Left answers battle:leave.
func Left(id string) Reply {
	return Reply{"battle:left", encode(struct {
		BattleID string `json:"battleId"`
	}{id})}
}

// NotFound is the battle:state of a battle that there is none of.
func NotFound(id string) Reply {
	return Reply{"battle:state", encode(struct {
		BattleID string `json:"battleId"`
		Status   string `json:"status"`
	}{id, "NOT_FOUND"})}
}

// battleState is the source's BattleState with what it adds for the client.
type battleState struct {
	BattleID              string            `json:"battleId"`
	Status                string            `json:"status"`
	CurrentRound          int               `json:"currentRound"`
	TotalRounds           int               `json:"totalRounds"`
	CurrentPhase          string            `json:"currentPhase,omitempty"`
	PhaseEndsAt           int64             `json:"phaseEndsAt"`
	HasFlipInCurrentRound bool              `json:"hasFlipInCurrentRound"`
	SpinStartedAt         int64             `json:"spinStartedAt,omitempty"`
	CurrentRoundCaseID    string            `json:"currentRoundCaseId,omitempty"`
	CurrentRoundCaseName  string            `json:"currentRoundCaseName,omitempty"`
	CurrentRoundResults   []playerResult    `json:"currentRoundResults,omitempty"`
	CompletedRounds       []completedRound  `json:"completedRounds"`
	PlayerTotals          map[string]number `json:"playerTotals"`
	IsPhaseExpired        bool              `json:"isPhaseExpired"`
	TimeRemainingMs       int64             `json:"timeRemainingMs"`
	ServerTime            int64             `json:"serverTime"`
}

type completedRound struct {
	RoundNumber int            `json:"roundNumber"`
	CaseID      string         `json:"caseId"`
	CaseName    string         `json:"caseName"`
	Results     []playerResult `json:"results"`
}

// number is a JSON number up to what JavaScript's can hold, and a string beyond.
type number int64

func (n number) MarshalJSON() ([]byte, error) {
	if n > 1<<53 {
		return []byte(`"` + decimal(int64(n)) + `"`), nil
	}
	return []byte(decimal(int64(n))), nil
}

// State is the battle:state of a battle at the instant now: what a client needs that comes to it, or comes back.
//
// The status is STARTING before the first round. While the battle waits for its public random value, which the source
// does not know, it is shown in its countdown, which ends when the waiting does; the true countdown follows. A battle
// that waits for players or was cancelled has no currentPhase; phaseEndsAt is then the end of the waiting, or of the
// battle. The source describes neither completedRounds nor its results: here they are those of battle:round_result,
// without the roulettes; currentRoundResults has these too, until the round is followed by another or the battle ends.
// playerTotals counts the completed rounds, so that it gives nothing away while the wheels turn.
func State(s *battle.State, now time.Time, profiles Profiles) Reply {
	f := newScene(s, profiles)
	if f.v.Status == 0 {
		return NotFound(f.cfg.ID)
	}
	st := battleState{
		BattleID: f.cfg.ID, Status: f.status(), CurrentRound: f.v.Round, TotalRounds: len(f.cfg.Cases),
		CurrentPhase: f.phaseName(), PhaseEndsAt: f.phaseEndsAt(), HasFlipInCurrentRound: f.v.HasFlip,
		SpinStartedAt: f.v.SpinningAt, CompletedRounds: []completedRound{}, PlayerTotals: map[string]number{},
		ServerTime: now.UnixMilli(),
	}
	if f.v.Round > 0 {
		cs := f.cfg.Cases[f.v.Round-1]
		st.CurrentRoundCaseID, st.CurrentRoundCaseName = cs.ID, cs.Name
	}
	for _, seat := range f.v.Seats {
		if seat.User != "" {
			st.PlayerTotals[seat.User] = 0
		}
	}
	f.rounds(&st)
	st.IsPhaseExpired = st.ServerTime >= st.PhaseEndsAt
	st.TimeRemainingMs = max(0, st.PhaseEndsAt-st.ServerTime)
	return Reply{"battle:state", encode(st)}
}

// rounds fills in what has been opened.
func (f *scene) rounds(st *battleState) {
	for round, rolls := range byRound(f.v) {
		if round+1 == f.v.Round && f.v.Phase != battle.PhaseFinished {
			st.CurrentRoundResults = f.results(rolls, true)
		}
		if round+1 == f.v.Round && f.v.Phase == battle.PhaseSpinning {
			continue
		}
		cs := f.cfg.Cases[round]
		st.CompletedRounds = append(st.CompletedRounds, completedRound{round + 1, cs.ID, cs.Name, f.results(rolls, false)})
		for _, r := range rolls {
			st.PlayerTotals[f.v.Seats[r.Seat].User] += number(cs.Items[r.Row].Item.Value)
		}
	}
}

// byRound is the rolls of each opened round, in seat order.
func byRound(v battle.View) [][]battle.Rolled {
	var out [][]battle.Rolled
	for _, r := range v.Rolls {
		if r.Round > len(out) {
			out = append(out, nil)
		}
		out[r.Round-1] = append(out[r.Round-1], r.Rolled)
	}
	return out
}

func (f *scene) status() string {
	if f.v.Phase == battle.PhaseAwaitingBeacon || f.v.Phase == battle.PhaseCountdown {
		return "STARTING"
	}
	return upper(f.v.Status)
}

func (f *scene) phaseName() string {
	switch f.v.Phase {
	case 0:
		return ""
	case battle.PhaseAwaitingBeacon:
		return upper(battle.PhaseCountdown)
	}
	return upper(f.v.Phase)
}

func (f *scene) phaseEndsAt() int64 {
	switch {
	case f.v.Status.Done():
		return f.v.EndedAt
	case f.v.Status == battle.StatusWaiting:
		return f.v.ExpiresAt
	case f.v.PhaseEndsAt == 0: // Legacy52 waits for its nonces; the source knows no such wait
		return f.v.PhaseAt + f.cfg.Timeline.RoundStarting
	}
	return f.v.PhaseEndsAt
}
