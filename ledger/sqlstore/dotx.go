package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// DoTx judges t and writes what it changes within the caller's transaction:
// his own rows and the ledger's are committed together, or neither. tx must
// belong to the database that holds the tables.
//
// The receipt is provisional until the caller has committed: publish nothing
// before. If his commit fails or its reply is lost, he runs the whole
// transaction again with the same t: what was committed is answered with its
// first receipt, Replayed.
//
// Errors: those of [ledger.Apply], after which tx is as it was and can be used
// and committed; [ledger.ErrBusy], [ErrViolated] and errors of the database,
// after which it must be rolled back. After ErrBusy run it again from its
// beginning.
//
// The rows of t stay locked until tx ends, so it should end soon. In SQLite
// begin with BEGIN IMMEDIATE, or make DoTx the first statement: a transaction
// that has read before is ErrBusy if somebody else wrote since.
func (s *Store) DoTx(ctx context.Context, tx *sql.Tx, t ledger.Tx) (ledger.Receipt, error) {
	at := s.now().UnixNano()
	// A Tx that cannot be right is refused before rows are made for its keys.
	if _, err := ledger.Apply(none, t, at); err != nil {
		if _, invalid := errors.AsType[ledger.ErrInvalid](err); invalid {
			return ledger.Receipt{}, err
		}
	}
	var receipt ledger.Receipt
	u := &unit{ctx: ctx, ks: ledger.Keys(t), f: func(v ledger.View) (ledger.Change, error) {
		c, err := ledger.Apply(v, t, at)
		receipt = c.Receipt
		return c, err
	}}
	if err := s.within(ctx, tx, u); err != nil {
		return ledger.Receipt{}, err
	}
	return receipt, nil
}

// within runs u between savepoints.
func (s *Store) within(ctx context.Context, tx *sql.Tx, u *unit) error {
	point := func(verb string) error {
		_, err := tx.ExecContext(ctx, verb+" "+s.t.prefix+"tx")
		return err
	}
	if err := point("SAVEPOINT"); err != nil {
		return s.failed(ctx, err)
	}
	ses := session{tx, s.t, s.realm, &s.last}
	accepted, err := ses.run(ctx, []*unit{u})
	switch {
	case err != nil && s.classify(err) == Violated:
		err = ErrViolated{u.ks.ID, err}
	case err == nil && accepted > 0:
		return s.failed(ctx, point("RELEASE SAVEPOINT"))
	}
	back := errors.Join(point("ROLLBACK TO SAVEPOINT"), point("RELEASE SAVEPOINT"))
	switch {
	case err != nil:
		return s.failed(ctx, err)
	case u.err != nil:
		return u.err
	}
	return s.failed(ctx, back)
}
