package pgstore

import (
	"github.com/jackc/pgx/v5"
)

// table gathers rows as the columns that a statement takes as arrays.
type table struct{ cols []any }

// add appends a row of strings, int64s, int16s, bools and byte slices.
func (t *table) add(row ...any) {
	if t.cols == nil {
		t.cols = make([]any, len(row))
	}
	for i, x := range row {
		switch x := x.(type) {
		case string:
			t.cols[i] = push(t.cols[i], x)
		case int64:
			t.cols[i] = push(t.cols[i], x)
		case int16:
			t.cols[i] = push(t.cols[i], x)
		case bool:
			t.cols[i] = push(t.cols[i], x)
		case []byte:
			t.cols[i] = push(t.cols[i], x)
		default:
			panic("pgstore: a column of another type") // a mistake in this package
		}
	}
}

func push[T any](col any, x T) any {
	list, _ := col.([]T)
	return append(list, x)
}

// queue adds the statement for the rows, if there are any, and forgets them.
func (t *table) queue(b *pgx.Batch, text, realm string) {
	if t.cols != nil {
		b.Queue(text, append([]any{realm}, t.cols...)...)
		t.cols = nil
	}
}
