package battle

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/machinetest"
)

// playthrough writes every view of every state of a scripted battle to testdata/playthrough.
func playthrough(t *testing.T, name string, cfg Config, actors []string, script string) {
	t.Helper()
	s, err := New(cfg)
	require.NoError(t, err)
	g := lawsGame()
	g.Actors = func(*State) []string { return append([]string{system}, actors...) }
	g.Viewers = func(*State) []string { return append([]string{""}, actors...) }
	machinetest.Playthrough(t, name, g, machinetest.Start[*State]{Key: Key(cfg.ID), Config: s.setup.json, State: s, At: start}, script)
}

func TestPlaythroughPrivateWithBots(t *testing.T) {
	cfg := testConfig(private, withLayout(2, 2), func(c *Config) {
		c.Cases, c.Catalogue = c.Cases[:1], []Item{{ID: "f50", Name: "Fifty", Value: 50}, {ID: "f3", Name: "Three", Value: 3}}
	})
	// The join code of the playthroughs' host: the only secret that a player has to type.
	words := fair.NewKeyring([]byte("the secret of all playthroughs")).For(string(Key(cfg.ID))).At("join_code", 0, 0)
	code := fmt.Sprintf("%08X", words.Uint64()>>32)
	playthrough(t, "private_with_bots", cfg, []string{"ana", "bob"}, fmt.Sprintf(`
ana create ! host_only
host create
bob +5s join {"team":2} ! invalid_join_code
bob join {"team":3,"code":%[1]q} ! no_such_team
bob join {"team":2,"code":%[1]q,"client_seed":"blue"}
bob join {"team":1,"code":%[1]q} ! already_joined
bob seed {"client_seed":"green"}
bob add_bots {} ! only_creator
ana +20s add_bots {"client_seed":"red"}
bob leave ! not_waiting
host void {"reason":"too late"} ! rolls_known
# countdown, round starting, spinning, round complete
clock
clock
clock
clock
ana cancel ! not_waiting
`, code))
}

func TestPlaythroughFlipAndTie(t *testing.T) {
	cfg := testConfig(withLayout(3, 1), func(c *Config) {
		c.Cases, c.Ties, c.Payout = []Case{alwaysFlips("gold")}, ExtraRoll, ExactCash
	})
	playthrough(t, "flip_and_tie", cfg, []string{"ana", "bob", "cid"}, `
host create
cid join {"team":3,"client_seed":"third"}
bob join {"team":3} ! team_full
bob join {"team":2,"client_seed":"second"}
dan join {"team":1} ! battle_full
host +2999ms expire {"key":"phase/0/countdown"} ! not_due
# every player opens the same item and the second roulette turns: the teams are level and roll again
clock
clock
clock
clock
`)
}

func TestPlaythroughCancelled(t *testing.T) {
	cfg := testConfig(func(c *Config) { c.Cases = c.Cases[:1] }, withLayout(2, 2))
	playthrough(t, "cancelled", cfg, []string{"ana", "bob"}, `
host create
bob join {"team":2}
bob +60s leave
ana leave ! creator_must_cancel
host expire {"key":"expiry"} ! not_due
bob cancel ! only_creator
bob join {"team":1}
ana cancel
bob join {"team":1} ! not_waiting
host expire {"key":"expiry"} ! stale_key
`)
}
