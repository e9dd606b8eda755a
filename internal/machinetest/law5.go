package machinetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// lawBlind is non-interference: two worlds that differ only in what viewer cannot know look alike to him.
func (g *Game[S, C, E, V]) lawBlind(t *rapid.T) (asserted int) {
	events := 0
	g.play(t, func(r *run[S, C, E, V], st step[S, C, E]) {
		viewer := rapid.SampledFrom(r.viewers(r.s)).Draw(t, "viewer")
		if other, ok := g.Swap(t, r.s, viewer); ok {
			r.alike(r.s, other, viewer)
			asserted++
		}
		if g.SwapEvent == nil {
			return
		}
		for _, ev := range st.turn.Events {
			if other, ok := g.SwapEvent(t, ev, viewer); ok {
				r.eventsAlike(st.after, ev, other, viewer)
				events++
			}
		}
	})
	return asserted + events
}

func (r *run[S, C, E, V]) alike(s, other S, viewer string) {
	t := r.t
	ours, theirs := mustJSON(s.View(viewer)), mustJSON(other.View(viewer))
	var m masks
	m.add(ours, "", r.Mask)
	m.add(theirs, "", r.Mask)
	compare := func(what, got, want string) {
		t.Helper()
		same(t, what+" in a world that differs only in what "+fmt.Sprintf("%q", viewer)+" cannot know", m.apply(got), m.apply(want))
	}
	compare("View", theirs, ours)
	compare("what is shown", r.shown(other, viewer), r.shown(s, viewer))
	compare("the state in print", printed(other), printed(s))
	compare("Deadline", fmt.Sprint(other.Deadline()), fmt.Sprint(s.Deadline()))
	if viewer == "" {
		return
	}
	// Whether his own command succeeds, and why not, tells him something too.
	for range 3 {
		in, cmd := r.sample()
		in.Actor = viewer
		if r.Epoch != nil {
			in.Epoch = r.Epoch(s, viewer)
		}
		in.Draw = r.draw.src
		if r.reveals(r.command(cmd), s, viewer) || r.reveals(r.command(cmd), other, viewer) {
			continue // he could only have guessed it
		}
		_, _, err1 := s.Step(in, r.recode(cmd))
		_, _, err2 := other.Step(in, r.recode(cmd))
		compare("the answer to "+r.command(cmd), fmt.Sprint(err2)+printed(err2), fmt.Sprint(err1)+printed(err1))
	}
}

// reveals reports whether a text holds a secret that viewer cannot know.
func (r *run[S, C, E, V]) reveals(text string, s S, viewer string) bool {
	return r.Secrets != nil && slices.ContainsFunc(r.Secrets(s, viewer), func(secret string) bool { return strings.Contains(text, secret) })
}

func (r *run[S, C, E, V]) eventsAlike(s S, ev, other E, viewer string) {
	require(r.t, ev.Kind() == other.Kind(), "SwapEvent made a %s of a %s", other.Kind(), ev.Kind())
	ours, oursPrinted := r.observed(s, ev, viewer)
	theirs, theirsPrinted := r.observed(s, other, viewer)
	var m masks
	m.add(eventData(ours), ev.Kind(), r.Mask)
	m.add(eventData(theirs), ev.Kind(), r.Mask)
	what := "Observe of " + ev.Kind() + " with other secrets, by " + viewer
	same(r.t, what, m.apply(theirs), m.apply(ours))
	same(r.t, what+", in print", m.apply(theirsPrinted), m.apply(oursPrinted))
	m = masks{}
	m.add(eventData(r.event(ev)), ev.Kind(), r.Mask)
	m.add(eventData(r.event(other)), ev.Kind(), r.Mask)
	same(r.t, "the private event in print", m.apply(printed(other)), m.apply(printed(ev)))
}

func eventData(text string) string {
	var e struct{ Data json.RawMessage }
	if json.Unmarshal([]byte(text), &e) != nil {
		return ""
	}
	return string(e.Data)
}

// lawObserve: what an event shows does not depend on when one asks.
func (g *Game[S, C, E, V]) lawObserve(t *rapid.T) (asserted int) {
	r, _ := g.playOut(t, func(*run[S, C, E, V], step[S, C, E]) {})
	if len(r.turns) == 0 {
		return 0
	}
	middle := rapid.IntRange(1, len(r.turns)).Draw(t, "later")
	for i, turn := range r.turns {
		for _, ev := range turn.Events {
			for _, who := range r.viewers(r.s) {
				first, prints := r.observed(r.states[i+1], ev, who)
				for _, later := range []int{max(middle, i+1), len(r.turns)} {
					data, again := r.observed(r.states[later], ev, who)
					what := fmt.Sprintf("%s of rev %d, observed by %q at rev %d", ev.Kind(), turn.Rev, who, later)
					same(t, what, data, first)
					same(t, what+", in print", again, prints)
				}
				asserted++
			}
		}
	}
	return asserted
}

// lawSecrets: nothing that anybody is shown, and nothing that a log might print, has a secret in it.
func (g *Game[S, C, E, V]) lawSecrets(t *rapid.T) (asserted int) {
	clean := func(r *run[S, C, E, V], what, text, viewer string) {
		t.Helper()
		for _, secret := range g.Secrets(r.s, viewer) {
			require(t, secret != "", "Secrets lists an empty text")
			require(t, !strings.Contains(text, secret), "%s shows %q what he must not see: %q\n%s", what, viewer, secret, text)
			asserted++
		}
	}
	g.play(t, func(r *run[S, C, E, V], st step[S, C, E]) {
		for _, who := range r.viewers(r.s) {
			clean(r, "the state", r.shown(r.s, who), who)
			for _, ev := range st.turn.Events {
				data, prints := r.observed(r.s, ev, who)
				clean(r, "the event "+ev.Kind(), data+prints, who)
			}
		}
		if st.err != nil {
			clean(r, "a refusal", printed(st.err), st.in.Actor)
			return
		}
		clean(r, "a printed state", printed(r.s)+mustJSON(r.s)+printed(r.start.State), "")
		clean(r, "a printed turn", printed(st.turn), "")
		clean(r, "a printed Tx", printed(st.after.Tx(r.start.Key, st.turn)), "")
	})
	return asserted
}
