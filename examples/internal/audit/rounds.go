package audit

import (
	"bufio"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/fair/legacy"
)

const (
	maxRow     = 1 << 20 // bytes of a row that are read; real ones have some hundred
	batchRows  = 512
	batchBytes = 256 << 10
	maxFaults  = 10 // rows that do not hold and are shown; all are counted
	maxUnknown = 20 // names of unknown columns that are shown
)

// findingReadable is that a row could be read at all.
const findingReadable = "row_readable"

// rowFindings are the findings of a row, in the order of the report.
var rowFindings = []string{findingReadable, fair.FindingCommitment, fair.FindingRoll, fair.FindingFlip}

// row is a row as it was read: a JSON object, or the fields of a line of CSV.
type row struct {
	line   int
	json   []byte
	fields []string
	err    error // why it cannot be read
}

// rounds verifies rows of BattleRound, in batches on all cores, and reports in the order of the file.
func (res *Result) rounds(in *bufio.Reader) error {
	var read func(emit func(row)) error
	parse := parseJSON
	switch res.Kind {
	case RoundsJSON:
		read = func(emit func(row)) error { return splitArray(in, emit) }
	case RoundsNDJSON:
		read = func(emit func(row)) error { return splitLines(in, emit) }
	default:
		table, err := openCSV(in)
		if err != nil {
			return err
		}
		read, parse = table.read, table.parse
	}
	t := judgeAll(read, parse)
	for _, name := range rowFindings {
		good := fmt.Sprintf("%d of %d rows", t.rows-t.failed[name], t.rows)
		if t.rows > 0 {
			res.Report.Add(name, t.failed[name] == 0, good, fmt.Sprintf("%d rows", t.rows))
		}
	}
	for _, line := range t.unproven {
		res.Report.Unproven("%s", line)
	}
	if len(t.unknown) > 0 {
		res.Report.Unproven("anything about columns that are not known here: %s", strings.Join(t.unknown, ", "))
	}
	res.Faults = t.faults
	if t.err == nil && t.rows == 0 {
		return errors.New("there are no rows")
	}
	return t.err
}

// parser makes a row of the scheme out of one that was read, and names the columns it does not know.
type parser func(row) (legacy.Row52, []string, error)

// tally is what is known about the rows of a batch, and in the end about all.
type tally struct {
	rows     int
	failed   map[string]int
	faults   []Fault
	unproven []string
	unknown  []string
	err      error // of reading on
}

type batch struct {
	rows  []row
	bytes int
	done  chan tally
}

// judgeAll keeps a bounded number of batches under way, so its memory does not grow with the file.
func judgeAll(read func(emit func(row)) error, parse parser) tally {
	workers := runtime.GOMAXPROCS(0)
	order, work := make(chan *batch, 2*workers), make(chan *batch, 2*workers)
	var readErr error
	go func() {
		defer close(order)
		defer close(work)
		next := &batch{}
		send := func() {
			next.done = make(chan tally, 1)
			order <- next
			work <- next
			next = &batch{}
		}
		readErr = read(func(r row) {
			next.rows = append(next.rows, r)
			next.bytes += len(r.json)
			for _, f := range r.fields {
				next.bytes += len(f)
			}
			if len(next.rows) >= batchRows || next.bytes >= batchBytes {
				send()
			}
		})
		send()
	}()
	for range workers {
		go func() {
			for b := range work {
				b.done <- judge(b.rows, parse)
			}
		}()
	}
	all := tally{failed: make(map[string]int)}
	for b := range order {
		all.add(<-b.done)
	}
	all.err = readErr
	return all
}

func judge(rows []row, parse parser) tally {
	t := tally{rows: len(rows), failed: make(map[string]int)}
	for _, r := range rows {
		stored, unknown, err := parse(r)
		t.name(unknown)
		if err != nil {
			t.fault(r.line, fair.Finding{Name: findingReadable, Got: err.Error(), Want: "a round"})
			continue
		}
		rep, err := legacy.Record52{Row: stored}.Verify()
		if err != nil {
			t.fault(r.line, fair.Finding{Name: findingReadable, Got: err.Error(), Want: "a round"})
			continue
		}
		for _, f := range rep.Failed() {
			t.fault(r.line, f)
		}
		t.proves(rep.NotProven)
	}
	return t
}

// A row that cannot be read counts against every finding: nothing about it is known.
func (t *tally) fault(line int, f fair.Finding) {
	t.failed[f.Name]++
	if f.Name == findingReadable {
		for _, name := range rowFindings[1:] {
			t.failed[name]++
		}
	}
	if len(t.faults) < maxFaults {
		t.faults = append(t.faults, Fault{line, f.Name, f.Got, f.Want})
	}
}

func (t *tally) proves(not []string) {
	for _, line := range not {
		if !slices.Contains(t.unproven, line) {
			t.unproven = append(t.unproven, line)
		}
	}
}

func (t *tally) name(unknown []string) {
	for _, name := range unknown {
		if len(t.unknown) < maxUnknown && !slices.Contains(t.unknown, name) {
			t.unknown = append(t.unknown, name)
		}
	}
}

func (t *tally) add(next tally) {
	t.rows += next.rows
	for _, name := range rowFindings {
		t.failed[name] += next.failed[name]
	}
	t.faults = append(t.faults, next.faults[:min(len(next.faults), maxFaults-len(t.faults))]...)
	t.proves(next.unproven)
	t.name(next.unknown)
}
