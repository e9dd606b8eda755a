package pgstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/glasshouse-go/glasshouse/ledger"
)

const (
	ensureHead = "INSERT INTO ledger_head (realm, seq, hash) VALUES ($1, 0, $2) ON CONFLICT (realm) DO NOTHING"
	lockHead   = "SELECT seq, hash FROM ledger_head WHERE realm = $1 FOR UPDATE"
	moveHead   = "UPDATE ledger_head SET seq = $2, hash = $3 WHERE realm = $1"

	// A single statement sees with a Tx all that the Tx depends on, and these
	// have lesser stamps: whatever it lists, nothing is listed before what it
	// depends on. A Tx that shows up later with a lesser stamp depends on none
	// of them, nor they on it.
	selectUnsealed = "SELECT stamp, id, at, digest, docs FROM ledger_unsealed WHERE realm = $1 ORDER BY stamp, id LIMIT $2"
	deleteUnsealed = "DELETE FROM ledger_unsealed u USING unnest($2::bigint[], $3::text[]) AS k(stamp, id) WHERE u.realm = $1 AND u.stamp = k.stamp AND u.id = k.id"
	insertChain    = "INSERT INTO ledger_chain (realm, seq, id, hash) SELECT $1::text, k.seq, k.id, k.hash FROM unnest($2::bigint[], $3::text[], $4::bytea[]) AS k(seq, id, hash)"
	insertDocs     = "INSERT INTO ledger_doc_entry (realm, doc, seq) SELECT $1::text, k.doc, k.seq FROM unnest($2::text[], $3::bigint[]) AS k(doc, seq)"
)

// sealBlock is how many entries one transaction seals.
const sealBlock = 1000

// Seal gives every Tx that was committed before the call its place in the
// journal: number and hash. It returns how many it sealed. Some process must
// call it from time to time, since [Store.Journal] lists sealed entries only;
// many may, at the same time, and none of them makes a commit wait.
//
// Errors: [ledger.ErrBusy] and those of the database. Whatever the error, it
// may be called again.
func (s *Store) Seal(ctx context.Context) (sealed int, err error) {
	for attempt := 0; ; {
		n, err := s.sealOnce(ctx)
		switch {
		case err == nil:
			attempt = 0
			if sealed += n; n < sealBlock {
				return sealed, nil
			}
		case classify(err) == busy && attempt < maxAttempts && pause(ctx, attempt) == nil:
			attempt++
		default:
			return sealed, failed(ctx, err)
		}
	}
}

// block is entries on their way into the journal, and what comes before them.
type block struct {
	seq     int64
	hash    [32]byte
	entries []pending
}

type pending struct {
	stamp, at int64
	id, docs  string
	digest    [32]byte
}

func (s *Store) sealOnce(ctx context.Context) (int, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	defer rollback(ctx, conn)
	var bl block
	if err := s.takeBlock(ctx, conn, &bl); err != nil || len(bl.entries) == 0 {
		return 0, err
	}
	b, committed := &pgx.Batch{}, false
	s.queueBlock(b, &bl)
	queueCommit(b, &committed)
	if err := conn.SendBatch(ctx, b).Close(); !committed {
		return 0, err
	}
	return len(bl.entries), nil
}

// takeBlock locks the head, which is the guard (of many sealers one goes on),
// and reads what is unsealed then.
func (s *Store) takeBlock(ctx context.Context, conn *pgxpool.Conn, bl *block) error {
	b := &pgx.Batch{}
	b.Queue(s.begin)
	b.Queue(ensureHead, s.realm, make([]byte, 32))
	b.Queue(lockHead, s.realm).QueryRow(func(row pgx.Row) error {
		var hash []byte
		if err := row.Scan(&bl.seq, &hash); err != nil {
			return err
		}
		return hash32(&bl.hash, hash, "head of the journal")
	})
	b.Queue(selectUnsealed, s.realm, sealBlock).Query(func(rows pgx.Rows) error {
		return each(rows, func() error {
			var p pending
			var digest []byte
			if err := rows.Scan(&p.stamp, &p.id, &p.at, &digest, &p.docs); err != nil {
				return err
			}
			if err := hash32(&p.digest, digest, "digest of "+p.id); err != nil {
				return err
			}
			bl.entries = append(bl.entries, p)
			return nil
		})
	})
	return conn.SendBatch(ctx, b).Close()
}

// queueBlock numbers and chains the entries and moves the head behind them.
func (s *Store) queueBlock(b *pgx.Batch, bl *block) {
	var chain, docs, done table
	seq, hash := bl.seq, bl.hash
	for i := range bl.entries {
		p := &bl.entries[i]
		seq++
		hash = ledger.Chain(hash, uint64(seq), p.at, p.digest)
		chain.add(seq, p.id, append([]byte(nil), hash[:]...))
		for _, doc := range strings.Fields(p.docs) {
			docs.add(doc, seq)
		}
		done.add(p.stamp, p.id)
	}
	chain.queue(b, insertChain, s.realm)
	docs.queue(b, insertDocs, s.realm)
	done.queue(b, deleteUnsealed, s.realm)
	b.Queue(moveHead, s.realm, seq, hash[:])
}

func hash32(to *[32]byte, b []byte, what string) error {
	if copy(to[:], b) != len(to) || len(b) != len(to) {
		return fmt.Errorf("pgstore: %s has %d bytes, not %d", what, len(b), len(to))
	}
	return nil
}
