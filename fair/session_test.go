package fair_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/fair"
)

var boxTerms = fair.Terms{Kind: "box", Session: "box-9", ConfigHash: fair.Digest{1}, Tables: []fair.Digest{{2}}}

func begun(t *testing.T) fair.Session {
	t.Helper()
	return must(must(fair.OpenSession(boxTerms, "ana", seed(1))).Begin([]byte("client")))
}

func TestASessionPlaysUnderOneSeedUntilItRotates(t *testing.T) {
	s := must(fair.OpenSession(boxTerms, "ana", seed(1)))
	require.Equal(t, fair.StageOpen, s.Life().Stage())
	require.Equal(t, must(seed(1).Commit("box-9#0000000000000000")), s.Life().Commitment())
	require.Equal(t, "ana", s.Player())

	s = must(s.Begin([]byte("client")))
	root := s.Life().Root()
	for want := range uint64(3) {
		next, play, err := s.Play()
		require.NoError(t, err)
		require.Equal(t, want, play)
		require.Equal(t, want, s.Plays(), "the receiver is unchanged")
		s = next
		require.Equal(t, want+1, s.Plays())
		require.Equal(t, root, s.Life().Root())
	}
	require.Equal(t, fair.Life{}, s.Retired())
	_, shown := s.Life().Seed()
	require.False(t, shown)

	changed := boxTerms
	changed.ConfigHash = fair.Digest{5}
	s = must(s.Rotate(changed, seed(2)))
	old, shown := s.Retired().Seed()
	require.True(t, shown)
	require.Equal(t, seed(1), old)
	require.Equal(t, fair.StageRevealed, s.Retired().Stage())
	require.Equal(t, root, s.Retired().Root(), "the old plays can be derived again")
	require.EqualValues(t, 1, s.Epoch())
	require.Zero(t, s.Plays())
	require.Equal(t, must(seed(2).Commit("box-9#0000000000000001")), s.Life().Commitment())
	require.Equal(t, fair.Digest{5}, s.Life().Terms().ConfigHash)
	s = must(s.Begin(nil))
	require.NotEqual(t, root, s.Life().Root())
	s = must(s.Rotate(boxTerms, seed(3)))
	require.EqualValues(t, 2, s.Epoch())
}

func TestAClientSeedChangesOnlyWithARotation(t *testing.T) {
	s := begun(t)
	before := must(json.Marshal(s))
	again, err := s.Begin([]byte("another"))
	require.ErrorIs(t, err, fair.ErrOrder)
	require.Equal(t, s, again)
	require.Equal(t, before, must(json.Marshal(s)))
}

func TestSessionStepsOutOfOrderAreRefused(t *testing.T) {
	opened := must(fair.OpenSession(boxTerms, "ana", seed(1)))
	_, _, err := opened.Play()
	require.ErrorIs(t, err, fair.ErrOrder)
	_, _, err = fair.Session{}.Play()
	require.ErrorIs(t, err, fair.ErrOrder)
	_, err = fair.Session{}.Begin(nil)
	require.ErrorIs(t, err, fair.ErrOrder)
	_, err = fair.Session{}.Rotate(boxTerms, seed(1))
	require.ErrorIs(t, err, fair.ErrOrder)

	_, err = begun(t).Rotate(boxTerms, seed(1))
	require.ErrorIs(t, err, fair.ErrSeed, "the seed is public after the rotation")
	_, err = begun(t).Rotate(boxTerms, fair.ServerSeed{})
	require.ErrorIs(t, err, fair.ErrSeed)
	for _, f := range []func(*fair.Terms){func(t *fair.Terms) { t.Kind = "x" }, func(t *fair.Terms) { t.Session = "x" }} {
		other := boxTerms
		f(&other)
		_, err = begun(t).Rotate(other, seed(2))
		require.ErrorIs(t, err, fair.ErrText)
	}
	_, err = opened.Begin(make([]byte, 65))
	require.ErrorIs(t, err, fair.ErrContribution)
	for _, player := range []string{"", "\xff"} {
		_, err = fair.OpenSession(boxTerms, player, seed(1))
		require.ErrorIs(t, err, fair.ErrText)
	}
	_, err = fair.OpenSession(fair.Terms{Kind: "box"}, "ana", seed(1))
	require.ErrorIs(t, err, fair.ErrText)
	long := fair.Terms{Kind: "box", Session: strings.Repeat("s", 111)}
	must(fair.OpenSession(long, "ana", seed(1)))
	long.Session += "s"
	_, err = fair.OpenSession(long, "ana", seed(1))
	require.ErrorIs(t, err, fair.ErrText)
}

func TestARotationBeforeAnyClientSeedVoidsTheOldSeed(t *testing.T) {
	s := must(must(fair.OpenSession(boxTerms, "ana", seed(1))).Rotate(boxTerms, seed(2)))
	require.Equal(t, fair.StageVoided, s.Retired().Stage())
	require.Equal(t, fair.StageOpen, s.Life().Stage())
}

func sessions(t *testing.T) map[string]fair.Session {
	played, _, err := begun(t).Play()
	require.NoError(t, err)
	rotated := must(played.Rotate(boxTerms, seed(2)))
	return map[string]fair.Session{
		"zero": {}, "opened": must(fair.OpenSession(boxTerms, "ana", seed(1))), "begun": begun(t), "played": played,
		"rotated": rotated, "begun again": must(rotated.Begin(nil)),
		"voided": must(must(fair.OpenSession(boxTerms, "ana", seed(1))).Rotate(boxTerms, seed(2))),
	}
}

func TestEverySessionSurvivesItsJSON(t *testing.T) {
	for name, s := range sessions(t) {
		data := must(json.Marshal(s))
		var back fair.Session
		require.NoError(t, json.Unmarshal(data, &back), name)
		require.Equal(t, s, back, name)
		if name != "zero" {
			must(back.Rotate(boxTerms, seed(9)))
		}
	}
}

func TestDamagedSessionJSONIsRefused(t *testing.T) {
	all := sessions(t)
	replace := func(name, old, new string) string {
		data := string(must(json.Marshal(all[name])))
		require.Contains(t, data, old)
		return strings.Replace(data, old, new, 1)
	}
	life := func(l fair.Life) string { return string(must(json.Marshal(l))) }
	two := run(t, must(fair.Commit(all["begun"].Life().Terms(), seed(1))), fair.Life.Open, contribute(contribution("ana")), contribute(contribution("bob")), freeze(fair.Descriptor{}, 0), fair.Life.Resolve)
	house := run(t, must(fair.Commit(all["begun"].Life().Terms(), seed(1))), fair.Life.Open, contribute(fair.Contribution{Player: "ana", Operator: true}),
		func(l fair.Life) (fair.Life, error) { return l.Freeze([]string{"ana"}, fair.Descriptor{}, 0) }, fair.Life.Resolve)
	drand := run(t, must(fair.Commit(all["begun"].Life().Terms(), seed(1))), fair.Life.Open, contribute(contribution("ana")),
		func(l fair.Life) (fair.Life, error) { return l.Freeze([]string{"ana"}, drandD, 9) }, beaconStep, fair.Life.Resolve)
	waiting := run(t, all["opened"].Life(), contribute(contribution("ana")))
	nameless := run(t, must(fair.Commit(fair.Terms{Kind: "box", Session: "#0000000000000000"}, seed(1))), fair.Life.Open)
	for name, bad := range map[string]string{
		"empty":             ``,
		"format":            replace("begun", `"format":1`, `"format":2`),
		"unknown field":     replace("begun", `{"format"`, `{"x":1,"format"`),
		"player":            replace("begun", `"player":"ana"`, `"player":"bob"`),
		"no player":         replace("opened", `"player":"ana"`, `"player":""`),
		"epoch":             replace("begun", `"epoch":"0"`, `"epoch":"1"`),
		"epoch text":        replace("begun", `"epoch":"0"`, `"epoch":"00"`),
		"plays text":        replace("played", `"plays":"1"`, `"plays":"01"`),
		"plays before":      replace("opened", `"plays":"0"`, `"plays":"1"`),
		"current zero":      replace("begun", life(all["begun"].Life()), "null"),
		"current revealed":  replace("begun", life(all["begun"].Life()), life(all["rotated"].Retired())),
		"two players":       replace("begun", life(all["begun"].Life()), life(two)),
		"the house plays":   replace("begun", life(all["begun"].Life()), life(house)),
		"with a beacon":     replace("begun", life(all["begun"].Life()), life(drand)),
		"client seed early": replace("opened", life(all["opened"].Life()), life(waiting)),
		"no session name":   replace("opened", life(all["opened"].Life()), life(nameless)),
		"retired missing":   replace("rotated", life(all["rotated"].Retired()), "null"),
		"retired not":       replace("rotated", life(all["rotated"].Retired()), life(all["begun"].Life())),
		"retired of same":   replace("rotated", life(all["rotated"].Retired()), life(run(t, all["rotated"].Life(), fair.Life.Void))),
		"retired early":     replace("begun", `"retired":null`, `"retired":`+life(all["rotated"].Retired())),
	} {
		t.Run(name, func(t *testing.T) {
			s := begun(t)
			err := s.UnmarshalJSON([]byte(bad))
			var e fair.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, begun(t), s, "an error changes nothing")
		})
	}
}

func ExampleSession() {
	table := must(fair.NewTable(fair.Entry[int]{ID: "teddy", Weight: 9}, fair.Entry[int]{ID: "ring", Weight: 1}))
	terms := fair.Terms{Kind: "box", Session: "box-9", Tables: []fair.Digest{table.Hash()}}
	s := must(fair.OpenSession(terms, "ana", seed(1)))
	s = must(s.Begin([]byte("picked by ana")))
	for range 3 {
		next, play, err := s.Play()
		if err != nil {
			panic(err)
		}
		s = next
		fmt.Println(play, table.ID(table.Pick(s.Life().Root().At("box", play, 0))))
	}
	s = must(s.Rotate(terms, seed(2)))
	old, _ := s.Retired().Seed()
	fmt.Println(old.Hex()[:8], s.Life().Stage())
	// Output:
	// 0 teddy
	// 1 teddy
	// 2 teddy
	// 01020304 open
}
