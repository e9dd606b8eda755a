package machinetest

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/glasshouse-go/glasshouse"
)

func (r *run[S, C, E, V]) command(cmd C) string {
	b, err := r.Rules.Commands.Marshal(cmd)
	if err != nil {
		r.t.Fatalf("command %T cannot be written: %v", cmd, err)
	}
	return string(b)
}

func (r *run[S, C, E, V]) event(ev E) string {
	b, err := r.Rules.Events.Marshal(ev)
	if err != nil {
		r.t.Fatalf("event %T cannot be written: %v", ev, err)
	}
	return string(b)
}

func (r *run[S, C, E, V]) turn(t glasshouse.Turn[E]) string {
	b, err := r.Rules.MarshalTurn(t)
	if err != nil {
		r.t.Fatalf("turn %d cannot be written: %v", t.Rev, err)
	}
	return string(b)
}

func (r *run[S, C, E, V]) commands(cmds []C) string {
	out := make([]string, len(cmds))
	for i, c := range cmds {
		out[i] = r.command(c)
	}
	return strings.Join(out, "\n")
}

// observed is what viewer sees of ev by the rules of s: its bytes and its prints, or nothing.
func (r *run[S, C, E, V]) observed(s S, ev E, viewer string) (data, prints string) {
	seen, ok := s.Observe(ev, viewer)
	if !ok {
		return "nothing", ""
	}
	return r.event(seen), printed(seen)
}

// shown is everything that s shows to viewer by itself, as text.
func (r *run[S, C, E, V]) shown(s S, viewer string) string {
	v := s.View(viewer)
	legal := s.Legal(viewer)
	return "view " + mustJSON(v) + printed(v) + "\nlegal " + r.commands(legal) + printed(legal)
}

// answer is everything that Step gives, as text.
func (r *run[S, C, E, V]) answer(next S, t glasshouse.Turn[E], err error) string {
	if err != nil {
		return "error " + err.Error()
	}
	return fmt.Sprintf("turn %s\nsnapshot %s\nstatus %s\ndeadline %v", r.turn(t), next.Snapshot(), r.Rules.Status(next), next.Deadline())
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("no JSON of %T: %v", v, err)
	}
	return string(b)
}

var verbs = []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"}

// pointer is an address in a print: another one each time, and no secret. The heap begins somewhere else in every run,
// so an address is known by how it begins.
var pointer, pointerHex, pointerDec = func() (*regexp.Regexp, string, string) {
	p := uint64(reflect.ValueOf(new([64]byte)).Pointer())
	hex, dec := fmt.Sprintf("%x", p), fmt.Sprint(p)
	return regexp.MustCompile(fmt.Sprintf(`\b(0[xX])?(?i:%s)[0-9a-fA-F]{%d}\b|\b%s\d{%d}\b`,
		hex[:4], len(hex)-4, dec[:3], len(dec)-3)), hex[:4], dec[:3]
}()

// printed is v under the verbs that a log might use.
func printed(v any) string {
	var b strings.Builder
	for _, verb := range verbs {
		fmt.Fprintf(&b, "\n%s: ", verb)
		text := fmt.Sprintf(verb, v)
		if strings.Contains(strings.ToLower(text), pointerHex) || strings.Contains(text, pointerDec) {
			text = pointer.ReplaceAllString(text, "pointer") // slow
		}
		b.WriteString(text)
	}
	return b.String()
}

// masks takes the values at the paths out of texts.
type masks struct{ values []string }

// add finds the values of patterns in the JSON text; what is no JSON has none.
func (m *masks) add(text, prefix string, patterns []string) {
	var doc any
	if json.Unmarshal([]byte(text), &doc) != nil {
		return
	}
	for _, p := range patterns {
		path := strings.Split(p, ".")
		if prefix != "" {
			if path[0] != prefix {
				continue
			}
			path = path[1:]
		}
		m.find(doc, path)
	}
}

func (m *masks) find(doc any, path []string) {
	switch v := doc.(type) {
	case string:
		// A short text would be masked wherever it stands by chance.
		if len(path) == 0 && len(v) >= 16 {
			m.values = append(m.values, v)
		}
	case map[string]any:
		if len(path) > 0 {
			m.find(v[path[0]], path[1:])
		}
	case []any:
		for _, e := range v {
			if len(path) > 0 && path[0] == "*" {
				m.find(e, path[1:])
			}
		}
	}
}

func (m *masks) apply(text string) string {
	for _, v := range m.values {
		for _, form := range forms(v) {
			text = strings.ReplaceAll(text, form, "[masked]")
		}
	}
	return text
}

// forms are the ways in which a value may stand in a print.
func forms(v string) []string {
	out := []string{v, strings.ToUpper(v), fmt.Sprintf("%x", v), fmt.Sprintf("%X", v)}
	if b, err := hex.DecodeString(v); err == nil { // a digest, as bytes
		out = append(out, strings.Trim(fmt.Sprint(b), "[]"), strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", b), "[]byte{"), "}"))
	}
	return out
}

// scribble overwrites everything that a holder of v could: the elements of its slices, maps and pointers.
func scribble(v any) { overwrite(reflect.ValueOf(v), false, 0) }

func overwrite(v reflect.Value, mine bool, depth int) {
	if depth > 16 {
		return
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			overwrite(v.Index(i), true, depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			overwrite(v.Index(i), mine, depth+1)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			v.SetMapIndex(k, reflect.Zero(v.Type().Elem()))
		}
	case reflect.Pointer:
		overwrite(v.Elem(), true, depth+1)
	case reflect.Interface:
		overwrite(v.Elem(), false, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				overwrite(v.Field(i), mine, depth+1)
			}
		}
	default:
		if mine && v.CanSet() {
			v.SetZero()
		}
	}
}
