package feed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/glasshouse-go/glasshouse/battle"
)

// Profile is how a user is shown. Empty fields mean that nothing is known.
type Profile struct {
	Username  string
	AvatarURL string
}

// Profiles are the profiles by user. A user without one is shown by his id, a bot by the name that the battle gives it.
type Profiles map[string]Profile

// Message is one socket message.
type Message struct {
	Room    string          // see [Room] and [UserRoom]; "" = everybody
	Event   string          // "battle:created"
	Due     time.Time       // when to send it: the turn's time or later, UTC
	Payload json.RawMessage // the message's one argument
}

// Room is the room of a battle's socket messages.
func Room(id string) string { return "battle:" + id }

// UserRoom is the room in which one user hears about himself.
func UserRoom(user string) string { return "user:" + user }

// The times of the source.
const (
	pushEvery = 2000 * time.Millisecond  // between two battle:state_push of a spin
	dropAfter = 12000 * time.Millisecond // from the roll to its live:drop
	flipAfter = 30000 * time.Millisecond // … where the second roulette turned
	topDrop   = 100_000                  // cents from which on a drop is a top drop
)

// Messages is what a turn gives to publish, in the order of Due; of equal ones in the order in which the source sends
// them. s is the state that the turn led to. A later state of the battle serves too, and then the players counted in
// battle:updated are that state's; an earlier one is a mistake of the program and panics.
//
// Messages of different turns overlap: a live:drop of one round is due in the middle of the next.
func Messages(s *battle.State, t battle.Turn, profiles Profiles) []Message {
	if s.Rev() < t.Rev {
		panic(fmt.Sprintf("feed: turn %d with the state at revision %d", t.Rev, s.Rev()))
	}
	f := newScene(s, profiles)
	f.at = t.At
	f.balances(s, t)
	for _, ev := range t.Events {
		f.event(ev)
	}
	return f.sorted()
}

// Pending lists the messages that were due after an instant and belong to rounds that are open already: the
// battle:state_push of the spin that is on, and each live:drop. It is for a host that starts again and has lost what it
// had scheduled.
//
// A State keeps no times of rounds gone by: they are counted back along the timeline from the phase that is on. If the
// host stepped a clock late, a drop of an earlier round is due later by as much than it was first, never sooner. Where
// that matters, take the battle's turns from the journal and keep of their Messages those that are due after the
// instant: that is exact.
func Pending(s *battle.State, profiles Profiles, after time.Time) []Message {
	f := newScene(s, profiles)
	if f.v.Phase == battle.PhaseSpinning {
		f.pushes(f.v.Round, f.v.PhaseAt, f.v.PhaseEndsAt, f.v.HasFlip)
	}
	times := f.rollTimes()
	for _, r := range f.v.Rolls {
		f.drop(r.Rolled, times[r.Round-1])
	}
	f.out = slices.DeleteFunc(f.out, func(m Message) bool { return !m.Due.After(after) })
	return f.sorted()
}

// scene is a battle as a spectator sees it, with the messages made of it.
type scene struct {
	cfg      battle.Config
	v        battle.View
	profiles Profiles

	at      time.Time // of the turn
	created bool      // by this turn: the creator's seat is not announced
	rolls   []battle.Rolled
	out     []Message
}

func newScene(s *battle.State, profiles Profiles) *scene {
	return &scene{cfg: s.Config(), v: s.View(""), profiles: profiles}
}

func (f *scene) sorted() []Message {
	slices.SortStableFunc(f.out, func(a, b Message) int { return a.Due.Compare(b.Due) })
	return f.out
}

func (f *scene) send(room, event string, payload any) { f.sendAt(f.at, room, event, payload) }

func (f *scene) sendAt(due time.Time, room, event string, payload any) {
	f.out = append(f.out, Message{Room: room, Event: event, Due: due, Payload: encode(payload)})
}

// room tells those who watch the battle.
func (f *scene) room(event string, payload any) { f.send(Room(f.cfg.ID), event, payload) }

// all tells everybody.
func (f *scene) all(event string, payload any) { f.send("", event, payload) }

func (f *scene) event(ev battle.Event) {
	switch ev := ev.(type) {
	case battle.Created:
		f.created = true
		if !f.cfg.Private {
			f.all("battle:created", f.createdPayload())
		}
	case battle.Joined:
		f.joined(ev)
	case battle.Left:
		f.room("battle:player_left", playerLeft{f.cfg.ID, ev.User, f.cfg.Layout.Team(ev.Seat)})
		f.updated(battle.StatusWaiting)
	case battle.Started:
		f.updated(battle.StatusInProgress)
	case battle.PhaseStarted:
		f.phase(ev)
	case battle.Rolled:
		f.rolls = append(f.rolls, ev)
	case battle.Settled:
		f.finished(ev.Settlement)
	case battle.Cancelled:
		f.room("battle:cancelled", cancelled{f.cfg.ID, ev.Reason})
		f.updated(battle.StatusCancelled)
	}
}

// updated is for the list that everybody sees. A private battle is in no list; its room is told instead.
func (f *scene) updated(status battle.Status) {
	payload := updated{f.cfg.ID, upper(status), f.taken(), f.cfg.Layout.Seats()}
	if f.cfg.Private {
		f.room("battle:updated", payload)
	} else {
		f.all("battle:updated", payload)
	}
}

func (f *scene) taken() int {
	n := 0
	for _, seat := range f.v.Seats {
		if seat.User != "" {
			n++
		}
	}
	return n
}

func (f *scene) joined(ev battle.Joined) {
	if f.created {
		return
	}
	who := f.who(ev.User)
	f.room("battle:player_joined", playerJoined{f.cfg.ID, joinedPlayer{ev.User, who.Username, who.AvatarURL, f.cfg.Layout.Team(ev.Seat)}})
	if !ev.Bot { // bots fill the battle, and the source announces its start alone
		f.updated(battle.StatusWaiting)
	}
}

func (f *scene) phase(ev battle.PhaseStarted) {
	id := f.cfg.ID
	switch ev.Phase {
	case battle.PhaseCountdown:
		f.room("battle:starting", starting{id, iso(ev.EndsAt)})
	case battle.PhaseRoundStarting:
		cs := f.cfg.Cases[ev.Round-1]
		f.room("battle:round_start", roundStart{id, ev.Round, cs.ID, cs.Name})
	case battle.PhaseSpinning:
		f.room("battle:round_result", roundResult{id, ev.Round, f.results(f.rolls, true)})
		flip := slices.ContainsFunc(f.rolls, func(r battle.Rolled) bool { return r.Flip })
		f.pushes(ev.Round, f.at.UnixMilli(), ev.EndsAt, flip)
		for _, r := range f.rolls {
			f.drop(r, f.at.UnixMilli())
		}
	}
}

// pushes are the battle:state_push of a spin, every two seconds from its start while it lasts.
func (f *scene) pushes(round int, start, end int64, flip bool) {
	due := time.UnixMilli(start).UTC()
	for due = due.Add(pushEvery); due.UnixMilli() < end; due = due.Add(pushEvery) {
		f.sendAt(due, Room(f.cfg.ID), "battle:state_push", statePush{
			CurrentPhase: upper(battle.PhaseSpinning), PhaseEndsAt: end, CurrentRound: round,
			HasFlipInCurrentRound: flip, SpinStartedAt: start, ServerTime: due.UnixMilli(),
		})
	}
}

// drop is the live:drop of one roll, for people only.
func (f *scene) drop(r battle.Rolled, at int64) {
	seat := f.v.Seats[r.Seat]
	if seat.Bot {
		return
	}
	due := time.UnixMilli(at).UTC().Add(dropAfter)
	if r.Flip {
		due = time.UnixMilli(at).UTC().Add(flipAfter)
	}
	cs := f.cfg.Cases[r.Round-1]
	row, who := cs.Items[r.Row], f.who(seat.User)
	f.sendAt(due, "", "live:drop", liveDrop{
		UserName: who.Username, UserAvatar: who.AvatarURL,
		ItemName: row.Item.Name, ItemImage: row.Item.Image, ItemValueCents: decimal(row.Item.Value), Rarity: row.Item.Rarity,
		Source: "battle", Timestamp: iso(due.UnixMilli()), DropChance: chance(row),
		IsTopDrop: row.Item.Value >= topDrop, CaseImage: cs.Image,
	})
}

// rollTimes is when each round was rolled, in ms, counted back from the phase that is on.
func (f *scene) rollTimes() []int64 {
	n := len(f.v.Rolls) / f.cfg.Layout.Seats()
	times := make([]int64, n)
	if n == 0 {
		return times
	}
	t := f.cfg.Timeline
	spin := make([]int64, n)
	for i := range spin {
		spin[i] = t.Spinning
	}
	for _, r := range f.v.Rolls {
		if r.Flip {
			spin[r.Round-1] = t.FlipSpinning
		}
	}
	switch f.v.Phase {
	case battle.PhaseSpinning:
		times[n-1] = f.v.PhaseAt
	case battle.PhaseRoundComplete:
		times[n-1] = f.v.PhaseAt - spin[n-1]
	case battle.PhaseFinished:
		times[n-1] = f.v.EndedAt - t.RoundComplete - spin[n-1]
	default: // the next round is starting
		times[n-1] = f.v.PhaseAt - t.RoundComplete - spin[n-1]
	}
	for i := n - 2; i >= 0; i-- {
		times[i] = times[i+1] - t.RoundStarting - t.RoundComplete - spin[i]
	}
	return times
}

// balances tells everybody whose money this turn moved, in the order of the postings.
func (f *scene) balances(s *battle.State, t battle.Turn) {
	if !slices.ContainsFunc(t.Events, movesMoney) {
		return
	}
	var told []string
	for _, p := range s.Tx(battle.Key(f.cfg.ID), t).Post {
		if p.Asset != f.cfg.Asset {
			continue // an item, not money
		}
		for _, account := range []string{string(p.From), string(p.To)} {
			user, ok := strings.CutPrefix(account, string(battle.UserAccount("")))
			if ok && !slices.Contains(told, user) {
				told = append(told, user)
				f.send(UserRoom(user), "balance:updated", balance{user})
			}
		}
	}
}

func movesMoney(ev battle.Event) bool {
	switch ev.(type) {
	case battle.Joined, battle.Left, battle.Settled, battle.Cancelled:
		return true
	}
	return false
}

// finished tells the room, and everybody for their lists.
func (f *scene) finished(st battle.Settlement) {
	payload := finished{
		BattleID: f.cfg.ID, Winners: winners(f.v, st), TotalPotCents: decimal(st.Value),
		SettlementData: settlementData(f.cfg, f.v, st), IsRefunded: st.Outcome == battle.Refunded,
	}
	for i := range payload.Winners {
		payload.Winners[i].name(f.profiles)
	}
	f.room("battle:finished", payload)
	if !f.cfg.Private {
		f.all("battle:completed", payload)
	}
	f.updated(battle.StatusFinished)
}

// who is how a user is shown: as his profile says, else as the battle does.
func (f *scene) who(user string) Profile {
	shown := Profile{Username: user}
	for _, seat := range f.v.Seats {
		if seat.Bot && seat.User == user {
			shown.Username = seat.Name
		}
	}
	f.profiles.show(user, &shown.Username, &shown.AvatarURL)
	return shown
}

// show replaces what is known better.
func (p Profiles) show(user string, name, avatar *string) {
	if known := p[user]; known.Username != "" {
		*name = known.Username
	}
	*avatar = p[user].AvatarURL
}
