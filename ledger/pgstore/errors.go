package pgstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrForeign: the database has tables where those of the ledger should be. It
// was not changed.
type ErrForeign struct{ Why string }

func (e ErrForeign) Error() string { return "pgstore: not a ledger of this kind: " + e.Why }

// ErrNewer: the tables have a newer format than this version knows. They were
// not changed.
type ErrNewer struct{ Have, Known int }

func (e ErrNewer) Error() string {
	return fmt.Sprintf("pgstore: the tables have format %d, this version knows formats up to %d", e.Have, e.Known)
}

// ErrViolated: a constraint of the tables refused what the rules of the ledger
// allowed. That is impossible unless the tables were changed by somebody else:
// stop and look. Nothing was written. Err is the cause. Code "corrupt".
type ErrViolated struct {
	ID  string
	Err error
}

func (e ErrViolated) Error() string {
	return "pgstore: the tables are corrupt, they refuse " + e.ID + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e ErrViolated) Unwrap() error { return e.Err }

// Code is "corrupt".
func (ErrViolated) Code() string { return "corrupt" }

// class says what an error means for the transaction it ended.
type class uint8

const (
	unknown  class = iota // the connection is gone: a COMMIT that was sent may have happened
	unsent                // the connection was gone before anything was sent
	refused               // the server said no: nothing happened
	violated              // a constraint said no, which the rules of the ledger exclude
	busy                  // contention: nothing happened, the same may succeed later
)

// classify reads the SQLSTATE.
func classify(err error) class {
	if errors.Is(err, errBusy) {
		return busy
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if pgconn.SafeToRetry(err) {
			return unsent
		}
		return unknown
	}
	switch s := e.Code; {
	case s == "40003": // the server itself does not know
		return unknown
	case strings.HasPrefix(s, "40"), s == "55P03": // serialization failure, deadlock, lock timeout
		return busy
	case strings.HasPrefix(s, "23"), s == "22003": // integrity, number out of range
		return violated
	case strings.HasPrefix(s, "08"), strings.HasPrefix(s, "57P"), strings.HasPrefix(s, "58"), strings.HasPrefix(s, "XX"):
		return unknown
	}
	return refused
}

// errBusy: what was read cannot be, unless somebody else is at it.
var errBusy = errors.New("pgstore: rows are there that cannot be seen, or gone that were there")

// errRolledBack: the server answered COMMIT with ROLLBACK.
var errRolledBack = errors.New("pgstore: the server rolled back instead of committing")
