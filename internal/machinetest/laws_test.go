package machinetest_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse/internal/machinetest"
	"github.com/glasshouse-go/glasshouse/internal/machinetest/toy"
)

// wanted makes failures come soon and leave nothing behind: they are what the test is after.
func wanted(t *testing.T) {
	for _, f := range []struct{ name, value string }{
		{"rapid.nofailfile", "true"}, {"rapid.shrinktime", "0s"}, {"rapid.checks", "5000"}, {"rapid.seed", "20260501"},
	} {
		old := flag.Lookup(f.name).Value.String()
		require.NoError(t, flag.Set(f.name, f.value))
		t.Cleanup(func() { require.NoError(t, flag.Set(f.name, old)) })
	}
}

func TestToyKeepsTheLaws(t *testing.T) { machinetest.Run(t, toy.Game("")) }

// TestEveryLawCatchesWhoBreaksIt runs each law on toys that are made to break it.
func TestEveryLawCatchesWhoBreaksIt(t *testing.T) {
	wanted(t)
	caught := map[string]bool{}
	for _, tc := range []struct{ law, bug, says string }{
		{"1 a step leaves", "mutate", "snapshot of the state after"},
		{"1 a step leaves", "alias", "snapshot of the state after looking at it"},
		{"2 Apply", "apply", "snapshot of Apply"},
		{"3 snapshots", "forget", "restored"},
		{"4 the same input", "global", "gave other bytes"},
		{"5 nobody sees", "peek", "differs only in what"},
		{"5 nobody sees", "telling refusal", "the answer to"},
		{"5 nobody sees", "print", "the state in print"},
		{"5 nobody sees", "half an event", "Observe of dealt with other secrets"},
		{"5 an event looks the same", "hindsight", "dealt of rev"},
		{"5 no secret", "show seed", "the state shows"},
		{"5 no secret", "print", "a printed state shows"},
		{"6 what Legal lists", "offer again", "and Step refuses it"},
		{"6 what Legal lists", "again", "and Step takes it"},
		{"6 what Legal lists", "clock runs on", "a clock runs in a finished game"},
		{"6 a clock fires", "early", "a millisecond early: want not_due"},
		{"6 a clock fires", "clock runs on", "fires again at once"},
		{"7 the books", "keep one", "the ledger refuses|the audit finds"},
		{"7 the books", "pay more", "the ledger refuses"},
		{"8 trying again", "redraw", "outcomes of the step, tried again later"},
		{"8 trying again", "global", "the step tried again"},
		{"9 every outcome", "path twice", "uses the path roll/1/0 a second time"},
		{"9 every outcome", "no path", "without its path"},
		{"9 every outcome", "draw twice", "a second time from the host's source"},
		{"9 the record", "gullible", "with another byte"},
		{"10 nothing", "panic", "panic"},
	} {
		t.Run(tc.law+"/"+tc.bug, func(t *testing.T) {
			names := machinetest.LawNames(toy.Game(""))
			n := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, tc.law) })
			require.GreaterOrEqual(t, n, 0)
			failed, log := record(func(t rapid.TB) { machinetest.RunLaw(t, toy.Game(tc.bug), n) })
			require.True(t, failed, "the law did not catch it")
			require.True(t, slices.ContainsFunc(strings.Split(tc.says, "|"), func(s string) bool { return strings.Contains(log, s) }),
				"it failed for another reason than %q:\n%.2000s", tc.says, log)
			caught[names[n]] = true
		})
	}
	for _, name := range machinetest.LawNames(toy.Game("")) {
		require.True(t, caught[name], "no toy breaks the law %q", name)
	}
}

// TestVacuousLawsFail: hooks that never have anything to say are noticed.
func TestVacuousLawsFail(t *testing.T) {
	wanted(t)
	require.NoError(t, flag.Set("rapid.checks", "10"))
	g := toy.Game("")
	g.Swap = func(*rapid.T, *toy.State, string) (*toy.State, bool) { return nil, false }
	g.SwapEvent = nil
	g.Secrets = func(*toy.State, string) []string { return nil }
	for n, name := range machinetest.LawNames(g) {
		if strings.HasPrefix(name, "5 nobody") || strings.HasPrefix(name, "5 no secret") {
			failed, log := record(func(t rapid.TB) { machinetest.RunLaw(t, g, n) })
			require.True(t, failed, name)
			require.Contains(t, log, "the hooks are too shy")
		}
	}
}

func FuzzToy(f *testing.F) { machinetest.Fuzz(f, toy.Game("")) }

// recording is a test that fails without anybody's harm.
type recording struct {
	failed bool
	log    strings.Builder
}

// record runs f against a recording.
func record(f func(rapid.TB)) (failed bool, log string) {
	var r recording
	done := make(chan struct{})
	go func() { // FailNow ends the goroutine, as a real one does
		defer close(done)
		f(&r)
	}()
	<-done
	return r.failed, r.log.String()
}

func (r *recording) say(s string) { r.log.WriteString(s + "\n") }
func (r *recording) stop()        { runtime.Goexit() }

func (r *recording) Helper()                   {}
func (r *recording) Name() string              { return "recording" }
func (r *recording) Log(args ...any)           { r.say(fmt.Sprint(args...)) }
func (r *recording) Logf(f string, a ...any)   { r.say(fmt.Sprintf(f, a...)) }
func (r *recording) Skip(args ...any)          { r.say(fmt.Sprint(args...)); r.stop() }
func (r *recording) Skipf(f string, a ...any)  { r.say(fmt.Sprintf(f, a...)); r.stop() }
func (r *recording) SkipNow()                  { r.stop() }
func (r *recording) Error(args ...any)         { r.say(fmt.Sprint(args...)); r.failed = true }
func (r *recording) Errorf(f string, a ...any) { r.say(fmt.Sprintf(f, a...)); r.failed = true }
func (r *recording) Fatal(args ...any)         { r.Error(args...); r.stop() }
func (r *recording) Fatalf(f string, a ...any) { r.Errorf(f, a...); r.stop() }
func (r *recording) FailNow()                  { r.failed = true; r.stop() }
func (r *recording) Fail()                     { r.failed = true }
func (r *recording) Failed() bool              { return r.failed }
