package pgstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// Every statement names the realm and full primary keys: only rows that are
// meant are read and locked. Lists come as arrays, so that there is one
// statement for any number of rows.
const (
	// Rows that do not exist cannot be locked: these make them, in the order of
	// their keys, all before the first row is locked.
	claimIDs       = "INSERT INTO ledger_tx (realm, id) SELECT $1::text, k.id FROM unnest($2::text[]) AS k(id) ORDER BY 2 ON CONFLICT (realm, id) DO NOTHING RETURNING id"
	ensureBalances = "INSERT INTO ledger_balance (realm, account, asset) SELECT $1::text, k.account, k.asset FROM unnest($2::text[], $3::text[]) AS k(account, asset) ORDER BY 2, 3 ON CONFLICT (realm, account, asset) DO NOTHING"
	ensureHolds    = "INSERT INTO ledger_hold (realm, id) SELECT $1::text, k.id FROM unnest($2::text[]) AS k(id) ORDER BY 2 ON CONFLICT (realm, id) DO NOTHING"
	ensureDocs     = "INSERT INTO ledger_doc (realm, key) SELECT $1::text, k.key FROM unnest($2::text[]) AS k(key) ORDER BY 2 ON CONFLICT (realm, key) DO NOTHING"
	ensureCounts   = "INSERT INTO ledger_counter (realm, key) SELECT $1::text, k.key FROM unnest($2::text[]) AS k(key) ORDER BY 2 ON CONFLICT (realm, key) DO NOTHING"

	selectReceipts = "SELECT id, receipt FROM ledger_tx WHERE realm = $1 AND id = ANY($2::text[]) AND receipt <> ''"
	selectBalances = "SELECT account, asset, posted, held, floor, version, closed, stamp FROM ledger_balance WHERE realm = $1 AND (account, asset) IN (SELECT k.account, k.asset FROM unnest($2::text[], $3::text[]) AS k(account, asset)) ORDER BY account, asset"
	selectHolds    = "SELECT id, account, asset, amount, expires_at, remaining, state FROM ledger_hold WHERE realm = $1 AND id = ANY($2::text[]) ORDER BY id"
	selectDocs     = "SELECT key, version, status, body, sealed, updated, stamp FROM ledger_doc WHERE realm = $1 AND key = ANY($2::text[]) ORDER BY key"
	selectCounts   = "SELECT key, value, stamp FROM ledger_counter WHERE realm = $1 AND key = ANY($2::text[]) ORDER BY key"
	forUpdate      = " FOR UPDATE"

	updateBalances = "UPDATE ledger_balance b SET posted = k.posted, held = k.held, floor = k.floor, version = k.version, closed = k.closed, stamp = k.stamp" +
		" FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::boolean[], $9::bigint[]) AS k(account, asset, posted, held, floor, version, closed, stamp)" +
		" WHERE b.realm = $1 AND b.account = k.account AND b.asset = k.asset"
	updateHolds = "UPDATE ledger_hold h SET account = k.account, asset = k.asset, amount = k.amount, expires_at = k.expires_at, remaining = k.remaining, state = k.state" +
		" FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::smallint[]) AS k(id, account, asset, amount, expires_at, remaining, state)" +
		" WHERE h.realm = $1 AND h.id = k.id"
	updateDocs = "UPDATE ledger_doc d SET version = k.version, status = k.status, body = k.body, sealed = k.sealed, updated = k.updated, stamp = k.stamp" +
		" FROM unnest($2::text[], $3::bigint[], $4::text[], $5::bytea[], $6::boolean[], $7::bigint[], $8::bigint[]) AS k(key, version, status, body, sealed, updated, stamp)" +
		" WHERE d.realm = $1 AND d.key = k.key"
	updateCounts = "UPDATE ledger_counter c SET value = k.value, stamp = k.stamp FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS k(key, value, stamp) WHERE c.realm = $1 AND c.key = k.key"
	fillClaims   = "UPDATE ledger_tx t SET at = k.at, digest = k.digest, tx = k.tx, receipt = k.receipt" +
		" FROM unnest($2::text[], $3::bigint[], $4::bytea[], $5::text[], $6::text[]) AS k(id, at, digest, tx, receipt) WHERE t.realm = $1 AND t.id = k.id"
	insertUnsealed = "INSERT INTO ledger_unsealed (realm, id, stamp, at, digest, docs) SELECT $1::text, k.id, k.stamp, k.at, k.digest, k.docs" +
		" FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bytea[], $6::text[]) AS k(id, stamp, at, digest, docs)"

	dropClaims   = "DELETE FROM ledger_tx WHERE realm = $1 AND id = ANY($2::text[]) AND receipt = ''"
	dropBalances = "DELETE FROM ledger_balance WHERE realm = $1 AND (account, asset) IN (SELECT k.account, k.asset FROM unnest($2::text[], $3::text[]) AS k(account, asset)) AND version = 0"
	dropHolds    = "DELETE FROM ledger_hold WHERE realm = $1 AND id = ANY($2::text[]) AND state = 0"
	dropDocs     = "DELETE FROM ledger_doc WHERE realm = $1 AND key = ANY($2::text[]) AND version = 0 AND stamp = 0"
	dropCounts   = "DELETE FROM ledger_counter WHERE realm = $1 AND key = ANY($2::text[]) AND stamp = 0"
)

// lock begins the transaction, claims the ids, and locks and reads all rows,
// in one round trip. Whoever sends a Tx a second time waits at its id until
// the first one is decided; only then a second round trip reads its receipt.
//
// No two transactions wait for each other: all insert in one order before they
// lock in one order, and a row that was there to be locked is not inserted.
func (s *Store) lock(ctx context.Context, conn *pgxpool.Conn, ks *ledger.KeySet, ids []string) (*view, error) {
	v, fresh := newView(), map[string]bool{}
	b := &pgx.Batch{}
	b.Queue(s.begin)
	if len(ids) > 0 {
		b.Queue(claimIDs, s.realm, ids).Query(func(rows pgx.Rows) error {
			return each(rows, func() error {
				var id string
				err := rows.Scan(&id)
				fresh[id] = true
				return err
			})
		})
	}
	accounts, assets := columns(ks.Balances)
	if len(accounts) > 0 {
		b.Queue(ensureBalances, s.realm, accounts, assets)
	}
	if len(ks.Holds) > 0 {
		b.Queue(ensureHolds, s.realm, ks.Holds)
	}
	if len(ks.Docs) > 0 {
		b.Queue(ensureDocs, s.realm, texts(ks.Docs))
	}
	if len(ks.Counts) > 0 {
		b.Queue(ensureCounts, s.realm, ks.Counts)
	}
	s.queueReads(b, v, ks, forUpdate)
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	if len(fresh) == len(ids) {
		return v, nil
	}
	var old []string
	for _, id := range ids {
		if !fresh[id] {
			old = append(old, id)
		}
	}
	found, err := s.receipts(ctx, conn, old)
	if err != nil {
		return nil, err
	}
	for _, id := range old {
		text, ok := found[id]
		if !ok {
			return nil, errBusy
		}
		if v.receipts[id], err = decodeReceipt(id, text); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// queueReads adds the statements that fill v.
func (s *Store) queueReads(b *pgx.Batch, v *view, ks *ledger.KeySet, lock string) {
	if len(ks.Balances) > 0 {
		accounts, assets := columns(ks.Balances)
		b.Queue(selectBalances+lock, s.realm, accounts, assets).Query(v.scanBalances)
	}
	if len(ks.Holds) > 0 {
		b.Queue(selectHolds+lock, s.realm, ks.Holds).Query(v.scanHolds)
	}
	if len(ks.Docs) > 0 {
		b.Queue(selectDocs+lock, s.realm, texts(ks.Docs)).Query(v.scanDocs)
	}
	if len(ks.Counts) > 0 {
		b.Queue(selectCounts+lock, s.realm, ks.Counts).Query(v.scanCounts)
	}
}

func each(rows pgx.Rows, scan func() error) error {
	for rows.Next() {
		if err := scan(); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (v *view) scanBalances(rows pgx.Rows) error {
	return each(rows, func() error {
		var r row[ledger.Balance]
		var account, asset string
		var version int64
		err := rows.Scan(&account, &asset, &r.v.Posted, &r.v.Held, &r.v.Floor, &version, &r.v.Closed, &r.stamp)
		r.v.Key = ledger.Key{Account: ledger.AccountID(account), Asset: ledger.Asset(asset)}
		r.v.Version = uint64(version)
		v.balances[r.v.Key] = r
		return err
	})
}

func (v *view) scanHolds(rows pgx.Rows) error {
	return each(rows, func() error {
		var h ledger.HoldRow
		var from, asset string
		var state int16
		err := rows.Scan(&h.ID, &from, &asset, &h.Amount, &h.ExpiresAt, &h.Left, &state)
		if err != nil || state == 0 {
			return err
		}
		h.From, h.Asset, h.State = ledger.AccountID(from), ledger.Asset(asset), ledger.HoldState(state)
		v.holds[h.ID] = row[ledger.HoldRow]{v: h}
		return nil
	})
}

func (v *view) scanDocs(rows pgx.Rows) error {
	return each(rows, func() error {
		d, stamp, err := scanDoc(rows)
		v.docs[d.Key] = row[ledger.Doc]{v: d.Doc, stamp: stamp}
		return err
	})
}

func scanDoc(rows pgx.Rows) (d ledger.DocRow, stamp int64, err error) {
	var key string
	var version int64
	err = rows.Scan(&key, &version, &d.Doc.Status, &d.Doc.Body, &d.Doc.Sealed, &d.Doc.Updated, &stamp)
	d.Key, d.Doc.Version = ledger.DocKey(key), uint64(version)
	if len(d.Doc.Body) == 0 {
		d.Doc.Body = nil
	}
	return d, stamp, err
}

func (v *view) scanCounts(rows pgx.Rows) error {
	return each(rows, func() error {
		var key string
		var r row[int64]
		err := rows.Scan(&key, &r.v, &r.stamp)
		v.counts[key] = r
		return err
	})
}

// querier is a connection or the pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func (s *Store) receipts(ctx context.Context, q querier, ids []string) (map[string]string, error) {
	rows, err := q.Query(ctx, selectReceipts, s.realm, ids)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := map[string]string{}
	return found, each(rows, func() error {
		var id, receipt string
		err := rows.Scan(&id, &receipt)
		found[id] = receipt
		return err
	})
}

func decodeReceipt(id, text string) (r ledger.Receipt, err error) {
	if err := r.UnmarshalJSON([]byte(text)); err != nil {
		return r, fmt.Errorf("pgstore: receipt of %s: %w", id, err)
	}
	return r, nil
}

func (u *unit) encode(c *ledger.Change) error {
	tx, err := json.Marshal(c.Tx)
	if err != nil {
		return err
	}
	receipt, err := c.Receipt.MarshalJSON()
	u.tx, u.receipt = string(tx), string(receipt)
	return err
}

// write sends all that changed together with COMMIT: one round trip. A
// statement that fails keeps the server from running those behind it.
func (s *Store) write(ctx context.Context, conn *pgxpool.Conn, v *view, ks *ledger.KeySet, units []*unit, some bool) error {
	ctx, cancel := linger(ctx)
	defer cancel()
	b, committed := &pgx.Batch{}, false
	s.queueRows(b, v, ks)
	s.queueEntries(b, units)
	if some {
		s.queueDrops(b, ks, units)
	}
	queueCommit(b, &committed)
	err := conn.SendBatch(ctx, b).Close()
	if committed { // whatever was lost behind it
		return nil
	}
	return err
}

func queueCommit(b *pgx.Batch, committed *bool) {
	b.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		if *committed = tag.String() == "COMMIT"; !*committed {
			return errRolledBack
		}
		return nil
	})
}

// linger outlives ctx a little: a commit that was sent is waited for.
func linger(ctx context.Context) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		late, done := context.WithTimeout(inner, patience)
		defer done()
		<-late.Done()
		cancel()
	})
	return inner, func() { stop(); cancel() }
}

// queueRows writes what v has that is dirty.
func (s *Store) queueRows(b *pgx.Batch, v *view, ks *ledger.KeySet) {
	var t table
	for _, k := range ks.Balances {
		if r := v.balances[k]; r.dirty {
			t.add(string(k.Account), string(k.Asset), r.v.Posted, r.v.Held, r.v.Floor, int64(r.v.Version), r.v.Closed, r.stamp)
		}
	}
	t.queue(b, updateBalances, s.realm)
	for _, id := range ks.Holds {
		if r := v.holds[id]; r.dirty {
			h := &r.v
			t.add(id, string(h.From), string(h.Asset), h.Amount, h.ExpiresAt, h.Left, int16(h.State))
		}
	}
	t.queue(b, updateHolds, s.realm)
	for _, k := range ks.Docs {
		if r := v.docs[k]; r.dirty {
			t.add(string(k), int64(r.v.Version), r.v.Status, notNil(r.v.Body), r.v.Sealed, r.v.Updated, r.stamp)
		}
	}
	t.queue(b, updateDocs, s.realm)
	for _, k := range ks.Counts {
		if r := v.counts[k]; r.dirty {
			t.add(k, r.v, r.stamp)
		}
	}
	t.queue(b, updateCounts, s.realm)
}

func (s *Store) queueEntries(b *pgx.Batch, units []*unit) {
	var entries, unsealed table
	for _, u := range units {
		if !u.accepted() {
			continue
		}
		r := &u.change.Receipt
		entries.add(r.ID, r.At, r.Digest[:], u.tx, u.receipt)
		unsealed.add(r.ID, u.stamp, r.At, r.Digest[:], joinDocs(r.Docs))
	}
	entries.queue(b, fillClaims, s.realm)
	unsealed.queue(b, insertUnsealed, s.realm)
}

func joinDocs(docs []ledger.DocVersion) string {
	keys := make([]string, len(docs))
	for i := range docs {
		keys[i] = string(docs[i].Key)
	}
	return strings.Join(keys, " ")
}

// queueDrops removes what lock made for units that were refused. Rows that
// were there before, or that an accepted unit needs, stay.
func (s *Store) queueDrops(b *pgx.Batch, ks *ledger.KeySet, units []*unit) {
	var ids []string
	for _, u := range units {
		if !u.accepted() && u.ks.ID != "" {
			ids = append(ids, u.ks.ID)
		}
	}
	if len(ids) > 0 {
		b.Queue(dropClaims, s.realm, ids)
	}
	if accounts, assets := columns(ks.Balances); len(accounts) > 0 {
		b.Queue(dropBalances, s.realm, accounts, assets)
	}
	if len(ks.Holds) > 0 {
		b.Queue(dropHolds, s.realm, ks.Holds)
	}
	if len(ks.Docs) > 0 {
		b.Queue(dropDocs, s.realm, texts(ks.Docs))
	}
	if len(ks.Counts) > 0 {
		b.Queue(dropCounts, s.realm, ks.Counts)
	}
}

func columns(keys []ledger.Key) (accounts, assets []string) {
	for _, k := range keys {
		accounts, assets = append(accounts, string(k.Account)), append(assets, string(k.Asset))
	}
	return accounts, assets
}

func texts[S ~string](list []S) []string {
	out := make([]string, len(list))
	for i := range list {
		out[i] = string(list[i])
	}
	return out
}

// notNil: a nil slice is NULL to the database.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
