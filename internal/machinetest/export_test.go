package machinetest

import (
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
)

// LawNames lists the laws.
func LawNames[S glasshouse.Machine[S, C, E, V], C glasshouse.Command, E glasshouse.Event, V any](g Game[S, C, E, V]) []string {
	var out []string
	for _, l := range g.laws() {
		out = append(out, l.name)
	}
	return out
}

// RunLaw runs one law by its place in LawNames.
func RunLaw[S glasshouse.Machine[S, C, E, V], C glasshouse.Command, E glasshouse.Event, V any](t rapid.TB, g Game[S, C, E, V], n int) {
	g.laws()[n].run(t, &g)
}
