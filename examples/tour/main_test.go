package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/examples/internal/audit"
)

var long = flag.Bool("long", false, "try every byte of record and journal, not every 17th")

// play runs the tour and returns its output, and its files by name.
func play(t *testing.T, args ...string) (string, map[string][]byte) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deep", "records")
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), append([]string{"-out", dir}, args...), &stdout, &stderr)
	require.Equal(t, 0, code, stderr.String())
	require.Empty(t, stderr.String())
	files := make(map[string][]byte)
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range list {
		if filepath.Ext(f.Name()) == ".db" {
			continue // the ledger itself
		}
		files[f.Name()], err = os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
	}
	return strings.ReplaceAll(stdout.String(), dir, "DIR"), files
}

func TestTourTellsVerifiesAndWrites(t *testing.T) {
	out, files := play(t)
	require.Len(t, files, 2)
	require.Contains(t, files, "battle-tour.json")
	require.Contains(t, files, "ledger.ndjson")
	last := -1
	for _, text := range []string{
		"commitment ", "ana    opens", "bruno  joins", "bots of the house", "freeze ", "round 1 ", "round 5 ", "wins;",
		"the house     ", "server seed ", "sum                         R$ 0.00", "books sum to zero",
		"ok    roll_matches: 20 rolls", "not proven: ", "OK    DIR/battle-tour.json", "ok    hash_chain: ",
		"OK    DIR/ledger.ndjson", "go run ./examples/verify DIR/battle-tour.json DIR/ledger.ndjson", "Tamper:",
	} {
		at := strings.Index(out, text)
		require.Greater(t, at, last, "%q comes after what was before it in\n%s", text, out)
		last = at
	}
	require.NotContains(t, out, "FAIL")
}

// interrupter cancels when a text has been written, as somebody would who reads it.
type interrupter struct {
	bytes.Buffer
	text string
	stop context.CancelFunc
}

func (w *interrupter) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(w.String(), w.text) {
		w.stop()
	}
	return n, err
}

func TestInterruptedTourGoesOnToTheSameBytes(t *testing.T) {
	_, want := play(t)
	dir := t.TempDir()
	for _, text := range []string{"A private case battle", "commitment", "bruno  joins", "freeze"} {
		ctx, stop := context.WithCancel(t.Context())
		var stderr bytes.Buffer
		require.Equal(t, 1, run(ctx, []string{"-out", dir}, &interrupter{text: text, stop: stop}, &stderr), text)
		require.Contains(t, stderr.String(), "interrupted; run it again")
		require.NoFileExists(t, filepath.Join(dir, "battle-tour.json"))
	}
	for range 2 { // and what is over stays over
		var stdout, stderr bytes.Buffer
		require.Equal(t, 0, run(t.Context(), []string{"-out", dir}, &stdout, &stderr), stderr.String())
		for name, data := range want {
			got, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Equal(t, string(data), string(got), name)
		}
	}
}

func TestDefaultTourShowsTheSecondRoulette(t *testing.T) {
	out, _ := play(t)
	require.Contains(t, out, "second roulette!")
}

func TestSameSeedGivesTheSameBytesAndAnotherOneOthers(t *testing.T) {
	out, files := play(t, "-seed", "5")
	again, same := play(t, "-seed", "5")
	require.Equal(t, out, again)
	require.Equal(t, files, same)
	other, others := play(t, "-seed", "6")
	require.NotEqual(t, out, other)
	for name := range files {
		require.NotEqual(t, files[name], others[name], name)
	}
}

func TestEveryPayoutHoldsForManySeeds(t *testing.T) {
	seeds := 10
	if testing.Short() {
		seeds = 2
	}
	for _, payout := range []string{"pool", "pool_cash", "exact_cash", "whole_items"} {
		for seed := range seeds {
			play(t, "-payout", payout, "-seed", fmt.Sprint(seed))
		}
	}
}

// The expectation is worked out here from the file alone.
func TestBuiltinCasesPayBackNineTenths(t *testing.T) {
	var file struct {
		Cases []struct {
			ID, Price     string
			FlipThreshold uint64 `json:"flip_threshold"`
			Items         []struct {
				Item        struct{ Value string }
				First, Last int64
			}
		}
		Catalogue []struct{ Value string }
	}
	require.NoError(t, json.Unmarshal(builtinCases, &file))
	require.Len(t, file.Cases, 5)
	require.NotEmpty(t, file.Catalogue)
	flips := 0
	for _, c := range file.Cases {
		sum, next := new(big.Rat), int64(1)
		for _, it := range c.Items {
			require.Equal(t, next, it.First, c.ID)
			next = it.Last + 1
			value, ok := new(big.Rat).SetString(it.Item.Value)
			require.True(t, ok)
			sum.Add(sum, value.Mul(value, big.NewRat(it.Last-it.First+1, 10_000_000)))
		}
		require.EqualValues(t, 10_000_001, next, c.ID)
		price, ok := new(big.Rat).SetString(c.Price)
		require.True(t, ok)
		share, _ := sum.Quo(sum, price).Float64()
		require.InDelta(t, 0.9, share, 0.005, c.ID)
		if c.FlipThreshold > 0 {
			flips++
		}
	}
	require.GreaterOrEqual(t, flips, 2)
}

// tiny is a file of cases that makes a short journal.
const tiny = `{
  "cases": [
    {
      "id": "coin", "name": "Coin", "price": "100", "active": true,
      "items": [
        {"row": "a", "item": {"id": "heads", "name": "Heads", "value": "60"}, "first": 1, "last": 5000000},
        {"row": "b", "item": {"id": "tails", "name": "Tails", "value": "120"}, "first": 5000001, "last": 10000000}
      ]
    }
  ],
  "catalogue": [
    {"id": "cent", "name": "Cent", "value": "1"}
  ]
}
`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestOwnCasesArePlayed(t *testing.T) {
	out, _ := play(t, "-cases", write(t, tiny))
	require.Contains(t, out, "round 1  Coin, R$ 1.00")
	require.NotContains(t, out, "round 2")
}

func TestAnyChangedByteOfTheFilesIsNamed(t *testing.T) {
	_, files := play(t, "-cases", write(t, tiny))
	for name, data := range files {
		stride := 17
		switch {
		case *long:
			stride = 1
		case testing.Short():
			stride = 61
		}
		t.Run(name, func(t *testing.T) {
			require.True(t, audit.Read(name, bytes.NewReader(data)).OK)
			var all sync.WaitGroup
			defer all.Wait()
			workers := runtime.GOMAXPROCS(0)
			for w := range workers {
				all.Go(func() {
					mine := bytes.Clone(data)
					for at := w * stride; at < len(data); at += workers * stride {
						for _, c := range []byte{data[at] ^ 1, data[at] ^ 0x20, ' ', '\n'} {
							if c == data[at] {
								continue
							}
							mine[at] = c
							res := audit.Read(name, bytes.NewReader(mine))
							if res.OK || res.Error == "" && len(res.Report.Failed()) == 0 {
								t.Errorf("byte %d: %q instead of %q is not noticed", at, c, data[at])
							}
							mine[at] = data[at]
						}
					}
				})
			}
		})
		t.Run(name+" cut off", func(t *testing.T) {
			for at := 0; at < len(data); at += stride {
				if name == "ledger.ndjson" && at > 0 && data[at-1] == '\n' {
					continue // whole entries are missing: only a published head tells
				}
				require.False(t, audit.Read(name, bytes.NewReader(data[:at])).OK, "cut at %d", at)
			}
		})
		t.Run(name+" with more", func(t *testing.T) {
			for _, tail := range []string{" ", "\n", "{}", "x"} {
				require.False(t, audit.Read(name, strings.NewReader(string(data)+tail)).OK, "%q", tail)
			}
		})
	}
}

func TestWrongCasesAreNamedAndNothingIsPlayed(t *testing.T) {
	edit := func(old, new string) string {
		require.Contains(t, tiny, old)
		return strings.Replace(tiny, old, new, 1)
	}
	element := tiny[strings.Index(tiny, "    {\n      \"id\""):strings.Index(tiny, "\n  ],\n")]
	eleven := edit(element, strings.Repeat(element+",\n", 10)+element)
	for _, tc := range []struct{ name, text, line, want string }{
		{"gap", edit(`"first": 5000001`, `"first": 5000003`), "7", "cases[0].items: fair: gap: no item covers rolls 5000001 to 5000002"},
		{"overlap", edit(`"first": 5000001`, `"first": 5000000`), "7", "cases[0].items: fair: overlap"},
		{"range not to the end", edit(`"last": 10000000`, `"last": 9999999`), "7", "cases[0].items: fair: gap"},
		{"range too far", edit(`"last": 10000000`, `"last": 10000001`), "7", "cases[0].items[1].last"},
		{"no items", edit(tiny[strings.Index(tiny, "[\n        {"):strings.Index(tiny, "\n    }\n  ],")], "[]"), "5", "cases[0].items"},
		{"unknown field", edit(`"row": "b"`, `"row": "b", "colour": "red"`), "7", `unknown field "colour"`},
		{"unknown field at the top", edit(`"catalogue"`, `"catalog"`), "11", `unknown field "catalog"`},
		{"field twice", edit(`"id": "coin"`, `"id": "coin", "id": "coin"`), "4", `name "id" twice`},
		{"wrong case", edit(`"row": "b"`, `"Row": "b"`), "7", `unknown field "Row"`},
		{"no cases", `{"cases": [], "catalogue": []}`, "1", "cases: 0"},
		{"cases left out", "{\n}", "1", "cases: 0"},
		{"eleven cases", eleven, "2", "cases: 11"},
		{"not active", edit(`"active": true`, `"active": false`), "4", "cases[0].active"},
		{"amount as a number", edit(`"value": "120"`, `"value": 120`), "7", `cases[0].items[1].item.value: 120, want whole cents in quotes`},
		{"amount with a point", edit(`"price": "100"`, `"price": "1.00"`), "4", "cases[0].price: 1.00, want whole cents"},
		{"negative value", edit(`"value": "1"`, `"value": "-1"`), "12", "catalogue[0].value: -1"},
		{"text for a number", edit(`"first": 5000001`, `"first": "5000001"`), "7", "cases[0].items[1]: first: string does not fit here"},
		{"text for an item", edit(`{"id": "cent", "name": "Cent", "value": "1"}`, `"cent"`), "12", "catalogue[0]"},
		{"null", edit(`"last": 5000000`, `"last": null`), "6", "cases[0].items[0].last: must not be null"},
		{"bad id", edit(`"id": "heads"`, `"id": "he ads"`), "6", "cases[0].items[0].item.id"},
		{"missing id", edit(`"id": "heads", `, ""), "6", "cases[0].items[0].item.id"},
		{"broken", edit(`"active": true,`, `"active": true`), "5", "after object key:value pair"},
		{"cut off", tiny[:len(tiny)/2], "6", "ends too early"},
		{"trailing", tiny + "{}", "15", "follows the end"},
		{"empty", "", "1", "ends too early"},
		{"a list", "[]", "1", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := write(t, tc.text)
			dir := filepath.Join(t.TempDir(), "records")
			var stdout, stderr bytes.Buffer
			require.Equal(t, 1, run(t.Context(), []string{"-out", dir, "-cases", path}, &stdout, &stderr))
			require.Contains(t, stderr.String(), "tour: "+path+":"+tc.line+": ")
			require.Contains(t, stderr.String(), tc.want)
			require.Equal(t, 1, strings.Count(stderr.String(), "\n"))
			require.Empty(t, stdout.String())
			require.NoDirExists(t, dir)
		})
	}
}

func TestCommandLine(t *testing.T) {
	file := write(t, "no directory")
	for _, tc := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"-h", 0, "Example: go run ./examples/tour -seed 12", ""},
		{"--help", 0, "-payout", ""},
		{"-seed x", 2, "", "-seed"},
		{"-payout luck", 2, "", "-payout"},
		{"-speed 3", 2, "", "-speed"},
		{"more", 2, "", `"more"`},
		{"-cases " + file + ".not", 1, "", "own.json.not"},
		{"-out " + file, 1, "", "own.json"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, tc.code, run(t.Context(), strings.Fields(tc.args), &stdout, &stderr))
			require.Contains(t, stdout.String(), tc.stdout)
			require.Contains(t, stderr.String(), tc.stderr)
			require.Equal(t, tc.stderr == "", stderr.Len() == 0)
		})
	}
}

func TestExampleOfTheHelpWorks(t *testing.T) {
	_, line, _ := strings.Cut(usage, "Example: go run ./examples/tour ")
	line, _, _ = strings.Cut(line, "\n")
	t.Chdir(t.TempDir())
	var stdout, stderr bytes.Buffer
	require.Equal(t, 0, run(t.Context(), strings.Fields(line), &stdout, &stderr), stderr.String())
	require.FileExists(t, "my-records/battle-tour.json")
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	var stderr bytes.Buffer
	require.Equal(t, 1, run(t.Context(), []string{"-out", t.TempDir()}, brokenPipe{}, &stderr))
}
