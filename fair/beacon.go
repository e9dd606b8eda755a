package fair

import (
	"crypto/sha256"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The sources of public randomness that a [Descriptor] can name.
const (
	SourceDrand = "drand"
	SourceBlock = "block"
)

// Descriptor names a source of public randomness. The zero value is none. Its
// text form, also in JSON, is "none", "drand/<chain hash>" or
// "block/<delay>/<confirmations>/<chain id>".
type Descriptor struct {
	// Source is "" (none), [SourceDrand] or [SourceBlock].
	Source string
	// Chain is the chain hash in 64 lower-case hex digits for drand, the
	// chain's id in 1..128 bytes of valid UTF-8 for blocks.
	Chain string
	// Delay (blocks only) is how many blocks after the newest one at the
	// freeze the target lies.
	Delay uint64
	// Confirmations (blocks only) is how many blocks must follow the target
	// before its hash is used.
	Confirmations uint64
}

// IsNone tells whether no beacon is named.
func (d Descriptor) IsNone() bool { return d == Descriptor{} }

// Validate returns [ErrDescriptor] with the field at fault, or nil.
func (d Descriptor) Validate() error {
	switch d.Source {
	case "":
		if !d.IsNone() {
			return fmt.Errorf("%w: fields without a source", ErrDescriptor)
		}
		return nil
	case SourceDrand:
		if _, err := ParseDigest(d.Chain); err != nil {
			return fmt.Errorf("%w: drand chain hash: %w", ErrDescriptor, err)
		}
		if d.Delay != 0 || d.Confirmations != 0 {
			return fmt.Errorf("%w: drand has no delay and no confirmations", ErrDescriptor)
		}
		return nil
	case SourceBlock:
		if err := checkText("chain id", d.Chain); err != nil {
			return fmt.Errorf("%w: %w", ErrDescriptor, err)
		}
		if d.Delay == 0 {
			return fmt.Errorf("%w: delay of 0 blocks names a block that is already known", ErrDescriptor)
		}
		return nil
	}
	return fmt.Errorf("%w: unknown source %.40q", ErrDescriptor, d.Source)
}

// Bytes returns the descriptor as the preimages have it: nothing for none,
// LP("drand") ‖ LP(32-byte chain hash), or LP("block") ‖ LP(chain id) ‖
// u64(delay) ‖ u64(confirmations). Errors are those of Validate.
func (d Descriptor) Bytes() ([]byte, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return d.bytes(), nil
}

// bytes is for descriptors that have been validated.
func (d Descriptor) bytes() []byte {
	switch d.Source {
	case SourceDrand:
		var hash Digest
		decodeHex32((*[32]byte)(&hash), d.Chain)
		return appendLP(appendLP(nil, d.Source), hash[:])
	case SourceBlock:
		b := appendLP(appendLP(nil, d.Source), d.Chain)
		return appendU64(appendU64(b, d.Delay), d.Confirmations)
	}
	return nil
}

// String returns the text form, whether or not the descriptor is valid.
func (d Descriptor) String() string {
	switch d.Source {
	case "":
		return "none"
	case SourceBlock:
		return fmt.Sprintf("%s/%d/%d/%s", d.Source, d.Delay, d.Confirmations, d.Chain)
	}
	return d.Source + "/" + d.Chain
}

// MarshalText returns the text form of a valid descriptor.
func (d Descriptor) MarshalText() ([]byte, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return []byte(d.String()), nil
}

// UnmarshalText reads the text form; anything else is [ErrDescriptor].
func (d *Descriptor) UnmarshalText(text []byte) error {
	v, err := parseDescriptor(string(text))
	if err == nil {
		*d = v
	}
	return err
}

func parseDescriptor(text string) (Descriptor, error) {
	var d Descriptor
	source, rest, _ := strings.Cut(text, "/")
	switch source {
	case SourceDrand:
		d = Descriptor{Source: source, Chain: rest}
	case SourceBlock:
		parts := strings.SplitN(rest, "/", 3)
		if len(parts) != 3 {
			return Descriptor{}, fmt.Errorf("%w: %.80q, want block/<delay>/<confirmations>/<chain id>", ErrDescriptor, text)
		}
		d = Descriptor{Source: source, Chain: parts[2]}
		var err error
		if d.Delay, err = strconv.ParseUint(parts[0], 10, 64); err != nil {
			return Descriptor{}, fmt.Errorf("%w: delay: %w", ErrDescriptor, err)
		}
		if d.Confirmations, err = strconv.ParseUint(parts[1], 10, 64); err != nil {
			return Descriptor{}, fmt.Errorf("%w: confirmations: %w", ErrDescriptor, err)
		}
	}
	if err := d.Validate(); err != nil {
		return Descriptor{}, err
	}
	if d.String() != text { // "+1", "007", "", "drandy"
		return Descriptor{}, fmt.Errorf("%w: %.80q is not a canonical text", ErrDescriptor, text)
	}
	return d, nil
}

func checkTarget(d Descriptor, target uint64) error {
	if err := d.Validate(); err != nil {
		return err
	}
	switch {
	case d.IsNone() && target != 0:
		return fmt.Errorf("%w: %d without a beacon", ErrTarget, target)
	case !d.IsNone() && target == 0:
		return fmt.Errorf("%w: %v needs a round or height of at least 1", ErrTarget, d)
	}
	return nil
}

// Beacon is one value of a source of public randomness.
type Beacon struct {
	// Round is the drand round or the block height.
	Round uint64 `json:"round,string"`
	// Randomness is SHA-256(Signature) for drand, the block's hash for blocks.
	Randomness Digest `json:"randomness"`
	// Signature is drand's signature of the round; empty for blocks.
	Signature Bytes `json:"signature,omitempty"`
}

// Check tells whether b is the value that a freeze named: the descriptor is
// valid and not none, the round is the target ([ErrBeacon]), and for drand the
// randomness is the hash of the signature ([ErrSignature]). It does not verify
// the signature itself, nor that a block's hash is the chain's: that needs the
// chain's public key or its headers.
func (b Beacon) Check(d Descriptor, target uint64) error {
	if err := checkTarget(d, target); err != nil {
		return err
	}
	switch {
	case d.IsNone():
		return fmt.Errorf("%w: round %d, but none was named", ErrBeacon, b.Round)
	case b.Round != target:
		return fmt.Errorf("%w: round %d, want %d", ErrBeacon, b.Round, target)
	case b.Randomness.IsZero():
		return fmt.Errorf("%w: the randomness of round %d is missing", ErrBeacon, b.Round)
	case d.Source == SourceBlock && len(b.Signature) != 0:
		return fmt.Errorf("%w: block %d has a signature", ErrBeacon, b.Round)
	case d.Source == SourceDrand && (len(b.Signature) == 0 || Digest(sha256.Sum256(b.Signature)) != b.Randomness):
		return fmt.Errorf("%w: round %d", ErrSignature, b.Round)
	}
	return nil
}

// Drand holds the public parameters of a drand chain.
type Drand struct {
	// Chain is the chain hash.
	Chain Digest `json:"chain"`
	// Genesis is the time of round 1 in Unix seconds.
	Genesis int64 `json:"genesis"`
	// Period is the time between rounds in seconds, at least 1.
	Period int64 `json:"period"`
}

// Quicknet returns the League of Entropy's chain with a round every 3 seconds
// (github.com/drand/drand, common/chain/info_test.go).
func Quicknet() Drand {
	return Drand{
		Chain: Digest{
			0x52, 0xdb, 0x9b, 0xa7, 0x0e, 0x0c, 0xc0, 0xf6, 0xea, 0xf7, 0x80, 0x3d, 0xd0, 0x74, 0x47, 0xa1,
			0xf5, 0x47, 0x77, 0x35, 0xfd, 0x3f, 0x66, 0x17, 0x92, 0xba, 0x94, 0x60, 0x0c, 0x84, 0xe9, 0x71,
		},
		Genesis: 1692803367,
		Period:  3,
	}
}

// Descriptor returns what a freeze names.
func (c Drand) Descriptor() Descriptor {
	return Descriptor{Source: SourceDrand, Chain: c.Chain.String()}
}

// RoundAt returns the newest round whose time is not after t, or 0 before
// round 1. The first round that nobody can know at t is RoundAt(t) + 1; a
// freeze should leave a margin of some seconds. It panics if Period < 1.
func (c Drand) RoundAt(t time.Time) uint64 {
	c.mustPeriod()
	unix := t.Unix()
	if unix < c.Genesis {
		return 0
	}
	// The difference of two int64 always fits a uint64.
	return (uint64(unix)-uint64(c.Genesis))/uint64(c.Period) + 1
}

// TimeOf returns when a round is due: Genesis + (round-1) × Period, in UTC.
// Round 0 and times past the int64 range of Unix seconds are [ErrRound]. It
// panics if Period < 1.
func (c Drand) TimeOf(round uint64) (time.Time, error) {
	c.mustPeriod()
	if round == 0 {
		return time.Time{}, fmt.Errorf("%w: 0", ErrRound)
	}
	room := uint64(math.MaxInt64) - uint64(c.Genesis) // exact mod 2^64, also for a negative genesis
	if round-1 > room/uint64(c.Period) {
		return time.Time{}, fmt.Errorf("%w: %d is too far", ErrRound, round)
	}
	return time.Unix(int64(uint64(c.Genesis)+(round-1)*uint64(c.Period)), 0).UTC(), nil
}

func (c Drand) mustPeriod() {
	if c.Period < 1 {
		panic(fmt.Sprintf("fair: drand period of %d s", c.Period))
	}
}
