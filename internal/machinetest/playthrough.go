package machinetest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
)

var update = flag.Bool("update", false, "machinetest: rewrite the golden files; read what changed before you keep it")

// Golden compares got with the file testdata/name, or writes it with -update.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (-update writes it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-update rewrites it; -want +got):\n%s", file, diff)
	}
}

// Playthrough plays a script and compares the text of everything that anybody sees with testdata/playthrough/name.txt.
// The host's secrets are the same every time. A line of the script is one step,
//
//	ACTOR [+DURATION] KIND [DATA] [! CODE]
//	clock                              the earliest clock, at its time
//
// where ACTOR "host" is glasshouse.System, DATA is the JSON of the command, and CODE the refusal that it must get.
// Empty lines and lines that begin with # are copied into the text.
func Playthrough[S glasshouse.Machine[S, C, E, V], C glasshouse.Command, E glasshouse.Event, V any](
	t *testing.T, name string, g Game[S, C, E, V], start Start[S], script string,
) {
	t.Helper()
	if start.At.IsZero() {
		start.At = noon
	}
	p := &playthrough[S, C, E, V]{
		t: t, g: &g, s: start.State, at: start.At, start: start.At,
		draw: fair.NewKeyring([]byte("the secret of all playthroughs")).For(string(start.Key)),
	}
	p.state()
	for n, line := range strings.Split(strings.TrimSpace(script), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			fmt.Fprintf(&p.out, "\n%s\n", line)
			continue
		}
		if err := p.line(line); err != nil {
			t.Fatalf("line %d: %s: %v", n+1, line, err)
		}
	}
	Golden(t, filepath.Join("playthrough", name+".txt"), p.out.Bytes())
}

type playthrough[S glasshouse.Machine[S, C, E, V], C glasshouse.Command, E glasshouse.Event, V any] struct {
	t         *testing.T
	g         *Game[S, C, E, V]
	s         S
	at, start time.Time
	draw      fair.Source
	out       bytes.Buffer
}

func (p *playthrough[S, C, E, V]) line(line string) error {
	text, want, _ := strings.Cut(line, " ! ")
	in, cmd, err := p.parse(text)
	if err != nil {
		return err
	}
	if p.g.Epoch != nil {
		in.Epoch = p.g.Epoch(p.s, in.Actor)
	}
	next, turn, err := p.s.Step(in, cmd)
	fmt.Fprintf(&p.out, "\n> %s\n", line)
	if err != nil {
		if code(err) != strings.TrimSpace(want) {
			return fmt.Errorf("want %q: %w", want, err)
		}
		fmt.Fprintf(&p.out, "  refused: %v\n", err)
		return nil
	}
	if want != "" {
		return fmt.Errorf("want %q, it succeeds", want)
	}
	p.s, p.at = next, turn.At
	p.events(turn)
	p.state()
	return nil
}

func (p *playthrough[S, C, E, V]) parse(text string) (in glasshouse.Input, cmd C, err error) {
	in = glasshouse.Input{Actor: glasshouse.System, At: p.at, Draw: p.draw}
	if text == "clock" {
		d := p.s.Deadline()
		in.At = d.At
		return in, p.g.Rules.Expire(d.Key), nil
	}
	actor, text, _ := strings.Cut(text, " ")
	if actor != "host" {
		in.Actor = actor
	}
	if strings.HasPrefix(text, "+") {
		var wait string
		wait, text, _ = strings.Cut(text[1:], " ")
		d, err := time.ParseDuration(wait)
		if err != nil {
			return in, cmd, err
		}
		in.At = in.At.Add(d)
	}
	kind, data, _ := strings.Cut(text, " ")
	encoded := fmt.Sprintf(`{"kind":%q}`, kind)
	if data != "" {
		encoded = fmt.Sprintf(`{"kind":%q,"data":%s}`, kind, data)
	}
	cmd, err = p.g.Rules.Commands.Unmarshal([]byte(encoded))
	return in, cmd, err
}

// events writes what each viewer sees of the step; those who see the same stand together.
func (p *playthrough[S, C, E, V]) events(turn glasshouse.Turn[E]) {
	for _, ev := range turn.Events {
		var same grouped
		for _, who := range p.g.viewers(p.s) {
			text := "nothing"
			if seen, ok := p.s.Observe(ev, who); ok {
				b, err := p.g.Rules.Events.Marshal(seen)
				if err != nil {
					p.t.Fatal(err)
				}
				text = string(b)
			}
			same.add(name(who), text)
		}
		fmt.Fprintf(&p.out, "  event %s\n", ev.Kind())
		for _, s := range same {
			fmt.Fprintf(&p.out, "    %s: %s\n", strings.Join(s.names, ", "), s.text)
		}
	}
}

// state writes every view of the state, and who may do what.
func (p *playthrough[S, C, E, V]) state() {
	fmt.Fprintf(&p.out, "\n= rev %d, %s, at +%v", p.s.Rev(), p.g.Rules.Status(p.s), p.at.Sub(p.start))
	if d := p.s.Deadline(); d != (glasshouse.Deadline{}) {
		fmt.Fprintf(&p.out, ", clock %s at +%v", d.Key, d.At.Sub(p.start))
	}
	p.out.WriteByte('\n')
	var same grouped
	for _, who := range p.g.viewers(p.s) {
		b, err := json.MarshalIndent(p.s.View(who), "  ", "  ")
		if err != nil {
			p.t.Fatal(err)
		}
		same.add(name(who), string(b))
	}
	for _, s := range same {
		fmt.Fprintf(&p.out, "  %s see %s\n", strings.Join(s.names, ", "), s.text)
	}
	for _, actor := range p.g.Actors(p.s) {
		for _, cmd := range p.s.Legal(actor) {
			b, err := p.g.Rules.Commands.Marshal(cmd)
			if err != nil {
				p.t.Fatal(err)
			}
			fmt.Fprintf(&p.out, "  %s may %s\n", name(actor), b)
		}
	}
}

func name(who string) string {
	switch who {
	case "":
		return "spectators"
	case glasshouse.System:
		return "host"
	}
	return who
}

// grouped are texts with the names of those who see them, in order.
type grouped []struct {
	text  string
	names []string
}

func (g *grouped) add(name, text string) {
	for i := range *g {
		if (*g)[i].text == text {
			(*g)[i].names = append((*g)[i].names, name)
			return
		}
	}
	*g = append(*g, struct {
		text  string
		names []string
	}{text, []string{name}})
}
