package battle

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// start is when the battles of the tests are created.
var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// hostSecrets is the host's key ring in the tests.
var hostSecrets = fair.NewKeyring([]byte("the host's secret of the tests"))

// entryCents is what a round of testCase costs.
const entryCents = 100

// oneItem is a case that always gives the same item.
func oneItem(id string, value int64) Case {
	return Case{
		ID: id, Name: "Case " + id, Price: entryCents, Active: true,
		Items: []CaseItem{{Row: "r1", Item: Item{ID: id + "-item", Name: "The item", Value: value}, First: 1, Last: MaxRoll}},
	}
}

// testCase has four items and turns the second roulette from roll 9,000,000 on. Item c straddles that threshold.
func testCase() Case {
	row := func(id string, value int64, first, last uint64) CaseItem {
		return CaseItem{Row: "row-" + id, Item: Item{ID: id, Name: "Item " + id, Rarity: "common", Value: value}, First: first, Last: last}
	}
	return Case{
		ID: "case-1", Name: "Case 1", Image: "case.png", Price: entryCents, Active: true, FlipThreshold: 9_000_000,
		Items: []CaseItem{
			row("a", 10, 1, 5_000_000), row("b", 60, 5_000_001, 8_000_000),
			row("c", 150, 8_000_001, 9_500_000), row("d", 1100, 9_500_001, MaxRoll),
		},
	}
}

// testConfig is a duel over two rounds; edit changes it.
func testConfig(edit ...func(*Config)) Config {
	cfg := Config{
		ID: "b1", Creator: "ana", Asset: "BRL/2", Layout: Layout{2, 1}, Mode: Normal,
		Cases:     []Case{testCase(), testCase()},
		Catalogue: []Item{{ID: "f5", Name: "Five", Value: 5}, {ID: "f1", Name: "One", Value: 1}},
	}
	for _, e := range edit {
		e(&cfg)
	}
	return cfg
}

func withLayout(teams, size int) func(*Config) {
	return func(c *Config) { c.Layout = Layout{teams, size} }
}

func private(c *Config)  { c.Private = true }
func legacy52(c *Config) { c.Compat.Legacy52 = true }

// drandOfTests has a round each 3 seconds, round 1 at the Unix second 1,000.
func drandOfTests() fair.Drand {
	return fair.Drand{Chain: fair.Digest{0xd1}, Genesis: 1000, Period: 3}
}

func withBeacon(c *Config) { c.Beacon = &BeaconRule{Drand: drandOfTests()} }

// game plays one battle over a ledger in memory.
type game struct {
	t     testing.TB
	cfg   Config
	s     *State
	now   time.Time
	money *ledger.Ledger
	turns []Turn
	draws fair.Source
}

// newGame is a battle that nobody has stepped. Every player of the tests has 1000 times the entry of a round.
func newGame(t testing.TB, cfg Config) *game {
	t.Helper()
	s, err := New(cfg)
	require.NoError(t, err)
	g := &game{t: t, cfg: cfg, s: s, now: start, draws: hostSecrets.For(string(Key(cfg.ID)))}
	g.money = fundedLedger(t, func() time.Time { return g.now }, cfg.Asset)
	return g
}

func fundedLedger(t testing.TB, now func() time.Time, asset ledger.Asset) *ledger.Ledger {
	t.Helper()
	money := ledger.New(ledger.NewMemory(), now)
	tx := ledger.Tx{ID: "deposits"}
	for _, p := range append([]string{"ana", "bob", "cid", "dan", "eva"}, manyPlayers(32)...) {
		tx.Post = append(tx.Post, ledger.Posting{From: "world", To: UserAccount(p), Asset: asset, Amount: 1000 * entryCents})
	}
	_, err := money.Do(context.Background(), tx)
	require.NoError(t, err)
	return money
}

func manyPlayers(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("p%02d", i)
	}
	return out
}

// created is a battle that waits for players.
func created(t testing.TB, cfg Config) *game {
	t.Helper()
	g := newGame(t, cfg)
	g.do(glasshouse.System, Create{})
	return g
}

// started is a battle whose seats are all taken: by ana, then by bob, cid, dan, … in the order of the seats.
func started(t testing.TB, cfg Config) *game {
	t.Helper()
	g := created(t, cfg)
	g.fill()
	return g
}

func (g *game) fill() {
	g.t.Helper()
	people := append([]string{"bob", "cid", "dan", "eva"}, manyPlayers(32)...)
	for at := g.s.free(); at >= 0; at = g.s.free() {
		g.do(people[0], Join{Team: g.cfg.Layout.Team(at), Code: g.code(), ClientSeed: "seed of " + people[0]})
		people = people[1:]
	}
}

// finished is a battle that ran to its end.
func finished(t testing.TB, cfg Config) *game {
	t.Helper()
	g := started(t, cfg)
	g.finish()
	return g
}

func (g *game) input(actor string) glasshouse.Input {
	return glasshouse.Input{Actor: actor, At: g.now, Draw: g.draws}
}

// step decides and commits; nothing has happened when it returns an error.
func (g *game) step(in glasshouse.Input, cmd Command) (Turn, error) {
	next, turn, err := g.s.Step(in, cmd)
	if err != nil {
		return Turn{}, err
	}
	if _, err := g.money.Do(context.Background(), next.Tx(Key(g.cfg.ID), turn)); err != nil {
		return Turn{}, err
	}
	g.s, g.turns = next, append(g.turns, turn)
	return turn, nil
}

// do is a step that must succeed.
func (g *game) do(actor string, cmd Command) Turn {
	g.t.Helper()
	turn, err := g.step(g.input(actor), cmd)
	require.NoError(g.t, err, "%s by %s", cmd.Kind(), actor)
	return turn
}

// refused is a step that must fail with want and leave state and ledger as they were.
func (g *game) refused(actor string, cmd Command, want error) error {
	g.t.Helper()
	return g.refusedInput(g.input(actor), cmd, want)
}

func (g *game) refusedInput(in glasshouse.Input, cmd Command, want error) error {
	g.t.Helper()
	var before string
	if g.s.Rev() > 0 {
		before = string(g.s.Snapshot())
	}
	s, journal := g.s, g.journal()
	_, err := g.step(in, cmd)
	require.ErrorIs(g.t, err, want)
	require.Same(g.t, s, g.s)
	if before != "" {
		require.Equal(g.t, before, string(g.s.Snapshot()))
	}
	require.Equal(g.t, journal, g.journal())
	return err
}

// journal is everything that the ledger has accepted.
func (g *game) journal() []ledger.Entry {
	g.t.Helper()
	entries, err := g.money.Journal(context.Background(), ledger.JournalQuery{})
	require.NoError(g.t, err)
	return entries
}

// wait lets time pass.
func (g *game) wait(ms int64) { g.now = g.now.Add(time.Duration(ms) * time.Millisecond) }

// tick waits for the next clock and fires it.
func (g *game) tick() Turn {
	g.t.Helper()
	d := g.s.Deadline()
	require.NotEmpty(g.t, d.Key, "no clock is running")
	if d.At.After(g.now) {
		g.now = d.At
	}
	return g.do(glasshouse.System, Expire{Key: d.Key})
}

// advance does what the host has to do next.
func (g *game) advance() Turn {
	g.t.Helper()
	switch _, target := g.s.life().Target(); {
	case g.s.d.Phase == PhaseAwaitingBeacon:
		g.wait(10_000)
		return g.do(glasshouse.System, Beacon{beaconOf(target)})
	case g.s.d.Phase == PhaseRoundStarting && g.cfg.Compat.Legacy52 && g.s.d.Nonces == nil:
		return g.do(glasshouse.System, Nonces{g.s.d.Round, g.someNonces()})
	}
	return g.tick()
}

// finish lets the battle run to its end.
func (g *game) finish() {
	g.t.Helper()
	for !g.s.Status().Done() {
		g.advance()
	}
}

// someNonces are the counters of players who have played before.
func (g *game) someNonces() []int64 {
	out := make([]int64, len(g.s.d.Seats))
	for i := range out {
		out[i] = int64(100*i + g.s.d.Round)
	}
	return out
}

// until goes on to a phase of a round.
func (g *game) until(p Phase, round int) {
	g.t.Helper()
	for g.s.d.Phase != p || g.s.d.Round != round {
		g.advance()
	}
}

func (g *game) code() string { return string(g.s.d.Code) }

// balance is what an account holds of the battle's money.
func (g *game) balance(account ledger.AccountID) int64 {
	g.t.Helper()
	return g.holds(account, g.cfg.Asset)
}

func (g *game) holds(account ledger.AccountID, asset ledger.Asset) int64 {
	g.t.Helper()
	b, err := g.money.Balance(context.Background(), account, asset)
	require.NoError(g.t, err)
	return b.Posted
}

func (g *game) escrow() int64 { return g.balance(Key(g.cfg.ID).Escrow()) }

// spent is what a player of the tests has paid so far, less what he got back.
func (g *game) spent(user string) int64 { return 1000*entryCents - g.balance(UserAccount(user)) }

// set gives a user an exact balance.
func (g *game) set(user string, amount int64) {
	g.t.Helper()
	have := g.balance(UserAccount(user))
	p := ledger.Posting{From: "world", To: UserAccount(user), Asset: g.cfg.Asset, Amount: amount - have}
	if p.Amount < 0 {
		p.From, p.To, p.Amount = p.To, p.From, -p.Amount
	}
	_, err := g.money.Do(context.Background(), ledger.Tx{ID: fmt.Sprintf("set/%s/%d", user, amount), Post: []ledger.Posting{p}})
	require.NoError(g.t, err)
}

func (g *game) all() iter.Seq2[Turn, error] { return turnsOf(g.turns) }

func turnsOf(turns []Turn) iter.Seq2[Turn, error] {
	return func(yield func(Turn, error) bool) {
		for _, t := range turns {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// record is the record of a battle that is over.
func (g *game) record() []byte {
	g.t.Helper()
	r, err := NewRecord(g.cfg, g.all())
	require.NoError(g.t, err)
	return r
}

// events are all events so far of one type.
func eventsOf[E Event](g *game) []E {
	var out []E
	for _, t := range g.turns {
		for _, ev := range t.Events {
			if ev, ok := ev.(E); ok {
				out = append(out, ev)
			}
		}
	}
	return out
}

func kindsOf(t Turn) []string {
	out := make([]string, len(t.Events))
	for i, ev := range t.Events {
		out[i] = ev.Kind()
	}
	return out
}

// audited checks the whole ledger, from its journal.
func (g *game) audited() ledger.State {
	g.t.Helper()
	s, err := ledger.Replay(func(yield func(ledger.Entry, error) bool) {
		for _, e := range g.journal() {
			if !yield(e, nil) {
				return
			}
		}
	})
	require.NoError(g.t, err)
	require.Empty(g.t, ledger.Audit(s))
	return s
}
