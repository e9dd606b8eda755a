package battle

import (
	"slices"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// View is what one viewer may see of a battle, and all he may see. It is his to keep and to send.
type View struct {
	Rev     uint64       `json:"rev"`
	ID      string       `json:"id"`
	Status  Status       `json:"status,omitzero"`
	Phase   Phase        `json:"phase,omitzero"`
	Mode    Mode         `json:"mode"`
	Lowest  bool         `json:"lowest"`
	Layout  Layout       `json:"layout"`
	Payout  Payout       `json:"payout"`
	Ties    Ties         `json:"ties"`
	Asset   ledger.Asset `json:"asset"`
	Creator string       `json:"creator"`
	Private bool         `json:"private"`
	Code    string       `json:"code,omitempty"` // for the creator's eyes only
	Entry   int64        `json:"entry,string"`   // cents a seat costs
	Cases   []CaseView   `json:"cases"`
	Seats   []SeatView   `json:"seats"` // in order, free ones too
	You     int          `json:"you"`   // the viewer's seat, -1 if he has none

	CreatedAt int64 `json:"created_at,omitempty"` // ms
	StartedAt int64 `json:"started_at,omitempty"`
	EndedAt   int64 `json:"ended_at,omitempty"`
	ExpiresAt int64 `json:"expires_at,omitempty"` // while it waits

	Round       int        `json:"round"`                     // from 1; 0 before the first
	PhaseAt     int64      `json:"phase_at,omitempty"`        // ms
	PhaseEndsAt int64      `json:"phase_ends_at,omitempty"`   // ms; 0 where the phase waits for something else than time
	Rolls       []RollView `json:"rolls,omitempty"`           // of the rounds opened so far
	HasFlip     bool       `json:"has_flip,omitempty"`        // in the current round
	SpinningAt  int64      `json:"spin_started_at,omitempty"` // while it spins

	Commitment fair.Digest   `json:"commitment"`
	ConfigHash fair.Digest   `json:"config_hash"`
	Tables     []fair.Digest `json:"tables"`
	Freeze     fair.Digest   `json:"freeze,omitzero"`         // once entries are closed
	Target     uint64        `json:"target,string,omitempty"` // the drand round named then
	Beacon     *fair.Beacon  `json:"beacon,omitempty"`
	ServerSeed RevealedSeed  `json:"server_seed,omitempty"` // once the battle is over

	Settlement *Settlement `json:"settlement,omitempty"` // once the battle is finished
	Cancelled  *Cancelled  `json:"cancelled,omitempty"`
}

// CaseView is one round's case; its odds are in the Config, which is public.
type CaseView struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Image string `json:"image,omitempty"`
	Price int64  `json:"price,string"`
	Order int    `json:"order"` // from 0
}

// SeatView is a place in a team.
type SeatView struct {
	Team       int    `json:"team"`           // from 1
	Slot       int    `json:"slot"`           // from 0
	User       string `json:"user,omitempty"` // "" = free
	Name       string `json:"name,omitempty"` // of a bot: what people are shown
	Bot        bool   `json:"bot"`
	ClientSeed string `json:"client_seed,omitempty"`
	Total      int64  `json:"total,string"`            // cents opened so far
	Profit     *int64 `json:"profit,string,omitempty"` // once finished: items and cash less the entry
}

// RollView is one opened item.
type RollView struct {
	Rolled
	Item Item `json:"item"`
}

// View is what viewer may see; "" is a spectator. Results are shown as they are opened; winners and settlement once
// the battle is finished; the server seed once it is over.
func (s *State) View(viewer string) View {
	cfg, d := &s.setup.cfg, &s.d
	v := View{
		Rev: d.Rev, ID: cfg.ID, Status: d.Status, Phase: d.Phase, Mode: cfg.Mode, Lowest: cfg.Lowest, Layout: cfg.Layout,
		Payout: cfg.Payout, Ties: cfg.Ties, Asset: cfg.Asset, Creator: cfg.Creator, Private: cfg.Private,
		Entry: s.setup.entry, You: s.seatOf(viewer),
		CreatedAt: d.CreatedAt, StartedAt: d.StartedAt, EndedAt: d.EndedAt,
		Round: d.Round, PhaseAt: d.PhaseAt, PhaseEndsAt: d.Clock.At,
		ConfigHash: s.setup.hash, Tables: append([]fair.Digest(nil), s.setup.hashes...),
		ServerSeed: d.Revealed, Settlement: cloneSettlement(d.Settlement), Cancelled: clonePtr(d.Cancelled),
	}
	if viewer == cfg.Creator {
		v.Code = string(d.Code)
	}
	if at, ok := s.has(expiryKey); ok {
		v.ExpiresAt, v.PhaseEndsAt = at, 0
	}
	for i, cs := range cfg.Cases {
		v.Cases = append(v.Cases, CaseView{cs.ID, cs.Name, cs.Image, cs.Price, i})
	}
	s.viewSeats(&v)
	s.viewRolls(&v)
	s.viewFairness(&v)
	return v
}

func (s *State) viewSeats(v *View) {
	layout := s.setup.cfg.Layout
	v.Seats = make([]SeatView, len(s.d.Seats))
	for i, p := range s.d.Seats {
		sv := SeatView{Team: layout.Team(i), Slot: i % layout.Size, User: p.User, Bot: p.Bot, ClientSeed: p.ClientSeed}
		if p.Bot {
			sv.Name = botName(p.User)
		}
		if s.d.Settlement != nil {
			profit := s.d.Settlement.Profit(i, s.setup.entry)
			sv.Profit = &profit
		}
		v.Seats[i] = sv
	}
}

func (s *State) viewRolls(v *View) {
	for _, r := range s.d.Rolls {
		item := s.setup.cfg.Cases[r.Round-1].Items[r.Row].Item
		r.Legacy = clonePtr(r.Legacy)
		v.Rolls = append(v.Rolls, RollView{r, item})
		v.Seats[r.Seat].Total += item.Value
		v.HasFlip = v.HasFlip || r.Flip && r.Round == s.d.Round
	}
	if s.d.Phase == PhaseSpinning {
		v.SpinningAt = s.d.PhaseAt
	}
}

func (s *State) viewFairness(v *View) {
	if s.d.Life == nil {
		return
	}
	v.Commitment, v.Freeze = s.d.Life.Commitment(), s.d.Life.FreezeDigest()
	_, v.Target = s.d.Life.Target()
	if b, ok := s.d.Life.BeaconValue(); ok {
		v.Beacon = &b
	}
}

// Legal is what actor may do now, for a UI or a bot. Client seeds, join codes and reasons are left empty, and what
// cannot do without them is not offered.
func (s *State) Legal(actor string) []Command {
	if actor == glasshouse.System {
		return s.legalHost()
	}
	cfg := &s.setup.cfg
	var out []Command
	at := s.seatOf(actor)
	switch {
	case !glasshouse.ValidName(actor) || s.d.Status != StatusWaiting:
	case at < 0 && !cfg.Private:
		for team := 1; team <= cfg.Layout.Teams; team++ {
			if s.freeIn(team) {
				out = append(out, Join{Team: team})
			}
		}
	case at == 0:
		out = append(out, Seed{}, AddBots{}, Cancel{})
	case at > 0:
		out = append(out, Seed{}, Leave{})
	}
	return out
}

// legalHost leaves out Expire, which the Deadline announces, and what brings values from outside.
func (s *State) legalHost() []Command {
	switch {
	case s.d.Status == 0:
		return []Command{Create{}}
	case !s.d.Status.Done() && !s.rollsKnown():
		return []Command{Void{}}
	}
	return nil
}

func (s *State) freeIn(team int) bool {
	first := s.setup.cfg.Layout.Seat(team, 0)
	for _, p := range s.d.Seats[first : first+s.setup.cfg.Layout.Size] {
		if p.User == "" {
			return true
		}
	}
	return false
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// cloneSettlement copies it with its slices.
func cloneSettlement(st *Settlement) *Settlement {
	if st == nil {
		return nil
	}
	c := *st
	c.Totals, c.Scores = slices.Clone(c.Totals), slices.Clone(c.Scores)
	c.TieRolls, c.Winners = slices.Clone(c.TieRolls), slices.Clone(c.Winners)
	c.Bundles, c.Records = slices.Clone(c.Bundles), slices.Clone(c.Records)
	return &c
}
