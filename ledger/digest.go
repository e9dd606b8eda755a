package ledger

import (
	"crypto/sha256"
	"encoding/binary"
)

const (
	tagTx    = "ledger/tx/1"
	tagEntry = "ledger/entry/1"
)

// Digest is the SHA-256 of the body of tx, its id included: what makes two Txs
// the same. It excludes the time of the commit, and takes slices as they are:
// another order is another body.
//
// The encoding is a promise. Every string and byte slice is preceded by its
// length, every list by its count, both as 4 bytes big-endian; integers are 8
// bytes big-endian two's complement; a bool is one byte, 0 or 1. First comes
// the string "ledger/tx/1", then the fields of Tx in order of declaration,
// each struct as its fields in order of declaration (a [Key] as its account,
// then its asset).
func Digest(tx Tx) [32]byte {
	var buf [512]byte // no allocation for the usual Tx
	return sha256.Sum256(appendTx(buf[:0], &tx))
}

// Chain is the hash of a journal entry: the SHA-256 of the string
// "ledger/entry/1" preceded by its length (4 bytes), the hash of the entry
// before (zeros before the first), then seq, at (8 bytes each) and digest;
// all big-endian.
func Chain(prev [32]byte, seq uint64, at int64, digest [32]byte) [32]byte {
	var buf [4 + len(tagEntry) + 32 + 8 + 8 + 32]byte
	b := appendString(buf[:0], tagEntry)
	b = append(b, prev[:]...)
	b = binary.BigEndian.AppendUint64(b, seq)
	b = appendInt(b, at)
	b = append(b, digest[:]...)
	return sha256.Sum256(b)
}

func appendTx(b []byte, tx *Tx) []byte {
	b = appendString(b, tagTx)
	b = appendString(b, tx.ID)
	b = appendLen(b, len(tx.Require))
	for i := range tx.Require {
		r := &tx.Require[i]
		b = appendString(b, r.Key)
		b = binary.BigEndian.AppendUint64(b, r.Version)
		b = appendString(b, r.Status)
	}
	b = appendLen(b, len(tx.Docs))
	for i := range tx.Docs {
		d := &tx.Docs[i]
		b = appendString(b, d.Key)
		b = binary.BigEndian.AppendUint64(b, d.IfVersion)
		b = appendString(b, d.IfStatus)
		b = appendString(b, d.Status)
		b = appendLen(b, len(d.Body))
		b = append(b, d.Body...)
		b = appendBool(b, d.Seal)
	}
	b = appendLen(b, len(tx.Close))
	for i := range tx.Close {
		c := &tx.Close[i]
		b = appendString(b, c.Hold)
		b = appendKey(b, c.Key)
		b = appendLen(b, len(c.Take))
		for j := range c.Take {
			b = appendString(b, c.Take[j].To)
			b = appendInt(b, c.Take[j].Amount)
		}
		b = appendBool(b, c.Keep)
		b = appendBool(b, c.Void)
	}
	b = appendLen(b, len(tx.Post))
	for i := range tx.Post {
		p := &tx.Post[i]
		b = appendString(b, p.From)
		b = appendString(b, p.To)
		b = appendString(b, p.Asset)
		b = appendInt(b, p.Amount)
	}
	b = appendLen(b, len(tx.Hold))
	for i := range tx.Hold {
		h := &tx.Hold[i]
		b = appendString(b, h.ID)
		b = appendString(b, h.From)
		b = appendString(b, h.Asset)
		b = appendInt(b, h.Amount)
		b = appendInt(b, h.ExpiresAt)
	}
	b = appendLen(b, len(tx.Count))
	for i := range tx.Count {
		c := &tx.Count[i]
		b = appendString(b, c.Key)
		b = appendInt(b, c.Delta)
		b = appendInt(b, c.Max)
	}
	b = appendLen(b, len(tx.Open))
	for i := range tx.Open {
		o := &tx.Open[i]
		b = appendKey(b, o.Key)
		b = appendInt(b, o.Floor)
		b = appendBool(b, o.Closed)
	}
	b = appendLen(b, len(tx.Memo))
	return append(b, tx.Memo...)
}

func appendString[S ~string](b []byte, s S) []byte { return append(appendLen(b, len(s)), s...) }

func appendKey(b []byte, k Key) []byte { return appendString(appendString(b, k.Account), k.Asset) }

func appendLen(b []byte, n int) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }

func appendInt(b []byte, n int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) }

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}
