// Package sqlitestore keeps a ledger in one file: the durable store for a
// program on one machine. SQLite is compiled in, without cgo.
//
// # Durability
//
// The file is in WAL mode with synchronous FULL: what Do has answered survives
// the loss of power, as far as the disk tells the truth. The price is one
// fsync per commit, so callers that wait at the same time share one, and
// DoAll is a single commit. Several processes may use a file; each commit
// waits for the others' ([Config].Busy), and then it is ledger.ErrBusy. The
// file must be on a local disk.
//
// Back up with VACUUM INTO or SQLite's backup, or copy the file together with
// its -wal and -shm while no process has it open.
//
// # Your own tables
//
// [Store.Begin] and DoTx put rows of yours and the ledger's into one commit;
// see package sqlstore, of which this one is the settings and the driver.
//
// # Speed
//
// Measured by go test -bench . on two shared cores whose fsync is faster than
// that of most disks: 1,100 to 3,100 transfers a second one by one, 16,000 to
// 32,000 in batches of 100, 10 to 15 times as many in the same run; 32
// goroutines that call Do share commits and reach 6 times as many as one.
package sqlitestore
