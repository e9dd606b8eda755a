package battle

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// outOfBeacon is when the value that g waits for comes out.
func outOfBeacon(g *game) time.Time {
	_, target := g.s.life().Target()
	return time.Unix(1000+3*int64(target-1), 0).UTC()
}

// TestNobodyVoidsAfterLookingAtTheBeacon: once the value is out, the host, who knows the seed, knows the rolls.
func TestNobodyVoidsAfterLookingAtTheBeacon(t *testing.T) {
	g := started(t, testConfig(withBeacon))
	g.now = outOfBeacon(g).Add(-time.Millisecond)
	_, _, err := g.s.Step(g.input(system), Void{"the house would lose"})
	require.NoError(t, err, "nobody can know a roll yet")
	for _, late := range []int64{1, 1000} {
		g.wait(late)
		g.refused(system, Void{"the house would lose"}, ErrRollsKnown)
	}

	// Nor can a turn that says so be replayed.
	forged := g.s.clone()
	forged.d.Rev, forged.d.At = forged.d.Rev+1, g.now.UnixMilli()
	_, err = g.s.Apply(Turn{Rev: forged.d.Rev, At: g.now, Actor: system, Events: []Event{Cancelled{Void: true}}})
	require.ErrorContains(t, err, "the rolls are known")
}

// TestABeaconThatIsMissedIsNoProof: the house may have seen the value and not liked it.
func TestABeaconThatIsMissedIsNoProof(t *testing.T) {
	g := started(t, testConfig(withBeacon))
	g.tick()
	report, err := Verify(g.record())
	require.NoError(t, err)
	require.True(t, report.OK(), report)
	require.Contains(t, strings.Join(report.NotProven, "\n"), "that the beacon's value could not be had")

	report, err = Verify(finished(t, testConfig(withBeacon)).record())
	require.NoError(t, err)
	require.NotContains(t, strings.Join(report.NotProven, "\n"), "could not be had")
}

// TestNoBeaconIsKnownBeforeItIsOut: a host whose clock is behind may have closed the entries with the value in hand.
func TestNoBeaconIsKnownBeforeItIsOut(t *testing.T) {
	g := started(t, testConfig(withBeacon))
	_, target := g.s.life().Target()
	g.now = outOfBeacon(g).Add(-time.Millisecond)
	g.refused(system, Beacon{beaconOf(target)}, ErrNotDue)
	g.wait(1)
	g.do(system, Beacon{beaconOf(target)})
}

// TestRecordsDoNotProveWhatWasShown: the commitment binds the seed alone. Whoever holds the seed can write a sound
// record of another config under the same commitment, so the report must say what to compare.
func TestRecordsDoNotProveWhatWasShown(t *testing.T) {
	g := finished(t, testConfig())
	other := finished(t, testConfig(func(c *Config) { c.Cases[0].Items[0].Item.Value = 1 }))
	require.Equal(t, eventsOf[Created](g)[0].Commitment, eventsOf[Created](other)[0].Commitment)
	report, err := Verify(other.record())
	require.NoError(t, err)
	require.True(t, report.OK(), report)
	text := strings.Join(report.NotProven, "\n")
	require.Contains(t, text, "that the config is the one the players were shown")
	require.Contains(t, text, "that the client seeds are those the players sent")
}

// TestClocksRunFromTheFirstMillisecond: simulated hosts begin at 0.
func TestClocksRunFromTheFirstMillisecond(t *testing.T) {
	g := newGame(t, testConfig(func(c *Config) {
		c.Timeline = Timeline{Spinning: 1, FlipSpinning: 1}
	}))
	g.now = time.UnixMilli(0).UTC()
	g.do(system, Create{})
	g.fill()
	require.Equal(t, "phase/0/countdown", g.s.Deadline().Key)
	g.finish()
	report, err := Verify(g.record())
	require.NoError(t, err)
	require.True(t, report.OK(), report)
}

// TestLongNumbersDoNotStopAVerifier: reading a decimal of millions of digits takes minutes.
func TestLongNumbersDoNotStopAVerifier(t *testing.T) {
	cfg := testConfig(func(c *Config) { c.Cases[0].Items[0].DropChance = "50." + strings.Repeat("0", 2_000_000) })
	began := time.Now()
	require.ErrorIs(t, cfg.Validate(), ErrConfig)
	require.Less(t, time.Since(began), time.Second)
	for _, zeros := range []int{1, 5, 20} {
		cfg.Cases[0].Items[0].DropChance = "50." + strings.Repeat("0", zeros)
		require.NoError(t, cfg.Validate(), zeros)
	}
}

// TestWeightsAreJSONNumbers: they are written as numbers, and beyond 2^53 a reader may see another one.
func TestWeightsAreJSONNumbers(t *testing.T) {
	cfg := testConfig(func(c *Config) { c.Cases[0].Items[0].Weight = 1 << 53 })
	require.NoError(t, cfg.Validate())
	cfg.Cases[0].Items[0].Weight++
	err := cfg.Validate()
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "cases[0].items[0].weight")
}
