// Package ledger commits money, game documents and counters in one atomic
// unit.
//
//	l := ledger.New(ledger.NewMemory(), time.Now)
//	game := ledger.DocKey("battle:9")
//	_, err := l.Do(ctx, ledger.Tx{ // money enters from "world", which may owe any amount
//		ID:   "deposit/1",
//		Post: []ledger.Posting{{From: "world", To: "user:7", Asset: "BRL/2", Amount: 500}},
//	})
//	…
//	_, err = l.Do(ctx, ledger.Tx{ // the state and the entry fee, together or not at all
//		ID:   "battle/9/join/7",
//		Docs: []ledger.DocWrite{{Key: game, Status: "in_play", Body: snapshot}},
//		Post: []ledger.Posting{{From: "user:7", To: game.Escrow(), Asset: "BRL/2", Amount: 500}},
//	})
//	if short, ok := errors.AsType[ledger.ErrFunds](err); ok {
//		… // short.Have of short.Need; nothing has changed
//	}
//
// The caller chooses Tx.ID, from what is done and not from a clock or a random
// number: a retry must find the id of the first try.
//
// # One Tx, all or nothing, once
//
// A [Tx] names everything one step of a game changes: postings between
// accounts, holds opened and closed, documents written under a version guard,
// counters moved under a limit. [Ledger.Do] does all of it exactly once per
// Tx.ID, or none of it. Any error but [ErrUncertain] means that nothing
// changed and that the id is still free; after ErrUncertain send the same Tx
// again. The same id with the same body answers with the first receipt, for
// ever; with another body it is [ErrKeyReused].
//
// # Rules
//
// Amounts are int64 in the asset's smallest unit; the scale is part of the
// asset's name ("BRL/2" is cents). Times are int64 nanoseconds since the Unix
// epoch, UTC, everywhere in this package. Ids, keys, account and asset names
// are 1 to 128 bytes of [A-Za-z0-9._:/#@-]; a status is that or empty.
//
// A posting moves a positive amount from one account to another, so an
// unbalanced change cannot be written. An account may not give more than it
// has above its floor: the floor is 0, or none at all for accounts whose first
// segment is "world" or "house"; an [Open] changes it. Postings are judged by
// their net effect, in 128 bits, so their order never matters.
//
// The parts of a Tx are checked in a fixed order: shape, id, Require, document
// guards, Close, Post, Hold, Count, balances. Within a part the lowest key is
// judged first. The first failure is the error.
//
// A document that decides money is sealed by the Tx that decides it; later
// writes get [ErrSealed] with the sealed document. Money at stake in document
// K lies in the account [DocKey.Escrow], "escrow:K", with floor 0: the second
// guard, independent of the first. The escrow of a sealed document must be
// empty. [Apply] cannot know every asset an escrow holds, so it does not
// refuse such a Tx: [Audit] names it.
//
// Expiry of a hold is never lazy: the amount stays held until a Tx voids it,
// so balances depend on the journal and not on the time they are read.
//
// # Errors
//
// Every error of a rule is a value type of this package: find it with
// errors.AsType or errors.As. Each has a Code, lower_snake and unique. All but
// ErrUncertain mean that nothing changed. What else a store returns (a closed
// database, a cancelled context) has no Code and means nothing changed, too.
//
// Ask for ErrUncertain before all others: the cause that it wraps may be one of
// them, or context.Canceled, and speaks of one attempt only.
//
// # Proof
//
// Every accepted Tx is an [Entry] of a hash-chained journal. [Replay] rebuilds
// the whole state from it, checking every digest, hash and rule, and [Audit]
// checks the books. [Apply], [Keys] and [Digest] are pure: the same functions
// run in every [Store] and at the auditor's desk. The journal is the outbox:
// publish what it says, after the commit.
//
// # Ownership
//
// Ledger clones what it is given and what it returns: callers may reuse and
// change both. What a View returns belongs to its store and is read-only; what
// a [Store] may keep of a [Change] is said there. Bodies and memos are as
// secret as the game they describe: no error text and no %v of a value of this
// package prints them. In an unexported field of a struct of yours fmt calls no
// method and prints all: give such a struct a Format of its own.
package ledger
