// Package pgstore keeps a ledger in PostgreSQL, through pgx and without
// database/sql.
//
//	s, err := pgstore.Open(ctx, "postgres://app@db.internal/games", pgstore.Config{})
//	if err != nil { … }
//	defer s.Close()
//	go func() { // in any number of processes
//		for range time.Tick(time.Second) {
//			if _, err := s.Seal(ctx); err != nil { … }
//		}
//	}()
//	l := ledger.New(s, time.Now)
//
// # How a Tx is committed
//
// In two round trips. The first one begins a transaction, claims the id by
// inserting its row, makes the rows that do not exist yet, and locks and reads
// all of them in the order of their keys; whoever sends the same Tx again waits
// at the id. The rules run here, in [ledger.Apply]. The second one writes all
// that changed and commits. AtomicAll does the same for up to 500 Txs at once.
//
// Serialization failures and deadlocks are tried again with growing, random
// pauses, for some two seconds; then it is [ledger.ErrBusy]. If the connection
// is lost while COMMIT is under way, one look-up by id follows; if that does
// not find the Tx it is [ledger.ErrUncertain]. A context ends waiting for a
// connection or a lock; a commit that was sent is waited for, at most five
// seconds longer than the context.
//
// CHECK constraints are the last net under the rules: if one ever refuses, it
// is [ErrViolated].
//
// # The journal
//
// A commit does not wait for the end of the hash chain: it leaves the Tx
// unsealed, with a stamp greater than those of all rows it saw. [Store.Seal]
// gives what is unsealed its number and hash, block by block in the order of
// the stamps. [Store.Journal] lists sealed entries only, so somebody must call
// Seal; how often says how far the journal may lag behind. What one process
// commits one after the other has that order in the journal; what happens at
// the same time has one of the orders that explain it.
//
// # Speed
//
// Against a transaction that does the same row by row, on one server of two
// shared cores (BenchmarkPipelined): 25 times with Ledger.DoAll, 48 at a time.
// One by one, both wait for a flush of the disk per commit, 3 ms there: 1.1
// times with one connection, 1.5 with eight; 2.1 where the server does not wait
// for the disk. Txs on one account run one after the other, a flush apart:
// spread what every game touches over house:rake:00 to house:rake:15 by a hash
// of the game's key, or use DoAll.
//
// # Tables
//
// They begin with "ledger_" and lie in the first schema of search_path. They
// are not those of package sqlstore; each refuses the tables of the other.
// Migrations run when a store is opened, one process at a time. The SQL keeps
// to what YugabyteDB and CockroachDB have, too, and realm leads every key; the
// tests run on PostgreSQL, at READ COMMITTED and at SERIALIZABLE.
package pgstore
