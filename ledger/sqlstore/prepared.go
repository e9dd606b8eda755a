package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// prepared keeps the statements of one database prepared. Inside a transaction
// nothing can be prepared for good: that takes a connection of its own, and
// the transaction may hold the only one. So what is missing is noted, and
// prepared before the next transaction begins. nil prepares nothing.
type prepared struct {
	db *sql.DB

	mu     sync.Mutex
	stmts  map[string]*sql.Stmt // nil: wanted
	wanted []string
}

func newPrepared(db *sql.DB) *prepared { return &prepared{db: db, stmts: map[string]*sql.Stmt{}} }

func (p *prepared) find(text string) *sql.Stmt {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	st, known := p.stmts[text]
	if !known {
		p.stmts[text] = nil
		p.wanted = append(p.wanted, text)
	}
	return st
}

// prepare prepares what was wanted. Failing is no harm: the statement is then
// run without.
func (p *prepared) prepare(ctx context.Context) {
	if p == nil {
		return
	}
	p.mu.Lock()
	wanted := p.wanted
	p.wanted = nil
	p.mu.Unlock()
	for _, text := range wanted {
		st, err := p.db.PrepareContext(ctx, text)
		p.mu.Lock()
		if err == nil {
			p.stmts[text] = st
		} else {
			delete(p.stmts, text)
		}
		p.mu.Unlock()
	}
}

func (p *prepared) close() (err error) {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for text, st := range p.stmts {
		if st != nil {
			err = errors.Join(err, st.Close())
		}
		delete(p.stmts, text)
	}
	return err
}

// inTx is a transaction that uses prepared statements.
type inTx struct {
	tx *sql.Tx
	p  *prepared
}

func (q inTx) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	if st := q.p.find(text); st != nil {
		return q.tx.StmtContext(ctx, st).ExecContext(ctx, args...)
	}
	return q.tx.ExecContext(ctx, text, args...)
}

func (q inTx) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if st := q.p.find(text); st != nil {
		return q.tx.StmtContext(ctx, st).QueryContext(ctx, args...)
	}
	return q.tx.QueryContext(ctx, text, args...)
}

// inDB runs single statements outside of transactions.
type inDB struct{ p *prepared }

func (q inDB) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	if st := q.p.find(text); st != nil {
		return st.QueryContext(ctx, args...)
	}
	return q.p.db.QueryContext(ctx, text, args...)
}

func (q inDB) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	return q.p.db.ExecContext(ctx, text, args...)
}
