package battle

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse/internal/wire"
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
		row := vectorRecord{UserID: winners[int(r.Winner)], ValueCents: text(r.Value)}
		if r.Type == AddedFromPool {
			row.ItemID = v.Input.Catalog[int(r.Catalogue)].ItemID
			require.Equal(t, [2]int{-1, -1}, [2]int{int(r.Drop), int(r.Booked)})
		} else {
			row.ItemID = items[d.Drops[int(r.Drop)].Item]
			row.RoundNumber = int(r.Booked)/d.Layout.Seats() + 1
			require.Equal(t, -1, int(r.Catalogue))
		}
		switch r.Type {
		case Dropped:
			row.Type = "DROPPED"
			require.Equal(t, int(r.Drop), int(r.Booked))
		case AddedFromPool:
			row.Type = "ADDED_FROM_POOL"
		case RemovedToPool:
			row.Type = "REMOVED_TO_POOL"
			if r.Value > s.Share {
				got.OverShareItems++
				break
			}
			require.NotEmpty(t, trace)
			require.Equal(t, trace[0].UserID, winners[int(r.Winner)])
			require.Equal(t, trace[0].RecordedRound, int(r.Booked)/d.Layout.Seats()+1)
			require.Equal(t, trace[0].SplicedRound, int(r.Drop)/d.Layout.Seats()+1)
			trace = trace[1:]
		}
		records = append(records, row)
		if r.Type != RemovedToPool && !v.Input.Players[s.Winners[int(r.Winner)]].Bot { // bots get nothing
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

// The other policies' figures in the vectors: the pot, what everybody gets, and what is sold.
func TestOtherPolicyVectors(t *testing.T) {
	f := loadVectors(t)
	inputs := map[string]vector{}
	for _, v := range f.Vectors {
		inputs[v.ID] = v
	}
	require.Len(t, f.OtherPolicies.Vectors, 9)
	for _, want := range f.OtherPolicies.Vectors {
		t.Run(want.ID, func(t *testing.T) {
			v := inputs[want.ID]
			d, items := v.Input.drops(t)
			seats := d.Layout.Seats()
			s, err := Settle(d, Policy{Payout: ExactCash, Ties: SplitAll})
			require.NoError(t, err)
			require.Equal(t, want.TotalCents, text(s.Value))
			piles := make([][]soldItem, len(s.Winners))
			var sold []soldItem
			for _, r := range s.Records {
				item := soldItem{items[d.Drops[int(r.Drop)].Item], int(r.Drop)/seats + 1, int(r.Drop) % seats, text(r.Value)}
				if r.Type == RemovedToPool {
					require.Equal(t, -1, int(r.Winner))
					sold = append(sold, item)
				} else {
					piles[int(r.Winner)] = append(piles[int(r.Winner)], item)
				}
			}
			require.Equal(t, len(want.Sold), len(sold))
			require.ElementsMatch(t, want.Sold, sold)
			for w, b := range s.Bundles {
				exact := want.ExactCash[w]
				require.Equal(t, exact.UserID, v.Input.Players[b.Seat].ID)
				require.Equal(t, exact.Entitlement, text(b.Items+b.Cash))
				require.Equal(t, exact.Cash, text(b.Cash))
				require.Equal(t, len(exact.Items), len(piles[w]))
				for i, item := range exact.Items {
					require.Equal(t, item, piles[w][i])
				}
			}

			s, err = Settle(d, Policy{Payout: WholeItems, Ties: SplitAll})
			require.NoError(t, err)
			counts := make([]int, len(s.Winners))
			for _, r := range s.Records {
				counts[int(r.Winner)]++
			}
			for w, b := range s.Bundles {
				require.Equal(t, want.EfxItems[w].UserID, v.Input.Players[b.Seat].ID)
				require.Equal(t, want.EfxItems[w].Total, text(b.Items))
				require.Equal(t, want.EfxItems[w].Items, counts[w])
			}
		})
	}
}

// PoolCash on the inputs of the vectors, calculated from the vectors' own figures for Pool.
func TestPoolCashOnVectors(t *testing.T) {
	for _, v := range loadVectors(t).Vectors {
		if v.Expected.Error != "" {
			continue
		}
		d, _ := v.Input.drops(t)
		p := sourcePolicy(v)
		p.Payout = PoolCash
		s, err := Settle(d, p)
		require.NoError(t, err)
		share, rest := cents(t, v.Expected.FairShareCents), cents(t, v.Expected.RemainderCents)
		var cash int64
		for w, user := range v.Expected.Winners {
			final := cents(t, v.Expected.PerWinner[user].Final)
			paid := int64(0)
			if final < share {
				paid = share - final
			}
			if int64(w) < rest {
				paid++
			}
			require.Equal(t, final, s.Bundles[w].Items, v.ID)
			require.Equal(t, paid, s.Bundles[w].Cash, v.ID)
			cash += paid
		}
		require.Equal(t, cash, s.Cash)
		require.Equal(t, -cents(t, v.Expected.Accounting.OvershootCents), s.HouseGain, v.ID)
		require.Equal(t, v.Expected.Accounting.ResidualDeficitCents, text(s.Residual))
	}
}

// The source's seating of bots leaves team 3 of S38 without members. Neither its seats nor its three drops with a team
// that has none can get here: a number of drops that is no number of full rounds is refused.
func TestTeamWithoutMembersCannotBeSettled(t *testing.T) {
	for _, v := range loadVectors(t).Vectors {
		if v.ID == "S38" {
			require.Equal(t, -1, v.Input.playerAt(Layout{3, 1}, 2))
			d, _ := v.Input.drops(t)
			require.Len(t, d.Drops, 2)
			_, err := Settle(d, sourcePolicy(v))
			require.Error(t, err)
		}
	}
}

func TestSettleRefuses(t *testing.T) {
	good := duel(Normal, false, []int64{1, 2}, []int64{3, 4})
	policy := Policy{Payout: Pool, Ties: SplitAll}
	_, err := Settle(good, policy)
	require.NoError(t, err)
	for _, c := range []struct {
		want   string
		change func(d *Drops, p *Policy)
	}{
		{"9 teams of 1", func(d *Drops, _ *Policy) { d.Layout.Teams = 9 }},
		{"mode invalid(0)", func(d *Drops, _ *Policy) { d.Mode = 0 }},
		{"mode invalid(6)", func(d *Drops, _ *Policy) { d.Mode = 6 }},
		{"lowest has no meaning", func(d *Drops, _ *Policy) { d.Mode, d.Lowest = Shared, true }},
		{"payout invalid(0)", func(_ *Drops, p *Policy) { p.Payout = 0 }},
		{"payout invalid(5)", func(_ *Drops, p *Policy) { p.Payout = 5 }},
		{"ties invalid(0)", func(_ *Drops, p *Policy) { p.Ties = 0 }},
		{"ties invalid(5)", func(_ *Drops, p *Policy) { p.Ties = 5 }},
		{"unsorted has no meaning", func(_ *Drops, p *Policy) { p.Payout, p.Unsorted = ExactCash, true }},
		{"unsorted has no meaning", func(_ *Drops, p *Policy) { p.Payout, p.Unsorted = WholeItems, true }},
		{"0 drops", func(d *Drops, _ *Policy) { d.Drops = nil }},
		{"3 drops", func(d *Drops, _ *Policy) { d.Drops = d.Drops[:3] }},
		{"22 drops", func(d *Drops, _ *Policy) { d.Drops = make([]Drop, 22) }},
		{"drop 1: value -1", func(d *Drops, _ *Policy) { d.Drops[1].Value = -1 }},
		{"drop 0: value 1000000000000001", func(d *Drops, _ *Policy) { d.Drops[0].Value = MaxCents + 1 }},
	} {
		d, p := good, policy
		d.Drops = append([]Drop(nil), good.Drops...)
		c.change(&d, &p)
		s, err := Settle(d, p)
		require.ErrorContains(t, err, "battle: "+c.want)
		require.Empty(t, s)
	}
}

func TestLargestBattleDoesNotOverflow(t *testing.T) {
	d := Drops{Layout: Layout{MaxTeams, MaxTeamSize}, Mode: Shared, Drops: make([]Drop, 320)}
	for i := range d.Drops {
		d.Drops[i].Value = MaxCents
	}
	for payout := Pool; payout <= WholeItems; payout++ {
		s, err := Settle(d, Policy{Payout: payout, Ties: SplitAll})
		require.NoError(t, err)
		require.Equal(t, int64(320*MaxCents), s.Value)
		for _, b := range s.Bundles {
			require.Equal(t, int64(10*MaxCents), b.Items)
		}
	}
	d.Mode, d.Lowest = Jackpot, true
	d.Draw = &script{word: func(string, uint64, uint64) uint64 { return 7*320*MaxCents - 1 }}
	s, err := Settle(d, Policy{Payout: Pool, Ties: SplitAll})
	require.NoError(t, err)
	require.Equal(t, 8, s.Team, "the last ticket belongs to the last team")
}

// The input is read, never written, and nothing of it is kept.
func TestSettleLeavesItsInputAlone(t *testing.T) {
	d, _ := benchDrops(t, false)
	before := append([]Drop(nil), d.Drops...)
	s, err := Settle(d, Policy{Payout: Pool, Ties: SplitAll})
	require.NoError(t, err)
	require.Equal(t, before, d.Drops)
	again, err := Settle(d, Policy{Payout: Pool, Ties: SplitAll})
	require.NoError(t, err)
	clear(d.Drops)
	s.Totals[0]++ // the lists are the caller's own
	s.Totals = append(s.Totals, 1)
	require.NotEqual(t, s.Totals[0], again.Totals[0])
	require.Equal(t, s.Scores, again.Scores)
}

// Copies of an item are known by identity and value; where an item came at two prices, no value may slip away.
func TestItemAtTwoPricesStaysConserved(t *testing.T) {
	d := Drops{Layout: Layout{2, 2}, Mode: Shared, Drops: []Drop{{1, 9}, {1, 2}, {2, 3}, {2, 3}, {1, 2}, {1, 1}, {3, 0}, {3, 0}}}
	for _, unsorted := range []bool{false, true} {
		s, err := Settle(d, Policy{Payout: Pool, Ties: SplitAll, Unsorted: unsorted})
		require.NoError(t, err)
		require.Equal(t, s.Removed-s.Added, s.HouseGain)
	}
}

func TestBooksThatDoNotBalanceAreAnError(t *testing.T) {
	d := duel(Shared, false, []int64{10, 99}, []int64{3, 4})
	c, err := NewCatalogue([]int64{5})
	require.NoError(t, err)
	d.Catalogue = c
	fresh := func() Settlement {
		s, err := Settle(d, Policy{Payout: PoolCash, Ties: SplitAll})
		require.NoError(t, err)
		return s
	}
	good := fresh()
	require.NoError(t, good.audit(d.Drops))
	require.Equal(t, []int{0, 3, 2}, []int{int(good.Records[0].Drop), int(good.Records[10].Drop), int(good.Records[11].Drop)})
	for name, change := range map[string]func(s *Settlement){
		"a drop twice":          func(s *Settlement) { s.Records[10] = s.Records[0] },
		"a drop missing":        func(s *Settlement) { s.Records = s.Records[1:] },
		"a drop's value":        func(s *Settlement) { s.Records[0].Value++; s.Bundles[0].Items++ },
		"a bundle":              func(s *Settlement) { s.Bundles[0].Items++ },
		"a record's winner":     func(s *Settlement) { s.Records[0].Winner = 1 },
		"cash":                  func(s *Settlement) { s.Bundles[1].Cash++ },
		"the sum of cash":       func(s *Settlement) { s.Cash++ },
		"the sum removed":       func(s *Settlement) { s.Removed++ },
		"the sum added":         func(s *Settlement) { s.Added++ },
		"the pot":               func(s *Settlement) { s.Value++ },
		"the remainder":         func(s *Settlement) { s.Remainder++ },
		"the residual":          func(s *Settlement) { s.Residual++ },
		"the overshoot":         func(s *Settlement) { s.Overshoot++ },
		"the gain":              func(s *Settlement) { s.HouseGain++ },
		"the gain and the pot":  func(s *Settlement) { s.HouseGain++; s.Value++ },
		"the gain and the rest": func(s *Settlement) { s.HouseGain++; s.Value++; s.Remainder++ },
	} {
		s := fresh()
		change(&s)
		require.Error(t, s.audit(d.Drops), name)
	}
}

func TestSettlementJSON(t *testing.T) {
	d := duel(Normal, false, []int64{8, 3, 8}, []int64{1, 0, 1})
	d.Draw = rolls(map[int]uint64{1: 6, 3: 7})
	s, err := Settle(d, Policy{Payout: ExactCash, Ties: ExtraRoll})
	require.NoError(t, err)
	s.Records = s.Records[:1]
	data, err := wire.Marshal(s)
	require.NoError(t, err)
	require.Equal(t, `{"outcome":"team_wins","team":3,"totals":["9","3","9"],"scores":["9","3","9"],`+
		`"tie_rolls":[{"attempt":0,"team":1,"roll":"6"},{"attempt":0,"team":3,"roll":"7"}],"winners":[2],`+
		`"value":"21","share":"21","remainder":"0","bundles":[{"seat":2,"distributed":"21","kept":"21","added":"0",`+
		`"added_count":0,"items":"21","cash":"0"}],"records":[{"type":"dropped","winner":0,"drop":0,"booked":0,`+
		`"catalogue":-1,"value":"8"}],"removed":"0","added":"0","cash":"0","residual_deficit":"0","overshoot":"0",`+
		`"house_gain":"0","cap_hit":false}`, string(data))
	var back Settlement
	require.NoError(t, wire.Unmarshal(data, &back))
	require.Equal(t, s, back)

	for _, bad := range []string{`["1",2]`, `["+1"]`, `["01"]`, `["1e3"]`, `["9223372036854775808"]`, `"1"`, `[""]`} {
		var a Amounts
		require.Error(t, wire.Unmarshal([]byte(bad), &a), bad)
	}
	var a Amounts
	require.NoError(t, wire.Unmarshal([]byte(`["-3","0","9223372036854775807"]`), &a))
	require.Equal(t, Amounts{-3, 0, 1<<63 - 1}, a)
}

func TestSettlementJSONRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, _ := drawDrops(t)
		s := settled(t, d, drawPolicy(t))
		data, err := wire.Marshal(s)
		require.NoError(t, err)
		var back Settlement
		require.NoError(t, wire.Unmarshal(data, &back))
		require.Equal(t, s, back)
	})
}

func TestOutcomeAndRecordNames(t *testing.T) {
	for k, name := range map[OutcomeKind]string{TeamWins: "team_wins", Tied: "tied", EverybodyWins: "everybody_wins", Refunded: "refunded"} {
		require.Equal(t, name, k.String())
		var back OutcomeKind
		require.NoError(t, back.UnmarshalText([]byte(name)))
		require.Equal(t, k, back)
	}
	for k, name := range map[RecordType]string{Dropped: "dropped", RemovedToPool: "removed_to_pool", AddedFromPool: "added_from_pool"} {
		require.Equal(t, name, k.String())
		var back RecordType
		require.NoError(t, back.UnmarshalText([]byte(name)))
		require.Equal(t, k, back)
	}
	_, err := RecordType(0).MarshalText()
	require.Error(t, err)
	_, err = OutcomeKind(5).MarshalText()
	require.Error(t, err)
}

// Unsorted, even the drop that was opened first can be the one that is taken away: 5 of a pile of 35, the share is 30.
func TestTheFirstDropCanBeTheExcess(t *testing.T) {
	d := duel(Shared, false, []int64{5, 6}, []int64{30, 20})
	s, err := Settle(d, Policy{Payout: Pool, Ties: SplitAll, Unsorted: true})
	require.NoError(t, err)
	require.Equal(t, []int64{35, 30}, []int64{s.Bundles[0].Distributed, s.Bundles[0].Kept})
	require.Equal(t, Record{RemovedToPool, 0, 0, 0, -1, 5}, s.Records[3])
}
