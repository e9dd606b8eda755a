package wire

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// maxDepth bounds how deep objects and arrays may nest; nothing of ours comes near it.
const maxDepth = 64

// Marshal writes v as compact JSON with characters such as < left as they are, so that two programs in two languages
// can agree on the bytes.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Unmarshal reads exactly one JSON value into v, a non-nil pointer. Refused, with the path of the field at fault: an
// unknown name, a name twice in one object, a name in another case, null where a value belongs, invalid UTF-8, a lone
// surrogate, trailing data, nesting deeper than 64. On an error *v may be half filled: throw it away.
func Unmarshal(data []byte, v any) error {
	if !utf8.Valid(data) {
		return errors.New("invalid UTF-8")
	}
	if err := checkSurrogates(data); err != nil {
		return err
	}
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer {
		return fmt.Errorf("cannot decode into %T", v)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	w := walker{dec: dec}
	if err := w.value(t.Elem(), 0); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("trailing data")
	}
	dec = json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return plainError(dec.Decode(v))
}

// plainError takes the Go type names out of an error of encoding/json.
func plainError(err error) error {
	if typeErr, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := typeErr.Field
		if field == "" {
			return fmt.Errorf("%s does not fit here", typeErr.Value)
		}
		return fmt.Errorf("%s: %s does not fit here", field, typeErr.Value)
	}
	return err
}

// walker reads the tokens of a value once before it is decoded, along the Go type it is meant for.
type walker struct {
	dec  *json.Decoder
	path []string
}

func (w *walker) fail(format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	if len(w.path) == 0 {
		return errors.New(msg)
	}
	return fmt.Errorf("%s: %s", strings.Join(w.path, ""), msg)
}

func (w *walker) token() (json.Token, error) {
	tok, err := w.dec.Token()
	if errors.Is(err, io.EOF) {
		return nil, w.fail("unexpected end of data")
	}
	if err != nil {
		return nil, w.fail("%v", err)
	}
	return tok, nil
}

// value checks one value; t is nil where the type decodes itself and only the general rules hold.
func (w *walker) value(t reflect.Type, depth int) error {
	if depth > maxDepth {
		return w.fail("nested too deeply")
	}
	tok, err := w.token()
	if err != nil {
		return err
	}
	nullable := t == nil
	for t != nil && t.Kind() == reflect.Pointer {
		t, nullable = t.Elem(), true
	}
	if t != nil {
		if decodesItself(t) {
			t = nil
		} else if k := t.Kind(); k == reflect.Slice || k == reflect.Interface {
			nullable = true
		}
	}
	switch tok {
	case nil:
		if !nullable {
			return w.fail("must not be null")
		}
		return nil
	case json.Delim('{'):
		return w.object(t, depth)
	case json.Delim('['):
		return w.array(t, depth)
	}
	return nil
}

func (w *walker) object(t reflect.Type, depth int) error {
	var fields map[string]reflect.Type
	if t != nil && t.Kind() == reflect.Struct {
		fields = fieldsOf(t)
	}
	seen := make(map[string]bool)
	for w.dec.More() {
		tok, err := w.token()
		if err != nil {
			return err
		}
		name, _ := tok.(string) // the decoder lets nothing but a string stand here
		if seen[name] {
			return w.fail("name %q twice", clip(name))
		}
		seen[name] = true
		var ft reflect.Type
		if fields != nil {
			var ok bool
			if ft, ok = fields[name]; !ok {
				return w.fail("unknown field %q", clip(name))
			}
		}
		dot := "."
		if len(w.path) == 0 {
			dot = ""
		}
		w.path = append(w.path, dot+clip(name))
		if err := w.value(ft, depth+1); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	_, err := w.token()
	return err
}

func (w *walker) array(t reflect.Type, depth int) error {
	var et reflect.Type
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		et = t.Elem()
	}
	n := 0
	for ; w.dec.More(); n++ {
		w.path = append(w.path, "["+strconv.Itoa(n)+"]")
		if err := w.value(et, depth+1); err != nil {
			return err
		}
		w.path = w.path[:len(w.path)-1]
	}
	if _, err := w.token(); err != nil {
		return err
	}
	if t != nil && t.Kind() == reflect.Array && n != t.Len() {
		return w.fail("%d elements, want %d", n, t.Len())
	}
	return nil
}

// clip keeps an attacker's name from filling an error message.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

var (
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonUnmarshaler) || p.Implements(textUnmarshaler)
}

var fieldCache sync.Map // reflect.Type → map[string]reflect.Type; a cache only, its content is a function of the type

// fieldsOf lists the JSON names of a struct, those of embedded structs included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if m, ok := fieldCache.Load(t); ok {
		return m.(map[string]reflect.Type)
	}
	m := make(map[string]reflect.Type)
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || tag == "-" || f.Anonymous && tag == "" {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		m[tag] = f.Type
	}
	fieldCache.Store(t, m)
	return m
}

// checkSurrogates refuses \uD800…\uDFFF that do not pair up: encoding/json would turn them into U+FFFD in silence, and
// two different texts would become one.
func checkSurrogates(data []byte) error {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		r, ok := escape(data[i:])
		if !ok {
			i++ // skip what is escaped, it may be a backslash
			continue
		}
		i += 5
		switch {
		case r >= 0xDC00 && r < 0xE000:
			return errors.New("lone surrogate in a string")
		case r >= 0xD800 && r < 0xDC00:
			low, ok := escape(data[i+1:])
			if !ok || low < 0xDC00 || low >= 0xE000 {
				return errors.New("lone surrogate in a string")
			}
			i += 6
		}
	}
	return nil
}

// escape reads a \uXXXX at the start of b.
func escape(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	return rune(n), err == nil
}
