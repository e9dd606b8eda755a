package ledger

import (
	"math"
	"slices"
	"strconv"
)

const maxID = 128

// idByte is the alphabet of ids: nothing a URL, a shell or SQL would read in
// its own way.
var idByte = func() (t [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/#@-" {
		t[c] = true
	}
	return t
}()

func validID[S ~string](s S) bool { return s != "" && validText(s) }

func validText[S ~string](s S) bool {
	if len(s) > maxID {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !idByte[s[i]] {
			return false
		}
	}
	return true
}

const (
	whyID     = "want 1 to 128 bytes of [A-Za-z0-9._:/#@-]"
	whyStatus = "want at most 128 bytes of [A-Za-z0-9._:/#@-]"
	whyAmount = "want at least 1"
	whySelf   = "same account on both sides"
	whyTwice  = "named twice in one tx"
	whyNew    = "a document that must not exist has no status"
	whyVer    = "out of range"
	whyBytes  = "want at most 4294967295 bytes"
)

// maxBytes is the longest that Digest, whose lengths are 4 bytes, tells from a
// shorter one.
const maxBytes = math.MaxUint32

// maxVersion keeps versions inside SQL's signed integers, the next included.
const maxVersion = math.MaxInt64 - 1

// at builds the path only on the way out with an error.
func at(part string, i int, rest string) string { return part + "[" + strconv.Itoa(i) + "]" + rest }

// prepare checks the shape of tx, which needs no state, and lists its keys, in
// room if they fit.
func prepare(tx *Tx, room []Key) (KeySet, error) {
	if !validID(tx.ID) {
		return KeySet{}, ErrInvalid{"id", whyID}
	}
	if len(tx.Require)+len(tx.Docs)+len(tx.Close)+len(tx.Post)+len(tx.Hold)+len(tx.Count)+len(tx.Open)+len(tx.Memo) == 0 {
		return KeySet{}, ErrInvalid{"tx", "nothing to do"}
	}
	if uint64(len(tx.Memo)) > maxBytes {
		return KeySet{}, ErrInvalid{"memo", whyBytes}
	}
	if err := checkParts(tx); err != nil {
		return KeySet{}, err
	}
	ks := gather(tx, room)
	if f := twice(tx, &ks); f != "" {
		return KeySet{}, ErrInvalid{f, whyTwice}
	}
	return ks, nil
}

func checkParts(tx *Tx) error {
	for i := range tx.Require {
		r := &tx.Require[i]
		switch {
		case !validID(r.Key):
			return ErrInvalid{at("require", i, ".key"), whyID}
		case r.Version > maxVersion:
			return ErrInvalid{at("require", i, ".version"), whyVer}
		case !validText(r.Status):
			return ErrInvalid{at("require", i, ".status"), whyStatus}
		case r.Version == 0 && r.Status != "":
			return ErrInvalid{at("require", i, ".status"), whyNew}
		}
	}
	for i := range tx.Docs {
		d := &tx.Docs[i]
		switch {
		case !validID(d.Key):
			return ErrInvalid{at("docs", i, ".key"), whyID}
		case d.IfVersion > maxVersion:
			return ErrInvalid{at("docs", i, ".if_version"), whyVer}
		case !validText(d.IfStatus):
			return ErrInvalid{at("docs", i, ".if_status"), whyStatus}
		case d.IfVersion == 0 && d.IfStatus != "":
			return ErrInvalid{at("docs", i, ".if_status"), whyNew}
		case !validText(d.Status):
			return ErrInvalid{at("docs", i, ".status"), whyStatus}
		case uint64(len(d.Body)) > maxBytes:
			return ErrInvalid{at("docs", i, ".body"), whyBytes}
		}
	}
	for i := range tx.Close {
		if err := checkClose(&tx.Close[i], i); err != nil {
			return err
		}
	}
	for i := range tx.Post {
		p := &tx.Post[i]
		switch {
		case !validID(p.From):
			return ErrInvalid{at("post", i, ".from"), whyID}
		case !validID(p.To):
			return ErrInvalid{at("post", i, ".to"), whyID}
		case p.From == p.To:
			return ErrInvalid{at("post", i, ".to"), whySelf}
		case !validID(p.Asset):
			return ErrInvalid{at("post", i, ".asset"), whyID}
		case p.Amount < 1:
			return ErrInvalid{at("post", i, ".amount"), whyAmount}
		}
	}
	for i := range tx.Hold {
		h := &tx.Hold[i]
		switch {
		case !validID(h.ID):
			return ErrInvalid{at("hold", i, ".id"), whyID}
		case !validID(h.From):
			return ErrInvalid{at("hold", i, ".from"), whyID}
		case !validID(h.Asset):
			return ErrInvalid{at("hold", i, ".asset"), whyID}
		case h.Amount < 1:
			return ErrInvalid{at("hold", i, ".amount"), whyAmount}
		case h.ExpiresAt < 0:
			return ErrInvalid{at("hold", i, ".expires_at"), "want Unix nanoseconds, or 0 for never"}
		}
	}
	for i := range tx.Count {
		if !validID(tx.Count[i].Key) {
			return ErrInvalid{at("count", i, ".key"), whyID}
		}
	}
	for i := range tx.Open {
		if f := checkKey(tx.Open[i].Key); f != "" {
			return ErrInvalid{at("open", i, ".key") + f, whyID}
		}
	}
	return nil
}

func checkClose(c *Close, i int) error {
	if !validID(c.Hold) {
		return ErrInvalid{at("close", i, ".hold"), whyID}
	}
	if f := checkKey(c.Key); f != "" {
		return ErrInvalid{at("close", i, ".key") + f, whyID}
	}
	switch {
	case c.Void && c.Keep:
		return ErrInvalid{at("close", i, ".keep"), "void keeps nothing"}
	case c.Void && len(c.Take) > 0:
		return ErrInvalid{at("close", i, ".take"), "void takes nothing"}
	case !c.Void && len(c.Take) == 0:
		return ErrInvalid{at("close", i, ".take"), "want legs to take, or void"}
	}
	for j := range c.Take {
		l := &c.Take[j]
		switch {
		case !validID(l.To):
			return ErrInvalid{at("close", i, at(".take", j, ".to")), whyID}
		case l.To == c.Key.Account:
			return ErrInvalid{at("close", i, at(".take", j, ".to")), whySelf}
		case l.Amount < 1:
			return ErrInvalid{at("close", i, at(".take", j, ".amount")), whyAmount}
		}
	}
	return nil
}

func checkKey(k Key) string {
	switch {
	case !validID(k.Account):
		return ".account"
	case !validID(k.Asset):
		return ".asset"
	}
	return ""
}

// twice names the part that touches something for the second time, or "".
func twice(tx *Tx, ks *KeySet) string {
	if k, ok := repeated(ks.Docs); ok {
		n := 0
		for i := range tx.Docs {
			if tx.Docs[i].Key == k {
				if n++; n == 2 {
					return at("docs", i, ".key")
				}
			}
		}
		for i := range tx.Require {
			if tx.Require[i].Key == k {
				if n++; n == 2 {
					return at("require", i, ".key")
				}
			}
		}
	}
	if k, ok := repeated(ks.Holds); ok {
		n := 0
		for i := range tx.Close {
			if tx.Close[i].Hold == k {
				if n++; n == 2 {
					return at("close", i, ".hold")
				}
			}
		}
		for i := range tx.Hold {
			if tx.Hold[i].ID == k {
				if n++; n == 2 {
					return at("hold", i, ".id")
				}
			}
		}
	}
	if k, ok := repeated(ks.Counts); ok {
		n := 0
		for i := range tx.Count {
			if tx.Count[i].Key == k {
				if n++; n == 2 {
					return at("count", i, ".key")
				}
			}
		}
	}
	if len(tx.Open) > 1 {
		seen := make([]Key, 0, len(tx.Open))
		for i := range tx.Open {
			j, found := slices.BinarySearchFunc(seen, tx.Open[i].Key, compareKeys)
			if found {
				return at("open", i, ".key")
			}
			seen = slices.Insert(seen, j, tx.Open[i].Key)
		}
	}
	return ""
}

func repeated[S ~string](sorted []S) (S, bool) {
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return sorted[i], true
		}
	}
	return "", false
}
