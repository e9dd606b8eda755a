// Package battle is the case battle: teams open the same cases round by round, every player gets an item a round, and
// the winning side shares out all the items.
//
// A [Config] fixes everything when the battle is created: cases with their items and ranges, prices, layout, mode,
// policies, timeline. Its hash is part of the commitment. [New] makes the [State] before the first step, which is the
// host's [Create]; players [Join], [Seed], [Leave], the creator may [AddBots] or [Cancel]; once every seat is taken the
// battle runs by its clocks: the host steps [Expire] when [State.Deadline] has come.
//
//	s, err := battle.New(cfg)
//	next, turn, err := s.Step(glasshouse.Input{Actor: "ana", At: now}, battle.Join{Team: 2, ClientSeed: "my words"})
//	if err != nil {
//		return err // a RuleError: nothing has happened
//	}
//	if _, err := money.Do(ctx, next.Tx(battle.Key(cfg.ID), turn)); err != nil {
//		return err // ledger.ErrFunds and others: nothing has happened either
//	}
//	s = next // and now publish next.Observe of turn.Events
//
// glasshouse.Table does this loop for one battle.
//
// # Who wins, and what
//
// [Settle] is the settlement as a free function: winners by mode, ties by policy, and four ways to share the items, the
// source's own to the bit among them. Its equations are checked every time: no cent and no item is made or lost unseen.
// [Edge] tells what a policy gives the house.
//
// # What is promised
//
// The server seed is committed to before anybody can contribute; the rolls follow from it, from what the players
// contributed, and from a public random value if [Config.Beacon] names one. [NewRecord] writes what everybody could have
// seen, and [Verify] decides every step of it anew. What a record cannot prove, the report says.
//
// A battle is paid for with each seat and paid out with its last step, in the same ledger transaction as its state: two
// people cannot take one seat, and nothing is paid twice or for nothing.
//
// # Words
//
// The names are the source's where they are unmistakable. Its mode FLIP is Normal with Lowest; its other FLIP, the
// second roulette, is FlipThreshold and Rolled.Flip. "Order" means the order of the seats: (team−1)·size + slot. Amounts
// are in the minor unit of Config.Asset and called cents.
package battle
