package machinetest_test
import ("testing";"github.com/glasshouse-go/glasshouse/internal/machinetest";"github.com/glasshouse-go/glasshouse/internal/machinetest/toy")
func TestToyKeepsTheLaws(t *testing.T) { machinetest.Run(t, toy.Game("")) }
