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
// meant are read and locked. Rows are written one by one, since a statement is
// no round trip: the plan of an UPDATE that joins a list depends on what the
// server believes about the size of the table, and may read all of it.
const (
	// Rows that do not exist cannot be locked: these make them, in the order of
	// their keys, all before the first row is locked.
	claimID        = "INSERT INTO ledger_tx (realm, id) VALUES ($1, $2) ON CONFLICT (realm, id) DO NOTHING"
	claimIDs       = "INSERT INTO ledger_tx (realm, id) SELECT $1::text, k.id FROM unnest($2::text[]) AS k(id) ORDER BY 2 ON CONFLICT (realm, id) DO NOTHING RETURNING id"
	ensureBalances = "INSERT INTO ledger_balance (realm, account, asset) SELECT $1::text, k.account, k.asset FROM unnest($2::text[], $3::text[]) AS k(account, asset) ORDER BY 2, 3 ON CONFLICT (realm, account, asset) DO NOTHING"
	ensureHolds    = "INSERT INTO ledger_hold (realm, id) SELECT $1::text, k.id FROM unnest($2::text[]) AS k(id) ORDER BY 2 ON CONFLICT (realm, id) DO NOTHING"
	ensureDocs     = "INSERT INTO ledger_doc (realm, key) SELECT $1::text, k.key FROM unnest($2::text[]) AS k(key) ORDER BY 2 ON CONFLICT (realm, key) DO NOTHING"
	ensureCounts   = "INSERT INTO ledger_counter (realm, key) SELECT $1::text, k.key FROM unnest($2::text[]) AS k(key) ORDER BY 2 ON CONFLICT (realm, key) DO NOTHING"

	selectReceipts = "SELECT id, receipt FROM ledger_tx WHERE realm = $1 AND id = ANY($2::text[]) AND receipt <> ''"
	selectBalance  = "SELECT account, asset, posted, held, floor, version, closed, stamp FROM ledger_balance WHERE realm = $1 AND account = $2 AND asset = $3"
	selectHolds    = "SELECT id, account, asset, amount, expires_at, remaining, state FROM ledger_hold WHERE realm = $1 AND id = ANY($2::text[]) ORDER BY id"
	selectDocs     = "SELECT key, version, status, body, sealed, updated, stamp FROM ledger_doc WHERE realm = $1 AND key = ANY($2::text[]) ORDER BY key"
	selectCounts   = "SELECT key, value, stamp FROM ledger_counter WHERE realm = $1 AND key = ANY($2::text[]) ORDER BY key"
	forUpdate      = " FOR UPDATE"

	updateBalance  = "UPDATE ledger_balance SET posted = $4, held = $5, floor = $6, version = $7, closed = $8, stamp = $9 WHERE realm = $1 AND account = $2 AND asset = $3"
	updateHold     = "UPDATE ledger_hold SET account = $3, asset = $4, amount = $5, expires_at = $6, remaining = $7, state = $8 WHERE realm = $1 AND id = $2"
	updateDoc      = "UPDATE ledger_doc SET version = $3, status = $4, body = $5, sealed = $6, updated = $7, stamp = $8 WHERE realm = $1 AND key = $2"
	stampDoc       = "UPDATE ledger_doc SET stamp = $3 WHERE realm = $1 AND key = $2"
	updateCount    = "UPDATE ledger_counter SET value = $3, stamp = $4 WHERE realm = $1 AND key = $2"
	fillClaim      = "UPDATE ledger_tx SET at = $3, digest = $4, tx = $5, receipt = $6 WHERE realm = $1 AND id = $2"
	insertUnsealed = "INSERT INTO ledger_unsealed (realm, id, stamp, at, digest, docs) VALUES ($1, $2, $3, $4, $5, $6)"

	dropClaim   = "DELETE FROM ledger_tx WHERE realm = $1 AND id = $2 AND receipt = ''"
	dropBalance = "DELETE FROM ledger_balance WHERE realm = $1 AND account = $2 AND asset = $3 AND version = 0"
	dropHold    = "DELETE FROM ledger_hold WHERE realm = $1 AND id = $2 AND state = 0"
	dropDoc     = "DELETE FROM ledger_doc WHERE realm = $1 AND key = $2 AND version = 0 AND stamp = 0"
	dropCount   = "DELETE FROM ledger_counter WHERE realm = $1 AND key = $2 AND stamp = 0"
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
	switch len(ids) {
	case 0:
	case 1:
		b.Queue(claimID, s.realm, ids[0]).Exec(func(tag pgconn.CommandTag) error {
			if tag.RowsAffected() == 1 {
				fresh[ids[0]] = true
			}
			return nil
		})
	default:
		b.Queue(claimIDs, s.realm, ids).Query(func(rows pgx.Rows) error {
			return each(rows, func() error {
				var id string
				err := rows.Scan(&id)
				fresh[id] = true
				return err
			})
		})
	}
	s.queueEnsures(b, ks)
	s.queueReads(b, v, ks, forUpdate)
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return nil, err
	}
	if !s.known.learn(v, ks) {
		return nil, errBusy
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

// queueEnsures adds the statements that make rows which may not exist.
func (s *Store) queueEnsures(b *pgx.Batch, ks *ledger.KeySet) {
	unknown := s.known.without(ks)
	if accounts, assets := columns(unknown.Balances); len(accounts) > 0 {
		b.Queue(ensureBalances, s.realm, accounts, assets)
	}
	if len(unknown.Holds) > 0 {
		b.Queue(ensureHolds, s.realm, unknown.Holds)
	}
	if len(unknown.Docs) > 0 {
		b.Queue(ensureDocs, s.realm, texts(unknown.Docs))
	}
	if len(unknown.Counts) > 0 {
		b.Queue(ensureCounts, s.realm, unknown.Counts)
	}
}

// queueReads adds the statements that fill v.
func (s *Store) queueReads(b *pgx.Batch, v *view, ks *ledger.KeySet, lock string) {
	for _, k := range ks.Balances {
		b.Queue(selectBalance+lock, s.realm, string(k.Account), string(k.Asset)).Query(v.scanBalances)
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

// job is what was locked and judged.
type job struct {
	v     *view
	ks    *ledger.KeySet
	ids   []string
	units []*unit
	drop  bool // some were refused
}

// write sends all that changed together with COMMIT: one round trip. A
// statement that fails keeps the server from running those behind it.
func (s *Store) write(ctx context.Context, conn *pgxpool.Conn, j job) error {
	ctx, cancel := linger(ctx)
	defer cancel()
	b, committed := &pgx.Batch{}, false
	s.queueRows(b, j.v, j.ks)
	s.queueEntries(b, j.units)
	if j.drop {
		s.queueDrops(b, j.v, j.ks, j.ids)
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
	for _, k := range ks.Balances {
		if r := v.balances[k]; r.dirty {
			b.Queue(updateBalance, s.realm, string(k.Account), string(k.Asset), r.v.Posted, r.v.Held, r.v.Floor, int64(r.v.Version), r.v.Closed, r.stamp)
		}
	}
	for _, id := range ks.Holds {
		if r := v.holds[id]; r.dirty {
			h := &r.v
			b.Queue(updateHold, s.realm, id, string(h.From), string(h.Asset), h.Amount, h.ExpiresAt, h.Left, int16(h.State))
		}
	}
	for _, k := range ks.Docs {
		switch r := v.docs[k]; {
		case r.dirty:
			b.Queue(updateDoc, s.realm, string(k), int64(r.v.Version), r.v.Status, notNil(r.v.Body), r.v.Sealed, r.v.Updated, r.stamp)
		case r.read:
			b.Queue(stampDoc, s.realm, string(k), r.stamp)
		}
	}
	for _, k := range ks.Counts {
		if r := v.counts[k]; r.dirty {
			b.Queue(updateCount, s.realm, k, r.v, r.stamp)
		}
	}
}

func (s *Store) queueEntries(b *pgx.Batch, units []*unit) {
	for _, u := range units {
		if u.accepted() {
			r := &u.change.Receipt
			b.Queue(fillClaim, s.realm, r.ID, r.At, r.Digest[:], u.tx, u.receipt)
			b.Queue(insertUnsealed, s.realm, r.ID, u.stamp, r.At, r.Digest[:], joinDocs(r.Docs))
		}
	}
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
func (s *Store) queueDrops(b *pgx.Batch, v *view, ks *ledger.KeySet, ids []string) {
	for _, id := range ids {
		if _, ok := v.receipts[id]; !ok {
			b.Queue(dropClaim, s.realm, id)
		}
	}
	for _, k := range ks.Balances {
		if v.balances[k].v.Version == 0 {
			b.Queue(dropBalance, s.realm, string(k.Account), string(k.Asset))
		}
	}
	for _, id := range ks.Holds {
		if v.holds[id].v.State == 0 {
			b.Queue(dropHold, s.realm, id)
		}
	}
	for _, k := range ks.Docs {
		if r := v.docs[k]; r.v.Version == 0 && r.stamp == 0 {
			b.Queue(dropDoc, s.realm, string(k))
		}
	}
	for _, k := range ks.Counts {
		if v.counts[k].stamp == 0 {
			b.Queue(dropCount, s.realm, k)
		}
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
