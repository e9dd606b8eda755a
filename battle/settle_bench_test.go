package battle

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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

// BenchmarkSettle settles a 4v4 battle of 10 cases by Pool. It reports how many times as fast it is as the source's
// algorithm written down literally, in Go and, where node is at hand, in JavaScript, measured in the same run.
func BenchmarkSettle(b *testing.B) {
	for _, shape := range benchShapes {
		b.Run(shape.name, func(b *testing.B) {
			d, values := benchDrops(b, shape.large)
			d.Mode = shape.mode
			p := Policy{Payout: Pool, Ties: SplitAll}
			node := nodePerSecond(b, d, values)
			literal := literalPerSecond(d, values)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Settle(d, p); err != nil {
					b.Fatal(err)
				}
			}
			rate := float64(b.N) / b.Elapsed().Seconds()
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
	d, _ := benchDrops(b, false)
	for payout := Pool; payout <= WholeItems; payout++ {
		b.Run(payout.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Settle(d, Policy{Payout: payout, Ties: SplitAll}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func literalPerSecond(d Drops, values []int64) float64 {
	in := sourceBattleOf(d, values)
	n, start := 0, time.Now() // testing.Benchmark cannot run inside a benchmark
	for ; time.Since(start) < time.Second; n++ {
		in.settle(false)
	}
	return float64(n) / time.Since(start).Seconds()
}

// nodePerSecond runs testdata/settle.mjs on the same battle; 0 without node.
func nodePerSecond(tb testing.TB, d Drops, values []int64) float64 {
	node, err := exec.LookPath("node")
	if err != nil {
		return 0
	}
	out, err := exec.Command(node, "testdata/settle.mjs", nodeInput(tb, d, values), "1").Output()
	require.NoError(tb, err)
	var result struct{ PerSecond float64 }
	require.NoError(tb, json.Unmarshal(out, &result))
	return result.PerSecond
}

func nodeInput(tb testing.TB, d Drops, values []int64) string {
	seats := d.Layout.Seats()
	in := struct {
		Players   []int        `json:"players"`
		Rounds    [][][2]int64 `json:"rounds"`
		Catalogue []int64      `json:"catalogue"`
	}{Catalogue: values}
	for seat := range seats {
		team := d.Layout.Team(seat)
		if d.Mode == Shared {
			team = 1 // the script knows only teams that win; one team is everybody
		}
		in.Players = append(in.Players, team)
	}
	for i, drop := range d.Drops {
		if i%seats == 0 {
			in.Rounds = append(in.Rounds, nil)
		}
		last := len(in.Rounds) - 1
		in.Rounds[last] = append(in.Rounds[last], [2]int64{int64(drop.Item), drop.Value})
	}
	data, err := json.Marshal(in)
	require.NoError(tb, err)
	file := filepath.Join(tb.TempDir(), "battle.json")
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
		d, values := benchDrops(t, shape.large)
		d.Mode = shape.mode
		out, err := exec.Command(node, "testdata/settle.mjs", nodeInput(t, d, values), "0.01").Output()
		require.NoError(t, err)
		var got struct {
			Final   []int64
			Records int
		}
		require.NoError(t, json.Unmarshal(out, &got))
		s, err := Settle(d, Policy{Payout: Pool, Ties: SplitAll})
		require.NoError(t, err)
		require.Len(t, s.Records, got.Records)
		require.Len(t, s.Bundles, len(got.Final))
		for w, b := range s.Bundles {
			require.Equal(t, got.Final[w], b.Items)
		}
	}
}
