// Package sqlitestore keeps a ledger in one file.
package sqlitestore
