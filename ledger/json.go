package ledger

import (
	"bytes"
	"encoding/hex"
	"encoding/json"

	"github.com/glasshouse-go/glasshouse/internal/wire"
)

// hash32 is a digest as 64 lower-case hex digits.
type hash32 [32]byte

func (h hash32) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

func (h *hash32) UnmarshalText(b []byte) error {
	if len(b) != 64 {
		return ErrInvalid{"digest", "want 64 hex digits"}
	}
	_, err := hex.Decode(h[:], b)
	return err
}

type entryJSON struct {
	Seq    uint64 `json:"seq,string"`
	At     int64  `json:"at,string"`
	Tx     Tx     `json:"tx"`
	Digest hash32 `json:"digest"`
	Hash   hash32 `json:"hash"`
}

type receiptJSON struct {
	ID       string       `json:"id"`
	At       int64        `json:"at,string"`
	Digest   hash32       `json:"digest"`
	Balances []Balance    `json:"balances,omitempty"`
	Docs     []DocVersion `json:"docs,omitempty"`
	Counts   []CountRow   `json:"counts,omitempty"`
}

// MarshalJSON writes the entry on one line. The form is a promise.
func (e Entry) MarshalJSON() ([]byte, error) {
	return wire.Marshal(entryJSON{e.Seq, e.At, e.Tx, e.Digest, e.Hash})
}

// UnmarshalJSON accepts what MarshalJSON writes and, white space aside,
// nothing else. It does not check digest and hash: [Replay] does.
func (e *Entry) UnmarshalJSON(data []byte) error {
	var j entryJSON
	if err := decodeCanonical(data, "entry", &j); err != nil {
		return err
	}
	*e = Entry{j.Seq, j.At, j.Tx, j.Digest, j.Hash}
	return nil
}

// MarshalJSON writes the receipt on one line, without Replayed: it is for
// stores to keep. The form is a promise.
func (r Receipt) MarshalJSON() ([]byte, error) {
	return wire.Marshal(receiptJSON{r.ID, r.At, r.Digest, r.Balances, r.Docs, r.Counts})
}

// UnmarshalJSON accepts what MarshalJSON writes and, white space aside,
// nothing else.
func (r *Receipt) UnmarshalJSON(data []byte) error {
	var j receiptJSON
	if err := decodeCanonical(data, "receipt", &j); err != nil {
		return err
	}
	*r = Receipt{ID: j.ID, At: j.At, Digest: j.Digest, Balances: j.Balances, Docs: j.Docs, Counts: j.Counts}
	return nil
}

// decodeCanonical is strict in the simplest way there is: what was read must
// be written again as it was. That leaves no room for missing fields, "007",
// null, upper-case hex or another order.
func decodeCanonical(data []byte, what string, v any) error {
	if err := wire.Unmarshal(data, v); err != nil {
		return ErrInvalid{what, err.Error()}
	}
	again, err := wire.Marshal(v)
	if err != nil {
		return ErrInvalid{what, err.Error()}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil || !bytes.Equal(compact.Bytes(), again) {
		return ErrInvalid{what, "not in canonical form"}
	}
	return nil
}
