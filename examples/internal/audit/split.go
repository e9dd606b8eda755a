package audit

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"github.com/glasshouse-go/glasshouse/fair/legacy"
)

var errLong = fmt.Errorf("longer than %d bytes", maxRow)

// splitLines gives the lines that are not blank.
func splitLines(in *bufio.Reader, emit func(row)) error {
	skipBOM(in)
	var buf []byte
	for n := 1; ; n++ {
		line, long, err := readLine(in, buf[:0], maxRow)
		buf = line
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("line %d: %w", n, err)
		}
		line = bytes.TrimSpace(line)
		switch {
		case long:
			emit(row{line: n, err: errLong})
		case len(line) > 0:
			emit(row{line: n, json: bytes.Clone(line)})
		}
		if err != nil {
			return nil
		}
	}
}

func skipBOM(in *bufio.Reader) {
	if b, _ := in.Peek(len(bom)); string(b) == bom {
		_, _ = in.Discard(len(bom))
	}
}

// splitter cuts a JSON array into its elements without reading it whole. It looks at brackets and strings only: what an
// element is worth shows when it is parsed.
type splitter struct {
	in   *bufio.Reader
	line int // of the next byte
}

func (s *splitter) next() (byte, error) {
	c, err := s.in.ReadByte()
	if c == '\n' {
		s.line++
	}
	return c, err
}

// solid is the next byte that is not white space, and its line.
func (s *splitter) solid() (c byte, line int, err error) {
	for {
		line = s.line
		if c, err = s.next(); err != nil || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c, line, err
		}
	}
}

func (s *splitter) broken(err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the array does not end")
	}
	return fmt.Errorf("line %d: %w", s.line, err)
}

func splitArray(in *bufio.Reader, emit func(row)) error {
	skipBOM(in)
	s := &splitter{in: in, line: 1}
	if _, _, err := s.solid(); err != nil { // the bracket that made it an array
		return s.broken(err)
	}
	for first := true; ; first = false {
		c, line, err := s.solid()
		switch {
		case err != nil:
			return s.broken(err)
		case c == ']' && first:
			return s.end()
		case c == ']' || c == ',':
			return fmt.Errorf("line %d: a row is missing before %q", line, c)
		}
		r, stop, err := s.element(c, line)
		if err != nil {
			return s.broken(err)
		}
		emit(r)
		if stop == ']' {
			return s.end()
		}
	}
}

// element reads on to the comma or bracket behind the element that begins with c.
func (s *splitter) element(c byte, line int) (r row, stop byte, err error) {
	r.line = line
	depth, quoted, escaped := 0, false, false
	for ; ; c, err = s.next() {
		if err != nil {
			return r, 0, err
		}
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == ']'):
			r.json = bytes.TrimRight(r.json, " \t\r\n")
			return r, c, nil
		case c == '}' || c == ']':
			depth--
		}
		if len(r.json) < maxRow {
			r.json = append(r.json, c)
		} else {
			r.err = errLong
		}
	}
}

// end makes sure that nothing follows the array.
func (s *splitter) end() error {
	c, line, err := s.solid()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return s.broken(err)
	}
	return fmt.Errorf("line %d: %q follows the array", line, c)
}

// csvTable is a CSV file whose header has been read.
type csvTable struct {
	in      *csv.Reader
	limit   *rowLimit
	columns []column
	names   []string
	unknown []string
}

func openCSV(in *bufio.Reader) (*csvTable, error) {
	skipBOM(in)
	t := &csvTable{limit: &rowLimit{in: in}}
	t.limit.renew()
	t.in = csv.NewReader(t.limit)
	names, err := t.in.Read()
	if err != nil {
		return nil, err
	}
	t.names = names
	var have column
	for _, name := range names {
		c, ok := columnOf(name)
		if !ok {
			t.unknown = append(t.unknown, name)
		}
		if c != other && have&c != 0 {
			return nil, fmt.Errorf("line 1: column %.40q: there twice", name)
		}
		have |= c
		t.columns = append(t.columns, c)
	}
	if name := missing(have); name != "" {
		return nil, fmt.Errorf("line 1: no column %s", name)
	}
	return t, nil
}

func (t *csvTable) read(emit func(row)) error {
	for last := 1; ; {
		t.limit.renew()
		fields, err := t.in.Read()
		parseErr, badRow := errors.AsType[*csv.ParseError](err)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case badRow:
			last = parseErr.Line
			emit(row{line: parseErr.StartLine, err: parseErr.Err})
		case err != nil:
			return fmt.Errorf("after the row in line %d: %w", last, err)
		default:
			last, _ = t.in.FieldPos(0)
			emit(row{line: last, fields: fields})
		}
	}
}

// parse reads a row. A field that is empty, \N or NULL is null: CSV has no better way to say so.
func (t *csvTable) parse(in row) (r legacy.Row52, unknown []string, err error) {
	if in.err != nil {
		return r, t.unknown, in.err
	}
	for i, c := range t.columns {
		if c == other {
			continue
		}
		text := in.fields[i]
		v := value{text: text, null: text == "" || text == `\N` || text == "NULL", name: t.names[i]}
		if err := set(&r, c, v); err != nil {
			return r, t.unknown, err
		}
	}
	return r, t.unknown, nil
}

// rowLimit keeps a quote that is never closed from taking the rest of a file for one field.
type rowLimit struct {
	in   io.Reader
	left int
}

func (l *rowLimit) renew() { l.left = maxRow }

func (l *rowLimit) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("a row %w: is a quote left open?", errLong)
	}
	n, err := l.in.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}
