package machinetest

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
)

// law is one property. It counts what it has asserted, so that a run without anything to assert is noticed.
type law[S glasshouse.Machine[S, C, E, V], C glasshouse.Command, E glasshouse.Event, V any] struct {
	name  string
	check func(g *Game[S, C, E, V], t *rapid.T) (asserted int)
	skip  func(g *Game[S, C, E, V]) string // why this game cannot be judged, or ""
}

func (g *Game[S, C, E, V]) laws() []law[S, C, E, V] {
	type G = Game[S, C, E, V]
	return []law[S, C, E, V]{
		{name: "1 a step leaves its state as it was", check: (*G).lawUnchanged},
		{name: "2 Apply of the turn gives the state that Step gave", check: (*G).lawApply},
		{name: "3 snapshots, commands, events and turns read back as they were", check: (*G).lawRoundTrip},
		{name: "4 the same input gives the same bytes, however many do it at once", check: (*G).lawDeterministic},
		{
			name: "5 nobody sees a difference that he cannot know of", check: (*G).lawBlind,
			skip: func(g *G) string { return missing(g.Swap == nil, "Swap") },
		},
		{name: "5 an event looks the same from any later state", check: (*G).lawObserve},
		{
			name: "5 no secret is shown or printed", check: (*G).lawSecrets,
			skip: func(g *G) string { return missing(g.Secrets == nil, "Secrets") },
		},
		{name: "6 what Legal lists succeeds, what it does not is refused", check: (*G).lawLegal},
		{name: "6 a clock fires at its time, not before, and once", check: (*G).lawClock},
		{name: "7 the books balance after every step, and at the end the escrow is empty", check: (*G).lawMoney},
		{name: "8 trying again draws the same", check: (*G).lawRetry},
		{
			name: "9 every outcome names its path, and no path is used twice", check: (*G).lawPaths,
			skip: func(g *G) string { return missing(g.Draws == nil, "Draws") },
		},
		{
			name: "9 the record of a finished game verifies, and a changed one does not", check: (*G).lawRecord,
			skip: func(g *G) string { return missing(g.Record == nil || g.Verify == nil, "Record and Verify") },
		},
		{name: "10 nothing that can be decoded makes it panic", check: (*G).lawNoPanic},
	}
}

func missing(is bool, hook string) string {
	if is {
		return "the game has no " + hook
	}
	return ""
}

// Run plays random games and checks every law in a subtest of its own.
func Run[S glasshouse.Machine[S, C, E, V], C glasshouse.Command, E glasshouse.Event, V any](t *testing.T, g Game[S, C, E, V]) {
	for _, l := range g.laws() {
		t.Run(l.name, func(t *testing.T) {
			if why := l.skip; why != nil && why(&g) != "" {
				t.Skip(why(&g))
			}
			l.run(t, &g)
		})
	}
}

func (l law[S, C, E, V]) run(t rapid.TB, g *Game[S, C, E, V]) {
	t.Helper()
	asserted := 0
	rapid.Check(t, func(t *rapid.T) { asserted += l.check(g, t) })
	if asserted == 0 && !t.Failed() {
		t.Errorf("no random game had anything to assert in it: the hooks are too shy")
	}
}

// require is all the assertion that the laws need; format says what was wrong.
func require(t *rapid.T, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Fatalf(format, args...)
	}
}

func same(t *rapid.T, what, got, want string) {
	t.Helper()
	if got != want {
		n := firstDifference(got, want)
		t.Fatalf("%s: differs at byte %d\ngot  %s\nwant %s", what, n, around(got, n), around(want, n))
	}
}

// around cuts a long text to what stands about byte n.
func around(s string, n int) string {
	const before, after = 300, 600
	if len(s) <= before+after {
		return s
	}
	return "…" + s[max(0, n-before):min(len(s), n+after)] + "…"
}

func firstDifference(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
