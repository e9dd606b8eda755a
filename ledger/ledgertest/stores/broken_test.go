package stores_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// stale answers every other reading with what it answered before.
type stale struct {
	*ledger.Memory
	mu   sync.Mutex
	last map[ledger.Key]ledger.View
	n    int
}

func (s *stale) Read(ctx context.Context, ks ledger.KeySet) (ledger.View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := ks.Balances[0]
	if s.n++; s.n%2 == 0 && s.last[k] != nil {
		return s.last[k], nil
	}
	v, err := s.Memory.Read(ctx, ks)
	s.last[k] = v
	return v, err
}

// early reads before it locks.
type early struct{ *ledger.Memory }

func (s early) Atomic(ctx context.Context, ks ledger.KeySet, f func(ledger.View) (ledger.Change, error)) error {
	v, err := s.Memory.Read(ctx, ks)
	if err != nil {
		return err
	}
	c, err := f(v)
	time.Sleep(100 * time.Microsecond)
	return s.Memory.Atomic(ctx, ks, func(ledger.View) (ledger.Change, error) { return c, err })
}

// forgetful accepts an id again.
type forgetful struct{ *ledger.Memory }

type noReceipts struct{ ledger.View }

func (noReceipts) Receipt(string) (ledger.Receipt, bool) { return ledger.Receipt{}, false }

func (s forgetful) Atomic(ctx context.Context, ks ledger.KeySet, f func(ledger.View) (ledger.Change, error)) error {
	return s.Memory.Atomic(ctx, ks, func(v ledger.View) (ledger.Change, error) { return f(noReceipts{v}) })
}

// careless says ok to a Tx that it lost.
type careless struct {
	*ledger.Memory
	mu sync.Mutex
	n  int
}

func (s *careless) Atomic(ctx context.Context, ks ledger.KeySet, f func(ledger.View) (ledger.Change, error)) error {
	s.mu.Lock()
	s.n++
	lose := s.n%9 == 8
	s.mu.Unlock()
	if !lose {
		return s.Memory.Atomic(ctx, ks, f)
	}
	v, err := s.Memory.Read(ctx, ks)
	if err == nil {
		_, err = f(v)
	}
	return err
}

func TestTheCheckerSaysNo(t *testing.T) {
	for name, open := range map[string]func() ledger.Store{
		"stale reads":            func() ledger.Store { return &stale{Memory: ledger.NewMemory(), last: map[ledger.Key]ledger.View{}} },
		"reads before it locks":  func() ledger.Store { return early{ledger.NewMemory()} },
		"forgets ids":            func() ledger.Store { return forgetful{ledger.NewMemory()} },
		"loses what it accepted": func() ledger.Store { return &careless{Memory: ledger.NewMemory()} },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(20) {
				ops := observe(t, open(), seed, 6, 12)
				if porcupine.CheckOperationsTimeout(model(), ops, time.Minute) == porcupine.Illegal {
					return
				}
			}
			t.Fatal("the checker found nothing wrong")
		})
	}
	ops := observe(t, ledger.NewMemory(), 1, 6, 12)
	require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(model(), ops, time.Minute))
}
