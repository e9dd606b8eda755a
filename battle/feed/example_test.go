package feed_test

import (
	"context"
	"fmt"
	"time"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/battle/feed"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// A battle on a Table, its messages as they are due, and the list that the journal gives.
func Example() {
	ctx := context.Background()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	money := ledger.New(ledger.NewMemory(), func() time.Time { return now })
	_, err := money.Do(ctx, ledger.Tx{ID: "deposit", Post: []ledger.Posting{
		{From: "world", To: battle.UserAccount("ana"), Asset: "BRL/2", Amount: 1000},
	}})
	check(err)
	fresh, err := battle.New(battle.Config{
		ID: "9", Creator: "ana", Asset: "BRL/2", Layout: battle.Layout{Teams: 2, Size: 1}, Mode: battle.Normal,
		Cases: []battle.Case{{ID: "11", Name: "Snow", Price: 500, Active: true, Items: []battle.CaseItem{
			{Row: "1", Item: battle.Item{ID: "p250", Name: "P250", Value: 400}, First: 1, Last: battle.MaxRoll},
		}}},
	})
	check(err)
	table, err := glasshouse.OpenTable(ctx, battle.Rules(), money, fair.NewKeyring([]byte("the host keeps this to himself")), battle.Key("9"), fresh)
	check(err)

	names := feed.Profiles{"ana": {Username: "Ana"}}
	publish := func(t battle.Turn) {
		for _, m := range feed.Messages(table.State(), t, names) {
			fmt.Printf("%-9s %s %s\n", m.Room, m.Due.Format("15:04:05.000"), m.Event)
		}
	}
	turn, err := table.Do(ctx, glasshouse.Input{Actor: glasshouse.System, At: now}, battle.Create{})
	check(err)
	publish(turn)
	turn, err = table.Do(ctx, glasshouse.Input{Actor: "ana", At: now}, battle.AddBots{})
	check(err)
	publish(turn)
	for range 2 {
		now = table.State().Deadline().At
		turns, err := table.Tick(ctx, now)
		check(err)
		publish(turns[0])
	}

	list := feed.NewList()
	entries, err := money.Journal(ctx, ledger.JournalQuery{After: list.Seq()})
	check(err)
	for _, e := range entries {
		check(list.Apply(e))
	}
	b := list.Active(feed.Filter{}, names)[0]
	fmt.Println(b.ID, b.Type, b.Status, "by", b.Creator.Username)

	// Output:
	// user:ana  12:00:00.000 balance:updated
	//           12:00:00.000 battle:created
	// battle:9  12:00:00.000 battle:player_joined
	//           12:00:00.000 battle:updated
	// battle:9  12:00:00.000 battle:starting
	// battle:9  12:00:03.000 battle:round_start
	// battle:9  12:00:03.500 battle:round_result
	// battle:9  12:00:05.500 battle:state_push
	// battle:9  12:00:07.500 battle:state_push
	// battle:9  12:00:09.500 battle:state_push
	// battle:9  12:00:11.500 battle:state_push
	//           12:00:15.500 live:drop
	// 9 ONE_VS_ONE IN_PROGRESS by Ana
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
