package ledger

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// Ledger is a [Store] with a clock. It is safe for concurrent use if the
// store is.
type Ledger struct {
	s   Store
	now func() time.Time
}

// New returns a ledger over s. now gives the time of each commit; it must not
// be nil and lies within the years 1678 to 2261.
func New(s Store, now func() time.Time) *Ledger { return &Ledger{s, now} }

// Format prints nothing of the store: see [Memory.Format].
func (Ledger) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, "{ledger}") }

// Result is the outcome of one Tx of a batch.
type Result struct {
	Receipt Receipt
	Err     error
}

// Do commits tx, all of it and exactly once per tx.ID, or nothing. A Tx that
// was accepted before is answered with its first receipt, Replayed.
//
// Errors: those of [Apply]; [ErrBusy]; [ErrUncertain], after which the same tx
// must be sent again; and those of the store. All but ErrUncertain mean that
// nothing changed.
func (l *Ledger) Do(ctx context.Context, tx Tx) (Receipt, error) {
	j := new(job)
	if err := j.prepare(&tx); err != nil {
		return Receipt{}, err
	}
	j.at = l.now().UnixNano()
	if err := l.s.Atomic(ctx, j.ks, j.apply); err != nil {
		return Receipt{}, err
	}
	return j.receipt(), nil
}

// job is a prepared Tx on its way through a store.
type job struct {
	tx     *Tx // apart from the job, because the store keeps it
	ks     KeySet
	digest [32]byte
	at     int64
	out    Receipt
	n      int    // index in a batch
	keys   [2]Key // room for the keys of a single posting, the commonest Tx
}

// prepare checks tx and takes a copy, so that the caller may reuse his.
func (j *job) prepare(tx *Tx) (err error) {
	if j.ks, err = prepare(tx, j.keys[:0]); err != nil {
		return err
	}
	own := tx.clone()
	j.tx, j.digest = &own, Digest(own)
	return nil
}

func (j *job) apply(v View) (Change, error) {
	c, err := apply(v, j.tx, &j.ks, j.digest, j.at)
	j.out = c.Receipt
	return c, err
}

// receipt is the caller's: a new one was made for him, an old one is the
// store's.
func (j *job) receipt() Receipt {
	if j.out.Replayed {
		return j.out.clone()
	}
	return j.out
}

// DoAll commits each tx as [Ledger.Do] would, in order, each with its own
// outcome; one that fails does not stop the others. A store that is a
// [Batcher] does so at the price of one commit.
func (l *Ledger) DoAll(ctx context.Context, txs []Tx) []Result {
	res := make([]Result, len(txs))
	b, ok := l.s.(Batcher)
	if !ok {
		for i := range txs {
			res[i].Receipt, res[i].Err = l.Do(ctx, txs[i])
		}
		return res
	}
	at := l.now().UnixNano()
	jobs := make([]*job, 0, len(txs))
	sets := make([]KeySet, 0, len(txs))
	for i := range txs {
		j := &job{at: at, n: i}
		if res[i].Err = j.prepare(&txs[i]); res[i].Err == nil {
			jobs, sets = append(jobs, j), append(sets, j.ks)
		}
	}
	errs := b.AtomicAll(ctx, sets, func(i int, v View) (Change, error) { return jobs[i].apply(v) })
	for i := range jobs {
		r := &res[jobs[i].n]
		if r.Err = errs[i]; r.Err == nil {
			r.Receipt = jobs[i].receipt()
		}
	}
	return res
}

// Balance reads one balance; one that was never used is zero with the
// account's own floor.
func (l *Ledger) Balance(ctx context.Context, a AccountID, asset Asset) (Balance, error) {
	k := Key{a, asset}
	if f := checkKey(k); f != "" {
		return Balance{}, ErrInvalid{f[1:], whyID}
	}
	v, err := l.s.Read(ctx, KeySet{Balances: []Key{k}})
	if err != nil {
		return Balance{}, err
	}
	return v.Balance(k), nil
}

// Doc reads one document; Version 0 means that it does not exist.
func (l *Ledger) Doc(ctx context.Context, k DocKey) (Doc, error) {
	if !validID(k) {
		return Doc{}, ErrInvalid{"key", whyID}
	}
	v, err := l.s.Read(ctx, KeySet{Docs: []DocKey{k}})
	if err != nil {
		return Doc{}, err
	}
	return v.Doc(k).clone(), nil
}

// Hold reads one hold; State 0 means that it does not exist.
func (l *Ledger) Hold(ctx context.Context, id string) (HoldRow, error) {
	if !validID(id) {
		return HoldRow{}, ErrInvalid{"id", whyID}
	}
	v, err := l.s.Read(ctx, KeySet{Holds: []string{id}})
	if err != nil {
		return HoldRow{}, err
	}
	return v.Hold(id), nil
}

// Counter reads one counter; one that was never moved is 0.
func (l *Ledger) Counter(ctx context.Context, key string) (int64, error) {
	if !validID(key) {
		return 0, ErrInvalid{"key", whyID}
	}
	v, err := l.s.Read(ctx, KeySet{Counts: []string{key}})
	if err != nil {
		return 0, err
	}
	return v.Counter(key), nil
}

// Docs lists documents in order of their keys; an error ends the list. The
// ledger may be used while ranging over it.
func (l *Ledger) Docs(ctx context.Context, q DocQuery) iter.Seq2[DocRow, error] {
	return l.s.Docs(ctx, q)
}

// Journal lists entries in order of Seq.
func (l *Ledger) Journal(ctx context.Context, q JournalQuery) ([]Entry, error) {
	return l.s.Journal(ctx, q)
}

// Stuck lists the documents in status that nobody has written for longer than
// olderThan and that are not sealed: games whose host died, payouts sent and
// never confirmed.
func (l *Ledger) Stuck(ctx context.Context, status string, olderThan time.Duration) iter.Seq2[DocRow, error] {
	return func(yield func(DocRow, error) bool) {
		q := DocQuery{Status: status, OlderThan: l.now().Add(-olderThan).UnixNano()}
		for d, err := range l.s.Docs(ctx, q) {
			if err == nil && d.Doc.Sealed {
				continue
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

var (
	_ Store   = (*Memory)(nil)
	_ Batcher = (*Memory)(nil)
	_ View    = (*State)(nil)
)
