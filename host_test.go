package glasshouse_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/internal/machinetest/toy"
	"github.com/glasshouse-go/glasshouse/ledger"
)

var long = flag.Bool("long", false, "more battles in TestTwoHosts…")

// next is the message at hand, or nil if there is none now.
func next(s *counterSub) *counterMsg {
	synctest.Wait()
	select {
	case m, ok := <-s.C:
		if ok {
			return &m
		}
	default:
	}
	return nil
}

// ended reports whether the channel is closed, with nothing before it.
func ended(s *counterSub) bool {
	synctest.Wait()
	select {
	case _, ok := <-s.C:
		return !ok
	default:
		return false
	}
}

func revs(msgs []counterMsg) []uint64 {
	var out []uint64
	for _, m := range msgs {
		out = append(out, m.Rev)
	}
	return out
}

// drain is everything at hand.
func drain(s *counterSub) []counterMsg {
	var out []counterMsg
	for m := next(s); m != nil; m = next(s) {
		out = append(out, *m)
	}
	return out
}

func bubble(t *testing.T, f func(t *testing.T, w *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, newSite(t)) })
}

// Commands.

func TestHostCommandsOfOneTableAreSerialAndTablesParallel(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters()
		w.open(h, "counter:a")
		w.open(h, "counter:b")
		// Each commit takes a second: four of one game take four, and another game's do not wait for them.
		w.store.set(func(f *faulty) { f.before = func(ledger.KeySet) error { time.Sleep(time.Second); return nil } })
		began := time.Now()
		var wg sync.WaitGroup
		took := make([]time.Duration, 8)
		for i := range took {
			wg.Go(func() {
				key := ledger.DocKey("counter:" + string("ab"[i%2]))
				_, err := h.Do(t.Context(), key, glasshouse.Input{Actor: "ana", At: time.Now()}, Add{1})
				if err != nil {
					t.Error(err)
				}
				took[i] = time.Since(began)
			})
		}
		wg.Wait()
		slices.Sort(took)
		for i, d := range took {
			require.Equal(t, time.Duration(i/2+1)*time.Second, d)
		}
		s, err := h.State(t.Context(), "counter:a")
		require.NoError(t, err)
		require.EqualValues(t, 4, s.data.Sum)
	})
}

func TestHostThatLostARaceStepsAnewFromWhatTheOtherDid(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		a, b := w.counters(), w.counters()
		w.open(a, "counter:g")
		sub := w.subscribe(b, "counter:g", "ana")
		require.EqualValues(t, 1, next(sub).Rev)
		w.do(a, "counter:g", "ana", Add{1})
		require.EqualValues(t, 3, w.do(b, "counter:g", "ana", Add{2}).Rev)
		m := next(sub)
		require.EqualValues(t, 3, m.Rev)
		require.True(t, m.Resync, "the other Host's step was not heard of")
		require.EqualValues(t, 3, m.View.Sum)
	})
}

func TestHostGivesUpARaceThatDoesNotEnd(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters()
		w.open(h, "counter:g")
		sub := w.subscribe(h, "counter:g", "ana")
		next(sub)
		before := w.store.commits.Load()
		w.store.set(func(f *faulty) {
			f.before = func(ledger.KeySet) error { return ledger.ErrConflict{Doc: "counter:g", Want: 1, Have: 2} }
		})
		_, err := h.Do(t.Context(), "counter:g", glasshouse.Input{Actor: "ana", At: time.Now()}, Add{1})
		_, conflict := errors.AsType[ledger.ErrConflict](err)
		require.True(t, conflict, "%v", err)
		require.Less(t, w.store.commits.Load()-before, int64(20))
		require.Nil(t, next(sub), "nothing is published of a step whose commit failed")
	})
}

func TestHostAnswersARequestIDOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		a, b := w.counters(), w.counters()
		w.open(a, "counter:g")
		w.do(b, "counter:g", "ana", Add{1})
		in := glasshouse.Input{Actor: "ana", ID: "r1", At: time.Now()}
		first, err := a.Do(t.Context(), "counter:g", in, Add{10})
		require.NoError(t, err)
		require.NoError(t, a.Close(t.Context()))
		time.Sleep(time.Hour)
		in.At = time.Now()
		for name, h := range map[string]*counterHost{"at another Host": b, "after a restart": w.counters()} {
			again, err := h.Do(t.Context(), "counter:g", in, Add{20})
			require.NoError(t, err, name)
			require.Equal(t, first, again, name)
			s, err := h.State(t.Context(), "counter:g")
			require.NoError(t, err)
			require.EqualValues(t, 11, s.data.Sum, name)
		}
	})
}

func TestHostRefusesKeysThatResumeWouldNotFind(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters()
		for _, key := range []ledger.DocKey{"other:g", "counter:g#1"} {
			_, ok := errors.AsType[ledger.ErrInvalid](h.Open(t.Context(), key, new(counter)))
			require.True(t, ok, key)
		}
		_, err := h.Do(t.Context(), "counter:none", glasshouse.Input{Actor: "ana", At: time.Now()}, Add{1})
		require.ErrorIs(t, err, glasshouse.ErrNoGame)
		_, err = h.State(t.Context(), "counter:none")
		require.ErrorIs(t, err, glasshouse.ErrNoGame)
		_, err = h.Subscribe(t.Context(), "counter:none", "")
		require.ErrorIs(t, err, glasshouse.ErrNoGame)
		_, _, err = h.View(t.Context(), "counter:none", "")
		require.ErrorIs(t, err, glasshouse.ErrNoGame)
	})
}

// TestHostNeverStartsAFinishedGameAnew: the incident in which a finished game was made again and everybody paid twice.
func TestHostNeverStartsAFinishedGameAnew(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		fresh, err := toy.NewGame(config("g"))
		require.NoError(t, err)
		fund := ledger.Tx{ID: "fund"}
		for _, p := range []string{"ana", "bob"} {
			fund.Post = append(fund.Post, ledger.Posting{From: "world", To: ledger.AccountID("user:" + p), Asset: "BRL/2", Amount: 300})
		}
		_, err = w.money.Do(t.Context(), fund)
		require.NoError(t, err)
		newHost := func() *toyHost {
			h := glasshouse.NewHost(toyConfig{Rules: toy.Rules(), Money: w.money, Secrets: secrets(), Now: time.Now})
			t.Cleanup(func() { require.NoError(t, h.Close(context.Background())) })
			return h
		}
		play := func(h *toyHost, key ledger.DocKey, actor string, cmd toy.Command) error {
			_, err := h.Do(t.Context(), key, glasshouse.Input{Actor: actor, At: time.Now()}, cmd)
			return err
		}
		a, b := newHost(), newHost()
		for _, key := range []ledger.DocKey{"toy:g", "toy:v"} {
			require.NoError(t, a.Open(t.Context(), key, fresh))
			require.NoError(t, b.Open(t.Context(), key, fresh)) // b stays at the start
			require.NoError(t, play(a, key, glasshouse.System, toy.OpenGame{}))
			require.NoError(t, play(a, key, "ana", toy.Join{}))
		}
		require.NoError(t, play(a, "toy:g", "bob", toy.Join{}))
		require.NoError(t, play(a, "toy:g", "ana", toy.Show{}))
		require.NoError(t, play(a, "toy:g", "bob", toy.Fold{}))
		require.NoError(t, play(a, "toy:v", glasshouse.System, toy.Void{}))
		time.Sleep(time.Hour) // a has put them away
		for name, h := range map[string]*toyHost{"the Host": a, "one still at the start": b, "a new one": newHost()} {
			for key, status := range map[ledger.DocKey]toy.Status{"toy:g": toy.Finished, "toy:v": toy.Voided} {
				require.NoError(t, h.Open(t.Context(), key, fresh))
				require.ErrorIs(t, play(h, key, glasshouse.System, toy.OpenGame{}), toy.ErrNotNew, name)
				require.ErrorIs(t, play(h, key, "ana", toy.Join{}), toy.ErrNotOpen, name)
				require.ErrorIs(t, play(h, key, "bob", toy.Join{}), toy.ErrNotOpen, name)
				v, ok, err := h.View(t.Context(), key, "ana")
				require.NoError(t, err)
				require.True(t, ok)
				require.Equal(t, status, v.Status, name)
				require.NotEmpty(t, v.Payouts, name)
			}
		}
		for account, want := range map[ledger.AccountID]int64{"user:ana": 400, "user:bob": 200, "escrow:toy:g": 0, "escrow:toy:v": 0} {
			have, err := w.money.Balance(t.Context(), account, "BRL/2")
			require.NoError(t, err)
			require.Equal(t, want, have.Posted, account)
		}
	})
}

// Clocks.

func TestHostFiresEachClockAtItsTimeAndNotBefore(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters()
		var subs []*counterSub
		for i := range 3 {
			key := ledger.DocKey(fmt.Sprintf("counter:%d", i))
			w.open(h, key)
			w.do(h, key, "ana", Wind{int64(i+1) * 10_000})
			subs = append(subs, w.subscribe(h, key, "ana"))
			next(subs[i])
		}
		w.do(h, "counter:2", "ana", Wind{15_000}) // sooner than it was
		next(subs[2])
		for at := range 21 {
			for i, want := range []int{10, 20, 15} {
				m := next(subs[i])
				require.Equal(t, at == want, m != nil, "game %d at %d s", i, at)
				if m != nil {
					require.Contains(t, string(m.Events[0]), "ring")
					require.Equal(t, time.Now().UnixMilli(), m.View.At)
				}
			}
			time.Sleep(time.Second)
		}
	})
}

func TestHostGoesOnWhenTheStoreIsDown(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters(func(c *counterConfig) { c.Retry = 3 * time.Second })
		w.open(h, "counter:g")
		w.do(h, "counter:g", "ana", Wind{10_000})
		w.store.set(func(f *faulty) { f.before = func(ledger.KeySet) error { return errDown } })
		time.Sleep(15 * time.Second)
		synctest.Wait()
		errs := w.reported.take()
		require.Len(t, errs, 2, "at 10 s and at 13 s")
		require.ErrorIs(t, errs[0], errDown)
		w.store.heal()
		w.store.set(func(f *faulty) { f.reads = func() error { return errDown } })
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, w.reported.take(), 1, "at 16 s")
		w.store.heal()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 3, w.stored("counter:g"))
		require.Empty(t, w.reported.take())
	})
}

func TestHostOutlivesAPanicAnywhere(t *testing.T) {
	for _, tc := range []struct {
		where string
		fires bool // the clock does all the same; else it is tried again and again
	}{{"step", false}, {"due", false}, {"view", true}, {"observe", true}, {"deadline", true}, {"done", true}} {
		t.Run(tc.where, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *site) {
				var done atomic.Bool
				h := w.counters(func(c *counterConfig) {
					c.Rules.Done = func(s *counter) bool {
						if done.Load() && s.data.Fault == "done" {
							panic("broken done")
						}
						return counterRules().Done(s)
					}
					c.OnError = func(key ledger.DocKey, err error) {
						if _, _, err := h0(c).View(context.Background(), key, "lucky"); err != nil && !errors.Is(err, glasshouse.ErrHostClosed) {
							t.Errorf("the Host cannot be used in OnError: %v", err)
						}
						w.reported.add(key, err)
						panic("and OnError panics too")
					}
				})
				w.open(h, "counter:g")
				w.open(h, "counter:other")
				lucky, ana := w.subscribe(h, "counter:g", "lucky"), w.subscribe(h, "counter:g", "ana")
				drain(lucky)
				drain(ana)
				w.do(h, "counter:g", "ana", Wind{10_000})
				w.do(h, "counter:g", "ana", Break{tc.where})
				w.do(h, "counter:other", "ana", Wind{20_000})
				if tc.where == "done" { // one that is to be put away
					w.open(h, "counter:ended")
					w.do(h, "counter:ended", "ana", Break{"done"})
					w.do(h, "counter:ended", "ana", End{"won"})
				}
				done.Store(true)
				time.Sleep(time.Minute)
				synctest.Wait()
				done.Store(false) // all is well again
				time.Sleep(2 * time.Second)
				synctest.Wait()
				errs := w.reported.take()
				require.NotEmpty(t, errs)
				require.True(t, tc.where == "view" || tc.where == "observe" || len(errs) > 40, "only %d attempts", len(errs))
				require.EqualValues(t, 3, w.stored("counter:other"), "other games go on")
				require.Equal(t, tc.fires, w.stored("counter:g") == 4)
				if tc.where == "view" {
					require.Equal(t, []uint64{2, 3, 4}, revs(drain(lucky)), "others hear of it")
					w.do(h, "counter:g", "ana", Break{})
					msgs := drain(ana)
					require.Equal(t, []uint64{2, 5}, revs(msgs))
					require.True(t, msgs[1].Resync)
				}
			})
		})
	}
}

// h0 makes a Host of the same ledger, for OnError to use.
func h0(c *counterConfig) *counterHost {
	return glasshouse.NewHost(counterConfig{Rules: counterRules(), Money: c.Money, Now: c.Now})
}

func TestResumeArmsTheClocksWithoutRenewingThem(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters()
		for _, key := range []ledger.DocKey{"counter:late", "counter:soon", "counter:over"} {
			w.open(h, key)
		}
		w.do(h, "counter:late", "ana", Wind{60_000})
		w.do(h, "counter:soon", "ana", Wind{10_000})
		w.do(h, "counter:over", "ana", End{"won"})
		late, err := h.State(t.Context(), "counter:late")
		require.NoError(t, err)
		require.NoError(t, h.Close(t.Context()))
		time.Sleep(30 * time.Second)
		require.EqualValues(t, 2, w.stored("counter:soon"), "a closed Host fires nothing")

		again := w.counters()
		require.NoError(t, again.Resume(t.Context()))
		require.NoError(t, again.Resume(t.Context()), "twice does no harm")
		require.Equal(t, 2, again.Games(), "what is over is not taken up")
		synctest.Wait()
		require.EqualValues(t, 3, w.stored("counter:soon"), "what ran out meanwhile fires at once")
		s, err := again.State(t.Context(), "counter:late")
		require.NoError(t, err)
		require.Equal(t, late.Deadline(), s.Deadline())
		time.Sleep(30*time.Second - time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 2, w.stored("counter:late"))
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.EqualValues(t, 3, w.stored("counter:late"))
	})
}

func TestResumeGoesOnAfterABrokenGame(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters()
		w.open(h, "counter:b")
		w.do(h, "counter:b", "ana", Wind{10_000})
		require.NoError(t, h.Close(t.Context()))
		_, err := w.money.Do(t.Context(), ledger.Tx{ID: "forged", Docs: []ledger.DocWrite{{Key: "counter:a", Status: "running", Body: []byte("?")}}})
		require.NoError(t, err)
		again := w.counters()
		require.NoError(t, again.Resume(t.Context()))
		errs := w.reported.take()
		require.Len(t, errs, 1)
		_, corrupt := errors.AsType[*glasshouse.CorruptError](errs[0])
		require.True(t, corrupt)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 3, w.stored("counter:b"))
	})
}

// TestPollFindsTheClockThatAnotherProcessHasSet: and takes it down again.
func TestPollFindsTheClockThatAnotherProcessHasSet(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		b := w.counters(func(c *counterConfig) { c.Poll = time.Second })
		a := w.counters()
		w.open(a, "counter:g")
		sub := w.subscribe(b, "counter:g", "ana")
		next(sub)
		time.Sleep(100 * time.Millisecond)
		w.do(a, "counter:g", "ana", Wind{10_000})
		require.NoError(t, a.Close(t.Context()))
		require.Nil(t, next(sub))
		time.Sleep(time.Second)
		m := next(sub)
		require.EqualValues(t, 2, m.Rev)
		require.True(t, m.Resync)
		time.Sleep(10 * time.Second)
		require.EqualValues(t, 3, next(sub).Rev)
		require.EqualValues(t, 3, w.stored("counter:g"))
	})
}

// TestHostForgetsGamesThatAreOver: a server that runs for long must not keep all it has seen.
func TestHostForgetsGamesThatAreOver(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters()
		w.open(h, "counter:over")
		w.open(h, "counter:watched")
		w.open(h, "counter:running")
		sub := w.subscribe(h, "counter:watched", "ana")
		w.do(h, "counter:over", "ana", End{"won"})
		w.do(h, "counter:watched", "ana", End{"won"})
		require.NoError(t, h.Open(t.Context(), "counter:unused", new(counter)))
		require.Equal(t, 4, h.Games())
		time.Sleep(61 * time.Second)
		synctest.Wait()
		require.Equal(t, 2, h.Games())
		require.Len(t, drain(sub), 2)
		v, ok, err := h.View(t.Context(), "counter:over", "ana")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, "won", v.Over, "it is in the ledger")
		_, err = h.State(t.Context(), "counter:unused")
		require.ErrorIs(t, err, glasshouse.ErrNoGame)
		sub.Close()
		time.Sleep(121 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, h.Games())

		require.NoError(t, h.Open(t.Context(), "counter:unused", new(counter)))
		in := glasshouse.Input{Actor: "ana", At: time.Now()}
		one, two := h.PutAwayBetween(t.Context(), "counter:unused", in, Add{1})
		require.True(t, one && two)
		require.Zero(t, w.stored("counter:unused"))
	})
}

func TestHostForgetsStatesThatSpectatorsHaveSeen(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		for _, delay := range []time.Duration{0, 3 * time.Second} {
			h := w.counters(spectatorsWait(delay))
			key := ledger.DocKey("counter:" + delay.String())
			w.open(h, key)
			for range 50 {
				w.do(h, key, "ana", Add{1})
				time.Sleep(time.Second)
			}
			require.LessOrEqual(t, h.Moments(key), int(delay/time.Second)+1)
		}
	})
}

// Publishing.

func TestSubscribersSeeEveryRevisionInOrderAsItsView(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters(func(c *counterConfig) { c.Lag = 1000 })
		w.open(h, "counter:g")
		subs := []*counterSub{w.subscribe(h, "counter:g", "ana"), w.subscribe(h, "counter:g", ""), w.subscribe(h, "counter:g", "eve")}
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				for range 10 {
					if _, err := h.Do(t.Context(), "counter:g", glasshouse.Input{Actor: "ana", At: time.Now()}, Add{int64(i)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		want := replayed(t, w, "counter:g")
		for i, viewer := range []string{"ana", "", "eve"} {
			msgs := drain(subs[i])
			require.Len(t, msgs, 101)
			for n, m := range msgs {
				require.EqualValues(t, n+1, m.Rev)
				require.Equal(t, want[m.Rev].View(viewer), m.View)
				require.Equal(t, n == 0, m.Resync)
				require.Len(t, m.Events, min(n, 1))
			}
		}
	})
}

// replayed is the state at each revision, from the journal.
func replayed(t *testing.T, w *site, key ledger.DocKey) map[uint64]*counter {
	t.Helper()
	entries, err := w.money.Journal(t.Context(), ledger.JournalQuery{Doc: key})
	require.NoError(t, err)
	s, out := new(counter), map[uint64]*counter{0: new(counter)}
	for _, e := range entries {
		turn, err := counterRules().UnmarshalTurn(e.Tx.Memo)
		require.NoError(t, err)
		s, err = s.Apply(turn)
		require.NoError(t, err)
		out[turn.Rev] = s
	}
	return out
}

// TestNothingIsPublishedBeforeItsCommit: not even while the commit hangs.
func TestNothingIsPublishedBeforeItsCommit(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters()
		w.open(h, "counter:g")
		sub := w.subscribe(h, "counter:g", "ana")
		next(sub)
		w.store.set(func(f *faulty) { f.before = func(ledger.KeySet) error { time.Sleep(time.Minute); return nil } })
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = h.Do(context.Background(), "counter:g", glasshouse.Input{Actor: "ana", At: time.Now()}, Add{1})
		}()
		time.Sleep(59 * time.Second)
		require.Nil(t, next(sub))
		v, _, err := h.View(t.Context(), "counter:g", "ana")
		require.NoError(t, err)
		require.EqualValues(t, 1, v.Rev)
		<-done
		require.EqualValues(t, 2, next(sub).Rev)
		w.store.set(func(f *faulty) { f.before = func(ledger.KeySet) error { return errDown } })
		_, err = h.Do(t.Context(), "counter:g", glasshouse.Input{Actor: "ana", At: time.Now()}, Add{1})
		require.ErrorIs(t, err, errDown)
		w.store.set(func(f *faulty) {
			f.before, f.after = nil, func(ledger.KeySet) error { return errLost }
		})
		_, err = h.Do(t.Context(), "counter:g", glasshouse.Input{Actor: "ana", At: time.Now()}, Add{1})
		requireUncertain(t, err)
		require.Nil(t, next(sub))
		w.store.heal()
		w.do(h, "counter:g", "ana", Add{5})
		m := next(sub)
		require.EqualValues(t, 4, m.Rev)
		require.EqualValues(t, 7, m.View.Sum)
		require.True(t, m.Resync, "the step that was uncertain is part of it")
	})
}

func TestSlowSubscriberIsToldToResyncAndHoldsUpNobody(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters(func(c *counterConfig) { c.Lag = 5 })
		w.open(h, "counter:g")
		slow, quick := w.subscribe(h, "counter:g", "ana"), w.subscribe(h, "counter:g", "bob")
		var seen []counterMsg
		for range 100 {
			w.do(h, "counter:g", "ana", Add{1})
			seen = append(seen, drain(quick)...)
		}
		require.Len(t, seen, 101)
		late := drain(slow)
		require.LessOrEqual(t, len(late), 7)
		last := late[len(late)-1]
		require.EqualValues(t, 101, last.Rev)
		require.Equal(t, counterView{Rev: 101, At: last.View.At, Sum: 100, Viewer: "ana"}, last.View)
		for i := 1; i < len(late); i++ { // nothing is missing without a word
			require.True(t, late[i].Resync || late[i].Rev == late[i-1].Rev+1)
		}
		w.do(h, "counter:g", "ana", Add{1})
		after := drain(slow)
		require.Len(t, after, 1)
		require.False(t, after[0].Resync)
	})
}

func TestReplacedConnectionIsToldSoAndEnds(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters(func(c *counterConfig) { c.Lag = 1 })
		w.open(h, "counter:g")
		first := w.subscribe(h, "counter:g", "ana")
		w.do(h, "counter:g", "ana", Add{1})
		w.do(h, "counter:g", "ana", Add{1}) // the queue is full
		second := w.subscribe(h, "counter:g", "ana")
		require.Greater(t, second.Epoch, first.Epoch)
		w.do(h, "counter:g", "ana", Add{1})
		msgs := drain(first)
		require.Equal(t, counterMsg{Replaced: true}, msgs[len(msgs)-1])
		for _, m := range msgs[:len(msgs)-1] {
			require.False(t, m.Replaced)
			require.Less(t, m.Rev, uint64(4))
		}
		require.True(t, ended(first))
		first.Close() // does no harm to the second
		w.do(h, "counter:g", "ana", Add{1})
		require.EqualValues(t, 5, drain(second)[1].Rev)

		third := w.subscribe(h, "counter:g", "bob")
		require.Greater(t, third.Epoch, second.Epoch)
		require.NoError(t, h.Close(t.Context()))
		again := w.subscribe(w.counters(), "counter:g", "ana")
		time.Sleep(time.Millisecond)
		restarted := w.subscribe(w.counters(), "counter:g", "ana")
		require.Greater(t, restarted.Epoch, again.Epoch, "over a restart too")
		require.Zero(t, w.subscribe(w.counters(), "counter:g", "").Epoch)
	})
}

// TestReplacedConnectionEndsHoweverItsReaderRuns is for lost wake-ups: the last message and the end come together.
func TestReplacedConnectionEndsHoweverItsReaderRuns(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters()
		w.open(h, "counter:g")
		for range 300 {
			s := w.subscribe(h, "counter:g", "ana")
			done := make(chan bool)
			go func() {
				last := false
				for m := range s.C {
					last = m.Replaced
				}
				done <- last
			}()
			w.subscribe(h, "counter:g", "ana")
			require.True(t, <-done)
		}
	})
}

func TestThoseWithASeatSeeWhoIsConnected(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters(spectatorsWait(3 * time.Second))
		w.open(h, "counter:g")
		w.do(h, "counter:g", "bob", Sit{})
		time.Sleep(3 * time.Second)
		ana, eve, spectator := w.subscribe(h, "counter:g", "ana"), w.subscribe(h, "counter:g", "eve"), w.subscribe(h, "counter:g", "")
		require.Equal(t, []string{"ana"}, next(ana).Online)
		bob := w.subscribe(h, "counter:g", "bob")
		require.Equal(t, []string{"ana", "bob"}, next(bob).Online, "he who comes learns who is there")
		m := next(ana)
		require.Equal(t, []string{"ana", "bob"}, m.Online)
		require.EqualValues(t, 2, m.Rev, "the View is the one before")
		require.False(t, m.Resync)
		require.Empty(t, m.Events)

		w.subscribe(h, "counter:g", "bob")
		require.Nil(t, next(ana), "a second connection of the same person is no news")
		bob.Close()
		require.Nil(t, next(ana), "nor is the end of the first")
		bob = w.subscribe(h, "counter:g", "bob")
		bob.Close()
		bob.Close()
		require.Equal(t, []string{"ana"}, next(ana).Online)
		require.Nil(t, next(ana))

		w.do(h, "counter:g", "eve", Sit{}) // she takes a seat while connected
		require.Equal(t, []string{"ana", "eve"}, next(ana).Online)
		require.Len(t, drain(eve), 2)
		time.Sleep(3 * time.Second)
		for _, m := range drain(spectator) {
			require.Empty(t, m.Online)
		}
		spectator.Close()
		require.Nil(t, next(ana))
	})
}

func TestMessageAsJSON(t *testing.T) {
	b, err := json.Marshal(counterMsg{
		Rev: 7, ServerTime: 1_777_636_800_000, View: counterView{Rev: 7, Sum: 3}, Resync: true, Online: []string{"ana"},
		Events: []json.RawMessage{[]byte(`{"kind":"happened","data":{}}`)},
	})
	require.NoError(t, err)
	require.JSONEq(t, `{"rev":7,"server_time":1777636800000,"view":{"rev":7,"at":0,"sum":3},
		"events":[{"kind":"happened","data":{}}],"resync":true,"online":["ana"]}`, string(b))
	b, err = json.Marshal(counterMsg{Rev: 1})
	require.NoError(t, err)
	require.JSONEq(t, `{"rev":1,"server_time":0,"view":{"rev":0,"at":0,"sum":0}}`, string(b))
}

// TestSubscriptionsAreSafeForConcurrentUse is for the race detector.
func TestSubscriptionsAreSafeForConcurrentUse(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters(spectatorsWait(time.Millisecond), func(c *counterConfig) { c.Lag, c.Poll = 2, time.Millisecond })
		other := w.counters()
		w.open(h, "counter:g")
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := range 30 {
					s, err := h.Subscribe(t.Context(), "counter:g", []string{"ana", "bob", "", "eve"}[(i+n)%4])
					if err != nil {
						t.Error(err)
						return
					}
					if n%3 == 0 {
						<-s.C
					}
					if n%2 == 0 {
						s.Close()
					}
				}
			})
			wg.Go(func() {
				for n := range 20 {
					in := glasshouse.Input{Actor: "ana", At: time.Now()}
					_, err := []*counterHost{h, other}[n%2].Do(t.Context(), "counter:g", in, []counterCommand{Add{1}, Wind{1}, Tick{}}[n%3])
					if _, conflict := errors.AsType[ledger.ErrConflict](err); err != nil && !conflict {
						t.Error(err)
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		wg.Wait()
	})
}

// Spectators.

// TestSpectatorsSeeTheNewestStateThatIsOldEnough compares all that spectators get with the commit times in the journal.
func TestSpectatorsSeeTheNewestStateThatIsOldEnough(t *testing.T) {
	const delay = 3 * time.Second
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters(spectatorsWait(delay), func(c *counterConfig) { c.Lag = 4 })
		w.open(h, "counter:g")
		type seen struct {
			at     time.Time
			viewer string
			msg    counterMsg
		}
		var all []seen
		watch := func(h *counterHost, viewer string) *counterSub { return w.subscribe(h, "counter:g", viewer) }
		subs := map[string]*counterSub{"": watch(h, ""), "made-up": watch(h, "made-up"), "slow": watch(h, "slow")}
		last := map[string]uint64{}
		look := func(h *counterHost, slow bool) {
			for _, viewer := range []string{"", "made-up", "slow"} {
				if viewer == "slow" && !slow {
					continue
				}
				for _, m := range drain(subs[viewer]) {
					all = append(all, seen{time.Now(), viewer, m})
					last[viewer] = m.Rev
				}
				v, ok, err := h.View(t.Context(), "counter:g", viewer)
				require.NoError(t, err)
				if ok {
					all = append(all, seen{time.Now(), viewer, counterMsg{Rev: v.Rev, View: v}})
				}
				require.Equal(t, newest(t, w, "counter:g", time.Now().Add(-delay)), v.Rev, "the newest that is old enough")
				require.Equal(t, ok, v.Rev > 0)
				if ok { // and it has also been sent
					require.Equal(t, v.Rev, last[viewer])
				}
			}
		}
		for i := range 60 {
			switch {
			case i == 20: // a spectator who joins, and one who joins again
				subs["made-up"].Close()
				subs[""] = watch(h, "")
				subs["made-up"] = watch(h, "made-up")
			case i == 40: // a restart
				require.NoError(t, h.Close(t.Context()))
				h = w.counters(spectatorsWait(delay))
				require.NoError(t, h.Resume(t.Context()))
				for viewer := range subs {
					subs[viewer] = watch(h, viewer)
				}
				// A new Host knows the last state only: until that is old enough there is nothing to show.
				require.Empty(t, drain(subs[""]))
				time.Sleep(delay)
			case i == 59:
				w.do(h, "counter:g", "ana", End{"won"})
			default:
				w.do(h, "counter:g", "ana", Add{1})
			}
			look(h, i%15 == 14)
			time.Sleep(time.Duration(i%7) * 300 * time.Millisecond)
		}
		time.Sleep(delay)
		look(h, true)
		require.Equal(t, "won", all[len(all)-1].msg.View.Over)

		committed := map[uint64]time.Time{}
		entries, err := w.money.Journal(t.Context(), ledger.JournalQuery{Doc: "counter:g"})
		require.NoError(t, err)
		for i, e := range entries {
			committed[uint64(i)+1] = time.Unix(0, e.At)
		}
		states := replayed(t, w, "counter:g")
		require.Greater(t, len(all), 100)
		for _, s := range all {
			require.False(t, s.at.Add(-delay).Before(committed[s.msg.Rev]), "rev %d is seen too soon by %q", s.msg.Rev, s.viewer)
			require.Equal(t, states[s.msg.Rev].View(s.viewer), s.msg.View)
		}
	})
}

// newest is the last revision that was committed at or before a time.
func newest(t *testing.T, w *site, key ledger.DocKey, at time.Time) uint64 {
	t.Helper()
	entries, err := w.money.Journal(t.Context(), ledger.JournalQuery{Doc: key})
	require.NoError(t, err)
	n := uint64(0)
	for _, e := range entries {
		if !time.Unix(0, e.At).After(at) {
			n++
		}
	}
	return n
}

// TestSpectatorGetsEachStateAtTheVeryTime: not at the next step only.
func TestSpectatorGetsEachStateAtTheVeryTime(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters(spectatorsWait(3 * time.Second))
		w.open(h, "counter:g")
		sub := w.subscribe(h, "counter:g", "")
		time.Sleep(time.Second)
		w.do(h, "counter:g", "ana", Add{1})
		time.Sleep(1999 * time.Millisecond)
		require.Nil(t, next(sub))
		w.do(h, "counter:g", "ana", Add{1}) // a step lets nobody see more, either
		require.Nil(t, next(sub))
		time.Sleep(time.Millisecond)
		require.Equal(t, []uint64{0, 1}, revs(drain(sub)))
		time.Sleep(999 * time.Millisecond)
		require.Nil(t, next(sub))
		time.Sleep(time.Millisecond)
		m := next(sub)
		require.EqualValues(t, 2, m.Rev)
		require.Len(t, m.Events, 1)

		w.do(h, "counter:g", "ana", End{"won"})
		time.Sleep(time.Second)
		require.NoError(t, h.Close(t.Context()))
		again := w.counters(spectatorsWait(3 * time.Second))
		sub = w.subscribe(again, "counter:g", "")
		require.Nil(t, next(sub), "the result of a second ago")
		time.Sleep(2 * time.Second) // nothing steps any more
		require.Equal(t, "won", next(sub).View.Over)
	})
}

// TestWhoTakesASeatIsToldThatHeMissesSomething: he jumps from the past into the present, and back when he leaves.
func TestWhoTakesASeatIsToldThatHeMissesSomething(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters(spectatorsWait(3 * time.Second))
		w.open(h, "counter:g")
		time.Sleep(3 * time.Second)
		sub := w.subscribe(h, "counter:g", "bob")
		require.EqualValues(t, 1, next(sub).Rev)
		w.do(h, "counter:g", "ana", Add{1})
		w.do(h, "counter:g", "ana", Add{1})
		require.Nil(t, next(sub))
		w.do(h, "counter:g", "bob", Sit{})
		m := next(sub)
		require.EqualValues(t, 4, m.Rev)
		require.True(t, m.Resync, "he has not seen 2 and 3")
		w.do(h, "counter:g", "bob", Stand{})
		w.do(h, "counter:g", "ana", Add{1})
		require.Nil(t, next(sub), "he has no seat any more")
		time.Sleep(3 * time.Second)
		require.Equal(t, []uint64{5, 6}, revs(drain(sub)))
	})
}

// Sweeping.

func TestSweepVoidsWhatIsStuck(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		a, b := w.counters(), w.counters()
		for _, key := range []ledger.DocKey{"counter:stuck", "counter:endless", "counter:clock", "counter:over"} {
			w.open(a, key)
		}
		w.do(a, "counter:endless", "ana", Break{"endless"})
		w.do(a, "counter:over", "ana", End{"won"})
		// A clock whose Host has died.
		w.do(a, "counter:clock", "ana", Wind{1000})
		require.NoError(t, a.Close(t.Context()))
		time.Sleep(time.Hour)
		w.open(b, "counter:young")
		n, err := b.Sweep(t.Context(), "running", 2*time.Hour, "stuck")
		require.NoError(t, err)
		require.Zero(t, n)
		n, err = b.Sweep(t.Context(), "running", 30*time.Minute, "stuck")
		require.NoError(t, err)
		require.Equal(t, 1, n)
		states := map[ledger.DocKey]string{"counter:stuck": "stuck", "counter:endless": "", "counter:clock": "", "counter:young": "", "counter:over": "won"}
		for key, over := range states {
			s, err := b.State(t.Context(), key)
			require.NoError(t, err)
			require.Equal(t, over, s.data.Over, key)
		}
		require.EqualValues(t, 3, w.stored("counter:clock"), "due clocks first")
		errs := w.reported.take()
		require.Len(t, errs, 1)
		require.ErrorIs(t, errs[0], counterError("endless"))
		w.do(b, "counter:endless", "ana", Add{1})
	})
}

// TestSweepLeavesAGameAloneThatMovesMeanwhile: between looking and voiding, here and in another process.
func TestSweepLeavesAGameAloneThatMovesMeanwhile(t *testing.T) {
	for name, same := range map[string]bool{"in this process": true, "in another one": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *site) {
				a, b := w.counters(), w.counters()
				w.open(a, "counter:g")
				time.Sleep(time.Hour)
				mover := b
				if same {
					mover = a
				}
				var once sync.Once
				done := make(chan struct{})
				moves := func() {
					once.Do(func() {
						go func() {
							defer close(done)
							_, _ = mover.Do(context.Background(), "counter:g", glasshouse.Input{Actor: "ana", At: time.Now()}, Add{1})
						}()
						if !same {
							<-done
						}
					})
				}
				if same { // while the sweep looks at the clocks
					w.store.set(func(f *faulty) { f.reads = func() error { moves(); time.Sleep(time.Millisecond); return nil } })
				} else { // while it commits
					w.store.set(func(f *faulty) {
						f.before = func(ks ledger.KeySet) error { f.heal(); moves(); return nil }
					})
				}
				n, err := a.Sweep(t.Context(), "running", time.Minute, "stuck")
				require.NoError(t, err)
				require.Zero(t, n)
				<-done
				s, err := mover.State(t.Context(), "counter:g")
				require.NoError(t, err)
				require.EqualValues(t, 2, s.Rev())
				require.Empty(t, s.data.Over)
				require.Empty(t, w.reported.take())
			})
		})
	}
}

func TestTwoHostsThatSweepAtOnceVoidOnce(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		hosts := []*counterHost{w.counters(), w.counters(), w.counters()}
		for i := range 20 {
			w.open(hosts[0], ledger.DocKey(fmt.Sprintf("counter:%02d", i)))
		}
		time.Sleep(time.Hour)
		var wg sync.WaitGroup
		ended := make([]int, len(hosts))
		for i, h := range hosts {
			wg.Go(func() {
				var err error
				if ended[i], err = h.Sweep(t.Context(), "running", time.Minute, "stuck"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Empty(t, w.reported.take())
		entries, err := w.money.Journal(t.Context(), ledger.JournalQuery{})
		require.NoError(t, err)
		require.Len(t, entries, 40)
		// The very same step at the very same time is one Tx, which each of them may claim.
		require.GreaterOrEqual(t, ended[0]+ended[1]+ended[2], 20)
	})
}

// Volatile steps.

func TestVolatileStepsAreShownFirstAndCommittedInBatches(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters()
		w.open(h, "counter:g")
		sub := w.subscribe(h, "counter:g", "ana")
		next(sub)
		for i := range 19 {
			w.do(h, "counter:g", glasshouse.System, Tick{})
			m := next(sub)
			require.EqualValues(t, i+2, m.Rev)
			require.Len(t, m.Events, 1)
			require.EqualValues(t, 1, w.stored("counter:g"))
		}
		w.do(h, "counter:g", glasshouse.System, Tick{})
		require.EqualValues(t, 21, w.stored("counter:g"), "20 at once")
		for range 5 {
			w.do(h, "counter:g", glasshouse.System, Tick{})
		}
		require.EqualValues(t, 21, w.stored("counter:g"))
		w.do(h, "counter:g", "ana", Add{1})
		require.EqualValues(t, 27, w.stored("counter:g"), "with the next that is not volatile")
		w.do(h, "counter:g", glasshouse.System, Tick{})
		in := glasshouse.Input{Actor: "ana", ID: "r1", At: time.Now()}
		first, err := h.Do(t.Context(), "counter:g", in, Tick{})
		require.NoError(t, err)
		require.EqualValues(t, 29, w.stored("counter:g"), "a request id is taken at once")
		again, err := h.Do(t.Context(), "counter:g", in, Tick{})
		require.NoError(t, err)
		require.Equal(t, first, again)
		w.do(h, "counter:g", glasshouse.System, Tick{})
		require.NoError(t, h.Close(t.Context()))
		require.EqualValues(t, 30, w.stored("counter:g"), "with Close")
		require.Len(t, replayed(t, w, "counter:g"), 31)
	})
}

func TestACrashLosesVolatileStepsOnly(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		gone := w.counters()
		w.open(gone, "counter:g")
		w.do(gone, "counter:g", "ana", Add{1})
		for range 19 {
			w.do(gone, "counter:g", glasshouse.System, Tick{})
		}
		h := w.counters() // and gone is never asked again
		require.NoError(t, h.Resume(t.Context()))
		s, err := h.State(t.Context(), "counter:g")
		require.NoError(t, err)
		require.EqualValues(t, 2, s.Rev())
		w.do(h, "counter:g", "ana", Add{1})
		require.EqualValues(t, 3, w.stored("counter:g"))
	})
}

// TestLostRaceDropsVolatileSteps: also where the other process is at the same revision by accident.
func TestLostRaceDropsVolatileSteps(t *testing.T) {
	for name, others := range map[string]int{"behind": 1, "level with the next step": 2, "level": 3, "ahead": 7} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *site) {
				a, b := w.counters(spectatorsWait(3*time.Second)), w.counters()
				w.open(a, "counter:g")
				time.Sleep(3 * time.Second)
				sub, spectator := w.subscribe(a, "counter:g", "ana"), w.subscribe(a, "counter:g", "")
				for range 3 {
					w.do(a, "counter:g", glasshouse.System, Tick{})
				}
				require.Len(t, drain(sub), 4)
				time.Sleep(time.Second)
				for range others {
					w.do(b, "counter:g", "ana", Add{10})
				}
				_, err := a.Do(t.Context(), "counter:g", glasshouse.Input{Actor: "ana", At: time.Now()}, Add{1})
				require.NoError(t, err)
				states := replayed(t, w, "counter:g")
				require.Len(t, states, others+3, "the ticks never happened")
				msgs := drain(sub)
				require.Len(t, msgs, 1)
				require.True(t, msgs[0].Resync)
				require.Equal(t, states[uint64(others)+2].View("ana"), msgs[0].View)
				time.Sleep(3 * time.Second)
				seen := drain(spectator)
				require.Equal(t, []uint64{1, uint64(others) + 2}, revs(seen), "and spectators never see them")
				require.Equal(t, states[uint64(others)+2].View(""), seen[1].View)
			})
		})
	}
}

// TestLostRaceKeepsVolatileStepsThatWereCommitted: spectators see those.
func TestLostRaceKeepsVolatileStepsThatWereCommitted(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		a, b := w.counters(spectatorsWait(3*time.Second)), w.counters()
		w.open(a, "counter:g")
		time.Sleep(3 * time.Second)
		spectator := w.subscribe(a, "counter:g", "")
		w.do(a, "counter:g", glasshouse.System, Tick{})
		w.do(a, "counter:g", "ana", Add{1}) // commits both
		w.do(a, "counter:g", glasshouse.System, Tick{})
		w.do(b, "counter:g", "ana", Add{10})
		w.do(a, "counter:g", "ana", Add{2})
		time.Sleep(3 * time.Second)
		require.Equal(t, []uint64{1, 2, 3, 5}, revs(drain(spectator)))
	})
}

// TestCloseThatLosesTheRaceDropsVolatileSteps: at the flush.
func TestCloseThatLosesTheRaceDropsVolatileSteps(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		a, b := w.counters(), w.counters()
		w.open(a, "counter:g")
		w.do(a, "counter:g", glasshouse.System, Tick{})
		w.do(b, "counter:g", "ana", Add{10})
		require.NoError(t, a.Close(t.Context()))
		require.EqualValues(t, 2, w.stored("counter:g"))
	})
}

func TestUncertainBatchIsCommittedOnce(t *testing.T) {
	for name, lose := range map[string]func(f *faulty, err func(ledger.KeySet) error){
		"before the effect": func(f *faulty, err func(ledger.KeySet) error) { f.before = err },
		"after the effect":  func(f *faulty, err func(ledger.KeySet) error) { f.after = err },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *site) {
				h := w.counters()
				w.open(h, "counter:g")
				for range 3 {
					w.do(h, "counter:g", glasshouse.System, Tick{})
				}
				in := glasshouse.Input{Actor: "ana", At: time.Now()}
				w.store.set(func(f *faulty) { lose(f, func(ledger.KeySet) error { return errLost }) })
				_, err := h.Do(t.Context(), "counter:g", in, Add{1})
				requireUncertain(t, err)
				w.store.heal()
				turn, err := h.Do(t.Context(), "counter:g", in, Add{1})
				require.NoError(t, err)
				require.EqualValues(t, 5, turn.Rev)
				w.do(h, "counter:g", glasshouse.System, Tick{})
				require.NoError(t, h.Close(t.Context()))
				require.EqualValues(t, 6, w.stored("counter:g"))
				require.EqualValues(t, 1, replayed(t, w, "counter:g")[6].data.Sum)
			})
		})
	}
}

// Ending.

func TestContextEndsWaitingAndNeverHalvesACommit(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters()
		w.open(h, "counter:g")
		w.store.set(func(f *faulty) { f.before = func(ledger.KeySet) error { time.Sleep(time.Minute); return nil } })
		first := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			_, err := h.Do(ctx, "counter:g", glasshouse.Input{Actor: "ana", At: time.Now()}, Add{1})
			first <- err
		}()
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := h.Do(ctx, "counter:g", glasshouse.Input{Actor: "ana", At: time.Now()}, Add{10})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		require.NoError(t, <-first)
		s, err := h.State(t.Context(), "counter:g")
		require.NoError(t, err)
		require.EqualValues(t, 1, s.data.Sum)
		for _, call := range []func() error{
			func() error { return h.Resume(ctx) },
			func() error { _, err := h.Sweep(ctx, "running", 0, "stuck"); return err },
			func() error { return h.Open(ctx, "counter:new", new(counter)) },
		} {
			require.ErrorIs(t, call(), context.DeadlineExceeded)
		}
	})
}

func TestCloseDrains(t *testing.T) {
	for name, patient := range map[string]bool{"in time": true, "in the second attempt": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *site) {
				h := w.counters(spectatorsWait(time.Second), func(c *counterConfig) { c.Poll = time.Second })
				w.open(h, "counter:g")
				w.open(h, "counter:timer")
				w.do(h, "counter:timer", "ana", Wind{5000})
				sub, spectator := w.subscribe(h, "counter:g", "ana"), w.subscribe(h, "counter:g", "")
				w.store.set(func(f *faulty) { f.before = func(ledger.KeySet) error { time.Sleep(10 * time.Second); return nil } })
				first := make(chan error, 1)
				go func() {
					_, err := h.Do(context.Background(), "counter:g", glasshouse.Input{Actor: "ana", At: time.Now()}, Add{1})
					first <- err
				}()
				time.Sleep(6 * time.Second) // a command and a clock are on their way into the ledger

				if !patient {
					second := make(chan error, 1)
					go func() {
						_, err := h.Do(context.Background(), "counter:g", glasshouse.Input{Actor: "ana", At: time.Now()}, Add{10})
						second <- err
					}()
					synctest.Wait()
					defer func() { require.ErrorIs(t, <-second, glasshouse.ErrHostClosed, "what had not begun is refused") }()
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					began := time.Now()
					require.ErrorIs(t, h.Close(ctx), context.DeadlineExceeded)
					require.Equal(t, time.Second, time.Since(began))
					refusesAll(t, h)
				}
				require.NoError(t, h.Close(t.Context()))
				refusesAll(t, h)
				require.NoError(t, <-first, "what was running is finished")
				require.EqualValues(t, 2, w.stored("counter:g"))
				if patient {
					require.EqualValues(t, 3, w.stored("counter:timer"))
				}
				for _, s := range []*counterSub{sub, spectator} {
					drain(s)
					require.True(t, ended(s))
				}
				require.NoError(t, h.Close(t.Context()))
			})
		})
	}
}

func refusesAll(t *testing.T, h *counterHost) {
	t.Helper()
	_, err := h.Do(t.Context(), "counter:g", glasshouse.Input{Actor: "ana", At: time.Now()}, Add{1})
	require.ErrorIs(t, err, glasshouse.ErrHostClosed)
	_, err = h.Subscribe(t.Context(), "counter:g", "ana")
	require.ErrorIs(t, err, glasshouse.ErrHostClosed)
	_, _, err = h.View(t.Context(), "counter:g", "ana")
	require.ErrorIs(t, err, glasshouse.ErrHostClosed)
	_, err = h.State(t.Context(), "counter:g")
	require.ErrorIs(t, err, glasshouse.ErrHostClosed)
	require.ErrorIs(t, h.Open(t.Context(), "counter:h", new(counter)), glasshouse.ErrHostClosed)
	require.ErrorIs(t, h.Resume(t.Context()), glasshouse.ErrHostClosed)
}

// TestCloseMayRaceEverything is for the race detector and for deadlocks.
func TestCloseMayRaceEverything(t *testing.T) {
	for i := range 20 {
		bubble(t, func(t *testing.T, w *site) {
			h := w.counters(spectatorsWait(time.Millisecond), func(c *counterConfig) { c.Poll, c.Retry = time.Millisecond, time.Millisecond })
			w.open(h, "counter:g")
			var wg sync.WaitGroup
			fine := func(err error) {
				if err != nil && !errors.Is(err, glasshouse.ErrHostClosed) {
					t.Error(err)
				}
			}
			for n := range 4 {
				wg.Go(func() {
					for range 20 {
						_, err := h.Do(t.Context(), "counter:g", glasshouse.Input{Actor: "ana", At: time.Now()}, []counterCommand{Wind{1}, Tick{}, Add{1}}[n%3])
						fine(err)
						time.Sleep(time.Millisecond)
					}
				})
				wg.Go(func() {
					for range 20 {
						s, err := h.Subscribe(t.Context(), "counter:g", []string{"ana", ""}[n%2])
						fine(err)
						if err == nil && n < 2 {
							<-s.C
							s.Close()
						}
						time.Sleep(time.Millisecond)
					}
				})
				wg.Go(func() { fine(h.Open(t.Context(), ledger.DocKey(fmt.Sprint("counter:", n)), new(counter))) })
				wg.Go(func() { fine(h.Resume(t.Context())) })
			}
			time.Sleep(time.Duration(i) * time.Millisecond)
			for range 2 {
				wg.Go(func() { fine(h.Close(t.Context())) })
			}
			wg.Wait()
		})
	}
}

// TestAHostInALogDealsOutNothing: fmt looks into unexported fields and calls no method there.
func TestAHostInALogDealsOutNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *site) {
		h := w.counters()
		w.open(h, "counter:g")
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			require.Equal(t, "host of counter", fmt.Sprintf(verb, h), verb)
		}
	})
}

func BenchmarkHost(b *testing.B) {
	for _, games := range []int{1, 64} {
		b.Run(fmt.Sprintf("tables=%d", games), func(b *testing.B) {
			h := glasshouse.NewHost(counterConfig{Rules: counterRules(), Money: ledger.New(ledger.NewMemory(), time.Now), Now: time.Now})
			keys := make([]ledger.DocKey, games)
			for i := range keys {
				keys[i] = ledger.DocKey(fmt.Sprintf("counter:%d", i))
				if err := h.Open(b.Context(), keys[i], new(counter)); err != nil {
					b.Fatal(err)
				}
				s, err := h.Subscribe(b.Context(), keys[i], "ana")
				if err != nil {
					b.Fatal(err)
				}
				go func() {
					for range s.C { //nolint:revive // somebody who reads
					}
				}()
			}
			var mu sync.Mutex
			var took []time.Duration
			worker := 0
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				mu.Lock()
				at := worker
				worker++
				mu.Unlock()
				var mine []time.Duration
				for n := at; pb.Next(); n += 7 {
					began := time.Now()
					_, err := h.Do(b.Context(), keys[n%games], glasshouse.Input{Actor: "ana", At: began}, Add{1})
					if err != nil {
						b.Error(err)
						return
					}
					mine = append(mine, time.Since(began))
				}
				mu.Lock()
				took = append(took, mine...)
				mu.Unlock()
			})
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "commands/s")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			if err := h.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
