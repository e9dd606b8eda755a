// Package pgtest gives tests a PostgreSQL.
//
// The server is the one that the environment variable PGSTORE_URL names, or
// else a temporary one that is started once per test process, with its data
// and its socket in a directory of its own, and that ends with the process,
// however that ends. It keeps its promises: fsync is on. If there is no
// PostgreSQL on the machine the test is skipped with the command that installs
// it.
package pgtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Env is the environment variable that names a server, as a URL.
const Env = "PGSTORE_URL"

// Install is the command that installs PostgreSQL on Debian and its kin.
const Install = "apt-get update -q && apt-get install -qy --no-install-recommends postgresql"

// URL names an empty schema, made for this test and dropped after it: what
// pgstore.Open takes. The test is skipped if there is no server to be had, and
// fails if there should be one that does not work.
func URL(tb testing.TB) string {
	tb.Helper()
	u, err := url.Parse(Server(tb))
	if err != nil {
		tb.Fatalf("pgtest: %s: %v", Env, err)
	}
	schema := fmt.Sprintf("test_%d_%d", os.Getpid(), schemas.Add(1))
	run := func(text string) error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c, err := pgx.Connect(ctx, u.String())
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, text)
		return errors.Join(err, c.Close(ctx))
	}
	if err := run("CREATE SCHEMA " + schema); err != nil {
		tb.Fatalf("pgtest: %v", err)
	}
	tb.Cleanup(func() {
		if err := run("DROP SCHEMA " + schema + " CASCADE"); err != nil {
			tb.Logf("pgtest: %v", err)
		}
	})
	named := *u
	q := named.Query()
	q.Set("search_path", schema)
	named.RawQuery = q.Encode()
	return named.String()
}

var (
	schemas atomic.Int64
	started = sync.OnceValues(start)
)

// errNone: there is nothing to start.
var errNone = errors.New("no PostgreSQL on this machine: install it with `" + Install + "`, or set " + Env + " to the URL of a server")

// Server is the URL of the server itself; what tests do there is not undone.
func Server(tb testing.TB) string {
	tb.Helper()
	if u := os.Getenv(Env); u != "" {
		return u
	}
	u, err := started()
	switch {
	case errors.Is(err, errNone):
		tb.Skip(err)
	case err != nil:
		tb.Fatalf("pgtest: %v", err)
	}
	return u
}

// binaries is the directory of initdb and postgres.
func binaries() (string, error) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // Debian
	// The newest first: 9.6 < 15 < 18.
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Or(cmp.Compare(version(b), version(a)), strings.Compare(b, a)) })
	dirs = append(dirs, filepath.SplitList(os.Getenv("PATH"))...)
	for _, dir := range dirs {
		if isFile(filepath.Join(dir, "initdb")) && isFile(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", errNone
}

func version(dir string) float64 {
	v, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(dir)), 64)
	return v
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.IsDir()
}

// start runs a cluster.
func start() (string, error) {
	if runtime.GOOS == "windows" {
		return "", errNone
	}
	bin, err := binaries()
	if err != nil {
		return "", err
	}
	// A socket's path may have some 100 bytes: os.TempDir can be too long.
	dir, err := os.MkdirTemp("/tmp", "pgtest")
	if err != nil {
		return "", err
	}
	if err := own(dir); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	if err := boot(bin, dir); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		return "", fmt.Errorf("%w\n%s", err, log)
	}
	return "postgres:///postgres?user=glasshouse&host=" + url.QueryEscape(dir), nil
}

// serve runs the server until its own standard input ends, which it does with
// this process: then the server is stopped and its directory removed.
const serve = `cd "$2"
"$1/initdb" -D "$2/data" -U glasshouse -A trust -E UTF8 --no-locale --no-sync >>"$2/log" 2>&1 || exit 1
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c max_connections=200 -c shared_buffers=64MB -c fsync=on >>"$2/log" 2>&1 </dev/null &
cat >/dev/null
kill -INT $!
wait $!
rm -rf "$2"`

func boot(bin, dir string) error {
	cmd := exec.Command("/bin/sh", "-c", serve, "sh", bin, dir)
	cmd.SysProcAttr = credential()
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { // it holds the pipe open as long as this process lives
		ended <- cmd.Wait()
		_ = stdin.Close()
	}()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		c, err := pgx.Connect(ctx, "postgres:///postgres?user=glasshouse&host="+url.QueryEscape(dir))
		if err == nil {
			err = c.Close(ctx)
		}
		cancel()
		if err == nil {
			return nil
		}
		select {
		case err := <-ended:
			return fmt.Errorf("the server did not start: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return errors.New("the server did not start in two minutes")
}
