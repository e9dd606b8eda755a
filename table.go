package glasshouse

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// attempts bounds how often Table.Do reloads after losing a race, and how often it repeats a commit whose reply was lost.
const attempts = 8

// Table is one game over a ledger, synchronous: Do steps it, commits what the step must write, and only then shows the
// new state. It is safe for concurrent use: commands are serial, readers never wait. Several processes may hold a Table
// of the same game; the document's version decides who was first, and the others reload and try again.
type Table[S Machine[S, C, E, V], C Command, E Event, V any] struct {
	rules Rules[S, C, E, V]
	money *ledger.Ledger
	draws fair.Source
	key   ledger.DocKey
	fresh S

	mu    sync.Mutex // one command at a time
	stale bool       // a commit is uncertain: load before the next step
	cur   atomic.Pointer[S]
}

// OpenTable takes the game at key from the ledger, or, if there is none yet, starts with fresh, which it will store
// with the first step. secrets is the host's own key ring, from which the game makes its seeds; it may be nil only if
// the game draws nothing or every Input brings its own Draw.
func OpenTable[S Machine[S, C, E, V], C Command, E Event, V any](
	ctx context.Context, rules Rules[S, C, E, V], money *ledger.Ledger, secrets *fair.Keyring, key ledger.DocKey, fresh S,
) (*Table[S, C, E, V], error) {
	t := &Table[S, C, E, V]{rules: rules, money: money, key: key, fresh: fresh}
	if secrets != nil {
		t.draws = secrets.For(string(key))
	}
	if err := t.load(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

// load takes the state from its document.
func (t *Table[S, C, E, V]) load(ctx context.Context) error {
	doc, err := t.money.Doc(ctx, t.key)
	if err != nil {
		return err
	}
	s := t.fresh
	if doc.Version > 0 {
		config, err := t.money.Doc(ctx, ConfigKey(t.key))
		if err != nil {
			return err
		}
		if s, err = t.rules.Restore(config.Body, doc.Body); err != nil {
			return fmt.Errorf("document %s: %w", t.key, err)
		}
		if s.Rev() != doc.Version {
			return &CorruptError{What: "document " + string(t.key), Err: fmt.Errorf("rev %d at version %d", s.Rev(), doc.Version)}
		}
	}
	t.cur.Store(&s)
	t.stale = false
	return nil
}

// State is the newest committed state.
func (t *Table[S, C, E, V]) State() S { return *t.cur.Load() }

// View is what viewer may see of it; "" is a spectator.
func (t *Table[S, C, E, V]) View(viewer string) V { return t.State().View(viewer) }

// Do steps the game and commits the step, money and state in one unit. A request id that was answered before gets its
// first answer again. On an error nothing has happened, with the one exception of [ledger.ErrUncertain]: then Do has
// repeated the commit and still does not know; calling it again with the same Input is safe.
func (t *Table[S, C, E, V]) Do(ctx context.Context, in Input, cmd C) (Turn[E], error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := in.Check(); err != nil {
		return Turn[E]{}, err
	}
	if in.Draw == nil {
		in.Draw = t.draws
	}
	for n := 1; ; n++ {
		turn, err := t.try(ctx, in, cmd)
		if !lostRace(err) || n == attempts {
			return turn, err
		}
		if err := t.load(ctx); err != nil {
			return Turn[E]{}, err
		}
	}
}

func (t *Table[S, C, E, V]) try(ctx context.Context, in Input, cmd C) (Turn[E], error) {
	if t.stale {
		if err := t.load(ctx); err != nil {
			return Turn[E]{}, err
		}
	}
	if in.ID != "" {
		if turn, ok, err := t.answered(ctx, in); ok || err != nil {
			return turn, err
		}
	}
	next, turn, err := t.State().Step(in, cmd)
	if err != nil {
		return Turn[E]{}, err
	}
	tx := next.Tx(t.key, turn)
	for n := 1; ; n++ {
		_, err = t.money.Do(ctx, tx)
		if _, lost := errors.AsType[ledger.ErrUncertain](err); !lost {
			break
		}
		if t.stale = true; n == attempts || ctx.Err() != nil {
			return Turn[E]{}, err
		}
	}
	if err != nil {
		return Turn[E]{}, err
	}
	t.stale = false
	t.cur.Store(&next)
	return turn, nil
}

// answered looks for the turn that the client's request id has already led to.
func (t *Table[S, C, E, V]) answered(ctx context.Context, in Input) (Turn[E], bool, error) {
	doc, err := t.money.Doc(ctx, requestKey(t.key, in.Actor, in.ID))
	if err != nil || doc.Version == 0 {
		return Turn[E]{}, false, err
	}
	turn, err := t.rules.UnmarshalTurn(doc.Body)
	return turn, err == nil, err
}

// lostRace reports whether somebody else has stepped the game since it was loaded.
func lostRace(err error) bool {
	_, conflict := errors.AsType[ledger.ErrConflict](err)
	_, sealed := errors.AsType[ledger.ErrSealed](err)
	return conflict || sealed
}

// Tick steps, as System, everything that is due at now: the expiry of the clocks that have run out. It returns the
// turns that were committed, also beside an error.
func (t *Table[S, C, E, V]) Tick(ctx context.Context, now time.Time) ([]Turn[E], error) {
	var turns []Turn[E]
	for {
		cmd, ok := t.rules.Due(t.State(), now)
		if !ok {
			return turns, nil
		}
		turn, err := t.Do(ctx, Input{Actor: System, At: now}, cmd)
		if err != nil {
			return turns, err
		}
		turns = append(turns, turn)
	}
}
