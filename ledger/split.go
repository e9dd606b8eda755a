package ledger

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Remainder says who gets the units that a [Split] cannot share out evenly.
// Each receives one, and only shares that were rounded down can.
type Remainder uint8

// The remainder rules.
const (
	Largest Remainder = iota + 1 // the largest fractions first, ties by lower index (Hamilton)
	First                        // the lowest indexes first
	Last                         // the highest indexes first
	House                        // nobody: it is returned as the rest
)

// Split shares total, at least 0, in proportion to weights, each at least 0
// and not all 0. The shares add up to total, with House to total − rest; rest
// is 0 under the other rules and always less than the number of weights. A
// share differs from the exact quota total × weight / Σ weights by less than
// one unit, and a zero weight gets zero.
//
// Errors: [ErrInvalid] naming total, weights[i], weights or rule;
// [ErrOverflow] if Σ weights passes 2^64 − 1.
func Split(total int64, weights []int64, rule Remainder) (shares []int64, rest int64, err error) {
	if total < 0 {
		return nil, 0, ErrInvalid{"total", "want at least 0"}
	}
	if rule < Largest || rule > House {
		return nil, 0, ErrInvalid{"rule", "unknown"}
	}
	var sum, carry uint64
	for i, w := range weights {
		if w < 0 {
			return nil, 0, ErrInvalid{at("weights", i, ""), "want at least 0"}
		}
		if sum, carry = bits.Add64(sum, uint64(w), 0); carry != 0 {
			return nil, 0, ErrOverflow{"sum of weights"}
		}
	}
	if sum == 0 {
		return nil, 0, ErrInvalid{"weights", "want at least one above 0"}
	}
	shares, rest = make([]int64, len(weights)), total
	fractions := make([]uint64, len(weights)) // numerators over sum
	for i, w := range weights {
		hi, lo := bits.Mul64(uint64(total), uint64(w))
		q, r := bits.Div64(hi, lo, sum) // hi < sum, because w ≤ sum and total < 2^64
		shares[i], fractions[i] = int64(q), r
		rest -= int64(q)
	}
	if rule == House || rest == 0 {
		return shares, rest, nil
	}
	// The fractions add up to rest × sum and each is below sum, so more than
	// rest of them are not zero: all of the rest finds a taker.
	idx := make([]int, 0, len(weights))
	for i, f := range fractions {
		if f > 0 {
			idx = append(idx, i)
		}
	}
	switch rule {
	case Largest:
		slices.SortStableFunc(idx, func(a, b int) int { return cmp.Compare(fractions[b], fractions[a]) })
	case Last:
		slices.Reverse(idx)
	}
	for _, i := range idx[:rest] {
		shares[i]++
	}
	return shares, 0, nil
}

// Rounding says which way a [Portion] is rounded.
type Rounding uint8

// The roundings.
const (
	Down     Rounding = iota + 1 // toward zero
	Up                           // away from zero
	HalfEven                     // to the nearest unit, ties to the even one
)

// Portion is total × num / den, rounded, through 128 bits: a rake, a fee. It
// wants total and num at least 0 and den at least 1.
//
// Errors: [ErrInvalid] naming total, num, den or rounding; [ErrOverflow].
func Portion(total, num, den int64, rounding Rounding) (int64, error) {
	switch {
	case total < 0:
		return 0, ErrInvalid{"total", "want at least 0"}
	case num < 0:
		return 0, ErrInvalid{"num", "want at least 0"}
	case den < 1:
		return 0, ErrInvalid{"den", "want at least 1"}
	case rounding < Down || rounding > HalfEven:
		return 0, ErrInvalid{"rounding", "unknown"}
	}
	d := uint64(den)
	hi, lo := bits.Mul64(uint64(total), uint64(num))
	if hi >= d {
		return 0, ErrOverflow{"portion"}
	}
	q, r := bits.Div64(hi, lo, d)
	if q > math.MaxInt64 { // before it is rounded: 2^64 − 1 and a fraction would become 0
		return 0, ErrOverflow{"portion"}
	}
	switch rounding {
	case Up:
		if r > 0 {
			q++
		}
	case HalfEven:
		if up := cmp.Compare(r, d-r); up > 0 || up == 0 && q&1 == 1 {
			q++
		}
	}
	if q > math.MaxInt64 {
		return 0, ErrOverflow{"portion"}
	}
	return int64(q), nil
}

// ParsePercent reads a percentage, at least 0 and less than 100, as basis
// points: "2.5" is 250. The text is digits, then at most a point and one or
// two digits; no sign, no space, no exponent. Use it as
// Portion(total, bp, 10_000, rounding). The error is [ErrInvalid].
func ParsePercent(text string) (basisPoints int64, err error) {
	bad := ErrInvalid{"percent", "want 0 to 99.99 with at most two decimals"}
	whole := text
	for i := range len(text) {
		if text[i] != '.' {
			continue
		}
		whole = text[:i]
		fraction := text[i+1:]
		if len(fraction) < 1 || len(fraction) > 2 || !digits(fraction) {
			return 0, bad
		}
		n, _ := strconv.ParseInt(fraction, 10, 64)
		if basisPoints = n; len(fraction) == 1 {
			basisPoints *= 10
		}
		break
	}
	if !digits(whole) {
		return 0, bad
	}
	n, err := strconv.ParseInt(whole, 10, 64) // only a number out of range is left to fail
	if err != nil || n > 99 {
		return 0, bad
	}
	return n*100 + basisPoints, nil
}

// digits reports whether s is one or more decimal digits.
func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

var (
	remainderNames = []string{Largest: "largest", First: "first", Last: "last", House: "house"}
	roundingNames  = []string{Down: "down", Up: "up", HalfEven: "half_even"}
)

// String is the name used in text, "largest".
func (r Remainder) String() string { return enumName(remainderNames, int(r)) }

// MarshalText gives the name; the zero value has none.
func (r Remainder) MarshalText() ([]byte, error) { return enumText(remainderNames, int(r), "rule") }

// UnmarshalText accepts exactly the names.
func (r *Remainder) UnmarshalText(b []byte) error {
	n, err := enumValue(remainderNames, b, "rule")
	if err == nil {
		*r = Remainder(n)
	}
	return err
}

// String is the name used in text, "half_even".
func (r Rounding) String() string { return enumName(roundingNames, int(r)) }

// MarshalText gives the name; the zero value has none.
func (r Rounding) MarshalText() ([]byte, error) { return enumText(roundingNames, int(r), "rounding") }

// UnmarshalText accepts exactly the names.
func (r *Rounding) UnmarshalText(b []byte) error {
	n, err := enumValue(roundingNames, b, "rounding")
	if err == nil {
		*r = Rounding(n)
	}
	return err
}
