// Package examples_test runs the programs as people do, and checks what their README says of them.
package examples_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// command runs a real command line and returns its exit status.
func command(t *testing.T, name string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		require.True(t, ok, "%v", err)
		code = exit.ExitCode()
	}
	return code, out.String(), errs.String()
}

func TestTourThenVerifyThenTamper(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := command(t, "go", "run", "./tour", "-out", dir)
	require.Equal(t, 0, code, stderr)
	require.Empty(t, stderr)
	record, journal := filepath.Join(dir, "battle-tour.json"), filepath.Join(dir, "ledger.ndjson")
	require.Contains(t, stdout, "Verify again:  go run ./examples/verify "+record+" "+journal)

	bin := filepath.Join(t.TempDir(), "verify")
	code, _, stderr = command(t, "go", "build", "-o", bin, "./verify")
	require.Equal(t, 0, code, stderr)
	code, stdout, stderr = command(t, bin, record, journal)
	require.Equal(t, 0, code, stdout)
	require.Empty(t, stderr, "no progress line where there is no terminal")
	require.Equal(t, 2, strings.Count(stdout, "\nOK    "))

	data, err := os.ReadFile(record)
	require.NoError(t, err)
	tampered := filepath.Join(dir, "tampered.json")
	require.NoError(t, os.WriteFile(tampered, bytes.Replace(data, []byte(`"roll":`), []byte(`"roll":1`), 1), 0o600))
	code, stdout, _ = command(t, bin, tampered)
	require.Equal(t, 1, code)
	for _, name := range []string{"record_digest", "roll_matches", "item_in_range"} {
		require.Contains(t, stdout, "FAIL  "+name)
	}

	data, err = os.ReadFile(journal)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(tampered, bytes.Replace(data, []byte(`"amount":"1`), []byte(`"amount":"9`), 1), 0o600))
	code, stdout, _ = command(t, bin, tampered)
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "FAIL  hash_chain: got ledger: journal corrupt at entry 1")

	code, stdout, _ = command(t, bin, "-h")
	require.Equal(t, 0, code)
	require.Contains(t, stdout, "Example: ")
}

func TestEveryProgramIsInTheReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	mains, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	require.NotEmpty(t, mains)
	for _, path := range mains {
		require.Contains(t, string(readme), "go run ./examples/"+filepath.Dir(path))
	}
}
