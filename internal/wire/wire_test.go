package wire

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type suit uint8

func (s suit) MarshalText() ([]byte, error) { return []byte{'a' + byte(s)}, nil }
func (s *suit) UnmarshalText(b []byte) error {
	*s = suit(b[0] - 'a')
	return nil
}

type inner struct {
	Amount int64 `json:"amount,string"`
}

type sample struct {
	Name  string   `json:"name"`
	Suit  suit     `json:"suit"`
	List  []inner  `json:"list"`
	Two   [2]uint8 `json:"two"`
	Deep  *inner   `json:"deep,omitempty"`
	Plain string
	Skip  string `json:"-"`
	inner
}

func TestUnmarshalRefuses(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"unknown field", `{"nam":"x"}`, `unknown field "nam"`},
		{"wrong case", `{"Name":"x"}`, `unknown field "Name"`},
		{"skipped field", `{"Skip":"x"}`, `unknown field "Skip"`},
		{"name twice", `{"name":"x","name":"y"}`, `name "name" twice`},
		{"name twice, escaped", `{"name":"x","\u006eame":"y"}`, `name "name" twice`},
		{"name twice, deep", `{"list":[{"amount":"1"},{"amount":"1","amount":"2"}]}`, `list[1]: name "amount" twice`},
		{"unknown, deep", `{"deep":{"amoun":"1"}}`, `deep: unknown field "amoun"`},
		{"null", `{"name":null}`, `name: must not be null`},
		{"null in a list", `{"list":[null]}`, `list[0]: must not be null`},
		{"trailing data", `{} {}`, `trailing data`},
		{"trailing comma", `{"name":"x",}`, `invalid character`},
		{"cut off", `{"name":"x"`, `unexpected end`},
		{"nothing", ``, `unexpected end`},
		{"broken UTF-8", "{\"name\":\"\xff\"}", `invalid UTF-8`},
		{"lone low surrogate", `{"name":"\udc00"}`, `lone surrogate`},
		{"lone high surrogate", `{"name":"\ud800x"}`, `lone surrogate`},
		{"high surrogate twice", `{"name":"\ud800\ud800"}`, `lone surrogate`},
		{"number for a string", `{"name":1}`, `name: number does not fit`},
		{"fraction for an integer", `{"two":[1.5,2]}`, `does not fit`},
		{"array too short", `{"two":[1]}`, `two: 1 elements, want 2`},
		{"array too long", `{"two":[1,2,3]}`, `two: 3 elements, want 2`},
		{"amount as a number", `{"list":[{"amount":1}]}`, `string`},
		{"too deep", strings.Repeat("[", 100) + strings.Repeat("]", 100), `nested too deeply`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var v sample
			require.ErrorContains(t, Unmarshal([]byte(tc.in), &v), tc.want)
		})
	}
	require.ErrorContains(t, Unmarshal([]byte(`{}`), sample{}), "cannot decode")
	require.ErrorContains(t, Unmarshal([]byte(`{}`), nil), "cannot decode")
	var raw any
	require.ErrorContains(t, Unmarshal([]byte(`{"a":[{"b":1,"b":2}]}`), &raw), `a[0]: name "b" twice`)
}

func TestUnmarshalReads(t *testing.T) {
	var v sample
	require.NoError(t, Unmarshal([]byte(`{"name":"a\\udc00 <\ud83d\ude00>","suit":"c","list":[{"amount":"9007199254740993"}],"two":[1,2],"deep":null,"Plain":"p"}`), &v))
	require.Equal(t, sample{Name: `a\udc00 <😀>`, Suit: 2, List: []inner{{9007199254740993}}, Two: [2]uint8{1, 2}, Plain: "p"}, v)
	out, err := Marshal(v)
	require.NoError(t, err)
	require.Equal(t, `{"name":"a\\udc00 <😀>","suit":"c","list":[{"amount":"9007199254740993"}],"two":[1,2],"Plain":"p","amount":"0"}`, string(out))
	v.List = nil
	require.NoError(t, Unmarshal([]byte(`{"list":null}`), &v))
}

type (
	shape interface{ Kind() string }
	dot   struct{}
	line  struct {
		Len int `json:"len"`
	}
)

func (dot) Kind() string  { return "dot" }
func (line) Kind() string { return "line" }

func TestUnion(t *testing.T) {
	u := NewUnion[shape](64, dot{}, line{})
	for in, want := range map[string]shape{`{"kind":"dot"}`: dot{}, `{"kind":"line","data":{"len":3}}`: line{3}} {
		v, err := u.Unmarshal([]byte(in))
		require.NoError(t, err)
		require.Equal(t, want, v)
		out, err := u.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, in, string(out))
	}
	for in, want := range map[string]string{
		`{"kind":"dash"}`: `unknown kind "dash"`, `{}`: `unknown kind ""`, `{"kind":"dot","data":{}}`: "dot: data is too much, it has none",
		`{"kind":"line"}`: "line: data is missing", `{"kind":"line","data":{"width":1}}`: `line: unknown field "width"`,
		`{"kind":"line","data":null}`: "must not be null", `{"kind":"line","data":{"len":1},"x":1}`: `unknown field "x"`,
		`{"kind":"` + strings.Repeat("x", 99) + `"}`: "at most 64",
	} {
		_, err := u.Unmarshal([]byte(in))
		require.ErrorContains(t, err, want, in)
	}
	_, err := u.Marshal(nil)
	require.Error(t, err)
	_, err = NewUnion[shape](64, line{}).Marshal(dot{})
	require.ErrorContains(t, err, "not known")
	require.Panics(t, func() { NewUnion[shape](64, dot{}, dot{}) })
}

func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{`{"name":"x","suit":"c","list":[{"amount":"1"}],"two":[1,2]}`, `[`, `{"deep":{"amount":"-5"}}`, `"\ud83d\ude00"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v, again struct {
			Name string  `json:"name"`
			List []inner `json:"list"`
			Deep *inner  `json:"deep"`
		}
		if Unmarshal(data, &v) != nil {
			return
		}
		out, err := Marshal(v)
		require.NoError(t, err)
		require.NoError(t, Unmarshal(out, &again))
		require.Equal(t, v, again)
	})
}
