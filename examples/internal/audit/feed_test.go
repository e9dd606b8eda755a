package audit

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/battle/feed"
	"github.com/glasshouse-go/glasshouse/fair"
)

// legacyBattle plays a battle that draws by legacy/52, two rounds of two players, every roll a flip.
func legacyBattle(t *testing.T) *battle.State {
	t.Helper()
	rows := []battle.CaseItem{{Row: "1", Item: battle.Item{ID: "one", Name: "One", Value: 100}, First: 1, Last: battle.MaxRoll}}
	box := battle.Case{ID: "box", Name: "Box", Price: 100, Active: true, FlipThreshold: 1, Items: rows}
	s, err := battle.New(battle.Config{
		ID: "old", Creator: "ana", Asset: "BRL/2", Layout: battle.Layout{Teams: 2, Size: 1}, Mode: battle.Normal,
		Cases: []battle.Case{box, box}, Compat: battle.Compat{Legacy52: true},
	})
	require.NoError(t, err)
	in := glasshouse.Input{At: time.Unix(1_773_500_000, 0), Draw: fair.NewKeyring(make([]byte, 32)).For("battle:old")}
	step := func(actor string, cmd battle.Command) {
		in.Actor = actor
		s, _, err = s.Step(in, cmd)
		require.NoError(t, err)
	}
	step(glasshouse.System, battle.Create{})
	step("bruno", battle.Join{Team: 2})
	for round := 1; !s.Status().Done(); {
		d := s.Deadline()
		if d.Key == "" { // the round waits for the players' counters
			step(glasshouse.System, battle.Nonces{Round: round, Values: []int64{int64(round), 40 + int64(round)}})
			round++
			continue
		}
		in.At = d.At
		step(glasshouse.System, battle.Expire{Key: d.Key})
	}
	return s
}

func TestRowsThatFeedExportsHold(t *testing.T) {
	rows, err := json.Marshal(feed.RoundRows(legacyBattle(t)))
	require.NoError(t, err)
	res := read(string(rows))
	require.True(t, res.OK, "%+v", res)
	require.Equal(t, "4 of 4 rows", res.Report.Findings[3].Got)
	require.Contains(t, string(rows), `_flip"`)
}
