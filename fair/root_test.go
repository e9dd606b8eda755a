package fair_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse/fair"
)

func at(unix int64) time.Time { return time.Unix(unix, 0) }

func seed(b byte) fair.ServerSeed {
	var s fair.ServerSeed
	for i := range s {
		s[i] = b + byte(i)
	}
	return s
}

func root(t testing.TB) *fair.Root {
	t.Helper()
	r, err := fair.NewRoot(seed(1), fair.Digest{1}, fair.Descriptor{}, 0, nil)
	require.NoError(t, err)
	return r
}

func TestStreamEqualsTheStandardHMACForEveryPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var key [32]byte
		copy(key[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key"))
		label := rapid.StringN(0, 23, 23).Draw(t, "label")
		i, j := rapid.Uint64().Draw(t, "i"), rapid.Uint64().Draw(t, "j")
		s := fair.RootFromKey(key).Stream(label, i, j)
		w := fair.RootFromKey(key).At(label, i, j)
		for n := range 9 {
			pre := lp(text(label)) + u(8, bigOf(i)) + u(8, bigOf(j)) + u(4, count(n/4))
			want := plainHMAC(fmt.Sprintf("%x", key), pre)[16*(n%4):][:16]
			if got := word(s.Uint64()); got != want {
				t.Fatalf("word %d: %s, want %s", n, got, want)
			}
			if got := word(w.Uint64()); got != want {
				t.Fatalf("At, word %d: %s, want %s", n, got, want)
			}
		}
	})
}

func TestStreamDrawsEqualTheFreeFunctions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := fair.RootFromKey([32]byte{1})
		i := rapid.Uint64().Draw(t, "i")
		s, w := r.Stream("x", i, 0), r.At("x", i, 0)
		for range 6 {
			n := rapid.Uint64Min(1).Draw(t, "n")
			if got, want := s.Uniform(n), fair.Uniform(w, n); got != want {
				t.Fatalf("Uniform(%d) = %d, want %d", n, got, want)
			}
			if got, want := s.Roll(n), fair.Roll(w, n); got != want {
				t.Fatalf("Roll(%d) = %d, want %d", n, got, want)
			}
		}
	})
}

func TestPathsAreIndependentOfOrder(t *testing.T) {
	r := root(t)
	first := r.At("roll", 7, 3).Uint64()
	r.At("roll", 7, 2).Uint64()
	require.Equal(t, first, r.At("roll", 7, 3).Uint64())
	seen := map[uint64]string{}
	for _, label := range []string{"", "a", "b", "aa", "a\x00"} {
		for i := range uint64(4) {
			for j := range uint64(4) {
				path := fmt.Sprintf("%q/%d/%d", label, i, j)
				w := r.At(label, i, j).Uint64()
				require.Empty(t, seen[w], "same word as %s", path)
				seen[w] = path
			}
		}
	}
}

func TestACopiedStreamGoesOnByItself(t *testing.T) {
	a := root(t).Stream("copy", 0, 0)
	a.Uint64()
	b := a
	for range 9 {
		require.Equal(t, a.Uint64(), b.Uint64())
	}
}

func TestDrawsFromAStreamDoNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("under the race detector sync.Pool forgets at random")
	}
	r := root(t)
	var sum uint64
	i := uint64(0)
	r.At("warm", 0, 0).Uint64()
	allocs := testing.AllocsPerRun(200, func() {
		s := r.Stream("roll", i, 1)
		for range 5 {
			sum += s.Roll(10_000_000)
		}
		i++
	})
	require.Zero(t, allocs)
}

func TestOneRootServesManyGoroutines(t *testing.T) {
	r := root(t)
	ring := fair.NewKeyring([]byte("0123456789abcdef"))
	want := make([]uint64, 200)
	for i := range want {
		want[i] = r.At("roll", uint64(i), 0).Uint64()
	}
	table := must(fair.NewTable(fair.Entry[int]{ID: "a", Weight: 1}, fair.Entry[int]{ID: "b", Weight: 2}))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range want {
				s := r.Stream("roll", uint64(i), 0)
				if got := s.Uint64(); got != want[i] {
					t.Errorf("path %d: %d, want %d", i, got, want[i])
				}
				table.Pick(r.At("pick", uint64(i), 0))
				ring.For("t").At("x", uint64(i), 0).Uint64()
			}
		})
	}
	wg.Wait()
}

func TestRootDependsOnEachOfItsInputs(t *testing.T) {
	drand := fair.Quicknet().Descriptor()
	sig := []byte{1, 2, 3}
	b := &fair.Beacon{Round: 5, Randomness: fair.Digest(unhex(plainSHA("010203"))), Signature: sig}
	blk := fair.Descriptor{Source: fair.SourceBlock, Chain: "x", Delay: 1}
	roots := []*fair.Root{
		must(fair.NewRoot(seed(1), fair.Digest{1}, fair.Descriptor{}, 0, nil)),
		must(fair.NewRoot(seed(2), fair.Digest{1}, fair.Descriptor{}, 0, nil)),
		must(fair.NewRoot(seed(1), fair.Digest{2}, fair.Descriptor{}, 0, nil)),
		must(fair.NewRoot(seed(1), fair.Digest{1}, drand, 5, b)),
		must(fair.NewRoot(seed(1), fair.Digest{1}, blk, 5, &fair.Beacon{Round: 5, Randomness: b.Randomness})),
		must(fair.NewRoot(seed(1), fair.Digest{1}, blk, 6, &fair.Beacon{Round: 6, Randomness: b.Randomness})),
		must(fair.NewRoot(seed(1), fair.Digest{1}, blk, 6, &fair.Beacon{Round: 6, Randomness: fair.Digest{9}})),
	}
	for i, a := range roots {
		for j, b := range roots {
			require.Equal(t, i == j, a.At("x", 0, 0).Uint64() == b.At("x", 0, 0).Uint64(), "%d %d", i, j)
		}
	}
}

func TestNewRootRefusesAnInvalidDescriptor(t *testing.T) {
	_, err := fair.NewRoot(seed(1), fair.Digest{1}, fair.Descriptor{Source: "nist"}, 1, nil)
	require.ErrorIs(t, err, fair.ErrDescriptor)
}

// The words of a keyring are not part of the scheme, but a host must find its
// own again after an upgrade.
func TestKeyringWordsAreTheDocumentedOnes(t *testing.T) {
	secret := []byte("0123456789abcdef")
	k := plainHMAC(text(string(secret)), lp(text("glasshouse/fair/keyring")))
	for _, key := range []string{"", "battle:1", "\xff"} {
		key32 := plainHMAC(k, lp(text("glasshouse/fair/keyring/key"))+lp(text(key)))
		want := plainHMAC(key32, blockPre("seed", "1", "2", 0))[:16]
		require.Equal(t, want, word(fair.NewKeyring(secret).For(key).At("seed", 1, 2).Uint64()))
	}
}

func TestKeyringDoesNotRetainItsSecret(t *testing.T) {
	secret := []byte("0123456789abcdef")
	ring := fair.NewKeyring(secret)
	want := ring.For("k").At("x", 0, 0).Uint64()
	clear(secret)
	require.Equal(t, want, ring.For("k").At("x", 0, 0).Uint64())
	require.NotEqual(t, want, ring.For("l").At("x", 0, 0).Uint64())
	require.NotEqual(t, want, fair.NewKeyring([]byte("0123456789abcdeg")).For("k").At("x", 0, 0).Uint64())
}

// holder stands for a foreign state with secrets in unexported fields, where
// fmt asks no method.
type holder struct {
	life    fair.Life
	session fair.Session
	root    *fair.Root
	ring    *fair.Keyring
}

func TestSecretsPrintAsSecretUnderEveryVerb(t *testing.T) {
	s := seed(0x41)
	l := must(fair.Commit(fair.Terms{Kind: "k", Session: "s"}, s))
	ses := must(fair.OpenSession(fair.Terms{Kind: "k", Session: "s"}, "p", s))
	r := root(t)
	ring := fair.NewKeyring(s[:])
	stream := r.Stream("x", 0, 0)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%08b", "%T%v"} {
		for _, v := range []any{s, &s, l, ses, r, ring, &stream, r.At("x", 0, 0), ring.For("k")} {
			if verb == "%T%v" {
				require.Contains(t, fmt.Sprintf(verb, v, v), "[secret]")
				continue
			}
			require.Equal(t, "[secret]", fmt.Sprintf(verb, v), "%s of %T", verb, v)
		}
		out := fmt.Sprintf(verb, holder{l, ses, r, ring})
		for _, secret := range []string{s.Hex(), strings.ToUpper(s.Hex()), "65 66 67", "0x41, 0x42", "0x41 0x42", "{k s"} {
			require.NotContains(t, out, secret, verb)
		}
	}
	for _, v := range []fmt.Stringer{s, l, ses, r, ring, &stream} {
		require.Equal(t, "[secret]", v.String())
	}
	require.Equal(t, "[secret]", s.GoString())
}

func TestSeedTextIsStrict(t *testing.T) {
	good := seed(7).Hex()
	s, err := fair.ParseSeed(good)
	require.NoError(t, err)
	require.Equal(t, seed(7), s)
	for _, bad := range []string{"", good[1:], good + "0", strings.ToUpper(good), "g" + good[1:], "/" + good[1:], ":" + good[1:], "`" + good[1:], " " + good[1:]} {
		_, err := fair.ParseSeed(bad)
		require.ErrorIs(t, err, fair.ErrSeed)
		keep := seed(9)
		require.ErrorIs(t, keep.UnmarshalText([]byte(bad)), fair.ErrSeed)
		require.Equal(t, seed(9), keep, "an error changes nothing")
		_, err = fair.ParseDigest(bad)
		require.ErrorIs(t, err, fair.ErrDigest)
		var d fair.Digest
		require.ErrorIs(t, d.UnmarshalText([]byte(bad)), fair.ErrDigest)
		if len(bad) > 60 {
			_, err := fair.ParseSeed(bad)
			require.NotContains(t, err.Error(), bad[2:20], "a refused seed may still be one")
		}
	}
	require.True(t, fair.ServerSeed{}.IsZero())
	require.False(t, s.IsZero())
	require.True(t, fair.Digest{}.IsZero())
	require.False(t, fair.Digest{31: 1}.IsZero())
}

func TestBytesTextIsStrict(t *testing.T) {
	var b fair.Bytes
	require.NoError(t, b.UnmarshalText([]byte("00ff")))
	require.Equal(t, fair.Bytes{0, 255}, b)
	require.Equal(t, "00ff", b.String())
	for _, bad := range []string{"0", "0g", "FF", " 0"} {
		require.ErrorIs(t, b.UnmarshalText([]byte(bad)), fair.ErrBytes)
		require.Equal(t, fair.Bytes{0, 255}, b, "an error changes nothing")
	}
	require.NoError(t, b.UnmarshalText(nil))
	require.Nil(t, b)
}

func TestNewSeedNeedsThirtyTwoBytes(t *testing.T) {
	s, err := fair.NewSeed(strings.NewReader("thirty-two bytes of good entropy and more"))
	require.NoError(t, err)
	require.Equal(t, []byte("thirty-two bytes of good entropy"), s[:])
	_, err = fair.NewSeed(strings.NewReader("thirty-one bytes are not enough"))
	require.ErrorIs(t, err, fair.ErrEntropy)
	require.ErrorContains(t, err, "unexpected EOF")
	_, err = fair.NewSeed(bytes.NewReader(make([]byte, 32)))
	require.ErrorIs(t, err, fair.ErrSeed)
}

func TestSeedFromTakesFourBigEndianWords(t *testing.T) {
	s := fair.SeedFrom(&script{words: []uint64{0x0102030405060708, 0x090a0b0c0d0e0f10, 0x1112131415161718, 0x191a1b1c1d1e1f20}})
	require.Equal(t, seed(1), s)
}

func TestErrorsHaveATextAndACode(t *testing.T) {
	require.Equal(t, "fair: out of order", fair.ErrOrder.Error())
	require.Equal(t, "out_of_order", fair.ErrOrder.Code())
}

func TestNamesMustBeShortUTF8(t *testing.T) {
	for _, bad := range []string{"", "\xff", strings.Repeat("x", 129)} {
		_, err := seed(1).Commit(bad)
		require.ErrorIs(t, err, fair.ErrText)
	}
	_, err := seed(1).Commit(strings.Repeat("x", 128))
	require.NoError(t, err)
}

func ExampleKeyring() {
	ring := fair.NewKeyring([]byte("at least sixteen bytes of secret"))
	first := fair.SeedFrom(ring.For("battle:17").At("seed", 0, 0))
	again := fair.SeedFrom(ring.For("battle:17").At("seed", 0, 0))
	other := fair.SeedFrom(ring.For("battle:18").At("seed", 0, 0))
	fmt.Println(first == again, first == other, first)
	// Output: true false [secret]
}
