package fair

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
)

// ServerSeed is the secret of the house: 32 uniform bytes. It prints as
// [secret] under every verb; its text form (64 lower-case hex digits) is for
// private snapshots, [ServerSeed.Hex] for the deliberate reveal. fmt cannot
// protect a seed held directly in an unexported field of a foreign struct that
// is printed as a whole: keep it inside a [Life], which can.
type ServerSeed [32]byte

// SeedFrom makes a seed of the next four words, big-endian. The words must be
// secret and unpredictable: a host takes them from a [Keyring].
func SeedFrom(w Words) ServerSeed {
	var s ServerSeed
	for i := range 4 {
		binary.BigEndian.PutUint64(s[8*i:], w.Uint64())
	}
	return s
}

// NewSeed reads 32 bytes from r, which is crypto/rand.Reader outside tests. A
// short read is [ErrEntropy], 32 zero bytes are [ErrSeed].
func NewSeed(r io.Reader) (ServerSeed, error) {
	var s ServerSeed
	if _, err := io.ReadFull(r, s[:]); err != nil {
		return ServerSeed{}, fmt.Errorf("%w: %w", ErrEntropy, err)
	}
	if s.IsZero() {
		return ServerSeed{}, fmt.Errorf("%w: the source gave 32 zero bytes", ErrSeed)
	}
	return s, nil
}

// ParseSeed reads 64 lower-case hex digits; anything else is [ErrSeed]. The
// error never repeats the text.
func ParseSeed(text string) (ServerSeed, error) {
	var s ServerSeed
	if !decodeHex32((*[32]byte)(&s), text) {
		return ServerSeed{}, fmt.Errorf("%w: want 64 lower-case hex digits", ErrSeed)
	}
	return s, nil
}

// Commit returns the commitment to the seed for one session, to be published
// before anybody contributes: SHA-256(LP(P"/commit") ‖ LP(session) ‖ LP(seed)).
// The session is 1..128 bytes of valid UTF-8 ([ErrText]); the zero seed is
// refused ([ErrSeed]).
func (s ServerSeed) Commit(session string) (Digest, error) {
	if err := checkText("session", session); err != nil {
		return Digest{}, err
	}
	if s.IsZero() {
		return Digest{}, fmt.Errorf("%w: the seed of session %q is zero", ErrSeed, session)
	}
	b := appendLP(nil, tag+"/commit")
	b = appendLP(b, session)
	b = appendLP(b, s[:])
	return sha256.Sum256(b), nil
}

// Hex reveals the seed as 64 lower-case hex digits.
func (s ServerSeed) Hex() string { return hex.EncodeToString(s[:]) }

// IsZero tells whether the seed was never set.
func (s ServerSeed) IsZero() bool { return s == ServerSeed{} }

// String returns [secret].
func (s ServerSeed) String() string { return secretText }

// GoString returns [secret].
func (s ServerSeed) GoString() string { return secretText }

// Format prints [secret] whatever the verb.
func (s ServerSeed) Format(f fmt.State, _ rune) { printSecret(f) }

// MarshalText returns 64 lower-case hex digits: for private snapshots only.
func (s ServerSeed) MarshalText() ([]byte, error) { return []byte(s.Hex()), nil }

// UnmarshalText is [ParseSeed].
func (s *ServerSeed) UnmarshalText(text []byte) error {
	v, err := ParseSeed(string(text))
	if err == nil {
		*s = v
	}
	return err
}

const secretText = "[secret]"

func printSecret(f fmt.State) { _, _ = io.WriteString(f, secretText) }

// veil hides a secret from fmt, which walks the unexported fields of a foreign
// struct by reflection, asks no method there, and under some verbs follows one
// pointer, but never two: it prints an address.
type veil[T any] struct{ p **T }

func hide[T any](v *T) veil[T] { return veil[T]{&v} }

func (v veil[T]) get() *T {
	if v.p == nil {
		return nil
	}
	return *v.p
}

// decodeHex32 is strict: hex.Decode would take upper-case digits, and two texts
// for one value would make records ambiguous.
func decodeHex32(dst *[32]byte, text string) bool {
	if len(text) != 64 || !lowerHex(text) {
		return false
	}
	_, err := hex.Decode(dst[:], []byte(text))
	return err == nil
}

func lowerHex(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
