package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/examples/internal/audit"
)

// goodRow is the first vector of fair/legacy, as the source stores it.
const goodRow = `{"serverSeed":"3c9c71aa9ffa2691d29fd754cb0caf8ce1fa87d57804196967de81088fab1d23",` +
	`"serverSeedHash":"b49cfec15f51b429a8c9f17d7c30abb823cdff4c44b176cb024c4adb8f33223b",` +
	`"clientSeed":"173568960000000112233445566778899aabbccddeeff","nonce":0,"roll":2784146,"isFlip":false,` +
	`"flipServerSeed":null,"flipClientSeed":null,"flipNonce":null,"flipRoll":null}`

// files writes a good file, a tampered one and one that is nothing, and returns their paths.
func files(t *testing.T) (good, bad, none string) {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	return put("good.ndjson", goodRow+"\n"), put("bad.ndjson", strings.Replace(goodRow, "2784146", "2784147", 1)+"\n"), put("none.txt", "hello\n")
}

func TestExitStatusAndStreams(t *testing.T) {
	good, bad, none := files(t)
	for _, tc := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr []string
	}{
		{"good", []string{good}, 0, []string{"ok    roll_matches: 1 of 1 rows", "not proven: ", "OK    " + good}, nil},
		{"tampered", []string{bad}, 1, []string{
			"FAIL  roll_matches: got 0 of 1 rows", "line 1: roll_matches: got 2784147, want 2784146", "FAIL  " + bad + ": roll_matches",
		}, nil},
		{"not recognised", []string{none}, 1, []string{"FAIL  " + none}, []string{"verify: " + none + ": not recognised"}},
		{"missing", []string{good + ".gone"}, 1, []string{"FAIL"}, []string{"good.ndjson.gone: no such file"}},
		{"a directory", []string{filepath.Dir(good)}, 1, []string{"FAIL"}, []string{"is a directory"}},
		{"one bad of three", []string{good, bad, good}, 1, []string{"OK    " + good, "FAIL  " + bad, "OK    " + good}, nil},
		{"help", []string{"-h"}, 0, []string{"usage: verify", "Example: go run ./examples/verify", "-json", "-q"}, nil},
		{"no file", nil, 2, nil, []string{"no file named"}},
		{"wrong flag", []string{"-x", good}, 2, nil, []string{"-x"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, tc.code, run(tc.args, &stdout, &stderr))
			rest := stdout.String()
			for _, text := range tc.stdout {
				_, after, found := strings.Cut(rest, text)
				require.True(t, found, "%q in\n%s", text, stdout.String())
				rest = after
			}
			require.Equal(t, len(tc.stdout) == 0, stdout.Len() == 0)
			for _, text := range tc.stderr {
				require.Contains(t, stderr.String(), text)
			}
			require.Equal(t, len(tc.stderr) == 0, stderr.Len() == 0)
		})
	}
}

func TestQuietPrintsOneLineAFile(t *testing.T) {
	good, bad, _ := files(t)
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, run([]string{"-q", good, bad}, &stdout, &stderr))
	require.Equal(t, "OK    "+good+": battle rounds, legacy/52, NDJSON, 4 findings hold\nFAIL  "+bad+": roll_matches\n", stdout.String())
}

func TestJSONIsAListOfReports(t *testing.T) {
	good, bad, none := files(t)
	var stdout, stderr bytes.Buffer
	require.Equal(t, 1, run([]string{"-json", good, bad, none}, &stdout, &stderr))
	var all []audit.Result
	dec := json.NewDecoder(&stdout)
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&all))
	require.Len(t, all, 3)
	require.True(t, all[0].OK && !all[1].OK && !all[2].OK)
	require.Equal(t, []audit.Fault{{Line: 1, Finding: "roll_matches", Got: "2784147", Want: "2784146"}}, all[1].Faults)
	require.Equal(t, none, all[2].File)
	require.Contains(t, all[2].Error, "not recognised")
}
