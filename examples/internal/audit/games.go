package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// The findings about the games in a journal.
const (
	findingSteps   = "game_steps_match_money"
	findingRecords = "game_records_verify"
)

// games follows the battles of a journal: each of their entries must be what the game's own step writes, documents and
// postings included, and each battle that is over must have a record that verifies. A battle is kept while it goes on.
type games struct {
	open    map[ledger.DocKey]*game
	steps   int
	records int
	digest  fair.Digest // of the last record
	step    string      // the first step that does not match
	record  string      // the first record that does not verify
}

type game struct {
	cfg   battle.Config
	state *battle.State
	turns []battle.Turn
}

// watch passes the entries on and follows the games in them.
func (g *games) watch(entries iter.Seq2[ledger.Entry, error]) iter.Seq2[ledger.Entry, error] {
	g.open = make(map[ledger.DocKey]*game)
	return func(yield func(ledger.Entry, error) bool) {
		for e, err := range entries {
			if err == nil {
				g.entry(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (g *games) entry(e ledger.Entry) {
	for _, d := range e.Tx.Docs {
		if !strings.HasPrefix(string(d.Key), battle.Game+":") || strings.Contains(string(d.Key), "#") {
			continue
		}
		g.steps++
		if err := g.follow(d.Key, e); err != nil && g.step == "" {
			g.step = fmt.Sprintf("entry %d, %s: %v", e.Seq, d.Key, err)
		}
	}
}

func (g *games) follow(key ledger.DocKey, e ledger.Entry) error {
	one, ok := g.open[key]
	if !ok {
		cfg, err := configOf(key, e)
		if err != nil {
			return err
		}
		s, err := battle.New(cfg)
		switch {
		case err != nil:
			return err
		case battle.Key(cfg.ID) != key:
			return fmt.Errorf("battle %s is played under a key that is not its own", cfg.ID)
		}
		one = &game{cfg: cfg, state: s}
		g.open[key] = one
	}
	turn, err := battle.Rules().UnmarshalTurn(e.Tx.Memo)
	if err != nil {
		return err
	}
	next, err := one.state.Apply(turn)
	if err != nil {
		return err
	}
	if ledger.Digest(next.Tx(key, turn)) != e.Digest {
		return fmt.Errorf("turn %d does not write this", turn.Rev)
	}
	one.state, one.turns = next, append(one.turns, turn)
	if next.Status().Done() {
		delete(g.open, key)
		return g.over(key, one)
	}
	return nil
}

// configOf finds the config that a game's first entry writes.
func configOf(key ledger.DocKey, e ledger.Entry) (cfg battle.Config, err error) {
	for _, d := range e.Tx.Docs {
		if d.Key == glasshouse.ConfigKey(key) {
			dec := json.NewDecoder(bytes.NewReader(d.Body))
			dec.DisallowUnknownFields()
			return cfg, dec.Decode(&cfg)
		}
	}
	return cfg, fmt.Errorf("the entry that begins it is missing")
}

// over derives a battle's rolls and settlement again.
func (g *games) over(key ledger.DocKey, one *game) error {
	rec, err := battle.NewRecord(one.cfg, func(yield func(battle.Turn, error) bool) {
		for _, t := range one.turns {
			if !yield(t, nil) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	rep, err := battle.Verify(rec)
	if err != nil {
		return err
	}
	for _, f := range rep.Findings {
		if f.Name == fair.FindingRecordDigest {
			g.digest, _ = fair.ParseDigest(f.Want)
		}
		if !f.OK && g.record == "" {
			g.record = fmt.Sprintf("%s, %s: got %s, want %s", key, f.Name, f.Got, f.Want)
		}
	}
	g.records++
	return nil
}

// report adds what was found, if there was any game at all.
func (g *games) report(rep *fair.Report) {
	if g.steps == 0 {
		return
	}
	if !rep.Add(findingSteps, g.step == "", or(g.step, fmt.Sprintf("%d steps", g.steps)), "what the game's own steps write") {
		rep.Unproven("anything about the game after the step that does not match")
	}
	if g.records > 0 {
		got := fmt.Sprintf("%d records, the last with digest %s", g.records, g.digest)
		rep.Add(findingRecords, g.record == "", or(g.record, got), "every finding holds")
	}
	if n := len(g.open); n > 0 {
		rep.Unproven("anything about the %d games that are not over", n)
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
