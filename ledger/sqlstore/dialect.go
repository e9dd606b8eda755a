package sqlstore

import (
	"strconv"
	"strings"
	"sync"
)

// Dialect is the SQL that a database speaks.
type Dialect uint8

// The dialects. Postgres is also that of databases with its protocol,
// YugabyteDB and CockroachDB among them.
const (
	SQLite   Dialect = iota + 1 // 3.35 or later
	Postgres                    // 12 or later
)

// dialect is all in which the two differ; the statements are the same text.
type dialect struct {
	dollar    bool   // placeholders are $1, $2, …
	lock      string // ends a SELECT whose rows must not change before the commit
	integer   string // 64 bits
	bytes     string
	key       string // text that compares bytewise
	rowid     string // ends the definition of a table with large rows
	clustered string // ends the definition of any other table
	tables    string // counts the tables of a name

	// many: transactions run at the same time. Rows are locked, and the journal
	// is numbered after the commit. Otherwise one transaction writes at a time,
	// and many Txs share it.
	many bool
}

var dialects = map[Dialect]dialect{
	SQLite: {
		integer: "INTEGER", bytes: "BLOB", key: "TEXT",
		// Without STRICT an integer that overflows would be stored as a float.
		rowid: " STRICT", clustered: " STRICT, WITHOUT ROWID",
		tables: "SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?",
	},
	Postgres: {
		dollar: true, many: true, lock: " FOR UPDATE",
		integer: "BIGINT", bytes: "BYTEA", key: `TEXT COLLATE "C"`,
		tables: "SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = ?",
	},
}

// texts renders statements for one dialect and prefix, each once.
type texts struct {
	d      dialect
	prefix string
	done   sync.Map // of textKey → string
}

type textKey struct {
	format string
	rows   int
}

// text is the statement for so many rows. In format, ? is a parameter, {p} the
// prefix of the tables, {lock} what locks rows, and {rows n} stands for as many
// groups of n parameters as there are rows.
func (t *texts) text(format string, rows int) string {
	k := textKey{format, rows}
	if s, ok := t.done.Load(k); ok {
		return s.(string)
	}
	s := t.render(format, rows)
	t.done.Store(k, s)
	return s
}

func (t *texts) render(format string, rows int) string {
	if before, rest, ok := strings.Cut(format, "{rows "); ok {
		width, after, _ := strings.Cut(rest, "}")
		n, err := strconv.Atoi(width)
		if err != nil {
			panic("sqlstore: " + format) // a constant of this package
		}
		group := strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
		if n > 1 {
			group = "(" + group + ")"
		}
		format = before + strings.TrimSuffix(strings.Repeat(group+", ", rows), ", ") + after
	}
	s := strings.NewReplacer("{p}", t.prefix, "{lock}", t.d.lock, "{int}", t.d.integer, "{bytes}", t.d.bytes,
		"{key}", t.d.key, "{rowid}", t.d.rowid, "{clustered}", t.d.clustered).Replace(format)
	if !t.d.dollar {
		return s
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, ok := strings.Cut(s, "?")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		s = after
	}
}

// maxRows is how many rows one statement reads or writes.
const maxRows = 64

// chunks cuts n rows into powers of two, so that few statements serve for all
// numbers of rows.
func chunks(n int, f func(from, to int) error) error {
	for from := 0; from < n; {
		size := maxRows
		for size > n-from {
			size /= 2
		}
		if err := f(from, from+size); err != nil {
			return err
		}
		from += size
	}
	return nil
}
