package toy

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
)

// Apply replays a turn. A turn that does not fit is a *glasshouse.CorruptError.
func (s *State) Apply(t glasshouse.Turn[Event]) (*State, error) {
	if s.bug("apply") && len(t.Events) > 1 {
		t.Events = t.Events[:len(t.Events)-1]
	}
	return s.apply(t)
}

func (s *State) apply(t glasshouse.Turn[Event]) (*State, error) {
	if t.Rev != s.rev+1 || len(t.Events) == 0 || t.At.UnixMilli() < s.at || t.At.Nanosecond()%int(time.Millisecond) != 0 {
		return nil, corrupt("turn %d does not follow rev %d", t.Rev, s.rev)
	}
	next := s.clone()
	next.rev, next.at = t.Rev, t.At.UnixMilli()
	for i, ev := range t.Events {
		if err := next.on(ev); err != nil {
			return nil, corrupt("events[%d]: %w", i, err)
		}
	}
	return next, nil
}

func corrupt(format string, args ...any) error {
	return &glasshouse.CorruptError{What: "toy", Err: fmt.Errorf(format, args...)}
}

func (s *State) clone() *State {
	next := *s
	next.seats = slices.Clone(s.seats)
	next.payouts = slices.Clone(s.payouts)
	return &next
}

var errMisfit = errors.New("does not fit here")

// on changes s, which is a copy that nobody has seen yet.
func (s *State) on(ev Event) error {
	switch ev := ev.(type) {
	case Opened:
		return s.opened(ev)
	case Joined:
		return s.joined(ev)
	case Dealt:
		return s.dealt(ev)
	case Shown:
		if i, ok := s.undecided(ev.Player); ok && uint64(s.seats[i].Roll) == ev.Roll {
			s.seats[i].Choice = Showed
			return nil
		}
	case Folded:
		if s.bug("panic") && s.status == Playing {
			s.seats[s.seat(ev.Player)].Choice = Gone
			return nil
		}
		if i, ok := s.undecided(ev.Player); ok {
			s.seats[i].Choice = Gone
			return nil
		}
	case Settled:
		return s.settled(ev)
	case Stopped:
		if s.status == Open && slices.Equal(ev.Payouts, s.refund()) {
			s.status, s.clock, s.payouts = Voided, clock{}, slices.Clone(ev.Payouts)
			return nil
		}
	}
	return errMisfit
}

func (s *State) opened(ev Opened) error {
	if s.status != New || ev.Seed == nil {
		return errMisfit
	}
	life, err := fair.Commit(fair.Terms{Kind: "toy", Session: s.cfg.ID, ConfigHash: s.cfg.Hash()}, *ev.Seed)
	if err != nil {
		return err
	}
	if life.Commitment() != ev.Commitment {
		return errMisfit
	}
	if s.life, err = life.Open(); err != nil {
		return err
	}
	s.status, s.clock = Open, clock{"join", s.at + s.cfg.JoinMS}
	return nil
}

func (s *State) joined(ev Joined) error {
	if s.status != Open || s.seat(ev.Player) >= 0 || !slices.Contains(s.cfg.Players, ev.Player) {
		return errMisfit
	}
	life, err := s.life.Contribute(fair.Contribution{Player: ev.Player, Seed: []byte(ev.Seed)})
	if err != nil {
		return err
	}
	s.life = life
	s.seats = append(s.seats, seat{Player: ev.Player, Seed: ev.Seed})
	if len(s.seats) < 2 {
		return nil
	}
	if s.life, err = s.life.Freeze([]string{s.seats[0].Player, s.seats[1].Player}, fair.Descriptor{}, 0); err != nil {
		return err
	}
	if s.life, err = s.life.Resolve(); err != nil {
		return err
	}
	s.status, s.clock = Playing, clock{"choose", s.at + s.cfg.ChooseMS}
	return nil
}

func (s *State) dealt(ev Dealt) error {
	i := s.seat(ev.Player)
	if s.status != Playing || i < 0 || s.seats[i].Roll != 0 {
		return errMisfit
	}
	if path, roll := s.roll(i, s.at); path != ev.Path || roll != ev.Roll {
		return errMisfit
	}
	s.seats[i].Roll = ev.Roll
	return nil
}

func (s *State) undecided(player string) (int, bool) {
	i := s.seat(player)
	return i, s.status == Playing && i >= 0 && s.seats[i].Roll != 0 && (s.seats[i].Choice == Undecided || s.bug("again"))
}

func (s *State) settled(ev Settled) error {
	if s.status != Playing || !slices.EqualFunc(s.end(true), []Event{ev}, func(a, b Event) bool {
		x, y := a.(Settled), b.(Settled)
		return x.Seed == y.Seed && slices.Equal(x.Payouts, y.Payouts)
	}) {
		return errMisfit
	}
	var err error
	if s.life, err = s.life.Reveal(); err != nil {
		return err
	}
	s.status, s.payouts = Finished, slices.Clone(ev.Payouts)
	if !s.bug("clock runs on") {
		s.clock = clock{}
	}
	return nil
}
