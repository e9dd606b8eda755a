package feed

import (
	"context"
	"encoding/json"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
)

var update = flag.Bool("update", false, "rewrite testdata")

// noon is when the battles of the tests are created.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

var people = Profiles{
	"ana": {Username: "Ana", AvatarURL: "/ana.png"},
	"bob": {Username: "Bob"},
}

func row(id string, item battle.Item, first, last uint64) battle.CaseItem {
	return battle.CaseItem{Row: id, Item: item, First: first, Last: last}
}

// snow has a second roulette from roll 9,000,001 on, with two equally dear items.
func snow() battle.Case {
	a := row("r1", battle.Item{ID: "a", Name: "AK-47 | Redline <3 & more", Image: "a.png", Rarity: "rare", Value: 100}, 1, 5_000_000)
	a.WeaponCategory, a.Exterior, a.StatTrak, a.Weight, a.DropChance = "Rifle", "Field-Tested", true, 50, "50"
	b := row("r2", battle.Item{ID: "b", Name: "P250", Image: "b.png", Rarity: "common", Value: 50}, 5_000_001, 9_000_000)
	b.Weight = 40
	d := row("r3", battle.Item{ID: "d", Name: "Dragon", Image: "d.png", Rarity: "gold", Value: 1000}, 9_000_001, 9_999_999)
	e := row("r4", battle.Item{ID: "e", Name: "Eagle", Image: "e.png", Rarity: "gold", Value: 1000}, 10_000_000, 10_000_000)
	return battle.Case{
		ID: "11", Name: "Snow Case", Image: "snow.png", Price: 500, Active: true, FlipThreshold: 9_000_001,
		Items: []battle.CaseItem{a, b, d, e},
	}
}

// star has no second roulette, and items a and b again.
func star() battle.Case {
	items := snow().Items
	return battle.Case{ID: "12", Name: "Star Case", Price: 500, Active: true, Items: []battle.CaseItem{
		row("s1", items[0].Item, 1, 5_000_000), row("s2", items[1].Item, 5_000_001, battle.MaxRoll),
	}}
}

// duo is two teams of two over snow and star.
func duo(edit ...func(*battle.Config)) battle.Config {
	cfg := battle.Config{
		ID: "9", Creator: "ana", Asset: "BRL/2", Layout: battle.Layout{Teams: 2, Size: 2}, Mode: battle.Normal,
		Cases: []battle.Case{snow(), star()},
		Catalogue: []battle.Item{
			{ID: "gold", Name: "Gold", Image: "gold.png", Rarity: "gold", Value: 400},
			{ID: "silver", Name: "Silver", Image: "silver.png", Rarity: "rare", Value: 60},
			{ID: "dust", Name: "Dust", Image: "dust.png", Rarity: "common", Value: 5},
		},
	}
	for _, e := range edit {
		e(&cfg)
	}
	return cfg
}

func private(c *battle.Config)  { c.Private = true }
func legacy52(c *battle.Config) { c.Compat.Legacy52 = true }
func duel(c *battle.Config)     { c.Layout = battle.Layout{Teams: 2, Size: 1} }

// game plays a battle over a ledger and keeps every state with the turn that led to it.
type game struct {
	t      testing.TB
	cfg    battle.Config
	s      *battle.State
	now    time.Time
	late   time.Duration // by which every clock is stepped too late
	script [][]int       // rows by round and seat, instead of those that are drawn
	draws  fair.Source
	money  *ledger.Ledger
	states []*battle.State
	turns  []battle.Turn
}

func newGame(t testing.TB, cfg battle.Config, money *ledger.Ledger) *game {
	t.Helper()
	s, err := battle.New(cfg)
	require.NoError(t, err)
	return &game{
		t: t, cfg: s.Config(), s: s, now: noon, money: money,
		draws: fair.NewKeyring([]byte("the host's secret of the tests")).For(string(battle.Key(cfg.ID))),
	}
}

// bank is a ledger in which everybody is rich.
func bank(t testing.TB) *ledger.Ledger {
	t.Helper()
	l := ledger.New(ledger.NewMemory(), func() time.Time { return noon })
	tx := ledger.Tx{ID: "deposits"}
	for _, p := range []string{"ana", "bob", "cid", "dan", "eva"} {
		tx.Post = append(tx.Post, ledger.Posting{From: "world", To: battle.UserAccount(p), Asset: "BRL/2", Amount: 1_000_000})
	}
	_, err := l.Do(context.Background(), tx)
	require.NoError(t, err)
	return l
}

// do steps one command and returns its messages.
func (g *game) do(actor string, cmd battle.Command) []Message {
	g.t.Helper()
	next, turn, err := g.s.Step(glasshouse.Input{Actor: actor, At: g.now, Draw: g.draws}, cmd)
	require.NoError(g.t, err, "%s: %s", actor, cmd.Kind())
	if g.script != nil && g.stage(&turn) {
		next, err = g.s.Apply(turn)
		require.NoError(g.t, err)
	}
	if g.money != nil {
		_, err = g.money.Do(context.Background(), next.Tx(battle.Key(g.cfg.ID), turn))
		require.NoError(g.t, err)
	}
	g.s = next
	g.states, g.turns = append(g.states, next), append(g.turns, turn)
	return Messages(next, turn, people)
}

// stage puts the script's items in the place of those that were drawn. A replay believes them, and the settlement
// follows from them.
func (g *game) stage(turn *battle.Turn) bool {
	staged, flip := false, false
	for i, ev := range turn.Events {
		switch ev := ev.(type) {
		case battle.Rolled:
			cs := g.cfg.Cases[ev.Round-1]
			ev.Row = g.script[ev.Round-1][ev.Seat]
			ev.Roll = cs.Items[ev.Row].First
			ev.Flip = cs.FlipThreshold > 0 && ev.Roll >= cs.FlipThreshold
			turn.Events[i], staged, flip = ev, true, flip || ev.Flip
		case battle.PhaseStarted:
			if staged {
				ev.EndsAt = turn.At.UnixMilli() + g.cfg.Timeline.Spinning
				if flip {
					ev.EndsAt = turn.At.UnixMilli() + g.cfg.Timeline.FlipSpinning
				}
				turn.Events[i] = ev
			}
		}
	}
	return staged
}

// tick steps the clock that runs out next, bringing the nonces where they are waited for.
func (g *game) tick() []Message {
	g.t.Helper()
	if d := g.s.Deadline(); d.Key != "" {
		g.now = d.At.Add(g.late)
		return g.do(glasshouse.System, battle.Expire{Key: d.Key})
	}
	values := make([]int64, g.cfg.Layout.Seats())
	for i := range values {
		values[i] = int64(100*g.s.View("").Round + i)
	}
	return g.do(glasshouse.System, battle.Nonces{Round: g.s.View("").Round, Values: values})
}

// finish plays to the end.
func (g *game) finish() *game {
	g.t.Helper()
	for !g.s.Status().Done() {
		g.tick()
	}
	return g
}

// all is every message so far.
func (g *game) all() []Message {
	var out []Message
	for i, t := range g.turns {
		out = append(out, Messages(g.states[i], t, people)...)
	}
	return out
}

// duoScript: Ana and Bob win 1300 to 250; Bob's dragon turns the second roulette. See TestFinished for the settlement.
var duoScript = [][]int{{0, 2, 1, 1}, {0, 0, 0, 1}}

// scripted is the battle of the tests of shapes, waiting for its last player, whom a bot replaces.
func scripted(t testing.TB) *game {
	g := newGame(t, duo(), bank(t))
	g.script = duoScript
	g.do(glasshouse.System, battle.Create{})
	g.now = noon.Add(10 * time.Second)
	g.do("bob", battle.Join{Team: 1, ClientSeed: "bob's words"})
	g.do("cid", battle.Join{Team: 2})
	return g
}

func (g *game) bots() []Message { return g.do("ana", battle.AddBots{}) }

// sample is a message as the tests compare it.
type sample struct {
	room, event string
	after       time.Duration // from the game's now
	json        string
}

func (g *game) same(got []Message, want ...sample) {
	g.t.Helper()
	require.Len(g.t, got, len(want))
	for i, w := range want {
		m := got[i]
		require.Equal(g.t, w.room, m.Room, "message %d", i)
		require.Equal(g.t, w.event, m.Event, "message %d", i)
		require.Equal(g.t, w.after, m.Due.Sub(g.now), "message %d, %s", i, m.Event)
		require.Equal(g.t, time.UTC, m.Due.Location())
		require.JSONEq(g.t, w.json, string(m.Payload), "message %d, %s", i, m.Event)
	}
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

func only(ms []Message, event string) []Message {
	var out []Message
	for _, m := range ms {
		if m.Event == event {
			out = append(out, m)
		}
	}
	return out
}
