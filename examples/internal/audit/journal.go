package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// maxEntry is the largest line of a journal that is read, in bytes.
const maxEntry = 64 << 20

// The findings of a journal.
const (
	findingEntries = "entries_canonical"
	findingChain   = "hash_chain"
	findingZero    = "books_sum_to_zero"
	findingEscrow  = "sealed_escrows_empty"
	findingBooks   = "balances_consistent"
)

// lineError is a line that is no entry.
type lineError struct {
	line int
	err  error
}

func (e lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }

func (res *Result) journal(in *bufio.Reader) error {
	rep := &res.Report
	rep.Unproven("that no entries were cut off at the end: compare their number and the head with figures published elsewhere")
	rep.Unproven("that the times are true, and that money of world accounts really came in or went out")

	var played games
	state, err := ledger.Replay(played.watch(entries(in)))
	if e, ok := errors.AsType[lineError](err); ok {
		rep.Add(findingEntries, false, e.Error(), "one entry a line, as the ledger writes it")
		rep.Unproven("anything about the lines after line %d, and the books: the journal cannot be read to its end", e.line)
		return nil
	}
	if _, corrupt := errors.AsType[ledger.ErrCorrupt](err); err != nil && !corrupt {
		return err
	}
	if err != nil {
		rep.Add(findingChain, false, err.Error(), "an entry that continues the journal")
		rep.Unproven("anything about the entries after entry %d, and the books: the journal does not replay", state.Seq)
		return nil
	}
	rep.Add(findingEntries, true, fmt.Sprintf("%d lines", state.Seq), "")
	rep.Add(findingChain, true, fmt.Sprintf("%d entries, head %x", state.Seq, state.Head), "")
	res.books(state)
	played.report(rep)
	return nil
}

// books adds what Audit says about the state of a whole journal.
func (res *Result) books(s ledger.State) {
	assets := make(map[ledger.Asset]bool)
	for _, b := range s.Balances {
		assets[b.Key.Asset] = true
	}
	sealed := 0
	for _, d := range s.Docs {
		if d.Doc.Sealed {
			sealed++
		}
	}
	checks := []struct{ name, got string }{
		{findingZero, fmt.Sprintf("%d balances in %d assets", len(s.Balances), len(assets))},
		{findingEscrow, fmt.Sprintf("%d documents, %d of them sealed", len(s.Docs), sealed)},
		{findingBooks, fmt.Sprintf("%d holds, %d counters", len(s.Holds), len(s.Counts))},
	}
	wrong := make(map[string]ledger.Finding)
	for _, f := range ledger.Audit(s) {
		name := findingBooks
		switch f.Code {
		case "unbalanced":
			name = findingZero
		case "escrow":
			name = findingEscrow
		}
		if _, ok := wrong[name]; !ok {
			wrong[name] = f
		}
	}
	for _, c := range checks {
		if f, ok := wrong[c.name]; ok {
			res.Report.Add(c.name, false, f.Subject+": "+f.Detail, "nothing amiss")
			continue
		}
		res.Report.Add(c.name, true, c.got, "")
	}
}

// entries reads a journal line by line. A line that is not to the byte what the ledger writes is a lineError.
func entries(in *bufio.Reader) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		var buf []byte
		for n := 1; ; n++ {
			line, long, err := readLine(in, buf[:0], maxEntry)
			buf = line
			var e ledger.Entry
			switch {
			case errors.Is(err, io.EOF) && len(line) == 0:
				return
			case errors.Is(err, io.EOF):
				err = lineError{n, errors.New("cut off: the line does not end")}
			case err != nil:
			case long:
				err = lineError{n, fmt.Errorf("longer than %d bytes", maxEntry)}
			default:
				if e, err = parseEntry(line); err != nil {
					err = lineError{n, err}
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func parseEntry(line []byte) (e ledger.Entry, err error) {
	if err := e.UnmarshalJSON(line); err != nil {
		return e, err
	}
	// UnmarshalJSON lets white space pass, and so one journal could have two forms.
	var tight bytes.Buffer
	if err := json.Compact(&tight, line); err != nil || tight.Len() != len(line) {
		return e, errors.New("white space between the fields")
	}
	return e, nil
}

// readLine appends the next line to buf, without its \n. Of a line longer than limit it keeps the beginning, and reads
// over the rest. The error io.EOF says that the line was the last and had no end.
func readLine(in *bufio.Reader, buf []byte, limit int) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(buf)+len(part) > limit+1 {
			long = true
		} else {
			buf = append(buf, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(buf, []byte("\n")), long, err
	}
}
