package machinetest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/internal/machinetest"
	"github.com/glasshouse-go/glasshouse/internal/machinetest/toy"
)

func TestPlaythrough(t *testing.T) {
	cfg := toy.Config{ID: "p", Asset: "BRL/2", Entry: 100, Players: []string{"ana", "bob"}, JoinMS: 60_000, ChooseMS: 10_000}
	s, err := toy.NewGame(cfg)
	require.NoError(t, err)
	machinetest.Playthrough(t, "toy", toy.Game(""), machinetest.Start[*toy.State]{Key: "toy:p", Config: cfg.JSON(), State: s}, `
		host open
		ana +1s join {"seed":"ana's own"}
		ana join {"seed":""} ! already_joined
		# The second player closes entries, and the rolls are dealt.
		bob +2s join {"seed":""}
		bob show
		host expire {"key":"choose"} ! not_due
		# Ana does not choose in time.
		clock
		ana show ! not_playing
	`)
}
