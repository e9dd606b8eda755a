// Package battle is the case battle: teams open the same cases round by round, every player gets an item a round, and
// the winning side shares out all the items.
//
// A [Config] fixes everything when the battle is created: cases with their items and ranges, prices, layout, mode,
// policies, timeline. Its hash is published with the commitment, and every roll depends on it. [New] makes the [State]
// before the first step, which is the host's [Create]; players [Join], [Seed], [Leave], the creator may [AddBots] or
// [Cancel]; once every seat is taken the battle runs by its clocks: the host steps [Expire] when [State.Deadline] has
// come.
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
// [Edge] tells what a policy gives the house. With Pool, the default payout, what the winners miss and no item of
// Config.Catalogue fits stays with the house: without a catalogue that can be much, so look at Edge before you choose.
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
// # Commands as JSON
//
// A command with fields has "data", be it {} where all of them may be left out; one without fields has none:
// {"kind":"join","data":{"team":2}}, {"kind":"leave"}. The creator's own client seed comes with Seed, after Create.
//
// # A record from the ledger
//
// The turns that NewRecord wants are those that Table.Do and Table.Tick returned. The journal has them too, and the
// config is the state's:
//
//	entries, err := money.Journal(ctx, ledger.JournalQuery{Doc: battle.Key(id)})
//	…
//	record, err := battle.NewRecord(table.State().Config(), func(yield func(battle.Turn, error) bool) {
//		for _, entry := range entries {
//			if turn, err := battle.Rules().UnmarshalTurn(entry.Tx.Memo); !yield(turn, err) {
//				return
//			}
//		}
//	})
//
// # A record by hand
//
// Whoever checks a record with tools of his own needs fair/SPEC.md and what a battle puts into it: the kind is
// "battle", the session Config.ID, the hash of the rules config_hash, which is the SHA-256 of
// "glasshouse/battle/config/1", a line feed, and the bytes of the record's config as they stand. There is one table a
// round, in the order of the cases; its items are named by their rows. There is one contribution a seat, in seat order:
// the user as Joined names him (bots too), operator for bots, and the client seed in UTF-8. A roll is
// Roll(10,000,000) on the path that stands beside it. record_digest is the SHA-256 of all bytes before
// ,"record_digest". Battles with Legacy52 roll by that scheme instead.
//
// # Words
//
// The names are the source's where they are unmistakable. Its mode FLIP is Normal with Lowest; its other FLIP, the
// second roulette, is FlipThreshold and Rolled.Flip. "Order" means the order of the seats: (team−1)·size + slot. Amounts
// are in the minor unit of Config.Asset and called cents.
package battle
