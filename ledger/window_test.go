package ledger_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"
	_ "time/tzdata" // the tests must not depend on the machine's zones

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse/ledger"
)

func zone(t testing.TB, name string) *time.Location {
	loc, err := time.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

const layout = "2006-01-02T15:04:05-07:00"

func instant(t testing.TB, text string) time.Time {
	at, err := time.Parse(layout, text)
	require.NoError(t, err)
	return at
}

func TestWindowKnownAnswers(t *testing.T) {
	const sp, ny, utc, apia, berlin = "America/Sao_Paulo", "America/New_York", "UTC", "Pacific/Apia", "Europe/Berlin"
	for _, c := range []struct{ zone, every, anchor, at, start, end string }{
		// Midnight of 4 November 2018 does not exist in São Paulo.
		{sp, "1d", "", "2018-11-04T12:00:00-02:00", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"},
		{sp, "1d", "", "2018-11-03T23:59:59-03:00", "2018-11-03T00:00:00-03:00", "2018-11-04T01:00:00-02:00"},
		{sp, "1d", "", "2018-11-04T01:00:00-02:00", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"},
		{sp, "1M", "", "2018-11-30T12:00:00-02:00", "2018-11-01T00:00:00-03:00", "2018-12-01T00:00:00-02:00"},
		// The hour before midnight occurs twice on 17 February 2018.
		{sp, "1d", "", "2018-02-17T23:30:00-03:00", "2018-02-17T00:00:00-02:00", "2018-02-18T00:00:00-03:00"},
		// Days of 23 and 25 hours.
		{ny, "1d", "", "2026-03-08T12:00:00-04:00", "2026-03-08T00:00:00-05:00", "2026-03-09T00:00:00-04:00"},
		{ny, "1d", "", "2026-11-01T12:00:00-05:00", "2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"},
		// A time of day that is skipped, and one that occurs twice.
		{ny, "1d", "2026-01-01T02:30:00-05:00", "2026-03-08T12:00:00-04:00", "2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"},
		{ny, "1d", "2026-01-01T01:30:00-05:00", "2026-11-01T12:00:00-05:00", "2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"},
		{ny, "1d", "2026-01-01T01:30:00-05:00", "2026-11-01T01:15:00-05:00", "2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"},
		// Samoa had no 30 December 2011.
		{apia, "1d", "", "2011-12-29T12:00:00-10:00", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},
		{apia, "1d", "", "2011-12-31T12:00:00+14:00", "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00"},
		// Weeks begin on Monday, or where the anchor says.
		{berlin, "1w", "", "2026-08-23T23:59:59+02:00", "2026-08-17T00:00:00+02:00", "2026-08-24T00:00:00+02:00"},
		{berlin, "1w", "", "2026-08-24T00:00:00+02:00", "2026-08-24T00:00:00+02:00", "2026-08-31T00:00:00+02:00"},
		{berlin, "1w", "2026-08-23T06:00:00+02:00", "2026-08-23T05:00:00+02:00", "2026-08-16T06:00:00+02:00", "2026-08-23T06:00:00+02:00"},
		{berlin, "2w", "2026-08-17T00:00:00+02:00", "2026-08-30T12:00:00+02:00", "2026-08-17T00:00:00+02:00", "2026-08-31T00:00:00+02:00"},
		{berlin, "2w", "2026-08-17T00:00:00+02:00", "2026-08-16T12:00:00+02:00", "2026-08-03T00:00:00+02:00", "2026-08-17T00:00:00+02:00"},
		{utc, "3d", "2026-01-01T00:00:00+00:00", "2025-12-31T00:00:00+00:00", "2025-12-29T00:00:00+00:00", "2026-01-01T00:00:00+00:00"},
		{utc, "2d", "", "1970-01-02T23:00:00+00:00", "1970-01-01T00:00:00+00:00", "1970-01-03T00:00:00+00:00"},
		// Months are clamped, each from the anchor.
		{utc, "1M", "2026-01-31T00:00:00+00:00", "2026-02-28T00:00:00+00:00", "2026-02-28T00:00:00+00:00", "2026-03-31T00:00:00+00:00"},
		{utc, "1M", "2026-01-31T00:00:00+00:00", "2026-02-27T23:00:00+00:00", "2026-01-31T00:00:00+00:00", "2026-02-28T00:00:00+00:00"},
		{utc, "1M", "2026-01-31T00:00:00+00:00", "2028-03-01T00:00:00+00:00", "2028-02-29T00:00:00+00:00", "2028-03-31T00:00:00+00:00"},
		{utc, "3M", "", "2026-08-15T00:00:00+00:00", "2026-07-01T00:00:00+00:00", "2026-10-01T00:00:00+00:00"},
		{utc, "5M", "", "1969-12-15T00:00:00+00:00", "1969-08-01T00:00:00+00:00", "1970-01-01T00:00:00+00:00"},
		{utc, "1y", "", "2026-08-15T00:00:00+00:00", "2026-01-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"},
		{utc, "1y", "2024-02-29T00:00:00+00:00", "2026-02-28T00:00:00+00:00", "2026-02-28T00:00:00+00:00", "2027-02-28T00:00:00+00:00"},
		{utc, "4y", "2024-02-29T00:00:00+00:00", "2023-02-28T00:00:00+00:00", "2020-02-29T00:00:00+00:00", "2024-02-29T00:00:00+00:00"},
		// Rolling.
		{utc, "-1M", "", "2026-03-31T10:00:00+00:00", "2026-02-28T10:00:00+00:00", ""},
		{utc, "-1M", "", "2028-03-31T10:00:00+00:00", "2028-02-29T10:00:00+00:00", ""},
		{utc, "-13M", "", "2026-03-31T10:00:00+00:00", "2025-02-28T10:00:00+00:00", ""},
		{utc, "-1y", "", "2028-02-29T10:00:00+00:00", "2027-02-28T10:00:00+00:00", ""},
		{utc, "-1w", "", "2026-03-03T10:00:00+00:00", "2026-02-24T10:00:00+00:00", ""},
		{ny, "-1d", "", "2026-03-08T12:00:00-04:00", "2026-03-07T12:00:00-05:00", ""},
		{ny, "-1d", "", "2026-03-09T02:30:00-04:00", "2026-03-08T03:00:00-04:00", ""},
		{ny, "-1d", "", "2026-11-02T01:30:00-05:00", "2026-11-01T01:30:00-04:00", ""},
		{ny, "24h", "", "2026-03-08T12:00:00-04:00", "2026-03-07T11:00:00-05:00", ""},
		{ny, "-24h", "", "2026-03-08T12:00:00-04:00", "2026-03-07T11:00:00-05:00", ""},
		{utc, "90s", "", "2026-01-01T00:01:00+00:00", "2025-12-31T23:59:30+00:00", ""},
		{utc, "90m", "", "2026-01-01T00:00:00+00:00", "2025-12-31T22:30:00+00:00", ""},
	} {
		w := ledger.Window{Every: c.every, Loc: zone(t, c.zone)}
		if c.anchor != "" {
			w.Anchor = instant(t, c.anchor)
		}
		require.NoError(t, w.Validate())
		now := instant(t, c.at)
		require.Equal(t, c.start, w.Start(now).Format(layout[:19]+"-07:00"), "start, %+v", c)
		if c.end == "" {
			require.True(t, w.Rolling())
			require.True(t, w.End(now).Equal(now))
			require.Empty(t, w.CounterKey("p", now))
			continue
		}
		require.False(t, w.Rolling())
		require.Equal(t, c.end, w.End(now).Format(layout[:19]+"-07:00"), "end, %+v", c)
		require.Equal(t, "p@"+c.every+"@"+instant(t, c.start).UTC().Format("2006-01-02T15:04:05Z"), w.CounterKey("p", now))
	}
}

// firstAtOrAfter finds, minute by minute, the first instant at which clocks in
// loc show want or have jumped over it. It looks three days around.
func firstAtOrAfter(want time.Time, loc *time.Location) time.Time {
	shows := func(t time.Time) time.Time {
		y, m, d := t.Date()
		return time.Date(y, m, d, t.Hour(), t.Minute(), 0, 0, time.UTC)
	}
	t := want.Add(-36 * time.Hour).In(loc)
	for ; !shows(t).Equal(want); t = t.Add(time.Minute) {
		if next := t.Add(time.Minute); shows(t).Before(want) && shows(next).After(want) {
			return next
		}
	}
	return t
}

// TestDaysBeginAtTheFirstInstant compares with a search, around the days on
// which clocks change, in zones that change them in odd ways.
func TestDaysBeginAtTheFirstInstant(t *testing.T) {
	for name, years := range map[string][]int{
		"America/Sao_Paulo": {2018}, "America/New_York": {2026}, "Australia/Lord_Howe": {2026}, "Pacific/Apia": {2011},
		"America/St_Johns": {2006}, "Africa/Cairo": {2024}, "Asia/Beirut": {2022}, "Africa/Casablanca": {2026}, "Asia/Kolkata": {2026},
	} {
		loc := zone(t, name)
		for _, year := range years {
			changes := []time.Time{}
			for at := time.Date(year, 1, 1, 0, 0, 0, 0, loc); ; {
				_, end := at.ZoneBounds()
				if end.IsZero() || end.Year() > year {
					break
				}
				changes = append(changes, end)
				at = end
			}
			for _, change := range changes {
				for _, clock := range []time.Duration{0, 30 * time.Minute, 90 * time.Minute, 150 * time.Minute, 23*time.Hour + 30*time.Minute} {
					y, m, d := change.Date()
					for day := -1; day <= 1; day++ {
						want := time.Date(y, m, d+day, 0, 0, 0, 0, time.UTC).Add(clock)
						first := firstAtOrAfter(want, loc)
						anchor := time.Date(y-1, 6, 15, int(clock/time.Hour), int(clock/time.Minute)%60, 0, 0, loc)
						w := ledger.Window{Every: "1d", Anchor: anchor, Loc: loc}
						require.True(t, first.Equal(w.Start(first)), "%s: %s begins at %s, not %s", name, want, first, w.Start(first))
						require.True(t, w.Start(first.Add(-1)).Before(first))
						require.True(t, first.Equal(w.End(first.Add(-1))))
					}
				}
			}
		}
	}
}

func TestCalendarWindowsFollowOnEachOther(t *testing.T) {
	zones := []*time.Location{time.UTC, zone(t, "America/Sao_Paulo"), zone(t, "Pacific/Apia"), zone(t, "Australia/Lord_Howe")}
	rapid.Check(t, func(t *rapid.T) {
		w := ledger.Window{
			Every: strconv.Itoa(rapid.IntRange(1, 40).Draw(t, "n")) + rapid.SampledFrom([]string{"d", "w", "M", "y"}).Draw(t, "unit"),
			Loc:   rapid.SampledFrom(zones).Draw(t, "zone"),
		}
		if rapid.Bool().Draw(t, "anchored") {
			w.Anchor = time.Unix(rapid.Int64Range(-1e9, 3e9).Draw(t, "anchor"), 5)
		}
		now := time.Unix(rapid.Int64Range(-2e9, 4e9).Draw(t, "now"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		start, end := w.Start(now), w.End(now)
		require.False(t, start.After(now))
		require.True(t, end.After(now))
		require.True(t, w.Start(start).Equal(start))
		require.True(t, w.End(start).Equal(end))
		require.True(t, w.Start(end).Equal(end))
		require.True(t, w.End(start.Add(-1)).Equal(start))
		require.True(t, w.Start(end.Add(-1)).Equal(start))
		require.Equal(t, w.CounterKey("p", start), w.CounterKey("p", end.Add(-1)))
		require.NotEqual(t, w.CounterKey("p", start), w.CounterKey("p", end))
	})
}

var period = regexp.MustCompile(`^-?[1-9][0-9]*(s|m|h|d|w|M|y)$`)

func checkPeriod(t require.TestingT, every string) {
	w := ledger.Window{Every: every, Loc: time.UTC}
	want := period.MatchString(every)
	if want {
		digits := regexp.MustCompile(`[0-9]+`).FindString(every)
		n, err := strconv.Atoi(digits)
		want = err == nil && n <= 1_000_000
	}
	err := w.Validate()
	require.Equal(t, want, err == nil, "%q", every)
	now := time.Unix(1_700_000_000, 0)
	if !want {
		require.Equal(t, "every", err.(ledger.ErrInvalid).Field)
		require.Zero(t, w.Start(now))
		require.Zero(t, w.End(now))
		require.Empty(t, w.CounterKey("p", now))
		return
	}
	require.False(t, w.Start(now).After(now))
	require.False(t, w.End(now).Before(now))
}

var everies = []string{"1d", "-1M", "10s", "0d", "01d", "d", "", "-", "--1d", "1", "1D", "1dd", " 1d", "1d ", "+1d", "1000000y", "1000001y", "99999999999999999999d", "-1000000h", "1µ", "1.5d", "1M", "1m", "9y", "-d"}

func TestWindowGrammar(t *testing.T) {
	for _, every := range everies {
		checkPeriod(t, every)
	}
	for _, loc := range []*time.Location{nil, time.Local} {
		w := ledger.Window{Every: "1d", Loc: loc}
		require.Equal(t, "loc", w.Validate().(ledger.ErrInvalid).Field)
		require.Zero(t, w.Start(time.Now()))
		require.Zero(t, w.End(time.Now()))
	}
}

func FuzzWindow(f *testing.F) {
	for _, every := range everies {
		f.Add(every)
	}
	f.Fuzz(func(t *testing.T, every string) { checkPeriod(t, every) })
}
