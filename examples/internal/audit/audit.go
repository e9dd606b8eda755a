// Package audit verifies files for people who do not trust the house: records of battles, journals of a ledger, and
// the stored rounds of a case-battle site that drew by scheme legacy/52. It needs nothing but the bytes.
package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/fair"
)

// The kinds of files that are known.
const (
	BattleRecord = "battle record"
	Journal      = "ledger journal"
	RoundsJSON   = "battle rounds, legacy/52, JSON"
	RoundsNDJSON = "battle rounds, legacy/52, NDJSON"
	RoundsCSV    = "battle rounds, legacy/52, CSV"
)

// Result is what came out for one file.
type Result struct {
	File   string      `json:"file"`
	Kind   string      `json:"kind,omitempty"` // "" = not recognised
	OK     bool        `json:"ok"`             // every finding holds, and everything could be read
	Error  string      `json:"error,omitempty"`
	Report fair.Report `json:"report"`
	Faults []Fault     `json:"first_faults,omitempty"` // rows only, in the order of the file
}

// Fault is a row that does not hold.
type Fault struct {
	Line    int    `json:"line"` // where the row begins, from 1
	Finding string `json:"finding"`
	Got     string `json:"got"`
	Want    string `json:"want"`
}

// Read verifies what r holds. It reads once and from the front, so r may be a pipe. Rows take constant memory; a record
// and the state behind a journal are held whole.
func Read(name string, r io.Reader) Result {
	in := bufio.NewReaderSize(r, sniffed)
	res := Result{File: name}
	head, err := in.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		res.Error = err.Error()
		return res
	}
	kind, err := detect(head)
	if err != nil {
		res.Error = err.Error()
		return res
	}
	res.Kind = kind
	switch kind {
	case BattleRecord:
		err = res.record(in)
	case Journal:
		err = res.journal(in)
	default:
		err = res.rounds(in)
	}
	if err != nil {
		res.Error = err.Error()
	}
	res.OK = err == nil && res.Report.OK()
	return res
}

// maxRecord is the largest record that is read, in bytes.
const maxRecord = 64 << 20

func (res *Result) record(in io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(in, maxRecord+1))
	if err != nil {
		return err
	}
	res.Report, err = battle.Verify(data)
	return err
}

// sniffed is how many bytes decide what a file is.
const sniffed = 64 << 10

const bom = "\xef\xbb\xbf"

// detect tells what a file is by the names in its first object or its first line. It never guesses: what nothing is
// known about is an error.
func detect(head []byte) (string, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte(bom)), " \t\r\n")
	switch {
	case len(text) == 0:
		return "", errors.New("the file is empty")
	case text[0] == '[':
		return RoundsJSON, nil
	case text[0] == '{':
		return detectObject(text)
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	for _, name := range strings.Split(string(line), ",") {
		if c, _ := columnOf(strings.Trim(name, " \"\r")); c != other {
			return RoundsCSV, nil
		}
	}
	return "", fmt.Errorf("not recognised: it begins with %.40q, which is neither JSON nor a CSV header with a column server_seed or serverSeed", line)
}

var fieldsOf = map[string]string{
	"format": BattleRecord, "game": BattleRecord, "scheme": BattleRecord, "config": BattleRecord, "turns": BattleRecord,
	"seq": Journal, "at": Journal, "tx": Journal, "digest": Journal, "hash": Journal,
}

func detectObject(text []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	_, err := dec.Token()
	var names []string
	for err == nil && dec.More() {
		var tok json.Token
		if tok, err = dec.Token(); err != nil {
			break
		}
		name, _ := tok.(string) // nothing else can stand there
		if kind, ok := fieldsOf[name]; ok {
			return kind, nil
		}
		if c, _ := columnOf(name); c != other {
			return RoundsNDJSON, nil
		}
		names = append(names, name)
		var skip json.RawMessage
		err = dec.Decode(&skip)
	}
	if err != nil {
		return "", fmt.Errorf("not recognised: no field of a record, a journal or a round comes before the JSON breaks: %w", err)
	}
	return "", fmt.Errorf("not recognised: a JSON object with the fields %.100q is no record, journal or round that is known here", names)
}

// Print writes the result for people.
func (res Result) Print(w io.Writer) {
	kind := res.Kind
	if kind == "" {
		kind = "unknown"
	}
	fmt.Fprintf(w, "%s: %s\n", res.File, kind)
	for line := range strings.Lines(res.Report.String()) {
		fmt.Fprintf(w, "  %s", line)
	}
	for _, f := range res.Faults {
		fmt.Fprintf(w, "  line %d: %s: got %s, want %s\n", f.Line, f.Finding, f.Got, f.Want)
	}
	res.Verdict(w)
}

// Verdict writes one line: OK or FAIL, the file, and why.
func (res Result) Verdict(w io.Writer) {
	switch failed := res.Report.Failed(); {
	case res.OK:
		fmt.Fprintf(w, "OK    %s: %s, %d findings hold\n", res.File, res.Kind, len(res.Report.Findings))
	case res.Error != "":
		fmt.Fprintf(w, "FAIL  %s: %s\n", res.File, res.Error)
	case len(failed) > 0:
		names := make([]string, len(failed))
		for i, f := range failed {
			names[i] = f.Name
		}
		fmt.Fprintf(w, "FAIL  %s: %s\n", res.File, strings.Join(names, ", "))
	default:
		fmt.Fprintf(w, "FAIL  %s: nothing was checked\n", res.File)
	}
}
