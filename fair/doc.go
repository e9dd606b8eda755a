// Package fair makes randomness that can be checked afterwards by somebody who
// does not trust the house.
//
// # The default scheme
//
// Scheme fair/v2 works in the order that [Life] enforces:
//
//  1. [Commit] binds the house to a [ServerSeed] by publishing a hash of it,
//     together with the hashes of the rules and of every weighted table.
//  2. Players contribute up to 64 bytes each, only after that hash is out.
//  3. The freeze closes entries and fixes one digest over everything so far,
//     and optionally names ONE future beacon round or block.
//  4. The beacon, if one was named, is read.
//  5. Seed, freeze and beacon give the [Root]; every draw has a path
//     (label, i, j) under it, so nothing shifts when a draw is skipped.
//  6. The seed is revealed, and everything can be derived again.
//
// A game that is called off is voided: its seed is shown, no draw was made.
//
// # Draws
//
// [Uniform] is exact for every n: words that would favour a result are
// rejected. [Roll], [Shuffle], [Perm], [Sample] and [Table.Pick] are built on
// it. Never use the methods of math/rand in anything recorded: only the
// reductions of this package are a promise about bytes.
//
//	root := life.Root()
//	roll := fair.Roll(root.At("roll", round, seat), 10_000_000)
//	item := table.Item(table.At(roll))
//
// # Weighted tables
//
// A [Table] has integer weights, or inclusive ranges over 1..max; building
// refuses gaps, overlaps, overflow and zero totals. Probabilities are exact.
//
// # What is promised
//
// The bytes: every preimage, the reductions and the vectors are written down
// in SPEC.md, and change only with a new scheme name. A [Root], a [Table] and
// a [Life] are immutable and safe for concurrent use.
//
// # What is not
//
// A record proves neither when the commitment was shown, nor that no game was
// silently dropped, nor who the players are, nor that anything was paid. A
// [Report] lists such things as not proven instead of saying only "ok".
//
// Secrets ([ServerSeed], [Root], [Keyring], [Life]) print as [secret] under
// every verb of fmt; the JSON form of a Life holds its seed and belongs into
// private snapshots only.
package fair
