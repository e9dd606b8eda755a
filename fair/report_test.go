package fair_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/fair"
)

func TestAReportIsOKOnlyWithFindingsOfWhichNoneFailed(t *testing.T) {
	var r fair.Report
	require.False(t, r.OK(), "nothing was checked")
	require.True(t, r.Check(fair.FindingCommitment, "a", "a"))
	require.True(t, r.OK())
	require.Empty(t, r.Failed())
	require.False(t, r.Check(fair.FindingRoll, "1", "2"))
	require.True(t, r.Add(fair.FindingBeaconAfterFreeze, true, "5", "after 4"))
	require.False(t, r.Add(fair.FindingTable, false, "same", "same"))
	require.False(t, r.OK())
	require.Equal(t, []fair.Finding{
		{Name: "roll_matches", Got: "1", Want: "2"}, {Name: "table_matches", Got: "same", Want: "same"},
	}, r.Failed())
	r.Unproven("who %s is", "ana")
	r.Unproven("who ana is")
	r.Unproven("another")
	require.Equal(t, []string{"who ana is", "another"}, r.NotProven)
	require.JSONEq(t, `{"findings":[
		{"name":"commitment_matches","ok":true,"got":"a","want":"a"},
		{"name":"roll_matches","ok":false,"got":"1","want":"2"},
		{"name":"beacon_after_freeze","ok":true,"got":"5","want":"after 4"},
		{"name":"table_matches","ok":false,"got":"same","want":"same"}],
		"not_proven":["who ana is","another"]}`, string(must(json.Marshal(r))))
}

func TestContributionsThatProveNothingAreListed(t *testing.T) {
	var r fair.Report
	r.Contributions([]fair.Contribution{contribution("ana"), {Player: "bob"}, {Player: "bot:1", Operator: true, Seed: []byte("x")}})
	require.Equal(t, []string{
		`that "bob" had a part in the result: the contribution is empty`,
		`that the operator chose the bytes of "bot:1" without knowing the seed: they are its own`,
	}, r.NotProven)
	for _, list := range [][]fair.Contribution{nil, {{Player: "bob"}}, {{Player: "bot:1", Operator: true, Seed: []byte("x")}}} {
		r = fair.Report{}
		r.Contributions(list)
		require.Equal(t, "that the operator did not choose the seed for its result: no player contributed", r.NotProven[len(list)])
	}
	r = fair.Report{}
	r.Contributions([]fair.Contribution{contribution("ana")})
	require.Empty(t, r.NotProven)
	require.Empty(t, r.Findings)
}

func TestCardOpeningsOfADealFitTheirOwnPositionOnly(t *testing.T) {
	r := root(t)
	cards := []string{"4d", "As", "4d"}
	var published []fair.Digest
	for pos, c := range cards {
		published = append(published, must(fair.CommitCard(r, 7, uint64(pos), c)))
	}
	for pos, c := range cards {
		o := fair.OpenCard(r, 7, uint64(pos), c)
		require.NoError(t, o.Check(published))
		require.ErrorIs(t, o.Check(published[:pos]), fair.ErrPosition)
		for other := range cards {
			moved := o
			moved.Pos = uint64(other)
			if other != pos {
				require.ErrorIs(t, moved.Check(published), fair.ErrOpening)
			}
		}
		require.ErrorIs(t, fair.OpenCard(r, 8, uint64(pos), c).Check(published), fair.ErrOpening)
		o.Card = ""
		require.ErrorIs(t, o.Check(published), fair.ErrText)
	}
	require.NotEqual(t, published[0], published[2], "equal cards are not seen to be equal")
}

func ExampleReport() {
	var r fair.Report
	r.Check(fair.FindingCommitment, "8b1d", "8b1d")
	r.Check(fair.FindingRoll, "57", "58")
	r.Unproven("when the commitment was shown")
	fmt.Print(r)
	// Output:
	// ok    commitment_matches: 8b1d
	// FAIL  roll_matches: got 57, want 58
	// not proven: when the commitment was shown
}
