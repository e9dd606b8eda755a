// Command verify checks files that a house hands out: records of battles, journals of a ledger, and the stored rounds
// of a case-battle site that drew by scheme legacy/52. It prints what holds, what does not, and what nobody can conclude
// from the file.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/glasshouse-go/glasshouse/examples/internal/audit"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

const usage = `usage: verify [-json] [-q] FILE…

Verifies, by what is in them, not by their names:
  - records of battles (battle-….json)
  - journals of a ledger, one entry a line (….ndjson)
  - stored rounds of scheme legacy/52: a JSON array, NDJSON or CSV with a header, columns in camelCase or snake_case

Exit status: 0 if everything holds, 1 if anything does not or cannot be read, 2 for a wrong command line.

Example: go run ./examples/verify tour-records/battle-tour.json tour-records/ledger.ndjson

`

// run is main without the process.
func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("verify", flag.ContinueOnError)
	flags.SetOutput(stderr)
	asJSON := flags.Bool("json", false, "print the reports as a JSON array")
	quiet := flags.Bool("q", false, "print one line a file")
	flags.Usage = func() {} // an error says what is wrong; -h prints the rest
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(stdout, "%s", usage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return 0
	case err != nil:
		return 2
	}
	if flags.NArg() == 0 {
		fmt.Fprintf(stderr, "verify: no file named; see verify -h\n")
		return 2
	}
	code := 0
	var all []audit.Result
	for _, path := range flags.Args() {
		res := verify(path, stderr)
		if !res.OK {
			code = 1
		}
		if res.Error != "" {
			fmt.Fprintf(stderr, "verify: %s: %s\n", path, res.Error)
		}
		switch {
		case *asJSON:
			all = append(all, res)
		case *quiet:
			res.Verdict(stdout)
		default:
			res.Print(stdout)
		}
	}
	if *asJSON {
		out := json.NewEncoder(stdout)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		if err := out.Encode(all); err != nil {
			fmt.Fprintf(stderr, "verify: %v\n", err)
			return 1
		}
	}
	return code
}

// long is from how many bytes on a file is worth a progress line.
const long = 8 << 20

func verify(path string, stderr io.Writer) audit.Result {
	f, err := os.Open(path)
	if err != nil {
		if pathErr, ok := errors.AsType[*os.PathError](err); ok {
			err = pathErr.Err // the path is printed before it
		}
		return audit.Result{File: path, Error: err.Error()}
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil || info.Size() < long || !terminal(stderr) {
		return audit.Read(path, f)
	}
	bar := progressbar.NewOptions64(info.Size(), progressbar.OptionSetWriter(stderr), progressbar.OptionShowBytes(true),
		progressbar.OptionSetDescription(path), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	r := progressbar.NewReader(f, bar)
	res := audit.Read(path, &r)
	_ = bar.Finish()
	return res
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
