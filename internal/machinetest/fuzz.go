package machinetest

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
)

// material is what a game leaves behind, in bytes.
type material[S any] struct {
	start  Start[S]
	at     time.Time
	states []S
	texts  [][]byte // commands, events, turns, snapshots, the config, the record
}

func (g *Game[S, C, E, V]) material(t *rapid.T) material[S] {
	var m material[S]
	r, done := g.playOut(t, func(r *run[S, C, E, V], st step[S, C, E]) {
		if st.err != nil { // there are many of them, and all alike
			return
		}
		m.texts = append(m.texts, []byte(r.command(st.cmd)))
		for _, ev := range st.turn.Events {
			m.texts = append(m.texts, []byte(r.event(ev)))
		}
		m.texts = append(m.texts, []byte(r.turn(st.turn)), st.after.Snapshot())
	})
	m.start, m.at, m.states = r.start, r.at, r.states
	m.texts = append(m.texts, r.start.Config)
	if done && g.Record != nil {
		record, err := g.Record(r.start.Config, func(yield func(glasshouse.Turn[E], error) bool) {
			for _, turn := range r.turns {
				if !yield(turn, nil) {
					return
				}
			}
		})
		require(t, err == nil, "record: %v", err)
		m.texts = append(m.texts, record)
	}
	return m
}

// lawNoPanic alters what a game leaves behind and gives it to everything that reads.
func (g *Game[S, C, E, V]) lawNoPanic(t *rapid.T) (asserted int) {
	m := g.material(t)
	for range 15 {
		text := rapid.SampledFrom(m.texts).Draw(t, "text")
		switch rapid.IntRange(0, 9).Draw(t, "how") {
		case 0: // as it is, at another time
		case 1:
			text = alterBytes(t, text)
		default:
			text = alterJSON(t, text)
		}
		first := rapid.IntRange(0, len(m.states)-1).Draw(t, "state")
		for i := range min(len(m.states), 5) {
			g.attack(m, m.states[(first+i)%len(m.states)], text)
		}
		asserted++
	}
	return asserted
}

// attack decodes data as all that it might be, and uses what comes out.
func (g *Game[S, C, E, V]) attack(m material[S], s S, data []byte) {
	actors := append(g.Actors(s), "stranger")
	if cmd, err := g.Rules.Commands.Unmarshal(data); err == nil {
		for _, actor := range actors {
			in := glasshouse.Input{Actor: actor, At: m.at, Draw: g.quiet(m)}
			if g.Epoch != nil {
				in.Epoch = g.Epoch(s, actor)
			}
			if next, turn, err := s.Step(in, cmd); err == nil {
				g.use(m, next, turn.Events)
			}
		}
	}
	if ev, err := g.Rules.Events.Unmarshal(data); err == nil {
		g.apply(m, s, glasshouse.Turn[E]{Rev: s.Rev() + 1, At: m.at, Actor: actors[0], Events: []E{ev}})
		g.use(m, s, []E{ev})
	}
	if turn, err := g.Rules.UnmarshalTurn(data); err == nil {
		g.apply(m, s, turn)
		turn.Rev = s.Rev() + 1
		g.apply(m, s, turn)
	}
	if got, err := g.Rules.Restore(m.start.Config, data); err == nil {
		g.use(m, got, nil)
	}
	_, _ = g.Rules.Restore(data, s.Snapshot())
	if g.Verify != nil {
		_, _ = g.Verify(data)
	}
}

func (g *Game[S, C, E, V]) apply(m material[S], s S, turn glasshouse.Turn[E]) {
	if next, err := s.Apply(turn); err == nil {
		g.use(m, next, turn.Events)
	}
}

// use calls everything that reads a state.
func (g *Game[S, C, E, V]) use(m material[S], s S, events []E) {
	for _, who := range g.viewers(s) {
		_ = mustJSON(s.View(who))
		for _, ev := range events {
			s.Observe(ev, who)
		}
		for _, cmd := range s.Legal(who) {
			_, _, _ = s.Step(glasshouse.Input{Actor: who, At: m.at, Draw: g.quiet(m)}, cmd)
		}
	}
	d := s.Deadline()
	_, _, _ = s.Step(glasshouse.Input{Actor: glasshouse.System, At: d.At, Draw: g.quiet(m)}, g.Rules.Expire(d.Key))
	_, _ = g.Rules.Due(s, m.at)
	_ = g.Rules.Status(s)
	_, _ = g.Rules.Restore(m.start.Config, s.Snapshot())
}

// Fuzz gives the fuzzer's bytes, decoded as command, event, turn, snapshot, config and record, to states of a game; none
// may make the engine panic. The seeds are what one random game leaves behind.
func Fuzz[S glasshouse.Machine[S, C, E, V], C glasshouse.Command, E glasshouse.Event, V any](f *testing.F, g Game[S, C, E, V]) {
	m := rapid.Custom(g.material).Example(1)
	for i, text := range m.texts {
		f.Add(uint8(i%len(m.states)), text)
	}
	f.Fuzz(func(_ *testing.T, n uint8, data []byte) {
		g.attack(m, m.states[int(n)%len(m.states)], data)
	})
}

func alterBytes(t *rapid.T, text []byte) []byte {
	out := append([]byte{}, text...)
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		if len(out) > 0 {
			out[rapid.IntRange(0, len(out)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
	}
	return out
}

// alterJSON changes one value of a JSON text to another one of the same type, mostly: it gets past the decoder.
func alterJSON(t *rapid.T, text []byte) []byte {
	var doc any
	if json.Unmarshal(text, &doc) != nil {
		return alterBytes(t, text)
	}
	doc = alter(t, doc)
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func alter(t *rapid.T, doc any) any {
	switch v := doc.(type) {
	case map[string]any:
		if len(v) == 0 {
			return v
		}
		k := rapid.SampledFrom(sortedKeys(v)).Draw(t, "name")
		if rapid.IntRange(0, 9).Draw(t, "drop it") == 9 {
			delete(v, k)
		} else {
			v[k] = alter(t, v[k])
		}
		return v
	case []any:
		if len(v) == 0 {
			return append(v, nil)
		}
		i := rapid.IntRange(0, len(v)-1).Draw(t, "element")
		switch rapid.IntRange(0, 5).Draw(t, "list") {
		case 0:
			return append(v[:i:i], v[i+1:]...)
		case 1:
			return append(v, v[i])
		case 2:
			return []any{}
		}
		v[i] = alter(t, v[i])
		return v
	case string:
		return rapid.SampledFrom([]string{"", "0", "-1", "1", "9223372036854775807", "18446744073709551615", "x", v + "0", v + v}).Draw(t, "text")
	case float64:
		return rapid.SampledFrom([]float64{0, -1, 1, v + 1, v - 1, -v, 255, 256, 1 << 31, 1 << 52, math.MaxInt32}).Draw(t, "number")
	case bool:
		return !v
	}
	return rapid.SampledFrom([]any{0, "", []any{}, map[string]any{}, nil}).Draw(t, "value")
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// quiet is a source of secrets that needs no test.
func (g *Game[S, C, E, V]) quiet(m material[S]) fair.Source {
	return fair.NewKeyring([]byte("machinetest fuzz")).For(string(m.start.Key))
}
