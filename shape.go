package glasshouse

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/wire"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// System is the actor of the host's own commands: opening a game, firing a clock, voiding. It holds a colon, which no
// account name of a person may, so no session can produce it.
const System = ":system"

// memoFormat is the format of [Rules.MarshalTurn].
const memoFormat = 1

// MaxID is the largest request id of a client, in bytes.
const MaxID = 64

// MaxKey is the largest key of a game's document, in bytes: what is named after it must fit into the ledger's ids.
const MaxKey = 90

// MaxActor is the largest name of a person or of a game, in bytes.
const MaxActor = 40

// Input is what the host knows about one command: who sent it and when.
type Input struct {
	Actor string      // who acts, from the session, never from a payload; "" is refused; System for the host itself
	ID    string      // request id of the client, ≤ MaxID bytes of [A-Za-z0-9._/#@-]; a repeat gets the first answer; "" for none
	Epoch uint64      // connection epoch; 0 = the game has no connections; an old one is refused
	At    time.Time   // now, by the host's clock; the State keeps whole milliseconds and never goes back
	Draw  fair.Source // the host's keyed source, for making secrets; nil where nothing is drawn
}

// Turn is one step of a game: what Step gives, Apply takes, and the journal keeps. Turns are private host data: they
// hold everything that a replay needs, secrets included. Only what Observe returns may leave the house.
type Turn[E any] struct {
	Rev    uint64    // the State's revision after this step; the first is 1
	At     time.Time // UTC, whole milliseconds, never before the step before
	Actor  string    // Input.Actor
	ID     string    // Input.ID
	Events []E       // never empty
}

// Deadline is the earliest running clock of a game. Key names the situation it belongs to, so a reconnect or a restart
// cannot renew it. The zero Deadline means that no clock is running.
type Deadline struct {
	Key string
	At  time.Time
}

// Refusal is an error that changed nothing and that a program can tell from others by its code: every engine's
// RuleError and every error of the ledger is one. Codes are lower_snake and stable.
type Refusal interface {
	error
	Code() string
}

// CorruptError says that stored bytes are not what this program wrote: stop and look. What names the place.
type CorruptError struct {
	What string
	Err  error
}

func (e *CorruptError) Error() string { return "glasshouse: corrupt " + e.What + ": " + e.Err.Error() }
func (e *CorruptError) Unwrap() error { return e.Err }

// Command and Event are members of an engine's closed sets; Kind is their name on the wire.
type (
	Command interface{ Kind() string }
	Event   interface{ Kind() string }
)

// Machine is the shape of every engine's *State. A State is immutable: Step and Apply return the next one and leave
// the receiver as it was, so on an error, or after a commit that failed, the caller just drops what he got.
type Machine[S any, C Command, E Event, V any] interface {
	Step(in Input, cmd C) (S, Turn[E], error)
	Apply(t Turn[E]) (S, error)
	View(viewer string) V
	Observe(ev E, viewer string) (E, bool)
	Legal(actor string) []C
	Deadline() Deadline
	Rev() uint64
	Tx(key ledger.DocKey, t Turn[E]) ledger.Tx
	Snapshot() []byte
}

// Codec reads and writes one closed set of types as strict JSON, {"kind":…,"data":{…}}; a type without fields has no
// data, {"kind":…}.
type Codec[T any] interface {
	Marshal(v T) ([]byte, error)
	Unmarshal(data []byte) (T, error)
}

// Rules is what [Table] and Host need of an engine beside the methods of its State.
type Rules[S Machine[S, C, E, V], C Command, E Event, V any] struct {
	Game     string                                    // "battle": in memos and records
	Commands Codec[C]                                  // from clients and tests
	Events   Codec[E]                                  // in the journal
	Restore  func(config, snapshot []byte) (S, error)  // from the documents key#config and key
	Status   func(s S) string                          // the document's status
	Done     func(s S) bool                            // no step will ever follow: the document is sealed
	Expire   func(key string) C                        // fires the clock of that key
	Void     func(reason string) C                     // ends a game that cannot go on, money back
	Due      func(s S, now time.Time) (cmd C, ok bool) // what System has to step now, if anything

	// Key is the document that belongs to a game, so that no game is played under two keys. Optional.
	Key func(s S) ledger.DocKey
	// Seated reports whether actor takes part, so that he sees each state at once and others see him come and go.
	// Optional: without it nobody does, which matters only where spectators see the game later.
	Seated func(s S, actor string) bool
	// Volatile reports whether a turn may be shown before it is committed, and lost with the process: the ticks of a
	// race. Such turns are committed with the next one that is not volatile, and at the latest 20 at once. A turn with
	// a request id is never volatile. Optional.
	Volatile func(t Turn[E]) bool
}

type memo struct {
	Format int               `json:"format"`
	Game   string            `json:"game"`
	Rev    uint64            `json:"rev"`
	At     int64             `json:"at"` // ms
	Actor  string            `json:"actor"`
	ID     string            `json:"id,omitempty"`
	Events []json.RawMessage `json:"events"`
}

// MarshalTurn writes a turn as the journal keeps it (Tx.Memo), secrets included:
// {"format":1,"game":…,"rev":…,"at":ms,"actor":…,"events":[…]}.
func (r Rules[S, C, E, V]) MarshalTurn(t Turn[E]) ([]byte, error) {
	m := memo{
		Format: memoFormat, Game: r.Game, Rev: t.Rev, At: t.At.UnixMilli(), Actor: t.Actor, ID: t.ID,
		Events: make([]json.RawMessage, len(t.Events)),
	}
	for i, ev := range t.Events {
		b, err := r.Events.Marshal(ev)
		if err != nil {
			return nil, fmt.Errorf("events[%d]: %w", i, err)
		}
		m.Events[i] = b
	}
	return wire.Marshal(m)
}

// UnmarshalTurn reads what MarshalTurn wrote. Anything else is a [*CorruptError].
func (r Rules[S, C, E, V]) UnmarshalTurn(data []byte) (Turn[E], error) {
	var m memo
	err := wire.Unmarshal(data, &m)
	switch {
	case err != nil:
	case m.Format != memoFormat:
		err = fmt.Errorf("format: %d is unknown", m.Format)
	case m.Game != r.Game:
		err = fmt.Errorf("game: %q, want %q", m.Game, r.Game)
	case m.Rev == 0:
		err = errors.New("rev: 0")
	case len(m.Events) == 0:
		err = errors.New("events: empty")
	default:
		err = Input{Actor: m.Actor, ID: m.ID, At: time.UnixMilli(m.At)}.Check()
	}
	if err != nil {
		return Turn[E]{}, &CorruptError{What: "turn", Err: err}
	}
	t := Turn[E]{Rev: m.Rev, At: time.UnixMilli(m.At).UTC(), Actor: m.Actor, ID: m.ID, Events: make([]E, len(m.Events))}
	for i, raw := range m.Events {
		if t.Events[i], err = r.Events.Unmarshal(raw); err != nil {
			return Turn[E]{}, &CorruptError{What: "turn", Err: fmt.Errorf("events[%d]: %w", i, err)}
		}
	}
	return t, nil
}

// Commit is the part of Tx that is the same in every engine: the game's document at version Rev, sealed when it is
// done; with the first step the sealed document key#config; the claim of the client's request id, req:key:actor:id (or
// req: and the SHA-256 of that in hex, where it is longer than 128 bytes); the turn as memo; and the id key/rev/hash, by
// which a step that was retried is known again: hash is the first 16 hex digits of the memo's SHA-256. The engine adds
// its postings.
// A turn that cannot be written is a mistake of the program and panics.
func (r Rules[S, C, E, V]) Commit(key ledger.DocKey, s S, t Turn[E], config []byte) ledger.Tx {
	m, err := r.MarshalTurn(t)
	if err != nil {
		panic("glasshouse: " + err.Error())
	}
	sum := sha256.Sum256(m)
	tx := ledger.Tx{
		ID:   string(key) + "/" + strconv.FormatUint(t.Rev, 10) + "/" + hex.EncodeToString(sum[:8]),
		Memo: m,
		Docs: []ledger.DocWrite{{Key: key, IfVersion: t.Rev - 1, Status: r.Status(s), Body: s.Snapshot(), Seal: r.Done(s)}},
	}
	if t.Rev == 1 {
		tx.Docs = append(tx.Docs, ledger.DocWrite{Key: ConfigKey(key), Status: "config", Body: config, Seal: true})
	}
	if t.ID != "" {
		tx.Docs = append(tx.Docs, ledger.DocWrite{Key: requestKey(key, t.Actor, t.ID), Status: "request", Body: m, Seal: true})
	}
	return tx
}

// ConfigKey is the key of the document that holds the config of the game at key, written once and sealed.
func ConfigKey(key ledger.DocKey) ledger.DocKey { return key + "#config" }

// requestKey is the document by which a client's request id is taken, once for each table and actor:
// req:<key>:<actor>:<id>, or req: and its SHA-256 in hex where that is longer than an id of the ledger.
func requestKey(key ledger.DocKey, actor, id string) ledger.DocKey {
	full := "req:" + string(key) + ":" + actor + ":" + id
	if len(full) <= maxDocKey {
		return ledger.DocKey(full)
	}
	sum := sha256.Sum256([]byte(full))
	return ledger.DocKey("req:" + hex.EncodeToString(sum[:]))
}

// maxDocKey is the largest key that the ledger takes.
const maxDocKey = 128

// maxMillis is the end of the year 9999: what dates in JSON, JavaScript and SQL hold.
const maxMillis = 253_402_300_799_999

// InputError refuses an Input, whatever the command. Its codes are the same in every engine.
type InputError string

// What an Input can lack.
const (
	ErrNoActor      InputError = "no_actor"       // Actor is empty
	ErrBadActor     InputError = "bad_actor"      // Actor is not 1 to MaxActor bytes of [A-Za-z0-9._/#@-], nor System
	ErrBadRequestID InputError = "bad_request_id" // ID is longer than MaxID or holds other bytes than [A-Za-z0-9._/#@-]
	ErrNoTime       InputError = "no_time"        // At is the zero time, or not from 1970 to 9999
)

// Error is the code in words.
func (e InputError) Error() string { return "glasshouse: " + strings.ReplaceAll(string(e), "_", " ") }

// Code is the stable lower_snake name.
func (e InputError) Code() string { return string(e) }

// Check refuses what no engine accepts. Every Step begins with it.
func (in Input) Check() error {
	switch {
	case in.Actor == "":
		return ErrNoActor
	case in.Actor != System && !ValidName(in.Actor):
		return ErrBadActor
	case in.ID != "" && (len(in.ID) > MaxID || !plain(in.ID)):
		return ErrBadRequestID
	case in.At.UnixMilli() < 0 || in.At.UnixMilli() > maxMillis:
		return ErrNoTime
	}
	return nil
}

// ValidName reports whether a person or a game may be called so: 1 to MaxActor bytes of [A-Za-z0-9._/#@-]. There is no
// colon in it, so no name can reach into another account or document.
func ValidName(name string) bool { return name != "" && len(name) <= MaxActor && plain(name) }

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case strings.IndexByte("._/#@-", c) >= 0:
		default:
			return false
		}
	}
	return true
}
