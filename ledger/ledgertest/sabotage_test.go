package ledgertest

import (
	"context"
	"iter"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// recorder is a testing.TB that notes a failure instead of reporting it.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) FailNow()              { r.failed = true; runtime.Goexit() }

// broken is a Memory with a defect.
type broken struct {
	*ledger.Memory
	view    func(ledger.View) ledger.View                 // what Atomic shows
	lose    func(n int) bool                              // commit n is reported but not written
	unlock  bool                                          // reads before it locks
	docs    func(ledger.DocQuery) ledger.DocQuery         // query rewritten
	journal func(ledger.JournalQuery) ledger.JournalQuery // query rewritten
	seen    atomic.Int64
}

func (b *broken) Atomic(ctx context.Context, ks ledger.KeySet, f func(ledger.View) (ledger.Change, error)) error {
	if b.unlock {
		v, err := b.Memory.Read(ctx, ks)
		if err != nil {
			return err
		}
		c, err := f(v)
		time.Sleep(time.Millisecond)
		return b.Memory.Atomic(ctx, ks, func(ledger.View) (ledger.Change, error) { return c, err })
	}
	if n := int(b.seen.Add(1)); b.lose != nil && b.lose(n) {
		return b.Memory.Atomic(ctx, ks, func(v ledger.View) (ledger.Change, error) {
			_, err := f(v)
			return ledger.Change{Receipt: ledger.Receipt{Replayed: true}}, err
		})
	}
	return b.Memory.Atomic(ctx, ks, func(v ledger.View) (ledger.Change, error) {
		if b.view != nil {
			v = b.view(v)
		}
		return f(v)
	})
}

// AtomicAll hides Memory's, which knows nothing of the defect.
func (b *broken) AtomicAll(ctx context.Context, sets []ledger.KeySet, f func(int, ledger.View) (ledger.Change, error)) []error {
	errs := make([]error, len(sets))
	for i := range sets {
		errs[i] = b.Atomic(ctx, sets[i], func(v ledger.View) (ledger.Change, error) { return f(i, v) })
	}
	return errs
}

func (b *broken) Docs(ctx context.Context, q ledger.DocQuery) iter.Seq2[ledger.DocRow, error] {
	if b.docs != nil {
		q = b.docs(q)
	}
	return b.Memory.Docs(ctx, q)
}

func (b *broken) Journal(ctx context.Context, q ledger.JournalQuery) ([]ledger.Entry, error) {
	if b.journal != nil {
		q = b.journal(q)
	}
	return b.Memory.Journal(ctx, q)
}

type noReceipts struct{ ledger.View }

func (noReceipts) Receipt(string) (ledger.Receipt, bool) { return ledger.Receipt{}, false }

type noFloors struct{ ledger.View }

func (v noFloors) Balance(k ledger.Key) ledger.Balance {
	b := v.View.Balance(k)
	b.Floor = ledger.Unbounded
	return b
}

type noSeals struct{ ledger.View }

func (v noSeals) Doc(k ledger.DocKey) ledger.Doc {
	d := v.View.Doc(k)
	d.Sealed = false
	return d
}

type noHolds struct{ ledger.View }

func (v noHolds) Hold(id string) ledger.HoldRow {
	h := v.View.Hold(id)
	if h.State != 0 {
		h.State = ledger.HoldOpen
	}
	return h
}

// TestTheSuiteFailsForBrokenStores names, for each defect, cases that must
// notice it: a test that cannot fail proves nothing.
func TestTheSuiteFailsForBrokenStores(t *testing.T) {
	view := func(f func(ledger.View) ledger.View) func() *broken {
		return func() *broken { return &broken{Memory: ledger.NewMemory(), view: f} }
	}
	for _, d := range []struct {
		name  string
		open  func() *broken
		cases []string
	}{
		{"forgets ids", view(func(v ledger.View) ledger.View { return noReceipts{v} }), []string{"stream one by one", "stream with retries", "idempotency sweep", "crash at every commit", "races"}},
		{"no floors", view(func(v ledger.View) ledger.View { return noFloors{v} }), []string{"stream one by one", "races", "escrow guard alone", "concurrent transfers"}},
		{"no seals", view(func(v ledger.View) ledger.View { return noSeals{v} }), []string{"stream in batches of 10", "document guard alone", "crash at every commit"}},
		{"closed holds stay open", view(func(v ledger.View) ledger.View { return noHolds{v} }), []string{"stream one by one", "races"}},
		{"loses a commit", func() *broken {
			return &broken{Memory: ledger.NewMemory(), lose: func(n int) bool { return n%5 == 0 }}
		}, []string{"stream one by one", "crash at every commit", "races"}},
		{"reads before it locks", func() *broken { return &broken{Memory: ledger.NewMemory(), unlock: true} }, []string{"races", "concurrent transfers"}},
		{"ignores After", func() *broken {
			return &broken{Memory: ledger.NewMemory(), docs: func(q ledger.DocQuery) ledger.DocQuery { q.After = ""; return q }}
		}, []string{"document queries"}},
		{"ignores Status", func() *broken {
			return &broken{Memory: ledger.NewMemory(), docs: func(q ledger.DocQuery) ledger.DocQuery { q.Status = ""; return q }}
		}, []string{"document queries"}},
		{"ignores Doc", func() *broken {
			return &broken{Memory: ledger.NewMemory(), journal: func(q ledger.JournalQuery) ledger.JournalQuery { q.Doc = ""; return q }}
		}, []string{"journal queries"}},
	} {
		for _, name := range d.cases {
			found := false
			for _, c := range cases {
				if c.name != name {
					continue
				}
				found = true
				r := &recorder{TB: t}
				done := make(chan struct{})
				go func() {
					defer close(done)
					c.run(r, func(testing.TB) ledger.Store { return d.open() })
				}()
				<-done
				require.True(t, r.failed, "%q passes with a store that %s", name, d.name)
			}
			require.True(t, found, name)
		}
	}
}
