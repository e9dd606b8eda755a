package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/sqlitestore"
)

// money is what everybody pays with, in cents.
const money ledger.Asset = "BRL/2"

// visit is what the stops of one tour share: a house with its books, and a clock that only this program moves.
type visit struct {
	options
	goods caseFile

	w   io.Writer
	err error // of w; the first one
	ctx context.Context
	now time.Time

	path    string // of the ledger
	store   *sqlitestore.Store
	house   *ledger.Ledger
	secrets *fair.Keyring
	files   []file
}

// file is something to be written once everything has been played.
type file struct {
	name string
	data []byte
}

func newVisit(ctx context.Context, o options, w io.Writer) (*visit, error) {
	v := &visit{options: o, w: w, ctx: ctx, now: time.Date(2026, 3, 14, 15, 0, 0, 0, time.UTC)}
	var err error
	if v.goods, err = loadCases(o.cases); err != nil {
		return nil, err
	}
	if err := v.openLedger(); err != nil {
		return nil, err
	}
	// A real house takes 32 random bytes and keeps them; this one wants the same game for the same seed.
	secret := sha256.Sum256(fmt.Appendf(nil, "glasshouse tour %d", o.seed))
	v.secrets = fair.NewKeyring(secret[:])
	return v, nil
}

// openLedger opens the file of this very tour: another seed, other cases or another payout have another. What an
// interrupted tour has committed is there; its steps are known by their ids and not done twice.
func (v *visit) openLedger() error {
	rules, err := battleConfig(v.goods, v.payout).Hash()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(v.out, 0o755); err != nil {
		return err
	}
	name := sha256.Sum256(fmt.Appendf(nil, "%d %s", v.seed, rules))
	v.path = filepath.Join(v.out, fmt.Sprintf("ledger-%x.db", name[:4]))
	v.store, err = sqlitestore.OpenConfig(v.ctx, sqlitestore.Config{Path: v.path, Now: func() time.Time { return v.now }})
	if err != nil {
		return err
	}
	v.house = ledger.New(v.store, func() time.Time { return v.now })
	return nil
}

func (v *visit) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(v.w, format, args...); v.err == nil {
		v.err = err
	}
}

// wait moves the clock.
func (v *visit) wait(d time.Duration) { v.now = v.now.Add(d) }

// words is what a person of the tour would type as a client seed.
func (v *visit) words(who string) string {
	w := v.secrets.For("client seed").At(who, 0, 0)
	list := []string{"amber", "bridge", "cider", "delta", "ember", "fjord", "gravel", "harbour", "island", "juniper", "kettle", "lantern", "meadow", "nickel", "orchid", "pepper"}
	return list[fair.Uniform(w, 16)] + " " + list[fair.Uniform(w, 16)] + " " + list[fair.Uniform(w, 16)]
}

// deposit brings money in from outside.
func (v *visit) deposit(account ledger.AccountID, cents int64) error {
	_, err := v.house.Do(v.ctx, ledger.Tx{
		ID:   "deposit/" + string(account),
		Post: []ledger.Posting{{From: "world:bank", To: account, Asset: money, Amount: cents}},
	})
	return err
}

// books prints the balances, replays the journal as an auditor would, and keeps it as a file.
func (v *visit) books() error {
	entries, err := v.house.Journal(v.ctx, ledger.JournalQuery{})
	if err != nil {
		return err
	}
	state, err := ledger.Replay(each(entries))
	if err != nil {
		return err
	}
	var sum, items int64
	for _, b := range state.Balances {
		if b.Key.Asset == money {
			v.printf("  %-22s %12s\n", b.Key.Account, reais(b.Posted))
			sum += b.Posted
		} else if strings.HasPrefix(string(b.Key.Account), "user:") {
			items += b.Posted
		}
	}
	v.printf("  %-22s %12s\n", "sum", reais(sum))
	v.printf("  besides, players hold %d items that the house minted\n", items)
	if wrong := ledger.Audit(state); wrong != nil {
		return fmt.Errorf("the books do not hold: %v", wrong)
	}
	v.printf("  audit: %d entries replayed, books sum to zero, sealed escrows are empty\n", state.Seq)
	var journal bytes.Buffer
	for _, e := range entries {
		line, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		journal.Write(append(line, '\n'))
	}
	v.files = append(v.files, file{"ledger.ndjson", journal.Bytes()})
	return nil
}

func each(entries []ledger.Entry) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		for e := range slices.Values(entries) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// reais writes cents as people do.
func reais(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%sR$ %d.%02d", sign, cents/100, cents%100)
}
