package ledger_test

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse/ledger"
)

var rules = []ledger.Remainder{ledger.Largest, ledger.First, ledger.Last, ledger.House}

func TestSplitKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		total   int64
		weights []int64
		want    map[ledger.Remainder][]int64 // House: shares, then the rest
	}{
		{100, []int64{1, 1, 1}, map[ledger.Remainder][]int64{ledger.Largest: {34, 33, 33}, ledger.First: {34, 33, 33}, ledger.Last: {33, 33, 34}, ledger.House: {33, 33, 33, 1}}},
		{100, []int64{0, 1, 1, 1}, map[ledger.Remainder][]int64{ledger.Largest: {0, 34, 33, 33}, ledger.First: {0, 34, 33, 33}, ledger.Last: {0, 33, 33, 34}, ledger.House: {0, 33, 33, 33, 1}}},
		// Quotas 1.2, 3.6, 1.2 of 6: the middle one is nearest to the next unit.
		{6, []int64{2, 6, 2}, map[ledger.Remainder][]int64{ledger.Largest: {1, 4, 1}, ledger.First: {2, 3, 1}, ledger.Last: {1, 3, 2}, ledger.House: {1, 3, 1, 1}}},
		// Quotas 2, 1.5, 1.5: a whole quota gets nothing on top.
		{5, []int64{4, 3, 3}, map[ledger.Remainder][]int64{ledger.Largest: {2, 2, 1}, ledger.First: {2, 2, 1}, ledger.Last: {2, 1, 2}, ledger.House: {2, 1, 1, 1}}},
		{0, []int64{5}, map[ledger.Remainder][]int64{ledger.Largest: {0}, ledger.House: {0, 0}}},
		{math.MaxInt64, []int64{math.MaxInt64, math.MaxInt64}, map[ledger.Remainder][]int64{ledger.First: {1 << 62, 1<<62 - 1}, ledger.House: {1<<62 - 1, 1<<62 - 1, 1}}},
	} {
		for rule, want := range c.want {
			shares, rest, err := ledger.Split(c.total, c.weights, rule)
			require.NoError(t, err)
			if rule == ledger.House {
				shares = append(shares, rest)
			} else {
				require.Zero(t, rest)
			}
			require.Equal(t, want, shares, "%d by %v, %v", c.total, c.weights, rule)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	for _, c := range []struct {
		total   int64
		weights []int64
		rule    ledger.Remainder
		field   string
	}{
		{-1, []int64{1}, ledger.First, "total"},
		{1, []int64{1, -1}, ledger.First, "weights[1]"},
		{1, []int64{0, 0}, ledger.First, "weights"},
		{1, nil, ledger.First, "weights"},
		{1, []int64{1}, 0, "rule"},
		{1, []int64{1}, ledger.House + 1, "rule"},
	} {
		_, _, err := ledger.Split(c.total, c.weights, c.rule)
		e, ok := err.(ledger.ErrInvalid)
		require.True(t, ok)
		require.Equal(t, c.field, e.Field)
	}
	_, _, err := ledger.Split(1, []int64{math.MaxInt64, math.MaxInt64, 2}, ledger.First)
	require.Equal(t, ledger.ErrOverflow{What: "sum of weights"}, err)
	_, _, err = ledger.Split(1, []int64{math.MaxInt64, math.MaxInt64, 1}, ledger.First)
	require.NoError(t, err)
}

func TestSplitKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, math.MaxInt64))
		total := amount.Draw(t, "total")
		weights := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 5), rapid.Int64Range(0, math.MaxInt64/8)), 1, 8).Draw(t, "weights")
		sum := new(big.Int)
		for _, w := range weights {
			sum.Add(sum, big.NewInt(w))
		}
		if sum.Sign() == 0 {
			weights[0] = 1
			sum.SetInt64(1)
		}
		for _, rule := range rules {
			shares, rest, err := ledger.Split(total, weights, rule)
			require.NoError(t, err)
			got := big.NewInt(rest)
			fractions := make([]*big.Rat, len(weights)) // quota − floor
			rounded := make([]bool, len(weights))
			for i, s := range shares {
				got.Add(got, big.NewInt(s))
				quota := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(total), big.NewInt(weights[i])), sum)
				off := new(big.Rat).Sub(new(big.Rat).SetInt64(s), quota)
				require.Negative(t, new(big.Rat).Abs(off).Cmp(big.NewRat(1, 1)), "share and quota differ by a unit")
				if weights[i] == 0 {
					require.Zero(t, s)
				}
				floor := new(big.Int).Quo(quota.Num(), quota.Denom())
				fractions[i] = new(big.Rat).Sub(quota, new(big.Rat).SetInt(floor))
				rounded[i] = off.Sign() > 0
			}
			require.Equal(t, big.NewInt(total), got, "units were made or lost")
			require.Less(t, rest, int64(len(weights)))
			if rule != ledger.House {
				require.Zero(t, rest)
			}
			// Nobody who was passed over stands before somebody who was served.
			for i := range weights {
				for j := range weights {
					if !rounded[i] || rounded[j] || fractions[j].Sign() == 0 {
						continue
					}
					c := fractions[i].Cmp(fractions[j])
					switch rule {
					case ledger.Largest:
						require.True(t, c > 0 || c == 0 && i < j)
					case ledger.First:
						require.Less(t, i, j)
					case ledger.Last:
						require.Greater(t, i, j)
					}
				}
			}
		}
	})
}

func TestPortionIsTheRoundedQuotient(t *testing.T) {
	n := rapid.OneOf(rapid.Int64Range(0, 12), rapid.Int64Range(0, math.MaxInt64))
	rapid.Check(t, func(t *rapid.T) {
		total, num, den := n.Draw(t, "total"), n.Draw(t, "num"), max(1, n.Draw(t, "den"))
		q, r := new(big.Int).QuoRem(new(big.Int).Mul(big.NewInt(total), big.NewInt(num)), big.NewInt(den), new(big.Int))
		twice := new(big.Int).Lsh(r, 1).Cmp(big.NewInt(den))
		one := big.NewInt(1)
		for rounding, want := range map[ledger.Rounding]*big.Int{
			ledger.Down: q,
			ledger.Up:   new(big.Int).Add(q, big.NewInt(int64(r.Sign()))),
			ledger.HalfEven: func() *big.Int {
				if twice > 0 || twice == 0 && q.Bit(0) == 1 {
					return new(big.Int).Add(q, one)
				}
				return q
			}(),
		} {
			got, err := ledger.Portion(total, num, den, rounding)
			if !want.IsInt64() {
				require.Equal(t, ledger.ErrOverflow{What: "portion"}, err)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, want.Int64(), got)
		}
	})
}

func TestPortionKnownAnswers(t *testing.T) {
	for _, c := range []struct {
		total, num, den    int64
		down, up, halfEven int64
	}{
		{1000, 250, 10_000, 25, 25, 25},
		{5, 1, 2, 2, 3, 2},
		{7, 1, 2, 3, 4, 4},
		{10, 1, 3, 3, 4, 3},
		{11, 1, 3, 3, 4, 4},
		{math.MaxInt64, 2, 2, math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{1, math.MaxInt64, 1, math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{0, 5, 7, 0, 0, 0},
	} {
		for i, want := range []int64{c.down, c.up, c.halfEven} {
			got, err := ledger.Portion(c.total, c.num, c.den, ledger.Rounding(i+1))
			require.NoError(t, err)
			require.Equal(t, want, got, "%+v", c)
		}
	}
	for i, c := range []struct {
		total, num, den int64
		rounding        ledger.Rounding
		want            error
	}{
		{-1, 1, 1, ledger.Down, ledger.ErrInvalid{"total", "want at least 0"}},
		{1, -1, 1, ledger.Down, ledger.ErrInvalid{"num", "want at least 0"}},
		{1, 1, 0, ledger.Down, ledger.ErrInvalid{"den", "want at least 1"}},
		{1, 1, 1, 0, ledger.ErrInvalid{"rounding", "unknown"}},
		{1, 1, 1, ledger.HalfEven + 1, ledger.ErrInvalid{"rounding", "unknown"}},
		{math.MaxInt64, 2, 1, ledger.Down, ledger.ErrOverflow{"portion"}},
		{math.MaxInt64, math.MaxInt64, 1, ledger.Down, ledger.ErrOverflow{"portion"}},
		{1 << 62, 4, 1, ledger.Down, ledger.ErrOverflow{"portion"}},                       // exactly 2^64
		{math.MaxInt64, 7, 6, ledger.Down, ledger.ErrOverflow{"portion"}},                 // between 2^63 and 2^64
		{math.MaxInt64 - 1, 1 << 62, 1<<62 - 1, ledger.Up, ledger.ErrOverflow{"portion"}}, // rounded up out of range
	} {
		_, err := ledger.Portion(c.total, c.num, c.den, c.rounding)
		require.Equal(t, c.want, err, "case %d", i)
	}
}

var percentText = regexp.MustCompile(`^\d+(\.\d{1,2})?$`)

// percent reads a percentage the slow way.
func percent(text string) (int64, bool) {
	r, ok := new(big.Rat).SetString(text)
	if !percentText.MatchString(text) || !ok || r.Cmp(big.NewRat(100, 1)) >= 0 {
		return 0, false
	}
	return r.Mul(r, big.NewRat(100, 1)).Num().Int64(), true
}

func checkPercent(t require.TestingT, text string) {
	got, err := ledger.ParsePercent(text)
	if want, ok := percent(text); ok {
		require.NoError(t, err, "%q", text)
		require.Equal(t, want, got, "%q", text)
	} else {
		require.IsType(t, ledger.ErrInvalid{}, err, "%q", text)
		require.Zero(t, got)
	}
}

var percents = []string{
	"2.5", "0", "00", "99.99", "100", "99.999", "1.", ".5", "", ".", "-1", "+1", "1e1", " 1", "1 ", "1.2.3", "0.05", "7.50",
	"007", "00000000000000000000000000005", "99999999999999999999", "1,5", "1.+5", "1.-5", "٣", "1_0", "0x1", "1.5\n", "9", "10", "99.9", "/", ":", "5.0/", "5.0:",
}

func TestParsePercent(t *testing.T) {
	bp, err := ledger.ParsePercent("2.5")
	require.NoError(t, err)
	require.Equal(t, int64(250), bp)
	for _, text := range percents {
		checkPercent(t, text)
	}
	for bp := range int64(10_000) {
		checkPercent(t, strconv.FormatInt(bp/100, 10)+"."+strconv.FormatInt(100+bp%100, 10)[1:])
	}
}

func FuzzParsePercent(f *testing.F) {
	for _, text := range percents {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 100 { // big.Rat is slow on what no one writes
			checkPercent(t, text)
		}
	})
}

func TestEnumsHaveNamesAndNoZero(t *testing.T) {
	for i, want := range []string{"none", "largest", "first", "last", "house", "none"} {
		r := ledger.Remainder(i)
		require.Equal(t, want, r.String())
		b, err := r.MarshalText()
		require.Equal(t, want == "none", err != nil)
		var back ledger.Remainder
		require.Equal(t, want == "none", back.UnmarshalText([]byte(want)) != nil)
		if err == nil {
			require.Equal(t, want, string(b))
			require.Equal(t, r, back)
		}
	}
	for i, want := range []string{"none", "down", "up", "half_even", "none"} {
		r := ledger.Rounding(i)
		require.Equal(t, want, r.String())
		b, err := r.MarshalText()
		require.Equal(t, want == "none", err != nil)
		var back ledger.Rounding
		require.Equal(t, want == "none", back.UnmarshalText([]byte(want)) != nil)
		if err == nil {
			require.Equal(t, want, string(b))
			require.Equal(t, r, back)
		}
	}
	for i, want := range []string{"none", "open", "captured", "voided", "none"} {
		s := ledger.HoldState(i)
		require.Equal(t, want, s.String())
		b, err := s.MarshalText()
		require.Equal(t, want == "none", err != nil)
		var back ledger.HoldState
		require.Equal(t, want == "none", back.UnmarshalText([]byte(want)) != nil)
		if err == nil {
			require.Equal(t, want, string(b))
			require.Equal(t, s, back)
		}
	}
	require.Equal(t, ledger.AccountID("escrow:battle:9"), ledger.DocKey("battle:9").Escrow())
}
