package pgstore_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/glasshouse-go/glasshouse/ledger"
	"github.com/glasshouse-go/glasshouse/ledger/pgstore"
)

// A ledger in the database that DATABASE_URL names, and its journal up to now.
func Example() {
	ctx := context.Background()
	s, err := pgstore.Open(ctx, os.Getenv("DATABASE_URL"), pgstore.Config{Realm: "casino"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	_, err = ledger.New(s, time.Now).Do(ctx, ledger.Tx{
		ID:   "deposit/1",
		Post: []ledger.Posting{{From: "world", To: "user:7", Asset: "BRL/2", Amount: 500}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := s.Seal(ctx); err != nil { // usually some other process does
		fmt.Println(err)
		return
	}
	entries, err := s.Journal(ctx, ledger.JournalQuery{Limit: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range entries {
		fmt.Println(e.Seq, e.Tx.ID)
	}
}
