package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// Config says how the tables are used. Dialect is required.
type Config struct {
	Dialect Dialect

	// Realm is the ledger within the tables: the first column of every key.
	// Realms share nothing, and no Tx spans two. 1 to 128 bytes of the alphabet
	// of ids; "" is "main".
	Realm string

	// Prefix begins the name of every table: 1 to 32 bytes of [a-z0-9_], a
	// letter first; "" is "ledger_".
	Prefix string

	// Readers serves Read, Docs and Journal, apart from the transactions that
	// write. nil is the database that writes.
	Readers *sql.DB

	// Isolation of the store's own transactions in Postgres. The default is
	// that of the database; the store is right at every level from READ
	// COMMITTED on.
	Isolation sql.IsolationLevel

	// Now gives the time of what DoTx commits; nil is time.Now.
	Now func() time.Time

	// Classify reads the driver's errors; nil is [Classify].
	Classify func(error) Class
}

// Store is a ledger in a SQL database. It is safe for concurrent use.
type Store struct {
	db          *sql.DB
	t           *texts
	realm       string
	isolation   sql.IsolationLevel
	now         func() time.Time
	classify    func(error) Class
	write, read *prepared
	group       group
	last        atomic.Int64 // the latest stamp given out
}

var (
	_ ledger.Store   = (*Store)(nil)
	_ ledger.Batcher = (*Store)(nil)
)

// Open checks the tables, creates or migrates them if need be, and returns a
// store that uses them. The database stays the caller's to close, after the
// store.
//
// Errors: [ErrForeign] and [ErrNewer], after which the database is as it was;
// a field of cfg that cannot be; and those of the database.
func Open(ctx context.Context, db *sql.DB, cfg Config) (*Store, error) {
	s, err := newStore(db, cfg)
	if err != nil {
		return nil, err
	}
	if err := s.migrate(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Format is the format of the tables in db, 0 if there are none. It only
// reads. Errors are those of [Open].
func Format(ctx context.Context, db *sql.DB, cfg Config) (int, error) {
	s, err := newStore(db, cfg)
	if err != nil {
		return 0, err
	}
	return s.format(ctx)
}

func newStore(db *sql.DB, cfg Config) (*Store, error) {
	d, ok := dialects[cfg.Dialect]
	if !ok {
		return nil, errors.New("sqlstore: Config.Dialect is required")
	}
	if cfg.Realm == "" {
		cfg.Realm = "main"
	}
	if cfg.Prefix == "" {
		cfg.Prefix = "ledger_"
	}
	if len(cfg.Realm) > 128 || cut(cfg.Realm) != len(cfg.Realm) {
		return nil, fmt.Errorf("sqlstore: Config.Realm cannot be %q", cfg.Realm)
	}
	if !validPrefix(cfg.Prefix) {
		return nil, fmt.Errorf("sqlstore: Config.Prefix cannot be %q", cfg.Prefix)
	}
	s := &Store{
		db: db, t: &texts{d: d, prefix: cfg.Prefix}, realm: cfg.Realm, isolation: cfg.Isolation,
		now: cfg.Now, classify: cfg.Classify, write: newPrepared(db), read: newPrepared(db),
	}
	if !d.many {
		s.isolation = sql.LevelDefault // the only one there is
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.classify == nil {
		s.classify = Classify
	}
	if cfg.Readers != nil {
		s.read.db = cfg.Readers
	}
	return s, nil
}

func validPrefix(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || i > 0 && (c == '_' || c >= '0' && c <= '9') {
			continue
		}
		return false
	}
	return len(s) <= 32
}

// Close frees what the store prepared. It does not close the database.
func (s *Store) Close() error { return errors.Join(s.write.close(), s.read.close()) }

// Atomic implements [ledger.Store].
func (s *Store) Atomic(ctx context.Context, ks ledger.KeySet, f func(ledger.View) (ledger.Change, error)) error {
	u := &unit{ctx: ctx, ks: ks, f: f}
	s.submit(ctx, []*unit{u})
	return u.err
}

// AtomicAll implements [ledger.Batcher].
func (s *Store) AtomicAll(ctx context.Context, sets []ledger.KeySet, f func(int, ledger.View) (ledger.Change, error)) []error {
	units := make([]*unit, len(sets))
	for i := range sets {
		units[i] = &unit{ctx: ctx, ks: sets[i], f: func(v ledger.View) (ledger.Change, error) { return f(i, v) }}
	}
	if len(units) > 0 {
		s.submit(ctx, units)
	}
	errs := make([]error, len(units))
	for i, u := range units {
		errs[i] = u.err
	}
	return errs
}

func (s *Store) submit(ctx context.Context, units []*unit) {
	switch err := ctx.Err(); {
	case err != nil:
		fail(units, err)
	case s.t.d.many:
		s.commit(ctx, units, nil)
	default:
		s.together(ctx, units)
	}
}

// open is a transaction whose context no longer ends with the caller's: that
// ends waiting, not what is under way. end must be called.
type open struct {
	tx  *sql.Tx
	end context.CancelFunc
}

func (s *Store) begin(ctx context.Context) (*open, error) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	tx, err := s.db.BeginTx(inner, &sql.TxOptions{Isolation: s.isolation})
	if !stop() {
		if err == nil {
			_ = tx.Rollback()
		}
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return &open{tx, cancel}, nil
}

// attempts is how often a transaction runs that meets contention. At
// SERIALIZABLE whoever waited for a row has to run again, so a hot row takes
// many. SQLite waits by itself, in the busy timeout.
func (s *Store) attempts() int {
	if s.t.d.many {
		return 50
	}
	return 2
}

// pause waits before the next attempt: longer each time, and never as long as
// another one who waits for the same.
func pause(ctx context.Context, attempt int) error {
	d := time.Millisecond << min(attempt, 6)
	t := time.NewTimer(d/2 + rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commit decides the units in one transaction, which may have begun. Every
// unit has its outcome afterwards.
func (s *Store) commit(ctx context.Context, units []*unit, o *open) {
	for attempt := 0; ; attempt++ {
		committing, err := s.attempt(ctx, units, o)
		o = nil
		if err == nil {
			return
		}
		class := s.classify(err)
		switch {
		case committing && class == Unknown:
			s.resolve(ctx, units, err)
			return
		case ctx.Err() != nil:
			fail(units, ctx.Err())
			return
		case class == Busy:
			if attempt+1 < s.attempts() && pause(ctx, attempt) == nil {
				continue
			}
			fail(units, ledger.ErrBusy{Err: err})
			return
		case len(units) > 1 && class != Full: // one is to blame: the others shall not suffer
			for i := range units {
				s.commit(ctx, units[i:i+1], nil)
			}
			return
		case class == Violated:
			err = ErrViolated{units[0].ks.ID, err}
		}
		fail(units, err)
		return
	}
}

func (s *Store) attempt(ctx context.Context, units []*unit, o *open) (committing bool, err error) {
	if o == nil {
		if o, err = s.begin(ctx); err != nil {
			return false, err
		}
	}
	defer o.end()
	q := querier(o.tx)
	if !s.t.d.many {
		q = inTx{o.tx, s.write}
	}
	ses := session{q, s.t, s.realm, &s.last}
	n, err := ses.run(ctx, units)
	if err != nil || n == 0 {
		_ = o.tx.Rollback() // what it failed of is said by err
		return false, err
	}
	return true, o.tx.Commit()
}

func fail(units []*unit, err error) {
	for _, u := range units {
		u.err = err
	}
}

// lookup bounds the one look-up after a lost reply.
const lookup = 5 * time.Second

// resolve asks whether a commit happened whose reply was lost. What is not
// there may still be on its way.
func (s *Store) resolve(ctx context.Context, units []*unit, cause error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookup)
	defer cancel()
	_, ids := union(units)
	v := newView()
	ses := session{s.read.db, s.t, s.realm, &s.last}
	if err := ses.receipts(ctx, v, ids); err != nil {
		cause = errors.Join(cause, err)
	}
	for _, u := range units {
		if u.err != nil { // refused: nothing of it was to be written
			continue
		}
		if r, ok := v.receipts[u.ks.ID]; !ok || r.Digest != u.digest {
			u.err = ledger.ErrUncertain{ID: u.ks.ID, Err: cause}
		}
	}
}

// Read implements [ledger.Store].
func (s *Store) Read(ctx context.Context, ks ledger.KeySet) (ledger.View, error) {
	var ids []string
	if ks.ID != "" {
		ids = []string{ks.ID}
	}
	s.prepareReads(ctx)
	if len(ids)+len(ks.Balances)+len(ks.Holds)+len(ks.Docs)+len(ks.Counts) == 1 { // one statement is one snapshot
		ses := session{s.direct(), s.t, s.realm, &s.last}
		v, err := ses.view(ctx, &ks, ids, "")
		return v, s.failed(ctx, err)
	}
	opts := sql.TxOptions{ReadOnly: true}
	if s.t.d.many {
		opts.Isolation = sql.LevelRepeatableRead
	}
	tx, err := s.read.db.BeginTx(ctx, &opts)
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	defer tx.Rollback() //nolint:errcheck // it only read
	q := querier(tx)
	if !s.t.d.many {
		q = inTx{tx, s.read}
	}
	ses := session{q, s.t, s.realm, &s.last}
	v, err := ses.view(ctx, &ks, ids, "")
	return v, s.failed(ctx, err)
}

func (s *Store) prepareReads(ctx context.Context) {
	if !s.t.d.many {
		s.read.prepare(ctx)
	}
}

// direct runs a read outside of transactions.
func (s *Store) direct() querier {
	if s.t.d.many { // such drivers prepare on their own, and better
		return s.read.db
	}
	return inDB{s.read}
}

// failed is what a read answers.
func (s *Store) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case s.classify(err) == Busy:
		return ledger.ErrBusy{Err: err}
	}
	return err
}

// docsPage is how many documents one statement of Docs reads. No statement
// stays open while the caller has a row: he may use the ledger.
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
				yield(ledger.DocRow{}, s.failed(ctx, err))
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

// beyond is greater than every byte of a key.
const beyond = "~"

// cut is how many bytes at the beginning of s may stand in a key.
func cut[S ~string](s S) int {
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._:/#@-", c) >= 0 {
			continue
		}
		return i
	}
	return len(s)
}

// bound has the same keys above it as after, in bytes that every database
// takes.
func bound(after ledger.DocKey) string {
	n := cut(after)
	s := string(after[:n])
	if n == len(after) {
		return s
	}
	// No key goes on with the byte at n: those that go on with a greater one
	// are above it. Bytes below are compared one by one.
	for c := int(after[n]) - 1; c > 0; c-- {
		if cut(string(rune(c))) == 1 && c < 0x80 {
			return s + string(rune(c)) + beyond
		}
	}
	return s
}

func (s *Store) docs(ctx context.Context, q ledger.DocQuery, limit int) (list []ledger.DocRow, err error) {
	if cut(q.Prefix) < len(q.Prefix) || cut(q.Status) < len(q.Status) {
		return nil, ctx.Err() // no document is so
	}
	text := "SELECT key, version, status, body, sealed, updated, stamp FROM {p}doc WHERE realm = ? AND version > 0"
	args := []any{s.realm}
	and := func(condition string, arg any) {
		text += " AND " + condition
		args = append(args, arg)
	}
	if after := bound(q.After); after >= string(q.Prefix) {
		and("key > ?", after)
	} else {
		and("key >= ?", string(q.Prefix))
	}
	if q.Prefix != "" {
		and("key < ?", string(q.Prefix)+beyond)
	}
	if q.Status != "" {
		and("status = ?", q.Status)
	}
	if q.OlderThan != 0 {
		and("updated < ?", q.OlderThan)
	}
	args = append(args, limit)
	s.prepareReads(ctx)
	ses := session{s.direct(), s.t, s.realm, &s.last}
	err = ses.query(ctx, s.t.text(text+" ORDER BY key LIMIT ?", 0), args, func(rows *sql.Rows) error {
		d, _, err := scanDoc(rows)
		list = append(list, d)
		return err
	})
	return list, err
}

const (
	selectJournal    = "SELECT seq, at, tx, digest, hash FROM {p}entry WHERE realm = ? AND seq > ? ORDER BY seq LIMIT ?"
	selectDocJournal = "SELECT e.seq, e.at, e.tx, e.digest, e.hash FROM {p}doc_entry d JOIN {p}entry e ON e.realm = d.realm AND e.seq = d.seq" +
		" WHERE d.realm = ? AND d.doc = ? AND d.seq > ? ORDER BY d.seq LIMIT ?"
)

// Journal implements [ledger.Store]. In Postgres it lists what [Store.Seal]
// has sealed.
func (s *Store) Journal(ctx context.Context, q ledger.JournalQuery) (list []ledger.Entry, err error) {
	if q.After > math.MaxInt64 || cut(q.Doc) < len(q.Doc) {
		return nil, ctx.Err()
	}
	if q.Limit <= 0 {
		q.Limit = math.MaxInt
	}
	text, args := selectJournal, []any{s.realm, int64(q.After), q.Limit}
	if q.Doc != "" {
		text, args = selectDocJournal, []any{s.realm, string(q.Doc), int64(q.After), q.Limit}
	}
	s.prepareReads(ctx)
	ses := session{s.direct(), s.t, s.realm, &s.last}
	err = ses.query(ctx, s.t.text(text, 0), args, func(rows *sql.Rows) error {
		e, err := scanEntry(rows)
		list = append(list, e)
		return err
	})
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	return list, nil
}

func scanEntry(rows *sql.Rows) (e ledger.Entry, err error) {
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
