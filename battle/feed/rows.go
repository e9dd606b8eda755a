package feed

import (
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/fair/legacy"
)

// RoundRow is a row of the source's BattleRound, without id and createdAt, which its database fills in.
type RoundRow struct {
	BattleID       string `json:"battleId"`
	RoundNumber    int    `json:"roundNumber"` // from 1
	PlayerID       string `json:"playerId"`    // the seat, Player.ID: the key of a BattlePlayer is the host's
	CaseID         string `json:"caseId"`
	ItemID         string `json:"itemId"`
	ItemValueCents string `json:"itemValueCents"`
	ItemName       string `json:"itemName"`
	ItemImage      string `json:"itemImage"`
	ItemRarity     string `json:"itemRarity"`
	// Row52 holds serverSeed, serverSeedHash, clientSeed, nonce and the four flip fields of a battle under
	// Compat.Legacy52: legacy.Record52 verifies it as it is. It is nil otherwise, and the fields are left out: a roll of
	// fair/v2 has no seeds of its own, and a row with other seeds in these places would fail the source's check. Such
	// a battle is verified from its record, see battle.Verify.
	*legacy.Row52
	Roll   uint64 `json:"roll"` // 1..10,000,000
	IsFlip bool   `json:"isFlip"`
}

// RoundRows are the rows of the rounds opened so far, round by round in seat order. What they hold is public.
func RoundRows(s *battle.State) []RoundRow {
	v := s.View("")
	rows := make([]RoundRow, len(v.Rolls))
	for i, r := range v.Rolls {
		rows[i] = RoundRow{
			BattleID: v.ID, RoundNumber: r.Round, PlayerID: playerID(v.ID, r.Seat), CaseID: v.Cases[r.Round-1].ID,
			ItemID: r.Item.ID, ItemValueCents: decimal(r.Item.Value), ItemName: r.Item.Name, ItemImage: r.Item.Image,
			ItemRarity: r.Item.Rarity, Row52: row52(r), Roll: r.Roll, IsFlip: r.Flip,
		}
	}
	return rows
}

// row52 is the source's fairness fields. Its second seed draws nothing: the flip has the first roll.
func row52(r battle.RollView) *legacy.Row52 {
	if r.Legacy == nil {
		return nil
	}
	row := &legacy.Row52{
		ServerSeed: r.Legacy.ServerSeed, ServerSeedHash: r.Legacy.ServerSeedHash.String(), ClientSeed: r.Legacy.ClientSeed,
		Nonce: r.Legacy.Nonce, Roll: r.Roll, IsFlip: r.Flip, ItemID: r.Item.ID,
	}
	if r.Flip {
		seed, client, nonce, roll := row.ServerSeed+"_flip", row.ClientSeed, row.Nonce+1, row.Roll
		row.FlipServerSeed, row.FlipClientSeed, row.FlipNonce, row.FlipRoll = &seed, &client, &nonce, &roll
	}
	return row
}

// SettlementRow is a row of the source's BattleSettlement, without id and createdAt, which its database fills in.
type SettlementRow struct {
	BattleID string `json:"battleId"`
	// UserID keeps or gets the item, or is the one whom the source books a removed item on: the first winner for a drop
	// worth more than the share, whoever opened it, and likewise for a drop sold under ExactCash.
	UserID     string `json:"odUserId"`
	ItemID     string `json:"itemId"`
	Type       string `json:"type"` // DROPPED, REMOVED_TO_POOL, ADDED_FROM_POOL
	ValueCents string `json:"valueCents"`
	// RoundNumber is the source's: where copies of an item are in play, the round of the copy that it writes down, not
	// always of the one that moved. It is nil for ADDED_FROM_POOL.
	RoundNumber *int `json:"roundNumber"`
}

// SettlementRows are the rows of a finished battle in the source's order, and none of any other. Cash is not in the
// source's table: see battle.Bundle. A refunded battle has no rows.
func SettlementRows(s *battle.State) []SettlementRow {
	v := s.View("")
	if v.Settlement == nil {
		return nil
	}
	cfg, st := s.Config(), *v.Settlement
	rows := make([]SettlementRow, len(st.Records))
	for i, r := range st.Records {
		rows[i] = SettlementRow{
			BattleID: v.ID, UserID: holder(v, st, r), ItemID: itemOf(cfg, v, r).ID, Type: upper(r.Type), ValueCents: decimal(r.Value),
		}
		if r.Type != battle.AddedFromPool {
			rows[i].RoundNumber = &v.Rolls[r.Booked].Round
		}
	}
	return rows
}
