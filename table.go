package glasshouse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// attempts bounds how often Table.Do reloads after losing a race, and how often it repeats a commit whose reply was lost.
const attempts = 8

// maxVolatile is how many steps of Rules.Volatile are at the most committed at once.
const maxVolatile = 20

// Table is one game over a ledger, synchronous: Do steps it, commits what the step must write, and only then shows the
// new state. It is safe for concurrent use: commands are serial, readers never wait. Several processes may hold a Table
// of the same game; the document's version decides who was first, and the others reload and try again.
type Table[S Machine[S, C, E, V], C Command, E Event, V any] struct {
	rules Rules[S, C, E, V]
	money *ledger.Ledger
	draws fair.Source
	key   ledger.DocKey
	fresh S

	busy     chan struct{} // full while a command runs: a mutex whose waiters can give up
	unsure   *pending[S, C, E]
	volatile []ledger.Tx // steps that cur has and the ledger has not, see Rules.Volatile
	base     *S          // the state before them
	lost     int         // how often such steps turned out never to have happened
	cur      atomic.Pointer[S]
}

// pending is a step on its way into the ledger. Once a reply was lost it stays in Table.unsure until the ledger has
// judged it: to step on without knowing could do the same command twice.
type pending[S, C, E any] struct {
	in   Input
	cmd  C
	next S
	turn Turn[E]
	held []ledger.Tx // volatile steps before it
	tx   ledger.Tx
}

// OpenTable takes the game at key from the ledger, or, if there is none yet, starts with fresh, which it will store
// with the first step. secrets is the host's own key ring, from which the game makes its seeds; it may be nil only if
// the game draws nothing or every Input brings its own Draw. The key has at most MaxKey bytes, else ledger.ErrInvalid.
//
// The key must be the game's own (battle.Key of its id), else ledger.ErrInvalid: a second game under another key could
// be shown in place of the first. A game that is there goes on with the config it began with, whatever fresh says. To
// open only a game that is there, pass a nil fresh: if it is not, that is ErrNoGame.
func OpenTable[S Machine[S, C, E, V], C Command, E Event, V any](
	ctx context.Context, rules Rules[S, C, E, V], money *ledger.Ledger, secrets *fair.Keyring, key ledger.DocKey, fresh S,
) (*Table[S, C, E, V], error) {
	if len(key) > MaxKey {
		return nil, ledger.ErrInvalid{Field: "key", Why: fmt.Sprintf("%d bytes, want at most %d", len(key), MaxKey)}
	}
	t := &Table[S, C, E, V]{rules: rules, money: money, key: key, fresh: fresh, busy: make(chan struct{}, 1)}
	if secrets != nil {
		t.draws = secrets.For(string(key))
	}
	if err := t.load(ctx); err != nil {
		return nil, err
	}
	if rules.Key != nil && rules.Key(t.State()) != key {
		return nil, ledger.ErrInvalid{Field: "key", Why: "want " + string(rules.Key(t.State()))}
	}
	return t, nil
}

// load takes the state from its document, unless it is the one at hand.
func (t *Table[S, C, E, V]) load(ctx context.Context) error {
	doc, err := t.money.Doc(ctx, t.key)
	if err != nil {
		return err
	}
	if at := t.cur.Load(); at != nil && (*at).Rev() == doc.Version {
		return nil
	}
	s := t.fresh
	if doc.Version == 0 {
		if v := reflect.ValueOf(s); v.Kind() == reflect.Pointer && v.IsNil() {
			return ErrNoGame
		}
	} else {
		config, err := t.money.Doc(ctx, ConfigKey(t.key))
		if err != nil {
			return err
		}
		if s, err = t.restore(config, doc); err != nil {
			return &CorruptError{What: "document " + string(t.key), Err: err}
		}
	}
	t.cur.Store(&s)
	return nil
}

func (t *Table[S, C, E, V]) restore(config, doc ledger.Doc) (S, error) {
	s, err := t.rules.Restore(config.Body, doc.Body)
	if err != nil {
		return s, err
	}
	if s.Rev() != doc.Version || t.rules.Status(s) != doc.Status || t.rules.Done(s) != doc.Sealed {
		return s, fmt.Errorf("rev %d %s (done: %t) at version %d %s (sealed: %t)",
			s.Rev(), t.rules.Status(s), t.rules.Done(s), doc.Version, doc.Status, doc.Sealed)
	}
	return s, nil
}

// Format prints key and revision only: the state and the ledger hold what no log should.
func (t *Table[S, C, E, V]) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "{table %s rev:%d}", t.key, t.State().Rev())
}

// enter waits for the command before.
func (t *Table[S, C, E, V]) enter(ctx context.Context) error {
	select {
	case t.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *Table[S, C, E, V]) exit() { <-t.busy }

// Reload takes over what other processes have stepped.
func (t *Table[S, C, E, V]) Reload(ctx context.Context) error {
	if err := t.enter(ctx); err != nil {
		return err
	}
	defer t.exit()
	if t.unsure != nil || len(t.volatile) > 0 {
		return nil // the next commit will tell
	}
	return t.load(ctx)
}

// State is the newest committed state.
func (t *Table[S, C, E, V]) State() S { return *t.cur.Load() }

// View is what viewer may see of it; "" is a spectator.
func (t *Table[S, C, E, V]) View(viewer string) V { return t.State().View(viewer) }

// Do steps the game and commits the step, money and state in one unit. A request id that was answered before gets its
// first answer again.
//
// On an error nothing has happened, with the one exception of [ledger.ErrUncertain]: Do has repeated the commit and
// still does not know. The Table keeps that step and repeats it before anything else, whatever is done next; until it
// is known, other commands are refused with [ledger.ErrBusy]. Calling Do again with the same Input and command, its At
// included, gives that step's answer and never does it twice. Another Table, or this one after a restart, can tell only
// by the request id: without one, look at the state before you try again there.
func (t *Table[S, C, E, V]) Do(ctx context.Context, in Input, cmd C) (Turn[E], error) {
	return t.do(ctx, in, cmd, 0)
}

// errMoved: the game has been stepped since the one who asks has looked.
var errMoved = errors.New("glasshouse: the game has moved on")

// do is Do; if at is not 0, it steps from that revision or not at all.
func (t *Table[S, C, E, V]) do(ctx context.Context, in Input, cmd C, at uint64) (Turn[E], error) {
	if err := in.Check(); err != nil {
		return Turn[E]{}, err
	}
	if err := t.enter(ctx); err != nil {
		return Turn[E]{}, err
	}
	defer t.exit()
	if in.Draw == nil {
		in.Draw = t.draws
	}
	if turn, mine, err := t.settle(ctx, in, cmd); mine || err != nil {
		return turn, err
	}
	for n := 1; ; n++ {
		rev := t.State().Rev()
		if at != 0 && rev != at {
			return Turn[E]{}, errMoved
		}
		turn, refused, err := t.try(ctx, in, cmd)
		if err == nil || n == attempts || !refused && !lostRace(err) {
			return turn, err
		}
		if refused && len(t.volatile) > 0 {
			return turn, err // nobody else can have stepped on from what only this Table has
		}
		t.lose()
		if err := t.load(ctx); err != nil {
			return Turn[E]{}, err
		}
		if refused && t.State().Rev() == rev {
			return turn, err // by the newest state, not by one that another process has left behind
		}
	}
}

// try steps once; refused says that the error is the engine's.
func (t *Table[S, C, E, V]) try(ctx context.Context, in Input, cmd C) (turn Turn[E], refused bool, err error) {
	if in.ID != "" {
		if turn, ok, err := t.answered(ctx, in); ok || err != nil {
			if ok && turn.Rev > t.State().Rev() && len(t.volatile) == 0 { // answered elsewhere: show the state it led to
				_ = t.load(ctx)
			}
			return turn, false, err
		}
	}
	next, turn, err := t.State().Step(in, cmd)
	if err != nil {
		return Turn[E]{}, true, err
	}
	p := &pending[S, C, E]{in, cmd, next, turn, t.volatile, next.Tx(t.key, turn)}
	if t.mayWait(next, turn) {
		if len(t.volatile) == 0 {
			t.base = t.cur.Load()
		}
		t.volatile = append(t.volatile, p.tx)
		t.cur.Store(&next)
		return turn, false, nil
	}
	turn, err = t.commit(ctx, p)
	return turn, false, err
}

// mayWait reports whether a step is held back. One with a request id is not: the id counts as taken once it is in the
// ledger, and the answer is kept there.
func (t *Table[S, C, E, V]) mayWait(next S, turn Turn[E]) bool {
	v := t.rules.Volatile
	return v != nil && turn.ID == "" && len(t.volatile) < maxVolatile-1 && !t.rules.Done(next) && v(turn)
}

// lose goes back to before what was held back: another process was faster, and it never happened.
func (t *Table[S, C, E, V]) lose() {
	if len(t.volatile) > 0 {
		t.cur.Store(t.base)
		t.volatile = nil
		t.lost++
	}
}

// write commits the steps that were held back, and then tx. Steps that are there already do no harm: they are known by
// their ids. Each waits for the one before: were they sent as a batch of independent ones, then after a lost race those
// whose version happens to fit would follow on what the other process has done.
func (t *Table[S, C, E, V]) write(ctx context.Context, held []ledger.Tx, tx ledger.Tx) (replayed bool, err error) {
	for _, before := range held {
		if _, err := t.money.Do(ctx, before); err != nil {
			return false, err
		}
	}
	receipt, err := t.money.Do(ctx, tx)
	return receipt.Replayed, err
}

// Flush commits the volatile steps that are still held back, see Rules.Volatile.
func (t *Table[S, C, E, V]) Flush(ctx context.Context) error {
	if err := t.enter(ctx); err != nil {
		return err
	}
	defer t.exit()
	n := len(t.volatile)
	if n == 0 {
		return nil
	}
	_, err := t.write(ctx, t.volatile[:n-1], t.volatile[n-1])
	switch {
	case err == nil:
		t.volatile = nil
	case lostRace(err):
		t.lose()
		return t.load(ctx)
	}
	return err
}

// commit writes the step. Once a reply was lost, only the ledger's own judgement of the same Tx counts as an answer.
func (t *Table[S, C, E, V]) commit(ctx context.Context, p *pending[S, C, E]) (Turn[E], error) {
	for n := 1; ; n++ {
		replayed, err := t.write(ctx, p.held, p.tx)
		if err == nil {
			t.unsure, t.volatile = nil, nil
			t.cur.Store(&p.next)
			if replayed { // the game may be further; if this fails, the next commit will notice
				_ = t.load(ctx)
			}
			return p.turn, nil
		}
		if uncertain(err) {
			t.unsure = p
		} else if t.unsure == nil || judged(err) {
			t.unsure = nil
			return Turn[E]{}, err
		}
		if n == attempts || ctx.Err() != nil {
			return Turn[E]{}, ledger.ErrUncertain{ID: p.tx.ID, Err: err}
		}
	}
}

// settle finds out about a step whose reply was lost. mine says that it is the one that is asked for now.
func (t *Table[S, C, E, V]) settle(ctx context.Context, in Input, cmd C) (turn Turn[E], mine bool, err error) {
	p := t.unsure
	if p == nil {
		return turn, false, nil
	}
	mine = t.same(p, in, cmd)
	turn, err = t.commit(ctx, p)
	switch {
	case err == nil || mine && !lostRace(err):
		return turn, mine, err
	case uncertain(err):
		// Not wrapped: this command is not the uncertain one.
		return turn, false, ledger.ErrBusy{Err: errors.New("the step before: " + err.Error())}
	case lostRace(err):
		t.lose()
		return turn, false, t.load(ctx)
	}
	return turn, false, nil // refused for good: it is as if it had never been
}

func (t *Table[S, C, E, V]) same(p *pending[S, C, E], in Input, cmd C) bool {
	a, err1 := t.rules.Commands.Marshal(p.cmd)
	b, err2 := t.rules.Commands.Marshal(cmd)
	return err1 == nil && err2 == nil && bytes.Equal(a, b) && p.in.Actor == in.Actor && p.in.ID == in.ID && p.in.At.Equal(in.At)
}

func uncertain(err error) bool {
	_, ok := errors.AsType[ledger.ErrUncertain](err)
	return ok
}

// judged reports whether the ledger has looked at the Tx and refused it, so that it is not committed.
func judged(err error) bool {
	_, refused := errors.AsType[Refusal](err)
	_, busy := errors.AsType[ledger.ErrBusy](err)
	return refused && !busy
}

// answered looks for the turn that the client's request id has already led to.
func (t *Table[S, C, E, V]) answered(ctx context.Context, in Input) (Turn[E], bool, error) {
	doc, err := t.money.Doc(ctx, requestKey(t.key, in.Actor, in.ID))
	if err != nil || doc.Version == 0 {
		return Turn[E]{}, false, err
	}
	turn, err := t.rules.UnmarshalTurn(doc.Body)
	if err == nil && (turn.Actor != in.Actor || turn.ID != in.ID) { // it may hold what this actor must not know
		err = &CorruptError{What: "answer to a request", Err: errors.New("it is another one's")}
	}
	if err != nil {
		return Turn[E]{}, false, err
	}
	return turn, true, nil
}

// lostRace reports whether somebody else has stepped the game since it was loaded. What is uncertain is none, whatever
// its cause: to step anew could do the command twice.
func lostRace(err error) bool {
	if uncertain(err) {
		return false
	}
	_, conflict := errors.AsType[ledger.ErrConflict](err)
	_, sealed := errors.AsType[ledger.ErrSealed](err)
	return conflict || sealed
}

// Tick steps, as System, everything that is due at now: the expiry of the clocks that have run out. It returns the
// turns that it has committed, also beside an error. What another process has stepped first is no error.
//
// It judges by the state that this Table has seen last, which Do brings up to date and Tick only when something is due:
// of a clock that another process has set since, a Table knows nothing. Open the table anew to look.
func (t *Table[S, C, E, V]) Tick(ctx context.Context, now time.Time) ([]Turn[E], error) {
	var turns []Turn[E]
	for {
		before := t.State()
		cmd, ok := t.rules.Due(before, now)
		if !ok {
			return turns, nil
		}
		turn, err := t.Do(ctx, Input{Actor: System, At: now}, cmd)
		switch {
		case err == nil:
			turns = append(turns, turn)
		case t.State().Rev() == before.Rev():
			return turns, err
		}
	}
}
