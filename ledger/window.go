package ledger

import (
	"strconv"
	"time"
)

// Window is the span over which a limit counts.
//
// Every is -?[1-9][0-9]*(s|m|h|d|w|M|y), its number at most 1,000,000; M is
// months, m minutes. "1d", "2w", "1M", "1y" are calendar windows: buckets that
// follow on each other without a gap. s, m, h and everything with a leading
// "-" are rolling: the span of that length that ends now.
//
// Loc is the zone whose calendar is meant. It must be given and must not be
// time.Local, which another machine understands differently.
//
// Anchor is an instant at which a bucket begins, in the wall clock of Loc: its
// date fixes the phase ("2w" from that Monday on), its time of day the hour at
// which days turn. The zero Anchor is midnight of 1 January 1970, for weeks of
// Monday 29 December 1969. Rolling windows ignore it.
//
// A wall-clock time that does not exist (clocks put forward) means the first
// instant after the gap: in America/Sao_Paulo 4 November 2018 begins at 01:00.
// One that occurs twice means the first. A day that a month does not have is
// the last it has: 31 March − 1M is 28 or 29 February, and monthly buckets
// anchored on a 31st begin on the last day of shorter months.
//
// A calendar window needs one counter, [Window.CounterKey]; a rolling one a
// document with the instants that count, those after [Window.Start].
type Window struct {
	Every  string
	Anchor time.Time
	Loc    *time.Location
}

// period is Every, parsed.
type period struct {
	n       int
	unit    byte
	rolling bool
}

const maxPeriod = 1_000_000

func parsePeriod(s string) (period, bool) {
	var p period
	if s != "" && s[0] == '-' {
		p.rolling, s = true, s[1:]
	}
	if len(s) < 2 || s[0] == '0' || !digits(s[:len(s)-1]) {
		return p, false
	}
	var err error
	if p.n, err = strconv.Atoi(s[:len(s)-1]); err != nil || p.n > maxPeriod {
		return p, false
	}
	switch p.unit = s[len(s)-1]; p.unit {
	case 's', 'm', 'h':
		p.rolling = true
	case 'd', 'w', 'M', 'y':
	default:
		return p, false
	}
	return p, true
}

// Validate reports what is wrong with w: [ErrInvalid] naming every or loc.
func (w Window) Validate() error {
	if _, ok := parsePeriod(w.Every); !ok {
		return ErrInvalid{"every", "want -?[1-9][0-9]*(s|m|h|d|w|M|y), at most 1000000"}
	}
	if w.Loc == nil || w.Loc == time.Local {
		return ErrInvalid{"loc", "want a zone, not the machine's"}
	}
	return nil
}

func (w Window) period() (period, bool) {
	p, ok := parsePeriod(w.Every)
	return p, ok && w.Loc != nil && w.Loc != time.Local
}

// Rolling reports whether w is a rolling window.
func (w Window) Rolling() bool {
	p, _ := parsePeriod(w.Every)
	return p.rolling
}

// Start is where the window that holds t begins. A calendar window includes
// its start. A rolling one does not: what happened at Start or before no
// longer counts. The zero time if w is not valid.
func (w Window) Start(t time.Time) time.Time {
	p, ok := w.period()
	if !ok {
		return time.Time{}
	}
	if p.rolling {
		switch p.unit {
		case 's':
			return t.Add(-time.Duration(p.n) * time.Second).In(w.Loc)
		case 'm':
			return t.Add(-time.Duration(p.n) * time.Minute).In(w.Loc)
		case 'h':
			return t.Add(-time.Duration(p.n) * time.Hour).In(w.Loc)
		}
		return wallOf(t.In(w.Loc)).plus(-p.n, p.unit).in(w.Loc)
	}
	start, _ := w.bucket(t, p)
	return start
}

// End is where the window that holds t ends: for a calendar window the start
// of the next one, which is no longer part of it; for a rolling one t. The
// zero time if w is not valid.
func (w Window) End(t time.Time) time.Time {
	p, ok := w.period()
	if !ok {
		return time.Time{}
	}
	if p.rolling {
		return t.In(w.Loc)
	}
	_, end := w.bucket(t, p)
	return end
}

// CounterKey is the key of the counter of the calendar window that holds t:
// prefix@Every@start, the start in UTC to the second. It is "", which no Count
// accepts, for a rolling window or one that is not valid.
func (w Window) CounterKey(prefix string, t time.Time) string {
	p, ok := w.period()
	if !ok || p.rolling {
		return ""
	}
	start, _ := w.bucket(t, p)
	return prefix + "@" + w.Every + "@" + start.UTC().Format("2006-01-02T15:04:05Z")
}

// bucket finds the calendar window that holds t.
func (w Window) bucket(t time.Time, p period) (start, end time.Time) {
	a := wall{year: 1970, month: 1, day: 1}
	switch {
	case !w.Anchor.IsZero():
		a = wallOf(w.Anchor.In(w.Loc))
	case p.unit == 'w':
		a = wall{year: 1969, month: 12, day: 29}
	}
	// Boundary k is the anchor plus k periods, always from the anchor, so that
	// clamping in a short month does not stick. The date gives k to within a
	// few; the instants decide.
	l := wallOf(t.In(w.Loc))
	var k int
	switch p.unit {
	case 'd':
		k = (l.days() - a.days()) / p.n
	case 'w':
		k = (l.days() - a.days()) / (7 * p.n)
	case 'M':
		k = (12*(l.year-a.year) + l.month - a.month) / p.n
	case 'y':
		k = (l.year - a.year) / p.n
	}
	boundary := func(k int) time.Time { return a.plus(k*p.n, p.unit).in(w.Loc) }
	for start = boundary(k); start.After(t); start = boundary(k) {
		k--
	}
	for end = boundary(k + 1); !end.After(t); end = boundary(k + 1) {
		k++
		start = end
	}
	return start, end
}

// wall is a date and time of day without a zone.
type wall struct {
	year, month, day int
	clock            time.Duration // since 00:00 on the clock's face
}

func wallOf(t time.Time) wall {
	y, m, d := t.Date()
	h, mi, s := t.Clock()
	return wall{y, int(m), d, time.Duration(h)*time.Hour + time.Duration(mi)*time.Minute + time.Duration(s)*time.Second + time.Duration(t.Nanosecond())}
}

// utc reads w on a clock without time zones.
func (w wall) utc() time.Time {
	return time.Date(w.year, time.Month(w.month), w.day, 0, 0, 0, 0, time.UTC).Add(w.clock)
}

// days counts from 1 January 1970.
func (w wall) days() int {
	return int(time.Date(w.year, time.Month(w.month), w.day, 0, 0, 0, 0, time.UTC).Unix() / 86400)
}

// plus adds n days, weeks, months or years, clamping the day to the month.
func (w wall) plus(n int, unit byte) wall {
	switch unit {
	case 'w':
		n *= 7
		fallthrough
	case 'd':
		y, m, d := time.Date(w.year, time.Month(w.month), w.day+n, 0, 0, 0, 0, time.UTC).Date()
		w.year, w.month, w.day = y, int(m), d
		return w
	case 'y':
		n *= 12
	}
	y, m, _ := time.Date(w.year, time.Month(w.month+n), 1, 0, 0, 0, 0, time.UTC).Date()
	last := time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
	w.year, w.month, w.day = y, int(m), min(w.day, last)
	return w
}

// in is the first instant at which clocks in loc show w, or the first after it
// if they skip it.
func (w wall) in(loc *time.Location) time.Time {
	want := w.utc()
	clock := func(t time.Time) time.Time { return wallOf(t).utc() }
	t := time.Date(w.year, time.Month(w.month), w.day, int(w.clock/time.Hour), int(w.clock/time.Minute)%60,
		int(w.clock/time.Second)%60, int(w.clock%time.Second), loc)
	start, end := t.ZoneBounds()
	switch c := clock(t); {
	case c.After(want): // skipped, and read with the offset before the gap
		return start
	case c.Before(want): // skipped, and read with the offset after it
		return end
	}
	if !start.IsZero() { // shown twice, if the offset before shows it too
		_, now := t.Zone()
		_, before := start.Add(-1).Zone()
		if e := t.Add(time.Duration(now-before) * time.Second); clock(e).Equal(want) && e.Before(t) {
			return e
		}
	}
	return t
}
