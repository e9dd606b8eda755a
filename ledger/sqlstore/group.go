package sqlstore

import (
	"context"
	"errors"
	"sync"
)

// group lets callers share commits. There is no goroutine of its own: the
// caller at the head of the queue leads. He waits for the writer's
// transaction, then takes everybody who has queued up meanwhile along, and
// hands the lead to whoever came too late for that.
type group struct {
	mu    sync.Mutex
	queue []*request
	led   bool
}

// request is what one call wants to commit. turn gets false once its units
// are decided, or true when the call must lead.
type request struct {
	units []*unit
	turn  chan bool
	leads bool
}

// maxUnits bounds what one commit takes along, so that nobody waits long for
// the work of others.
const maxUnits = 512

// together commits the units in a transaction shared with others.
func (s *Store) together(ctx context.Context, units []*unit) {
	r := &request{units: units, turn: make(chan bool, 1)}
	if !s.group.join(r) {
		select {
		case lead := <-r.turn:
			if !lead {
				return
			}
		case <-ctx.Done():
			if s.group.leave(r) {
				fail(units, ctx.Err())
				return
			}
			if lead := <-r.turn; !lead { // it was being decided: that is what counts
				return
			}
		}
	}
	s.lead(ctx, r)
}

// join queues r; true means that it leads.
func (g *group) join(r *request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = append(g.queue, r)
	if g.led {
		return false
	}
	g.led, r.leads = true, true
	return true
}

// leave takes r out of the queue, unless it leads or is being decided.
func (g *group) leave(r *request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !r.leads && g.remove(r)
}

func (g *group) remove(r *request) bool {
	for i, other := range g.queue {
		if other == r {
			g.queue = append(g.queue[:i], g.queue[i+1:]...)
			return true
		}
	}
	return false
}

// take empties the queue, up to maxUnits; at least its head.
func (g *group) take() (batch []*request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, units := 0, 0
	for n < len(g.queue) && (n == 0 || units+len(g.queue[n].units) <= maxUnits) {
		units += len(g.queue[n].units)
		n++
	}
	batch = append(batch, g.queue[:n]...)
	g.queue = append(g.queue[:0], g.queue[n:]...)
	return batch
}

// pass gives the lead to the next one.
func (g *group) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.led = len(g.queue) > 0; g.led {
		g.queue[0].leads = true
		g.queue[0].turn <- true
	}
}

// errPanicked is for those whose commit was led by a caller that panicked.
var errPanicked = errors.New("sqlstore: the function given to another call panicked, nothing was written")

// lead commits what is queued. r is the head of the queue.
func (s *Store) lead(ctx context.Context, r *request) {
	defer s.group.pass()
	s.write.prepare(ctx)
	o, err := s.begin(ctx)
	if err != nil && ctx.Err() != nil {
		s.group.mu.Lock()
		s.group.remove(r)
		s.group.mu.Unlock()
		fail(r.units, ctx.Err())
		return
	}
	batch := s.group.take()
	var units []*unit
	for _, other := range batch {
		units = append(units, other.units...)
	}
	decided := false
	defer func() {
		if !decided {
			fail(units, errPanicked)
			if o != nil {
				o.end()
			}
		}
		for _, other := range batch {
			if other != r {
				other.turn <- false
			}
		}
	}()
	if err != nil {
		fail(units, s.failed(ctx, err))
	} else {
		s.commit(context.WithoutCancel(ctx), units, o)
	}
	decided = true
}
