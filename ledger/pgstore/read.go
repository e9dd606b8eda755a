package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/glasshouse-go/glasshouse/ledger"
)

const beginRead = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// failed is what a read answers.
func failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case classify(err) == busy:
		return ledger.ErrBusy{Err: err}
	}
	return err
}

// Read implements [ledger.Store], in one round trip.
func (s *Store) Read(ctx context.Context, ks ledger.KeySet) (ledger.View, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, b := newView(), &pgx.Batch{}
	b.Queue(beginRead) // all statements see one snapshot
	if ks.ID != "" {
		b.Queue(selectReceipts, s.realm, []string{ks.ID}).Query(func(rows pgx.Rows) error {
			return each(rows, func() error {
				var id, text string
				err := rows.Scan(&id, &text)
				if err == nil {
					v.receipts[id], err = decodeReceipt(id, text)
				}
				return err
			})
		})
	}
	s.queueReads(b, v, &ks, "")
	b.Queue("COMMIT")
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, failed(ctx, err)
	}
	defer conn.Release()
	defer rollback(ctx, conn)
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return nil, failed(ctx, err)
	}
	return v, nil
}

// docsPage is how many documents one statement of Docs reads. No connection is
// held while the caller has a row: he may use the ledger.
const docsPage = 256

// Docs implements [ledger.Store].
func (s *Store) Docs(ctx context.Context, q ledger.DocQuery) iter.Seq2[ledger.DocRow, error] {
	return func(yield func(ledger.DocRow, error) bool) {
		for left := q.Limit; ; {
			size := docsPage
			if q.Limit > 0 {
				size = min(size, left)
			}
			rows, err := s.docs(ctx, q, size)
			if err != nil {
				yield(ledger.DocRow{}, failed(ctx, err))
				return
			}
			for _, d := range rows {
				if !yield(d, nil) {
					return
				}
				q.After = d.Key
			}
			if left -= len(rows); len(rows) < size || q.Limit > 0 && left == 0 {
				return
			}
		}
	}
}

// alphabet of keys, in the order of its bytes.
const alphabet = "#-./0123456789:@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

// beyond is greater than every byte of a key.
const beyond = "~"

// cut is how many bytes at the beginning of s may stand in a key.
func cut[S ~string](s S) int {
	for i := range len(s) {
		if strings.IndexByte(alphabet, s[i]) < 0 {
			return i
		}
	}
	return len(s)
}

// bound has the same keys above it as after, in bytes that the database takes
// as text.
func bound(after ledger.DocKey) string {
	n := cut(after)
	s := string(after[:n])
	if n == len(after) {
		return s
	}
	// No key goes on with the byte at n; those that go on with a lesser one are
	// not above.
	for i := len(alphabet) - 1; i >= 0; i-- {
		if alphabet[i] < after[n] {
			return s + alphabet[i:i+1] + beyond
		}
	}
	return s
}

func (s *Store) docs(ctx context.Context, q ledger.DocQuery, limit int) (list []ledger.DocRow, err error) {
	if err := ctx.Err(); err != nil || cut(q.Prefix) < len(q.Prefix) || cut(q.Status) < len(q.Status) {
		return nil, err // no document is so
	}
	text := "SELECT key, version, status, body, sealed, updated, stamp FROM ledger_doc WHERE realm = $1 AND version > 0"
	args := []any{s.realm}
	and := func(condition string, arg any) {
		args = append(args, arg)
		text += fmt.Sprintf(" AND %s $%d", condition, len(args))
	}
	if after := bound(q.After); after >= string(q.Prefix) {
		and("key >", after)
	} else {
		and("key >=", string(q.Prefix))
	}
	if q.Prefix != "" {
		and("key <", string(q.Prefix)+beyond)
	}
	if q.Status != "" {
		and("status =", q.Status)
	}
	if q.OlderThan != 0 {
		and("updated <", q.OlderThan)
	}
	args = append(args, limit)
	rows, err := s.pool.Query(ctx, fmt.Sprintf("%s ORDER BY key LIMIT $%d", text, len(args)), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	err = each(rows, func() error {
		d, _, err := scanDoc(rows)
		list = append(list, d)
		return err
	})
	return list, err
}

const (
	selectJournal    = "SELECT c.seq, t.at, t.tx, t.digest, c.hash FROM ledger_chain c JOIN ledger_tx t ON t.realm = c.realm AND t.id = c.id WHERE c.realm = $1 AND c.seq > $2 ORDER BY c.seq LIMIT $3"
	selectDocJournal = "SELECT c.seq, t.at, t.tx, t.digest, c.hash FROM ledger_doc_entry d JOIN ledger_chain c ON c.realm = d.realm AND c.seq = d.seq JOIN ledger_tx t ON t.realm = c.realm AND t.id = c.id" +
		" WHERE d.realm = $1 AND d.seq > $2 AND d.doc = $4 ORDER BY d.seq LIMIT $3"
)

// Journal implements [ledger.Store]. It lists what [Store.Seal] has sealed.
func (s *Store) Journal(ctx context.Context, q ledger.JournalQuery) (list []ledger.Entry, err error) {
	if err := ctx.Err(); err != nil || q.After > math.MaxInt64 || cut(q.Doc) < len(q.Doc) {
		return nil, err
	}
	limit := int64(q.Limit)
	if limit <= 0 {
		limit = math.MaxInt64
	}
	text, args := selectJournal, []any{s.realm, int64(q.After), limit}
	if q.Doc != "" {
		text, args = selectDocJournal, append(args, string(q.Doc))
	}
	rows, err := s.pool.Query(ctx, text, args...)
	if err != nil {
		return nil, failed(ctx, err)
	}
	defer rows.Close()
	err = each(rows, func() error {
		e, err := scanEntry(rows)
		list = append(list, e)
		return err
	})
	if err != nil {
		return nil, failed(ctx, err)
	}
	return list, nil
}

func scanEntry(rows pgx.Rows) (e ledger.Entry, err error) {
	var seq int64
	var tx, digest, hash []byte
	if err := rows.Scan(&seq, &e.At, &tx, &digest, &hash); err != nil {
		return e, err
	}
	e.Seq = uint64(seq)
	if err := json.Unmarshal(tx, &e.Tx); err != nil {
		return e, ledger.ErrCorrupt{Seq: e.Seq, Why: "tx cannot be read", Err: err}
	}
	if err := errors.Join(hash32(&e.Digest, digest, "digest"), hash32(&e.Hash, hash, "hash")); err != nil {
		return e, ledger.ErrCorrupt{Seq: e.Seq, Why: err.Error()}
	}
	return e, nil
}
