package sqlitestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/sqlitestore"
)

func Example() {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // an example
	path := filepath.Join(dir, "house.db")
	ctx := context.Background()

	deposit := ledger.Tx{ID: "pay/1", Post: []ledger.Posting{{From: "world", To: "user:7", Asset: "BRL/2", Amount: 500}}}
	for range 2 { // the second time as after a crash
		s, err := sqlitestore.Open(path)
		if err != nil {
			log.Fatal(err)
		}
		l := ledger.New(s, time.Now)
		r, err := l.Do(ctx, deposit)
		if err != nil {
			log.Fatal(err)
		}
		b, err := l.Balance(ctx, "user:7", "BRL/2")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(b.Available(), "replayed:", r.Replayed)
		if err := s.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// 500 replayed: false
	// 500 replayed: true
}
