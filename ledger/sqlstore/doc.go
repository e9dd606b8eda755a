// Package sqlstore keeps a ledger in a SQL database, beside the tables of the
// program that embeds it. It needs database/sql only: the driver is yours.
//
//	s, err := sqlstore.Open(ctx, db, sqlstore.Config{Dialect: sqlstore.Postgres})
//	l := ledger.New(s, time.Now)
//
// Package sqlitestore is this with a driver and settings: take it unless you
// have a database already.
//
// # Beside your own schema
//
// [Open] creates eight tables, named with [Config.Prefix] ("ledger_entry",
// "ledger_balance", …), and migrates them later on: numbered steps, under a
// lock, any number of processes at once. Tables of a newer version, or of
// somebody else, are refused and left as they are. Read them as you like;
// write them never: the journal would no longer explain them.
//
// The first column of every key is the realm, a ledger of its own with its own
// accounts, ids and journal: one per tenant or brand, or "main". Realms share
// tables and nothing else; a Tx stays in one. A database that spreads rows over
// machines can do so by realm.
//
// # Your rows and the ledger's in one commit
//
//	tx, err := db.BeginTx(ctx, nil)
//	_, err = tx.ExecContext(ctx, "INSERT INTO orders …")
//	receipt, err := s.DoTx(ctx, tx, ledger.Tx{ID: "order/7", …})
//	err = tx.Commit()
//
// The receipt is provisional until your commit: [Store.DoTx] says what follows.
//
// # What is promised
//
// What Do has answered is on disk, as far as the database's settings allow. A
// constraint repeats the floor of every balance, so that even a defect here
// could not overdraw one: see [ErrViolated]. Contention is retried, then
// ledger.ErrBusy. If the reply to a COMMIT is lost the id is looked up once;
// only if it is not found the answer is ledger.ErrUncertain. Any other error,
// a full disk included, means that nothing happened. A context ends waiting; a
// commit under way is awaited. [Config.Classify] tells these cases apart and
// must fit the driver.
//
// # SQLite
//
// One transaction writes at a time. Callers of Do who wait for it share the
// next commit, each with an outcome of his own. Entries are chained when they
// are committed. Use a pool of one connection, WAL, synchronous FULL, a busy
// timeout and immediate transactions, and a second pool as Config.Readers. A
// goroutine that holds the one connection must not call Do: it would wait for
// itself.
//
// # PostgreSQL and its kin
//
// Transactions run side by side. The id is claimed first, then rows are locked
// in order of their keys, at READ COMMITTED or above. Nothing is used that
// YugabyteDB or CockroachDB lack. No commit waits for the head of the chain:
// entries are numbered later, by [Store.Seal], which some process must call,
// every second for example. Journal lists what is sealed. The order of the
// seals respects what each entry depended on, so that the journal replays.
// Accounts that every game touches are worth sharding ("house:rake:03").
package sqlstore
