package sqlitestore

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// childFile names the ledger that this binary plays when it is started again
// as the process to be killed.
const childFile = "SQLITESTORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		child(path)
		return
	}
	os.Exit(m.Run())
}

const crashTxs = 48

func child(path string) {
	s, err := Open(path)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	play(nil, s, game(crashTxs), func(i int) { fmt.Println(i) })
}

// TestKilledProcess kills a process that plays, some way into commit k, for
// every k in turn. What it had reported is there; once all is sent again with
// the same ids, the ledger is what it would have been.
func TestKilledProcess(t *testing.T) {
	txs := game(crashTxs)
	calm := ledger.NewMemory()
	refused := play(t, calm, txs, func(int) {})
	require.Equal(t, 2*crashTxs/8, refused)
	want, err := calm.Journal(context.Background(), ledger.JournalQuery{})
	require.NoError(t, err)
	step := 1
	if testing.Short() {
		step = 23
	}
	for k := 1; k < crashTxs; k += step {
		path := filepath.Join(t.TempDir(), "ledger.db")
		kill(t, path, k)
		s := openAt(t, path)
		had, err := s.Journal(context.Background(), ledger.JournalQuery{})
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(had), k-refusedUpTo(k), "killed at %d: what was reported is gone", k)
		require.Equal(t, want[:len(had)], had, "killed at %d", k)
		play(t, s, txs, func(int) {})
		got, err := s.Journal(context.Background(), ledger.JournalQuery{})
		require.NoError(t, err)
		require.Equal(t, want, got, "killed at %d", k)
		require.Equal(t, replayed(t, calm), replayed(t, s))
		for i := range 5 {
			a := ledger.AccountID(fmt.Sprintf("user:%d", i))
			require.Equal(t, posted(t, calm, a), posted(t, s, a))
		}
	}
}

// refusedUpTo counts the Txs of a game before k that are refused.
func refusedUpTo(k int) (n int) {
	for i := range k {
		if i%8 == 3 || i%8 == 5 {
			n++
		}
	}
	return n
}

// kill starts a process that plays and kills it after its report of k Txs, at
// one of several points of the next.
func kill(t *testing.T, path string, k int) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childFile+"="+path)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for n := 0; n < k; n++ {
		require.True(t, lines.Scan(), "the child ended early")
		require.Equal(t, fmt.Sprint(n), lines.Text())
	}
	time.Sleep(time.Duration(k%7) * 100 * time.Microsecond)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
}

// TestTornWrites copies the files of a store in use, cuts the copy of the log
// anywhere, as a loss of power may, and opens it: a whole number of commits is
// there, in order, chained and balanced; with the log whole, all are.
func TestTornWrites(t *testing.T) {
	txs := game(crashTxs)
	s := openNew(t)
	play(t, s, txs, func(int) {})
	want, err := s.Journal(context.Background(), ledger.JournalQuery{})
	require.NoError(t, err)
	file, err := os.ReadFile(s.path)
	require.NoError(t, err)
	log, err := os.ReadFile(s.path + "-wal")
	require.NoError(t, err)
	require.Greater(t, len(log), 100_000)
	cuts, seen := 40, map[int]bool{}
	if testing.Short() {
		cuts = 6
	}
	for i := range cuts + 1 {
		size := len(log) * i / cuts
		if i < cuts {
			size += i * 97 // not at the end of a page
		}
		path := filepath.Join(t.TempDir(), "copy.db")
		require.NoError(t, os.WriteFile(path, file, 0o600))
		require.NoError(t, os.WriteFile(path+"-wal", log[:size], 0o600))
		c := openAt(t, path)
		had, err := c.Journal(context.Background(), ledger.JournalQuery{})
		require.NoError(t, err)
		require.True(t, len(had) == 0 || reflect.DeepEqual(want[:len(had)], had), "cut at %d: not the first entries", size)
		seen[len(had)] = true
		if i == cuts {
			require.Len(t, had, len(want))
		}
		st := replayed(t, c)
		for _, b := range st.Balances {
			have, err := ledger.New(c, fixed).Balance(context.Background(), b.Key.Account, b.Key.Asset)
			require.NoError(t, err)
			require.Equal(t, b, have)
		}
		play(t, c, txs, func(int) {})
		require.Equal(t, replayed(t, s), replayed(t, c))
	}
	require.Greater(t, len(seen), cuts/3, "the cuts hit different commits")
}
