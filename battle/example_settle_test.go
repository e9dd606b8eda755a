package battle_test

import (
	"fmt"
	"os"

	"github.com/glasshouse-go/glasshouse/battle"
)

// Two against two, one case. Team 2 opened more and shares all four items. Under Pool the house is 1.50 short, because
// nobody gives back what he holds above the share; under ExactCash it buys what does not fit.
func ExampleSettle() {
	d := battle.Drops{
		Layout: battle.Layout{Teams: 2, Size: 2},
		Mode:   battle.Normal,
		Drops:  []battle.Drop{{Item: 1, Value: 500}, {Item: 2, Value: 0}, {Item: 3, Value: 600}, {Item: 4, Value: 400}},
	}
	d.Catalogue, _ = battle.NewCatalogue([]int64{999, 130, 10})
	for _, payout := range []battle.Payout{battle.Pool, battle.ExactCash} {
		s, err := battle.Settle(d, battle.Policy{Payout: payout, Ties: battle.SplitAll})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%v: house gain %d cents\n", payout, s.HouseGain)
		if err := s.Explain(os.Stdout, battle.Labels{}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// pool: house gain -150 cents
	// Team 1: 5.00
	// Team 2: 10.00
	// Team 2 wins.
	// Pot 15.00, 2 winners: 7.50 each
	//
	// seat 2: 7.50 in items
	//   keeps drop 2, 6.00
	//   keeps drop 1, 0.00
	//   is added 1 × catalogue item 1, 1.30
	//   is added 2 × catalogue item 2, 0.10
	//
	// seat 3: 9.00 in items, 1.50 above the share
	//   keeps drop 0, 5.00
	//   keeps drop 3, 4.00
	//
	// House: 0.00 removed - 1.50 added - 0.00 cash = -1.50
	// exact_cash: house gain 0 cents
	// Team 1: 5.00
	// Team 2: 10.00
	// Team 2 wins.
	// Pot 15.00, 2 winners: 7.50 each
	//
	// seat 2: 6.00 in items, 1.50 in cash
	//   keeps drop 2, 6.00
	//
	// seat 3: 5.00 in items, 2.50 in cash
	//   keeps drop 0, 5.00
	//   keeps drop 1, 0.00
	//
	// Sold to the house: drop 3, 4.00
	// House: 4.00 removed - 0.00 added - 4.00 cash = 0.00
}

// What two policies give the house: where one or three of four items are knives, Pool leaves a winner 50 cents above
// his share and fills up the other's from the catalogue.
func ExampleEdge() {
	item := func(id string, value int64, first, last uint64) battle.CaseItem {
		return battle.CaseItem{Row: id, Item: battle.Item{ID: id, Name: id, Value: value}, First: first, Last: last}
	}
	cfg := battle.Config{
		ID: "b1", Creator: "ana", Asset: "BRL/2", Layout: battle.Layout{Teams: 2, Size: 2}, Mode: battle.Normal,
		Cases: []battle.Case{{
			ID: "c", Name: "Case", Price: 250, Active: true,
			Items: []battle.CaseItem{item("knife", 300, 1, 1_000_000), item("sticker", 200, 1_000_001, battle.MaxRoll)},
		}},
		Catalogue: []battle.Item{{ID: "filler", Name: "Filler", Value: 50}},
	}
	for _, payout := range []battle.Payout{battle.Pool, battle.ExactCash} {
		r, err := battle.Edge(cfg, battle.Policy{Payout: payout, Ties: battle.SplitAll}, battle.EdgeOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := r.Write(os.Stdout); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// b1: 2v2 normal, payout pool, ties split_all (exact, 16 outcomes)
	// entries  1000
	// opened   840.0000
	// gain     -14.7600 (-1.757 % of what is opened)
	// loses in 29.520 % of battles, refunds in 0.000 %
	// margin   145.2400
	// b1: 2v2 normal, payout exact_cash, ties split_all (exact, 16 outcomes)
	// entries  1000
	// opened   840.0000
	// gain     0.0000 (0.000 % of what is opened)
	// loses in 0.000 % of battles, refunds in 0.000 %
	// margin   160.0000
}
