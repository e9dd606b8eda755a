package ledger

import (
	"context"
	"iter"
)

// Store keeps a ledger. [Memory] is the reference; package ledgertest holds
// the tests that any Store must pass.
type Store interface {
	// Atomic shows f the rows of ks as of one moment and persists the Change
	// it returns together with the journal entry, or nothing. No other Atomic
	// may change those rows in between: rows are locked in the order of ks,
	// missing ones included. View.Receipt(ks.ID) must be right even against
	// a concurrent Atomic with the same id. f is pure and may run more than
	// once; an error from f is returned as it is. Nothing is persisted if f
	// fails or if Change.Receipt.Replayed. The Change is the store's to keep,
	// but for the slices of its Receipt: copy those, the caller of Do gets
	// them. ctx ends waiting, never a commit half done. Contention that does
	// not end is ErrBusy; a commit whose reply is lost is ErrUncertain.
	Atomic(ctx context.Context, ks KeySet, f func(View) (Change, error)) error

	// Read shows the rows of ks as of one moment. The View stays valid and
	// does not change.
	Read(ctx context.Context, ks KeySet) (View, error)

	// Docs lists documents by key, ascending bytewise. Errors end the
	// sequence. It need not be a snapshot: rows written meanwhile may or may
	// not show, each row is one that was committed. The caller may use the
	// ledger while ranging. Bodies are the caller's.
	Docs(ctx context.Context, q DocQuery) iter.Seq2[DocRow, error]

	// Journal lists entries by Seq, ascending, without gaps in what it has
	// listed. They are the caller's.
	Journal(ctx context.Context, q JournalQuery) ([]Entry, error)
}

// Batcher is a Store that commits many Txs at the price of one. AtomicAll
// calls f(i, view) for each set in order, each seeing what the ones before it
// changed, and answers with one error per set: they succeed and fail
// independently. All else is as in Store.Atomic.
type Batcher interface {
	AtomicAll(ctx context.Context, sets []KeySet, f func(i int, v View) (Change, error)) []error
}

// DocQuery selects documents. Zero fields select everything.
type DocQuery struct {
	Prefix    DocKey // keys that begin with it
	Status    string // documents in this status
	OlderThan int64  // last written before this time (Unix nanoseconds)
	After     DocKey // keys greater than this one: the last key of the page before
	Limit     int    // at most so many; 0 = all
}

// JournalQuery selects journal entries. Zero fields select everything.
type JournalQuery struct {
	After uint64 // entries with a greater Seq
	Doc   DocKey // entries that write this document
	Limit int    // at most so many; 0 = all
}
