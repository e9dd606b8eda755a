// Package sqlstore keeps a ledger in a SQL database.
package sqlstore
