package machinetest

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
)

// lawUnchanged: neither a step, refused or not, nor a look at a state changes it; and what was handed in or out may be
// scribbled over.
func (g *Game[S, C, E, V]) lawUnchanged(t *rapid.T) (asserted int) {
	var before string
	r := g.begin(t)
	before = string(r.s.Snapshot())
	t.Repeat(map[string]func(*rapid.T){"step": func(*rapid.T) {
		in, cmd := r.sample()
		st := r.do(in, cmd)
		same(t, "snapshot of the state after "+outcome(st.err), string(st.before.Snapshot()), before)
		r.look(st)
		same(t, "snapshot of the state after looking at it", string(st.before.Snapshot()), before)
		if st.err == nil {
			before = string(st.after.Snapshot())
			scribble(cmd)
			same(t, "snapshot after the command was overwritten by its sender", string(st.after.Snapshot()), before)
		}
		asserted++
	}})
	return asserted
}

func outcome(err error) string {
	if err != nil {
		return "a refused step (" + err.Error() + ")"
	}
	return "a step"
}

// look uses everything that reads a state, and overwrites what it gets.
func (r *run[S, C, E, V]) look(st step[S, C, E]) {
	s := st.before
	for _, who := range r.viewers(s) {
		scribble(s.View(who))
		scribble(s.Legal(who))
		for _, ev := range st.turn.Events {
			s.Observe(ev, who)
		}
	}
	scribble(s.Snapshot())
	s.Deadline()
	if st.err == nil {
		_, _ = s.Apply(st.turn)
		tx := st.after.Tx(r.start.Key, st.turn)
		tx.Memo = nil
		scribble(tx)
	}
}

// lawApply: the turn is well formed, and replaying it gives the same state.
func (g *Game[S, C, E, V]) lawApply(t *rapid.T) (asserted int) {
	require(t, g.Rules.Game != "", "Rules.Game is empty")
	r := g.play(t, func(r *run[S, C, E, V], st step[S, C, E]) {
		if st.err != nil {
			return
		}
		r.wellFormed(st)
		applied, err := st.before.Apply(st.turn)
		require(t, err == nil, "Apply refuses the turn that Step gave: %v\n%s", err, r.turn(st.turn))
		same(t, "snapshot of Apply", string(applied.Snapshot()), string(st.after.Snapshot()))
		for _, who := range r.viewers(st.after) {
			same(t, "what Apply's state shows to "+who, r.shown(applied, who), r.shown(st.after, who))
		}
		asserted++
	})
	s := r.start.State
	for _, turn := range r.turns { // the whole journal at once, as a replay does it
		var err error
		s, err = s.Apply(turn)
		require(t, err == nil, "replay: turn %d: %v", turn.Rev, err)
	}
	same(t, "snapshot of the replay", string(s.Snapshot()), string(r.s.Snapshot()))
	return asserted
}

func (r *run[S, C, E, V]) wellFormed(st step[S, C, E]) {
	t, turn := r.t, st.turn
	require(t, turn.Rev == st.before.Rev()+1 && st.after.Rev() == turn.Rev, "the turn has rev %d, its state %d, the one before %d",
		turn.Rev, st.after.Rev(), st.before.Rev())
	require(t, len(turn.Events) > 0, "a step without events")
	require(t, turn.Actor == st.in.Actor && turn.ID == st.in.ID, "the turn names %q and %q, the input %q and %q",
		turn.Actor, turn.ID, st.in.Actor, st.in.ID)
	require(t, turn.At.Location() == time.UTC && turn.At.Equal(turn.At.Truncate(time.Millisecond)), "the time %v is not whole milliseconds in UTC", turn.At)
	if n := len(r.turns); n > 1 {
		require(t, !turn.At.Before(r.turns[n-2].At), "time goes back from %v to %v", r.turns[n-2].At, turn.At)
	}
	require(t, !turn.At.Before(st.in.At.Truncate(time.Millisecond)), "the turn is of %v, its input of %v", turn.At, st.in.At)
}

// lawRoundTrip: all forms on the wire read back; a game that is stored and restored around every step is the same.
func (g *Game[S, C, E, V]) lawRoundTrip(t *rapid.T) (asserted int) {
	restored := func(r *run[S, C, E, V], s S) S {
		out, err := g.Rules.Restore(r.start.Config, s.Snapshot())
		require(t, err == nil, "the snapshot of rev %d cannot be restored: %v\n%s", s.Rev(), err, s.Snapshot())
		same(t, "snapshot of the restored state", string(out.Snapshot()), string(s.Snapshot()))
		for _, who := range r.viewers(s) {
			same(t, "what the restored state shows to "+who, r.shown(out, who), r.shown(s, who))
		}
		require(t, out.Deadline() == s.Deadline() && out.Rev() == s.Rev() && g.Rules.Status(out) == g.Rules.Status(s) && g.Rules.Done(out) == g.Rules.Done(s),
			"the restored state has another deadline, rev or status")
		return out
	}
	var twin *S // the game that is restored after every step
	g.play(t, func(r *run[S, C, E, V], st step[S, C, E]) {
		if st.before.Rev() == 0 {
			twin = &st.before
		} else if twin == nil {
			t.Fatalf("the first state has rev %d", st.before.Rev())
		}
		next, turn, err := (*twin).Step(st.in, st.cmd)
		same(t, "answer of a state that was restored after every step", r.answer(next, turn, err), r.answer(st.after, st.turn, st.err))
		same(t, "command", r.command(r.recode(st.cmd)), r.command(st.cmd))
		if st.err != nil {
			return
		}
		again := restored(r, next)
		twin = &again
		r.readsBack(st.turn)
		asserted++
	})
	return asserted
}

func (r *run[S, C, E, V]) readsBack(turn glasshouse.Turn[E]) {
	for _, ev := range turn.Events {
		back, err := r.Rules.Events.Unmarshal([]byte(r.event(ev)))
		require(r.t, err == nil, "event cannot be read: %v\n%s", err, r.event(ev))
		same(r.t, "event", r.event(back), r.event(ev))
	}
	back, err := r.Rules.UnmarshalTurn([]byte(r.turn(turn)))
	require(r.t, err == nil, "turn cannot be read: %v\n%s", err, r.turn(turn))
	same(r.t, "turn", r.turn(back), r.turn(turn))
	require(r.t, back.At.Equal(turn.At) && back.Actor == turn.Actor && back.ID == turn.ID && back.Rev == turn.Rev, "the turn's head changed")
}

// lawDeterministic: every step of the game is done again many times, alone and by several at once on the same states.
func (g *Game[S, C, E, V]) lawDeterministic(t *rapid.T) (asserted int) {
	type call struct {
		st   step[S, C, E]
		want string
	}
	var calls []call
	r := g.play(t, func(r *run[S, C, E, V], st step[S, C, E]) {
		st.in.Draw = r.draw.src
		calls = append(calls, call{st, r.everything(st.after, st.turn, st.err)})
	})
	again := func() error {
		for i, c := range calls {
			next, turn, err := c.st.before.Step(c.st.in, c.st.cmd)
			if got := r.everything(next, turn, err); got != c.want {
				return fmt.Errorf("step %d gave other bytes\ngot  %s\nwant %s", i, got, c.want)
			}
		}
		return nil
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 4} {
		runtime.GOMAXPROCS(procs)
		errs := make([]error, procs)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = again() })
		}
		wg.Wait()
		for _, err := range errs {
			require(t, err == nil, "with %d at once: %v", procs, err)
		}
	}
	return len(calls)
}

// everything is an answer with all that its state and its events show to anybody.
func (r *run[S, C, E, V]) everything(next S, turn glasshouse.Turn[E], err error) string {
	out := r.answer(next, turn, err)
	if err != nil {
		return out
	}
	for _, who := range r.viewers(next) {
		out += "\n" + who + mustJSON(next.View(who)) + r.commands(next.Legal(who))
		for _, ev := range turn.Events {
			data, _ := r.observed(next, ev, who)
			out += data
		}
	}
	return out + fmt.Sprintf("%+v", next.Tx(r.start.Key, turn))
}
