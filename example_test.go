package glasshouse_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// play runs a battle of two people, ana and bruno, from the commitment to the settlement, and gives what bruno may see.
func play(ctx context.Context, money *ledger.Ledger, secrets *fair.Keyring, cfg battle.Config, now time.Time) (battle.View, error) {
	table := must(glasshouse.OpenTable(ctx, battle.Rules(), money, secrets, battle.Key(cfg.ID), must(battle.New(cfg))))
	// The host draws a seed and publishes its hash; ana, the creator, pays her entry in the same transaction.
	if _, err := table.Do(ctx, glasshouse.Input{Actor: glasshouse.System, At: now}, battle.Create{}); err != nil {
		return battle.View{}, err
	}
	join := battle.Join{Team: 2, ClientSeed: "words of bruno's own"} // the last seat starts the battle
	if _, err := table.Do(ctx, glasshouse.Input{Actor: "bruno", At: now}, join); err != nil {
		return battle.View{}, err // battle full, too little money, …: nothing has happened
	}
	for !table.State().Status().Done() { // a server sleeps until the deadline
		if _, err := table.Tick(ctx, table.State().Deadline().At); err != nil {
			return battle.View{}, err
		}
	}
	return table.View("bruno"), nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Example plays a battle on a ledger in memory: play is the program in the README.
func Example() {
	ctx := context.Background()
	now := time.Date(2026, 3, 14, 15, 0, 0, 0, time.UTC)
	money := ledger.New(ledger.NewMemory(), func() time.Time { return now })
	secrets := fair.NewKeyring([]byte("32 random bytes that you keep"))
	for _, user := range []string{"ana", "bruno"} {
		_, err := money.Do(ctx, ledger.Tx{
			ID:   "deposit/" + user,
			Post: []ledger.Posting{{From: "world:bank", To: battle.UserAccount(user), Asset: "BRL/2", Amount: 20_00}},
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	cfg := battle.Config{
		ID: "5", Creator: "ana", Asset: "BRL/2", Layout: battle.Layout{Teams: 2, Size: 1}, Mode: battle.Normal,
		Payout: battle.ExactCash,
		Cases: []battle.Case{{ID: "harbour", Name: "Harbour Case", Price: 15_00, Active: true, Items: []battle.CaseItem{
			{Row: "1", Item: battle.Item{ID: "sand", Name: "Sparrow 9 | Wet Sand", Value: 8_00}, First: 1, Last: 9_000_000},
			{Row: "2", Item: battle.Item{ID: "ferry", Name: "Harrier M4 | Night Ferry", Value: 63_00}, First: 9_000_001, Last: battle.MaxRoll},
		}}},
	}
	view, err := play(ctx, money, secrets, cfg, now)
	if err != nil {
		fmt.Println(err)
	}
	for _, r := range view.Rolls {
		fmt.Printf("%s: %s\n", view.Seats[r.Seat].User, r.Item.Name)
	}
	fmt.Println(view.Status, view.Settlement.Outcome, view.Settlement.Team)
	for _, seat := range view.Seats {
		fmt.Println(seat.User, *seat.Profit)
	}
	// Output:
	// ana: Sparrow 9 | Wet Sand
	// bruno: Harrier M4 | Night Ferry
	// finished team_wins 2
	// ana -1500
	// bruno 5600
}

func TestTheProgramOfTheReadmeIsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "example_test.go", source, 0)
	require.NoError(t, err)
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "play" {
			text := string(source[files.Position(fn.Pos()).Offset:files.Position(fn.End()).Offset])
			_, block, found := strings.Cut(string(readme), "```go\n")
			require.True(t, found, "README.md has a Go program")
			block, _, _ = strings.Cut(block, "\n```")
			require.Equal(t, text, block)
			return
		}
	}
	t.Fatal("example_test.go has no function play")
}
