package fair_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse/fair"
)

var (
	sig    = []byte("a signature of the round")
	known  = fair.Beacon{Round: 9, Randomness: fair.Digest(unhex(plainSHA(text("a signature of the round")))), Signature: sig}
	drandD = fair.Quicknet().Descriptor()
)

func contribution(player string) fair.Contribution {
	return fair.Contribution{Player: player, Seed: []byte("bytes of " + player)}
}

// step is a method of Life with arguments that fit any stage that allows it.
type step struct {
	name string
	do   func(fair.Life) (fair.Life, error)
}

func freeze(d fair.Descriptor, target uint64) func(fair.Life) (fair.Life, error) {
	return func(l fair.Life) (fair.Life, error) { return l.Freeze([]string{"bob", "ana"}, d, target) }
}

func steps() []step {
	return []step{
		{"open", fair.Life.Open},
		{"contribute", func(l fair.Life) (fair.Life, error) { return l.Contribute(contribution("ana")) }},
		{"withdraw", func(l fair.Life) (fair.Life, error) { return l.Withdraw("ana") }},
		{"freeze", freeze(drandD, 9)},
		{"beacon", func(l fair.Life) (fair.Life, error) { return l.Beacon(known) }},
		{"resolve", fair.Life.Resolve},
		{"reveal", fair.Life.Reveal},
		{"void", fair.Life.Void},
	}
}

func committed(t require.TestingT) fair.Life {
	l, err := fair.Commit(fair.Terms{Kind: "test", Session: "s", ConfigHash: fair.Digest{7}, Tables: []fair.Digest{{8}, {9}}}, seed(3))
	require.NoError(t, err)
	return l
}

func run(t require.TestingT, l fair.Life, steps ...func(fair.Life) (fair.Life, error)) fair.Life {
	for _, s := range steps {
		next, err := s(l)
		require.NoError(t, err)
		l = next
	}
	return l
}

func contribute(c fair.Contribution) func(fair.Life) (fair.Life, error) {
	return func(l fair.Life) (fair.Life, error) { return l.Contribute(c) }
}

func open(t require.TestingT) fair.Life {
	return run(t, committed(t), fair.Life.Open, contribute(contribution("ana")), contribute(contribution("bob")))
}

func beaconStep(l fair.Life) (fair.Life, error) { return l.Beacon(known) }

// lives is one life for each stage, through a beacon and without.
func lives(t require.TestingT) map[string]fair.Life {
	frozen := run(t, open(t), freeze(drandD, 9))
	plain := run(t, open(t), freeze(fair.Descriptor{}, 0))
	return map[string]fair.Life{
		"zero":                   {},
		"committed":              committed(t),
		"open":                   open(t),
		"frozen":                 frozen,
		"frozen, no beacon":      plain,
		"beacon_known":           run(t, frozen, beaconStep),
		"resolved":               run(t, frozen, beaconStep, fair.Life.Resolve),
		"resolved, no beacon":    run(t, plain, fair.Life.Resolve),
		"revealed":               run(t, frozen, beaconStep, fair.Life.Resolve, fair.Life.Reveal),
		"revealed, no beacon":    run(t, plain, fair.Life.Resolve, fair.Life.Reveal),
		"voided at committed":    run(t, committed(t), fair.Life.Void),
		"voided at open":         run(t, open(t), fair.Life.Void),
		"voided at frozen":       run(t, frozen, fair.Life.Void),
		"voided at beacon_known": run(t, frozen, beaconStep, fair.Life.Void),
	}
}

// allowed is the table of the specification's section 12; everything else is
// out of order.
var allowed = map[string]map[string]error{
	"committed":         {"open": nil, "void": nil},
	"open":              {"contribute": nil, "withdraw": nil, "freeze": nil, "void": nil},
	"frozen":            {"beacon": nil, "resolve": fair.ErrNoBeacon, "void": nil},
	"frozen, no beacon": {"beacon": fair.ErrBeacon, "resolve": nil, "void": nil},
	"beacon_known":      {"resolve": nil, "void": nil},
	"resolved":          {"reveal": nil}, "resolved, no beacon": {"reveal": nil},
}

func TestEveryStepIsRefusedOutOfOrderAndChangesNothing(t *testing.T) {
	for stage, l := range lives(t) {
		before := must(json.Marshal(l))
		for _, s := range steps() {
			next, err := s.do(l)
			want, ok := allowed[stage][s.name]
			switch {
			case !ok:
				require.ErrorIs(t, err, fair.ErrOrder, "%s at %s", s.name, stage)
				require.ErrorContains(t, err, s.name)
			case want != nil:
				require.ErrorIs(t, err, want, "%s at %s", s.name, stage)
			default:
				require.NoError(t, err, "%s at %s", s.name, stage)
				require.Equal(t, s.name == "contribute", next.Stage() == l.Stage() && s.name != "withdraw")
			}
			if err != nil {
				require.Equal(t, l, next, "an error returns the receiver")
			}
			require.Equal(t, string(before), string(must(json.Marshal(l))), "%s changed a life that is %s", s.name, stage)
		}
	}
}

func TestStagesShowWhatTheyMay(t *testing.T) {
	for stage, l := range lives(t) {
		name, _, _ := strings.Cut(stage, ",")
		name, _, _ = strings.Cut(name, " at")
		if name == "zero" {
			name = "invalid"
		}
		require.Equal(t, name, l.Stage().String())
		s, shown := l.Seed()
		require.Equal(t, name == "revealed" || name == "voided", shown, stage)
		if shown {
			require.Equal(t, seed(3), s)
		} else {
			require.True(t, s.IsZero())
		}
		require.Equal(t, name == "resolved" || name == "revealed", l.Root() != nil, stage)
		frozen := name == "frozen" || name == "beacon_known" || name == "resolved" || name == "revealed" || stage == "voided at frozen" || stage == "voided at beacon_known"
		require.Equal(t, frozen, !l.FreezeDigest().IsZero(), stage)
		require.Equal(t, name == "invalid", l.Commitment().IsZero())
		b, ok := l.BeaconValue()
		d, target := l.Target()
		require.Equal(t, frozen && !strings.Contains(stage, "no beacon"), target == 9 && d == drandD, stage)
		require.Equal(t, ok, (name == "beacon_known" || name == "resolved" || name == "revealed" || stage == "voided at beacon_known") && !strings.Contains(stage, "no beacon"), stage)
		if ok {
			require.Equal(t, known, b)
		}
	}
}

func TestALifeEqualsTheStepsByHand(t *testing.T) {
	l := lives(t)["resolved"]
	tr := fair.Transcript{
		Kind: "test", Session: "s", Commitment: must(seed(3).Commit("s")), ConfigHash: fair.Digest{7}, Tables: []fair.Digest{{8}, {9}},
		Contributions: []fair.Contribution{contribution("bob"), contribution("ana")},
	}
	require.Equal(t, tr, l.Transcript())
	require.Equal(t, tr.Commitment, l.Commitment())
	f := must(tr.Freeze(drandD, 9))
	require.Equal(t, f, l.FreezeDigest())
	r := must(fair.NewRoot(seed(3), f, drandD, 9, &known))
	require.Equal(t, r, l.Root())
	require.Equal(t, fair.Terms{Kind: "test", Session: "s", ConfigHash: fair.Digest{7}, Tables: []fair.Digest{{8}, {9}}}, l.Terms())
}

func TestContributionsAreReplacedInPlaceAndWithdrawn(t *testing.T) {
	l := run(t, open(t), contribute(fair.Contribution{Player: "ana", Operator: true, Seed: []byte("new")}))
	require.Equal(t, []fair.Contribution{{Player: "ana", Operator: true, Seed: []byte("new")}, contribution("bob")}, l.Transcript().Contributions)
	l = run(t, l, func(l fair.Life) (fair.Life, error) { return l.Withdraw("ana") })
	require.Equal(t, []fair.Contribution{contribution("bob")}, l.Transcript().Contributions)
	_, err := l.Withdraw("ana")
	require.ErrorIs(t, err, fair.ErrUnknownPlayer)
	require.ErrorContains(t, err, "ana")
	for _, bad := range []fair.Contribution{{Player: ""}, {Player: "x", Seed: make([]byte, 65)}} {
		_, err := l.Contribute(bad)
		require.Error(t, err)
	}
	run(t, l, contribute(fair.Contribution{Player: "x", Seed: make([]byte, 64)}))
}

func TestFreezeNeedsEachContributorOnce(t *testing.T) {
	for _, c := range []struct {
		order []string
		err   error
		says  string
	}{
		{[]string{"ana", "bob", "cid"}, fair.ErrUnknownPlayer, "cid"},
		{[]string{"ana"}, fair.ErrPlayerMissing, "bob"},
		{nil, fair.ErrPlayerMissing, "ana"},
		{[]string{"ana", "bob", "ana"}, fair.ErrDuplicate, "ana"},
	} {
		_, err := open(t).Freeze(c.order, fair.Descriptor{}, 0)
		require.ErrorIs(t, err, c.err)
		require.ErrorContains(t, err, c.says)
	}
	_, err := open(t).Freeze([]string{"ana", "bob"}, drandD, 0)
	require.ErrorIs(t, err, fair.ErrTarget)
	l := run(t, committed(t), fair.Life.Open, func(l fair.Life) (fair.Life, error) { return l.Freeze(nil, fair.Descriptor{}, 0) })
	require.Equal(t, fair.StageFrozen, l.Stage())
}

func TestCommitRefusesWhatCannotBePublished(t *testing.T) {
	_, err := fair.Commit(fair.Terms{Kind: "k", Session: "s"}, fair.ServerSeed{})
	require.ErrorIs(t, err, fair.ErrSeed)
	for _, terms := range []fair.Terms{{Session: "s"}, {Kind: "k"}, {Kind: "\xff", Session: "s"}} {
		_, err := fair.Commit(terms, seed(1))
		require.ErrorIs(t, err, fair.ErrText)
	}
}

func TestSlicesGivenInAndOutAreCopies(t *testing.T) {
	tables := []fair.Digest{{1}, {2}}
	mine := []byte("mine")
	signature := append([]byte(nil), sig...)
	l := must(fair.Commit(fair.Terms{Kind: "k", Session: "s", Tables: tables}, seed(1)))
	b := known
	b.Signature = signature
	order := []string{"ana"}
	l = run(t, l, fair.Life.Open, contribute(fair.Contribution{Player: "ana", Seed: mine}),
		func(l fair.Life) (fair.Life, error) { return l.Freeze(order, drandD, 9) },
		func(l fair.Life) (fair.Life, error) { return l.Beacon(b) })
	want := must(json.Marshal(l))
	scribble := func() {
		clear(tables)
		clear(mine)
		clear(signature)
		clear(order)
		tr := l.Transcript()
		clear(tr.Tables)
		clear(tr.Contributions[0].Seed)
		tr.Contributions[0] = fair.Contribution{}
		clear(l.Terms().Tables)
		got, _ := l.BeaconValue()
		clear(got.Signature)
	}
	scribble()
	require.Equal(t, string(want), string(must(json.Marshal(l))))
}

// Two lives that grow out of one must not share the room behind a slice.
func TestBranchesOfALifeDoNotDisturbEachOther(t *testing.T) {
	base := open(t)
	base = run(t, base, contribute(contribution("cid")))
	a := run(t, base, contribute(contribution("dan")))
	b := run(t, base, contribute(contribution("eve")))
	c := run(t, base, func(l fair.Life) (fair.Life, error) { return l.Withdraw("ana") })
	players := func(l fair.Life) (out []string) {
		for _, c := range l.Transcript().Contributions {
			out = append(out, c.Player)
		}
		return out
	}
	require.Equal(t, []string{"ana", "bob", "cid"}, players(base))
	require.Equal(t, []string{"ana", "bob", "cid", "dan"}, players(a))
	require.Equal(t, []string{"ana", "bob", "cid", "eve"}, players(b))
	require.Equal(t, []string{"bob", "cid"}, players(c))
}

func TestEveryLifeSurvivesItsJSON(t *testing.T) {
	for stage, l := range lives(t) {
		data := must(json.Marshal(struct{ Life fair.Life }{l}))
		var back struct{ Life fair.Life }
		require.NoError(t, json.Unmarshal(data, &back), stage)
		require.Equal(t, l, back.Life, stage)
		require.Equal(t, string(data), string(must(json.Marshal(back))), stage)
		var spaced bytes.Buffer
		require.NoError(t, json.Indent(&spaced, data, "", "  "))
		require.NoError(t, json.Unmarshal(spaced.Bytes(), &back), stage)
	}
}

// The stored form is written out here once: a change of it breaks documents.
func TestTheJSONOfALifeIsTheDocumentedOne(t *testing.T) {
	l := must(fair.Commit(fair.Terms{Kind: "k", Session: "s"}, seed(1)))
	l = run(t, l, fair.Life.Open, contribute(fair.Contribution{Player: "<p>", Seed: []byte{255}}))
	const zero = "0000000000000000000000000000000000000000000000000000000000000000"
	require.Equal(t, `{"format":1,"scheme":"fair/v2","stage":"open","voided":false,"seed":"`+seed(1).Hex()+
		`","terms":{"kind":"k","session":"s","config_hash":"`+zero+`","tables":[]},"contributions":[{"player":"\u003cp\u003e","operator":false,"seed":"ff"}],`+
		`"descriptor":"none","target":"0","beacon":null}`, string(must(json.Marshal(l))))
	b := must(json.Marshal(known))
	require.Equal(t, `{"round":"9","randomness":"`+known.Randomness.String()+`","signature":"`+known.Signature.String()+`"}`, string(b))
}

func TestDamagedLifeJSONIsRefused(t *testing.T) {
	good := string(must(json.Marshal(lives(t)["revealed"])))
	replace := func(old, new string) string {
		require.Contains(t, good, old)
		return strings.Replace(good, old, new, 1)
	}
	h := lives(t)["revealed"].Terms().ConfigHash.String()
	for name, bad := range map[string]string{
		"empty":             ``,
		"not an object":     `[]`,
		"a number":          `1`,
		"empty object":      `{}`,
		"cut":               good[:len(good)-1],
		"trailing":          good + `{}`,
		"unknown field":     replace(`{"format"`, `{"extra":1,"format"`),
		"duplicate":         replace(`"voided":false`, `"voided":false,"voided":false`),
		"wrong case":        replace(`"stage"`, `"Stage"`),
		"other order":       replace(`"format":1,"scheme":"fair/v2"`, `"scheme":"fair/v2","format":1`),
		"format":            replace(`"format":1`, `"format":2`),
		"scheme":            replace(`fair/v2`, `fair/v3`),
		"stage unknown":     replace(`"revealed"`, `"done"`),
		"stage voided":      replace(`"revealed"`, `"voided"`),
		"stage missing":     replace(`"stage":"revealed",`, ``),
		"earlier":           replace(`"revealed"`, `"committed"`),
		"open with freeze":  replace(`"revealed"`, `"open"`),
		"frozen and beacon": replace(`"revealed"`, `"frozen"`),
		"voided after draw": replace(`"voided":false`, `"voided":true`),
		"seed":              replace(seed(3).Hex(), strings.ToUpper(seed(3).Hex())),
		"zero seed":         replace(seed(3).Hex(), zero32),
		"hash":              replace(h, h[2:]),
		"player twice":      replace(`"ana"`, `"bob"`),
		"long contribution": replace(`"seed":"6279`, `"seed":"`+strings.Repeat("00", 80)),
		"target":            replace(`"target":"9"`, `"target":"8"`),
		"target text":       replace(`"target":"9"`, `"target":"09"`),
		"target number":     replace(`"target":"9"`, `"target":9`),
		"round text":        replace(`"round":"9"`, `"round":"09"`),
		"no beacon":         replace(`"beacon":{`, `"beacon":null,"x":{`),
		"descriptor":        replace(`"descriptor":"drand/`, `"descriptor":"drund/`),
		"signature":         replace(`"signature":"61`, `"signature":"62`),
		"tables null":       replace(`"tables":["`, `"tables":null,"x":["`),
		"invalid UTF-8":     replace(`"kind":"test"`, "\"kind\":\"\xff\""),
		"escaped":           replace(`"kind":"test"`, `"kind":"\u0074est"`),
	} {
		t.Run(name, func(t *testing.T) {
			l := committed(t)
			err := l.UnmarshalJSON([]byte(bad))
			var e fair.Error
			require.ErrorAs(t, err, &e, "%s", bad)
			require.NotEmpty(t, e.Code())
			require.Equal(t, committed(t), l, "an error changes nothing")
			require.NotContains(t, err.Error(), seed(3).Hex()[10:30])
		})
	}
}

func TestALifeOfTwentyThousandPlayersIsReadAndFrozen(t *testing.T) {
	l := run(t, committed(t), fair.Life.Open)
	data := string(must(json.Marshal(l)))
	var list strings.Builder
	order := make([]string, 20_000)
	for i := range order {
		order[i] = fmt.Sprint("player", i)
		fmt.Fprintf(&list, `,{"player":%q,"operator":false,"seed":""}`, order[i])
	}
	data = strings.Replace(data, `"contributions":[]`, `"contributions":[`+list.String()[1:]+`]`, 1)
	require.NoError(t, l.UnmarshalJSON([]byte(data)))
	l = run(t, l, func(l fair.Life) (fair.Life, error) { return l.Freeze(order, fair.Descriptor{}, 0) })
	require.Len(t, l.Transcript().Contributions, 20_000)
}

func TestStageTextIsStrict(t *testing.T) {
	for s := fair.StageCommitted; s <= fair.StageVoided; s++ {
		var back fair.Stage
		require.NoError(t, back.UnmarshalText(must(s.MarshalText())))
		require.Equal(t, s, back)
	}
	for _, bad := range []string{"", "invalid", "Open", "open "} {
		var s fair.Stage
		require.ErrorIs(t, s.UnmarshalText([]byte(bad)), fair.ErrFormat)
	}
	for _, s := range []fair.Stage{0, fair.StageVoided + 1, 255} {
		_, err := s.MarshalText()
		require.ErrorIs(t, err, fair.ErrFormat)
		require.Equal(t, "invalid", s.String())
	}
}

func TestRandomLivesReplayToTheSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := committed(t)
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			s := rapid.SampledFrom(steps()).Draw(t, "step")
			if next, err := s.do(l); err == nil {
				l = next
			}
			if l.Stage() == fair.StageOpen && rapid.Bool().Draw(t, "bob") {
				l = run(t, l, contribute(contribution("bob")))
			}
			data := must(json.Marshal(l))
			var back fair.Life
			if err := back.UnmarshalJSON(data); err != nil || !bytes.Equal(data, must(json.Marshal(back))) {
				t.Fatalf("%v: %v", l.Stage(), err)
			}
		}
	})
}

func TestDescriptorsHaveOneTextEach(t *testing.T) {
	for _, d := range []fair.Descriptor{
		{},
		drandD,
		{Source: fair.SourceBlock, Chain: "a/b", Delay: 1},
		{Source: fair.SourceBlock, Chain: "x", Delay: math.MaxUint64, Confirmations: math.MaxUint64},
	} {
		require.NoError(t, d.Validate())
		var back fair.Descriptor
		require.NoError(t, back.UnmarshalText(must(d.MarshalText())))
		require.Equal(t, d, back)
		require.Equal(t, d == fair.Descriptor{}, d.IsNone())
	}
	for _, d := range []fair.Descriptor{
		{Chain: "x"},
		{Delay: 1},
		{Confirmations: 1},
		{Source: "nist"},
		{Source: "none"},
		{Source: fair.SourceDrand},
		{Source: fair.SourceDrand, Chain: drandD.Chain, Delay: 1},
		{Source: fair.SourceDrand, Chain: drandD.Chain, Confirmations: 1},
		{Source: fair.SourceBlock, Chain: "x"},
		{Source: fair.SourceBlock, Delay: 1},
		{Source: fair.SourceBlock, Chain: "\xff", Delay: 1},
	} {
		require.ErrorIs(t, d.Validate(), fair.ErrDescriptor, "%+v", d)
		_, err := d.MarshalText()
		require.ErrorIs(t, err, fair.ErrDescriptor)
		_, err = d.Bytes()
		require.ErrorIs(t, err, fair.ErrDescriptor)
		require.ErrorIs(t, fair.Beacon{}.Check(d, 1), fair.ErrDescriptor)
	}
	d := drandD
	require.Error(t, d.UnmarshalText([]byte("drandy/"+drandD.Chain)))
	require.Equal(t, drandD, d, "an error changes nothing")
}

func TestQuicknetRoundsStandAtThePublishedTimes(t *testing.T) {
	q := fair.Quicknet()
	require.Equal(t, "drand/52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971", q.Descriptor().String())
	// Round 27798178 is known to be of 1776197898.
	require.Equal(t, int64(1776197898), must(q.TimeOf(27798178)).Unix())
	require.Equal(t, time.UTC, must(q.TimeOf(1)).Location())
	for unix, round := range map[int64]uint64{1776197897: 27798177, 1776197898: 27798178, 1776197900: 27798178, 1776197901: 27798179, 1692803366: 0, 1692803367: 1, 0: 0} {
		require.Equal(t, round, q.RoundAt(time.Unix(unix, 5)))
	}
	_, err := q.TimeOf(0)
	require.ErrorIs(t, err, fair.ErrRound)
}

func TestDrandRoundsAndTimesAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := fair.Drand{Genesis: rapid.Int64().Draw(t, "genesis"), Period: rapid.Int64Min(1).Draw(t, "period")}
		round := rapid.Uint64Min(1).Draw(t, "round")
		want := new(bigInt).Mul(bigOf(round-1), bigOf(uint64(c.Period)))
		want.Add(want, newInt(c.Genesis))
		due, err := c.TimeOf(round)
		if want.IsInt64() != (err == nil) {
			t.Fatalf("want %v, got %v", want, err)
		}
		if err == nil && (due.Unix() != want.Int64() || c.RoundAt(due) != round) {
			t.Fatalf("want %v, got %v, round %d", want, due.Unix(), c.RoundAt(due))
		}
	})
}

func ExampleLife() {
	l, err := fair.Commit(fair.Terms{Kind: "demo", Session: "1"}, seed(1))
	fmt.Println(l.Stage(), err)
	_, err = l.Contribute(fair.Contribution{Player: "ana"})
	fmt.Println(err)
	// Output:
	// committed <nil>
	// fair: out of order: contribute of a life that is committed
}
