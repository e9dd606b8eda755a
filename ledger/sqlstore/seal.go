package sqlstore

import (
	"context"
	"database/sql"

	"github.com/glasshouse-go/glasshouse/ledger"
)

const (
	ensureHead = "INSERT INTO {p}head (realm, seq, hash) VALUES (?, 0, ?) ON CONFLICT DO NOTHING"

	// A single statement sees with an entry all that the entry depends on, and
	// these have lesser stamps: whatever it lists, nothing is listed before
	// what it depends on. An entry that shows up later with a lesser stamp
	// depends on none of them, nor they on it.
	selectUnsealed = "SELECT id, at, digest, receipt FROM {p}entry WHERE realm = ? AND seq IS NULL AND receipt <> '' ORDER BY stamp, id LIMIT ?"
	sealEntry      = "UPDATE {p}entry SET seq = ?, hash = ? WHERE realm = ? AND id = ?"
)

// sealBlock is how many entries one transaction seals.
const sealBlock = 500

// Seal gives every entry that was committed before the call its place in the
// journal: number and hash. It returns how many it sealed. In Postgres some
// process must call it from time to time, since [Store.Journal] lists sealed
// entries only; many may, at the same time. In SQLite entries are sealed when
// they are committed, and there is nothing to do.
//
// Errors: [ledger.ErrBusy] and those of the database. Whatever the error, it
// may be called again.
func (s *Store) Seal(ctx context.Context) (sealed int, err error) {
	if !s.t.d.many {
		return 0, ctx.Err()
	}
	for attempt := 0; ; {
		n, err := s.sealOnce(ctx)
		switch {
		case err == nil:
			attempt = 0
			if sealed += n; n < sealBlock {
				return sealed, nil
			}
		case s.classify(err) == Busy && attempt < s.attempts() && pause(ctx, attempt) == nil:
			attempt++
		default:
			return sealed, s.failed(ctx, err)
		}
	}
}

func (s *Store) sealOnce(ctx context.Context) (int, error) {
	o, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer o.end()
	ses := session{o.tx, s.t, s.realm, &s.last}
	n, err := ses.seal(ctx)
	if err != nil || n == 0 {
		_ = o.tx.Rollback()
		return 0, err
	}
	return n, o.tx.Commit()
}

func (s *session) seal(ctx context.Context) (int, error) {
	// The row of the head is the guard: of many sealers one goes on.
	if _, err := s.q.ExecContext(ctx, s.t.text(ensureHead, 0), s.realm, make([]byte, 32)); err != nil {
		return 0, err
	}
	if _, _, err := s.head(ctx); err != nil {
		return 0, err
	}
	var ids []string
	var links []link
	err := s.query(ctx, s.t.text(selectUnsealed, 0), []any{s.realm, sealBlock}, func(rows *sql.Rows) error {
		var id string
		var l link
		var digest, receipt []byte
		if err := rows.Scan(&id, &l.at, &digest, &receipt); err != nil {
			return err
		}
		var r ledger.Receipt
		if err := r.UnmarshalJSON(receipt); err != nil {
			return err
		}
		for _, d := range r.Docs {
			l.docs = append(l.docs, d.Key)
		}
		ids, links = append(ids, id), append(links, l)
		return hash32(&links[len(links)-1].digest, digest, "digest of "+id)
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	if err := s.extend(ctx, links); err != nil {
		return 0, err
	}
	for i, id := range ids {
		if _, err := s.q.ExecContext(ctx, s.t.text(sealEntry, 0), links[i].seq, links[i].hash[:], s.realm, id); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}
