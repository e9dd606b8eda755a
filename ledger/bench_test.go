package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"
)

// bare is what a ledger costs at the least: ids, balances and a journal under
// a mutex, chained by SHA-256; no validation, no receipts, no documents.
type bare struct {
	mu       sync.Mutex
	balances map[Key]int64
	ids      map[string]struct{}
	journal  []bareEntry
	head     [32]byte
}

type bareEntry struct {
	id string
	p  Posting
	h  [32]byte
}

var errBare = errors.New("no funds")

func (b *bare) transfer(id string, p Posting) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.ids[id]; ok {
		return nil
	}
	from, to := Key{p.From, p.Asset}, Key{p.To, p.Asset}
	have := b.balances[from]
	if have < p.Amount {
		return errBare
	}
	b.balances[from] = have - p.Amount
	b.balances[to] += p.Amount
	var buf [256]byte
	s := append(buf[:0], b.head[:]...)
	s = append(s, id...)
	s = append(s, p.From...)
	s = append(s, p.To...)
	s = append(s, p.Asset...)
	s = binary.BigEndian.AppendUint64(s, uint64(p.Amount))
	b.head = sha256.Sum256(s)
	b.ids[id] = struct{}{}
	b.journal = append(b.journal, bareEntry{id, p, b.head})
	return nil
}

// BenchmarkDoAgainstBareMap reports Do on the memory store as a share of the
// speed of the bare map, both measured in turns in one run.
func BenchmarkDoAgainstBareMap(b *testing.B) {
	const users, block = 1000, 500
	ctx := context.Background()
	clock := time.Unix(1_700_000_000, 0)
	accounts := make([]AccountID, users)
	var l *Ledger
	var m *bare
	n := 0
	reset := func() { // both start small again, so that neither pays for a longer run
		l = New(NewMemory(), func() time.Time { return clock })
		m = &bare{balances: map[Key]int64{}, ids: map[string]struct{}{}}
		for i := range accounts {
			accounts[i] = AccountID("user:" + strconv.Itoa(i))
			m.balances[Key{accounts[i], "BRL/2"}] = 1 << 40
			if _, err := l.Do(ctx, Tx{ID: "fund/" + strconv.Itoa(i), Post: []Posting{{"world", accounts[i], "BRL/2", 1 << 40}}}); err != nil {
				b.Fatal(err)
			}
		}
	}
	ids, posts := make([]string, block), make([]Posting, block)
	var ours, theirs time.Duration
	b.ReportAllocs()
	for b.Loop() {
		if n%100_000 == 0 {
			b.StopTimer()
			reset()
			b.StartTimer()
		}
		b.StopTimer()
		for i := range block {
			n++
			ids[i] = "bench/" + strconv.Itoa(n)
			posts[i] = Posting{accounts[n*7%users], accounts[(n*7+13)%users], "BRL/2", int64(1 + n%100)}
		}
		start := time.Now()
		for i := range block {
			if err := m.transfer(ids[i], posts[i]); err != nil {
				b.Fatal(err)
			}
		}
		theirs += time.Since(start)
		b.StartTimer()
		start = time.Now()
		for i := range block {
			if _, err := l.Do(ctx, Tx{ID: ids[i], Post: posts[i : i+1]}); err != nil {
				b.Fatal(err)
			}
		}
		ours += time.Since(start)
	}
	total := float64(b.N * block)
	b.ReportMetric(float64(theirs)/float64(ours), "×bare")
	b.ReportMetric(float64(ours)/total, "ns/tx")
	b.ReportMetric(float64(theirs)/total, "ns/bare-tx")
}
