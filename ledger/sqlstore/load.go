package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// Every statement names the realm and full primary keys: only rows that are
// meant are read and locked.
const (
	selectReceipts = "SELECT id, receipt FROM {p}entry WHERE realm = ? AND id IN ({rows 1})"
	selectBalances = "SELECT account, asset, posted, held, floor, version, closed, stamp FROM {p}balance WHERE realm = ? AND (account, asset) IN (VALUES {rows 2}) ORDER BY account, asset"
	selectHolds    = "SELECT id, account, asset, amount, expires_at, remaining, state FROM {p}hold WHERE realm = ? AND id IN ({rows 1}) ORDER BY id"
	selectDocs     = "SELECT key, version, status, body, sealed, updated, stamp FROM {p}doc WHERE realm = ? AND key IN ({rows 1}) ORDER BY key"
	selectCounts   = "SELECT key, value, stamp FROM {p}counter WHERE realm = ? AND key IN ({rows 1}) ORDER BY key"

	// Rows that do not exist cannot be locked: these make them.
	claimIDs       = "INSERT INTO {p}entry (realm, id, at, digest, stamp, tx, receipt) VALUES {rows 7} ON CONFLICT DO NOTHING"
	ensureBalances = "INSERT INTO {p}balance (realm, account, asset, posted, held, floor, version, closed, stamp) VALUES {rows 9} ON CONFLICT DO NOTHING"
	ensureHolds    = "INSERT INTO {p}hold (realm, id, account, asset, amount, expires_at, remaining, state) VALUES {rows 8} ON CONFLICT DO NOTHING"
	ensureDocs     = "INSERT INTO {p}doc (realm, key, version, status, body, sealed, updated, stamp) VALUES {rows 8} ON CONFLICT DO NOTHING"
	ensureCounts   = "INSERT INTO {p}counter (realm, key, value, stamp) VALUES {rows 4} ON CONFLICT DO NOTHING"

	// In a database with one writer this makes the transaction the writer
	// before it reads: one that reads first and writes later fails if another
	// one wrote meanwhile, without waiting.
	becomeWriter = "UPDATE {p}head SET seq = seq WHERE realm = ?"
)

// querier is a transaction, or a database outside of any.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// session runs statements for one realm.
type session struct {
	q     querier
	t     *texts
	realm string
	last  *atomic.Int64
}

// exec runs format for all items, which give the parameters of a row each.
func exec[T any](ctx context.Context, s *session, format string, items []T, row func([]any, *T) []any) error {
	return chunks(len(items), func(from, to int) error {
		var args []any
		for i := from; i < to; i++ {
			args = row(args, &items[i])
		}
		_, err := s.q.ExecContext(ctx, s.t.text(format, to-from), args...)
		return err
	})
}

// load runs the SELECT format for all keys and gives each row to scan.
func load[T any](ctx context.Context, s *session, format string, keys []T, row func([]any, *T) []any, scan func(*sql.Rows) error) error {
	return chunks(len(keys), func(from, to int) error {
		args := []any{s.realm}
		for i := from; i < to; i++ {
			args = row(args, &keys[i])
		}
		return s.query(ctx, s.t.text(format, to-from), args, scan)
	})
}

func (s *session) query(ctx context.Context, text string, args []any, scan func(*sql.Rows) error) error {
	rows, err := s.q.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err says what went wrong
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ensure makes the rows that are to be locked. Ids come first: whoever sends a
// Tx a second time waits here until the first one is decided.
func (s *session) ensure(ctx context.Context, ks *ledger.KeySet, ids []string) error {
	zero := []byte{}
	if err := exec(ctx, s, claimIDs, ids, func(a []any, id *string) []any {
		return append(a, s.realm, *id, int64(0), zero, int64(0), "", "")
	}); err != nil {
		return err
	}
	if err := exec(ctx, s, ensureBalances, ks.Balances, func(a []any, k *ledger.Key) []any {
		return append(a, s.realm, string(k.Account), string(k.Asset), int64(0), int64(0), int64(0), int64(0), int64(0), int64(0))
	}); err != nil {
		return err
	}
	if err := exec(ctx, s, ensureHolds, ks.Holds, func(a []any, id *string) []any {
		return append(a, s.realm, *id, "", "", int64(0), int64(0), int64(0), int64(0))
	}); err != nil {
		return err
	}
	if err := exec(ctx, s, ensureDocs, ks.Docs, func(a []any, k *ledger.DocKey) []any {
		return append(a, s.realm, string(*k), int64(0), "", zero, int64(0), int64(0), int64(0))
	}); err != nil {
		return err
	}
	return exec(ctx, s, ensureCounts, ks.Counts, func(a []any, k *string) []any {
		return append(a, s.realm, *k, int64(0), int64(0))
	})
}

// view reads the rows of ks and the receipts of ids. With lock nobody else
// changes them before the transaction ends.
func (s *session) view(ctx context.Context, ks *ledger.KeySet, ids []string, lock string) (*view, error) {
	v := newView()
	if err := s.receipts(ctx, v, ids); err != nil {
		return nil, err
	}
	if err := s.balances(ctx, v, ks.Balances, lock); err != nil {
		return nil, err
	}
	if err := s.holds(ctx, v, ks.Holds, lock); err != nil {
		return nil, err
	}
	if err := s.docs(ctx, v, ks.Docs, lock); err != nil {
		return nil, err
	}
	return v, s.counts(ctx, v, ks.Counts, lock)
}

func text[S ~string](a []any, s *S) []any { return append(a, string(*s)) }

func (s *session) receipts(ctx context.Context, v *view, ids []string) error {
	return load(ctx, s, selectReceipts, ids, text, func(rows *sql.Rows) error {
		var id string
		var b []byte
		if err := rows.Scan(&id, &b); err != nil || len(b) == 0 {
			return err // an empty one is our own claim of the id
		}
		var r ledger.Receipt
		if err := r.UnmarshalJSON(b); err != nil {
			return fmt.Errorf("sqlstore: receipt of %s: %w", id, err)
		}
		v.receipts[id] = r
		return nil
	})
}

func (s *session) balances(ctx context.Context, v *view, keys []ledger.Key, lock string) error {
	args := func(a []any, k *ledger.Key) []any { return append(a, string(k.Account), string(k.Asset)) }
	return load(ctx, s, selectBalances+lock, keys, args, func(rows *sql.Rows) error {
		var b ledger.Balance
		var version, closed, stamp int64
		err := rows.Scan(&b.Key.Account, &b.Key.Asset, &b.Posted, &b.Held, &b.Floor, &version, &closed, &stamp)
		b.Version, b.Closed = uint64(version), closed == 1
		v.balances[b.Key] = row[ledger.Balance]{v: b, stamp: stamp}
		return err
	})
}

func (s *session) holds(ctx context.Context, v *view, ids []string, lock string) error {
	return load(ctx, s, selectHolds+lock, ids, text, func(rows *sql.Rows) error {
		var h ledger.HoldRow
		if err := rows.Scan(&h.ID, &h.From, &h.Asset, &h.Amount, &h.ExpiresAt, &h.Left, &h.State); err != nil || h.State == 0 {
			return err
		}
		v.holds[h.ID] = row[ledger.HoldRow]{v: h}
		return nil
	})
}

func (s *session) docs(ctx context.Context, v *view, keys []ledger.DocKey, lock string) error {
	return load(ctx, s, selectDocs+lock, keys, text, func(rows *sql.Rows) error {
		d, stamp, err := scanDoc(rows)
		v.docs[d.Key] = row[ledger.Doc]{v: d.Doc, stamp: stamp}
		return err
	})
}

func scanDoc(rows *sql.Rows) (d ledger.DocRow, stamp int64, err error) {
	var version, sealed int64
	err = rows.Scan(&d.Key, &version, &d.Doc.Status, &d.Doc.Body, &sealed, &d.Doc.Updated, &stamp)
	d.Doc.Version, d.Doc.Sealed = uint64(version), sealed == 1
	if len(d.Doc.Body) == 0 {
		d.Doc.Body = nil
	}
	return d, stamp, err
}

func (s *session) counts(ctx context.Context, v *view, keys []string, lock string) error {
	return load(ctx, s, selectCounts+lock, keys, text, func(rows *sql.Rows) error {
		var key string
		var value, stamp int64
		err := rows.Scan(&key, &value, &stamp)
		v.counts[key] = row[int64]{v: value, stamp: stamp}
		return err
	})
}
