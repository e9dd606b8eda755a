package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// magic tells the tables of a ledger from others that happen to have the same
// names.
const magic = "glasshouse/ledger"

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations are the steps from each format to the next; the first makes
// format 1 of nothing.
var migrations = readMigrations()

func readMigrations() (steps []string) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	for _, name := range names { // sorted, as fs.Glob gives them
		var b []byte
		if b, err = migrationFiles.ReadFile(name); err != nil {
			break
		}
		steps = append(steps, string(b))
	}
	if err != nil {
		panic(err) // the files are part of the program
	}
	return steps
}

var tableNames = []string{"format", "entry", "head", "doc_entry", "balance", "hold", "doc", "counter"}

const (
	readFormat   = "SELECT magic, format FROM {p}format WHERE id = 1{lock}"
	createFormat = "CREATE TABLE IF NOT EXISTS {p}format (id {int} NOT NULL PRIMARY KEY CHECK (id = 1), magic TEXT NOT NULL, format {int} NOT NULL){rowid}"
	insertFormat = "INSERT INTO {p}format (id, magic, format) VALUES (1, ?, 0) ON CONFLICT DO NOTHING"
	updateFormat = "UPDATE {p}format SET format = ? WHERE id = 1"
)

// migrate brings the tables to the newest format. Nothing is written if they
// have it.
func (s *Store) migrate(ctx context.Context) error {
	var err error
	for attempt := range s.attempts() {
		if err = s.migrateOnce(ctx); err == nil || !s.raced(err) {
			return err
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
	return err
}

// raced: somebody else was creating the tables at the same time. PostgreSQL
// then reports a duplicate in its catalogue.
func (s *Store) raced(err error) bool {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		switch e.SQLState() {
		case "23505", "42P07", "42710":
			return true
		}
	}
	return s.classify(err) == Busy
}

func (s *Store) migrateOnce(ctx context.Context) error {
	format, err := s.format(ctx)
	if err != nil || format == len(migrations) {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it has nothing to do
	if _, err := tx.ExecContext(ctx, s.t.text(createFormat, 0)); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, s.t.text(insertFormat, 0), magic); err != nil {
		return err
	}
	// This locks the row: of many processes one migrates, the others find it done.
	if format, err = scanFormat(tx.QueryRowContext(ctx, s.t.text(readFormat, 0))); err != nil {
		return err
	}
	for ; format < len(migrations); format++ {
		for _, stmt := range statements(migrations[format]) {
			if _, err := tx.ExecContext(ctx, s.t.render(stmt, 0)); err != nil {
				return fmt.Errorf("sqlstore: migration to format %d: %w", format+1, err)
			}
		}
		if _, err := tx.ExecContext(ctx, s.t.text(updateFormat, 0), format+1); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// format of the tables as they are, 0 if there are none.
func (s *Store) format(ctx context.Context) (int, error) {
	found := ""
	for _, name := range tableNames {
		n := 0
		if err := s.db.QueryRowContext(ctx, s.t.text(s.t.d.tables, 0), s.t.prefix+name).Scan(&n); err != nil {
			return 0, err
		}
		switch {
		case n > 0 && name == "format":
			row := s.db.QueryRowContext(ctx, s.t.text(strings.TrimSuffix(readFormat, "{lock}"), 0))
			format, err := scanFormat(row)
			if err != nil && s.classify(err) == Refused {
				err = ErrForeign{"the table that tells the format cannot be read: " + err.Error()}
			}
			return format, err
		case n > 0:
			found = s.t.prefix + name
		}
	}
	if found != "" {
		return 0, ErrForeign{"there is a table " + found + ", but no " + s.t.prefix + "format"}
	}
	return 0, nil
}

func scanFormat(row *sql.Row) (int, error) {
	have, format := "", 0
	switch err := row.Scan(&have, &format); {
	case errors.Is(err, sql.ErrNoRows), err == nil && have != magic:
		return 0, ErrForeign{"the table that tells the format is not that of a ledger"}
	case err != nil:
		return 0, err
	case format > len(migrations):
		return 0, ErrNewer{format, len(migrations)}
	}
	return format, nil
}

// statements cuts a migration at the semicolons that end a line.
func statements(text string) (list []string) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "--") {
			continue
		}
		b.WriteString(line)
		if stmt := strings.TrimSpace(b.String()); strings.HasSuffix(stmt, ";") {
			list = append(list, strings.TrimSuffix(stmt, ";"))
			b.Reset()
		}
	}
	return list
}
