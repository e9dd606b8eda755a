package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// sources is the SQL of this package: its string constants and migrations.
func sources(t *testing.T) (list []string) {
	t.Helper()
	list = append(list, migrations...)
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				list = append(list, s)
			}
			return true
		})
	}
	return list
}

// forbidden is what does not run everywhere, or is not right everywhere.
var forbidden = regexp.MustCompile(`(?i)advisory|\b(listen|notify|trigger|plpgsql|language|do \$\$|serial|bigserial|identity|sequence|nextval|autoincrement|deferrable|deferred|temp|temporary|unlogged|xmin|txid_current|pg_current_xact_id|now\(\)|current_timestamp|random\(\)|skip locked|nowait|limit 0|offset|float|real|double|numeric|jsonb?|timestamptz?|cascade|returning)\b|\b(like|ilike)\b`)

// TestSQLIsPortable: nothing in it is forbidden, every statement on rows names
// the realm, and a key of a table begins with it.
func TestSQLIsPortable(t *testing.T) {
	statements, tables := 0, 0
	for _, s := range sources(t) {
		if !regexp.MustCompile(`^\s*(-- |SELECT|INSERT|UPDATE|DELETE|CREATE| ON CONFLICT| AND| ORDER)`).MatchString(s) {
			continue
		}
		require.NotRegexp(t, forbidden, s)
		for _, stmt := range statementsOrOne(s) {
			statements++
			switch {
			case strings.HasPrefix(stmt, "CREATE TABLE {p}"):
				tables++
				require.Regexp(t, `PRIMARY KEY \(realm[,)]`, stmt)
			case strings.HasPrefix(stmt, "CREATE") || strings.Contains(stmt, "{p}format") || strings.HasPrefix(stmt, " ") || strings.Contains(stmt, "_schema"):
			case strings.HasPrefix(stmt, "INSERT"):
				require.Regexp(t, `^INSERT INTO \{p\}\w+ \(realm, `, stmt)
			default:
				require.Contains(t, stmt, "realm = ") // a parameter, or that of the other table of a join
			}
		}
	}
	require.Equal(t, len(tableNames)-1, tables)
	require.Greater(t, statements, 35)
	for _, bad := range []string{"SELECT pg_advisory_xact_lock(1)", "LISTEN x", "CREATE TRIGGER x", "SELECT nextval('s')", "id BIGSERIAL"} {
		require.Regexp(t, forbidden, bad)
	}
}

func statementsOrOne(s string) []string {
	if list := statements(s); len(list) > 0 {
		return list
	}
	return []string{s}
}

func TestRender(t *testing.T) {
	lite := &texts{d: dialects[SQLite], prefix: "x_"}
	pg := &texts{d: dialects[Postgres], prefix: "x_"}
	for _, c := range []struct {
		format       string
		rows         int
		sqlite, post string
	}{
		{"SELECT a FROM {p}t WHERE b = ?{lock}", 0, "SELECT a FROM x_t WHERE b = ?", "SELECT a FROM x_t WHERE b = $1 FOR UPDATE"},
		{"a = ? AND b IN ({rows 1})", 3, "a = ? AND b IN (?, ?, ?)", "a = $1 AND b IN ($2, $3, $4)"},
		{"VALUES {rows 2} ON", 2, "VALUES (?, ?), (?, ?) ON", "VALUES ($1, $2), ($3, $4) ON"},
		{"{int} {bytes} {key}{rowid}{clustered}", 0, "INTEGER BLOB TEXT STRICT STRICT, WITHOUT ROWID", `BIGINT BYTEA TEXT COLLATE "C"`},
	} {
		for range 2 { // the second time from memory
			require.Equal(t, c.sqlite, lite.text(c.format, c.rows))
			require.Equal(t, c.post, pg.text(c.format, c.rows))
		}
	}
}

func TestChunksCoverAllRowsOnce(t *testing.T) {
	sizes := map[int]bool{}
	for n := range 300 {
		var seen []int
		require.NoError(t, chunks(n, func(from, to int) error {
			sizes[to-from] = true
			for i := from; i < to; i++ {
				seen = append(seen, i)
			}
			return nil
		}))
		require.Len(t, seen, n)
		require.True(t, slices.IsSorted(seen))
	}
	require.Len(t, sizes, 7)
	calls := 0
	require.Error(t, chunks(100, func(int, int) error { calls++; return errors.New("no") }))
	require.Equal(t, 1, calls)
}

// TestBoundHasTheSameKeysAbove for any bytes that a caller may ask for.
func TestBoundHasTheSameKeysAbove(t *testing.T) {
	const alphabet = "#-./09:@AZ_az"
	key := rapid.StringOfN(rapid.RuneFrom([]rune(alphabet)), 1, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		after := string(rapid.SliceOfN(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte(alphabet))), 0, 4).Draw(t, "after"))
		k := key.Draw(t, "key")
		if rapid.Bool().Draw(t, "near") {
			k = after[:cut(after)] + k
		}
		b := bound(ledger.DocKey(after))
		require.Equal(t, k > after, k > b, "key %q, after %q, bound %q", k, after, b)
		require.Equal(t, len(strings.TrimSuffix(b, beyond)), cut(strings.TrimSuffix(b, beyond)))
	})
}

type stateError string

func (e stateError) Error() string    { return string(e) }
func (e stateError) SQLState() string { return string(e) }

type codeError int

func (e codeError) Error() string { return fmt.Sprint(int(e)) }
func (e codeError) Code() int     { return int(e) }

func TestClassify(t *testing.T) {
	for err, want := range map[error]Class{
		stateError("40001"): Busy, stateError("40P01"): Busy, stateError("55P03"): Busy,
		stateError("40003"): Unknown, stateError("08006"): Unknown, stateError("57P01"): Unknown, stateError(""): Unknown,
		stateError("23514"): Violated, stateError("23505"): Violated, stateError("22003"): Violated,
		stateError("53100"): Full, stateError("42P01"): Refused, stateError("57014"): Refused,
		codeError(5): Busy, codeError(517): Busy, codeError(6): Busy, codeError(13): Full, codeError(275): Violated,
		codeError(1034): Unknown, codeError(1): Refused, context.Canceled: Unknown,
	} {
		require.Equal(t, want, Classify(fmt.Errorf("wrapped: %w", err)), "%v", err)
	}
}

func TestConfigThatCannotBe(t *testing.T) {
	for _, cfg := range []Config{
		{},
		{Dialect: 9},
		{Dialect: SQLite, Realm: "a b"},
		{Dialect: SQLite, Realm: strings.Repeat("r", 129)},
		{Dialect: SQLite, Prefix: "1x"},
		{Dialect: SQLite, Prefix: "X"},
		{Dialect: SQLite, Prefix: "x;"},
		{Dialect: SQLite, Prefix: strings.Repeat("p", 33)},
	} {
		_, err := Open(context.Background(), nil, cfg)
		require.Error(t, err, "%+v", cfg)
	}
}

// TestStampsFollowDependencies: later than the time, later than every row the
// entry saw, whether it wrote it or only read it.
func TestStampsFollowDependencies(t *testing.T) {
	k := ledger.Key{Account: "a", Asset: "X"}
	v := newView()
	require.Equal(t, int64(100), v.stamp(&ledger.KeySet{}, 100))
	v.balances[k] = row[ledger.Balance]{stamp: 150}
	v.docs["d"] = row[ledger.Doc]{v: ledger.Doc{Version: 1}, stamp: 170}
	v.docs["sealed"] = row[ledger.Doc]{v: ledger.Doc{Version: 1, Sealed: true}, stamp: 5}
	v.counts["c"] = row[int64]{stamp: 160}
	require.Equal(t, int64(151), v.stamp(&ledger.KeySet{Balances: []ledger.Key{k}}, 100))
	require.Equal(t, int64(171), v.stamp(&ledger.KeySet{Docs: []ledger.DocKey{"d"}}, 100))
	require.Equal(t, int64(161), v.stamp(&ledger.KeySet{Counts: []string{"c"}}, 100))
	require.Equal(t, int64(200), v.stamp(&ledger.KeySet{Counts: []string{"c"}}, 200))
	read := &ledger.KeySet{ID: "r", Docs: []ledger.DocKey{"d", "missing", "sealed"}}
	v.absorb(&ledger.Change{Tx: &ledger.Tx{ID: "r"}}, read, 300, true)
	require.Equal(t, int64(301), v.stamp(&ledger.KeySet{Docs: []ledger.DocKey{"d"}}, 100))
	require.Equal(t, int64(301), v.stamp(&ledger.KeySet{Docs: []ledger.DocKey{"missing"}}, 100))
	require.Equal(t, int64(100), v.stamp(&ledger.KeySet{Docs: []ledger.DocKey{"sealed"}}, 100), "nobody writes after a seal")
	require.Equal(t, ledger.Doc{}, v.Doc("missing"))
}
