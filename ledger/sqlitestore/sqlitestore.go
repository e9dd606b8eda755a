package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"        //nolint:depguard // the driver is what this module is for
	"github.com/ncruces/go-sqlite3/driver" //nolint:depguard // the driver is what this module is for

	"github.com/glasshouse-go/glasshouse/ledger/sqlstore"
)

// Config says how a file is used. Only Path is required.
type Config struct {
	// Path of the file, created if it does not exist. Beside it lie Path-wal and
	// Path-shm while it is in use: they belong to it, copy all or none. It must
	// be on a local disk.
	Path string

	// Realm is the ledger within the file; "" is "main".
	Realm string

	// Readers is how many connections read at the same time; 0 is 4.
	Readers int

	// Busy is how long a commit waits for another process that writes, before
	// it is ledger.ErrBusy; 0 is 10 seconds.
	Busy time.Duration

	// Now gives the time of what DoTx commits; nil is time.Now.
	Now func() time.Time
}

// Store is a ledger in a SQLite file. It is safe for concurrent use.
type Store struct {
	*sqlstore.Store
	write, read *sql.DB
}

// Open opens the ledger in the file at path, with the defaults of [Config].
func Open(path string) (*Store, error) { return OpenConfig(context.Background(), Config{Path: path}) }

// OpenConfig opens the ledger in a file. ctx bounds the opening only.
//
// Errors: [sqlstore.ErrForeign] if the file is no database or one without a
// ledger, [sqlstore.ErrNewer]; both leave it as it was. And those of SQLite.
func OpenConfig(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.Path == "" || strings.HasPrefix(cfg.Path, ":") {
		return nil, errors.New("sqlitestore: a file is needed; ledger.NewMemory keeps nothing")
	}
	if cfg.Readers <= 0 {
		cfg.Readers = 4
	}
	if cfg.Busy <= 0 {
		cfg.Busy = 10 * time.Second
	}
	if err := inspect(ctx, cfg); err != nil {
		return nil, err
	}
	write, err := connect(cfg, "_txlock=immediate&_pragma=journal_mode(wal)&_pragma=synchronous(full)", 1)
	if err != nil {
		return nil, err
	}
	read, err := connect(cfg, "_txlock=deferred&_pragma=query_only(1)", cfg.Readers)
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	s := &Store{write: write, read: read}
	s.Store, err = sqlstore.Open(ctx, write, sqlstore.Config{
		Dialect: sqlstore.SQLite, Realm: cfg.Realm, Readers: read, Now: cfg.Now, Classify: classify,
	})
	if err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	return s, nil
}

// connect opens a pool. The busy timeout comes first, because setting the
// journal mode may already have to wait.
func connect(cfg Config, params string, conns int) (*sql.DB, error) {
	db, err := driver.Open(fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)&%s", escape.Replace(cfg.Path), cfg.Busy.Milliseconds(), params))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// escape makes a path part of a URI.
var escape = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23")

// inspect looks at a file that exists, without writing to it: to become a
// writer is to change the header.
func inspect(ctx context.Context, cfg Config) error {
	info, err := os.Stat(cfg.Path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	db, err := connect(cfg, "mode=ro&_pragma=query_only(1)", 1)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // it only read
	tables := 0
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables)
	if errors.Is(err, sqlite3.NOTADB) {
		return sqlstore.ErrForeign{Why: cfg.Path + " is no SQLite database"}
	}
	if err != nil {
		return err
	}
	format, err := sqlstore.Format(ctx, db, sqlstore.Config{Dialect: sqlstore.SQLite, Classify: classify})
	if err == nil && format == 0 && tables > 0 {
		err = sqlstore.ErrForeign{Why: cfg.Path + " is the database of something else"}
	}
	return err
}

// Begin begins a transaction for DoTx, in which the caller can write rows of
// his own. There is one writer: until the transaction ends every commit waits,
// so a goroutine that has one open must not call Do.
func (s *Store) Begin(ctx context.Context) (*sql.Tx, error) { return s.write.BeginTx(ctx, nil) }

// DB is the pool with the one connection that writes: for the caller's own
// tables, in the same file. Their names must not begin with "ledger_".
func (s *Store) DB() *sql.DB { return s.write }

// Close closes the file. Commits that are under way end first.
func (s *Store) Close() error {
	return errors.Join(s.Store.Close(), s.read.Close(), s.write.Close())
}

// classify reads the errors of the driver.
func classify(err error) sqlstore.Class {
	if e, ok := errors.AsType[*sqlite3.Error](err); ok {
		return sqlstore.ClassifySQLite(int(e.Code()))
	}
	if e, ok := errors.AsType[sqlite3.ErrorCode](err); ok {
		return sqlstore.ClassifySQLite(int(e))
	}
	if e, ok := errors.AsType[sqlite3.ExtendedErrorCode](err); ok {
		return sqlstore.ClassifySQLite(int(e.Code()))
	}
	return sqlstore.Unknown
}
