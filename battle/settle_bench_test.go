package battle

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// benchBattles are 64 battles of the shape of benchDrops, the same drops each time opened by other players in other
// rounds: a processor learns a single battle by heart.
func benchBattles(tb testing.TB, mode Mode, large bool) ([]Drops, []int64) {
	d, values := benchDrops(tb, large)
	d.Mode = mode
	r := rand.New(rand.NewPCG(1, 2))
	battles := make([]Drops, 64)
	for i := range battles {
		battles[i] = d
		battles[i].Drops = slices.Clone(d.Drops)
		r.Shuffle(len(d.Drops), func(a, b int) {
			battles[i].Drops[a], battles[i].Drops[b] = battles[i].Drops[b], battles[i].Drops[a]
		})
	}
	return battles, values
}

// benchDrops is the battle that the figures speak of: 4v4, 10 cases (vector S27), with a catalogue of its own 8 items
// or one of 500.
func benchDrops(tb testing.TB, large bool) (Drops, []int64) {
	for _, v := range loadVectors(tb).Vectors {
		if v.ID != "S27" {
			continue
		}
		d, _ := v.Input.drops(tb)
		var values []int64
		for _, item := range v.Input.Catalog {
			values = append(values, cents(tb, item.ValueCents))
		}
		if large {
			for i := len(values); i < 500; i++ {
				values = append(values, int64(i)*int64(i)%9973+7)
			}
			var err error
			d.Catalogue, err = NewCatalogue(values)
			require.NoError(tb, err)
		}
		return d, values
	}
	tb.Fatal("no vector S27")
	return Drops{}, nil
}

var benchShapes = []struct {
	name  string
	mode  Mode
	large bool
}{
	{"team/catalogue8", Normal, false},
	{"team/catalogue500", Normal, true},
	{"shared/catalogue8", Shared, false},
	{"shared/catalogue500", Shared, true},
}

// BenchmarkSettle settles 4v4 battles of 10 cases by Pool. It reports how many settlements a second of processor time
// gives, and how many times as many that is as by the source's algorithm written down literally, in Go and, where node
// is at hand, in JavaScript, measured in the same run and in the same way.
func BenchmarkSettle(b *testing.B) {
	for _, shape := range benchShapes {
		b.Run(shape.name, func(b *testing.B) {
			battles, values := benchBattles(b, shape.mode, shape.large)
			p := Policy{Payout: Pool, Ties: SplitAll}
			node := nodePerSecond(b, battles, values)
			literal := literalPerSecond(battles, values)
			rate := ratePerCPU(func(i int) {
				if _, err := Settle(battles[i%len(battles)], p); err != nil {
					b.Fatal(err)
				}
			})
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := Settle(battles[i%len(battles)], p); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(rate, "settlements/s")
			b.ReportMetric(rate/literal, "×literal-go")
			if node > 0 {
				b.ReportMetric(rate/node, "×node")
			}
		})
	}
}

// BenchmarkPayouts settles the same battle by each policy.
func BenchmarkPayouts(b *testing.B) {
	battles, _ := benchBattles(b, Normal, false)
	for payout := Pool; payout <= WholeItems; payout++ {
		b.Run(payout.String(), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := Settle(battles[i%len(battles)], Policy{Payout: payout, Ties: SplitAll}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func literalPerSecond(battles []Drops, values []int64) float64 {
	var in []sourceBattle
	for _, d := range battles {
		in = append(in, sourceBattleOf(d, values))
	}
	return ratePerCPU(func(i int) { in[i%len(in)].settle(false) })
}

// ratePerCPU is how often f runs in a second of processor time, garbage collection included: other work on the machine
// does not count. testdata/settle.mjs measures in the same way.
func ratePerCPU(f func(i int)) float64 {
	const batch = 50
	n, start, began := 0, time.Now(), cpuTime()
	for ; time.Since(start) < time.Second || n == 0; n += batch {
		for i := range batch {
			f(n + i)
		}
	}
	return float64(n) / (cpuTime() - began).Seconds()
}

// nodePerSecond runs testdata/settle.mjs on the same battles; 0 without node.
func nodePerSecond(tb testing.TB, battles []Drops, values []int64) float64 {
	node, err := exec.LookPath("node")
	if err != nil {
		return 0
	}
	out, err := exec.Command(node, "testdata/settle.mjs", nodeInput(tb, battles, values), "1").Output()
	require.NoError(tb, err)
	var result struct{ PerSecond float64 }
	require.NoError(tb, json.Unmarshal(out, &result))
	return result.PerSecond
}

func nodeInput(tb testing.TB, battles []Drops, values []int64) string {
	in := struct {
		Players   []int          `json:"players"`
		Battles   [][][][2]int64 `json:"battles"`
		Catalogue []int64        `json:"catalogue"`
	}{Catalogue: values}
	layout := battles[0].Layout
	for seat := range layout.Seats() {
		team := layout.Team(seat)
		if battles[0].Mode == Shared {
			team = 1 // the script knows only teams that win; one team is everybody
		}
		in.Players = append(in.Players, team)
	}
	for _, d := range battles {
		var rounds [][][2]int64
		for i, drop := range d.Drops {
			if i%layout.Seats() == 0 {
				rounds = append(rounds, nil)
			}
			last := len(rounds) - 1
			rounds[last] = append(rounds[last], [2]int64{int64(drop.Item), drop.Value})
		}
		in.Battles = append(in.Battles, rounds)
	}
	data, err := json.Marshal(in)
	require.NoError(tb, err)
	file := filepath.Join(tb.TempDir(), "battles.json")
	require.NoError(tb, os.WriteFile(file, data, 0o600))
	return file
}

// The script that the benchmark measures against does the same work.
func TestNodeYardstickSettlesAlike(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil || testing.Short() {
		t.Skip("needs node")
	}
	for _, shape := range benchShapes {
		battles, values := benchBattles(t, shape.mode, shape.large)
		out, err := exec.Command(node, "testdata/settle.mjs", nodeInput(t, battles, values), "0.01").Output()
		require.NoError(t, err)
		var got struct {
			Results []struct {
				Final   []int64
				Records int
			}
		}
		require.NoError(t, json.Unmarshal(out, &got))
		require.Len(t, got.Results, len(battles))
		for i, d := range battles {
			s, err := Settle(d, Policy{Payout: Pool, Ties: SplitAll})
			require.NoError(t, err)
			require.Len(t, s.Records, got.Results[i].Records)
			require.Len(t, s.Bundles, len(got.Results[i].Final))
			for w, b := range s.Bundles {
				require.Equal(t, got.Results[i].Final[w], b.Items)
			}
		}
	}
}
