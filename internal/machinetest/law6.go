package machinetest

import (
	"errors"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
)

// lawLegal: at the time of the last step, Legal lists exactly what succeeds, as far as it can list.
func (g *Game[S, C, E, V]) lawLegal(t *rapid.T) (asserted int) {
	check := func(r *run[S, C, E, V]) {
		for _, actor := range r.Actors(r.s) {
			legal := r.s.Legal(actor)
			require(t, len(legal) == 0 || !g.Rules.Done(r.s), "a finished game lists commands for %q", actor)
			for _, cmd := range legal {
				_, _, err := r.s.Step(r.input(actor), r.recode(cmd))
				require(t, err == nil, "Legal(%q) lists %s, and Step refuses it: %v", actor, r.command(cmd), err)
				asserted++
			}
		}
	}
	r, _ := g.playOut(t, func(r *run[S, C, E, V], _ step[S, C, E]) {
		check(r)
		actor, cmd := g.Next(t, r.s)
		plain, ok := cmd, true
		if g.Plain != nil {
			plain, ok = g.Plain(cmd)
		}
		if !ok || r.isLegal(actor, plain) {
			return
		}
		_, turn, err := r.s.Step(r.input(actor), r.recode(cmd))
		require(t, err != nil, "Legal(%q) does not list %s, and Step takes it: %v", actor, r.command(cmd), kinds(turn))
	})
	if g.Rules.Done(r.s) {
		r.overIsOver()
	}
	return asserted
}

func (r *run[S, C, E, V]) isLegal(actor string, plain C) bool {
	return slices.ContainsFunc(r.s.Legal(actor), func(c C) bool {
		if r.Plain != nil {
			c, _ = r.Plain(c)
		}
		return r.command(c) == r.command(plain)
	})
}

// overIsOver: no clock runs on, and nobody can do anything, the host included.
func (r *run[S, C, E, V]) overIsOver() {
	require(r.t, r.s.Deadline() == glasshouse.Deadline{}, "a clock runs in a finished game: %v", r.s.Deadline())
	_, due := r.Rules.Due(r.s, r.at.Add(1000*time.Hour))
	require(r.t, !due, "something is due in a finished game")
	_, _, err := r.s.Step(r.input(glasshouse.System), r.Rules.Void("again"))
	require(r.t, err != nil, "a finished game is voided")
}

func kinds[E glasshouse.Event](turn glasshouse.Turn[E]) []string {
	out := make([]string, len(turn.Events))
	for i, ev := range turn.Events {
		out[i] = ev.Kind()
	}
	return out
}

// lawClock: Expire of the earliest clock, and Due, at its time and around it.
func (g *Game[S, C, E, V]) lawClock(t *rapid.T) (asserted int) {
	g.play(t, func(r *run[S, C, E, V], _ step[S, C, E]) {
		at := func(when time.Time, cmd C) (S, error) {
			in := r.input(glasshouse.System)
			in.At = when
			next, _, err := r.s.Step(in, cmd)
			return next, err
		}
		_, err := at(r.at.Add(time.Hour), g.Rules.Expire("no/such-clock"))
		require(t, err != nil, "a clock that does not run was fired")
		d := r.s.Deadline()
		if d == (glasshouse.Deadline{}) {
			require(t, g.Rules.Done(r.s) || code(err) == "stale_key", "a clock that does not run: want stale_key, got %v", err)
			return
		}
		require(t, code(err) == "stale_key", "a clock that does not run: want stale_key, got %v", err)
		if early := d.At.Add(-time.Millisecond); !early.Before(r.at) {
			_, err = at(early, g.Rules.Expire(d.Key))
			require(t, code(err) == "not_due", "%s a millisecond early: want not_due, got %v", d.Key, err)
			_, due := g.Rules.Due(r.s, early)
			require(t, !due, "%s is due a millisecond early", d.Key)
		}
		cmd, due := g.Rules.Due(r.s, d.At)
		require(t, due, "%s is not due at its time", d.Key)
		_, err = at(d.At, cmd)
		require(t, err == nil, "what is due is refused: %s: %v", r.command(cmd), err)
		next, err := at(d.At, g.Rules.Expire(d.Key))
		require(t, err == nil, "%s does not fire at its time: %v", d.Key, err)
		asserted++
		in := r.input(glasshouse.System)
		in.At = d.At
		if d2 := next.Deadline(); d2.Key != d.Key {
			_, _, err = next.Step(in, g.Rules.Expire(d.Key))
			require(t, err != nil && (g.Rules.Done(next) || code(err) == "stale_key"), "%s, fired twice: want stale_key, got %v", d.Key, err)
		} else {
			require(t, d2.At.After(d.At), "%s fires again at once", d.Key)
		}
	})
	return asserted
}

// code is the code of a Refusal, or "".
func code(err error) string {
	if r, ok := errors.AsType[glasshouse.Refusal](err); ok {
		return r.Code()
	}
	return ""
}
