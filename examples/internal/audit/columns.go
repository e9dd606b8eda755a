package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/glasshouse-go/glasshouse/fair/legacy"
)

// column is one of those that decide, under either of its names.
type column uint16

const (
	serverSeed column = 1 << iota
	serverSeedHash
	clientSeed
	nonce
	roll
	isFlip
	flipServerSeed
	flipClientSeed
	flipNonce
	flipRoll
	itemID
	other // a column of the table that decides nothing
)

// columns are the names of the source's model and those of its table.
var columns = map[string]column{
	"serverSeed": serverSeed, "server_seed": serverSeed,
	"serverSeedHash": serverSeedHash, "server_seed_hash": serverSeedHash,
	"clientSeed": clientSeed, "client_seed": clientSeed,
	"nonce": nonce, "roll": roll,
	"isFlip": isFlip, "is_flip": isFlip,
	"flipServerSeed": flipServerSeed, "flip_server_seed": flipServerSeed,
	"flipClientSeed": flipClientSeed, "flip_client_seed": flipClientSeed,
	"flipNonce": flipNonce, "flip_nonce": flipNonce,
	"flipRoll": flipRoll, "flip_roll": flipRoll,
	"itemId": itemID, "item_id": itemID,

	"id": other, "battleId": other, "battle_id": other, "roundNumber": other, "round_number": other,
	"playerId": other, "player_id": other, "caseId": other, "case_id": other,
	"itemValueCents": other, "item_value_cents": other, "itemName": other, "item_name": other,
	"itemImage": other, "item_image": other, "itemRarity": other, "item_rarity": other,
	"createdAt": other, "created_at": other,
}

// columnOf is other for a column that decides nothing; ok is false if the table has none of that name.
func columnOf(name string) (c column, ok bool) {
	if c, ok = columns[name]; !ok {
		c = other
	}
	return c, ok
}

// missing names the first required column that is not there.
func missing(have column) string {
	for _, name := range []string{"serverSeed", "serverSeedHash", "clientSeed", "nonce", "roll", "isFlip"} {
		if have&columns[name] == 0 {
			return name
		}
	}
	return ""
}

// value is the text of a field, and whether there is any.
type value struct {
	text string
	null bool
	name string
}

func (v value) wrong(want string) error {
	if v.null {
		return fmt.Errorf("%s: missing, want %s", v.name, want)
	}
	return fmt.Errorf("%s: %.40q, want %s", v.name, v.text, want)
}

// set puts a field where it belongs.
func set(r *legacy.Row52, c column, v value) (err error) {
	switch c {
	case serverSeed:
		r.ServerSeed, err = v.string()
	case serverSeedHash:
		r.ServerSeedHash, err = v.string()
	case clientSeed:
		r.ClientSeed, err = v.string()
	case nonce:
		r.Nonce, err = v.int()
	case roll:
		r.Roll, err = v.uint()
	case isFlip:
		r.IsFlip, err = v.bool()
	case flipServerSeed:
		r.FlipServerSeed, err = optional(v, value.string)
	case flipClientSeed:
		r.FlipClientSeed, err = optional(v, value.string)
	case flipNonce:
		r.FlipNonce, err = optional(v, value.int)
	case flipRoll:
		r.FlipRoll, err = optional(v, value.uint)
	case itemID:
		if !v.null {
			r.ItemID = v.text
		}
	}
	return err
}

func (v value) string() (string, error) {
	if v.null {
		return "", v.wrong("a text")
	}
	return v.text, nil
}

func (v value) int() (int64, error) {
	n, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil || v.null {
		return 0, v.wrong("a whole number")
	}
	return n, nil
}

func (v value) uint() (uint64, error) {
	n, err := strconv.ParseUint(v.text, 10, 64)
	if err != nil || v.null {
		return 0, v.wrong("a whole number, not negative")
	}
	return n, nil
}

func (v value) bool() (bool, error) {
	switch strings.ToLower(v.text) {
	case "true", "t", "1":
		return true, nil
	case "false", "f", "0":
		return false, nil
	}
	return false, v.wrong("true or false")
}

func optional[T any](v value, get func(value) (T, error)) (*T, error) {
	if v.null {
		return nil, nil
	}
	got, err := get(v)
	return &got, err
}

// parseJSON reads a row from a JSON object.
func parseJSON(in row) (r legacy.Row52, unknown []string, err error) {
	if in.err != nil {
		return r, nil, in.err
	}
	switch {
	case !utf8.Valid(in.json):
		return r, nil, errors.New("invalid UTF-8")
	case !json.Valid(in.json):
		return r, nil, errors.New("invalid JSON")
	case in.json[0] != '{':
		return r, nil, fmt.Errorf("%.40q is no object", in.json)
	}
	var have column
	for rest := in.json[1:]; ; {
		var name, raw []byte
		if name, raw, rest = field(rest); name == nil {
			break
		}
		key, err := text(name)
		if err != nil {
			return r, unknown, err
		}
		c, ok := columnOf(key)
		if !ok {
			unknown = append(unknown, key)
		}
		if c == other {
			continue
		}
		if have&c != 0 {
			return r, unknown, fmt.Errorf("%s: there twice", key)
		}
		have |= c
		v, err := scalar(key, raw)
		if err == nil {
			err = set(&r, c, v)
		}
		if err != nil {
			return r, unknown, err
		}
	}
	if name := missing(have); name != "" {
		return r, unknown, fmt.Errorf("%s: no such column", name)
	}
	return r, unknown, nil
}

// field takes the first name and value off the inside of an object that is valid JSON; a nil name ends it.
func field(b []byte) (name, raw, rest []byte) {
	b = b[blank(b):]
	if b[0] == '}' {
		return nil, nil, nil
	}
	n := span(b)
	name, b = b[:n], b[n:]
	b = b[blank(b)+1:] // the colon
	b = b[blank(b):]
	n = span(b)
	raw, b = b[:n], b[n:]
	b = b[blank(b):]
	if b[0] == ',' {
		b = b[1:]
	}
	return name, raw, b
}

func blank(b []byte) int {
	n := 0
	for n < len(b) && (b[n] == ' ' || b[n] == '\t' || b[n] == '\n' || b[n] == '\r') {
		n++
	}
	return n
}

// span is the length of the value at the start of b, which is valid JSON inside an object.
func span(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

func scalar(name string, raw []byte) (value, error) {
	switch raw[0] {
	case '"':
		s, err := text(raw)
		return value{text: s, name: name}, err
	case '{', '[':
		return value{}, fmt.Errorf("%s: %.40q is no single value", name, raw)
	case 'n':
		return value{null: true, name: name}, nil
	}
	return value{text: string(raw), name: name}, nil
}

// text is what a JSON string says.
func text(raw []byte) (s string, err error) {
	for _, c := range raw {
		if c == '\\' {
			err = json.Unmarshal(raw, &s)
			return s, err
		}
	}
	return string(raw[1 : len(raw)-1]), nil
}
