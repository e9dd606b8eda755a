package fair

import (
	"encoding/hex"
	"fmt"
)

// Digest is a public 32-byte value: a SHA-256 hash, a chain hash, the
// randomness of a beacon. Its text form is 64 lower-case hex digits.
type Digest [32]byte

// ParseDigest reads 64 lower-case hex digits; anything else is [ErrDigest].
func ParseDigest(text string) (Digest, error) {
	var d Digest
	if !decodeHex32((*[32]byte)(&d), text) {
		return Digest{}, fmt.Errorf("%w: %.80q, want 64 lower-case hex digits", ErrDigest, text)
	}
	return d, nil
}

// String returns 64 lower-case hex digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero tells whether the digest was never set.
func (d Digest) IsZero() bool { return d == Digest{} }

// MarshalText returns 64 lower-case hex digits.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText is [ParseDigest].
func (d *Digest) UnmarshalText(text []byte) error {
	v, err := ParseDigest(string(text))
	if err == nil {
		*d = v
	}
	return err
}

// Bytes is a byte string whose text form is lower-case hex: a contribution or
// a signature.
type Bytes []byte

// String returns lower-case hex.
func (b Bytes) String() string { return hex.EncodeToString(b) }

// MarshalText returns lower-case hex.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads pairs of lower-case hex digits; anything else is
// [ErrBytes]. No digits give nil.
func (b *Bytes) UnmarshalText(text []byte) error {
	if len(text)%2 != 0 || !lowerHex(string(text)) {
		return fmt.Errorf("%w: %.80q, want pairs of lower-case hex digits", ErrBytes, text)
	}
	var v Bytes
	if len(text) > 0 {
		v = make(Bytes, len(text)/2)
		if _, err := hex.Decode(v, text); err != nil {
			return fmt.Errorf("%w: %w", ErrBytes, err)
		}
	}
	*b = v
	return nil
}
