package ledger

import (
	"iter"
	"slices"
)

// Entry is one accepted Tx in the journal. Seq counts from 1 without gaps, At
// is the time of the commit, Digest is [Digest] of Tx, and Hash chains the
// entry to the one before with [Chain].
//
// As JSON, one entry a line, an exported journal can be read and replayed by
// anybody: names in snake_case, integers as decimal strings, bytes as base64,
// digests as lower-case hex. Decoding is strict.
type Entry struct {
	Seq    uint64
	At     int64
	Tx     Tx
	Digest [32]byte
	Hash   [32]byte
}

// Replay rebuilds the state from a journal that begins at entry 1. It trusts
// nothing: the numbers must follow on each other, every digest and hash is
// computed again, and every Tx must be acceptable where it stands. The first
// fault is an [ErrCorrupt]; an error of the sequence itself is returned as it
// is. With an error comes the state before the faulty entry.
//
// A journal whose end was cut off replays well: compare State.Seq and
// State.Head with values published elsewhere.
func Replay(entries iter.Seq2[Entry, error]) (State, error) {
	t := newTables()
	for e, err := range entries {
		if err != nil {
			return t.state(), err
		}
		if err := t.replay(e); err != nil {
			return t.state(), err
		}
	}
	return t.state(), nil
}

func (t *tables) replay(e Entry) error {
	seq := uint64(len(t.journal)) + 1
	if e.Seq != seq {
		return ErrCorrupt{Seq: seq, Why: "entry missing or out of order"}
	}
	if Digest(e.Tx) != e.Digest {
		return ErrCorrupt{Seq: seq, Why: "digest is not that of the tx"}
	}
	if Chain(t.head, seq, e.At, e.Digest) != e.Hash {
		return ErrCorrupt{Seq: seq, Why: "hash does not continue the chain"}
	}
	c, err := Apply(t, e.Tx.clone(), e.At)
	if err != nil {
		return ErrCorrupt{Seq: seq, Why: "tx is not acceptable", Err: err}
	}
	if c.Receipt.Replayed {
		return ErrCorrupt{Seq: seq, Why: "id occurs twice"}
	}
	t.commit(&c)
	return nil
}

// Reverse is the Tx that gives back what e moved: its postings and captures,
// mirrored. Its id is "refund/" + the id of e, so a second refund is a replay.
// Documents, holds, counters and account rules are not reversed: add what the
// case needs before the first Do. The result shares nothing with e.
//
// An entry that moved nothing gives a Tx that Do refuses as empty; an id
// longer than 121 bytes gives one whose id is too long.
func Reverse(e Entry) Tx {
	tx := Tx{ID: "refund/" + e.Tx.ID}
	for _, c := range e.Tx.Close {
		for _, l := range c.Take {
			tx.Post = append(tx.Post, Posting{From: l.To, To: c.Key.Account, Asset: c.Key.Asset, Amount: l.Amount})
		}
	}
	for _, p := range e.Tx.Post {
		tx.Post = append(tx.Post, Posting{From: p.To, To: p.From, Asset: p.Asset, Amount: p.Amount})
	}
	slices.Reverse(tx.Post)
	return tx
}
