// Package stores holds the tests that need several stores at once, or a
// checker that the suite in ledgertest shall not depend on.
//
// Metamorphic: one stream of Txs through memory, SQLite and PostgreSQL, one by
// one, in batches, and with replies that get lost, must give the same
// receipts, errors, rows and hash chain everywhere.
//
// Linearizable: what clients see that run at the same time, lost replies
// included, must have an order in which one client alone could have seen it;
// github.com/anishathalye/porcupine searches for that order. Stores that are
// broken on purpose show that it can say no.
package stores
