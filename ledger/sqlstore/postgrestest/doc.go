// Package postgrestest holds the tests of sqlstore against PostgreSQL, apart
// from it because they need a driver. Where the server comes from is package
// pgtest's to say.
package postgrestest
