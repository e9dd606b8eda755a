package machinetest

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
)

// run is one random game on its way.
type run[S glasshouse.Machine[S, C, E, V], C glasshouse.Command, E glasshouse.Event, V any] struct {
	*Game[S, C, E, V]
	t      *rapid.T
	start  Start[S]
	s      S         // the newest state
	at     time.Time // of the newest step
	draw   *recorder
	turns  []glasshouse.Turn[E]
	states []S // the fresh one, then one after each turn
}

// step is one command with its answer; after and turn are zero if it was refused.
type step[S, C, E any] struct {
	before, after S
	in            glasshouse.Input
	cmd           C
	turn          glasshouse.Turn[E]
	err           error
}

func (g *Game[S, C, E, V]) begin(t *rapid.T) *run[S, C, E, V] {
	secret := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "host's secret")
	st := g.Start(t)
	if st.At.IsZero() {
		st.At = noon
	}
	return &run[S, C, E, V]{
		Game: g, t: t, start: st, s: st.State, at: st.At, states: []S{st.State},
		draw: &recorder{src: fair.NewKeyring(secret).For(string(st.Key))},
	}
}

// play steps a random game to wherever chance leads; visit sees every step, refused ones included.
func (g *Game[S, C, E, V]) play(t *rapid.T, visit func(*run[S, C, E, V], step[S, C, E])) *run[S, C, E, V] {
	r := g.begin(t)
	t.Repeat(map[string]func(*rapid.T){"step": func(*rapid.T) {
		in, cmd := r.sample()
		visit(r, r.do(in, cmd))
	}})
	return r
}

// playOut goes on until the game is over, and reports whether it is.
func (g *Game[S, C, E, V]) playOut(t *rapid.T, visit func(*run[S, C, E, V], step[S, C, E])) (*run[S, C, E, V], bool) {
	r := g.play(t, visit)
	players := rapid.Bool().Draw(t, "players go on") // or clocks end it
	for n := 0; n < 400 && !g.Rules.Done(r.s); n++ {
		in, cmd := r.ending(players && n < 200)
		visit(r, r.do(in, cmd))
	}
	return r, g.Rules.Done(r.s)
}

// ending is a step that leads towards the end: a player's move, else the next clock, else what is left to try.
func (r *run[S, C, E, V]) ending(players bool) (glasshouse.Input, C) {
	d := r.s.Deadline()
	if players || d == (glasshouse.Deadline{}) {
		if actor, cmd, ok := r.legal(); ok {
			return r.input(actor), cmd
		}
	}
	if d != (glasshouse.Deadline{}) {
		in := r.input(glasshouse.System)
		in.At = d.At
		return in, r.Rules.Expire(d.Key)
	}
	if rapid.Bool().Draw(r.t, "void") {
		return r.input(glasshouse.System), r.Rules.Void("stuck")
	}
	actor, cmd := r.Next(r.t, r.s)
	return r.input(actor), cmd
}

// do steps and remembers. The command is decoded anew, as from a client, so that r.s shares no memory with it.
func (r *run[S, C, E, V]) do(in glasshouse.Input, cmd C) step[S, C, E] {
	st := step[S, C, E]{before: r.s, in: in, cmd: r.recode(cmd)}
	r.draw.paths = nil
	st.after, st.turn, st.err = r.s.Step(in, cmd)
	if st.err == nil {
		r.s, r.at = st.after, st.turn.At
		r.turns, r.states = append(r.turns, st.turn), append(r.states, st.after)
	}
	return st
}

func (r *run[S, C, E, V]) recode(cmd C) C {
	out, err := r.Rules.Commands.Unmarshal([]byte(r.command(cmd)))
	if err != nil {
		r.t.Fatalf("a command that was written cannot be read: %v\n%s", err, r.command(cmd))
	}
	return out
}

func (r *run[S, C, E, V]) input(actor string) glasshouse.Input {
	in := glasshouse.Input{Actor: actor, At: r.at, Draw: r.draw}
	if r.Epoch != nil {
		in.Epoch = r.Epoch(r.s, actor)
	}
	return in
}

// sample draws somebody's input and command.
func (r *run[S, C, E, V]) sample() (glasshouse.Input, C) {
	d := r.s.Deadline()
	what := rapid.SampledFrom([]string{"legal", "legal", "legal", "legal", "next", "next", "next", "clock"}).Draw(r.t, "what")
	if what == "clock" && d != (glasshouse.Deadline{}) {
		in := r.input(glasshouse.System)
		in.At = d.At.Add(rapid.SampledFrom([]time.Duration{0, 0, time.Second, -time.Millisecond}).Draw(r.t, "late"))
		return in, r.Rules.Expire(d.Key)
	}
	actor, cmd, ok := "", *new(C), false
	if what == "legal" {
		actor, cmd, ok = r.legal()
	}
	if !ok {
		actor, cmd = r.Next(r.t, r.s)
	}
	in := r.input(actor)
	if rapid.IntRange(0, 4).Draw(r.t, "with id") == 4 {
		in.ID = fmt.Sprintf("r%d", len(r.turns))
	}
	wait := []time.Duration{0, 0, 0, time.Millisecond, 300 * time.Millisecond, -time.Second, time.Nanosecond}
	in.At = r.at.Add(rapid.SampledFrom(wait).Draw(r.t, "wait"))
	if d != (glasshouse.Deadline{}) && rapid.IntRange(0, 9).Draw(r.t, "wait for the clock") == 9 {
		in.At = d.At
	}
	return in, cmd
}

// legal draws a command of somebody who has one.
func (r *run[S, C, E, V]) legal() (actor string, cmd C, ok bool) {
	actors := r.Actors(r.s)
	if len(actors) == 0 {
		return "", cmd, false
	}
	first := rapid.IntRange(0, len(actors)-1).Draw(r.t, "actor")
	for i := range actors {
		actor = actors[(first+i)%len(actors)]
		if cmds := r.s.Legal(actor); len(cmds) > 0 {
			return actor, r.recode(rapid.SampledFrom(cmds).Draw(r.t, "legal")), true
		}
	}
	return "", cmd, false
}

// recorder notes the paths that a step draws from the host's source.
type recorder struct {
	src   fair.Source
	paths []string
}

func (d *recorder) At(label string, i, j uint64) fair.Words {
	d.paths = append(d.paths, fmt.Sprintf("%s/%d/%d", label, i, j))
	return d.src.At(label, i, j)
}

// String keeps a failed check from printing the host's secret.
func (d *recorder) String() string { return "draws" }
