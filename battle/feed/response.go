package feed

import (
	"slices"
	"strconv"

	"github.com/glasshouse-go/glasshouse/battle"
)

// Battle is the source's BattleResponseDto.
type Battle struct {
	ID                  string                   `json:"id"`
	Mode                string                   `json:"mode"`
	Lowest              bool                     `json:"lowest,omitempty"` // beyond the source: see the package's comment
	Type                string                   `json:"type"`
	Status              string                   `json:"status"`
	Creator             Person                   `json:"creator"`
	Winner              *Person                  `json:"winner,omitempty"`     // the first winner, also where several share
	WinnerTeam          *int                     `json:"winnerTeam,omitempty"` // 0 where no single team won
	IsRefunded          bool                     `json:"isRefunded,omitempty"` // beyond the source
	Players             []Player                 `json:"players"`              // taken seats, in order
	Cases               []Case                   `json:"cases"`
	TotalValueCents     string                   `json:"totalValueCents"` // what a seat costs
	TotalValueFormatted string                   `json:"totalValueFormatted"`
	IsPrivate           bool                     `json:"isPrivate"`
	JoinCode            string                   `json:"joinCode,omitempty"` // for the creator only
	CreatedAt           string                   `json:"createdAt"`          // ISO 8601, UTC, ms
	StartedAt           string                   `json:"startedAt,omitempty"`
	FinishedAt          string                   `json:"finishedAt,omitempty"` // not of a cancelled battle
	Winners             []Winner                 `json:"winners,omitzero"`
	SettlementData      map[string][]SettledItem `json:"settlementData,omitzero"` // by user
	Rounds              []Round                  `json:"rounds,omitzero"`
}

// Player is a taken seat. The source's position is never set, so it is not here.
type Player struct {
	ID                   string `json:"id"` // of the seat, "9:0" in battle 9; see RoundRow.PlayerID
	UserID               string `json:"odUserId"`
	Username             string `json:"odUsername"`
	AvatarURL            string `json:"odAvatarUrl,omitempty"`
	Team                 int    `json:"team"`
	TotalProfitCents     string `json:"totalProfitCents"` // "0" until the battle is finished
	TotalProfitFormatted string `json:"totalProfitFormatted"`
}

// Case is the case of one round.
type Case struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	ImageURL       string `json:"imageUrl"`
	PriceCents     string `json:"priceCents"`
	PriceFormatted string `json:"priceFormatted"`
	Order          int    `json:"order"` // from 0
}

// Winner is one of those who share.
type Winner struct {
	UserID        string `json:"odUserId"`
	Username      string `json:"odUsername"`
	AvatarURL     string `json:"odAvatarUrl,omitempty"`
	Team          int    `json:"team"`
	TotalWonCents string `json:"totalWonCents"`       // items and cash
	CashCents     string `json:"cashCents,omitempty"` // beyond the source: the part in cash, where there is one
}

// SettledItem is what became of one item; Type is DROPPED, REMOVED_TO_POOL or ADDED_FROM_POOL.
type SettledItem struct {
	ItemID     string `json:"itemId"`
	ItemName   string `json:"itemName"`
	ItemImage  string `json:"itemImage"`
	ItemRarity string `json:"itemRarity"`
	ValueCents string `json:"valueCents"`
	Type       string `json:"type"`
}

// Round is one opened case.
type Round struct {
	RoundNumber int      `json:"roundNumber"` // from 1
	CaseID      string   `json:"caseId"`
	Results     []Result `json:"results"` // in seat order
}

// Result is one player's item of a round.
type Result struct {
	UserID         string  `json:"odUserId"`
	Username       string  `json:"odUsername"`
	ItemID         string  `json:"itemId"`
	ItemName       string  `json:"itemName"`
	ItemImage      string  `json:"itemImage"`
	ItemRarity     string  `json:"itemRarity"`
	ItemValueCents string  `json:"itemValueCents"`
	Roll           uint64  `json:"roll"`
	IsFlip         bool    `json:"isFlip"`
	FlipRoll       *uint64 `json:"flipRoll,omitempty"`
}

// Response is a battle, created at least, as viewer may see it; "" is a spectator. Winner, winners, settlement and
// rounds are there once the battle is finished.
func Response(s *battle.State, viewer string, profiles Profiles) Battle {
	v := s.View(viewer)
	b := brief(v)
	if v.Settlement != nil {
		b.SettlementData = settlementData(s.Config(), v, *v.Settlement)
		b.Rounds = openedRounds(v)
	}
	b.name(profiles)
	return b
}

// brief is what lists hold: everything but the settlement of the items and the rounds.
func brief(v battle.View) Battle {
	b := Battle{
		ID: v.ID, Mode: modeName(v), Lowest: lowestMark(v), Type: v.Layout.SourceName(), Status: upper(v.Status),
		Creator: Person{ID: v.Creator, Username: v.Creator}, Players: []Player{},
		TotalValueCents: decimal(v.Entry), TotalValueFormatted: formatted(v.Entry),
		IsPrivate: v.Private, JoinCode: v.Code, CreatedAt: iso(v.CreatedAt),
	}
	if v.StartedAt > 0 {
		b.StartedAt = iso(v.StartedAt)
	}
	if v.Status == battle.StatusFinished {
		b.FinishedAt = iso(v.EndedAt)
	}
	for i, seat := range v.Seats {
		if seat.User != "" {
			b.Players = append(b.Players, player(v, i))
		}
	}
	for _, cs := range v.Cases {
		b.Cases = append(b.Cases, Case{cs.ID, cs.Name, cs.Image, decimal(cs.Price), formatted(cs.Price), cs.Order})
	}
	if st := v.Settlement; st != nil {
		b.WinnerTeam, b.IsRefunded, b.Winners = &st.Team, st.Outcome == battle.Refunded, winners(v, *st)
		if len(b.Winners) > 0 {
			b.Winner = &Person{ID: b.Winners[0].UserID, Username: b.Winners[0].Username}
		}
	}
	return b
}

func player(v battle.View, i int) Player {
	seat := v.Seats[i]
	var profit int64
	if seat.Profit != nil {
		profit = *seat.Profit
	}
	return Player{
		ID: playerID(v.ID, i), UserID: seat.User, Username: seatName(seat), Team: seat.Team,
		TotalProfitCents: decimal(profit), TotalProfitFormatted: formatted(profit),
	}
}

// playerID stands for the key of the source's BattlePlayer.
func playerID(id string, seat int) string { return id + ":" + strconv.Itoa(seat) }

// seatName is how the battle itself shows who sits there.
func seatName(seat battle.SeatView) string {
	if seat.Bot {
		return seat.Name
	}
	return seat.User
}

// winners are those of a settlement, never nil.
func winners(v battle.View, st battle.Settlement) []Winner {
	out := make([]Winner, len(st.Winners))
	for i, at := range st.Winners {
		seat, bundle := v.Seats[at], st.Bundles[i]
		out[i] = Winner{
			UserID: seat.User, Username: seatName(seat), Team: seat.Team, TotalWonCents: decimal(bundle.Items + bundle.Cash),
		}
		if bundle.Cash > 0 {
			out[i].CashCents = decimal(bundle.Cash)
		}
	}
	return out
}

// settlementData is what became of every item, by winner: what he keeps, what was added for him, what was taken away.
func settlementData(cfg battle.Config, v battle.View, st battle.Settlement) map[string][]SettledItem {
	out := make(map[string][]SettledItem, len(st.Winners))
	for _, at := range st.Winners {
		out[v.Seats[at].User] = []SettledItem{}
	}
	for _, r := range st.Records {
		user, item := holder(v, st, r), itemOf(cfg, v, r)
		out[user] = append(out[user], SettledItem{item.ID, item.Name, item.Image, item.Rarity, decimal(r.Value), upper(r.Type)})
	}
	return out
}

// holder is the winner on whom a record is booked. The source books what no winner held on the first one; so do we with
// drops sold under ExactCash.
func holder(v battle.View, st battle.Settlement, r battle.Record) string {
	return v.Seats[st.Winners[max(r.Winner, 0)]].User
}

func itemOf(cfg battle.Config, v battle.View, r battle.Record) battle.Item {
	if r.Type == battle.AddedFromPool {
		return cfg.Catalogue[r.Catalogue]
	}
	return v.Rolls[r.Drop].Item
}

func openedRounds(v battle.View) []Round {
	out := make([]Round, len(v.Cases))
	for i, cs := range v.Cases {
		out[i] = Round{RoundNumber: i + 1, CaseID: cs.ID}
	}
	for _, r := range v.Rolls {
		seat, round := v.Seats[r.Seat], &out[r.Round-1]
		round.Results = append(round.Results, Result{
			UserID: seat.User, Username: seatName(seat), ItemID: r.Item.ID, ItemName: r.Item.Name, ItemImage: r.Item.Image,
			ItemRarity: r.Item.Rarity, ItemValueCents: decimal(r.Item.Value), Roll: r.Roll, IsFlip: r.Flip, FlipRoll: flipRoll(r.Rolled),
		})
	}
	return out
}

// name puts the profiles in.
func (b *Battle) name(p Profiles) {
	var none string
	p.show(b.Creator.ID, &b.Creator.Username, &b.Creator.AvatarURL)
	if b.Winner != nil {
		p.show(b.Winner.ID, &b.Winner.Username, &none) // the source's winner has no avatar
	}
	for i := range b.Players {
		p.show(b.Players[i].UserID, &b.Players[i].Username, &b.Players[i].AvatarURL)
	}
	for i := range b.Winners {
		b.Winners[i].name(p)
	}
	for _, r := range b.Rounds {
		for i := range r.Results {
			p.show(r.Results[i].UserID, &r.Results[i].Username, &none)
		}
	}
}

func (w *Winner) name(p Profiles) { p.show(w.UserID, &w.Username, &w.AvatarURL) }

// listed is a copy of what a list holds, for one caller with his profiles.
func (b Battle) listed(p Profiles) Battle {
	b.Players, b.Winners, b.Cases = slices.Clone(b.Players), slices.Clone(b.Winners), slices.Clone(b.Cases)
	if b.Winner != nil {
		w := *b.Winner
		b.Winner = &w
	}
	if b.WinnerTeam != nil {
		t := *b.WinnerTeam
		b.WinnerTeam = &t
	}
	b.name(p)
	return b
}
