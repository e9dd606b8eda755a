package battle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
)

// check refuses a state that no step leads to. Whatever passes can be stepped and shown without a panic; that the rolls
// and the settlement are the right ones is Verify's to prove.
func (s *State) check() error {
	for _, check := range []func() error{s.checkLife, s.checkSeats, s.checkPlace, s.checkClock, s.checkRolls, s.checkEnd} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkLife holds the seed's life against the status.
func (s *State) checkLife() error {
	d := &s.d
	if d.Rev == 0 || d.Status == 0 || d.Life == nil {
		return errors.New("rev: no battle is stored before Create")
	}
	t := d.Life.Terms()
	if t.Kind != Game || t.Session != s.setup.cfg.ID || t.ConfigHash != s.setup.hash || !slices.Equal(t.Tables, s.setup.hashes) {
		return errors.New("life: of another battle")
	}
	var want fair.Stage
	switch {
	case d.Status == StatusWaiting:
		want = fair.StageOpen
	case d.Phase == PhaseAwaitingBeacon:
		want = fair.StageFrozen
	case d.Status == StatusInProgress:
		want = fair.StageResolved
	case d.Status == StatusFinished, s.life().Root() != nil && s.setup.cfg.Compat.Legacy52:
		want = fair.StageRevealed
	default:
		want = fair.StageVoided
	}
	seed, _ := d.Life.Seed()
	switch {
	case d.Life.Stage() != want:
		return fmt.Errorf("life: %v in a battle that is %v", d.Life.Stage(), d.Status)
	case d.Status.Done() != (d.Revealed != "") || d.Status.Done() && d.Revealed != RevealedSeed(seed.Hex()):
		return errors.New("revealed: not the seed")
	case s.setup.cfg.Private != (d.Code != ""):
		return errors.New("code: not of this battle")
	}
	return nil
}

// checkSeats holds the seats against the contributions.
func (s *State) checkSeats() error {
	d := &s.d
	if len(d.Seats) != s.setup.cfg.Layout.Seats() {
		return fmt.Errorf("seats: %d, want %d", len(d.Seats), s.setup.cfg.Layout.Seats())
	}
	given := d.Life.Transcript().Contributions
	taken, bots := 0, 0
	for i, p := range d.Seats {
		if p.User == "" {
			if p != (seat{}) {
				return fmt.Errorf("seats[%d]: somebody without a name", i)
			}
			continue
		}
		at := slices.IndexFunc(given, func(c fair.Contribution) bool { return c.Player == p.User })
		switch {
		case s.seatOf(p.User) != i || p.Bot != isBot(p.User) || !p.Bot && !glasshouse.ValidName(p.User):
			return fmt.Errorf("seats[%d]: not a player's name", i)
		case at < 0 || given[at].Operator != p.Bot || string(given[at].Seed) != p.ClientSeed:
			return fmt.Errorf("seats[%d]: another contribution", i)
		case d.StartedAt > 0 && at != i:
			return fmt.Errorf("seats[%d]: contributed in another order", i)
		}
		taken++
		if p.Bot {
			bots++
		}
	}
	full := taken == len(d.Seats)
	switch {
	case d.Seats[0].User != s.setup.cfg.Creator:
		return errors.New("seats[0]: not the creator's")
	case taken != len(given) || bots != d.Bots:
		return errors.New("seats: not all contributions have one")
	case d.Status != StatusCancelled && full != (d.Status != StatusWaiting) || d.Status == StatusWaiting && bots > 0:
		return fmt.Errorf("seats: %d taken in a battle that is %v", taken, d.Status)
	}
	return nil
}

func isBot(user string) bool { return strings.HasPrefix(user, "bot:") }

// checkPlace holds phase, round and the number of rolls against each other.
func (s *State) checkPlace() error {
	d, n, rounds := &s.d, len(s.d.Seats), len(s.setup.cfg.Cases)
	ok := d.Round >= 0 && d.Round <= rounds
	switch d.Status {
	case StatusWaiting:
		ok = ok && d.Phase == 0 && d.Round == 0
	case StatusInProgress:
		ok = ok && d.Phase >= PhaseAwaitingBeacon && d.Phase <= PhaseRoundComplete && (d.Round == 0) == (d.Phase <= PhaseCountdown)
	case StatusFinished:
		ok = ok && d.Phase == PhaseFinished && d.Round == rounds
	default:
		ok = ok && d.Phase == 0 && d.Round <= 1
	}
	opened := d.Round
	if d.Status == StatusCancelled || d.Phase == PhaseRoundStarting {
		opened = max(0, d.Round-1)
	}
	if !ok || len(d.Rolls) != n*opened {
		return fmt.Errorf("phase: %d rolls at %v of round %d in a battle that is %v", len(d.Rolls), d.Phase, d.Round, d.Status)
	}
	return nil
}

// checkClock holds the one clock that may run against the phase, and what Legacy52 waits with.
func (s *State) checkClock() error {
	d, n := &s.d, len(s.d.Seats)
	legacy := s.setup.cfg.Compat.Legacy52 && d.Phase == PhaseRoundStarting
	want := ""
	switch {
	case d.Status == StatusWaiting:
		want = expiryKey
	case d.Phase == PhaseAwaitingBeacon:
		want = beaconKey
	case d.Status == StatusInProgress && (!legacy || d.Nonces != nil):
		want = s.phaseKey()
	}
	if d.Clock.Key != want || want == "" && d.Clock.At != 0 {
		return errors.New("clock: not that of this phase")
	}
	switch {
	case d.Nonces == nil && d.Secrets == nil:
		return nil
	case d.Nonces == nil || d.Secrets == nil || !legacy:
		return errors.New("nonces: not expected here")
	case d.Nonces.Round != d.Round || d.Secrets.Round != d.Round || len(d.Secrets.Seeds) != n || !goodNonces(d.Nonces.Values, n):
		return errors.New("nonces: not one for each seat")
	}
	return nil
}

func goodNonces(values []int64, n int) bool {
	return len(values) == n && slices.Min(values) >= 0 && slices.Max(values) <= maxNonce
}

func (s *State) checkRolls() error {
	for i, r := range s.d.Rolls {
		if err := s.checkRoll(r, i); err != nil {
			return fmt.Errorf("rolls[%d]: %w", i, err)
		}
	}
	return nil
}

// checkRoll refuses what cannot be the i-th roll of the battle.
func (s *State) checkRoll(r Rolled, i int) error {
	switch {
	case i >= len(s.d.Seats)*len(s.setup.cfg.Cases):
		return errors.New("one too many")
	case r.Roll < 1 || r.Roll > MaxRoll:
		return fmt.Errorf("roll: %d, want 1 to %d", r.Roll, MaxRoll)
	case r != s.rolled(i, r.Roll, r.Legacy):
		return fmt.Errorf("round %d seat %d: out of place, or another item than the roll's", r.Round, r.Seat)
	case (r.Legacy != nil) != s.setup.cfg.Compat.Legacy52:
		return errors.New("legacy: another scheme's roll")
	}
	return nil
}

// checkEnd holds what is there at the end against the status.
func (s *State) checkEnd() error {
	d := &s.d
	switch {
	case (d.Settlement != nil) != (d.Status == StatusFinished):
		return errors.New("settlement: it belongs to a finished battle")
	case (d.Cancelled != nil) != (d.Status == StatusCancelled):
		return errors.New("cancelled: it belongs to a cancelled battle")
	case d.Settlement != nil:
		return s.checkSettlement(d.Settlement)
	}
	return nil
}

// checkSettlement refuses indexes that point nowhere.
func (s *State) checkSettlement(st *Settlement) error {
	drops := len(s.d.Seats) * len(s.setup.cfg.Cases)
	if st.Outcome < TeamWins || st.Outcome > Refunded {
		return errors.New("settlement.outcome: missing")
	}
	for i, w := range st.Winners {
		if w < 0 || w >= len(s.d.Seats) {
			return fmt.Errorf("settlement.winners[%d]: no such seat", i)
		}
	}
	if len(st.Bundles) != len(st.Winners) {
		return errors.New("settlement.bundles: not one for each winner")
	}
	for i, r := range st.Records {
		added := r.Type == AddedFromPool
		if r.Type < Dropped || r.Type > AddedFromPool ||
			r.Winner < -1 || int(r.Winner) >= len(st.Winners) || r.Winner < 0 && r.Type != RemovedToPool ||
			!added && (r.Drop < 0 || int(r.Drop) >= drops || r.Booked < 0 || int(r.Booked) >= drops) ||
			added && (r.Catalogue < 0 || int(r.Catalogue) >= len(s.setup.cfg.Catalogue)) {
			return fmt.Errorf("settlement.records[%d]: points nowhere", i)
		}
	}
	return nil
}
