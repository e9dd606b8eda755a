package fair_test

import (
	"bytes"
	"encoding"
	"encoding/json"
	"testing"

	"github.com/glasshouse-go/glasshouse/fair"
)

// fuzzText asserts that a text is refused or is the one text of its value.
func fuzzText[T encoding.TextMarshaler](f *testing.F, decode func([]byte) (T, error), seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := decode(text)
		if err != nil {
			return
		}
		if back, err := v.MarshalText(); err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%q became %q, %v", text, back, err)
		}
	})
}

func FuzzSeedText(f *testing.F) {
	fuzzText(f, func(b []byte) (v fair.ServerSeed, err error) { err = v.UnmarshalText(b); return }, "", seed(1).Hex(), "AB")
}

func FuzzDigestText(f *testing.F) {
	fuzzText(f, func(b []byte) (v fair.Digest, err error) { err = v.UnmarshalText(b); return }, "", hashA, hashB+"0")
}

func FuzzBytesText(f *testing.F) {
	fuzzText(f, func(b []byte) (v fair.Bytes, err error) { err = v.UnmarshalText(b); return }, "", "00ff", "0")
}

func FuzzDescriptorText(f *testing.F) {
	fuzzText(f, func(b []byte) (v fair.Descriptor, err error) { err = v.UnmarshalText(b); return }, "none", quick, block, "block/1/0/x/y", "drand/", "block/01/0/x")
}

func FuzzStageText(f *testing.F) {
	fuzzText(f, func(b []byte) (v fair.Stage, err error) { err = v.UnmarshalText(b); return }, "open", "voided", "invalid")
}

// fuzzJSON asserts that JSON is refused or, white space apart, the one form of
// its value.
func fuzzJSON(f *testing.F, decode func([]byte) (json.Marshaler, error)) {
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := decode(data)
		if err != nil {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, data); err != nil {
			t.Fatalf("%q was accepted", data)
		}
		if back, err := v.MarshalJSON(); err != nil || !bytes.Equal(back, want.Bytes()) {
			t.Fatalf("%q became %q, %v", data, back, err)
		}
	})
}

func FuzzLifeJSON(f *testing.F) {
	for _, l := range lives(f) {
		f.Add(must(json.Marshal(l)))
	}
	fuzzJSON(f, func(b []byte) (json.Marshaler, error) { var l fair.Life; err := l.UnmarshalJSON(b); return l, err })
}

func FuzzSessionJSON(f *testing.F) {
	s := must(must(fair.OpenSession(boxTerms, "ana", seed(1))).Begin([]byte("x")))
	f.Add(must(json.Marshal(s)))
	f.Add(must(json.Marshal(must(s.Rotate(boxTerms, seed(2))))))
	fuzzJSON(f, func(b []byte) (json.Marshaler, error) { var s fair.Session; err := s.UnmarshalJSON(b); return s, err })
}

// Beacon and Contribution have no decoder of their own: whatever JSON gives is
// checked where it enters a life.
func FuzzContributionAndBeaconJSONNeverPanic(f *testing.F) {
	f.Add(must(json.Marshal(known)), must(json.Marshal(contribution("ana"))))
	f.Fuzz(func(t *testing.T, beacon, given []byte) {
		var b fair.Beacon
		var c fair.Contribution
		if json.Unmarshal(beacon, &b) != nil || json.Unmarshal(given, &c) != nil {
			return
		}
		l, err := committed(t).Open()
		if err != nil {
			t.Fatal(err)
		}
		if l, err = l.Contribute(c); err != nil {
			return
		}
		if l, err = l.Freeze([]string{c.Player}, drandD, max(b.Round, 1)); err != nil {
			t.Fatal(err)
		}
		if l, err = l.Beacon(b); err != nil {
			return
		}
		if _, err = l.Resolve(); err != nil {
			t.Fatal(err)
		}
	})
}
