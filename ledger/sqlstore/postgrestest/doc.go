// Package postgrestest holds the tests of sqlstore against PostgreSQL, apart
// from it because they need a driver. They run if PGSTORE_URL names a database
// whose tables they may create and drop:
//
//	initdb -A trust -D /tmp/pg && pg_ctl -w -D /tmp/pg -o '-p 54321 -k /tmp' start
//	PGSTORE_URL='postgres://127.0.0.1:54321/postgres?sslmode=disable' go test ./...
package postgrestest
