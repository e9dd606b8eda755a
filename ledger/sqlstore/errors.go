package sqlstore

import (
	"errors"
	"fmt"
	"strings"
)

// Class says what an error of the database means for the transaction.
type Class uint8

// The classes. When in doubt it is Unknown: that costs a retry at most.
const (
	Unknown  Class = iota // a COMMIT that ended so may have happened: lost connection, failed fsync
	Refused               // the database said no, nothing happened
	Violated              // a CHECK or a unique index said no, which the rules of the ledger exclude
	Busy                  // contention, nothing happened: the same may succeed later
	Full                  // no room, nothing happened
)

// Classify is what Config.Classify is by default: it reads the SQLSTATE of
// errors that have a method SQLState() string, as those of pgx and lib/pq do,
// and the primary result code of errors that have a method Code() int, as
// those of modernc.org/sqlite do. All else is Unknown.
func Classify(err error) Class {
	if e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return classifyState(e.SQLState())
	}
	if e, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		return ClassifySQLite(e.Code())
	}
	return Unknown
}

func classifyState(s string) Class {
	switch {
	case s == "40003": // statement completion unknown
		return Unknown
	case strings.HasPrefix(s, "40"), s == "55P03": // serialization failure, deadlock, lock timeout
		return Busy
	case strings.HasPrefix(s, "08"), strings.HasPrefix(s, "57P"), strings.HasPrefix(s, "58"), strings.HasPrefix(s, "XX"), s == "":
		return Unknown
	case strings.HasPrefix(s, "23"), s == "22003": // integrity, number out of range
		return Violated
	case s == "53100":
		return Full
	}
	return Refused
}

// ClassifySQLite reads a result code of SQLite, primary or extended: for
// Config.Classify with drivers that Classify does not know.
func ClassifySQLite(code int) Class {
	switch code & 0xff {
	case 5, 6: // BUSY, LOCKED
		return Busy
	case 13: // FULL
		return Full
	case 19: // CONSTRAINT
		return Violated
	case 10: // IOERR: after a failed fsync the commit may still be on disk
		return Unknown
	}
	return Refused
}

// ErrForeign: the database has tables where those of the ledger should be, or
// is no database. It was not changed.
type ErrForeign struct{ Why string }

func (e ErrForeign) Error() string {
	return "sqlstore: not a ledger: " + e.Why
}

// ErrNewer: the tables have a newer format than this version knows. They were
// not changed.
type ErrNewer struct{ Have, Known int }

func (e ErrNewer) Error() string {
	return fmt.Sprintf("sqlstore: the tables have format %d, this version knows formats up to %d", e.Have, e.Known)
}

// ErrViolated: a constraint of the tables refused what the rules of the ledger
// allowed. That is impossible unless the tables were changed by somebody else:
// stop and look. Nothing was written. Err is the cause. Code "corrupt".
type ErrViolated struct {
	ID  string
	Err error
}

func (e ErrViolated) Error() string {
	return "sqlstore: the tables are corrupt, they refuse " + e.ID + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e ErrViolated) Unwrap() error { return e.Err }

// Code is "corrupt".
func (ErrViolated) Code() string { return "corrupt" }
