package pgstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// magic tells the tables of this package from others that happen to have the
// same names, those of package sqlstore among them.
const magic = "glasshouse/ledger/pgstore"

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

const (
	findTables   = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_name LIKE 'ledger\\_%' ORDER BY table_name"
	createFormat = "CREATE TABLE IF NOT EXISTS ledger_format (id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1), magic TEXT NOT NULL, format BIGINT NOT NULL)"
	insertFormat = "INSERT INTO ledger_format (id, magic, format) VALUES (1, $1, 0) ON CONFLICT (id) DO NOTHING"
	readFormat   = "SELECT magic, format FROM ledger_format WHERE id = 1"
	lockFormat   = readFormat + " FOR UPDATE"
	updateFormat = "UPDATE ledger_format SET format = $1 WHERE id = 1"
)

// migrate brings the tables to the newest format. Nothing is written if they
// have it.
func (s *Store) migrate(ctx context.Context) error {
	for attempt := 0; ; attempt++ {
		err := s.migrateOnce(ctx)
		if err == nil || !raced(err) || attempt == maxAttempts {
			return err
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// raced: somebody else was creating the tables at the same time; the server
// then reports a duplicate in its catalogue.
func raced(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "23505", "42P07", "42710":
			return true
		}
	}
	return classify(err) == busy
}

func (s *Store) migrateOnce(ctx context.Context) error {
	format, err := s.format(ctx)
	if err != nil || format == len(migrations) {
		return err
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, createFormat); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, insertFormat, magic); err != nil {
			return err
		}
		// This locks the row: of many processes one migrates, the others find it done.
		format, err := scanFormat(tx.QueryRow(ctx, lockFormat))
		if err != nil {
			return err
		}
		for ; format < len(migrations); format++ {
			for _, stmt := range statements(migrations[format]) {
				if _, err := tx.Exec(ctx, stmt); err != nil {
					return fmt.Errorf("pgstore: migration to format %d: %w", format+1, err)
				}
			}
			if _, err := tx.Exec(ctx, updateFormat, format+1); err != nil {
				return err
			}
		}
		return nil
	})
}

// format of the tables as they are, 0 if there are none.
func (s *Store) format(ctx context.Context) (int, error) {
	rows, err := s.pool.Query(ctx, findTables)
	if err != nil {
		return 0, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) == 0 {
		return 0, err
	}
	for _, name := range names {
		if name != "ledger_format" {
			continue
		}
		format, err := scanFormat(s.pool.QueryRow(ctx, readFormat))
		if err != nil && classify(err) == refused {
			return 0, ErrForeign{"the table ledger_format is another one: " + err.Error()}
		}
		return format, err
	}
	return 0, ErrForeign{"there is a table " + names[0] + ", but no ledger_format"}
}

func scanFormat(row pgx.Row) (int, error) {
	have, format := "", 0
	switch err := row.Scan(&have, &format); {
	case errors.Is(err, pgx.ErrNoRows), err == nil && have != magic:
		return 0, ErrForeign{"the table ledger_format is another one"}
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
