package glasshouse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// HostConfig is what a Host needs. Rules, Money and Now are required.
type HostConfig[S Machine[S, C, E, V], C Command, E Event, V any] struct {
	Rules Rules[S, C, E, V]
	Money *ledger.Ledger
	// Secrets is the host's key ring, from which the games make their seeds. All processes over one ledger need the
	// same one.
	Secrets *fair.Keyring
	// Now is the clock.
	Now func() time.Time
	// Prefix begins the keys of this game's documents. Default: the game's name and a colon.
	Prefix string
	// SpectatorDelay is how much later than they were committed those see the states who have no seat (Rules.Seated).
	SpectatorDelay time.Duration
	// Poll is how often the Host looks for what other processes have stepped, 0 for never: it is needed where several
	// processes share a ledger.
	Poll time.Duration
	// Lag is how many messages a subscriber may fall behind before he gets one whole View in their place. Default 64.
	Lag int
	// Retry is how long the Host waits before it tries again what has failed in the background. Default 1 s.
	Retry time.Duration
	// OnError, if set, hears of what fails in the background, a panic of an engine included. The Host goes on.
	OnError func(key ledger.DocKey, err error)
}

// ErrHostClosed: the Host takes no more commands.
var ErrHostClosed = errors.New("glasshouse: host is closed")

// Host runs many games of one kind over one ledger: commands of one game one after the other, games side by side; it
// fires their clocks, and tells subscribers what they may know, after the commit and in order. Any number of Hosts in
// any number of processes may share a ledger. It is safe for concurrent use; Close it in the end.
type Host[S Machine[S, C, E, V], C Command, E Event, V any] struct {
	cfg  HostConfig[S, C, E, V]
	ctx  context.Context // of what runs in the background; ends with Close
	stop context.CancelFunc
	work sync.WaitGroup

	mu     sync.Mutex
	closed bool
	desks  map[ledger.DocKey]*desk[S, C, E, V]
}

// NewHost starts a Host. Resume takes up the games that the ledger has.
func NewHost[S Machine[S, C, E, V], C Command, E Event, V any](cfg HostConfig[S, C, E, V]) *Host[S, C, E, V] {
	if cfg.Prefix == "" {
		cfg.Prefix = cfg.Rules.Game + ":"
	}
	if cfg.Lag <= 0 {
		cfg.Lag = 64
	}
	if cfg.Retry <= 0 {
		cfg.Retry = time.Second
	}
	h := &Host[S, C, E, V]{cfg: cfg, desks: make(map[ledger.DocKey]*desk[S, C, E, V])}
	h.ctx, h.stop = context.WithCancel(context.Background())
	if cfg.Poll > 0 {
		h.work.Add(1)
		go h.poll()
	}
	return h
}

// Format prints the game's name only.
func (h *Host[S, C, E, V]) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "host of %s", h.cfg.Rules.Game)
}

// Open takes up the game at key: from the ledger if it is there, else as fresh, which the first command will store. A
// game that is over stays over.
func (h *Host[S, C, E, V]) Open(ctx context.Context, key ledger.DocKey, fresh S) error {
	_, err := h.desk(ctx, key, &fresh)
	return err
}

// Do steps the game at key; see Table.Do. The game must be in the ledger or have been opened. Subscribers hear of it
// before Do returns.
func (h *Host[S, C, E, V]) Do(ctx context.Context, key ledger.DocKey, in Input, cmd C) (Turn[E], error) {
	d, err := h.desk(ctx, key, nil)
	if err != nil {
		return Turn[E]{}, err
	}
	return d.do(ctx, in, cmd)
}

// State is the newest state of the game at key that this Host knows.
func (h *Host[S, C, E, V]) State(ctx context.Context, key ledger.DocKey) (S, error) {
	d, err := h.desk(ctx, key, nil)
	if err != nil {
		var zero S
		return zero, err
	}
	return d.table.State(), nil
}

// Resume takes up every game in the ledger that is not over, and lets its clocks run: one that ran out meanwhile fires
// now, and none begins anew.
func (h *Host[S, C, E, V]) Resume(ctx context.Context) error {
	for row, err := range h.cfg.Money.Docs(ctx, ledger.DocQuery{Prefix: ledger.DocKey(h.cfg.Prefix)}) {
		if err != nil {
			return err
		}
		if row.Doc.Sealed || !h.game(row.Key) {
			continue
		}
		if _, err := h.desk(ctx, row.Key, nil); err != nil {
			if ctx.Err() != nil || errors.Is(err, ErrHostClosed) {
				return err
			}
			h.report(row.Key, err) // one broken game does not hold up the others
		}
	}
	return nil
}

// Sweep ends the games that have been in status without a step for longer than olderThan: first what is due is stepped,
// then, if nothing was, the game is voided, the entries back. It returns how many it ended; a game that refuses to be
// voided is left alone and reported. Several processes may sweep at once.
func (h *Host[S, C, E, V]) Sweep(ctx context.Context, status string, olderThan time.Duration, reason string) (int, error) {
	ended := 0
	for row, err := range h.cfg.Money.Stuck(ctx, status, olderThan) {
		if err != nil {
			return ended, err
		}
		if !h.game(row.Key) {
			continue
		}
		d, err := h.desk(ctx, row.Key, nil)
		if err == nil {
			var over bool
			if over, err = d.sweep(ctx, row.Doc.Version, reason); over {
				ended++
			}
		}
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, ErrHostClosed) {
				return ended, err
			}
			h.report(row.Key, err)
		}
	}
	return ended, nil
}

// game reports whether a document is a game's, and not something kept beside one.
func (h *Host[S, C, E, V]) game(key ledger.DocKey) bool {
	return strings.HasPrefix(string(key), h.cfg.Prefix) && !strings.Contains(string(key), "#")
}

// Close ends the Host: no new commands are taken, those that run are finished, clocks stop, steps that were still to be
// committed are, and every subscription ends. The games go on where they are taken up again.
func (h *Host[S, C, E, V]) Close(ctx context.Context) error {
	h.mu.Lock()
	first := !h.closed
	h.closed = true
	h.mu.Unlock()
	desks := h.all()
	var errs []error
	for _, d := range desks {
		errs = append(errs, d.close(ctx))
	}
	if first {
		h.stop()
	}
	h.work.Wait()
	return errors.Join(errs...)
}

// all is every game that is taken up, by key.
func (h *Host[S, C, E, V]) all() []*desk[S, C, E, V] {
	h.mu.Lock()
	defer h.mu.Unlock()
	var desks []*desk[S, C, E, V]
	for _, d := range h.desks { //ordered: sorted below
		desks = append(desks, d)
	}
	slices.SortFunc(desks, func(a, b *desk[S, C, E, V]) int { return strings.Compare(string(a.key), string(b.key)) })
	return desks
}

// desk is the game at key, taken up if it was not.
func (h *Host[S, C, E, V]) desk(ctx context.Context, key ledger.DocKey, fresh *S) (*desk[S, C, E, V], error) {
	h.mu.Lock()
	d, closed := h.desks[key], h.closed
	h.mu.Unlock()
	if closed {
		return nil, ErrHostClosed
	}
	if d != nil {
		return d, nil
	}
	doc, err := h.cfg.Money.Doc(ctx, key)
	if err != nil {
		return nil, err
	}
	var start S
	switch {
	case fresh != nil:
		start = *fresh
	case doc.Version == 0:
		return nil, ErrNoGame
	}
	table, err := OpenTable(ctx, h.cfg.Rules, h.cfg.Money, h.cfg.Secrets, key, start)
	if err != nil {
		return nil, err
	}
	d = &desk[S, C, E, V]{host: h, key: key, table: table, turn: make(chan struct{}, 1)}
	seen := h.cfg.Now()
	if doc.Version > 0 && doc.Version == table.State().Rev() {
		seen = time.Unix(0, doc.Updated).UTC()
	}
	d.capture(table.State(), seen)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrHostClosed
	}
	if other := h.desks[key]; other != nil { // somebody was faster
		return other, nil
	}
	h.desks[key] = d
	d.mu.Lock()
	d.arm(0)
	d.mu.Unlock()
	return d, nil
}

// ErrNoGame: the ledger has no game of that key, and none was opened.
const ErrNoGame InputError = "no_such_game"

func (h *Host[S, C, E, V]) report(key ledger.DocKey, err error) {
	if h.cfg.OnError != nil && err != nil {
		h.cfg.OnError(key, err)
	}
}

// spawn runs f in the background, unless the Host is closed. A panic is reported, not spread.
func (h *Host[S, C, E, V]) spawn(key ledger.DocKey, f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.work.Add(1)
	go func() {
		defer h.work.Done()
		h.guard(key, f)
	}()
}

// guard runs f and reports its panic.
func (h *Host[S, C, E, V]) guard(key ledger.DocKey, f func()) {
	defer func() {
		if p := recover(); p != nil {
			h.report(key, fmt.Errorf("glasshouse: panic in the background: %v", p))
		}
	}()
	f()
}

// poll looks, again and again, for what other processes have stepped.
func (h *Host[S, C, E, V]) poll() {
	defer h.work.Done()
	tick := time.NewTicker(h.cfg.Poll)
	defer tick.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-tick.C:
		}
		for _, d := range h.all() {
			if !h.cfg.Rules.Done(d.table.State()) {
				h.guard(d.key, func() { h.report(d.key, d.refresh(h.ctx)) })
			}
		}
	}
}

// desk is one game of a Host.
type desk[S Machine[S, C, E, V], C Command, E Event, V any] struct {
	host  *Host[S, C, E, V]
	key   ledger.DocKey
	table *Table[S, C, E, V]
	turn  chan struct{} // full while somebody steps and publishes: order of commits is order of messages

	mu     sync.Mutex // guards what follows; nothing slow happens under it
	timer  *time.Timer
	past   []moment[S, E] // newest last; for those without a seat, as far back as the delay
	delay  *time.Timer
	subs   []*Subscription[V]
	epochs map[string]uint64
	closed bool
}

// moment is a state as it was once shown, with what had led to it.
type moment[S, E any] struct {
	state  S
	events []E
	gap    bool // there were turns before it that this Host has not seen
	at     time.Time
}

func (d *desk[S, C, E, V]) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case d.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *desk[S, C, E, V]) unlock() { <-d.turn }

func (d *desk[S, C, E, V]) do(ctx context.Context, in Input, cmd C) (Turn[E], error) {
	if err := d.lock(ctx); err != nil {
		return Turn[E]{}, err
	}
	defer d.unlock()
	if d.isClosed() {
		return Turn[E]{}, ErrHostClosed
	}
	turn, err := d.table.Do(ctx, in, cmd)
	d.host.guard(d.key, func() { d.publish(turn) })
	return turn, err
}

func (d *desk[S, C, E, V]) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// tick fires what is due.
func (d *desk[S, C, E, V]) tick(ctx context.Context) error {
	if err := d.lock(ctx); err != nil {
		return err
	}
	defer d.unlock()
	if d.isClosed() {
		return nil
	}
	err := d.table.Reload(ctx)
	if err == nil {
		var turns []Turn[E]
		turns, err = d.table.Tick(ctx, d.host.cfg.Now())
		d.publish(turns...)
	}
	wait := time.Duration(0)
	if err != nil {
		wait = d.host.cfg.Retry
	}
	d.mu.Lock()
	d.arm(wait)
	d.mu.Unlock()
	return err
}

// refresh takes over what another process has stepped.
func (d *desk[S, C, E, V]) refresh(ctx context.Context) error {
	if err := d.lock(ctx); err != nil {
		return nil // closing
	}
	defer d.unlock()
	if err := d.table.Reload(ctx); err != nil {
		return err
	}
	d.publish()
	return nil
}

// sweep ends a game that is still where it was found.
func (d *desk[S, C, E, V]) sweep(ctx context.Context, found uint64, reason string) (over bool, err error) {
	if err := d.tick(ctx); err != nil {
		return false, err
	}
	s := d.table.State()
	if s.Rev() == found && !d.host.cfg.Rules.Done(s) {
		_, err = d.do(ctx, Input{Actor: System, At: d.host.cfg.Now()}, d.host.cfg.Rules.Void(reason))
	}
	return d.host.cfg.Rules.Done(d.table.State()), err
}

func (d *desk[S, C, E, V]) close(ctx context.Context) error {
	if err := d.lock(ctx); err != nil {
		return err
	}
	defer d.unlock()
	err := d.table.Flush(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, t := range []*time.Timer{d.timer, d.delay} {
		if t != nil {
			t.Stop()
		}
	}
	for _, s := range d.subs {
		s.end(false)
	}
	d.subs = nil
	return err
}

// publish tells everybody about the state that the table has now and the turns that led to it, as far as this Host
// made them, and sets the clock.
func (d *desk[S, C, E, V]) publish(turns ...Turn[E]) {
	s := d.table.State()
	d.mu.Lock()
	defer d.mu.Unlock()
	last := d.past[len(d.past)-1]
	if s.Rev() == last.state.Rev() {
		return
	}
	m := moment[S, E]{state: s, at: d.host.cfg.Now(), gap: true}
	if n := uint64(len(turns)); n > 0 && turns[0].Rev == last.state.Rev()+1 && turns[n-1].Rev == s.Rev() {
		m.gap = false
		for _, t := range turns {
			m.events = append(m.events, t.Events...)
		}
	}
	d.past = append(d.past, m)
	for _, sub := range d.subs {
		if d.seated(s, sub.viewer) {
			d.send(sub, m)
		}
	}
	d.release()
	d.arm(0)
}

// capture makes the first moment.
func (d *desk[S, C, E, V]) capture(s S, at time.Time) {
	d.past = []moment[S, E]{{state: s, at: at, gap: true}}
}

// seated reports whether viewer sees the states at once.
func (d *desk[S, C, E, V]) seated(s S, viewer string) bool {
	if d.host.cfg.SpectatorDelay <= 0 {
		return true
	}
	return viewer != "" && d.host.cfg.Rules.Seated != nil && d.host.cfg.Rules.Seated(s, viewer)
}

// release shows the moments that are old enough to those without a seat, and forgets those that nobody will ask for.
func (d *desk[S, C, E, V]) release() {
	if d.host.cfg.SpectatorDelay <= 0 {
		d.past = slices.Delete(d.past, 0, len(d.past)-1)
		return
	}
	limit := d.host.cfg.Now().Add(-d.host.cfg.SpectatorDelay)
	due := 0
	for due < len(d.past) && !d.past[due].at.After(limit) {
		due++
	}
	for _, sub := range d.subs {
		for _, m := range d.past[:due] {
			if !d.seated(m.state, sub.viewer) && m.state.Rev() > sub.rev {
				d.send(sub, m)
			}
		}
	}
	if due > 1 {
		d.past = slices.Delete(d.past, 0, due-1)
		due = 1
	}
	if d.delay != nil {
		d.delay.Stop()
		d.delay = nil
	}
	if due < len(d.past) && !d.closed {
		wait := d.past[due].at.Sub(limit)
		d.delay = time.AfterFunc(wait, func() {
			d.host.spawn(d.key, func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.release()
			})
		})
	}
}

// arm sets the timer to the game's deadline, but not before wait.
func (d *desk[S, C, E, V]) arm(wait time.Duration) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	due := d.table.State().Deadline()
	if due.Key == "" || d.closed {
		return
	}
	wait = max(wait, due.At.Sub(d.host.cfg.Now()))
	d.timer = time.AfterFunc(wait, func() {
		d.host.spawn(d.key, func() {
			if err := d.tick(d.host.ctx); err != nil && d.host.ctx.Err() == nil {
				d.host.report(d.key, err)
			}
		})
	})
}

// Subscribe connects viewer ("" = a spectator) to the game at key. A person has one connection to a game: an older one
// gets a last message that says so, and ends. The subscription ends with Close, its own or the Host's.
func (h *Host[S, C, E, V]) Subscribe(ctx context.Context, key ledger.DocKey, viewer string) (*Subscription[V], error) {
	d, err := h.desk(ctx, key, nil)
	if err != nil {
		return nil, err
	}
	return d.subscribe(viewer)
}

func (d *desk[S, C, E, V]) subscribe(viewer string) (*Subscription[V], error) {
	s := newSubscription[V](viewer, d.host.cfg.Lag)
	s.leave = func() { d.leave(s) }
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrHostClosed
	}
	if viewer != "" {
		if d.epochs == nil {
			d.epochs = make(map[string]uint64)
		}
		d.epochs[viewer]++
		s.Epoch = d.epochs[viewer]
		if i := slices.IndexFunc(d.subs, func(o *Subscription[V]) bool { return o.viewer == viewer }); i >= 0 {
			d.subs[i].end(true)
			d.subs = slices.Delete(d.subs, i, i+1)
		} else {
			d.presence(viewer, true)
		}
	}
	if m, ok := d.visible(viewer); ok {
		m.gap = true
		d.send(s, m)
	}
	d.subs = append(d.subs, s)
	d.host.spawn(d.key, func() { s.pump(d.host.ctx) })
	return s, nil
}

// visible is the newest moment that viewer may see now.
func (d *desk[S, C, E, V]) visible(viewer string) (moment[S, E], bool) {
	now := d.past[len(d.past)-1]
	if d.seated(now.state, viewer) {
		return now, true
	}
	limit := d.host.cfg.Now().Add(-d.host.cfg.SpectatorDelay)
	for i := len(d.past) - 1; i >= 0; i-- {
		if !d.past[i].at.After(limit) {
			return d.past[i], true
		}
	}
	return moment[S, E]{}, false
}

// View is what viewer may see of the game at key now; false if he has to wait, because all there is is younger than the
// spectators' delay.
func (h *Host[S, C, E, V]) View(ctx context.Context, key ledger.DocKey, viewer string) (v V, ok bool, err error) {
	d, err := h.desk(ctx, key, nil)
	if err != nil {
		return v, false, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	m, ok := d.visible(viewer)
	if ok {
		v = m.state.View(viewer)
	}
	return v, ok, nil
}

func (d *desk[S, C, E, V]) leave(s *Subscription[V]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.subs, s); i >= 0 {
		d.subs = slices.Delete(d.subs, i, i+1)
		if s.viewer != "" {
			d.presence(s.viewer, false)
		}
	}
}

// presence tells those with a seat that one of them came or went.
func (d *desk[S, C, E, V]) presence(actor string, connected bool) {
	now := d.past[len(d.past)-1]
	if d.host.cfg.Rules.Seated == nil || !d.host.cfg.Rules.Seated(now.state, actor) {
		return
	}
	for _, s := range d.subs {
		if s.viewer != actor && s.rev == now.state.Rev() && d.host.cfg.Rules.Seated(now.state, s.viewer) {
			s.push(Message[V]{
				Rev: s.rev, ServerTime: d.host.cfg.Now().UnixMilli(), View: now.state.View(s.viewer),
				Presence: &Presence{Actor: actor, Connected: connected},
			})
		}
	}
}

// send puts a moment into a subscriber's queue, as he may see it.
func (d *desk[S, C, E, V]) send(s *Subscription[V], m moment[S, E]) {
	msg := Message[V]{
		Rev: m.state.Rev(), ServerTime: d.host.cfg.Now().UnixMilli(), View: m.state.View(s.viewer), Resync: m.gap,
	}
	for _, ev := range m.events {
		seen, ok := m.state.Observe(ev, s.viewer)
		if !ok {
			continue
		}
		b, err := d.host.cfg.Rules.Events.Marshal(seen)
		if err != nil {
			d.host.report(d.key, err)
			msg.Events, msg.Resync = nil, true
			break
		}
		msg.Events = append(msg.Events, b)
	}
	s.rev = msg.Rev
	s.push(msg)
}

// Message is what a subscriber gets: the game as he may see it after one step or several.
type Message[V any] struct {
	Rev        uint64            `json:"rev"`
	ServerTime int64             `json:"server_time"` // ms, by the Host's clock, when the message was made
	View       V                 `json:"view"`
	Events     []json.RawMessage `json:"events,omitempty"`   // since the message before, as he may know them: {"kind":…,"data":…}
	Resync     bool              `json:"resync,omitempty"`   // events are missing before this message: take the View
	Presence   *Presence         `json:"presence,omitempty"` // somebody came or went; the View is the one before
	Replaced   bool              `json:"replaced,omitempty"` // the last message: this person has connected elsewhere
}

// Presence tells that a person has a connection, or none any more.
type Presence struct {
	Actor     string `json:"actor"`
	Connected bool   `json:"connected"`
}

// Subscription is one connection of one person to one game.
type Subscription[V any] struct {
	// C gives the messages in order, the state at hand first. It is closed when the subscription ends.
	C <-chan Message[V]
	// Epoch counts the connections of this person to this game, from 1: Input.Epoch.
	Epoch uint64

	viewer string
	lag    int
	leave  func()
	rev    uint64 // of the newest message in the queue; guarded by the desk

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
	if !replaced {
		s.once.Do(func() { close(s.gone) })
		return
	}
	s.push(Message[V]{Replaced: true})
	s.mu.Lock()
	s.last = true
	s.mu.Unlock()
}

// push never waits: who is too slow gets the newest View in place of what he has missed.
func (s *Subscription[V]) push(m Message[V]) {
	s.mu.Lock()
	if !s.last {
		if len(s.queue) >= s.lag && !m.Replaced {
			m.Resync, m.Events, s.queue = true, nil, s.queue[:0]
		}
		s.queue = append(s.queue, m)
	}
	s.mu.Unlock()
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
