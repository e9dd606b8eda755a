package glasshouse_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/internal/machinetest/toy"
	"github.com/glasshouse-go/glasshouse/ledger"
)

type turn = glasshouse.Turn[toy.Event]

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestInputCheckNamesWhatIsWrong(t *testing.T) {
	good := glasshouse.Input{Actor: "ana", At: noon}
	for _, tc := range []struct {
		name   string
		change func(*glasshouse.Input)
		want   error
	}{
		{"good", func(*glasshouse.Input) {}, nil},
		{"no actor", func(in *glasshouse.Input) { in.Actor = "" }, glasshouse.ErrNoActor},
		{"the host", func(in *glasshouse.Input) { in.Actor = glasshouse.System }, nil},
		{"a person who looks like the host", func(in *glasshouse.Input) { in.Actor = ":root" }, glasshouse.ErrBadActor},
		{"another account's name", func(in *glasshouse.Input) { in.Actor = "ana:lot" }, glasshouse.ErrBadActor},
		{"longest actor", func(in *glasshouse.Input) { in.Actor = strings.Repeat("a", glasshouse.MaxActor) }, nil},
		{"actor too long", func(in *glasshouse.Input) { in.Actor = strings.Repeat("a", glasshouse.MaxActor+1) }, glasshouse.ErrBadActor},
		{"every byte of a name", func(in *glasshouse.Input) { in.Actor = "aZ09._/#@-" }, nil},
		{"a space", func(in *glasshouse.Input) { in.Actor = "a b" }, glasshouse.ErrBadActor},
		{"not ASCII", func(in *glasshouse.Input) { in.Actor = "joão" }, glasshouse.ErrBadActor},
		{"longest id", func(in *glasshouse.Input) { in.ID = strings.Repeat("1", glasshouse.MaxID) }, nil},
		{"id too long", func(in *glasshouse.Input) { in.ID = strings.Repeat("1", glasshouse.MaxID+1) }, glasshouse.ErrBadRequestID},
		{"id with a colon", func(in *glasshouse.Input) { in.ID = "a:b" }, glasshouse.ErrBadRequestID},
		{"no time", func(in *glasshouse.Input) { in.At = time.Time{} }, glasshouse.ErrNoTime},
		{"after 9999", func(in *glasshouse.Input) { in.At = time.UnixMilli(253_402_300_800_000) }, glasshouse.ErrNoTime},
		{"before 1970", func(in *glasshouse.Input) { in.At = time.UnixMilli(-1) }, glasshouse.ErrNoTime},
		{"the first instant", func(in *glasshouse.Input) { in.At = time.UnixMilli(0) }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := good
			tc.change(&in)
			require.Equal(t, tc.want, in.Check())
		})
	}
}

func TestInputErrorsHaveCodesAndWords(t *testing.T) {
	var r glasshouse.Refusal = glasshouse.ErrBadRequestID
	require.Equal(t, "bad_request_id", r.Code())
	require.Equal(t, "glasshouse: bad request id", r.Error())
}

// TestMemoBytes pins what the journal holds: these bytes are a promise.
func TestMemoBytes(t *testing.T) {
	tn := turn{
		Rev: 7, At: noon.Add(5 * time.Millisecond), Actor: "ana", ID: "r-1",
		Events: []toy.Event{toy.Joined{Player: "ana", Seed: "<é>"}, toy.Folded{Player: "bob"}},
	}
	const want = `{"format":1,"game":"toy","rev":7,"at":1777636800005,"actor":"ana","id":"r-1","events":[` +
		`{"kind":"joined","data":{"player":"ana","seed":"<é>"}},{"kind":"folded","data":{"player":"bob"}}]}`
	memo, err := toy.Rules().MarshalTurn(tn)
	require.NoError(t, err)
	require.Equal(t, want, string(memo))
	back, err := toy.Rules().UnmarshalTurn(memo)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(tn, back))

	tn.ID = "" // left out
	memo, err = toy.Rules().MarshalTurn(tn)
	require.NoError(t, err)
	require.Equal(t, strings.Replace(want, `"id":"r-1",`, "", 1), string(memo))
}

func TestMemoRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Za-z0-9._/#@-]{1,40}`)
		tn := turn{
			Rev: rapid.Uint64Min(1).Draw(t, "rev"), At: time.UnixMilli(rapid.Int64Range(0, 1<<45).Draw(t, "at")).UTC(),
			Actor: name.Draw(t, "actor"), ID: rapid.OneOf(rapid.Just(""), name).Draw(t, "id"),
		}
		for range rapid.IntRange(1, 3).Draw(t, "events") {
			tn.Events = append(tn.Events, toy.Joined{Player: rapid.String().Draw(t, "player"), Seed: rapid.String().Draw(t, "seed")})
		}
		memo, err := toy.Rules().MarshalTurn(tn)
		require.NoError(t, err)
		back, err := toy.Rules().UnmarshalTurn(memo)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(tn, back))
	})
}

func TestUnmarshalTurnRefusesWhatMarshalTurnDoesNotWrite(t *testing.T) {
	const good = `{"format":1,"game":"toy","rev":1,"at":0,"actor":"ana","events":[{"kind":"folded","data":{"player":"bob"}}]}`
	_, err := toy.Rules().UnmarshalTurn([]byte(good))
	require.NoError(t, err)
	for _, tc := range []struct{ name, old, new, want string }{
		{"format", `"format":1`, `"format":2`, "format: 2 is unknown"},
		{"game", `"toy"`, `"battle"`, `game: "battle", want "toy"`},
		{"rev", `"rev":1`, `"rev":0`, "rev: 0"},
		{"time", `"at":0`, `"at":-1`, "no time"},
		{"actor", `"ana"`, `"a:b"`, "bad actor"},
		{"no actor", `"actor":"ana",`, ``, "no actor"},
		{"id", `"events"`, `"id":" ","events"`, "bad request id"},
		{"no events", `[{"kind":"folded","data":{"player":"bob"}}]`, `[]`, "events: empty"},
		{"unknown event", `folded`, `flown`, `events[0]: kind: unknown kind "flown"`},
		{"unknown field", `"rev"`, `"Rev"`, `unknown field "Rev"`},
		{"trailing data", `]}`, `]} ` + "\n{}", "trailing data"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := toy.Rules().UnmarshalTurn([]byte(strings.Replace(good, tc.old, tc.new, 1)))
			var corrupt *glasshouse.CorruptError
			require.ErrorAs(t, err, &corrupt)
			require.ErrorContains(t, err, "glasshouse: corrupt turn: ")
			require.ErrorContains(t, err, tc.want)
			require.ErrorIs(t, err, corrupt.Err)
		})
	}
}

func TestMarshalTurnRefusesAnEventOfNobody(t *testing.T) {
	_, err := toy.Rules().MarshalTurn(turn{Rev: 1, Events: []toy.Event{nil}})
	require.ErrorContains(t, err, "events[0]")
	require.PanicsWithValue(t, "glasshouse: events[0]: <nil> is not known here", func() {
		s, err := toy.NewGame(config("x"))
		require.NoError(t, err)
		toy.Rules().Commit("toy:x", s, turn{Rev: 1, Events: []toy.Event{nil}}, nil)
	})
}

// TestCommit: the documents of a first, a middle and a last step, the id and the memo.
func TestCommit(t *testing.T) {
	cfg := config("c")
	s0, err := toy.NewGame(cfg)
	require.NoError(t, err)
	host := glasshouse.Input{Actor: glasshouse.System, At: noon, Draw: secrets().For("toy:c")}

	s1, t1, err := s0.Step(host, toy.OpenGame{})
	require.NoError(t, err)
	tx := toy.Rules().Commit("toy:c", s1, t1, cfg.JSON())
	memo, err := toy.Rules().MarshalTurn(t1)
	require.NoError(t, err)
	sum := sha256.Sum256(memo)
	require.Empty(t, cmp.Diff(memo, tx.Memo))
	require.Equal(t, "toy:c/1/"+hex.EncodeToString(sum[:])[:16], tx.ID)
	require.Equal(t, []docWrite{
		{"toy:c", 0, "open", string(s1.Snapshot()), false},
		{"toy:c#config", 0, "config", string(cfg.JSON()), true},
	}, docs(tx))

	s2, t2, err := s1.Step(glasshouse.Input{Actor: "ana", ID: "r1", At: noon}, toy.Join{})
	require.NoError(t, err)
	tx = toy.Rules().Commit("toy:c", s2, t2, cfg.JSON())
	require.Equal(t, []docWrite{
		{"toy:c", 1, "open", string(s2.Snapshot()), false},
		{"req:toy:c:ana:r1", 0, "request", string(tx.Memo), true},
	}, docs(tx))

	s3, t3, err := s2.Step(host, toy.Void{})
	require.NoError(t, err)
	tx = toy.Rules().Commit("toy:c", s3, t3, cfg.JSON())
	require.Equal(t, []docWrite{{"toy:c", 2, "voided", string(s3.Snapshot()), true}}, docs(tx))
	require.Equal(t, []ledger.Posting(nil), tx.Post)
}

type docWrite struct {
	Key, IfVersion any
	Status, Body   string
	Seal           bool
}

func docs(tx ledger.Tx) []docWrite {
	var out []docWrite
	for _, d := range tx.Docs {
		out = append(out, docWrite{string(d.Key), int(d.IfVersion), d.Status, string(d.Body), d.Seal})
	}
	return out
}

// TestLongestNamesFitIntoTheLedger: key, actor and request id of full length still give a Tx that the ledger takes.
func TestLongestNamesFitIntoTheLedger(t *testing.T) {
	key := ledger.DocKey("toy:" + strings.Repeat("k", glasshouse.MaxKey-4))
	cfg := config(strings.Repeat("g", 40))
	cfg.Players = []string{strings.Repeat("a", glasshouse.MaxActor), "bob"}
	w := newWorld(t, cfg, ledger.NewMemory())
	table := w.open(t, key)
	w.do(t, table, glasshouse.System, "", toy.OpenGame{})
	long := strings.Repeat("i", glasshouse.MaxID)
	first := w.do(t, table, cfg.Players[0], long, toy.Join{})
	again := w.do(t, table, cfg.Players[0], long, toy.Join{})
	require.Equal(t, first, again)

	_, err := glasshouse.OpenTable(t.Context(), toy.Rules(), w.money, secrets(), key+"k", w.fresh)
	_, invalid := errors.AsType[ledger.ErrInvalid](err)
	require.True(t, invalid, "a longer key: %v", err)
}
