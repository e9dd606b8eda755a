package battle

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
)

// before is the state before the n-th event of a type, and the turn that holds it.
func before[E Event](t *testing.T, g *game, n int) (*State, Turn, int) {
	t.Helper()
	s, err := New(g.cfg)
	require.NoError(t, err)
	for _, turn := range g.turns {
		for i, ev := range turn.Events {
			if _, ok := ev.(E); ok {
				if n == 0 {
					turn.Events = slices.Clone(turn.Events)
					return s, turn, i
				}
				n--
			}
		}
		s, err = s.Apply(turn)
		require.NoError(t, err)
	}
	t.Fatal("no such event")
	return nil, Turn{}, 0
}

// wrong changes the n-th event of a type, and wants Apply to refuse the turn with that text.
func wrong[E Event](t *testing.T, g *game, n int, want string, edits ...func(*E)) {
	t.Helper()
	s, turn, i := before[E](t, g, n)
	right := turn.Events[i]
	for _, edit := range edits {
		ev := right.(E)
		edit(&ev)
		turn.Events[i] = ev
		_, err := s.Apply(turn)
		var corrupt *glasshouse.CorruptError
		require.ErrorAs(t, err, &corrupt)
		require.ErrorContains(t, err, want)
	}
	turn.Events[i] = right
	_, err := s.Apply(turn)
	require.NoError(t, err)
}

// instead puts one event alone in the place of a turn.
func instead(t *testing.T, s *State, at *game, want string, evs ...Event) {
	t.Helper()
	_, err := s.Apply(Turn{Rev: s.Rev() + 1, At: at.now, Actor: system, Events: evs})
	require.ErrorContains(t, err, want)
}

func TestApplyRefusesEventsThatDoNotFit(t *testing.T) {
	four := created(t, testConfig(withLayout(2, 2)))
	four.do("bob", Join{Team: 2})
	four.do("bob", Seed{"x"})
	four.do("bob", Leave{})
	four.do("cid", Join{Team: 1})
	four.do("ana", AddBots{})
	waiting := created(t, testConfig(withLayout(2, 2)))
	waiting.do("bob", Join{Team: 2})
	duel, old, beacon := finished(t, testConfig()), finished(t, testConfig(legacy52)), finished(t, testConfig(withBeacon))

	wrong(t, duel, 0, "events[1]: commitment", func(e *Created) { e.Commitment[0] ^= 1 })
	wrong(t, duel, 0, "events[1]: config_hash", func(e *Created) { e.ConfigHash[0] ^= 1 })
	wrong(t, duel, 0, "events[1]: tables", func(e *Created) { e.Tables = e.Tables[:1] })
	wrong(t, duel, 0, "events[1]: expires_at", func(e *Created) { e.ExpiresAt++ }, func(e *Created) { e.ExpiresAt-- })
	wrong(t, four, 1, "events[0]: seat", func(e *Joined) { e.Seat = -1 }, func(e *Joined) { e.Seat = 4 }, func(e *Joined) { e.Seat = 0 })
	wrong(t, four, 1, "events[0]: user", func(e *Joined) { e.User = "ana" }, func(e *Joined) { e.User = "bot:1" }, func(e *Joined) { e.Bot = true })
	wrong(t, four, 0, "events[0]: seat", func(e *SeedSet) { e.Seat = -1 }, func(e *SeedSet) { e.Seat = 4 })
	wrong(t, four, 0, "events[0]: ", func(e *SeedSet) { e.Seat = 3 }) // nobody sits there
	wrong(t, four, 0, "events[0]: seat", func(e *Left) { e.Seat = 4 }, func(e *Left) { e.Seat = 3 }, func(e *Left) { e.User = "ana" },
		func(e *Left) { *e = Left{"ana", 0} }, func(e *Left) { e.Seat = -1 })
	wrong(t, four, 0, "freeze", func(e *Started) { e.Freeze[0] ^= 1 }, func(e *Started) { e.Target++ })
	wrong(t, beacon, 0, "freeze", func(e *Started) { e.Target++ }, func(e *Started) { e.Target = 0 })
	wrong(t, beacon, 0, "events[0]: ", func(e *BeaconKnown) { e.Value = beaconOf(e.Value.Round + 1) })
	for n := range 7 {
		wrong(t, duel, n, "not the phase that follows", func(e *PhaseStarted) { e.Phase++ }, func(e *PhaseStarted) { e.Phase-- },
			func(e *PhaseStarted) { e.Round++ }, func(e *PhaseStarted) { e.Round-- }, func(e *PhaseStarted) { e.EndsAt++ })
	}
	wrong(t, old, 0, "events[0]: not expected", func(e *LegacyDrawn) { e.Round++ }, func(e *LegacyDrawn) { e.Seeds = e.Seeds[:1] })
	wrong(t, old, 0, "events[1]: not expected", func(e *NoncesSet) { e.Round++ }, func(e *NoncesSet) { e.Values = e.Values[:1] },
		func(e *NoncesSet) { e.Values = []int64{-1, 1} }, func(e *NoncesSet) { e.Values = []int64{1, 1 << 53} })
	wrong(t, duel, 1, "events[1]: ", func(e *Rolled) { e.Round++ }, func(e *Rolled) { e.Seat = 0 }, func(e *Rolled) { e.Roll = 0 },
		func(e *Rolled) { e.Roll = MaxRoll + 1 }, func(e *Rolled) { e.Row ^= 1 }, func(e *Rolled) { e.Flip = !e.Flip },
		func(e *Rolled) { e.Path.I++ }, func(e *Rolled) { e.Legacy = &LegacyRow{} })
	wrong(t, old, 1, "events[1]: legacy", func(e *Rolled) { e.Legacy = nil })
	wrong(t, duel, 0, "events[0]: settlement", func(e *Settled) { e.Settlement.Winners = []int{9} })
	wrong(t, duel, 0, "events[1]: seed", func(e *SeedRevealed) { e.Seed = RevealedSeed(fair.ServerSeed{1}.Hex()) })

	// Events that belong to another time.
	instead(t, waiting.s, waiting, "events[0]: a second time", SeedDrawn{Seed: fair.ServerSeed{1}})
	instead(t, waiting.s, waiting, "events[0]: a second time", Created{})
	instead(t, waiting.s, waiting, "events[0]: not full", Started{})
	instead(t, waiting.s, waiting, "events[0]: seed", SeedRevealed{RevealedSeed(seedOf(waiting.s).Hex())})
	instead(t, waiting.s, waiting, "events[0]: not all rounds", Settled{})
	instead(t, waiting.s, waiting, "events[0]: not expected", Rolled{Round: 1, Roll: 1})
	instead(t, waiting.s, waiting, "events[0]: not the phase", PhaseStarted{PhaseCountdown, 0, start.UnixMilli() + 3000})
	instead(t, waiting.s, waiting, "events[0]: ", BeaconKnown{beaconOf(1)})
	instead(t, waiting.s, waiting, "revealed", Cancelled{Reason: "x"}) // without the seed
	instead(t, waiting.s, waiting, "events[0]: unknown event", nil)
	running := started(t, testConfig())
	running.until(PhaseRoundStarting, 1)
	instead(t, running.s, running, "events[0]: not waiting", Joined{User: "cid", Seat: 1})
	instead(t, running.s, running, "events[0]: seat", SeedSet{Seat: 0})
	instead(t, running.s, running, "events[0]: seat", Left{"bob", 1})
	instead(t, running.s, running, "events[0]: not full", Started{Freeze: running.s.life().FreezeDigest()})
	instead(t, running.s, running, "events[0]: the rolls are known", Cancelled{Void: true})
	instead(t, running.s, running, "events[0]: not all rounds", Settled{*duel.s.d.Settlement})
	instead(t, running.s, running, "events[0]: not expected", LegacyDrawn{1, make([]LegacySecret, 2)}) // of a battle under fair/v2
	instead(t, running.s, running, "events[0]: not expected", NoncesSet{1, []int64{1, 2}})
	instead(t, duel.s, duel, "events[0]: already over", Cancelled{})
	instead(t, duel.s, duel, "events[0]: not all rounds", Settled{*duel.s.d.Settlement})
	fresh, err := New(testConfig())
	require.NoError(t, err)
	for _, ev := range []Event{Created{}, Joined{User: "ana"}, Cancelled{}, SeedRevealed{}, Started{}, Settled{}, PhaseStarted{}} {
		instead(t, fresh, duel, "events[0]: ", ev)
	}
}
