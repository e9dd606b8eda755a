package glasshouse

import (
	"context"
	"errors"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// Games is how many games the Host remembers.
func (h *Host[S, C, E, V]) Games() int { return len(h.all()) }

// Moments is how many states of the game at key the Host keeps for spectators.
func (h *Host[S, C, E, V]) Moments(key ledger.DocKey) int {
	d := h.desks[key]
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.past)
}

// PutAwayBetween puts the game at key away just after a command and a subscriber have found it, and returns whether each
// of them notices.
func (h *Host[S, C, E, V]) PutAwayBetween(ctx context.Context, key ledger.DocKey, in Input, cmd C) (commandDoes, subscriberDoes bool) {
	d := h.desks[key]
	_ = d.putAway()
	_, err1 := d.do(ctx, in, cmd, 0)
	_, err2 := d.subscribe("")
	return errors.Is(err1, errGone), errors.Is(err2, errGone)
}
