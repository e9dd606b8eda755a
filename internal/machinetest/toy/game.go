package toy

import (
	"fmt"
	"iter"

	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/machinetest"
	"github.com/glasshouse-go/glasshouse/internal/wire"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// Game is the toy as the laws play it, with a bug or "".
func Game(bug string) machinetest.Game[*State, Command, Event, View] {
	return machinetest.Game[*State, Command, Event, View]{
		Rules:  Rules(),
		Start:  func(t *rapid.T) machinetest.Start[*State] { return start(t, bug) },
		Actors: func(s *State) []string { return append([]string{glasshouse.System}, s.cfg.Players...) },
		Next:   next,
		Plain: func(c Command) (Command, bool) {
			switch c.(type) {
			case Join:
				return Join{}, true
			case Void:
				return Void{}, true
			}
			return c, true
		},
		Secrets:   secrets,
		Swap:      swap,
		SwapEvent: swapEvent,
		Mask:      []string{"commitment", "opened.commitment"},
		Draws:     draws,
		Record: func(config []byte, turns iter.Seq2[glasshouse.Turn[Event], error]) ([]byte, error) {
			var cfg Config
			if err := wire.Unmarshal(config, &cfg); err != nil {
				return nil, err
			}
			return NewRecord(cfg, turns)
		},
		Verify: Verify,
	}
}

func start(t *rapid.T, bug string) machinetest.Start[*State] {
	cfg := Config{
		ID: "g1", Asset: "BRL/2", Entry: rapid.Int64Range(1, 500).Draw(t, "entry"), Players: []string{"ana", "bob", "cid"},
		JoinMS: rapid.Int64Range(1, 5000).Draw(t, "join"), ChooseMS: rapid.Int64Range(1, 5000).Draw(t, "choose"), Bug: bug,
	}
	s, err := NewGame(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return machinetest.Start[*State]{
		Key: "toy:g1", Config: cfg.JSON(), State: s,
		Fund: []ledger.Posting{ // cid is short of money, mostly
			{From: "world", To: "user:ana", Asset: cfg.Asset, Amount: 500},
			{From: "world", To: "user:bob", Asset: cfg.Asset, Amount: 500},
			{From: "world", To: "user:cid", Asset: cfg.Asset, Amount: 50},
		},
	}
}

func next(t *rapid.T, s *State) (string, Command) {
	actor := rapid.SampledFrom(append([]string{glasshouse.System, "eve"}, s.cfg.Players...)).Draw(t, "actor")
	text := rapid.StringN(0, 80, -1).Draw(t, "text")
	cmd := rapid.SampledFrom([]Command{
		OpenGame{}, Join{}, Join{text}, Show{}, Fold{}, Void{}, Void{text}, Expire{s.clock.Key}, Expire{"join"}, Expire{text},
	}).Draw(t, "command")
	return actor, cmd
}

// secrets are the seed, before it is revealed; rolls are too short to look for, the swaps guard them.
func secrets(s *State, _ string) []string {
	if s.status == New || s.status == Finished {
		return nil
	}
	return []string{seedOf(s.life).Hex()}
}

// seedOf plays a life to its end.
func seedOf(life fair.Life) fair.ServerSeed {
	for _, end := range []func(fair.Life) (fair.Life, error){fair.Life.Void, fair.Life.Reveal} {
		if over, err := end(life); err == nil {
			life = over
		}
	}
	seed, _ := life.Seed()
	return seed
}

// swap makes another seed and other rolls wherever viewer cannot know them.
func swap(t *rapid.T, s *State, viewer string) (*State, bool) {
	if s.status != Open && s.status != Playing {
		return nil, false
	}
	other := s.clone()
	other.life = anotherLife(t, s)
	for i, x := range other.seats {
		if x.Player != viewer && x.Choice != Showed && s.status == Playing {
			other.seats[i].Roll = hidden(rapid.Uint64Range(1, Sides).Draw(t, "another roll"))
		}
	}
	return other, true
}

func anotherLife(t *rapid.T, s *State) fair.Life {
	must := func(l fair.Life, err error) fair.Life {
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	life := must(fair.Commit(s.life.Terms(), anotherSeed(t)))
	life = must(life.Open())
	var order []string
	for _, x := range s.seats {
		life = must(life.Contribute(fair.Contribution{Player: x.Player, Seed: []byte(x.Seed)}))
		order = append(order, x.Player)
	}
	if s.status == Playing {
		life = must(life.Freeze(order, fair.Descriptor{}, 0))
		life = must(life.Resolve())
	}
	return life
}

func anotherSeed(t *rapid.T) fair.ServerSeed {
	return fair.ServerSeed{1, rapid.Byte().Draw(t, "another seed")}
}

func swapEvent(t *rapid.T, ev Event, viewer string) (Event, bool) {
	switch ev := ev.(type) {
	case Opened:
		seed := anotherSeed(t)
		c, err := seed.Commit("g1")
		if err != nil {
			t.Fatal(err)
		}
		return Opened{&seed, c}, true
	case Dealt:
		ev.Roll = hidden(rapid.Uint64Range(1, Sides).Draw(t, "another roll"))
		return ev, ev.Player != viewer
	}
	return ev, false
}

func draws(ev Event) []machinetest.Draw {
	switch ev := ev.(type) {
	case Opened:
		if ev.Seed != nil {
			return []machinetest.Draw{{Path: "seed", Value: ev.Seed.Hex()}}
		}
	case Dealt:
		return []machinetest.Draw{{Path: ev.Path, Value: fmt.Sprint(uint64(ev.Roll))}}
	}
	return nil
}
