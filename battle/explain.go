package battle

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Labels turns the indexes of a Settlement into words for Explain. A nil function stands for plain numbers: "seat 3",
// "drop 17", "catalogue item 4", and cents with two decimals.
type Labels struct {
	Seat   func(seat int) string
	Item   func(r Record) string
	Amount func(cents int64) string
}

func (l Labels) seat(seat int) string {
	if l.Seat == nil {
		return "seat " + strconv.Itoa(seat)
	}
	return l.Seat(seat)
}

func (l Labels) item(r Record) string {
	switch {
	case l.Item != nil:
		return l.Item(r)
	case r.Type == AddedFromPool:
		return "catalogue item " + strconv.Itoa(int(r.Catalogue))
	}
	return "drop " + strconv.Itoa(int(r.Drop))
}

func (l Labels) amount(cents int64) string {
	if l.Amount != nil {
		return l.Amount(cents)
	}
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

// Explain writes the settlement for people to read: who won and why, what every winner gets, what was removed, and
// the house's account. It has the shape of the source's debug log, without its contradictions. An error is w's.
func (s Settlement) Explain(w io.Writer, l Labels) error {
	var b bytes.Buffer
	s.explainOutcome(&b, l)
	if s.Outcome != Refunded {
		s.explainBundles(&b, l)
		s.explainHouse(&b, l)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (s Settlement) explainOutcome(b *bytes.Buffer, l Labels) {
	for t, total := range s.Totals {
		fmt.Fprintf(b, "Team %d: %s", t+1, l.amount(total))
		if !slices.Equal(s.Scores, s.Totals) {
			fmt.Fprintf(b, " (compared: %d)", s.Scores[t])
		}
		b.WriteByte('\n')
	}
	if s.Ticket > 0 {
		fmt.Fprintf(b, "Ticket drawn: %d\n", s.Ticket)
	}
	for _, r := range s.TieRolls {
		fmt.Fprintf(b, "Extra roll %d of team %d: %d\n", r.Attempt+1, r.Team, r.Roll)
	}
	switch s.Outcome {
	case TeamWins:
		fmt.Fprintf(b, "Team %d wins.\n", s.Team)
	case Tied:
		b.WriteString("A tie at the top: the items are shared.\n")
	case EverybodyWins:
		b.WriteString("Everybody wins.\n")
	case Refunded:
		b.WriteString("A tie at the top: the entries go back.\n")
	}
}

func (s Settlement) explainBundles(b *bytes.Buffer, l Labels) {
	fmt.Fprintf(b, "Pot %s, %s: %s each", l.amount(s.Value), plural(len(s.Winners), "winner"), l.amount(s.Share))
	if s.Remainder > 0 {
		fmt.Fprintf(b, ", %s left over", l.amount(s.Remainder))
	}
	b.WriteByte('\n')
	for w, bundle := range s.Bundles {
		fmt.Fprintf(b, "\n%s: %s in items", l.seat(bundle.Seat), l.amount(bundle.Items))
		if bundle.Cash > 0 {
			fmt.Fprintf(b, ", %s in cash", l.amount(bundle.Cash))
		}
		switch diff := bundle.Items + bundle.Cash - s.Share; {
		case diff > 0:
			fmt.Fprintf(b, ", %s above the share", l.amount(diff))
		case diff < 0:
			fmt.Fprintf(b, ", %s below the share", l.amount(-diff))
		}
		b.WriteByte('\n')
		s.explainItems(b, l, w)
	}
	if s.CapHit {
		fmt.Fprintf(b, "\nThe limit of %d added items kept a winner from more.\n", maxAdded)
	}
}

// explainItems lists a winner's items; copies added one after the other make one line.
func (s Settlement) explainItems(b *bytes.Buffer, l Labels, w int) {
	for i := 0; i < len(s.Records); i++ {
		r := s.Records[i]
		switch {
		case int(r.Winner) != w:
		case r.Type == Dropped:
			fmt.Fprintf(b, "  keeps %s, %s\n", l.item(r), l.amount(r.Value))
		case r.Type == AddedFromPool:
			copies := 1
			for ; i+1 < len(s.Records) && s.Records[i+1] == r; i++ {
				copies++
			}
			fmt.Fprintf(b, "  is added %d × %s, %s\n", copies, l.item(r), l.amount(r.Value))
		}
	}
}

func (s Settlement) explainHouse(b *bytes.Buffer, l Labels) {
	b.WriteByte('\n')
	for _, r := range s.Records {
		switch {
		case r.Type != RemovedToPool:
		case r.Winner == nobody:
			fmt.Fprintf(b, "Sold to the house: %s, %s\n", l.item(r), l.amount(r.Value))
		case r.Value > s.Share:
			fmt.Fprintf(b, "To the house: %s, %s, more than a share\n", l.item(r), l.amount(r.Value))
		default:
			fmt.Fprintf(b, "To the house: %s, %s, in excess of %s's share\n",
				l.item(r), l.amount(r.Value), l.seat(s.Winners[r.Winner]))
		}
	}
	fmt.Fprintf(b, "House: %s removed - %s added - %s cash = %s\n",
		l.amount(s.Removed), l.amount(s.Added), l.amount(s.Cash), l.amount(s.HouseGain))
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}

// Explain writes the battle so far for people to read: how it was created, who sits where, what was opened round by
// round, and once it is finished the settlement. Nothing in it is secret. An error is w's.
func (s *State) Explain(w io.Writer) error {
	var b bytes.Buffer
	cfg, v := &s.setup.cfg, s.View("")
	fmt.Fprintf(&b, "Battle %s, %s, mode %s", cfg.ID, cfg.Layout, cfg.Mode)
	if cfg.Lowest {
		b.WriteString(", the lowest wins")
	}
	l := Labels{Item: func(r Record) string { return s.itemOf(r).Name }}
	fmt.Fprintf(&b, ", by %s; a seat costs %s %s\n", cfg.Creator, l.amount(s.setup.entry), cfg.Asset)
	fmt.Fprintf(&b, "Commitment %s, config %s\n", v.Commitment, v.ConfigHash)
	names := make([]string, len(v.Seats))
	for i, p := range v.Seats {
		names[i] = p.User
		switch {
		case p.User == "":
			names[i] = "free"
		case p.Bot:
			names[i] = p.Name
		}
		fmt.Fprintf(&b, "  team %d, seat %d: %s\n", p.Team, i, names[i])
	}
	for _, r := range v.Rolls {
		if r.Seat == 0 {
			fmt.Fprintf(&b, "Round %d of %d, %s\n", r.Round, len(cfg.Cases), cfg.Cases[r.Round-1].Name)
		}
		flip := ""
		if r.Flip {
			flip = ", second roulette"
		}
		fmt.Fprintf(&b, "  %s rolls %d: %s, %s%s\n", names[r.Seat], r.Roll, r.Item.Name, l.amount(r.Item.Value), flip)
	}
	switch {
	case v.Cancelled != nil:
		fmt.Fprintf(&b, "Cancelled, every entry paid back: %q\n", v.Cancelled.Reason)
	case v.Settlement != nil:
		l.Seat = func(seat int) string { return names[seat] }
		if err := v.Settlement.Explain(&b, l); err != nil {
			return err
		}
	default:
		fmt.Fprintf(&b, "It is %s\n", v.Status)
	}
	_, err := w.Write(b.Bytes())
	return err
}
