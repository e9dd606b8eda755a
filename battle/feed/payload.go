package feed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/internal/wire"
)

// The payloads of the socket messages, in the source's words. A field that the source may leave undefined is left out
// when it is; null stands only where the source has null.

// Person is a user, in places where the source calls him by id and username.
type Person struct {
	ID        string `json:"id"`
	Username  string `json:"username"`
	AvatarURL string `json:"avatarUrl,omitempty"`
}

type createdBattle struct {
	ID              string        `json:"id"`
	Mode            string        `json:"mode"`
	Lowest          bool          `json:"lowest,omitempty"` // beyond the source
	Type            string        `json:"type"`
	Status          string        `json:"status"`
	TotalValueCents string        `json:"totalValueCents"` // what a seat costs
	PlayersCount    int           `json:"playersCount"`
	MaxPlayers      int           `json:"maxPlayers"`
	Creator         Person        `json:"creator"`
	Cases           []createdCase `json:"cases"`
	IsPrivate       bool          `json:"isPrivate"`
}

type createdCase struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	ImageURL string `json:"imageUrl"`
	Order    int    `json:"order"`
}

type playerJoined struct {
	BattleID string       `json:"battleId"`
	Player   joinedPlayer `json:"player"`
}

type joinedPlayer struct {
	UserID    string `json:"odUserId"`
	Username  string `json:"odUsername"`
	AvatarURL string `json:"odAvatarUrl,omitempty"`
	Team      int    `json:"team"`
}

type playerLeft struct {
	BattleID string `json:"battleId"`
	UserID   string `json:"odUserId"`
	Team     int    `json:"team"`
}

type updated struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	PlayersCount int    `json:"playersCount"`
	MaxPlayers   int    `json:"maxPlayers"`
}

type starting struct {
	BattleID string `json:"battleId"`
	StartsAt string `json:"startsAt"` // the end of the countdown
}

type roundStart struct {
	BattleID    string `json:"battleId"`
	RoundNumber int    `json:"roundNumber"`
	CaseID      string `json:"caseId"`
	CaseName    string `json:"caseName"`
}

type roundResult struct {
	BattleID    string         `json:"battleId"`
	RoundNumber int            `json:"roundNumber"`
	Results     []playerResult `json:"results"`
}

type playerResult struct {
	PlayerID       string          `json:"odPlayerId"`
	Username       string          `json:"odUsername"`
	ItemID         string          `json:"itemId"`
	ItemName       string          `json:"itemName"`
	ItemImage      string          `json:"itemImage"`
	ItemRarity     string          `json:"itemRarity"`
	ItemValueCents string          `json:"itemValueCents"`
	Roll           uint64          `json:"roll"`
	IsFlip         bool            `json:"isFlip"`
	FlipRoll       *uint64         `json:"flipRoll,omitempty"`
	FlipItems      json.RawMessage `json:"flipItems,omitempty"`   // []rouletteItem
	NormalItems    json.RawMessage `json:"normalItems,omitempty"` // []rouletteItem
}

type rouletteItem struct {
	ID             string      `json:"id"`
	ItemID         string      `json:"itemId"`
	ItemName       string      `json:"itemName"`
	ItemImage      string      `json:"itemImage"`
	Rarity         string      `json:"rarity"`
	ValueCents     string      `json:"valueCents"`
	ValueFormatted string      `json:"valueFormatted"`
	DropChance     json.Number `json:"dropChance"`
	Weight         uint64      `json:"weight"`
	WeaponCategory *string     `json:"weaponCategory"`
	Exterior       string      `json:"exterior,omitempty"`
	IsStatTrak     bool        `json:"isStatTrak"`
}

type statePush struct {
	CurrentPhase          string `json:"currentPhase"`
	PhaseEndsAt           int64  `json:"phaseEndsAt"`
	CurrentRound          int    `json:"currentRound"`
	HasFlipInCurrentRound bool   `json:"hasFlipInCurrentRound"`
	SpinStartedAt         int64  `json:"spinStartedAt"`
	ServerTime            int64  `json:"serverTime"`
}

// finished is the payload of battle:finished and battle:completed.
type finished struct {
	BattleID       string                   `json:"battleId"`
	Winners        []Winner                 `json:"winners"`
	TotalPotCents  string                   `json:"totalPotCents"` // the value shared out
	SettlementData map[string][]SettledItem `json:"settlementData"`
	IsRefunded     bool                     `json:"isRefunded,omitempty"` // beyond the source
}

type cancelled struct {
	BattleID string `json:"battleId"`
	Reason   string `json:"reason"`
}

type liveDrop struct {
	UserName       string      `json:"userName"`
	UserAvatar     string      `json:"userAvatar,omitempty"`
	ItemName       string      `json:"itemName"`
	ItemImage      string      `json:"itemImage"`
	ItemValueCents string      `json:"itemValueCents"`
	Rarity         string      `json:"rarity"`
	Source         string      `json:"source"`
	Timestamp      string      `json:"timestamp"`
	DropChance     json.Number `json:"dropChance"`
	IsTopDrop      bool        `json:"isTopDrop"`
	CaseImage      string      `json:"caseImage,omitempty"`
}

// balance says whose balance changed; how much he has is the ledger's to say.
type balance struct {
	UserID string `json:"userId"`
}

func (f *scene) createdPayload() createdBattle {
	who := f.who(f.cfg.Creator)
	b := createdBattle{
		ID: f.cfg.ID, Mode: modeName(f.v), Lowest: lowestMark(f.v), Type: f.cfg.Layout.SourceName(),
		Status: upper(battle.StatusWaiting), TotalValueCents: decimal(f.v.Entry),
		PlayersCount: 1, MaxPlayers: f.cfg.Layout.Seats(), // the creator
		Creator: Person{f.cfg.Creator, who.Username, who.AvatarURL}, IsPrivate: f.cfg.Private,
	}
	for i, cs := range f.cfg.Cases {
		b.Cases = append(b.Cases, createdCase{cs.ID, cs.Name, cs.Image, i})
	}
	return b
}

// results are the rolls of one round. The roulettes are the same for every player, and long, so they are written once.
func (f *scene) results(rolls []battle.Rolled, roulettes bool) []playerResult {
	out := make([]playerResult, len(rolls))
	var normal, flip json.RawMessage
	for i, r := range rolls {
		cs := f.cfg.Cases[r.Round-1]
		user, item := f.v.Seats[r.Seat].User, cs.Items[r.Row].Item
		out[i] = playerResult{
			PlayerID: user, Username: f.who(user).Username,
			ItemID: item.ID, ItemName: item.Name, ItemImage: item.Image, ItemRarity: item.Rarity,
			ItemValueCents: decimal(item.Value), Roll: r.Roll, IsFlip: r.Flip, FlipRoll: flipRoll(r),
		}
		if !roulettes {
			continue
		}
		if normal == nil {
			normal = encode(roulette(cs.Items))
		}
		out[i].NormalItems = normal
		if r.Flip {
			if flip == nil {
				flip = encode(roulette(flipItems(cs)))
			}
			out[i].FlipItems = flip
		}
	}
	return out
}

// flipRoll is the source's: the same roll again.
func flipRoll(r battle.Rolled) *uint64 {
	if !r.Flip {
		return nil
	}
	return &r.Roll
}

// flipItems are the rows of the second roulette: those whose whole range is at or above the threshold.
func flipItems(cs battle.Case) []battle.CaseItem {
	var out []battle.CaseItem
	for _, it := range cs.Items {
		if it.First >= cs.FlipThreshold {
			out = append(out, it)
		}
	}
	return out
}

// roulette is what the wheel shows: the rows by value, the dearest first, equal ones in the case's order.
func roulette(rows []battle.CaseItem) []rouletteItem {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b battle.CaseItem) int { return cmp.Compare(b.Item.Value, a.Item.Value) })
	out := make([]rouletteItem, len(rows))
	for i, it := range rows {
		out[i] = rouletteItem{
			ID: it.Row, ItemID: it.Item.ID, ItemName: it.Item.Name, ItemImage: it.Item.Image, Rarity: it.Item.Rarity,
			ValueCents: decimal(it.Item.Value), ValueFormatted: formatted(it.Item.Value),
			DropChance: chance(it), Weight: it.Weight, Exterior: it.Exterior, IsStatTrak: it.StatTrak,
		}
		if it.WeaponCategory != "" {
			out[i].WeaponCategory = &it.WeaponCategory
		}
	}
	return out
}

// chance is the text of the case, which Config.Validate holds to be a JSON number, else the exact chance.
func chance(it battle.CaseItem) json.Number {
	if it.DropChance != "" {
		return json.Number(it.DropChance)
	}
	return json.Number(it.Chance())
}

// modeName is the source's name of a mode; those beyond the source are named alike.
func modeName(v battle.View) string {
	if v.Mode == battle.Normal && v.Lowest {
		return "FLIP"
	}
	return upper(v.Mode)
}

// lowestMark is set where the mode's name does not say that the comparison is turned round.
func lowestMark(v battle.View) bool { return v.Lowest && v.Mode != battle.Normal }

func upper(name fmt.Stringer) string { return strings.ToUpper(name.String()) }

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// formatted is cents with two decimals.
func formatted(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

// iso is an instant in ms as JavaScript's toISOString writes it.
func iso(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// encode writes plain data of our own.
func encode(v any) json.RawMessage {
	b, err := wire.Marshal(v)
	if err != nil {
		panic("feed: " + err.Error())
	}
	return b
}
