package battle

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
)

const system = glasshouse.System

// refusals provokes every RuleError at least once. g.refused checks each time that nothing has happened.
var refusals = []struct {
	want RuleError
	name string
	try  func(t *testing.T)
}{
	{ErrConfig, "a field is wrong", func(t *testing.T) {
		_, err := New(testConfig(func(c *Config) { c.ID = "" }))
		require.ErrorIs(t, err, ErrConfig)
	}},
	{ErrCaseCount, "no case", caseCount(0, false)},
	{ErrCaseCount, "one case is enough", caseCount(1, true)},
	{ErrCaseCount, "the same case ten times", caseCount(10, true)},
	{ErrCaseCount, "eleven cases", caseCount(11, false)},
	{ErrCaseNotFound, "unknown id", pick(ErrCaseNotFound, "case-1", "case-9")},
	{ErrCaseNotActive, "picked", pick(ErrCaseNotActive, "case-1", "asleep")},
	{ErrCaseNotActive, "in a config", func(t *testing.T) {
		_, err := New(testConfig(func(c *Config) { c.Cases[1].Active = false }))
		require.ErrorIs(t, err, ErrCaseNotActive)
		require.ErrorContains(t, err, "cases[1].active")
	}},
	{ErrCaseWithoutItems, "picked", pick(ErrCaseWithoutItems, "empty")},
	{ErrCaseWithoutItems, "in a config", func(t *testing.T) {
		_, err := New(testConfig(func(c *Config) { c.Cases[1].Items = nil }))
		require.ErrorIs(t, err, ErrCaseWithoutItems)
		require.ErrorContains(t, err, "cases[1].items")
	}},
	{ErrAlreadyCreated, "a second Create", func(t *testing.T) {
		created(t, testConfig()).refused(system, Create{}, ErrAlreadyCreated)
		finished(t, testConfig()).refused(system, Create{}, ErrAlreadyCreated)
	}},
	{ErrNotCreated, "every other command comes first", func(t *testing.T) {
		g := newGame(t, testConfig())
		for _, cmd := range []Command{
			Join{Team: 1}, Seed{}, AddBots{}, Leave{}, Cancel{}, Beacon{}, Nonces{}, Void{},
		} {
			for _, actor := range []string{"ana", "bob", system} {
				g.refused(actor, cmd, ErrNotCreated)
			}
		}
		g.refused(system, Expire{expiryKey}, ErrStaleKey) // as for any clock that does not run
	}},
	{ErrNotWaiting, "after the start", func(t *testing.T) {
		g := started(t, testConfig())
		g.refused("ana", Cancel{}, ErrNotWaiting)
		g.refused("ana", Seed{"x"}, ErrNotWaiting)
		g.refused("bob", Leave{}, ErrNotWaiting)
	}},
	{ErrNotWaiting, "after the end", func(t *testing.T) {
		for _, g := range over(t) {
			g.refused("cid", Join{Team: 2}, ErrNotWaiting)
			g.refused("ana", Cancel{}, ErrNotWaiting)
			g.refused("ana", AddBots{}, ErrNotWaiting)
			g.refused("ana", Seed{"x"}, ErrNotWaiting)
			g.refused("bob", Leave{}, ErrNotWaiting)
		}
	}},
	{ErrNotInProgress, "Void of a battle that is over", func(t *testing.T) {
		for _, g := range over(t) {
			g.refused(system, Void{"again"}, ErrNotInProgress)
		}
	}},
	{ErrJoinCode, "wrong, missing, in lower case", func(t *testing.T) {
		g := created(t, testConfig(private, func(c *Config) { c.ID = "b2" }))
		g.set("bob", 0) // the code is judged before the balance
		require.Regexp(t, "^[0-9A-F]{8}$", g.code())
		for _, code := range []string{"", "00000000", strings.ToLower(g.code()) + " ", g.code() + "0", g.code()[:7]} {
			g.refused("bob", Join{Team: 2, Code: code}, ErrJoinCode)
		}
		g.set("bob", 2*entryCents)
		g.do("bob", Join{Team: 2, Code: g.code()})
	}},
	{ErrAlreadyJoined, "the creator and a player", func(t *testing.T) {
		g := created(t, testConfig(withLayout(2, 2)))
		g.do("bob", Join{Team: 1})
		g.refused("ana", Join{Team: 1}, ErrAlreadyJoined)
		g.refused("ana", Join{Team: 2}, ErrAlreadyJoined)
		g.refused("bob", Join{Team: 2}, ErrAlreadyJoined)
	}},
	{ErrNotJoined, "a stranger", func(t *testing.T) {
		g := created(t, testConfig())
		g.refused("bob", Leave{}, ErrNotJoined)
		g.refused("bob", Seed{"x"}, ErrNotJoined)
		g.refused(system, Leave{}, ErrNotJoined)
		g.refused(system, Seed{"x"}, ErrNotJoined)
	}},
	{ErrBattleFull, "started", func(t *testing.T) {
		g := started(t, testConfig())
		g.refused("cid", Join{Team: 1}, ErrBattleFull)
		g.refused("ana", AddBots{}, ErrBattleFull)
	}},
	{ErrTeamFull, "full team of a 2v2", func(t *testing.T) {
		g := created(t, testConfig(withLayout(2, 2)))
		g.do("bob", Join{Team: 1})
		require.ErrorContains(t, g.refused("cid", Join{Team: 1}, ErrTeamFull), "team 1")
	}},
	{ErrTeamFull, "team 1 of a 1v1v1 is the creator's", func(t *testing.T) {
		g := created(t, testConfig(withLayout(3, 1)))
		g.refused("bob", Join{Team: 1}, ErrTeamFull)
		g.do("bob", Join{Team: 3})
		g.refused("cid", Join{Team: 3}, ErrTeamFull)
	}},
	{ErrNoSuchTeam, "0, negative, too high", func(t *testing.T) {
		g := created(t, testConfig(withLayout(3, 1)))
		for _, team := range []int{0, -1, 4, 1 << 30} {
			require.ErrorContains(t, g.refused("bob", Join{Team: team}, ErrNoSuchTeam), fmt.Sprintf("team %d of 3", team))
		}
	}},
	{ErrOnlyCreator, "a player, a stranger, the host", func(t *testing.T) {
		g := created(t, testConfig(withLayout(2, 2)))
		g.do("bob", Join{Team: 1})
		for _, actor := range []string{"bob", "cid", system} {
			g.refused(actor, AddBots{}, ErrOnlyCreator)
			g.refused(actor, Cancel{}, ErrOnlyCreator)
		}
	}},
	{ErrCreatorCancels, "Leave by the creator", func(t *testing.T) {
		created(t, testConfig()).refused("ana", Leave{}, ErrCreatorCancels)
	}},
	{ErrHostOnly, "players with the host's commands", func(t *testing.T) {
		newGame(t, testConfig()).refused("ana", Create{}, ErrHostOnly)
		g := created(t, testConfig())
		g.wait(expiryMS)
		for _, cmd := range []Command{Create{}, Expire{expiryKey}, Beacon{}, Nonces{}, Void{}} {
			for _, actor := range []string{"ana", "bob"} {
				g.refused(actor, cmd, ErrHostOnly)
			}
		}
	}},
	{ErrPlayersOnly, "the host takes a seat", func(t *testing.T) {
		created(t, testConfig()).refused(system, Join{Team: 2}, ErrPlayersOnly)
	}},
	{ErrClientSeed, "65 bytes, invalid UTF-8", func(t *testing.T) {
		g := created(t, testConfig())
		for _, seed := range []string{strings.Repeat("x", 65), strings.Repeat("é", 32) + "x", "\xff"} {
			g.refused("bob", Join{Team: 2, ClientSeed: seed}, ErrClientSeed)
			g.refused("ana", Seed{seed}, ErrClientSeed)
			g.refused("ana", AddBots{seed}, ErrClientSeed)
		}
		g.do("ana", Seed{strings.Repeat("é", 32)})
		g.do("ana", Seed{""})
	}},
	{ErrTooLate, "at the end of the waiting time, stepped or not", func(t *testing.T) {
		g := created(t, testConfig(withLayout(2, 2), func(c *Config) { c.Expiry = 5000 }))
		g.wait(4999)
		g.do("bob", Join{Team: 1})
		g.wait(1)
		for actor, cmd := range map[string]Command{
			"ana": Cancel{}, "bob": Leave{}, "cid": Join{Team: 2}, system: Void{},
		} {
			g.refused(actor, cmd, ErrTooLate)
		}
		g.refused("ana", AddBots{}, ErrTooLate)
		g.refused("ana", Seed{}, ErrTooLate)
		g.wait(3_600_000)
		g.refused("cid", Join{Team: 2}, ErrTooLate)
		g.do(system, Expire{expiryKey})
	}},
	{ErrTooLate, "at the end of the beacon's time", func(t *testing.T) {
		g := started(t, testConfig(withBeacon))
		_, target := g.s.life().Target()
		g.now = g.s.Deadline().At
		g.refused(system, Beacon{beaconOf(target)}, ErrTooLate)
		g.refused(system, Void{}, ErrTooLate)
	}},
	{ErrNotDue, "a millisecond early", func(t *testing.T) {
		g := created(t, testConfig())
		g.wait(expiryMS - 1)
		g.refused(system, Expire{expiryKey}, ErrNotDue)
		g = started(t, testConfig())
		g.wait(2999)
		g.refused(system, Expire{"phase/0/countdown"}, ErrNotDue)
	}},
	{ErrStaleKey, "unknown, of the past, of a battle that is over", func(t *testing.T) {
		g := created(t, testConfig())
		for _, key := range []string{"", "x", beaconKey, "phase/0/countdown", strings.Repeat("k", 300)} {
			g.refused(system, Expire{key}, ErrStaleKey)
		}
		g.fill()
		g.refused(system, Expire{expiryKey}, ErrStaleKey)
		g.tick()
		g.refused(system, Expire{"phase/0/countdown"}, ErrStaleKey)
		g.finish()
		g.refused(system, Expire{"phase/2/round_complete"}, ErrStaleKey)
	}},
	{ErrNoBeacon, "none was named, none is awaited", func(t *testing.T) {
		g := created(t, testConfig(withBeacon))
		g.refused(system, Beacon{beaconOf(7)}, ErrNoBeacon)
		g.fill()
		_, target := g.s.life().Target()
		g.advance()
		g.refused(system, Beacon{beaconOf(target)}, ErrNoBeacon)
		started(t, testConfig()).refused(system, Beacon{beaconOf(7)}, ErrNoBeacon)
	}},
	{ErrBadBeacon, "another round, another value, no value", func(t *testing.T) {
		g := started(t, testConfig(withBeacon))
		_, target := g.s.life().Target()
		right := beaconOf(target)
		g.now = outOfBeacon(g)
		for name, b := range map[string]fair.Beacon{
			"round before": beaconOf(target - 1), "round after": beaconOf(target + 1), "nothing": {},
			"no signature":         {Round: target, Randomness: right.Randomness},
			"another signature":    {Round: target, Randomness: right.Randomness, Signature: beaconOf(target + 1).Signature},
			"another randomness":   {Round: target, Randomness: beaconOf(target + 1).Randomness, Signature: right.Signature},
			"no randomness at all": {Round: target, Signature: right.Signature},
		} {
			require.Error(t, g.refused(system, Beacon{b}, ErrBadBeacon), name)
		}
	}},
	{ErrRollsKnown, "from the start on, or from the beacon", func(t *testing.T) {
		g := started(t, testConfig())
		for !g.s.Status().Done() {
			g.refused(system, Void{"too late"}, ErrRollsKnown)
			g.advance()
		}
		g = started(t, testConfig(withBeacon))
		g.advance()
		g.refused(system, Void{"too late"}, ErrRollsKnown)
	}},
	{ErrNonces, "not one for each seat, out of range", func(t *testing.T) {
		g := started(t, testConfig(legacy52))
		g.tick()
		for _, values := range [][]int64{nil, {1}, {1, 2, 3}, {1, -1}, {-1, 1}, {1, 1 << 53}} {
			g.refused(system, Nonces{1, values}, ErrNonces)
		}
		g.do(system, Nonces{1, []int64{0, 1<<53 - 1}})
	}},
	{ErrNoNonces, "another round, another phase, twice, another scheme", func(t *testing.T) {
		g := created(t, testConfig(legacy52))
		g.refused(system, Nonces{1, []int64{1, 2}}, ErrNoNonces)
		g.fill()
		g.refused(system, Nonces{1, []int64{1, 2}}, ErrNoNonces)
		g.refused(system, Nonces{0, []int64{1, 2}}, ErrNoNonces)
		g.tick()
		g.refused(system, Nonces{2, []int64{1, 2}}, ErrNoNonces)
		g.do(system, Nonces{1, []int64{1, 2}})
		g.refused(system, Nonces{1, []int64{1, 2}}, ErrNoNonces)
		g.tick()
		g.refused(system, Nonces{1, []int64{1, 2}}, ErrNoNonces)
		g.finish()
		g.refused(system, Nonces{2, []int64{1, 2}}, ErrNoNonces)
		plain := started(t, testConfig())
		plain.tick()
		plain.refused(system, Nonces{1, []int64{1, 2}}, ErrNoNonces)
	}},
	{ErrReason, "201 bytes, invalid UTF-8", func(t *testing.T) {
		g := created(t, testConfig())
		g.refused(system, Void{strings.Repeat("x", 201)}, ErrReason)
		g.refused(system, Void{"\xff"}, ErrReason)
		g.do(system, Void{strings.Repeat("x", 200)})
	}},
	{ErrNoDraw, "Create and Nonces make secrets", func(t *testing.T) {
		in := glasshouse.Input{Actor: system, At: start}
		newGame(t, testConfig()).refusedInput(in, Create{}, ErrNoDraw)
		g := started(t, testConfig(legacy52))
		g.tick()
		in.At = g.now
		g.refusedInput(in, Nonces{1, []int64{1, 2}}, ErrNoDraw)
	}},
	{ErrNotOver, "no record before the end", func(t *testing.T) {
		g := newGame(t, testConfig())
		for _, step := range []func(){
			func() { g.do(system, Create{}) }, func() { g.fill() }, func() { g.until(PhaseRoundComplete, 2) },
		} {
			_, err := NewRecord(g.cfg, g.all())
			require.ErrorIs(t, err, ErrNotOver)
			step()
		}
		_, err := NewRecord(g.cfg, g.all())
		require.ErrorIs(t, err, ErrNotOver)
		g.finish()
		g.record()
	}},
	{ErrRecord, "no record", func(t *testing.T) {
		for _, data := range []string{"", "{}", "null", "[]", "x", `{"format":1}`} {
			_, err := Verify([]byte(data))
			require.ErrorIs(t, err, ErrRecord)
		}
	}},
	{ErrUnknownCommand, "nil, a pointer", func(t *testing.T) {
		for _, g := range []*game{newGame(t, testConfig()), created(t, testConfig())} {
			g.refused("ana", nil, ErrUnknownCommand)
		}
		created(t, testConfig()).refused("ana", &Cancel{}, ErrUnknownCommand)
	}},
}

func TestRefusals(t *testing.T) {
	for _, r := range refusals {
		t.Run(r.want.Code()+"/"+r.name, r.try)
	}
}

// over is a battle of each kind of end.
func over(t *testing.T) []*game {
	cancelled := created(t, testConfig())
	cancelled.do("ana", Cancel{})
	expired := created(t, testConfig())
	expired.tick()
	voided := created(t, testConfig())
	voided.do(system, Void{"power cut"})
	return []*game{finished(t, testConfig()), cancelled, expired, voided}
}

func caseCount(n int, ok bool) func(*testing.T) {
	return func(t *testing.T) {
		ids := slices.Repeat([]string{"case-1"}, n)
		cases, pickErr := Pick(shelf, ids)
		_, err := New(testConfig(func(c *Config) { c.Cases = slices.Repeat([]Case{testCase()}, n) }))
		if ok {
			require.NoError(t, pickErr)
			require.NoError(t, err)
			require.Len(t, cases, n)
			return
		}
		require.ErrorIs(t, pickErr, ErrCaseCount)
		require.ErrorIs(t, err, ErrCaseCount)
		require.ErrorContains(t, err, fmt.Sprintf("cases: %d", n))
	}
}

// shelf is a shop's list of cases.
func shelf(id string) (Case, bool) {
	c := testCase()
	switch id {
	case "case-1":
	case "asleep":
		c.Active = false
	case "empty":
		c.Items = nil
	default:
		return Case{}, false
	}
	return c, true
}

func pick(want RuleError, ids ...string) func(*testing.T) {
	return func(t *testing.T) {
		cases, err := Pick(shelf, ids)
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, strconv.Quote(ids[len(ids)-1]))
		require.Nil(t, cases)
	}
}

// TestEveryRuleErrorHasARefusal reads errors.go: a new constant without a case above fails.
func TestEveryRuleErrorHasARefusal(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	require.NoError(t, err)
	declared := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			code, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			require.False(t, declared[code], "%s twice", code)
			declared[code] = true
		}
		return true
	})
	require.Greater(t, len(declared), 30)
	provoked := map[string]bool{}
	for _, r := range refusals {
		provoked[r.want.Code()] = true
	}
	require.Equal(t, declared, provoked)
}

func TestRuleErrorsAreRefusalsWithCodeAndText(t *testing.T) {
	var r glasshouse.Refusal = ErrCreatorCancels
	require.Equal(t, "creator_must_cancel", r.Code())
	require.Equal(t, "battle: creator must cancel", r.Error())
}

func TestStepRefusesInputsThatNoEngineTakes(t *testing.T) {
	for want, in := range map[glasshouse.InputError]glasshouse.Input{
		glasshouse.ErrNoActor:      {At: start},
		glasshouse.ErrBadActor:     {Actor: "bot:1", At: start},
		glasshouse.ErrBadRequestID: {Actor: "bob", ID: "a b", At: start},
		glasshouse.ErrNoTime:       {Actor: "bob"},
	} {
		created(t, testConfig()).refusedInput(in, Join{Team: 2}, want)
	}
}

func TestBalanceEqualToThePriceIsEnough(t *testing.T) {
	g := created(t, testConfig())
	g.set("bob", 2*entryCents-1)
	var funds ledger.ErrFunds
	require.ErrorAs(t, g.refused("bob", Join{Team: 2}, ledger.ErrFunds{
		Key: ledger.Key{Account: UserAccount("bob"), Asset: "BRL/2"}, Need: 200, Have: 199,
	}), &funds)
	g.set("bob", 2*entryCents)
	g.do("bob", Join{Team: 2})
	require.Zero(t, g.balance(UserAccount("bob")))
	require.Equal(t, StatusInProgress, g.s.Status())
}

func TestACreatorWithoutTheEntryCannotCreate(t *testing.T) {
	g := newGame(t, testConfig())
	g.set("ana", 2*entryCents-1)
	g.refused(system, Create{}, ledger.ErrFunds{
		Key: ledger.Key{Account: UserAccount("ana"), Asset: "BRL/2"}, Need: 200, Have: 199,
	})
}

// openTable is one of several hosts of the same battle.
func openTable(t *testing.T, money *ledger.Ledger, cfg Config) *glasshouse.Table[*State, Command, Event, View] {
	t.Helper()
	s, err := New(cfg)
	require.NoError(t, err)
	table, err := glasshouse.OpenTable(t.Context(), Rules(), money, hostSecrets, Key(cfg.ID), s)
	require.NoError(t, err)
	return table
}

// TestTheLastSeatIsSoldOnce: two people on two hosts over one ledger want it at the same time.
func TestTheLastSeatIsSoldOnce(t *testing.T) {
	for round := range 20 {
		cfg := testConfig(func(c *Config) { c.ID = fmt.Sprintf("b%d", round) })
		money := fundedLedger(t, func() time.Time { return start }, cfg.Asset)
		first := openTable(t, money, cfg)
		_, err := first.Do(t.Context(), glasshouse.Input{Actor: system, At: start}, Create{})
		require.NoError(t, err)
		second := openTable(t, money, cfg)

		people := []string{"bob", "cid"}
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i, table := range []*glasshouse.Table[*State, Command, Event, View]{first, second} {
			wg.Go(func() {
				_, errs[i] = table.Do(context.Background(), glasshouse.Input{Actor: people[i], At: start}, Join{Team: 2})
			})
		}
		wg.Wait()

		winner := 0
		if errs[0] != nil {
			winner = 1
		}
		require.NoError(t, errs[winner])
		require.ErrorIs(t, errs[1-winner], ErrBattleFull)
		for i, want := range map[int]int64{winner: 1000*entryCents - 200, 1 - winner: 1000 * entryCents} {
			b, err := money.Balance(t.Context(), UserAccount(people[i]), cfg.Asset)
			require.NoError(t, err)
			require.Equal(t, want, b.Posted)
		}
		b, err := money.Balance(t.Context(), Key(cfg.ID).Escrow(), cfg.Asset)
		require.NoError(t, err)
		require.EqualValues(t, 400, b.Posted)
		entries, err := money.Journal(t.Context(), ledger.JournalQuery{Doc: Key(cfg.ID)})
		require.NoError(t, err)
		require.Len(t, entries, 2, "Create and one Join that starts the battle")
	}
}

// TestJoinRacesAddBots: whoever is second finds the battle full, and it starts once.
func TestJoinRacesAddBots(t *testing.T) {
	for round := range 20 {
		cfg := testConfig(withLayout(2, 2), func(c *Config) { c.ID = fmt.Sprintf("b%d", round) })
		money := fundedLedger(t, func() time.Time { return start }, cfg.Asset)
		first := openTable(t, money, cfg)
		do := func(table *glasshouse.Table[*State, Command, Event, View], actor string, cmd Command) error {
			_, err := table.Do(context.Background(), glasshouse.Input{Actor: actor, At: start}, cmd)
			return err
		}
		require.NoError(t, do(first, system, Create{}))
		require.NoError(t, do(first, "bob", Join{Team: 1}))
		require.NoError(t, do(first, "cid", Join{Team: 2}))
		second := openTable(t, money, cfg)
		var joinErr, botsErr error
		var wg sync.WaitGroup
		wg.Go(func() { joinErr = do(first, "dan", Join{Team: 2}) })
		wg.Go(func() { botsErr = do(second, "ana", AddBots{}) })
		wg.Wait()
		if joinErr == nil {
			require.ErrorIs(t, botsErr, ErrBattleFull)
		} else {
			require.NoError(t, botsErr)
			require.ErrorIs(t, joinErr, ErrBattleFull)
		}
		b, err := money.Balance(t.Context(), Key(cfg.ID).Escrow(), cfg.Asset)
		require.NoError(t, err)
		require.EqualValues(t, 4*200, b.Posted)
	}
}

func TestAThirdTeamMayJoin(t *testing.T) {
	g := created(t, testConfig(withLayout(3, 1)))
	g.do("bob", Join{Team: 3})
	require.Equal(t, StatusWaiting, g.s.Status())
	g.do("cid", Join{Team: 2})
	require.Equal(t, StatusInProgress, g.s.Status())
	require.Equal(t, []string{"ana", "cid", "bob"}, seated(g))
}

func seated(g *game) []string {
	var out []string
	for _, p := range g.s.d.Seats {
		out = append(out, p.User)
	}
	return out
}

func TestUnknownWordsInJSONNameTheirField(t *testing.T) {
	base := `{"id":"b1","creator":"ana","asset":"BRL/2","layout":"1v1","mode":"normal","cases":[]}`
	for field, data := range map[string]string{
		"layout":   strings.Replace(base, `"1v1"`, `"ONE_VS_TWO"`, 1),
		"mode":     strings.Replace(base, `"normal"`, `"FLIPPED"`, 1),
		"modus":    strings.Replace(base, `"mode"`, `"modus"`, 1),
		"Mode":     strings.Replace(base, `"mode"`, `"Mode"`, 1),
		"cases":    strings.Replace(base, `[]`, `7`, 1),
		"creator":  strings.Replace(base, `"creator"`, `"id":"b2","creator"`, 1),
		"drop_it":  strings.Replace(base, `[]`, `[{"drop_it":1}]`, 1),
		"trailing": base + "{}",
	} {
		_, err := restoreDocuments([]byte(data), []byte("{}"))
		require.Error(t, err)
		want := field
		if field == "creator" {
			want = `"id" twice`
		}
		require.ErrorContains(t, err, want)
	}
	for want, data := range map[string]string{
		"kind":         `{"kind":"joyn","data":{"team":1}}`,
		"teem":         `{"kind":"join","data":{"teem":1}}`,
		`"team" twice`: `{"kind":"join","data":{"team":1,"team":2}}`,
		"data":         `{"kind":"join"}`,
		"cancel: data": `{"kind":"cancel","data":{}}`,
		"team":         `{"kind":"join","data":{"team":"1"}}`,
		"trailing":     `{"kind":"cancel"}{"kind":"cancel"}`,
		"UTF-8":        "{\"kind\":\"seed\",\"data\":{\"client_seed\":\"\xff\"}}",
		"bytes":        `{"kind":"seed","data":{"client_seed":"` + strings.Repeat("x", 5000) + `"}}`,
	} {
		_, err := UnmarshalCommand([]byte(data))
		require.ErrorContains(t, err, want)
	}
}
