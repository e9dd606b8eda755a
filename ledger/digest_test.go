package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/ledger"
)

// full is a Tx in which every field of every part says something.
func full() ledger.Tx {
	return ledger.Tx{
		ID:      "tx/1",
		Require: []ledger.Require{{Key: "r", Version: 1, Status: "s"}},
		Docs:    []ledger.DocWrite{{Key: "d", IfVersion: 1, IfStatus: "a", Status: "b", Body: []byte{0, 255}, Seal: true}},
		Close:   []ledger.Close{{Hold: "h", Key: ledger.Key{Account: "a", Asset: "X"}, Take: []ledger.Leg{{To: "b", Amount: 2}}, Keep: true}},
		Post:    []ledger.Posting{{From: "a", To: "b", Asset: "X", Amount: 3}, {From: "b", To: "c", Asset: "X", Amount: 4}},
		Hold:    []ledger.Hold{{ID: "i", From: "a", Asset: "X", Amount: 5, ExpiresAt: 6}},
		Count:   []ledger.Count{{Key: "c", Delta: -7, Max: 8}},
		Open:    []ledger.Open{{Key: ledger.Key{Account: "o", Asset: "X"}, Floor: -9, Closed: true}},
		Memo:    []byte("memo"),
	}
}

// encode writes any value as the documentation of Digest says, by reflection
// over the declarations, which the real one does not use.
func encode(b *bytes.Buffer, v reflect.Value) {
	count := func(n int) { _ = binary.Write(b, binary.BigEndian, uint32(n)) }
	switch v.Kind() {
	case reflect.String:
		count(v.Len())
		b.WriteString(v.String())
	case reflect.Int64:
		_ = binary.Write(b, binary.BigEndian, v.Int())
	case reflect.Uint64:
		_ = binary.Write(b, binary.BigEndian, v.Uint())
	case reflect.Bool:
		b.WriteByte(map[bool]byte{true: 1}[v.Bool()])
	case reflect.Slice:
		count(v.Len())
		if v.Type().Elem().Kind() == reflect.Uint8 {
			b.Write(v.Bytes())
			return
		}
		for i := range v.Len() {
			encode(b, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			encode(b, v.Field(i))
		}
	default:
		panic(v.Kind())
	}
}

func TestDigestIsTheDocumentedEncoding(t *testing.T) {
	big := full()
	big.Memo = bytes.Repeat([]byte("m"), 5000)
	for _, tx := range []ledger.Tx{{}, {ID: "a"}, full(), big} {
		var b bytes.Buffer
		encode(&b, reflect.ValueOf("ledger/tx/1"))
		encode(&b, reflect.ValueOf(tx))
		require.Equal(t, sha256.Sum256(b.Bytes()), ledger.Digest(tx))
	}
	var b bytes.Buffer
	b.Write([]byte{0, 0, 0, 14})
	b.WriteString("ledger/entry/1")
	b.Write(bytes.Repeat([]byte{7}, 32))
	b.Write([]byte{0, 0, 0, 0, 0, 0, 1, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe})
	b.Write(bytes.Repeat([]byte{9}, 32))
	require.Equal(t, sha256.Sum256(b.Bytes()), ledger.Chain([32]byte(bytes.Repeat([]byte{7}, 32)), 258, -2, [32]byte(bytes.Repeat([]byte{9}, 32))))
}

// leaves calls f after changing each field in turn, and changes it back.
func leaves(v reflect.Value, f func()) {
	switch v.Kind() {
	case reflect.String:
		old := v.String()
		v.SetString(old + "x")
		f()
		v.SetString(old)
	case reflect.Int64:
		v.SetInt(v.Int() + 1)
		f()
		v.SetInt(v.Int() - 1)
	case reflect.Uint64:
		v.SetUint(v.Uint() + 1)
		f()
		v.SetUint(v.Uint() - 1)
	case reflect.Uint8:
		v.SetUint(v.Uint() ^ 1)
		f()
		v.SetUint(v.Uint() ^ 1)
	case reflect.Bool:
		v.SetBool(!v.Bool())
		f()
		v.SetBool(!v.Bool())
	case reflect.Slice:
		old := v.Interface()
		v.SetLen(v.Len() - 1)
		f()
		v.Set(reflect.ValueOf(old))
		for i := range v.Len() {
			leaves(v.Index(i), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			leaves(v.Field(i), f)
		}
	}
}

func TestEveryFieldChangesTheDigest(t *testing.T) {
	tx := full()
	seen := map[[32]byte]bool{ledger.Digest(tx): true}
	n := 1
	leaves(reflect.ValueOf(&tx).Elem(), func() {
		seen[ledger.Digest(tx)] = true
		n++
	})
	require.Len(t, seen, n)
	require.Greater(t, n, 45)
	slices.Reverse(tx.Post)
	require.False(t, seen[ledger.Digest(tx)], "order is part of the body")
}

func TestKeysAreSortedCompleteAndIncludeTheID(t *testing.T) {
	tx := full()
	tx.Post = append(tx.Post, ledger.Posting{From: "a", To: "b", Asset: "A", Amount: 1}, ledger.Posting{From: "a", To: "b", Asset: "X", Amount: 1})
	tx.Docs = append(tx.Docs, ledger.DocWrite{Key: "a"}, ledger.DocWrite{Key: "a"})
	tx.Count = append(tx.Count, ledger.Count{Key: "b"}, ledger.Count{Key: "c"})
	tx.Hold = append(tx.Hold, ledger.Hold{ID: "g", From: "z", Asset: "Y"}, ledger.Hold{ID: "h", From: "z", Asset: "Y"})
	k := func(a ledger.AccountID, s ledger.Asset) ledger.Key { return ledger.Key{Account: a, Asset: s} }
	require.Equal(t, ledger.KeySet{
		ID:       "tx/1",
		Balances: []ledger.Key{k("a", "A"), k("a", "X"), k("b", "A"), k("b", "X"), k("c", "X"), k("o", "X"), k("z", "Y")},
		Holds:    []string{"g", "h", "i"},
		Docs:     []ledger.DocKey{"a", "d", "r"},
		Counts:   []string{"b", "c"},
	}, ledger.Keys(tx))
	require.Equal(t, ledger.KeySet{ID: "x"}, ledger.Keys(ledger.Tx{ID: "x"}))
	// Two keys take a shorter way.
	for _, p := range []ledger.Posting{{From: "a", To: "b"}, {From: "b", To: "a"}} {
		require.Equal(t, []ledger.Key{k("a", ""), k("b", "")}, ledger.Keys(ledger.Tx{Post: []ledger.Posting{p}}).Balances)
	}
	require.Equal(t, []ledger.Key{k("a", "")}, ledger.Keys(ledger.Tx{Post: []ledger.Posting{{From: "a", To: "a"}}}).Balances)
}
