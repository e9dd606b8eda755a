package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Kinder is a member of a closed set of types; Kind is its name on the wire and never changes.
type Kinder interface{ Kind() string }

// Union reads and writes {"kind":…,"data":{…}} for a closed set of struct types. A type without fields has no data.
// It is safe for concurrent use.
type Union[T Kinder] struct {
	limit int
	types map[string]reflect.Type
}

// NewUnion makes the codec of the types of the given values; limit is the largest encoding it reads, in bytes. Two
// types of one kind, or a type that is no struct, are a mistake of the program and panic.
func NewUnion[T Kinder](limit int, members ...T) *Union[T] {
	u := &Union[T]{limit: limit, types: make(map[string]reflect.Type, len(members))}
	for _, m := range members {
		t := reflect.TypeOf(m)
		if _, dup := u.types[m.Kind()]; dup || t.Kind() != reflect.Struct {
			panic(fmt.Sprintf("wire: %s is no good member of a union", t))
		}
		u.types[m.Kind()] = t
	}
	return u
}

type tagged struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Marshal writes v. A type that is not of the union is an error.
func (u *Union[T]) Marshal(v T) ([]byte, error) {
	t := reflect.TypeOf(v)
	if t == nil || u.types[v.Kind()] != t {
		return nil, fmt.Errorf("%T is not known here", v)
	}
	out := tagged{Kind: v.Kind()}
	if t.NumField() > 0 {
		data, err := Marshal(v)
		if err != nil {
			return nil, err
		}
		out.Data = data
	}
	return Marshal(out)
}

// Unmarshal reads one value, strictly as [Unmarshal] does. An unknown kind, missing data and data where none belongs
// are errors.
func (u *Union[T]) Unmarshal(data []byte) (T, error) {
	var zero T
	if len(data) > u.limit {
		return zero, fmt.Errorf("%d bytes, at most %d are read", len(data), u.limit)
	}
	var in tagged
	if err := Unmarshal(data, &in); err != nil {
		return zero, err
	}
	t, ok := u.types[in.Kind]
	if !ok {
		return zero, fmt.Errorf("kind: unknown kind %q", clip(in.Kind))
	}
	switch {
	case t.NumField() > 0 && in.Data == nil:
		return zero, fmt.Errorf("%s: data is missing", in.Kind)
	case t.NumField() == 0 && in.Data != nil:
		return zero, fmt.Errorf("%s: data is too much, it has none", in.Kind)
	}
	p := reflect.New(t)
	if in.Data != nil {
		if err := Unmarshal(in.Data, p.Interface()); err != nil {
			return zero, fmt.Errorf("%s: %w", in.Kind, err)
		}
	}
	return p.Elem().Interface().(T), nil
}
