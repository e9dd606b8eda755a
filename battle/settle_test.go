package battle

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The known answers of the source's settlement.
type vectorFile struct {
	Vectors       []vector
	OtherPolicies struct {
		Vectors []struct {
			ID         string
			Winners    []string
			TotalCents string
			ExactCash  []struct {
				UserID      string
				Entitlement string
				Items       []soldItem
				Cash        string
			}
			Sold     []soldItem
			EfxItems []struct {
				UserID string
				Total  string
				Items  int
			}
		}
	}
}

type soldItem struct {
	ItemID      string
	Round, Seat int
	ValueCents  string
}

type vector struct {
	ID, Name, Reading string
	Input             vectorInput
	Expected          struct {
		Error          string
		TeamTotals     map[string]string
		WinnerTeam     int
		IsTie          bool
		IsSplitAll     bool
		WinnerID       string
		Winners        []string
		TotalCents     string
		FairShareCents string
		RemainderCents string
		PerWinner      map[string]perWinner
		Records        []vectorRecord
		Profits        map[string]string
		Inventory      map[string][]string
		Accounting     accounting
	}
	Step6Trace []struct {
		UserID, ItemID, ValueCents  string
		RecordedRound, SplicedRound int
	}
}

type vectorInput struct {
	Type, Mode, EntryCents string
	Players                []struct {
		ID   string
		Team int
		Bot  bool
	}
	Rounds  [][]vectorItem
	Catalog []vectorItem
}

type vectorItem struct{ ItemID, ValueCents string }

type perWinner struct {
	AfterDistribution, Kept, AddedValue string
	AddedCount                          int
	Final                               string
}

type vectorRecord struct {
	UserID, ItemID, Type, ValueCents string
	RoundNumber                      int // null for added items
}

type accounting struct {
	OverShareItems                                       int
	RemovedCents, AddedCents, FinalCents, BotFinalCents  string
	ResidualDeficitCents, OvershootCents, HouseGainCents string
	CapHit                                               bool
}

func loadVectors(t testing.TB) vectorFile {
	t.Helper()
	data, err := os.ReadFile("testdata/battle_settlement.json")
	require.NoError(t, err)
	var f vectorFile
	require.NoError(t, json.Unmarshal(data, &f))
	require.Len(t, f.Vectors, 31)
	return f
}

func cents(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}

func text(n int64) string { return strconv.FormatInt(n, 10) }

// drops seats the players of a vector, and with them their drops: what a seat lacks is left out.
func (in vectorInput) drops(t testing.TB) (d Drops, items []string) {
	t.Helper()
	layout, err := ParseLayout(in.Type)
	require.NoError(t, err)
	d.Layout = layout
	switch in.Mode {
	case "NORMAL":
		d.Mode = Normal
	case "FLIP":
		d.Mode, d.Lowest = Normal, true
	case "SHARED":
		d.Mode = Shared
	default:
		t.Fatalf("mode %q", in.Mode)
	}
	ids := map[string]int32{}
	for _, round := range in.Rounds {
		for seat := range layout.Seats() {
			player := in.playerAt(layout, seat)
			if player < 0 {
				continue
			}
			item := round[player]
			id, ok := ids[item.ItemID]
			if !ok {
				id = int32(len(items))
				ids[item.ItemID] = id
				items = append(items, item.ItemID)
			}
			d.Drops = append(d.Drops, Drop{Item: id, Value: cents(t, item.ValueCents)})
		}
	}
	var values []int64
	for _, item := range in.Catalog {
		values = append(values, cents(t, item.ValueCents))
	}
	d.Catalogue, err = NewCatalogue(values)
	require.NoError(t, err)
	return d, items
}

// playerAt is the player of a seat, -1 if it is empty.
func (in vectorInput) playerAt(l Layout, seat int) int {
	team, slot := l.Team(seat), seat%l.Size
	for i, p := range in.Players {
		if p.Team != team {
			continue
		}
		if slot == 0 {
			return i
		}
		slot--
	}
	return -1
}

func sourcePolicy(v vector) Policy {
	return Policy{Payout: Pool, Ties: SplitAll, Unsorted: v.Reading == "B"}
}

func TestVectors(t *testing.T) {
	for _, v := range loadVectors(t).Vectors {
		t.Run(v.ID, func(t *testing.T) {
			d, items := v.Input.drops(t)
			s, err := Settle(d, sourcePolicy(v))
			if v.Expected.Error != "" {
				require.ErrorContains(t, err, "2 drops, want 1 to 10 full rounds of 3")
				require.Empty(t, s)
				return
			}
			require.NoError(t, err)
			checkVector(t, v, d, items, s)
		})
	}
}

func checkVector(t *testing.T, v vector, d Drops, items []string, s Settlement) {
	want := v.Expected
	user := func(seat int) string { return v.Input.Players[seat].ID }

	require.Len(t, s.Totals, len(want.TeamTotals))
	for i, total := range s.Totals {
		require.Equal(t, want.TeamTotals[strconv.Itoa(i+1)], text(total))
	}
	require.Equal(t, s.Totals, s.Scores)
	require.Equal(t, want.WinnerTeam, s.Team)
	require.Equal(t, want.IsTie, s.Outcome == Tied)
	require.Equal(t, want.IsSplitAll, s.Outcome == Tied || s.Outcome == EverybodyWins)
	require.Equal(t, want.WinnerID, user(s.Winners[0]))
	var winners []string
	for _, seat := range s.Winners {
		winners = append(winners, user(seat))
	}
	require.Equal(t, want.Winners, winners)
	require.Equal(t, want.TotalCents, text(s.Value))
	require.Equal(t, want.FairShareCents, text(s.Share))
	require.Equal(t, want.RemainderCents, text(s.Remainder))

	got := accounting{
		RemovedCents: text(s.Removed), AddedCents: text(s.Added), HouseGainCents: text(s.HouseGain),
		ResidualDeficitCents: text(s.Residual), OvershootCents: text(s.Overshoot), CapHit: s.CapHit,
	}
	bundles := map[string]perWinner{}
	inventory := map[string][]string{}
	var final, bots int64
	for _, b := range s.Bundles {
		bundles[user(b.Seat)] = perWinner{
			AfterDistribution: text(b.Distributed), Kept: text(b.Kept),
			AddedValue: text(b.Added), AddedCount: b.AddedCount, Final: text(b.Items),
		}
		require.Zero(t, b.Cash)
		final += b.Items
		if v.Input.Players[b.Seat].Bot {
			bots += b.Items
		}
		inventory[user(b.Seat)] = []string{}
	}
	require.Equal(t, want.PerWinner, bundles)

	var records []vectorRecord
	trace := v.Step6Trace
	for _, r := range s.Records {
		row := vectorRecord{UserID: winners[r.Winner], ValueCents: text(r.Value)}
		if r.Type == AddedFromPool {
			row.ItemID = v.Input.Catalog[r.Catalogue].ItemID
			require.Equal(t, [2]int{-1, -1}, [2]int{r.Drop, r.Booked})
		} else {
			row.ItemID = items[d.Drops[r.Drop].Item]
			row.RoundNumber = r.Booked/d.Layout.Seats() + 1
			require.Equal(t, -1, r.Catalogue)
		}
		switch r.Type {
		case Dropped:
			row.Type = "DROPPED"
			require.Equal(t, r.Drop, r.Booked)
		case AddedFromPool:
			row.Type = "ADDED_FROM_POOL"
		case RemovedToPool:
			row.Type = "REMOVED_TO_POOL"
			if r.Value > s.Share {
				got.OverShareItems++
				break
			}
			require.NotEmpty(t, trace)
			require.Equal(t, trace[0].UserID, winners[r.Winner])
			require.Equal(t, trace[0].RecordedRound, r.Booked/d.Layout.Seats()+1)
			require.Equal(t, trace[0].SplicedRound, r.Drop/d.Layout.Seats()+1)
			trace = trace[1:]
		}
		records = append(records, row)
		if r.Type != RemovedToPool && !v.Input.Players[s.Winners[r.Winner]].Bot { // bots get nothing
			inventory[row.UserID] = append(inventory[row.UserID], row.ItemID)
		}
	}
	require.Empty(t, trace)
	require.Equal(t, want.Records, records)
	require.Equal(t, want.Inventory, inventory)
	got.FinalCents, got.BotFinalCents = text(final), text(bots)
	require.Equal(t, want.Accounting, got)

	for seat, p := range v.Input.Players {
		require.Equal(t, want.Profits[p.ID], text(s.Profit(seat, cents(t, v.Input.EntryCents))))
	}
}
