package fair

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// Scheme is the id that every record of the default scheme carries.
const Scheme = "fair/v2"

// tag begins every preimage of the scheme, so that no hash of one kind can be
// mistaken for one of another kind, nor of another program.
const tag = "glasshouse/fair/v2"

const (
	maxText         = 128 // bytes of a name: session, kind, player, item, card, chain
	maxContribution = 64  // bytes of a contribution
)

// appendLP appends u32be(len(x)) ‖ x.
func appendLP[T ~string | ~[]byte](b []byte, x T) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(x)))
	return append(b, x...)
}

// appendU64 appends u64be(x).
func appendU64(b []byte, x uint64) []byte { return binary.BigEndian.AppendUint64(b, x) }

// checkText refuses what would not survive JSON (invalid UTF-8) or would be a
// burden on every verifier (long names). what names the thing at fault.
func checkText(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%w: %s is empty", ErrText, what)
	case len(s) > maxText:
		return fmt.Errorf("%w: %s %.40q… is %d bytes, want at most %d", ErrText, what, s, len(s), maxText)
	case !utf8.ValidString(s):
		return fmt.Errorf("%w: %s %q is not valid UTF-8", ErrText, what, s)
	}
	return nil
}

// NewRoot derives the key of all draws from what fair/v2 fixes in order: the
// seed, the freeze digest, and the value of the beacon that the freeze named by
// descriptor and target: R = HMAC-SHA256(seed, LP(P"/root") ‖ LP(F) ‖ B).
//
// b is nil exactly if d is the zero descriptor. A beacon of another round than
// the target is [ErrBeacon], a missing one [ErrNoBeacon]: nothing is ever
// substituted. See [Beacon.Check] for the rest.
func NewRoot(seed ServerSeed, freeze Digest, d Descriptor, target uint64, b *Beacon) (*Root, error) {
	if seed.IsZero() {
		return nil, fmt.Errorf("%w: the seed is zero", ErrSeed)
	}
	if freeze.IsZero() {
		return nil, fmt.Errorf("%w: the freeze digest is zero", ErrDigest)
	}
	if err := checkTarget(d, target); err != nil {
		return nil, err
	}
	msg := appendLP(nil, tag+"/root")
	msg = appendLP(msg, freeze[:])
	switch {
	case b != nil:
		if err := b.Check(d, target); err != nil {
			return nil, err
		}
		msg = append(msg, 1)
		msg = appendLP(msg, d.bytes())
		msg = appendU64(msg, b.Round)
		msg = appendLP(msg, b.Randomness[:])
	case d.IsNone():
		msg = append(msg, 0)
	default:
		return nil, fmt.Errorf("%w: want round %d of %v", ErrNoBeacon, target, d)
	}
	return newRoot(mac(seed[:], msg)), nil
}
