// Command tour plays games of glasshouse from the first deposit to the verified record, and tells what happens.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/examples/internal/audit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const usage = `usage: tour [-seed N] [-out DIR] [-cases FILE] [-payout POLICY]

Plays a private case battle of two people and two bots on a ledger in a SQLite file, settles it, writes its record and
the ledger's journal, and verifies both. Time is virtual: nothing waits. The same flags give the same bytes. A tour that
was interrupted goes on where it stopped when it is run again with the same flags.

Example: go run ./examples/tour -seed 12 -payout exact_cash -out my-records

`

// defaultSeed is a game in which a bit of everything happens.
const defaultSeed = 43

//go:embed cases.json
var builtinCases []byte

// options are the command line.
type options struct {
	seed   uint64
	out    string
	cases  string // "" = builtin
	payout battle.Payout
}

// run is main without the process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("tour", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Uint64Var(&o.seed, "seed", defaultSeed, "the house's secret and the players' seeds follow from it")
	flags.StringVar(&o.out, "out", "tour-records", "directory for records")
	flags.StringVar(&o.cases, "cases", "", "JSON file with cases and catalogue (default: five built in, as in examples/tour/cases.json)")
	flags.TextVar(&o.payout, "payout", battle.Pool, "how winners share: pool, pool_cash, exact_cash or whole_items")
	flags.Usage = func() {} // an error says what is wrong; -h prints the rest
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(stdout, "%s", usage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "tour: %q is too much; see tour -h\n", flags.Arg(0))
		return 2
	}
	switch err := tour(ctx, o, stdout); {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintf(stderr, "tour: interrupted; run it again with the same flags, and it goes on from here\n")
	default:
		fmt.Fprintf(stderr, "tour: %v\n", err)
	}
	return 1
}

// stop is one game of the tour.
type stop struct {
	title string
	play  func(*visit) error
}

var stops = []stop{
	{"A private case battle, 2v2, two people and two bots", playBattle},
}

func tour(ctx context.Context, o options, w io.Writer) (err error) {
	v, err := newVisit(ctx, o, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.store.Close()) }()
	v.printf("glasshouse tour, seed %d\n", o.seed)
	for i, s := range stops {
		v.printf("\n%d. %s\n", i+1, s.title)
		if err := s.play(v); err != nil {
			return err
		}
	}
	v.printf("\nThe books\n")
	if err := v.books(); err != nil {
		return err
	}
	return v.check()
}

// check writes what an auditor gets, reads it again as he would, and says what he finds.
func (v *visit) check() error {
	v.printf("\nWritten and verified\n")
	failed := false
	command := "go run ./examples/verify"
	for _, f := range v.files {
		path := filepath.Join(v.out, f.name)
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return err
		}
		res, err := readBack(path)
		if err != nil {
			return err
		}
		res.Print(v.w)
		failed = failed || !res.OK
		command += " " + path
	}
	if failed {
		return errors.New("a record of this tour does not hold")
	}
	v.printf("\nLedger:        %s, a SQLite file\n", v.path)
	v.printf("Verify again:  %s\n", command)
	tampered := filepath.Join(v.out, "tampered.json")
	v.printf("Tamper:        sed 's/\"roll\":/\"roll\":1/' %s > %s\n", filepath.Join(v.out, v.files[0].name), tampered)
	v.printf("               go run ./examples/verify %s\n", tampered)
	return v.err
}

func readBack(path string) (audit.Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return audit.Result{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return audit.Read(path, f), nil
}
