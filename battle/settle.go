package battle

import (
	"errors"
	"fmt"

	"github.com/glasshouse-go/glasshouse/fair"
)

// MaxCents is the largest value of an item: 10^15 cents. The largest battle, 320 drops, stays far below 2^63.
const MaxCents = 1_000_000_000_000_000

const (
	seatLimit = MaxTeams * MaxTeamSize
	dropLimit = MaxCases * seatLimit
)

// Drop is one opened item.
type Drop struct {
	Item  int32 // who it is: equal for copies of one item. The source confuses copies, and its records depend on it
	Value int64 // cents, 0..MaxCents, at the time of the roll; a price that moves later changes nothing
}

// Drops is a battle played to the end: what Settle settles.
type Drops struct {
	Layout Layout
	Mode   Mode
	Lowest bool // turns the comparison round; an error with Shared
	// Drops is in round-major order: the drop of a seat in a round (from 0) is Drops[round*seats+seat]. 1 to 10 full
	// rounds; Settle reads the slice and does not keep it.
	Drops     []Drop
	Catalogue *Catalogue // for Pool and PoolCash; nil = nothing to compensate with
	// Draw is asked for the path ("jackpot", 0, 0) in Jackpot and ("tie", attempt, team) for ties under ExtraRoll. It
	// may be nil where neither can occur.
	Draw fair.Source
}

// Policy is how the winners share.
type Policy struct {
	Payout Payout
	Ties   Ties // needed always, also where no tie is possible
	// Unsorted follows the source's statements in the order they are printed, in which the drops are sorted only after
	// they have been copied: they are given out as they were opened. Only with Pool and PoolCash.
	Unsorted bool
}

// Settle decides who won and shares all drops among the winners. It is pure: the same input gives the same Settlement.
//
// n winners share the pot V. The drops are taken by value, the highest first; equal ones by round, then by seat.
//
// Pool is the source's settlement. The share is ⌊V/n⌋. Drops worth more than it go to the house; the others go one by
// one to the winner who holds least, the first such by seat. A winner above the share then loses his largest drop that
// is worth no more than the excess, again and again (drops of at most n−1 cents, unless Unsorted: what larger drops are
// above the share by, he keeps as Overshoot). A winner below it gets the largest catalogue item that fits into the
// deficit, again and again, at most 200 of them. It promises that nobody ends below the share by more than the cheapest
// catalogue item, short of the limit, and it does not conserve value: HouseGain can have either sign.
//
// PoolCash is Pool, and then cash: what a winner's items miss of the share, and one cent to each of the first V mod n
// winners. Nobody ends below ⌊V/n⌋, and HouseGain = −Overshoot.
//
// ExactCash gives every winner exactly ⌊V/n⌋, the first V mod n a cent more. A drop goes to the winner with the largest
// gap if it fits; otherwise the house buys it. The gaps are paid in cash. HouseGain is 0.
//
// WholeItems gives out every drop to the winner who holds least; nothing is removed, added or paid. Nobody would rather
// have another's bundle less any one item of value (envy-free up to any item). HouseGain is 0.
//
// Records are in the source's order: for each winner what he keeps, in the order in which he got it, and what is added
// for him; then the drops removed for their value, then those removed from winners. Refunded has no winners and no
// records.
//
// Errors: an impossible layout, mode or policy; a number of drops that is no number of full rounds, 1 to 10; a value
// out of range; Draw nil where it is needed; teams level after 256 extra rolls; books that do not balance, which would
// be a defect of this package. With an error the Settlement is empty.
func Settle(d Drops, p Policy) (Settlement, error) {
	if err := d.check(p); err != nil {
		return Settlement{}, fmt.Errorf("battle: %w", err)
	}
	var s Settlement
	teams, err := s.judge(d, p.Ties)
	if err != nil {
		return Settlement{}, err
	}
	if s.Outcome == Refunded {
		return s, nil
	}
	s.Winners = teams.seats(d.Layout)
	n := int64(len(s.Winners))
	s.Value = s.pot()
	s.Share, s.Remainder = s.Value/n, s.Value%n
	s.share(d, p)
	if err := s.audit(d.Drops); err != nil {
		return Settlement{}, err
	}
	return s, nil
}

func (d Drops) check(p Policy) error {
	if err := d.Layout.check(); err != nil {
		return err
	}
	if d.Mode < Normal || d.Mode > Points {
		return fmt.Errorf("mode %v", d.Mode)
	}
	if d.Lowest && d.Mode == Shared {
		return errors.New("lowest has no meaning in mode shared")
	}
	if p.Payout < Pool || p.Payout > WholeItems {
		return fmt.Errorf("payout %v", p.Payout)
	}
	if p.Ties < SplitAll || p.Ties > Refund {
		return fmt.Errorf("ties %v", p.Ties)
	}
	if p.Unsorted && p.Payout != Pool && p.Payout != PoolCash {
		return fmt.Errorf("unsorted has no meaning with payout %v", p.Payout)
	}
	seats := d.Layout.Seats()
	if n := len(d.Drops); n == 0 || n > MaxCases*seats || n%seats != 0 {
		return fmt.Errorf("%d drops, want 1 to %d full rounds of %d", n, MaxCases, seats)
	}
	for i, drop := range d.Drops {
		if drop.Value < 0 || drop.Value > MaxCents {
			return fmt.Errorf("drop %d: value %d out of 0..%d", i, drop.Value, int64(MaxCents))
		}
	}
	return nil
}

// share shares the drops among s.Winners and writes it down.
func (s *Settlement) share(d Drops, p Policy) {
	s.Bundles = make([]Bundle, len(s.Winners))
	t := table{bundles: s.Bundles}
	t.lay(d.Drops, !p.Unsorted)
	switch p.Payout {
	case Pool, PoolCash:
		t.giveToLightest(s.Share)
		t.trim(s.Share)
		s.CapHit = t.compensate(s.Share, d.Catalogue)
	case ExactCash:
		t.giveToLargestGap(s.Share, s.Remainder)
	case WholeItems:
		t.giveToLightest(MaxCents)
	}
	s.book(&t, d.Catalogue)
	s.pay(p.Payout)
	s.HouseGain = s.Removed - s.Added - s.Cash
}

// nobody holds a drop that went to the house.
const nobody = -1

// table is where the drops are shared out. Everything is indexed by place, the position of a drop in the order of
// giving out, or by winner.
type table struct {
	drops   []Drop
	bundles []Bundle          // by winner; Distributed and Kept are filled in here
	order   [dropLimit]uint64 // place → drop, in the low 9 bits
	holder  [dropLimit]int8   // place → winner or nobody
	pieces  [seatLimit]int32  // number of drops held
	least   [seatLimit]int64  // no drop of this winner is worth less
	removed []removal
	grants  []grant
}

type removal struct {
	winner, drop, booked int
}

const dropBits = 9 // 2^9 > dropLimit; together with the 50 bits of MaxCents it fits into a word

func (t *table) drop(place int) int { return int(t.order[place] & (1<<dropBits - 1)) }

// lay puts the drops into the order of giving out. Value and index share a word, so that the order is total, stable
// and cheap to sort by.
func (t *table) lay(drops []Drop, sorted bool) {
	t.drops = drops
	order := t.order[:len(drops)]
	for i := range order {
		order[i] = uint64(i)
		if sorted {
			order[i] |= uint64(MaxCents-drops[i].Value) << dropBits
		}
	}
	if sorted {
		var spare [dropLimit]uint64
		sortWords(order, spare[:], dropBits)
	}
}

// winnerBits leave room for the value of the whole pot above them.
const winnerBits = 5

// giveToLightest gives each drop to the winner who holds least, the first of equals; drops above the limit go to the
// house, booked on the first winner. The value and the winner share a word: the least word is the right winner.
func (t *table) giveToLightest(limit int64) {
	var words [seatLimit]uint64
	loads := words[:len(t.bundles)]
	for w := range loads {
		loads[w] = uint64(w)
		t.least[w] = MaxCents
	}
	for place := range t.drops {
		i := t.drop(place)
		v := t.drops[i].Value
		if v > limit {
			t.remove(0, place, i)
			continue
		}
		lightest := loads[0]
		for _, load := range loads[1:] {
			lightest = min(lightest, load)
		}
		w := int(lightest & (1<<winnerBits - 1))
		loads[w] = lightest + uint64(v)<<winnerBits
		t.give(place, w, v)
	}
	for w, load := range loads {
		t.dealt(w, int64(load>>winnerBits))
	}
}

// dealt notes what a winner holds when all drops have been given out.
func (t *table) dealt(w int, v int64) { t.bundles[w].Distributed, t.bundles[w].Kept = v, v }

func (t *table) give(place, w int, v int64) {
	t.holder[place] = int8(w)
	t.pieces[w]++
	t.least[w] = min(t.least[w], v)
}

func (t *table) remove(w, place, booked int) {
	t.holder[place] = nobody
	if t.removed == nil {
		t.removed = make([]removal, 0, 8)
	}
	t.removed = append(t.removed, removal{winner: w, drop: t.drop(place), booked: booked})
}

// trim takes drops away from the winners above the share.
func (t *table) trim(share int64) {
	for w := range t.bundles {
		kept := &t.bundles[w].Kept
		for *kept-share >= max(1, t.least[w]) {
			last := t.largestWithin(w, *kept-share)
			if last < 0 {
				break
			}
			*kept -= t.drops[t.drop(last)].Value
			t.pieces[w]--
			t.remove(w, t.firstCopy(w, last), t.drop(last))
		}
	}
}

// largestWithin is the place of the winner's most valuable drop of at most limit, the last of equals; -1 if none.
func (t *table) largestWithin(w int, limit int64) int {
	found, best := -1, int64(0)
	for place := range t.drops {
		if v := t.drops[t.drop(place)].Value; int(t.holder[place]) == w && v >= best && v <= limit {
			found, best = place, v
		}
	}
	return found
}

// firstCopy is the place of the first copy of an item in the winner's pile: the one that the source takes out. Copies
// are equal in value too; in the source that goes without saying.
func (t *table) firstCopy(w, last int) int {
	for place := range last {
		if int(t.holder[place]) == w && t.drops[t.drop(place)] == t.drops[t.drop(last)] {
			return place
		}
	}
	return last
}

// compensate tops the winners up from the catalogue and tells whether the limit on items got in the way.
func (t *table) compensate(share int64, c *Catalogue) (capHit bool) {
	for w := range t.bundles {
		if kept := t.bundles[w].Kept; kept < share {
			if t.grants == nil {
				t.grants = make([]grant, 0, 4*len(t.bundles))
			}
			var hit bool
			t.grants, _, hit = c.fill(t.grants, w, share-kept)
			capHit = capHit || hit
		}
	}
	return capHit
}

// giveToLargestGap gives each drop to the winner who lacks most of his share, the first of equals; a drop that does not
// fit there fits nowhere and is sold.
func (t *table) giveToLargestGap(share, remainder int64) {
	var all [seatLimit]int64
	gaps := all[:len(t.bundles)]
	for w := range gaps {
		gaps[w] = entitlement(share, remainder, w)
	}
	for place := range t.drops {
		widest := 0
		for w, gap := range gaps {
			if gap > gaps[widest] {
				widest = w
			}
		}
		i := t.drop(place)
		v := t.drops[i].Value
		if v > gaps[widest] {
			t.remove(nobody, place, i)
			continue
		}
		gaps[widest] -= v
		t.give(place, widest, v)
	}
	for w, gap := range gaps {
		t.dealt(w, entitlement(share, remainder, w)-gap)
	}
}

// entitlement is a winner's part of the pot to the cent: the remainder goes to the first winners, a cent to each.
func entitlement(share, remainder int64, w int) int64 {
	if int64(w) < remainder {
		return share + 1
	}
	return share
}

// book completes the bundles and writes the sums and the records.
func (s *Settlement) book(t *table, c *Catalogue) {
	for _, g := range t.grants {
		s.Bundles[g.winner].AddedCount += g.copies
		s.Bundles[g.winner].Added += int64(g.copies) * c.values[g.entry]
	}
	for w := range s.Bundles {
		b := &s.Bundles[w]
		b.Seat = s.Winners[w]
		b.Items = b.Kept + b.Added
		s.Added += b.Added
		s.Residual += max(0, s.Share-b.Items)
		s.Overshoot += max(0, b.Items-s.Share)
	}
	s.list(t, c)
}

// list writes the records: each winner's drops and additions, then what was removed.
func (s *Settlement) list(t *table, c *Catalogue) {
	var next [seatLimit]int // where the winner's next record goes
	total := 0
	for w := range s.Bundles {
		next[w] = total
		total += int(t.pieces[w]) + s.Bundles[w].AddedCount
	}
	s.Records = make([]Record, total+len(t.removed))
	for place := range t.drops {
		if w := t.holder[place]; w != nobody {
			i := t.drop(place)
			s.Records[next[w]].write(Dropped, int(w), i, i, -1, t.drops[i].Value)
			next[w]++
		}
	}
	for _, g := range t.grants {
		for range g.copies {
			s.Records[next[g.winner]].write(AddedFromPool, g.winner, -1, -1, c.index[g.entry], c.values[g.entry])
			next[g.winner]++
		}
	}
	for i, r := range t.removed {
		v := t.drops[r.drop].Value
		s.Records[total+i].write(RemovedToPool, r.winner, r.drop, r.booked, -1, v)
		s.Removed += v
	}
}

// write fills in the record field by field: assigning a whole one is much slower, and this is where the time goes.
func (r *Record) write(t RecordType, winner, drop, booked, catalogue int, value int64) {
	r.Type = t
	r.Winner = int32(winner)
	r.Drop = int32(drop)
	r.Booked = int32(booked)
	r.Catalogue = int32(catalogue)
	r.Value = value
}

// pay adds the cash. Under PoolCash the remainder comes on top for a winner above the share too, who keeps what he has.
func (s *Settlement) pay(p Payout) {
	for w := range s.Bundles {
		b := &s.Bundles[w]
		switch p {
		case PoolCash:
			b.Cash = max(0, s.Share-b.Items) + entitlement(0, s.Remainder, w)
		case ExactCash:
			b.Cash = entitlement(s.Share, s.Remainder, w) - b.Items
		}
		s.Cash += b.Cash
	}
}

// audit goes through the records and adds everything up again. It fails if a drop moved twice or not at all, or if the
// sums disagree, so that no unbalanced settlement can leave this package.
func (s *Settlement) audit(drops []Drop) error {
	var moved [dropLimit]bool
	var items [seatLimit]int64
	var removed, added, count int64
	for i := range s.Records {
		r := &s.Records[i]
		if r.Type == AddedFromPool {
			items[r.Winner] += r.Value
			added += r.Value
			continue
		}
		if moved[r.Drop] || r.Value != drops[r.Drop].Value {
			return fmt.Errorf("battle: drop %d moved twice or changed its value", r.Drop)
		}
		moved[r.Drop] = true
		count++
		if r.Type == Dropped {
			items[r.Winner] += r.Value
		} else {
			removed += r.Value
		}
	}
	if count != int64(len(drops)) {
		return fmt.Errorf("battle: %d of %d drops settled", count, len(drops))
	}
	return s.balance(items[:len(s.Bundles)], removed, added)
}

// balance holds the sums of the records against what the Settlement claims.
func (s *Settlement) balance(items []int64, removed, added int64) error {
	left := s.Value
	var cash int64
	for w, b := range s.Bundles {
		if b.Items != items[w] {
			return fmt.Errorf("battle: seat %d holds %d, booked %d", b.Seat, items[w], b.Items)
		}
		left -= b.Items + b.Cash
		cash += b.Cash
	}
	switch {
	case s.HouseGain != left,
		s.HouseGain != removed-added-cash,
		s.HouseGain != s.Remainder+s.Residual-s.Overshoot-cash,
		s.Removed != removed, s.Added != added, s.Cash != cash:
		return fmt.Errorf("battle: books do not balance: house gain %d, %d left", s.HouseGain, left)
	}
	return nil
}
