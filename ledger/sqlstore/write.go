package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/glasshouse-go/glasshouse/ledger"
)

const (
	upsertBalances = "INSERT INTO {p}balance (realm, account, asset, posted, held, floor, version, closed, stamp) VALUES {rows 9}" +
		" ON CONFLICT (realm, account, asset) DO UPDATE SET posted = excluded.posted, held = excluded.held, floor = excluded.floor, version = excluded.version, closed = excluded.closed, stamp = excluded.stamp"
	upsertHolds = "INSERT INTO {p}hold (realm, id, account, asset, amount, expires_at, remaining, state) VALUES {rows 8}" +
		" ON CONFLICT (realm, id) DO UPDATE SET account = excluded.account, asset = excluded.asset, amount = excluded.amount, expires_at = excluded.expires_at, remaining = excluded.remaining, state = excluded.state"
	upsertDocs = "INSERT INTO {p}doc (realm, key, version, status, body, sealed, updated, stamp) VALUES {rows 8}" +
		" ON CONFLICT (realm, key) DO UPDATE SET version = excluded.version, status = excluded.status, body = excluded.body, sealed = excluded.sealed, updated = excluded.updated, stamp = excluded.stamp"
	upsertCounts = "INSERT INTO {p}counter (realm, key, value, stamp) VALUES {rows 4}" +
		" ON CONFLICT (realm, key) DO UPDATE SET value = excluded.value, stamp = excluded.stamp"

	insertEntries = "INSERT INTO {p}entry (realm, id, at, digest, stamp, seq, hash, tx, receipt) VALUES {rows 9}"
	fillClaims    = insertEntries + " ON CONFLICT (realm, id) DO UPDATE SET at = excluded.at, digest = excluded.digest, stamp = excluded.stamp, tx = excluded.tx, receipt = excluded.receipt"
	insertDocs    = "INSERT INTO {p}doc_entry (realm, doc, seq) VALUES {rows 3}"

	selectHead = "SELECT seq, hash FROM {p}head WHERE realm = ?{lock}"
	upsertHead = "INSERT INTO {p}head (realm, seq, hash) VALUES (?, ?, ?) ON CONFLICT (realm) DO UPDATE SET seq = excluded.seq, hash = excluded.hash"

	dropClaim   = "DELETE FROM {p}entry WHERE realm = ? AND id = ? AND receipt = ''"
	dropBalance = "DELETE FROM {p}balance WHERE realm = ? AND account = ? AND asset = ? AND version = 0"
	dropHold    = "DELETE FROM {p}hold WHERE realm = ? AND id = ? AND state = 0"
	dropDoc     = "DELETE FROM {p}doc WHERE realm = ? AND key = ? AND version = 0 AND stamp = 0"
	dropCounter = "DELETE FROM {p}counter WHERE realm = ? AND key = ? AND stamp = 0"
)

// unit is one Tx on its way: what Atomic was given and what became of it.
type unit struct {
	ctx    context.Context
	ks     ledger.KeySet
	f      func(ledger.View) (ledger.Change, error)
	change ledger.Change // of an accepted Tx
	stamp  int64
	digest [32]byte // of an accepted or replayed Tx
	err    error
}

func (u *unit) accepted() bool { return u.change.Tx != nil }

// run judges the units one after the other and writes what the accepted ones
// change, within a transaction. Refusals stand in the units. After an error
// the transaction must be rolled back.
func (s *session) run(ctx context.Context, units []*unit) (accepted int, err error) {
	ks, ids := union(units)
	if s.t.d.many {
		err = s.ensure(ctx, &ks, ids)
	} else {
		_, err = s.q.ExecContext(ctx, s.t.text(becomeWriter, 0), s.realm)
	}
	if err != nil {
		return 0, err
	}
	v, err := s.view(ctx, &ks, ids, "{lock}")
	if err != nil {
		return 0, err
	}
	for _, u := range units {
		if u.judge(v, s.last, s.t.d.many); u.accepted() {
			accepted++
		}
	}
	if accepted == 0 {
		return 0, nil
	}
	if s.t.d.many && accepted < len(units) {
		if err := s.drop(ctx, v, &ks, units); err != nil {
			return 0, err
		}
	}
	if err := s.writeRows(ctx, v, &ks); err != nil {
		return 0, err
	}
	return accepted, s.writeEntries(ctx, units)
}

// judge shows v to the unit's function and takes its answer over. last is the
// latest stamp that this Store gave out: what it commits one after the other,
// in a batch or not, keeps its order in the journal.
func (u *unit) judge(v *view, last *atomic.Int64, reads bool) {
	u.change = ledger.Change{}
	if u.err = u.ctx.Err(); u.err != nil {
		return
	}
	c, err := u.f(v)
	u.digest = c.Receipt.Digest
	if u.err = err; err != nil || c.Receipt.Replayed {
		return
	}
	u.change, u.stamp = c, raise(last, v.stamp(&u.ks, c.Receipt.At))
	v.absorb(&c, &u.ks, u.stamp, reads)
}

// raise gives at least this, and more than ever before.
func raise(last *atomic.Int64, least int64) int64 {
	for {
		before := last.Load()
		next := max(least, before+1)
		if last.CompareAndSwap(before, next) {
			return next
		}
	}
}

// drop removes what ensure made for units that were refused.
func (s *session) drop(ctx context.Context, v *view, ks *ledger.KeySet, units []*unit) error {
	del := func(format string, args ...any) error {
		_, err := s.q.ExecContext(ctx, s.t.text(format, 0), append([]any{s.realm}, args...)...)
		return err
	}
	var errs []error
	for _, u := range units {
		if _, ok := v.receipts[u.ks.ID]; !ok && u.ks.ID != "" {
			errs = append(errs, del(dropClaim, u.ks.ID))
		}
	}
	for _, k := range ks.Balances {
		if b := v.balances[k]; b.v.Version == 0 {
			errs = append(errs, del(dropBalance, string(k.Account), string(k.Asset)))
		}
	}
	for _, id := range ks.Holds {
		if v.holds[id].v.State == 0 {
			errs = append(errs, del(dropHold, id))
		}
	}
	for _, k := range ks.Docs {
		if d := v.docs[k]; d.v.Version == 0 && !d.dirty {
			errs = append(errs, del(dropDoc, string(k)))
		}
	}
	for _, k := range ks.Counts {
		if n := v.counts[k]; n.stamp == 0 {
			errs = append(errs, del(dropCounter, k))
		}
	}
	return errors.Join(errs...)
}

// dirty picks the keys whose rows changed.
func dirty[K comparable, T any](keys []K, rows map[K]row[T]) (list []K) {
	for _, k := range keys {
		if rows[k].dirty {
			list = append(list, k)
		}
	}
	return list
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (s *session) writeRows(ctx context.Context, v *view, ks *ledger.KeySet) error {
	if err := exec(ctx, s, upsertBalances, dirty(ks.Balances, v.balances), func(a []any, k *ledger.Key) []any {
		r := v.balances[*k]
		return append(a, s.realm, string(k.Account), string(k.Asset), r.v.Posted, r.v.Held, r.v.Floor, int64(r.v.Version), bit(r.v.Closed), r.stamp)
	}); err != nil {
		return err
	}
	if err := exec(ctx, s, upsertHolds, dirty(ks.Holds, v.holds), func(a []any, id *string) []any {
		h := v.holds[*id].v
		return append(a, s.realm, *id, string(h.From), string(h.Asset), h.Amount, h.ExpiresAt, h.Left, int64(h.State))
	}); err != nil {
		return err
	}
	if err := exec(ctx, s, upsertDocs, dirty(ks.Docs, v.docs), func(a []any, k *ledger.DocKey) []any {
		r := v.docs[*k]
		return append(a, s.realm, string(*k), int64(r.v.Version), r.v.Status, notNil(r.v.Body), bit(r.v.Sealed), r.v.Updated, r.stamp)
	}); err != nil {
		return err
	}
	return exec(ctx, s, upsertCounts, dirty(ks.Counts, v.counts), func(a []any, k *string) []any {
		r := v.counts[*k]
		return append(a, s.realm, *k, r.v, r.stamp)
	})
}

// notNil: a nil slice is NULL to a driver.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// entry is a row of the journal on its way to the tables.
type entry struct {
	u           *unit
	seq, hash   any // nil until it is sealed
	tx, receipt string
}

// writeEntries writes the journal. Where one transaction writes at a time the
// entries are chained at once.
func (s *session) writeEntries(ctx context.Context, units []*unit) error {
	var list []entry
	for _, u := range units {
		if !u.accepted() {
			continue
		}
		tx, err := json.Marshal(u.change.Tx)
		if err != nil {
			return err
		}
		receipt, err := u.change.Receipt.MarshalJSON()
		if err != nil {
			return err
		}
		list = append(list, entry{u: u, tx: string(tx), receipt: string(receipt)})
	}
	format := fillClaims
	if !s.t.d.many {
		format = insertEntries
		if err := s.chain(ctx, list); err != nil {
			return err
		}
	}
	return exec(ctx, s, format, list, func(a []any, e *entry) []any {
		r := &e.u.change.Receipt
		return append(a, s.realm, r.ID, r.At, r.Digest[:], e.u.stamp, e.seq, e.hash, e.tx, e.receipt)
	})
}

// link is an entry as the chain sees it.
type link struct {
	at     int64
	digest [32]byte
	docs   []ledger.DocKey
	seq    int64
	hash   [32]byte
}

func (s *session) chain(ctx context.Context, list []entry) error {
	links := make([]link, len(list))
	for i := range list {
		c := &list[i].u.change
		links[i].at, links[i].digest = c.Receipt.At, c.Receipt.Digest
		for _, d := range c.Receipt.Docs {
			links[i].docs = append(links[i].docs, d.Key)
		}
	}
	if err := s.extend(ctx, links); err != nil {
		return err
	}
	for i := range list {
		list[i].seq, list[i].hash = links[i].seq, links[i].hash[:]
	}
	return nil
}

// extend numbers the links after the last entry, chains them, and moves the
// head there.
func (s *session) extend(ctx context.Context, links []link) error {
	seq, hash, err := s.head(ctx)
	if err != nil {
		return err
	}
	type docEntry struct {
		doc ledger.DocKey
		seq int64
	}
	var docs []docEntry
	for i := range links {
		l := &links[i]
		seq++
		hash = ledger.Chain(hash, uint64(seq), l.at, l.digest)
		l.seq, l.hash = seq, hash
		for _, k := range l.docs {
			docs = append(docs, docEntry{k, seq})
		}
	}
	if err := exec(ctx, s, insertDocs, docs, func(a []any, d *docEntry) []any {
		return append(a, s.realm, string(d.doc), d.seq)
	}); err != nil {
		return err
	}
	_, err = s.q.ExecContext(ctx, s.t.text(upsertHead, 0), s.realm, seq, hash[:])
	return err
}

func (s *session) head(ctx context.Context) (seq int64, hash [32]byte, err error) {
	err = s.query(ctx, s.t.text(selectHead, 0), []any{s.realm}, func(rows *sql.Rows) error {
		var b []byte
		if err := rows.Scan(&seq, &b); err != nil {
			return err
		}
		return hash32(&hash, b, "head of the journal")
	})
	return seq, hash, err
}

func hash32(to *[32]byte, b []byte, what string) error {
	if copy(to[:], b) != len(to) || len(b) != len(to) {
		return fmt.Errorf("sqlstore: %s has %d bytes, not %d", what, len(b), len(to))
	}
	return nil
}
