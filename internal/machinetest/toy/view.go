package toy

import (
	"slices"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
)

// View is what one person may see.
type View struct {
	Rev        uint64      `json:"rev"`
	Status     Status      `json:"status"`
	Commitment fair.Digest `json:"commitment"`
	Seats      []SeatView  `json:"seats"`
	Clock      string      `json:"clock,omitempty"`
	Payouts    []Payout    `json:"payouts,omitempty"`
	Seed       string      `json:"seed,omitempty"` // once revealed
}

// SeatView is one player; Roll is 0 unless he has shown it or looks himself.
type SeatView struct {
	Player string `json:"player"`
	Choice Choice `json:"choice"`
	Roll   uint64 `json:"roll,omitempty"`
}

// View is built field by field.
func (s *State) View(viewer string) View {
	v := View{Rev: s.rev, Status: s.status, Commitment: s.life.Commitment(), Clock: s.clock.Key, Payouts: slices.Clone(s.payouts)}
	for _, x := range s.seats {
		sv := SeatView{Player: x.Player, Choice: x.Choice}
		if x.Player == viewer || x.Choice == Showed || s.bug("peek") {
			sv.Roll = uint64(x.Roll)
		}
		v.Seats = append(v.Seats, sv)
	}
	seed, ok := s.life.Seed()
	if ok {
		v.Seed = seed.Hex()
	}
	if s.bug("show seed") && s.status == Playing {
		revealed, _ := s.life.Reveal()
		seed, _ := revealed.Seed()
		v.Seed = seed.Hex()
	}
	if s.bug("alias") {
		v.Payouts = s.payouts
	}
	return v
}

// Observe is the event as viewer may see it.
func (s *State) Observe(ev Event, viewer string) (Event, bool) {
	switch ev := ev.(type) {
	case Opened:
		ev.Seed = nil
		return ev, true
	case Dealt:
		switch {
		case s.bug("half an event"):
			ev.Roll = 1 + ev.Roll%2
		case s.bug("hindsight") && s.status.Done():
		case ev.Player != viewer:
			ev.Roll = 0
		}
		return ev, true
	}
	return ev, true
}

// Legal lists what actor may do now.
func (s *State) Legal(actor string) []Command {
	i := s.seat(actor)
	switch {
	case s.status == New && actor == glasshouse.System:
		return []Command{OpenGame{}}
	case s.status == Open && actor == glasshouse.System:
		return []Command{Void{}}
	case s.status == Open && i < 0 && slices.Contains(s.cfg.Players, actor):
		return []Command{Join{}}
	case s.status == Playing && i >= 0 && (s.seats[i].Choice == Undecided || s.bug("offer again")):
		return []Command{Show{}, Fold{}}
	}
	return nil
}
