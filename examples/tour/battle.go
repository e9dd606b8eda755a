package main

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/battle"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// battleConfig is the battle of the tour with these cases.
func battleConfig(cf caseFile, payout battle.Payout) battle.Config {
	return battle.Config{
		ID: "tour", Creator: "ana", Asset: money, Layout: battle.Layout{Teams: 2, Size: 2}, Mode: battle.Normal,
		Payout: payout, Private: true, Cases: cf.Cases, Catalogue: cf.Catalogue,
	}
}

type battleTable = glasshouse.Table[*battle.State, battle.Command, battle.Event, battle.View]

func playBattle(v *visit) error {
	cfg := battleConfig(v.goods, v.payout)
	for _, account := range []ledger.AccountID{battle.UserAccount("ana"), battle.UserAccount("bruno")} {
		if err := v.deposit(account, cfg.Entry()+100_00); err != nil {
			return err
		}
	}
	fresh, err := battle.New(cfg)
	if err != nil {
		return err
	}
	key := battle.Key(cfg.ID)
	table, err := glasshouse.OpenTable(v.ctx, battle.Rules(), v.house, v.secrets, key, fresh)
	if err != nil {
		return err
	}
	if err := v.fillSeats(table); err != nil {
		return err
	}
	for !table.State().Status().Done() {
		v.now = table.State().Deadline().At // the virtual clock jumps to what happens next
		if _, err := table.Tick(v.ctx, v.now); err != nil {
			return err
		}
	}
	v.tellBattle(cfg, table.View(""))
	record, err := battle.NewRecord(cfg, v.turns(key))
	if err != nil {
		return err
	}
	v.files = append(v.files, file{"battle-" + cfg.ID + ".json", record})
	return nil
}

// fillSeats opens the battle and lets everybody in.
func (v *visit) fillSeats(table *battleTable) error {
	// The request id makes a command that an interrupted tour has done give its first answer again.
	do := func(actor string, cmd battle.Command) error {
		_, err := table.Do(v.ctx, glasshouse.Input{Actor: actor, ID: "tour-" + cmd.Kind(), At: v.now}, cmd)
		return err
	}
	if err := do(glasshouse.System, battle.Create{}); err != nil {
		return err
	}
	view := table.View("ana")
	v.printf("  commitment  %s, public before anybody adds to it\n", view.Commitment)
	v.printf("  rules       %s, the hash of cases, prices, ranges and policies\n", view.ConfigHash)
	v.printf("  ana    opens it for %s: seat 0, team 1; she alone is shown the join code, %s\n", reais(view.Entry), view.Code)

	v.wait(20 * time.Second)
	words := v.words("bruno")
	if err := do("bruno", battle.Join{Team: 2, Code: view.Code, ClientSeed: words}); err != nil {
		return err
	}
	v.printf("  bruno  joins team 2 with the code, and adds the client seed %q\n", words)

	v.wait(15 * time.Second)
	words = v.words("ana")
	if err := do("ana", battle.AddBots{ClientSeed: words}); err != nil {
		return err
	}
	v.printf("  ana    fills the seats with bots of the house, and adds %q\n", words)
	v.printf("  freeze      %s: entries are closed, the rolls are fixed\n", table.View("").Freeze)
	return nil
}

// turns reads a battle's steps from the journal.
func (v *visit) turns(key ledger.DocKey) iter.Seq2[battle.Turn, error] {
	return func(yield func(battle.Turn, error) bool) {
		entries, err := v.house.Journal(v.ctx, ledger.JournalQuery{Doc: key})
		if err != nil {
			yield(battle.Turn{}, err)
			return
		}
		for _, e := range entries {
			if t, err := battle.Rules().UnmarshalTurn(e.Tx.Memo); !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// tellBattle prints a finished battle: all of it is public by now.
func (v *visit) tellBattle(cfg battle.Config, view battle.View) {
	names := make([]string, len(view.Seats))
	for i, s := range view.Seats {
		if names[i] = s.User; s.Bot {
			names[i] = s.Name
		}
	}
	for _, r := range view.Rolls {
		if r.Seat == 0 {
			cs := view.Cases[r.Round-1]
			v.printf("\n  round %d  %s, %s\n", r.Round, cs.Name, reais(cs.Price))
		}
		flip := ""
		if r.Flip {
			flip = "  second roulette!"
		}
		v.printf("    team %d  %-13s %10d  %-26s %12s%s\n", view.Seats[r.Seat].Team, names[r.Seat], r.Roll, r.Item.Name, reais(r.Item.Value), flip)
	}
	v.tellSettlement(cfg, view, names)
	v.printf("  server seed %s, revealed\n", view.ServerSeed)
}

func (v *visit) tellSettlement(cfg battle.Config, view battle.View, names []string) {
	st := view.Settlement
	totals := make([]string, len(st.Totals))
	for i, t := range st.Totals {
		totals[i] = fmt.Sprintf("team %d %s", i+1, reais(t))
	}
	result := fmt.Sprintf("team %d wins", st.Team)
	if st.Outcome != battle.TeamWins {
		result = strings.ReplaceAll(st.Outcome.String(), "_", " ")
	}
	v.printf("\n  %s: %s; %s to share, %s each, by policy %s\n", strings.Join(totals, ", "), result, reais(st.Value), reais(st.Share), view.Payout)
	for seat, name := range names {
		got := "nothing"
		for w, at := range st.Winners {
			if at != seat {
				continue
			}
			b := st.Bundles[w]
			got = fmt.Sprintf("items worth %s", reais(b.Items))
			if b.Cash > 0 {
				got += " and cash " + reais(b.Cash)
			}
			got += ": " + bundle(cfg, view, w)
		}
		v.printf("    %-13s %12s  %s\n", name, signed(*view.Seats[seat].Profit), got)
	}
	v.printf("    %-13s %12s  of the items (%s removed, %s added, %s cash)\n", "the house", signed(st.HouseGain), reais(st.Removed), reais(st.Added), reais(st.Cash))
}

// bundle lists what a winner takes home, equal items once.
func bundle(cfg battle.Config, view battle.View, winner int) string {
	var names []string
	count := make(map[string]int)
	for _, r := range view.Settlement.Records {
		if int(r.Winner) != winner || r.Type == battle.RemovedToPool {
			continue
		}
		name := ""
		if r.Type == battle.AddedFromPool {
			name = cfg.Catalogue[r.Catalogue].Name
		} else {
			name = view.Rolls[r.Drop].Item.Name
		}
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if n := count[name]; n > 1 {
			names[i] = fmt.Sprintf("%d × %s", n, name)
		}
	}
	return strings.Join(names, ", ")
}

func signed(cents int64) string {
	if cents > 0 {
		return "+" + reais(cents)
	}
	return reais(cents)
}
