package battle

import "testing"

func benchDrops(b *testing.B, catalogue int) Drops {
	for _, v := range loadVectors(b).Vectors {
		if v.ID == "S27" {
			d, _ := v.Input.drops(b)
			if catalogue > 0 {
				values := make([]int64, catalogue)
				for i := range values {
					values[i] = int64(i*i%9973 + 7)
				}
				d.Catalogue, _ = NewCatalogue(values)
			}
			return d
		}
	}
	b.Fatal("no vector S27")
	return Drops{}
}

func BenchmarkSettle(b *testing.B) {
	d := benchDrops(b, 0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Settle(d, Policy{Payout: Pool, Ties: SplitAll}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "settlements/s")
}
