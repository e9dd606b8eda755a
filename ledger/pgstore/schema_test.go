package pgstore_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore/pgtest"
)

// columns is all there is in the schema.
func columns(tb testing.TB, p *pgxpool.Pool) []string {
	tb.Helper()
	rows, err := p.Query(context.Background(), "SELECT table_name || '.' || column_name || ' ' || data_type FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1")
	require.NoError(tb, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(tb, err)
	return list
}

func TestManyOpenAnEmptyDatabaseAtOnce(t *testing.T) {
	ctx := context.Background()
	url := pgtest.URL(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := pgstore.Open(ctx, url, pgstore.Config{})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			_, err = ledger.New(s, now).Do(ctx, pay("one", 1))
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	p := pool(t, url)
	before := columns(t, p)
	s := open(t, p, pgstore.Config{Realm: "main"})
	require.Equal(t, before, columns(t, p))
	require.Equal(t, uint64(1), replay(t, s).Seq)
}

func TestRealmsShareNothing(t *testing.T) {
	ctx := context.Background()
	p := pool(t, pgtest.URL(t))
	a, b := open(t, p, pgstore.Config{Realm: "a"}), open(t, p, pgstore.Config{Realm: "b"})
	for _, s := range []hooked{a, b, b} {
		_, err := ledger.New(s, now).Do(ctx, pay("x", 4))
		require.NoError(t, err)
	}
	require.Equal(t, replay(t, a), replay(t, b))
	for _, realm := range []string{"no spaces", strings.Repeat("x", 129)} {
		_, err := pgstore.New(ctx, p, pgstore.Config{Realm: realm})
		require.Error(t, err)
	}
	_, err := pgstore.New(ctx, p, pgstore.Config{Isolation: pgx.ReadUncommitted})
	require.Error(t, err)
}

func TestOtherDatabasesAreRefusedUntouched(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name, setup string
		want        any
	}{
		{"newer", "", &pgstore.ErrNewer{}},
		{"a table of the same name", "CREATE TABLE ledger_balance (x INT)", &pgstore.ErrForeign{}},
		{"another table of formats", "CREATE TABLE ledger_format (version INT)", &pgstore.ErrForeign{}},
		{"another kind of ledger", "CREATE TABLE ledger_format (id BIGINT, magic TEXT, format BIGINT); INSERT INTO ledger_format VALUES (1, 'glasshouse/ledger', 1)", &pgstore.ErrForeign{}},
		{"an empty table of formats", "CREATE TABLE ledger_format (id BIGINT, magic TEXT, format BIGINT)", &pgstore.ErrForeign{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := pool(t, pgtest.URL(t))
			if c.setup == "" {
				open(t, p, pgstore.Config{})
				c.setup = "UPDATE ledger_format SET format = format + 1"
			}
			_, err := p.Exec(ctx, c.setup)
			require.NoError(t, err)
			before := columns(t, p)
			_, err = pgstore.New(ctx, p, pgstore.Config{})
			require.ErrorAs(t, err, c.want)
			require.Equal(t, before, columns(t, p))
		})
	}
}

func TestNoServer(t *testing.T) {
	_, err := pgstore.Open(context.Background(), "postgres://nobody@127.0.0.1:1/none?connect_timeout=1", pgstore.Config{})
	require.Error(t, err)
	_, err = pgstore.Open(context.Background(), "postgres://%", pgstore.Config{})
	require.Error(t, err)
}

// forbidden is what other databases with PostgreSQL's protocol do not have, or
// have in another way.
var forbidden = regexp.MustCompile(`(?i)advisory|\bLISTEN\b|\bNOTIFY\b|TRIGGER|PLPGSQL|\bDO \$|\$\$|SERIAL\b|NEXTVAL|SEQUENCE|\bIDENTITY\b|\bTEMP(ORARY)?\b|\bXMIN\b|TXID|PG_CURRENT|PG_SNAPSHOT|\bDEFERR|SKIP LOCKED|LOCK TABLE|\bNOW\(|CURRENT_TIMESTAMP|TIMESTAMP|SAVEPOINT|\bCTID\b|TRUNCATE|CREATE FUNCTION|PG_[A-Z]`)

// statement says that a text is SQL.
var statement = regexp.MustCompile(`^\s*(?:--|SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|BEGIN|COMMIT|ROLLBACK| FROM| WHERE| AND | ON| FOR)`)

func TestSQLIsPortable(t *testing.T) {
	require.Regexp(t, forbidden, "SELECT pg_advisory_xact_lock(1)")
	var texts []string
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				if statement.MatchString(text) {
					texts = append(texts, text)
				}
			}
			return true
		})
	}
	migrations, err := filepath.Glob("migrations/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, migrations)
	tables := 0
	for _, file := range migrations {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		texts = append(texts, string(b))
		for _, def := range strings.Split(string(b), "CREATE TABLE ")[1:] {
			tables++
			require.Regexp(t, `(?s)^ledger_[a-z_]+ \(\s+realm .*PRIMARY KEY \(realm[,)]`, def)
		}
	}
	require.Greater(t, tables, 5)
	require.Greater(t, len(texts), 30)
	for _, text := range texts {
		require.NotRegexp(t, forbidden, text)
	}
	for _, text := range texts {
		if strings.Contains(text, "ledger_") && !strings.Contains(text, "ledger_format") && strings.Contains(text, "WHERE") && !strings.Contains(text, "CREATE") {
			require.Regexp(t, `realm`, text, "a statement over all realms")
		}
	}
}

// Keys after which a page begins need not be keys.
func TestDocsAfterAnything(t *testing.T) {
	ctx := context.Background()
	s := fresh(t, pool(t, pgtest.URL(t)), pgx.ReadCommitted)
	keys := []ledger.DocKey{"a", "a#", "a-", "a/b", "a0", "a:", "aA", "aZ", "a_", "aa", "az", "b"}
	tx := ledger.Tx{ID: "x"}
	for _, k := range keys {
		tx.Docs = append(tx.Docs, ledger.DocWrite{Key: k})
	}
	_, err := ledger.New(s, now).Do(ctx, tx)
	require.NoError(t, err)
	for c := range 256 {
		for _, after := range []ledger.DocKey{"a" + ledger.DocKey([]byte{byte(c)}), "a" + ledger.DocKey([]byte{byte(c), 'x'})} {
			var want, got []ledger.DocKey
			for _, k := range keys {
				if k > after {
					want = append(want, k)
				}
			}
			for d, err := range s.Docs(ctx, ledger.DocQuery{After: after}) {
				require.NoError(t, err)
				got = append(got, d.Key)
			}
			require.Equal(t, want, got, "after %q", after)
		}
	}
	for _, q := range []ledger.DocQuery{{Prefix: "a\x00"}, {Status: "\xff"}} {
		for range s.Docs(ctx, q) {
			t.Fatal("a document that cannot be")
		}
	}
}

// Rows that a store knows to be there are made again if somebody has emptied
// the tables.
func TestEmptiedTables(t *testing.T) {
	ctx := context.Background()
	p := pool(t, pgtest.URL(t))
	s := fresh(t, p, pgx.ReadCommitted)
	l := ledger.New(s, now)
	tx := func(id string) ledger.Tx {
		return ledger.Tx{ID: id, Post: pay(id, 2).Post, Docs: []ledger.DocWrite{{Key: ledger.DocKey(id)}}, Count: []ledger.Count{{Key: "n", Delta: 1, Max: 9}}}
	}
	for _, id := range []string{"a", "b"} {
		_, err := l.Do(ctx, tx(id))
		require.NoError(t, err)
	}
	for _, table := range []string{"tx", "unsealed", "balance", "doc", "counter"} {
		_, err := p.Exec(ctx, "DELETE FROM ledger_"+table)
		require.NoError(t, err)
	}
	r, err := l.Do(ctx, tx("b"))
	require.NoError(t, err)
	require.False(t, r.Replayed)
	st := replay(t, s)
	require.Equal(t, uint64(1), st.Seq)
	require.Equal(t, int64(1), st.Counter("n"))
}
