package battle_test

import (
	"context"
	"fmt"
	"time"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
)

var (
	noon    = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	secrets = fair.NewKeyring([]byte("the host keeps this to himself"))
)

// duel is a battle of two people over one case with a common and a rare item.
func duel() battle.Config {
	return battle.Config{
		ID: "b-1", Creator: "ana", Asset: "BRL/2", Layout: battle.Layout{Teams: 2, Size: 1}, Mode: battle.Normal,
		Cases: []battle.Case{{
			ID: "spring", Name: "Spring case", Price: 250, Active: true,
			Items: []battle.CaseItem{
				{Row: "1", Item: battle.Item{ID: "p250", Name: "P250 Sand Dune", Value: 100}, First: 1, Last: 9_000_000},
				{Row: "2", Item: battle.Item{ID: "awp", Name: "AWP Lightning", Value: 1500}, First: 9_000_001, Last: 10_000_000},
			},
		}},
	}
}

// A battle from the deposit to the prize, with a Table that commits every step with its money.
func Example() {
	ctx := context.Background()
	money := ledger.New(ledger.NewMemory(), func() time.Time { return noon })
	_, _ = money.Do(ctx, ledger.Tx{ID: "deposits", Post: []ledger.Posting{
		{From: "world", To: battle.UserAccount("ana"), Asset: "BRL/2", Amount: 1000},
		{From: "world", To: battle.UserAccount("bob"), Asset: "BRL/2", Amount: 1000},
	}})
	cfg := duel()
	fresh, err := battle.New(cfg)
	if err != nil {
		panic(err)
	}
	table, err := glasshouse.OpenTable(ctx, battle.Rules(), money, secrets, battle.Key(cfg.ID), fresh)
	if err != nil {
		panic(err)
	}
	do := func(actor string, cmd battle.Command) {
		if _, err := table.Do(ctx, glasshouse.Input{Actor: actor, At: noon}, cmd); err != nil {
			fmt.Println(err)
		}
	}
	do(glasshouse.System, battle.Create{})
	do("bob", battle.Join{Team: 1})
	do("bob", battle.Join{Team: 2, ClientSeed: "my words"})
	for now := noon; !table.State().Status().Done(); now = now.Add(time.Second) {
		if _, err := table.Tick(ctx, now); err != nil {
			panic(err)
		}
	}
	v := table.View("bob")
	fmt.Println(v.Status, "with", len(v.Rolls), "items opened")
	escrow, _ := money.Balance(ctx, battle.Key(cfg.ID).Escrow(), "BRL/2")
	fmt.Println("left in escrow:", escrow.Posted)
	// Output:
	// battle: team full: team 1
	// finished with 2 items opened
	// left in escrow: 0
}

func ExampleState_Step() {
	s, err := battle.New(duel())
	if err != nil {
		panic(err)
	}
	host := glasshouse.Input{Actor: glasshouse.System, At: noon, Draw: secrets.For("battle:b-1")}
	s, turn, err := s.Step(host, battle.Create{})
	if err != nil {
		panic(err)
	}
	for _, ev := range turn.Events {
		_, public := s.Observe(ev, "")
		fmt.Println(turn.Rev, ev.Kind(), "public:", public)
	}
	// A refusal leaves s as it was.
	_, _, err = s.Step(glasshouse.Input{Actor: "ana", At: noon}, battle.Leave{})
	fmt.Println(err)
	fmt.Println(s.Status(), "until", s.Deadline().At.Format(time.TimeOnly))
	// Output:
	// 1 seed_drawn public: false
	// 1 created public: true
	// 1 joined public: true
	// battle: creator must cancel
	// waiting until 12:30:00
}

func ExampleState_View() {
	cfg := duel()
	cfg.Private = true
	s, err := battle.New(cfg)
	if err != nil {
		panic(err)
	}
	s, _, err = s.Step(glasshouse.Input{Actor: glasshouse.System, At: noon, Draw: secrets.For("battle:b-1")}, battle.Create{})
	if err != nil {
		panic(err)
	}
	for _, viewer := range []string{"ana", "bob", ""} {
		v := s.View(viewer)
		fmt.Printf("%q has seat %d, is shown a code of %d digits and may send %d commands\n", viewer, v.You, len(v.Code), len(s.Legal(viewer)))
	}
	// Output:
	// "ana" has seat 0, is shown a code of 8 digits and may send 3 commands
	// "bob" has seat -1, is shown a code of 0 digits and may send 0 commands
	// "" has seat -1, is shown a code of 0 digits and may send 0 commands
}

// An auditor needs nothing but the record's bytes.
func ExampleVerify() {
	record := playedRecord()
	report, err := battle.Verify(record)
	fmt.Println(report.OK(), err)

	// The last byte of a roll.
	for i := range record {
		if string(record[i:i+7]) == `"roll":` {
			record[i+7] ^= 1
			break
		}
	}
	report, _ = battle.Verify(record)
	for _, f := range report.Failed() {
		fmt.Println("failed:", f.Name)
	}
	// Output:
	// true <nil>
	// failed: record_digest
	// failed: roll_matches
}

// playedRecord plays a battle without a ledger, keeping its turns.
func playedRecord() []byte {
	cfg := duel()
	s, err := battle.New(cfg)
	if err != nil {
		panic(err)
	}
	var turns []battle.Turn
	step := func(actor string, at time.Time, cmd battle.Command) {
		next, turn, err := s.Step(glasshouse.Input{Actor: actor, At: at, Draw: secrets.For("battle:b-1")}, cmd)
		if err != nil {
			panic(err)
		}
		s, turns = next, append(turns, turn)
	}
	step(glasshouse.System, noon, battle.Create{})
	step("bob", noon, battle.Join{Team: 2})
	for !s.Status().Done() {
		step(glasshouse.System, s.Deadline().At, battle.Expire{Key: s.Deadline().Key})
	}
	record, err := battle.NewRecord(cfg, func(yield func(battle.Turn, error) bool) {
		for _, t := range turns {
			if !yield(t, nil) {
				return
			}
		}
	})
	if err != nil {
		panic(err)
	}
	return record
}
