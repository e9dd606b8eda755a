package battle

import (
	"slices"
	"strconv"
)

// An independent model of the source's settlement, written from its description statement by statement: maps by user,
// lists that are filtered, sorted and spliced anew. It is the oracle of the property tests and a yardstick for speed.

type sourceBattle struct {
	teams   int
	shared  bool
	flip    bool
	players []sourcePlayer
	rounds  []sourceItem // in the order of opening
	items   []sourceItem // the catalogue
}

type sourcePlayer struct {
	user string
	team int
}

type sourceItem struct {
	user, item, kind string
	cents            int64
	round            int
	drop             int // which drop it is, to compare by
}

type sourcePile struct {
	items []sourceItem
	total int64
}

type sourceResult struct {
	team  int
	users []string
	piles map[string]*sourcePile
	rows  []sourceItem
}

func sourceBattleOf(d Drops, catalogue []int64) sourceBattle {
	b := sourceBattle{teams: d.Layout.Teams, shared: d.Mode == Shared, flip: d.Lowest}
	seats := d.Layout.Seats()
	for seat := range seats {
		b.players = append(b.players, sourcePlayer{"u" + strconv.Itoa(seat), d.Layout.Team(seat)})
	}
	for i, drop := range d.Drops {
		b.rounds = append(b.rounds, sourceItem{
			user: b.players[i%seats].user, item: "i" + strconv.Itoa(int(drop.Item)),
			cents: drop.Value, round: i/seats + 1, drop: i,
		})
	}
	for i, value := range catalogue {
		b.items = append(b.items, sourceItem{item: "c" + strconv.Itoa(i), cents: value, drop: -1})
	}
	return b
}

func byCents(a, b sourceItem) int {
	switch {
	case a.cents < b.cents:
		return -1
	case a.cents > b.cents:
		return 1
	}
	return 0
}

func (b sourceBattle) settle(unsorted bool) sourceResult {
	team, users := b.winners()
	var pot int64
	for _, r := range b.rounds {
		pot += r.cents
	}
	share := pot / int64(len(users))

	drops := slices.Clone(b.rounds)
	if !unsorted {
		slices.SortStableFunc(drops, func(x, y sourceItem) int { return byCents(y, x) })
	}
	var spread, removed []sourceItem
	for _, d := range drops {
		if d.cents > share {
			d.kind, d.user = "REMOVED_TO_POOL", users[0]
			removed = append(removed, d)
		} else {
			spread = append(spread, d)
		}
	}

	piles := map[string]*sourcePile{}
	for _, u := range users {
		piles[u] = &sourcePile{}
	}
	for _, d := range spread {
		who := users[0]
		least := piles[who].total
		for _, u := range users {
			if piles[u].total < least {
				who, least = u, piles[u].total
			}
		}
		d.kind, d.user = "DROPPED", who
		piles[who].items = append(piles[who].items, d)
		piles[who].total += d.cents
	}

	for _, u := range users {
		removed = append(removed, piles[u].trim(u, share)...)
	}
	for _, u := range users {
		if deficit := share - piles[u].total; deficit > 0 {
			for _, c := range b.compensation(deficit) {
				c.kind, c.user = "ADDED_FROM_POOL", u
				piles[u].items = append(piles[u].items, c)
				piles[u].total += c.cents
			}
		}
	}

	var rows []sourceItem
	for _, u := range users {
		rows = append(rows, piles[u].items...)
	}
	return sourceResult{team, users, piles, append(rows, removed...)}
}

func (b sourceBattle) winners() (int, []string) {
	opened := map[string]int64{}
	for _, r := range b.rounds {
		opened[r.user] += r.cents
	}
	totals := map[int]int64{}
	for _, p := range b.players {
		totals[p.team] += opened[p.user]
	}
	team := 0
	if !b.shared {
		ranking := []int{}
		for t := 1; t <= b.teams; t++ {
			ranking = append(ranking, t)
		}
		slices.SortStableFunc(ranking, func(x, y int) int {
			diff := byCents(sourceItem{cents: totals[y]}, sourceItem{cents: totals[x]})
			if b.flip {
				return -diff
			}
			return diff
		})
		if totals[ranking[0]] != totals[ranking[1]] {
			team = ranking[0]
		}
	}
	var users []string
	for _, p := range b.players {
		if team == 0 || p.team == team {
			users = append(users, p.user)
		}
	}
	return team, users
}

func (p *sourcePile) trim(user string, share int64) (removed []sourceItem) {
	for p.total > share {
		excess := p.total - share
		held := slices.Clone(p.items)
		slices.SortStableFunc(held, byCents)
		var fitting []sourceItem
		for _, i := range held {
			if i.cents <= excess {
				fitting = append(fitting, i)
			}
		}
		if len(fitting) == 0 {
			break
		}
		out := fitting[len(fitting)-1]
		at := slices.IndexFunc(p.items, func(i sourceItem) bool { return i.item == out.item })
		out.drop = p.items[at].drop
		p.items = slices.Delete(p.items, at, at+1)
		p.total -= out.cents
		out.kind = "REMOVED_TO_POOL"
		removed = append(removed, out)
	}
	return removed
}

func (b sourceBattle) compensation(target int64) (picked []sourceItem) {
	var eligible []sourceItem
	for _, c := range b.items {
		if c.cents > 0 && c.cents <= target+1000 {
			eligible = append(eligible, c)
		}
	}
	slices.SortStableFunc(eligible, func(x, y sourceItem) int { return byCents(y, x) })
	left := target
	for left > 0 && len(picked) < 200 {
		at := slices.IndexFunc(eligible, func(c sourceItem) bool { return c.cents <= left })
		if at < 0 {
			break
		}
		picked = append(picked, eligible[at])
		left -= eligible[at].cents
	}
	return picked
}
