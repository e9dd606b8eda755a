package glasshouse

import (
	"context"
	"encoding/json"
	"sync"
)

// Message is what a subscriber gets: the game as he may see it after one step or several.
type Message[V any] struct {
	Rev        uint64            `json:"rev"`
	ServerTime int64             `json:"server_time"` // ms, by the Host's clock, when the message was made
	View       V                 `json:"view"`
	Events     []json.RawMessage `json:"events,omitempty"`   // since the message before, as he may know them: {"kind":…,"data":…}
	Resync     bool              `json:"resync,omitempty"`   // events are missing before this message: take the View
	Online     []string          `json:"online,omitempty"`   // for those with a seat: who of them is connected now
	Replaced   bool              `json:"replaced,omitempty"` // the last message, without a View: this person has connected elsewhere
}

// Subscription is one connection of one person to one game.
type Subscription[V any] struct {
	// C gives the messages in order, the state at hand first. It is closed when the subscription ends.
	C <-chan Message[V]
	// Epoch grows with every connection to this game: Input.Epoch. A spectator has none.
	Epoch uint64

	viewer string
	lag    int
	leave  func()
	seen   uint64 // the newest moment that was shown; guarded by the desk

	out  chan Message[V]
	wake chan struct{} // holds a token while there may be something to send
	gone chan struct{} // closed when nobody reads any more
	once sync.Once

	mu    sync.Mutex
	queue []Message[V]
	last  bool // nothing follows what is in the queue
}

func newSubscription[V any](viewer string, lag int) *Subscription[V] {
	s := &Subscription[V]{
		viewer: viewer, lag: lag,
		out: make(chan Message[V]), wake: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	s.C = s.out
	return s
}

// Close ends the subscription. It may be called more than once.
func (s *Subscription[V]) Close() {
	s.leave()
	s.end(false)
}

// end lets no more messages in. A connection that is replaced is told so; otherwise what is in the queue is dropped.
func (s *Subscription[V]) end(replaced bool) {
	if replaced {
		s.push(Message[V]{Replaced: true})
	} else {
		s.once.Do(func() { close(s.gone) })
	}
}

// push never waits: who is too slow gets the newest View in place of what he has missed.
func (s *Subscription[V]) push(m Message[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last {
		return
	}
	if len(s.queue) >= s.lag && !m.Replaced {
		m.Resync, m.Events, s.queue = true, nil, nil
	}
	s.queue = append(s.queue, m)
	s.last = m.Replaced
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// pump carries the queue to the reader.
func (s *Subscription[V]) pump(ctx context.Context) {
	defer close(s.out)
	for {
		m, ok, last := s.next()
		switch {
		case ok:
			select {
			case s.out <- m:
			case <-s.gone:
				return
			case <-ctx.Done():
				return
			}
		case last:
			return
		default:
			select {
			case <-s.wake:
			case <-s.gone:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

func (s *Subscription[V]) next() (m Message[V], ok, last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return m, false, s.last
	}
	m = s.queue[0]
	s.queue = s.queue[1:]
	return m, true, s.last
}
