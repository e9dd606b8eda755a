package battle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/fair"
)

// TestCheckRefusesWhatNoStepLeadsTo breaks one thing at a time in states of every kind.
func TestCheckRefusesWhatNoStepLeadsTo(t *testing.T) {
	waiting := created(t, testConfig(withLayout(2, 2)))
	waiting.do("bob", Join{Team: 2, ClientSeed: "x"})
	secret := created(t, testConfig(private))
	awaiting := started(t, testConfig(withBeacon))
	opening := started(t, testConfig(legacy52, withLayout(3, 1)))
	opening.tick()
	opening.do(system, Nonces{1, []int64{1, 2, 3}})
	bots := created(t, testConfig(withLayout(2, 2)))
	bots.do("ana", AddBots{})
	bots.until(PhaseSpinning, 1)
	done := finished(t, testConfig())
	cancelled := created(t, testConfig())
	cancelled.do("ana", Cancel{})
	voided := started(t, testConfig(legacy52))
	voided.do(system, Void{})

	for _, c := range []struct {
		game *game
		want string
		edit func(*data)
	}{
		{waiting, "rev: ", func(d *data) { d.Rev = 0 }},
		{waiting, "rev: ", func(d *data) { d.Status = 0 }},
		{waiting, "rev: ", func(d *data) { d.Life = nil }},
		{waiting, "life: of another battle", func(d *data) { d.Life = secret.s.d.Life }},
		{waiting, "life: open", func(d *data) { d.Status = StatusInProgress }},
		{awaiting, "life: frozen", func(d *data) { d.Phase = PhaseCountdown }},
		{bots, "life: resolved", func(d *data) { d.Status = StatusWaiting }},
		{done, "life: revealed", func(d *data) { d.Status = StatusCancelled }},
		{cancelled, "life: voided", func(d *data) { d.Status = StatusFinished }},
		{done, "revealed: ", func(d *data) { d.Revealed = "" }},
		{done, "revealed: ", func(d *data) { d.Revealed = RevealedSeed(fair.ServerSeed{1}.Hex()) }},
		{waiting, "revealed: ", func(d *data) { d.Revealed = "x" }},
		{waiting, "code: ", func(d *data) { d.Code = "00000000" }},
		{secret, "code: ", func(d *data) { d.Code = "" }},
		{waiting, "seats: 3, want 4", func(d *data) { d.Seats = d.Seats[:3] }},
		{waiting, "seats[1]: somebody without", func(d *data) { d.Seats[1].Bot = true }},
		{waiting, "seats[2]: not a player's", func(d *data) { d.Seats[2].User = "ana" }},
		{waiting, "seats[2]: not a player's", func(d *data) { d.Seats[2].User = "b:b" }},
		{waiting, "seats[2]: not a player's", func(d *data) { d.Seats[2].Bot = true }},
		{waiting, "seats[2]: another contribution", func(d *data) { d.Seats[2].User = "cid" }},
		{waiting, "seats[2]: another contribution", func(d *data) { d.Seats[2].ClientSeed = "y" }},
		{waiting, "seats: not all", func(d *data) { d.Seats[2] = seat{} }},
		{waiting, "seats: not all", func(d *data) { d.Bots = 1 }},
		{waiting, "seats[0]: ", func(d *data) { d.Seats[0], d.Seats[2] = d.Seats[2], d.Seats[0] }},
		{bots, "seats[1]: contributed", func(d *data) { d.Seats[1], d.Seats[2] = d.Seats[2], d.Seats[1] }},
		{waiting, "phase: ", func(d *data) { d.Round = 1 }},
		{waiting, "phase: ", func(d *data) { d.Phase = PhaseCountdown }},
		{bots, "phase: ", func(d *data) { d.Round = 0 }},
		{bots, "phase: ", func(d *data) { d.Round = 2 }},
		{bots, "phase: ", func(d *data) { d.Round = -1 }},
		{bots, "phase: ", func(d *data) { d.Phase = PhaseFinished }},
		{bots, "phase: ", func(d *data) { d.Phase = 0 }},
		{bots, "phase: ", func(d *data) { d.Phase = PhaseRoundStarting }},
		{bots, "phase: ", func(d *data) { d.Rolls = d.Rolls[:3] }},
		{done, "phase: ", func(d *data) { d.Phase = PhaseRoundComplete }},
		{done, "phase: ", func(d *data) { d.Round = 1 }},
		{cancelled, "phase: ", func(d *data) { d.Phase = PhaseFinished }},
		{cancelled, "phase: ", func(d *data) { d.Round = 2 }},
		{waiting, "clock: ", func(d *data) { d.Clock = clock{} }},
		{waiting, "clock: ", func(d *data) { d.Clock.Key = beaconKey }},
		{awaiting, "clock: ", func(d *data) { d.Clock.Key = expiryKey }},
		{bots, "clock: ", func(d *data) { d.Clock.Key = "phase/2/spinning" }},
		{opening, "clock: ", func(d *data) { d.Clock = clock{} }},
		{done, "clock: ", func(d *data) { d.Clock = clock{"x", 1} }},
		{done, "clock: ", func(d *data) { d.Clock.At = 1 }},
		{opening, "nonces: not expected", func(d *data) { d.Secrets = nil }},
		{bots, "nonces: not expected", func(d *data) { d.Nonces, d.Secrets = opening.s.d.Nonces, opening.s.d.Secrets }},
		{bots, "nonces: not expected", func(d *data) { d.Secrets = opening.s.d.Secrets }},
		{opening, "nonces: not one", func(d *data) { d.Nonces = &NoncesSet{2, []int64{1, 2, 3}} }},
		{opening, "nonces: not one", func(d *data) { d.Nonces = &NoncesSet{1, []int64{1, 2}} }},
		{opening, "nonces: not one", func(d *data) { d.Nonces = &NoncesSet{1, []int64{1, 2, -3}} }},
		{opening, "nonces: not one", func(d *data) { d.Secrets = &LegacyDrawn{2, d.Secrets.Seeds} }},
		{opening, "nonces: not one", func(d *data) { d.Secrets = &LegacyDrawn{1, d.Secrets.Seeds[:2]} }},
		{bots, "rolls[2]: roll: 0", func(d *data) { d.Rolls[2].Roll = 0 }},
		{bots, "rolls[2]: roll: 10000001", func(d *data) { d.Rolls[2].Roll = MaxRoll + 1 }},
		{bots, "rolls[2]: round 2 seat 2", func(d *data) { d.Rolls[2].Round = 2 }},
		{bots, "rolls[2]: round 1 seat 3", func(d *data) { d.Rolls[2].Seat = 3 }},
		{bots, "rolls[2]: round 1", func(d *data) { d.Rolls[2].Row ^= 1 }},
		{bots, "rolls[2]: round 1", func(d *data) { d.Rolls[2].Flip = !d.Rolls[2].Flip }},
		{bots, "rolls[2]: round 1", func(d *data) { d.Rolls[2].Path.Label = "tie" }},
		{bots, "rolls[2]: legacy", func(d *data) { d.Rolls[2].Legacy = &LegacyRow{} }},
		{done, "settlement: it", func(d *data) { d.Settlement = nil }},
		{waiting, "settlement: it", func(d *data) { d.Settlement = &Settlement{} }},
		{cancelled, "cancelled: it", func(d *data) { d.Cancelled = nil }},
		{done, "cancelled: it", func(d *data) { d.Cancelled = &Cancelled{} }},
		{done, "settlement.outcome", func(d *data) { d.Settlement.Outcome = 0 }},
		{done, "settlement.outcome", func(d *data) { d.Settlement.Outcome = Refunded + 1 }},
		{done, "settlement.winners[0]", func(d *data) { d.Settlement.Winners[0] = 2 }},
		{done, "settlement.winners[0]", func(d *data) { d.Settlement.Winners[0] = -1 }},
		{done, "settlement.bundles", func(d *data) { d.Settlement.Bundles = nil }},
		{done, "settlement.records[0]", func(d *data) { d.Settlement.Records[0].Type = 0 }},
		{done, "settlement.records[0]", func(d *data) { d.Settlement.Records[0].Type = AddedFromPool + 1 }},
		{done, "settlement.records[0]", func(d *data) { d.Settlement.Records[0].Winner = 5 }},
		{done, "settlement.records[0]", func(d *data) { d.Settlement.Records[0].Winner = -1 }},
		{done, "settlement.records[0]", func(d *data) { d.Settlement.Records[0].Winner = -2 }},
		{done, "settlement.records[0]", func(d *data) { d.Settlement.Records[0].Drop = 4 }},
		{done, "settlement.records[0]", func(d *data) { d.Settlement.Records[0].Drop = -1 }},
		{done, "settlement.records[0]", func(d *data) { d.Settlement.Records[0].Booked = 4 }},
		{done, "settlement.records[0]", func(d *data) { d.Settlement.Records[0].Booked = -1 }},
		{done, "settlement.records[0]", func(d *data) { d.Settlement.Records[0] = Record{Type: AddedFromPool, Catalogue: 2} }},
		{done, "settlement.records[0]", func(d *data) { d.Settlement.Records[0] = Record{Type: AddedFromPool, Catalogue: -1} }},
	} {
		s := c.game.s.clone()
		s.d.Rolls = append([]Rolled(nil), s.d.Rolls...)
		s.d.Settlement = cloneSettlement(s.d.Settlement)
		require.NoError(t, s.check())
		c.edit(&s.d)
		require.ErrorContains(t, s.check(), c.want)
	}
	require.NoError(t, voided.s.check())
}
