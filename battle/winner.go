package battle

import (
	"errors"
	"fmt"

	"github.com/glasshouse-go/glasshouse/fair"
)

// maxTieAttempts is beyond all luck: 256 times level is one chance in 10^1792, or a broken source of draws.
const maxTieAttempts = 256

// teamSet has bit t−1 for each team t in it.
type teamSet uint16

func allTeams(l Layout) teamSet      { return 1<<l.Teams - 1 }
func oneTeam(team int) teamSet       { return 1 << (team - 1) }
func (s teamSet) has(team int) bool  { return s&oneTeam(team) != 0 }
func (s teamSet) only(team int) bool { return s == oneTeam(team) }
func (s *teamSet) add(team int)      { *s |= oneTeam(team) }
func (s teamSet) seats(l Layout) []int {
	out := make([]int, 0, l.Seats())
	for seat := range l.Seats() {
		if s.has(l.Team(seat)) {
			out = append(out, seat)
		}
	}
	return out
}

// leaders is the set of the teams with the best score, and the first of them: the highest, or the lowest.
func leaders(scores []int64, lowest bool) (teamSet, int) {
	var set teamSet
	best := 0
	for i, score := range scores {
		switch {
		case i > 0 && score == scores[best]:
			set.add(i + 1)
		case i == 0 || score > scores[best] != lowest:
			set, best = oneTeam(i+1), i
		}
	}
	return set, best + 1
}

// judge fills in Totals, Scores and everything about who won, and says which teams share the items: none when the
// battle is refunded.
func (s *Settlement) judge(d Drops, ties Ties) (teamSet, error) {
	s.score(d)
	switch d.Mode {
	case Shared:
		s.Outcome = EverybodyWins
		return allTeams(d.Layout), nil
	case Jackpot:
		return s.drawJackpot(d)
	}
	set, first := leaders(s.Scores, d.Lowest && d.Mode != Points) // Points turns the single rounds round instead
	if set.only(first) {
		return s.teamWins(first), nil
	}
	switch ties {
	case SplitAll:
		s.Outcome = Tied
		return allTeams(d.Layout), nil
	case SplitTied:
		s.Outcome = Tied
		return set, nil
	case Refund:
		s.Outcome = Refunded
		return 0, nil
	default:
		return s.rollTies(d, set)
	}
}

func (s *Settlement) teamWins(team int) teamSet {
	s.Outcome, s.Team = TeamWins, team
	return oneTeam(team)
}

// score adds up the totals, and the scores by which this mode compares.
func (s *Settlement) score(d Drops) {
	teams := d.Layout.Teams
	sums := make(Amounts, 2*teams)
	s.Totals, s.Scores = sums[:teams:teams], sums[teams:]
	var round [MaxTeams]int64
	for rest := d.Drops; len(rest) > 0; rest = rest[d.Layout.Seats():] {
		for t := range teams {
			round[t] = 0
			for _, drop := range rest[t*d.Layout.Size:][:d.Layout.Size] {
				round[t] += drop.Value
			}
			s.Totals[t] += round[t]
		}
		if d.Mode == Points {
			s.award(round[:teams], d.Lowest)
		}
	}
	switch d.Mode {
	case Points: // counted above
	case Terminal:
		copy(s.Scores, round[:teams])
	default:
		copy(s.Scores, s.Totals)
	}
}

// award gives a point to each team at the top of a round.
func (s *Settlement) award(round []int64, lowest bool) {
	set, _ := leaders(round, lowest)
	for t := range round {
		if set.has(t + 1) {
			s.Scores[t]++
		}
	}
}

// drawJackpot draws the winning team, each with the weight of its total, or with Lowest of everything but its total.
func (s *Settlement) drawJackpot(d Drops) (teamSet, error) {
	if d.Draw == nil {
		return 0, errors.New("battle: a jackpot needs a source of draws")
	}
	var sum int64
	if d.Lowest {
		pot := s.pot()
		for t, total := range s.Totals {
			s.Scores[t] = pot - total
		}
	}
	for _, weight := range s.Scores {
		sum += weight
	}
	if sum == 0 { // nobody opened anything of value: all alike
		for t := range s.Scores {
			s.Scores[t] = 1
		}
		sum = int64(len(s.Scores))
	}
	s.Ticket = fair.Roll(d.Draw.At("jackpot", 0, 0), uint64(sum))
	return s.teamWins(holderOf(s.Scores, s.Ticket)), nil
}

// holderOf is the team whose weights, added up in team order, reach the ticket first.
func holderOf(weights []int64, ticket uint64) int {
	left := int64(ticket)
	for t, weight := range weights {
		if left -= weight; left <= 0 {
			return t + 1
		}
	}
	panic("battle: ticket beyond the weights")
}

// rollTies lets the tied teams roll until one of them is ahead of the others.
func (s *Settlement) rollTies(d Drops, tied teamSet) (teamSet, error) {
	if d.Draw == nil {
		return 0, errors.New("battle: a tie under extra_roll needs a source of draws")
	}
	for attempt := range maxTieAttempts {
		var still teamSet
		var best uint64
		for team := 1; team <= d.Layout.Teams; team++ {
			if !tied.has(team) {
				continue
			}
			roll := fair.Roll(d.Draw.At("tie", uint64(attempt), uint64(team)), MaxRoll)
			s.TieRolls = append(s.TieRolls, TieRoll{Attempt: attempt, Team: team, Roll: roll})
			switch {
			case still != 0 && roll == best:
				still.add(team)
			case still == 0 || roll > best != d.Lowest:
				still, best = oneTeam(team), roll
			}
		}
		for team := 1; team <= d.Layout.Teams; team++ {
			if still.only(team) {
				return s.teamWins(team), nil
			}
		}
		tied = still
	}
	return 0, fmt.Errorf("battle: teams still level after %d rolls", maxTieAttempts)
}

func (s *Settlement) pot() int64 {
	var sum int64
	for _, total := range s.Totals {
		sum += total
	}
	return sum
}
