package machinetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// books is a ledger with the players' money in it.
func (r *run[S, C, E, V]) books() *ledger.Ledger {
	books := ledger.New(ledger.NewMemory(), func() time.Time { return r.at })
	if len(r.start.Fund) > 0 {
		_, err := books.Do(r.t.Context(), ledger.Tx{ID: "fund", Post: r.start.Fund})
		require(r.t, err == nil, "the players' money: %v", err)
	}
	return books
}

// lawMoney plays over a ledger; a step that somebody has not the money for is dropped.
func (g *Game[S, C, E, V]) lawMoney(t *rapid.T) (asserted int) {
	var books *ledger.Ledger
	r, done := g.playOut(t, func(r *run[S, C, E, V], st step[S, C, E]) {
		if books == nil {
			books = r.books()
		}
		if st.err != nil {
			return
		}
		tx := st.after.Tx(r.start.Key, st.turn)
		r.checkTx(tx, st)
		_, err := books.Do(t.Context(), tx)
		if short, ok := errors.AsType[ledger.ErrFunds](err); ok && short.Key.Account != r.start.Key.Escrow() {
			r.drop()
			return
		}
		require(t, err == nil, "the ledger refuses %s by %q: %v\n%v", kinds(st.turn), st.turn.Actor, err, tx)
	})
	if books == nil || !done {
		return 0
	}
	state := audited(t, books)
	doc := state.Doc(r.start.Key)
	require(t, doc.Sealed && doc.Version == r.s.Rev(), "the game is over at rev %d, its document is %v", r.s.Rev(), doc)
	for _, b := range state.Balances {
		if strings.HasPrefix(string(b.Key.Account), string(r.start.Key.Escrow())) {
			require(t, b.Posted == 0 && b.Held == 0, "the game is over with %d %s (%d held) in %s", b.Posted, b.Key.Asset, b.Held, b.Key.Account)
		}
	}
	return 1
}

// drop takes back the newest step, as a host does whose commit failed.
func (r *run[S, C, E, V]) drop() {
	n := len(r.turns) - 1
	r.turns, r.states = r.turns[:n], r.states[:n+1]
	r.s, r.at = r.states[n], r.start.At
	if n > 0 {
		r.at = r.turns[n-1].At
	}
}

func (r *run[S, C, E, V]) checkTx(tx ledger.Tx, st step[S, C, E]) {
	t, turn := r.t, st.turn
	restored, err := r.Rules.Restore(r.start.Config, st.after.Snapshot())
	require(t, err == nil, "restore: %v", err)
	require(t, ledger.Digest(restored.Tx(r.start.Key, turn)) == ledger.Digest(tx), "a restored state writes another Tx")
	i := slices.IndexFunc(tx.Docs, func(d ledger.DocWrite) bool { return d.Key == r.start.Key })
	require(t, i >= 0, "the step does not write its document")
	d := tx.Docs[i]
	require(t, d.IfVersion == turn.Rev-1 && string(d.Body) == string(st.after.Snapshot()) && d.Seal == r.Rules.Done(st.after),
		"the document of rev %d is written as %v, done is %t", turn.Rev, d, r.Rules.Done(st.after))
	same(t, "memo", string(tx.Memo), r.turn(turn))
	for _, p := range tx.Post {
		require(t, p.From != "world" && p.To != "world", "a game makes or destroys money: %+v", p)
	}
}

// audited replays the journal and finds nothing wrong in it.
func audited(t *rapid.T, books *ledger.Ledger) ledger.State {
	entries, err := books.Journal(context.Background(), ledger.JournalQuery{})
	require(t, err == nil, "journal: %v", err)
	state, err := ledger.Replay(func(yield func(ledger.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	})
	require(t, err == nil, "replay of the journal: %v", err)
	found := ledger.Audit(state)
	require(t, len(found) == 0, "the audit finds %v", found)
	return state
}

// lawRetry: a step whose commit failed is done again.
func (g *Game[S, C, E, V]) lawRetry(t *rapid.T) (asserted int) {
	g.play(t, func(r *run[S, C, E, V], st step[S, C, E]) {
		first := r.draw.paths
		again := func(in glasshouse.Input) (S, glasshouse.Turn[E], error) {
			r.draw.paths = nil
			return st.before.Step(in, r.recode(st.cmd))
		}
		next, turn, err := again(st.in)
		same(t, "the step tried again", r.answer(next, turn, err), r.answer(st.after, st.turn, st.err))
		if st.err != nil {
			return
		}
		same(t, "paths of the host's secrets", fmt.Sprint(r.draw.paths), fmt.Sprint(first))
		require(t, ledger.Digest(next.Tx(r.start.Key, turn)) == ledger.Digest(st.after.Tx(r.start.Key, st.turn)), "the step tried again writes another Tx")
		asserted++
		late := st.in
		late.At = late.At.Add(rapid.SampledFrom([]time.Duration{time.Millisecond, 777 * time.Millisecond, time.Hour}).Draw(t, "later"))
		_, turn, err = again(late)
		if err != nil { // its clock has run out
			return
		}
		same(t, "paths of the host's secrets, later", fmt.Sprint(r.draw.paths), fmt.Sprint(first))
		if g.Draws != nil {
			same(t, "outcomes of the step, tried again later", fmt.Sprint(r.draws(turn)), fmt.Sprint(r.draws(st.turn)))
		}
	})
	return asserted
}

func (r *run[S, C, E, V]) draws(turn glasshouse.Turn[E]) []Draw {
	var out []Draw
	for _, ev := range turn.Events {
		out = append(out, r.Draws(ev)...)
	}
	return out
}

// lawPaths: in one game no draw is used twice, neither for outcomes nor for the host's secrets.
func (g *Game[S, C, E, V]) lawPaths(t *rapid.T) (asserted int) {
	var outcomes, secrets []string
	g.playOut(t, func(r *run[S, C, E, V], st step[S, C, E]) {
		if st.err != nil {
			return
		}
		for _, p := range r.draw.paths {
			require(t, !slices.Contains(secrets, p), "rev %d draws %s a second time from the host's source", st.turn.Rev, p)
			secrets = append(secrets, p)
		}
		for _, d := range r.draws(st.turn) {
			require(t, d.Path != "", "rev %d tells an outcome without its path: %q", st.turn.Rev, d.Value)
			require(t, !slices.Contains(outcomes, d.Path), "rev %d uses the path %s a second time", st.turn.Rev, d.Path)
			outcomes = append(outcomes, d.Path)
			asserted++
		}
	})
	return asserted
}

// lawRecord: what an auditor gets is made from the journal, proves itself, and cannot be altered.
func (g *Game[S, C, E, V]) lawRecord(t *rapid.T) (asserted int) {
	r, done := g.playOut(t, func(*run[S, C, E, V], step[S, C, E]) {})
	if !done {
		return 0
	}
	journal := func(yield func(glasshouse.Turn[E], error) bool) {
		for _, turn := range r.turns {
			if !yield(g.Rules.UnmarshalTurn([]byte(r.turn(turn)))) {
				return
			}
		}
	}
	record, err := g.Record(r.start.Config, journal)
	require(t, err == nil, "no record of a finished game: %v", err)
	report, err := g.Verify(record)
	require(t, err == nil && report.OK(), "an honest record does not verify: %v\n%v", err, report)
	again, err := g.Record(r.start.Config, journal)
	require(t, err == nil && string(again) == string(record), "the same game gives two records")

	forged := slices.Clone(record)
	i := rapid.IntRange(0, len(forged)-1).Draw(t, "byte")
	forged[i] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	report, err = g.Verify(forged)
	require(t, err != nil || !report.OK(), "a record with another byte %d verifies: %q for %q", i, forged[i], record[i])
	return 1
}
