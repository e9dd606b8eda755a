package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// Config says how the tables are used. The zero value is good.
type Config struct {
	// Realm is the ledger within the tables: the first column of every key.
	// Realms share nothing, and no Tx spans two. 1 to 128 bytes of the alphabet
	// of ids; "" is "main".
	Realm string

	// Isolation of what the store writes: pgx.ReadCommitted, RepeatableRead or
	// Serializable; "" is ReadCommitted. The store is right at each. The
	// stronger ones cost retries where many Txs meet on one row; databases that
	// know only those may be asked for any.
	Isolation pgx.TxIsoLevel
}

// Store is a ledger in PostgreSQL. It is safe for concurrent use.
type Store struct {
	pool  *pgxpool.Pool
	owned bool
	realm string
	begin string
	last  atomic.Int64 // the latest stamp given out
	known known
}

var (
	_ ledger.Store   = (*Store)(nil)
	_ ledger.Batcher = (*Store)(nil)
)

// Open connects to the database at url, which has the form
// "postgres://user:password@host:5432/database?pool_max_conns=8" or that of
// libpq's key=value strings, and goes on as [New]. The tables are those of the
// first schema in search_path, which url may set.
func Open(ctx context.Context, url string, cfg Config) (*Store, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	s, err := New(ctx, pool, cfg)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.owned = true
	return s, nil
}

// New checks the tables, creates or migrates them if need be, and returns a
// store that uses them. The pool stays the caller's to close, after the store.
//
// Errors: [ErrForeign] and [ErrNewer], after which the database is as it was;
// a field of cfg that cannot be; and those of the database.
func New(ctx context.Context, pool *pgxpool.Pool, cfg Config) (*Store, error) {
	if cfg.Realm == "" {
		cfg.Realm = "main"
	}
	if len(cfg.Realm) > 128 || cut(cfg.Realm) != len(cfg.Realm) {
		return nil, fmt.Errorf("pgstore: Config.Realm cannot be %q", cfg.Realm)
	}
	switch cfg.Isolation {
	case "":
		cfg.Isolation = pgx.ReadCommitted
	case pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable:
	default:
		return nil, fmt.Errorf("pgstore: Config.Isolation cannot be %q", string(cfg.Isolation))
	}
	s := &Store{pool: pool, realm: cfg.Realm, begin: "BEGIN ISOLATION LEVEL " + strings.ToUpper(string(cfg.Isolation))}
	return s, s.migrate(ctx)
}

// Close closes the connections that Open made. It waits for calls under way.
func (s *Store) Close() error {
	if s.owned {
		s.pool.Close()
	}
	return nil
}

// unit is one Tx on its way: what Atomic was given and what became of it.
type unit struct {
	ctx     context.Context
	ks      ledger.KeySet
	f       func(ledger.View) (ledger.Change, error)
	change  ledger.Change // of an accepted Tx
	stamp   int64
	tx      string // of an accepted Tx, as JSON
	receipt string
	err     error
}

func (u *unit) accepted() bool { return u.change.Tx != nil }

// Atomic implements [ledger.Store]: two round trips, of which the second one
// commits.
func (s *Store) Atomic(ctx context.Context, ks ledger.KeySet, f func(ledger.View) (ledger.Change, error)) error {
	u := &unit{ctx: ctx, ks: ks, f: f}
	s.commit(ctx, []*unit{u})
	return u.err
}

// maxUnits is how many Txs one transaction of AtomicAll takes: it holds the
// locks of all.
const maxUnits = 500

// AtomicAll implements [ledger.Batcher]: two round trips and one commit for
// every 500 Txs.
func (s *Store) AtomicAll(ctx context.Context, sets []ledger.KeySet, f func(int, ledger.View) (ledger.Change, error)) []error {
	units := make([]*unit, len(sets))
	for i := range sets {
		units[i] = &unit{ctx: ctx, ks: sets[i], f: func(v ledger.View) (ledger.Change, error) { return f(i, v) }}
	}
	for rest := units; len(rest) > 0; {
		n := min(len(rest), maxUnits)
		s.commit(ctx, rest[:n])
		rest = rest[n:]
	}
	errs := make([]error, len(units))
	for i, u := range units {
		errs[i] = u.err
	}
	return errs
}

const (
	// maxAttempts is how often a transaction runs that meets contention: some
	// two seconds.
	maxAttempts = 40
	// maxReconnects is how often one runs whose connection is lost before the
	// commit.
	maxReconnects = 3
)

// pause waits before the next attempt: longer each time, and never as long as
// another one who waits for the same.
func pause(ctx context.Context, attempt int) error {
	d := time.Millisecond << min(attempt, 6)
	t := time.NewTimer(d/4 + rand.N(d))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commit decides the units in one transaction. Every unit has its outcome
// afterwards.
func (s *Store) commit(ctx context.Context, units []*unit) {
	for attempt := 0; ; attempt++ {
		sent, err := s.attempt(ctx, units)
		if err == nil {
			return
		}
		c := classify(err)
		switch {
		case sent && c == unknown:
			s.resolve(ctx, units, err)
			return
		case ctx.Err() != nil:
			fail(units, ctx.Err())
			return
		case c == busy:
			if attempt+1 < maxAttempts && pause(ctx, attempt) == nil {
				continue
			}
			fail(units, ledger.ErrBusy{Err: err})
			return
		case c == unsent || c == unknown:
			if attempt+1 < maxReconnects && pause(ctx, attempt) == nil {
				continue
			}
		case len(units) > 1: // one is to blame: the others shall not suffer
			for i := range units {
				s.commit(ctx, units[i:i+1])
			}
			return
		case c == violated:
			err = ErrViolated{units[0].ks.ID, err}
		}
		fail(units, err)
		return
	}
}

func fail(units []*unit, err error) {
	for _, u := range units {
		u.err = err
	}
}

// attempt runs the transaction once. sent says that its COMMIT was sent.
func (s *Store) attempt(ctx context.Context, units []*unit) (sent bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	defer rollback(ctx, conn)
	ks, ids := union(units)
	v, err := s.lock(ctx, conn, &ks, ids)
	if err != nil {
		return false, err
	}
	accepted := 0
	for _, u := range units {
		if err := s.judge(u, v); err != nil {
			return false, err
		}
		if u.accepted() {
			accepted++
		}
	}
	if accepted == 0 {
		return false, nil
	}
	return true, s.write(ctx, conn, job{v, &ks, ids, units, accepted < len(units)})
}

// patience bounds what is waited for when nobody waits any more.
const patience = 5 * time.Second

// rollback ends a transaction that was not committed. If that fails the pool
// closes the connection.
func rollback(ctx context.Context, conn *pgxpool.Conn) {
	if conn.Conn().IsClosed() || conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_, _ = conn.Exec(ctx, "ROLLBACK")
}

// judge shows v to the unit's function and takes its answer over.
func (s *Store) judge(u *unit, v *view) error {
	u.change = ledger.Change{}
	if u.err = u.ctx.Err(); u.err != nil {
		return nil
	}
	c, err := u.f(v)
	if u.err = err; err != nil || c.Receipt.Replayed {
		return nil
	}
	if err := u.encode(&c); err != nil {
		return err
	}
	u.change, u.stamp = c, s.stamp(max(c.Receipt.At, v.seen(&u.ks)+1))
	v.absorb(&c, &u.ks, u.stamp)
	return nil
}

// stamp is at least this, and greater than any before: what one Store commits
// one after the other is sealed in this order.
func (s *Store) stamp(least int64) int64 {
	for {
		last := s.last.Load()
		next := max(least, last+1)
		if s.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// resolve asks whether a commit happened whose reply was lost. What is not
// there may still be on its way.
func (s *Store) resolve(ctx context.Context, units []*unit, cause error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_, ids := union(units)
	found, err := s.receipts(ctx, s.pool, ids)
	if err != nil {
		cause = errors.Join(cause, err)
	}
	for _, u := range units {
		if !u.accepted() {
			continue
		}
		switch text, ok := found[u.ks.ID]; {
		case !ok:
			u.err = ledger.ErrUncertain{ID: u.ks.ID, Err: cause}
		case text != u.receipt: // a twin was faster: his answer counts
			u.err = u.again(text)
		}
	}
}

// again shows the unit's function a receipt that was committed meanwhile.
func (u *unit) again(text string) error {
	r, err := decodeReceipt(u.ks.ID, text)
	if err != nil {
		return err
	}
	_, err = u.f(&ledger.State{Receipts: []ledger.Receipt{r}})
	return err
}
