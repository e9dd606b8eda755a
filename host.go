package glasshouse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	// OnError, if set, hears of what fails beside the answer to a command, a panic of an engine included. The Host goes
	// on, and tries again what its clocks have to do. OnError may be called by many goroutines at once and may use the
	// Host, but must not wait for its Close.
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

	mu     sync.Mutex // held last: nothing else is locked under it
	closed bool
	desks  map[ledger.DocKey]*desk[S, C, E, V]
}

// linger is how long the Host remembers a game that is over, or that was opened and never stepped, and that nobody
// watches.
const linger = time.Minute

// errGone: the desk was given up between looking it up and using it.
var errGone = errors.New("glasshouse: the game was put away")

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
		h.work.Go(h.poll)
	}
	return h
}

// Format prints the game's name only.
func (h *Host[S, C, E, V]) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "host of %s", h.cfg.Rules.Game)
}

// Open takes up the game at key: from the ledger if it is there, else as fresh, which the first command will store. A
// game that is over stays over. One that is not stepped within a minute is forgotten. The key begins with the Prefix and
// holds no '#', else ledger.ErrInvalid.
func (h *Host[S, C, E, V]) Open(ctx context.Context, key ledger.DocKey, fresh S) error {
	_, err := h.desk(ctx, key, &fresh)
	return err
}

// Do steps the game at key; see Table.Do. The game must be in the ledger or have been opened. Subscribers hear of it
// before Do returns.
func (h *Host[S, C, E, V]) Do(ctx context.Context, key ledger.DocKey, in Input, cmd C) (turn Turn[E], err error) {
	err = h.with(ctx, key, func(d *desk[S, C, E, V]) error {
		turn, err = d.do(ctx, in, cmd, 0)
		return err
	})
	return turn, err
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
// now, and none begins anew. It may be called again, to take up the games of a process that is gone.
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
// then, if nothing was, the game is voided, the entries back. It returns how many it ended itself; a game that refuses to
// be voided is left alone and reported, one that has moved meanwhile is left alone. Several processes may sweep at once.
func (h *Host[S, C, E, V]) Sweep(ctx context.Context, status string, olderThan time.Duration, reason string) (int, error) {
	ended := 0
	for row, err := range h.cfg.Money.Stuck(ctx, status, olderThan) {
		if err != nil {
			return ended, err
		}
		if !h.game(row.Key) {
			continue
		}
		err := h.with(ctx, row.Key, func(d *desk[S, C, E, V]) error {
			over, err := d.sweep(ctx, row.Doc.Version, reason)
			if over {
				ended++
			}
			return err
		})
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
// committed are, and every subscription ends. The games go on where they are taken up again. ctx ends waiting: what was
// still running then ends by itself, and Close may be called again to wait for it.
func (h *Host[S, C, E, V]) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	var errs []error
	for _, d := range h.all() {
		errs = append(errs, d.close(ctx))
	}
	h.stop()
	done := make(chan struct{})
	go func() {
		h.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		errs = append(errs, ctx.Err())
	}
	return errors.Join(errs...)
}

// all lists the games in order of their keys.
func (h *Host[S, C, E, V]) all() []*desk[S, C, E, V] {
	h.mu.Lock()
	desks := slices.Collect(maps.Values(h.desks)) //ordered:sorted below
	h.mu.Unlock()
	slices.SortFunc(desks, func(a, b *desk[S, C, E, V]) int { return strings.Compare(string(a.key), string(b.key)) })
	return desks
}

// with calls f with the game at key, again if it was put away meanwhile.
func (h *Host[S, C, E, V]) with(ctx context.Context, key ledger.DocKey, f func(*desk[S, C, E, V]) error) error {
	for {
		d, err := h.desk(ctx, key, nil)
		if err != nil {
			return err
		}
		if err := f(d); !errors.Is(err, errGone) {
			return err
		}
	}
}

// desk is the game at key, taken up if it was not.
func (h *Host[S, C, E, V]) desk(ctx context.Context, key ledger.DocKey, fresh *S) (*desk[S, C, E, V], error) {
	h.mu.Lock()
	d, closed := h.desks[key], h.closed
	h.mu.Unlock()
	switch {
	case closed:
		return nil, ErrHostClosed
	case d != nil:
		return d, nil
	case !h.game(key): // Resume would not find it
		return nil, ledger.ErrInvalid{Field: "key", Why: "want " + h.cfg.Prefix + "… without #"}
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
	s, seen := table.State(), h.cfg.Now()
	if doc.Version > 0 && doc.Version == s.Rev() {
		seen = time.Unix(0, doc.Updated).UTC() // spectators have waited for it since then
	}
	d.seq, d.past = 1, []moment[S, E]{{n: 1, state: s, at: seen, gap: true}}
	h.mu.Lock()
	other := h.desks[key]
	if closed = h.closed; !closed && other == nil {
		h.desks[key] = d
	}
	h.mu.Unlock()
	switch {
	case closed:
		return nil, ErrHostClosed
	case other != nil: // somebody was faster
		return other, nil
	}
	d.mu.Lock()
	err = errors.Join(d.release(), d.arm(0))
	d.mu.Unlock()
	h.report(key, err)
	return d, nil
}

// ErrNoGame: the ledger has no game of that key, and none was opened.
const ErrNoGame InputError = "no_such_game"

// report tells OnError. Nothing is locked meanwhile, so that it may use the Host.
func (h *Host[S, C, E, V]) report(key ledger.DocKey, err error) {
	if h.cfg.OnError != nil && err != nil {
		_ = safely(func() error { h.cfg.OnError(key, err); return nil })
	}
}

// spawn runs f in the background and reports how it fails, unless the Host is closed.
func (h *Host[S, C, E, V]) spawn(key ledger.DocKey, f func() error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.work.Go(func() {
		if err := safely(f); h.ctx.Err() == nil {
			h.report(key, err)
		}
	})
	return true
}

// safely makes an error of a panic.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("glasshouse: panic: %v", p)
		}
	}()
	return f()
}

// poll looks, again and again, for what other processes have stepped.
func (h *Host[S, C, E, V]) poll() {
	tick := time.NewTicker(h.cfg.Poll)
	defer tick.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-tick.C:
		}
		for _, d := range h.all() {
			if err := safely(func() error { return d.refresh(h.ctx) }); h.ctx.Err() == nil {
				h.report(d.key, err)
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
	lost  int           // Table.lost, as far as it has been published; guarded by turn

	mu     sync.Mutex // locked after turn and before Host.mu; nothing slow happens under it
	timer  *time.Timer
	past   []moment[S, E] // never empty, newest last; for those without a seat, as far back as the delay
	seq    uint64         // of the newest moment
	delay  *time.Timer
	subs   []*Subscription[V]
	epoch  uint64
	closed bool // put away, or the Host is closed
}

// moment is a state as it was once shown, with what had led to it.
type moment[S, E any] struct {
	n      uint64 // counts moments: revisions can go back, see Table.lose
	state  S
	events []E
	gap    bool // there were turns before it that this Host has not seen
	held   bool // it is not committed yet
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

func (d *desk[S, C, E, V]) tryLock() bool {
	select {
	case d.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

func (d *desk[S, C, E, V]) unlock() { <-d.turn }

func (d *desk[S, C, E, V]) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// do steps and publishes; see Table.do.
func (d *desk[S, C, E, V]) do(ctx context.Context, in Input, cmd C, at uint64) (turn Turn[E], err error) {
	var failed error
	defer func() { d.host.report(d.key, failed) }() // after unlock
	if err := d.lock(ctx); err != nil {
		return Turn[E]{}, err
	}
	defer d.unlock()
	if d.isClosed() {
		return Turn[E]{}, errGone
	}
	turn, err = d.table.do(ctx, in, cmd, at)
	failed = d.publish(turn)
	return turn, err
}

// tick fires what is due and sets the clock for what comes next. ended says that this was the end of the game.
func (d *desk[S, C, E, V]) tick(ctx context.Context) (stepped, ended bool, err error) {
	var failed error
	defer func() { d.host.report(d.key, failed) }()
	if err := d.lock(ctx); err != nil {
		return false, false, err
	}
	defer d.unlock()
	if d.isClosed() {
		return false, false, errGone
	}
	now := d.host.cfg.Now()
	var turns []Turn[E]
	err = safely(func() (err error) {
		if err = d.table.Reload(ctx); err == nil {
			turns, err = d.table.Tick(ctx, now)
		}
		return err
	})
	failed = d.publish(turns...)
	wait := time.Duration(0)
	if err != nil || len(turns) == 0 {
		wait = d.host.cfg.Retry
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	failed = errors.Join(failed, d.arm(wait))
	return len(turns) > 0, len(turns) > 0 && d.host.cfg.Rules.Done(d.table.State()), err
}

// refresh takes over what another process has stepped. Whoever is stepping here just now finds out by himself.
func (d *desk[S, C, E, V]) refresh(ctx context.Context) error {
	if d.host.cfg.Rules.Done(d.table.State()) || !d.tryLock() {
		return nil
	}
	defer d.unlock()
	if err := d.table.Reload(ctx); err != nil {
		return err
	}
	return d.publish()
}

// sweep ends a game that is still where it was found.
func (d *desk[S, C, E, V]) sweep(ctx context.Context, found uint64, reason string) (ended bool, err error) {
	stepped, ended, err := d.tick(ctx)
	if stepped || err != nil {
		return ended, err
	}
	_, err = d.do(ctx, Input{Actor: System, At: d.host.cfg.Now()}, d.host.cfg.Rules.Void(reason), found)
	if errors.Is(err, errMoved) {
		return false, nil
	}
	return err == nil, err
}

// close ends the desk. What is still to be committed is, if ctx allows waiting for the command that runs.
func (d *desk[S, C, E, V]) close(ctx context.Context) error {
	err := d.lock(ctx)
	if err == nil {
		defer d.unlock()
		err = d.table.Flush(ctx)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end()
	return err
}

// end stops the clocks and leaves the subscriptions, whose channels are closed when the Host stops.
func (d *desk[S, C, E, V]) end() {
	d.closed = true
	for _, t := range []*time.Timer{d.timer, d.delay} {
		if t != nil {
			t.Stop()
		}
	}
	d.subs = nil
}

// idle reports whether there is nothing to do for the game until somebody asks for it.
func (d *desk[S, C, E, V]) idle() bool {
	s := d.table.State()
	return s.Rev() == 0 || d.host.cfg.Rules.Done(s)
}

// putAway forgets the game, if it is idle and nobody watches: a server that runs for long has seen many games.
func (d *desk[S, C, E, V]) putAway() error {
	busy := !d.tryLock()
	if !busy {
		defer d.unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if busy || len(d.subs) > 0 || !d.idle() {
		return d.arm(0)
	}
	if !d.closed {
		d.host.mu.Lock()
		delete(d.host.desks, d.key)
		d.host.mu.Unlock()
		d.end()
	}
	return nil
}

// publish tells everybody about the state that the table has now and the turns that led to it, as far as this Host
// made them, and sets the clock. An engine that panics for one subscriber does not keep the others from hearing of it.
func (d *desk[S, C, E, V]) publish(turns ...Turn[E]) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, held := d.table.State(), len(d.table.volatile) > 0
	before := d.past[len(d.past)-1].state.Rev()
	lost := d.table.lost != d.lost
	d.lost = d.table.lost
	switch {
	case lost: // what was not committed never happened, and is shown to nobody any more
		d.past = slices.DeleteFunc(d.past, func(m moment[S, E]) bool { return m.held })
	case !held:
		for i := range d.past {
			d.past[i].held = false
		}
	}
	if s.Rev() == before && !lost {
		return nil
	}
	d.seq++
	m := moment[S, E]{n: d.seq, state: s, at: d.host.cfg.Now(), gap: true, held: held}
	if n := uint64(len(turns)); !lost && n > 0 && turns[0].Rev == before+1 && turns[n-1].Rev == s.Rev() {
		m.gap = false
		for _, t := range turns {
			m.events = append(m.events, t.Events...)
		}
	}
	d.past = append(d.past, m)
	errs := []error{d.arm(0)}
	online := d.online()
	for _, sub := range d.subs {
		errs = append(errs, safely(func() error {
			if !d.seesAtOnce(s, sub.viewer) {
				return nil
			}
			return d.show(sub, m, online)
		}))
	}
	return errors.Join(append(errs, d.release())...)
}

// seesAtOnce reports whether viewer does not have to wait for the spectators' delay.
func (d *desk[S, C, E, V]) seesAtOnce(s S, viewer string) bool {
	return d.host.cfg.SpectatorDelay <= 0 || d.seated(s, viewer)
}

func (d *desk[S, C, E, V]) seated(s S, viewer string) bool {
	return viewer != "" && d.host.cfg.Rules.Seated != nil && d.host.cfg.Rules.Seated(s, viewer)
}

// online lists those with a seat who have a connection.
func (d *desk[S, C, E, V]) online() []string {
	var names []string
	_ = safely(func() error {
		s := d.past[len(d.past)-1].state
		for _, sub := range d.subs {
			if d.seated(s, sub.viewer) {
				names = append(names, sub.viewer)
			}
		}
		return nil
	})
	slices.Sort(names)
	return names
}

// limit is the time from before which those without a seat may see the game.
func (d *desk[S, C, E, V]) limit() time.Time { return d.host.cfg.Now().Add(-d.host.cfg.SpectatorDelay) }

// release shows the moments that are old enough to those without a seat, and forgets those that nobody will ask for.
func (d *desk[S, C, E, V]) release() error {
	if d.delay != nil {
		d.delay.Stop()
		d.delay = nil
	}
	due, limit := len(d.past), d.limit()
	if d.host.cfg.SpectatorDelay > 0 {
		due = 0
		for due < len(d.past) && !d.past[due].at.After(limit) {
			due++
		}
	}
	var errs []error
	online := d.online()
	for _, sub := range d.subs {
		for _, m := range d.past[:due] {
			if m.n > sub.seen {
				errs = append(errs, d.show(sub, m, online))
			}
		}
	}
	if due < len(d.past) && !d.closed {
		d.delay = time.AfterFunc(d.past[due].at.Sub(limit), func() {
			d.host.spawn(d.key, func() error {
				d.mu.Lock()
				defer d.mu.Unlock()
				return d.release()
			})
		})
	}
	d.past = slices.Delete(d.past, 0, max(0, due-1))
	return errors.Join(errs...)
}

// arm sets the timer to the game's deadline, or, if that has passed, to when wait is over, so that what fails is not
// tried in a tight loop; or to when the game is put away. An engine that panics here is asked again later.
func (d *desk[S, C, E, V]) arm(wait time.Duration) error {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if d.closed {
		return nil
	}
	var idle bool
	var due Deadline
	err := safely(func() error {
		idle, due = d.idle(), d.table.State().Deadline()
		return nil
	})
	left := due.At.Sub(d.host.cfg.Now())
	f := d.fire
	switch {
	case err != nil:
		left = d.host.cfg.Retry
	case idle:
		left, f = max(linger, d.host.cfg.SpectatorDelay), d.putAway
	case due.Key == "":
		return nil
	case left <= 0:
		left = wait
	}
	d.timer = time.AfterFunc(left, func() { d.host.spawn(d.key, f) })
	return err
}

// fire is tick, as the timer calls it.
func (d *desk[S, C, E, V]) fire() error {
	if _, _, err := d.tick(d.host.ctx); !errors.Is(err, errGone) {
		return err
	}
	return nil
}

// Subscribe connects viewer ("" = a spectator) to the game at key. A person has one connection to a game: an older one
// gets a last message that says so, and ends. The subscription ends with Close, its own or the Host's.
func (h *Host[S, C, E, V]) Subscribe(ctx context.Context, key ledger.DocKey, viewer string) (s *Subscription[V], err error) {
	err = h.with(ctx, key, func(d *desk[S, C, E, V]) error {
		s, err = d.subscribe(viewer)
		return err
	})
	return s, err
}

func (d *desk[S, C, E, V]) subscribe(viewer string) (*Subscription[V], error) {
	s := newSubscription[V](viewer, d.host.cfg.Lag)
	s.leave = func() { d.leave(s) }
	var failed error
	defer func() { d.host.report(d.key, failed) }() // after unlock
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errGone
	}
	if !d.host.spawn(d.key, func() error { s.pump(d.host.ctx); return nil }) {
		return nil, ErrHostClosed
	}
	known := false
	if viewer != "" {
		// By the clock, so that it also counts up over a restart and from one Host to another.
		d.epoch = max(d.epoch+1, uint64(max(0, d.host.cfg.Now().UnixMilli())))
		s.Epoch = d.epoch
		if i := slices.IndexFunc(d.subs, func(o *Subscription[V]) bool { return o.viewer == viewer }); i >= 0 {
			known = true
			d.subs[i].end(true)
			d.subs = slices.Delete(d.subs, i, i+1)
		}
	}
	d.subs = append(d.subs, s)
	if m, ok := d.visible(viewer); ok {
		failed = d.show(s, m, d.online())
	}
	if !known {
		failed = errors.Join(failed, d.presence(viewer))
	}
	return s, nil
}

// visible is the newest moment that viewer may see now.
func (d *desk[S, C, E, V]) visible(viewer string) (moment[S, E], bool) {
	now := d.past[len(d.past)-1]
	if d.seesAtOnce(now.state, viewer) {
		return now, true
	}
	limit := d.limit()
	for _, m := range slices.Backward(d.past) {
		if !m.at.After(limit) {
			return m, true
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
	var failed error
	defer func() { d.host.report(d.key, failed) }() // after unlock
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := slices.Index(d.subs, s); i >= 0 {
		d.subs = slices.Delete(d.subs, i, i+1)
		failed = d.presence(s.viewer)
	}
}

// presence tells the others with a seat that actor, who has one too, came or went.
func (d *desk[S, C, E, V]) presence(actor string) error {
	now := d.past[len(d.past)-1]
	var errs []error
	online := d.online()
	for _, s := range d.subs {
		errs = append(errs, safely(func() error {
			if s.viewer == actor || !d.seated(now.state, actor) || !d.seated(now.state, s.viewer) {
				return nil
			}
			return d.show(s, now, online)
		}))
	}
	return errors.Join(errs...)
}

// show puts a moment into a subscriber's queue, as he may see it; again if he has seen it, and then without events. If
// the engine panics, the next moment makes up for it.
func (d *desk[S, C, E, V]) show(s *Subscription[V], m moment[S, E], online []string) error {
	return safely(func() error {
		msg := Message[V]{Rev: m.state.Rev(), ServerTime: d.host.cfg.Now().UnixMilli(), View: m.state.View(s.viewer)}
		if slices.Contains(online, s.viewer) {
			msg.Online = slices.Clone(online)
		}
		var err error
		if m.n > s.seen {
			msg.Resync = m.gap || m.n > s.seen+1
			if !msg.Resync {
				if msg.Events, err = d.observe(m, s.viewer); err != nil {
					msg.Events, msg.Resync = nil, true
				}
			}
		}
		s.seen = m.n
		s.push(msg)
		return err
	})
}

// observe is what viewer may know of the events that led to m.
func (d *desk[S, C, E, V]) observe(m moment[S, E], viewer string) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, ev := range m.events {
		if seen, ok := m.state.Observe(ev, viewer); ok {
			b, err := d.host.cfg.Rules.Events.Marshal(seen)
			if err != nil {
				return nil, err
			}
			out = append(out, b)
		}
	}
	return out, nil
}
