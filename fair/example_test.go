package fair_test

import (
	"fmt"
	"strings"

	"github.com/glasshouse-go/glasshouse/fair"
)

func Example() {
	// Outside of examples the reader is crypto/rand.Reader.
	seed, err := fair.NewSeed(strings.NewReader("thirty-two bytes of good entropy"))
	if err != nil {
		panic(err)
	}
	table, err := fair.NewRangeTable(100,
		fair.Span[int]{ID: "knife", First: 1, Last: 2, Item: 50_000},
		fair.Span[int]{ID: "pistol", First: 3, Last: 100, Item: 120},
	)
	if err != nil {
		panic(err)
	}
	terms := fair.Terms{Kind: "battle", Session: "b-1", Tables: []fair.Digest{table.Hash()}}
	life, err := fair.Commit(terms, seed)
	if err != nil {
		panic(err)
	}
	fmt.Println("published:", life.Commitment())

	steps := []func(fair.Life) (fair.Life, error){
		fair.Life.Open,
		func(l fair.Life) (fair.Life, error) {
			return l.Contribute(fair.Contribution{Player: "ana", Seed: []byte("my dog")})
		},
		func(l fair.Life) (fair.Life, error) { return l.Freeze([]string{"ana"}, fair.Descriptor{}, 0) },
		fair.Life.Resolve,
	}
	for _, step := range steps {
		if life, err = step(life); err != nil {
			panic(err)
		}
	}
	roll := fair.Roll(life.Root().At("roll", 0, 0), table.Total())
	fmt.Println("roll:", roll, "item:", table.ID(table.At(roll)))

	if life, err = life.Reveal(); err != nil {
		panic(err)
	}
	revealed, _ := life.Seed()
	fmt.Println("seed:", revealed, revealed.Hex())
	// Output:
	// published: aac6e2638a822e136f80602734359cedb6835892257343dab5b02304b5b73f86
	// roll: 70 item: pistol
	// seed: [secret] 7468697274792d74776f206279746573206f6620676f6f6420656e74726f7079
}
