package feed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// hall is several battles over one ledger, with the lists that follow it.
type hall struct {
	t     testing.TB
	money *ledger.Ledger
	list  *List
	games []*game
}

func newHall(t testing.TB) *hall { return &hall{t: t, money: bank(t), list: NewList()} }

func (h *hall) journal(after uint64) []ledger.Entry {
	h.t.Helper()
	entries, err := h.money.Journal(context.Background(), ledger.JournalQuery{After: after})
	require.NoError(h.t, err)
	return entries
}

// follow applies what is new in the journal.
func (h *hall) follow() {
	h.t.Helper()
	for _, e := range h.journal(h.list.Seq()) {
		require.NoError(h.t, h.list.Apply(e))
	}
}

// open creates a battle at noon and some minutes.
func (h *hall) open(id string, minutes int, edit ...func(*battle.Config)) *game {
	h.t.Helper()
	g := newGame(h.t, duo(append(edit, func(c *battle.Config) { c.ID = id })...), h.money)
	g.now = noon.Add(time.Duration(minutes) * time.Minute)
	g.do(glasshouse.System, battle.Create{})
	h.games = append(h.games, g)
	return g
}

// expected is the list made from the states of the battles alone, by sorting.
func (h *hall) expected(match func(Battle) bool) []Battle {
	out := []Battle{}
	for _, g := range h.games {
		b := Response(g.s, "", people)
		b.Rounds, b.SettlementData = nil, nil
		if !g.cfg.Private && match(b) {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b Battle) int {
		switch {
		case a.CreatedAt != b.CreatedAt:
			return -compare(a.CreatedAt, b.CreatedAt)
		default:
			return -compare(a.ID, b.ID)
		}
	})
	return out
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func ids(battles []Battle) []string {
	out := []string{}
	for _, b := range battles {
		out = append(out, b.ID)
	}
	return out
}

func TestLists(t *testing.T) {
	h := newHall(t)
	require.Equal(t, `{"battles":[],"total":0,"hasMore":false}`, jsonOf(t, h.list.Page(Filter{}, nil)))
	require.Equal(t, `[]`, jsonOf(t, h.list.Active(Filter{}, nil)))

	h.open("w1", 1)
	h.open("secret", 2, private)
	done := h.open("f1", 3)
	done.do("ana", battle.AddBots{})
	done.finish()
	flip := h.open("p1", 3, func(c *battle.Config) { c.Lowest = true })
	flip.do("ana", battle.AddBots{})
	h.open("c1", 0).do("ana", battle.Cancel{})
	h.follow()

	require.Equal(t, []string{"p1", "w1"}, ids(h.list.Active(Filter{}, people)))
	require.Equal(t, []string{"w1"}, ids(h.list.Active(Filter{Status: "WAITING"}, people)))
	require.Equal(t, []string{"f1"}, ids(h.list.Active(Filter{Status: "FINISHED"}, people)), "the default can be overruled")
	require.Equal(t, []string{"p1"}, ids(h.list.Active(Filter{Mode: "FLIP"}, people)))

	all := h.list.Page(Filter{}, people)
	require.Equal(t, []string{"p1", "f1", "w1", "c1"}, ids(all.Battles), "p1 and f1 are of the same moment")
	require.Equal(t, 4, all.Total)
	require.False(t, all.HasMore)
	for status, want := range map[string]string{"WAITING": "w1", "IN_PROGRESS": "p1", "FINISHED": "f1", "CANCELLED": "c1"} {
		got := h.list.Page(Filter{Status: status}, people)
		require.Equal(t, []string{want}, ids(got.Battles))
		require.Equal(t, 1, got.Total)
	}
	require.Equal(t, []string{"f1", "w1", "c1"}, ids(h.list.Page(Filter{Mode: "NORMAL"}, people).Battles))
	require.Empty(t, h.list.Page(Filter{Mode: "normal"}, people).Battles)

	finished := h.list.Page(Filter{Status: "FINISHED"}, people).Battles[0]
	require.NotNil(t, finished.Winner)
	require.NotEmpty(t, finished.Winners)
	require.Nil(t, finished.Rounds)
	require.Nil(t, finished.SettlementData)
	require.Equal(t, "Ana", finished.Creator.Username)
}

func TestPages(t *testing.T) {
	h := newHall(t)
	for i := range 13 {
		h.open(fmt.Sprintf("b%02d", i), i)
	}
	h.follow()
	for _, c := range []struct {
		f     Filter
		first string
		n     int
		more  bool
	}{
		{Filter{}, "b12", 10, true},
		{Filter{Offset: 3}, "b09", 10, false},
		{Filter{Offset: 2}, "b10", 10, true},
		{Filter{Offset: -5, Limit: -1}, "b12", 10, true},
		{Filter{Limit: 13}, "b12", 13, false},
		{Filter{Limit: 5, Offset: 10}, "b02", 3, false},
		{Filter{Limit: 5, Offset: 13}, "", 0, false},
		{Filter{Limit: 5, Offset: 99}, "", 0, false},
	} {
		got := h.list.Page(c.f, nil)
		require.Len(t, got.Battles, c.n, "%+v", c.f)
		require.Equal(t, 13, got.Total, "%+v", c.f)
		require.Equal(t, c.more, got.HasMore, "%+v", c.f)
		if c.n > 0 {
			require.Equal(t, c.first, got.Battles[0].ID, "%+v", c.f)
		}
	}
	require.Len(t, h.list.Active(Filter{}, nil), 13)
	for i := range 40 {
		h.open(fmt.Sprintf("c%02d", i), 20+i)
	}
	h.follow()
	require.Len(t, h.list.Active(Filter{}, nil), 50, "the source's default")
}

// What a caller does to his page does not reach the list, and profiles are those of the moment.
func TestPagesAreTheCallers(t *testing.T) {
	h := newHall(t)
	g := h.open("f1", 0)
	g.do("ana", battle.AddBots{})
	g.finish()
	h.follow()
	want := jsonOf(t, h.list.Page(Filter{}, nil))
	got := h.list.Page(Filter{}, people).Battles[0]
	got.Players[0].Username, got.Winners[0].Username, got.Cases[0].Name = "x", "x", "x"
	got.Winner.Username, *got.WinnerTeam = "x", 9
	require.Equal(t, want, jsonOf(t, h.list.Page(Filter{}, nil)))
}

// In any history, the list that followed the journal, one made anew, and one that heard each entry twice are the same,
// and what the battles themselves say.
func TestListIsRebuildable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHall(t)
		for i := range rapid.IntRange(1, 5).Draw(rt, "battles") {
			edits := []func(*battle.Config){duel, func(c *battle.Config) {
				c.Private = rapid.IntRange(0, 3).Draw(rt, "private") == 0
				c.Lowest = rapid.Bool().Draw(rt, "lowest")
			}}
			g := h.open(fmt.Sprintf("b%d", i), rapid.IntRange(0, 2).Draw(rt, "minute"), edits...)
			h.follow()
			switch rapid.IntRange(0, 4).Draw(rt, "story") {
			case 1:
				g.do("ana", battle.Cancel{})
			case 2:
				g.do("ana", battle.AddBots{})
			case 3:
				g.do("ana", battle.AddBots{})
				g.finish()
			case 4:
				if !g.cfg.Private {
					g.do("bob", battle.Join{Team: 2})
				}
			}
		}
		h.follow()
		anew := NewList()
		for _, e := range h.journal(0) {
			require.NoError(rt, anew.Apply(e))
			require.NoError(rt, anew.Apply(e))
		}
		open := func(b Battle) bool { return b.Status == "WAITING" || b.Status == "IN_PROGRESS" }
		for _, l := range []*List{h.list, anew} {
			require.Equal(rt, h.expected(func(Battle) bool { return true }), l.Page(Filter{}, people).Battles)
			require.Equal(rt, h.expected(open), l.Active(Filter{}, people))
			require.Len(rt, l.running, h.count(), "nothing is kept of battles that are over but their row")
		}
	})
}

func (h *hall) count() int {
	n := 0
	for _, g := range h.games {
		if !g.s.Status().Done() {
			n++
		}
	}
	return n
}

// A broken journal stops the list where it is.
func TestListRefusesWhatDoesNotFollow(t *testing.T) {
	h := newHall(t)
	g := h.open("b", 0)
	g.do("bob", battle.Join{Team: 2})
	entries := h.journal(0)
	require.Len(t, entries, 3)
	create, join := entries[1], entries[2]

	alter := func(e ledger.Entry, change func(*ledger.Tx)) ledger.Entry {
		e.Tx.Docs = slices.Clone(e.Tx.Docs)
		change(&e.Tx)
		return e
	}
	fresh := func() *List { return NewList() }
	begun := func() *List {
		l := NewList()
		require.NoError(t, l.Apply(create))
		return l
	}
	for name, c := range map[string]struct {
		l *List
		e ledger.Entry
	}{
		"unknown battle": {fresh(), join},
		"no config":      {fresh(), alter(create, func(tx *ledger.Tx) { tx.Docs = tx.Docs[:1] })},
		"bad config":     {fresh(), alter(create, func(tx *ledger.Tx) { tx.Docs[1].Body = []byte(`{}`) })},
		"bad snapshot":   {fresh(), alter(create, func(tx *ledger.Tx) { tx.Docs[0].Body = []byte(`{}`) })},
		"bad memo":       {begun(), alter(join, func(tx *ledger.Tx) { tx.Memo = []byte(`{}`) })},
		"another turn":   {begun(), alter(join, func(tx *ledger.Tx) { tx.Memo = create.Tx.Memo })},
	} {
		seq, page := c.l.Seq(), jsonOf(t, c.l.Page(Filter{}, nil))
		err := c.l.Apply(c.e)
		require.Error(t, err, name)
		if name == "unknown battle" {
			require.ErrorContains(t, err, "journal entry 3: ")
			require.ErrorContains(t, err, "version 2 of an unknown battle")
		}
		if name != "bad config" { // New says which field
			_, corrupt := errors.AsType[*glasshouse.CorruptError](err)
			require.True(t, corrupt, "%s: %v", name, err)
		}
		require.Equal(t, seq, c.l.Seq(), name)
		require.Equal(t, page, jsonOf(t, c.l.Page(Filter{}, nil)), name)
	}
	l := begun()
	require.NoError(t, l.Apply(join))
	require.Equal(t, join.Seq, l.Seq())
	require.Len(t, l.Page(Filter{}, nil).Battles[0].Players, 2)
}
