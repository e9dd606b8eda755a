package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck writes a module with one of each, and reads the findings.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.org/m\n\ngo 1.26.0\n")
	write("truco/a.go", `package truco

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

var now = time.Now
var roll = rand.IntN(6)

func f(m map[string]int) (n int) {
	for range m {
	}
	for _, v := range m { //ordered: a sum
		n += v
	}
	for k := range maps.Keys(m) {
		fmt.Println(k)
	}
	for range slices.Sorted(maps.Keys(m)) {
		println()
	}
	var x float64
	_ = time.Second
	return n + int(x*2)
}
`)
	write("truco/statistics.go", "package truco\n\nimport \"math/rand/v2\"\n\nvar mean = rand.Float64() / 2\n")
	write("truco/a_test.go", "package truco\n\nimport \"time\"\n\nvar _ = time.Now\n")
	write("examples/a.go", "package examples\n\nimport \"time\"\n\nvar Now = time.Now\n")
	found, err := check(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(found, "\n")
	want := strings.Join([]string{
		"truco/a.go:11: a clock: time.Now",
		"truco/a.go:12: randomness without a key: rand.IntN",
		"truco/a.go:15: a map in its own order: range over a map",
		"truco/a.go:20: a map in its own order: maps.Keys without slices.Sorted",
		"truco/a.go:21: printing: fmt.Println",
		"truco/a.go:24: printing: println",
		"truco/a.go:26: a float: float64",
		"truco/a.go:28: a float: float arithmetic",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
