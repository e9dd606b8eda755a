package battle

import (
	"encoding/hex"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/machinetest"
	"github.com/glasshouse-go/glasshouse/internal/wire"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// lawsGame is the battle as the laws play it.
func lawsGame() machinetest.Game[*State, Command, Event, View] {
	return machinetest.Game[*State, Command, Event, View]{
		Rules:     Rules(),
		Start:     startOfLaws,
		Actors:    func(*State) []string { return []string{system, "ana", "bob", "cid", "dan", "eva", "poor"} },
		Next:      nextOfLaws,
		Viewers:   func(*State) []string { return []string{"", "ana", "bob"} },
		Plain:     plainOfLaws,
		Secrets:   secretsOf,
		Swap:      swapSecrets,
		SwapEvent: swapEvent,
		Mask:      []string{"commitment", "freeze", "created.commitment", "started.freeze"},
		Draws:     drawsOf,
		Record: func(config []byte, turns iter.Seq2[Turn, error]) ([]byte, error) {
			var cfg Config
			if err := wire.Unmarshal(config, &cfg); err != nil {
				return nil, err
			}
			return NewRecord(cfg, turns)
		},
		Verify: Verify,
	}
}

func TestLaws(t *testing.T) { machinetest.Run(t, lawsGame()) }

func FuzzLaws(f *testing.F) { machinetest.Fuzz(f, lawsGame()) }

// startOfLaws draws a small battle of any kind. poor cannot pay, mostly.
func startOfLaws(t *rapid.T) machinetest.Start[*State] {
	flag := func(label string) bool { return rapid.IntRange(0, 3).Draw(t, label) == 3 }
	cfg := testConfig()
	cfg.Layout = rapid.SampledFrom([]Layout{{2, 1}, {2, 1}, {3, 1}, {2, 2}, {4, 1}, {3, 2}}).Draw(t, "layout")
	cfg.Mode = rapid.SampledFrom([]Mode{Normal, Normal, Shared, Terminal, Jackpot, Points}).Draw(t, "mode")
	cfg.Lowest = cfg.Mode != Shared && flag("lowest")
	cfg.Payout = Payout(rapid.IntRange(0, 4).Draw(t, "payout"))
	cfg.Ties = Ties(rapid.IntRange(0, 4).Draw(t, "ties"))
	cfg.Private = flag("private")
	cfg.Expiry = rapid.SampledFrom([]int64{0, 1, 700, 60_000}).Draw(t, "expiry")
	cfg.Cases = cfg.Cases[:rapid.IntRange(1, 2).Draw(t, "rounds")]
	if flag("equal drops") {
		cfg.Cases = slices.Repeat([]Case{oneItem("x", 70)}, len(cfg.Cases))
	}
	for i := range cfg.Cases {
		cfg.Cases[i].Price = rapid.SampledFrom([]int64{0, 1, 100}).Draw(t, "price")
	}
	if flag("beacon") {
		cfg.Beacon = &BeaconRule{
			Drand: drandOfTests(), Delay: rapid.SampledFrom([]uint64{0, 1, 10}).Draw(t, "delay"),
			Timeout: rapid.SampledFrom([]int64{0, 1, 5000}).Draw(t, "timeout"),
		}
	}
	if flag("timeline") {
		cfg.Timeline = Timeline{rapid.Int64Range(0, 2).Draw(t, "countdown"), 0, 1, 2, 0}
	}
	cfg.Compat = Compat{SourceTimeline: flag("source timeline"), Legacy52: flag("legacy")}
	cfg.Compat.PoolUnsorted = (cfg.Payout == 0 || cfg.Payout == Pool || cfg.Payout == PoolCash) && flag("unsorted")
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	st := machinetest.Start[*State]{Key: Key(cfg.ID), Config: s.setup.json, State: s, At: start}
	for _, p := range []string{"ana", "bob", "cid", "dan", "eva", "poor"} {
		amount := int64(400)
		if p == "poor" {
			amount = 50
		}
		st.Fund = append(st.Fund, ledger.Posting{From: "world", To: UserAccount(p), Asset: cfg.Asset, Amount: amount})
	}
	return st
}

func nextOfLaws(t *rapid.T, s *State) (string, Command) {
	cfg := &s.setup.cfg
	actor := rapid.SampledFrom([]string{system, system, "ana", "bob", "cid", "dan", "eva", "poor", "bot:1"}).Draw(t, "actor")
	text := rapid.SampledFrom([]string{"", "words", "other words", string(make([]byte, 65))}).Draw(t, "text")
	// What only the host can bring comes often enough for battles to end.
	switch {
	case actor == system && s.d.Phase == PhaseAwaitingBeacon && rapid.Bool().Draw(t, "bring the beacon"):
		_, target := s.life().Target()
		return actor, Beacon{beaconOf(target)}
	case actor == system && s.d.Phase == PhaseRoundStarting && cfg.Compat.Legacy52 && s.d.Nonces == nil && rapid.IntRange(0, 3).Draw(t, "bring nonces") > 0:
		return actor, Nonces{s.d.Round, rapid.SliceOfN(rapid.Int64Range(0, maxNonce), len(s.d.Seats), len(s.d.Seats)).Draw(t, "nonces")}
	case cfg.Private && s.d.Status == StatusWaiting && actor != system && rapid.Bool().Draw(t, "know the code"):
		return actor, Join{rapid.IntRange(1, cfg.Layout.Teams).Draw(t, "team"), string(s.d.Code), text}
	}
	return actor, rapid.SampledFrom([]Command{
		Create{},
		Join{rapid.IntRange(-1, cfg.Layout.Teams+1).Draw(t, "any team"), "", text},
		Join{1, "00000000", text},
		Seed{text},
		AddBots{text},
		Leave{},
		Cancel{},
		Void{text},
		Expire{s.Deadline().Key},
		Expire{text},
		Expire{expiryKey},
		Beacon{beaconOf(5)},
		Nonces{s.d.Round, []int64{1}},
		Nonces{1, make([]int64, len(s.d.Seats))},
	}).Draw(t, "command")
}

func plainOfLaws(cmd Command) (Command, bool) {
	switch cmd := cmd.(type) {
	case Join:
		return Join{Team: cmd.Team}, cmd.Code == ""
	case Seed:
		return Seed{}, true
	case AddBots:
		return AddBots{}, true
	case Void:
		return Void{}, true
	case Beacon, Nonces, Expire: // brought from outside, or announced by Deadline
		return cmd, false
	}
	return cmd, true
}

// secretsOf are the server seed until the end, the seeds of legacy rolls until they are rolled, and the join code for
// all but the creator.
func secretsOf(s *State, viewer string) []string {
	var out []string
	if s.d.Code != "" && viewer != s.setup.cfg.Creator {
		out = append(out, string(s.d.Code))
	}
	if s.d.Life != nil && s.d.Revealed == "" {
		seed := seedOf(s)
		out = append(out, seed.Hex(), fmt.Sprintf("%d", [32]byte(seed))[1:40])
	}
	if s.d.Secrets != nil {
		for _, secret := range s.d.Secrets.Seeds {
			out = append(out, secret.Server.Hex(), secret.Client)
		}
	}
	return out
}

// seedOf plays the life of the server seed to its end.
func seedOf(s *State) fair.ServerSeed {
	life := s.life()
	for _, end := range []func(fair.Life) (fair.Life, error){fair.Life.Void, fair.Life.Reveal} {
		if over, err := end(life); err == nil {
			life = over
		}
	}
	seed, _ := life.Seed()
	return seed
}

// swapSecrets is the same battle with another server seed, and with it other rolls to come, another join code for
// spectators, and other seeds of the legacy rolls to come.
func swapSecrets(t *rapid.T, s *State, viewer string) (*State, bool) {
	if s.d.Life == nil || s.Status().Done() {
		return nil, false
	}
	other := s.clone()
	life := relive(t, s, anotherSeed(t))
	other.d.Life = &life
	if s.d.Code != "" && viewer == "" { // whoever sends the right code knows it; Secrets and SwapEvent guard it for all
		other.d.Code = JoinCode(fmt.Sprintf("%08X", rapid.Uint32().Draw(t, "another code")))
	}
	if s.d.Secrets != nil {
		secrets := LegacyDrawn{Round: s.d.Secrets.Round}
		for range s.d.Secrets.Seeds {
			secrets.Seeds = append(secrets.Seeds, anotherSecret(t))
		}
		other.d.Secrets = &secrets
	}
	return other, true
}

// relive takes another seed through the same life.
func relive(t *rapid.T, s *State, seed fair.ServerSeed) fair.Life {
	must := func(l fair.Life, err error) fair.Life {
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	old := s.life()
	life := must(fair.Commit(old.Terms(), seed))
	life = must(life.Open())
	var order []string
	for _, c := range old.Transcript().Contributions {
		life = must(life.Contribute(c))
		order = append(order, c.Player)
	}
	if old.Stage() >= fair.StageFrozen {
		desc, target := old.Target()
		life = must(life.Freeze(order, desc, target))
	}
	if b, ok := old.BeaconValue(); ok {
		life = must(life.Beacon(b))
	}
	if old.Stage() >= fair.StageResolved {
		life = must(life.Resolve())
	}
	return life
}

func anotherSeed(t *rapid.T) fair.ServerSeed {
	return fair.ServerSeed(rapid.SliceOfN(rapid.ByteRange(1, 255), 32, 32).Draw(t, "another seed"))
}

func anotherSecret(t *rapid.T) LegacySecret {
	client := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "another client seed")
	return LegacySecret{anotherSeed(t), strconv.FormatInt(start.UnixMilli(), 10) + hex.EncodeToString(client)}
}

func swapEvent(t *rapid.T, ev Event, _ string) (Event, bool) {
	switch ev := ev.(type) {
	case SeedDrawn:
		if ev.Code != "" {
			ev.Code = JoinCode(fmt.Sprintf("%08X", rapid.Uint32().Draw(t, "another code")))
		}
		ev.Seed = anotherSeed(t)
		return ev, true
	case LegacyDrawn:
		ev.Seeds = slices.Clone(ev.Seeds)
		for i := range ev.Seeds {
			ev.Seeds[i] = anotherSecret(t)
		}
		return ev, true
	}
	return ev, false
}

func drawsOf(ev Event) []machinetest.Draw {
	path := func(p Path) string { return fmt.Sprintf("%s/%d/%d", p.Label, p.I, p.J) }
	switch ev := ev.(type) {
	case SeedDrawn:
		return []machinetest.Draw{{Path: "server_seed", Value: ev.Seed.Hex()}, {Path: "join_code", Value: string(ev.Code)}}
	case LegacyDrawn:
		out := make([]machinetest.Draw, len(ev.Seeds))
		for i, s := range ev.Seeds {
			out[i] = machinetest.Draw{Path: fmt.Sprintf("legacy_secret/%d/%d", ev.Round, i), Value: s.Server.Hex() + s.Client}
		}
		return out
	case Rolled:
		return []machinetest.Draw{{Path: path(ev.Path), Value: strconv.FormatUint(ev.Roll, 10)}}
	case Settled:
		var out []machinetest.Draw
		for _, r := range ev.Settlement.TieRolls {
			out = append(out, machinetest.Draw{Path: path(Path{"tie", uint64(r.Attempt), uint64(r.Team)}), Value: strconv.FormatUint(r.Roll, 10)})
		}
		if ev.Settlement.Ticket > 0 {
			out = append(out, machinetest.Draw{Path: "jackpot/0/0", Value: strconv.FormatUint(ev.Settlement.Ticket, 10)})
		}
		return out
	}
	return nil
}

var _ glasshouse.Machine[*State, Command, Event, View] = (*State)(nil)
