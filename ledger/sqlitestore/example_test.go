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

// A row of the program's own and the money it stands for, in one commit.
func ExampleStore_Begin() {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // an example
	s, err := sqlitestore.Open(filepath.Join(dir, "house.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // an example
	ctx := context.Background()
	if _, err := s.DB().ExecContext(ctx, "CREATE TABLE orders (id TEXT PRIMARY KEY)"); err != nil {
		log.Fatal(err)
	}

	order := func(id string, amount int64) error {
		tx, err := s.Begin(ctx)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit it has nothing to do
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?)", id); err != nil {
			return err
		}
		pay := ledger.Tx{ID: "order/" + id, Post: []ledger.Posting{{From: "user:7", To: "house:shop", Asset: "BRL/2", Amount: amount}}}
		if _, err := s.DoTx(ctx, tx, pay); err != nil {
			return err
		}
		return tx.Commit() // only now is there anything to publish
	}

	deposit := ledger.Tx{ID: "pay/1", Post: []ledger.Posting{{From: "world", To: "user:7", Asset: "BRL/2", Amount: 500}}}
	if _, err := ledger.New(s, time.Now).Do(ctx, deposit); err != nil {
		log.Fatal(err)
	}
	fmt.Println(order("a", 300))
	fmt.Println(order("b", 300))
	n := 0
	if err := s.DB().QueryRowContext(ctx, "SELECT count(*) FROM orders").Scan(&n); err != nil {
		log.Fatal(err)
	}
	fmt.Println("orders:", n)
	// Output:
	// <nil>
	// ledger: insufficient balance of BRL/2 in user:7: need 300, have 200
	// orders: 1
}
