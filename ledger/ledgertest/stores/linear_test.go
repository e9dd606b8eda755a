package stores_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

const accounts = 3

func account(i int) ledger.AccountID { return ledger.AccountID(fmt.Sprint("user:", i)) }

// input is a transfer under the id with this number, or the reading of a
// balance.
type input struct {
	read     bool
	id       int
	from, to int
	amount   int64
}

// output is what the client saw.
type output struct {
	class    string // "ok", "replayed", "insufficient_balance", "uncertain"
	from, to int64  // balances after it, or what was read
}

// state of the model: the balances, and the ids that were accepted.
type state struct {
	balances [accounts]int64
	done     [4]uint64
}

func (s state) has(id int) bool { return s.done[id/64]>>(id%64)&1 == 1 }

// model is one client alone.
func model() porcupine.Model {
	return porcupine.Model{
		Init: func() any {
			s := state{}
			for i := range s.balances {
				s.balances[i] = 20
			}
			return s
		},
		Step: func(st, in, out any) (bool, any) { return step(st.(state), in.(input), out.(output)) },
		DescribeOperation: func(in, out any) string {
			return fmt.Sprintf("%+v → %+v", in, out)
		},
	}
}

func step(s state, in input, out output) (bool, state) {
	if in.read {
		return s.balances[in.from] == out.from, s
	}
	next := s
	next.balances[in.from] -= in.amount
	next.balances[in.to] += in.amount
	next.done[in.id/64] |= 1 << (in.id % 64)
	poor := next.balances[in.from] < 0
	switch out.class {
	case "ok":
		return !s.has(in.id) && !poor && next.balances[in.from] == out.from && next.balances[in.to] == out.to, next
	case "replayed":
		return s.has(in.id), s
	case "insufficient_balance":
		return !s.has(in.id) && poor && s.balances[in.from] == out.from, s
	}
	// Uncertain: it may have happened at any time from its call on, or never,
	// which is to happen after everything else.
	if s.has(in.id) || poor {
		return true, s
	}
	return true, next
}

// observe runs clients at the same time, sends what is uncertain again, and
// sends some Txs twice, by two clients. It gives what they saw.
func observe(tb testing.TB, s ledger.Store, seed uint64, clients, each int) []porcupine.Operation {
	ctx := context.Background()
	l := ledger.New(s, func() time.Time { return time.Unix(0, epoch) })
	fund := ledger.Tx{ID: "fund"}
	for i := range accounts {
		fund.Post = append(fund.Post, ledger.Posting{From: "world", To: account(i), Asset: "BRL/2", Amount: 20})
	}
	for {
		_, err := l.Do(ctx, fund)
		if _, uncertain := errors.AsType[ledger.ErrUncertain](err); !uncertain {
			require.NoError(tb, err)
			break
		}
	}
	began := time.Now()
	var mu sync.Mutex
	var ops []porcupine.Operation
	call := func(client int, in input) output {
		op := porcupine.Operation{ClientId: client, Input: in, Call: int64(time.Since(began))}
		out := perform(ctx, l, in)
		op.Output, op.Return = out, int64(time.Since(began))
		if out.class == "uncertain" {
			op.Return = math.MaxInt64
		}
		mu.Lock()
		ops = append(ops, op)
		mu.Unlock()
		return out
	}
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(c)))
			shared := rand.New(rand.NewPCG(seed, 1000+uint64(c/2))) // two clients have the same plan
			for i := range each {
				in := input{id: c/2*each + i, from: shared.IntN(accounts), amount: 1 + shared.Int64N(15)}
				in.to = (in.from + 1 + shared.IntN(accounts-1)) % accounts
				if i%3 > 0 { // and their own ids, but for every third
					in.id = 128 + c*each + i
				}
				for n := 0; call(c, in).class == "uncertain" && n < 3; n++ {
				}
				if r.IntN(2) == 0 {
					call(c, input{read: true, from: r.IntN(accounts)})
				}
			}
		})
	}
	wg.Wait()
	for i := range accounts {
		call(clients, input{read: true, from: i})
	}
	return ops
}

func perform(ctx context.Context, l *ledger.Ledger, in input) output {
	if in.read {
		b, err := l.Balance(ctx, account(in.from), "BRL/2")
		if err != nil {
			return output{class: err.Error(), from: math.MinInt64}
		}
		return output{class: "ok", from: b.Posted}
	}
	r, err := l.Do(ctx, ledger.Tx{ID: fmt.Sprint("t/", in.id), Post: []ledger.Posting{{From: account(in.from), To: account(in.to), Asset: "BRL/2", Amount: in.amount}}})
	out := output{class: class(r, err)}
	if short, ok := errors.AsType[ledger.ErrFunds](err); ok {
		out.from = short.Have
	}
	if err == nil {
		from, _ := r.Balance(account(in.from), "BRL/2")
		to, _ := r.Balance(account(in.to), "BRL/2")
		out.from, out.to = from.Posted, to.Posted
	}
	return out
}

func TestLinearizable(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for _, k := range kinds {
		for _, lossy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, lossy %t", k.name, lossy), func(t *testing.T) {
				classes := map[string]int{} // of all rounds: a single one may lack this or that
				for seed := range uint64(rounds) {
					s := k.open(t)
					if lossy {
						s = &flaky{Store: s, r: rand.New(rand.NewPCG(seed, 9)), one: 12}
					}
					ops := observe(t, s, seed, 6, 12)
					for _, op := range ops {
						classes[op.Output.(output).class]++
					}
					require.Equal(t, porcupine.Ok, porcupine.CheckOperationsTimeout(model(), ops, time.Minute), "%v", classes)
				}
				require.Positive(t, classes["insufficient_balance"])
				require.Positive(t, classes["replayed"])
				if lossy {
					require.Positive(t, classes["uncertain"])
				}
			})
		}
	}
}
