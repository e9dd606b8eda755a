package fair

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Session is repeated play of one player, for boxes: one committed seed and one
// client seed serve many plays, whose paths carry the number of the play. A
// rotation shows the old seed and commits to the next; only then can the client
// seed change. It is an immutable value like [Life], prints as [secret] and
// holds a seed in its JSON form. The zero value has not begun.
//
//	s, err := fair.OpenSession(terms, "p1", seed)   // publish s.Life().Commitment()
//	s, err = s.Begin(clientSeed)                    // the player's own bytes
//	s, play, err := s.Play()                        // 0, 1, 2, …
//	item := table.Pick(s.Life().Root().At("box", play, 0))
//	s, err = s.Rotate(terms, nextSeed)              // s.Retired() shows the old seed
type Session struct{ s veil[session] }

type session struct {
	base    Terms // of the current epoch, with the session's own name
	player  string
	epoch   uint64
	plays   uint64
	current Life
	retired Life
}

// OpenSession commits to the first seed of a player's session (epoch 0). The
// session's name in t is 1..111 bytes: its lives are named by it, "#", and the
// epoch in 16 lower-case hex digits. Errors are [ErrText] and [ErrSeed].
func OpenSession(t Terms, player string, seed ServerSeed) (Session, error) {
	if err := checkText("player", player); err != nil {
		return Session{}, err
	}
	return openEpoch(t, player, 0, seed)
}

func openEpoch(t Terms, player string, epoch uint64, seed ServerSeed) (Session, error) {
	if err := t.check(); err != nil {
		return Session{}, err
	}
	named := t
	named.Session = fmt.Sprintf("%s#%016x", t.Session, epoch)
	l, err := Commit(named, seed)
	if err != nil {
		return Session{}, err
	}
	if l, err = l.Open(); err != nil {
		return Session{}, err
	}
	return Session{hide(&session{base: t, player: player, epoch: epoch, current: l})}, nil
}

// Begin takes the player's seed (0..64 bytes) for this epoch and resolves the
// root; plays can follow. A second one in the same epoch is [ErrOrder].
func (s Session) Begin(client []byte) (Session, error) {
	next := s.copy()
	l, err := next.current.Contribute(Contribution{Player: next.player, Seed: client})
	if err != nil {
		return s, err
	}
	if l, err = l.Freeze([]string{next.player}, Descriptor{}, 0); err != nil {
		return s, err
	}
	if next.current, err = l.Resolve(); err != nil {
		return s, err
	}
	return Session{hide(next)}, nil
}

// Play takes the number of the next play of this epoch, from 0, which goes into
// the paths of its draws. The new Session is to be stored with the play: a
// number is used once. [ErrOrder] before Begin.
func (s Session) Play() (Session, uint64, error) {
	next := s.copy()
	if st := next.current.Stage(); st != StageResolved {
		return s, 0, fmt.Errorf("%w: play of a session that is %v", ErrOrder, st)
	}
	next.plays++
	return Session{hide(next)}, next.plays - 1, nil
}

// Rotate ends the epoch: the old seed is shown ([Session.Retired]), the next
// one committed to under terms that may differ in hashes but not in kind and
// session ([ErrText]); the seed must differ from the old one ([ErrSeed]).
func (s Session) Rotate(t Terms, seed ServerSeed) (Session, error) {
	old := s.copy()
	if old.current.Stage() == 0 {
		return s, fmt.Errorf("%w: rotation of a session that has not begun", ErrOrder)
	}
	if t.Kind != old.base.Kind || t.Session != old.base.Session {
		return s, fmt.Errorf("%w: rotation from %q/%q to %.140q/%.140q", ErrText, old.base.Kind, old.base.Session, t.Kind, t.Session)
	}
	if seed == old.current.view().seed {
		return s, fmt.Errorf("%w: rotation of session %q to the same seed", ErrSeed, t.Session)
	}
	next, err := openEpoch(t, old.player, old.epoch+1, seed)
	if err != nil {
		return s, err
	}
	// A seed that no client seed ever met has drawn nothing.
	if old.current.Stage() == StageOpen {
		next.s.get().retired, err = old.current.Void()
	} else {
		next.s.get().retired, err = old.current.Reveal()
	}
	if err != nil {
		return s, err
	}
	return next, nil
}

// Life returns the life of the current seed: Open until Begin, then Resolved.
func (s Session) Life() Life { return s.copy().current }

// Retired returns the life that the last rotation ended, with its seed shown;
// the zero Life before the first rotation.
func (s Session) Retired() Life { return s.copy().retired }

// Player returns the player's id.
func (s Session) Player() string { return s.copy().player }

// Epoch returns the number of rotations so far.
func (s Session) Epoch() uint64 { return s.copy().epoch }

// Plays returns the number of plays in this epoch.
func (s Session) Plays() uint64 { return s.copy().plays }

// String returns [secret].
func (s Session) String() string { return secretText }

// Format prints [secret] whatever the verb.
func (s Session) Format(f fmt.State, _ rune) { printSecret(f) }

func (s Session) copy() *session {
	var next session
	if v := s.s.get(); v != nil {
		next = *v
	}
	return &next
}

const sessionFormat = 1

type sessionJSON struct {
	Format  int    `json:"format"`
	Player  string `json:"player"`
	Epoch   uint64 `json:"epoch,string"`
	Plays   uint64 `json:"plays,string"`
	Current Life   `json:"current"`
	Retired Life   `json:"retired"`
}

// MarshalJSON returns the private form, which holds the seed; null for the zero
// Session.
func (s Session) MarshalJSON() ([]byte, error) {
	v := s.s.get()
	if v == nil {
		return []byte("null"), nil
	}
	return json.Marshal(sessionJSON{
		Format: sessionFormat, Player: v.player, Epoch: v.epoch, Plays: v.plays,
		Current: v.current, Retired: v.retired,
	})
}

// UnmarshalJSON reads the form of MarshalJSON and nothing else ([ErrFormat]).
func (s *Session) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*s = Session{}
		return nil
	}
	var j sessionJSON
	if err := decodeStrict(data, &j); err != nil {
		return err
	}
	if j.Format != sessionFormat {
		return fmt.Errorf("%w: format %d of a session, want %d", ErrFormat, j.Format, sessionFormat)
	}
	v := &session{player: j.Player, epoch: j.Epoch, plays: j.Plays, current: j.Current, retired: j.Retired}
	if err := v.check(); err != nil {
		return err
	}
	if err := sameJSON(data, Session{hide(v)}); err != nil {
		return err
	}
	*s = Session{hide(v)}
	return nil
}

// check refuses what no sequence of steps leads to, and sets the base terms.
func (s *session) check() error {
	if err := checkText("player", s.player); err != nil {
		return err
	}
	base, ok := strings.CutSuffix(s.current.view().terms.Session, fmt.Sprintf("#%016x", s.epoch))
	if !ok || base == "" {
		return fmt.Errorf("%w: the current life is not of epoch %d", ErrFormat, s.epoch)
	}
	s.base = s.current.Terms()
	s.base.Session = base
	switch s.current.Stage() {
	case StageOpen:
		if len(s.current.view().contributions) != 0 || s.plays != 0 {
			return fmt.Errorf("%w: plays or a client seed before the beginning", ErrFormat)
		}
	case StageResolved:
		if c := s.current.view().contributions; len(c) != 1 || c[0].Player != s.player || c[0].Operator || !s.current.view().descriptor.IsNone() {
			return fmt.Errorf("%w: the current life is not one of player %q alone", ErrFormat, s.player)
		}
	default:
		return fmt.Errorf("%w: the current life is %v", ErrFormat, s.current.Stage())
	}
	return s.checkRetired()
}

func (s *session) checkRetired() error {
	st := s.retired.Stage()
	if s.epoch == 0 {
		if st != 0 {
			return fmt.Errorf("%w: a retired life in epoch 0", ErrFormat)
		}
		return nil
	}
	want := fmt.Sprintf("%s#%016x", s.base.Session, s.epoch-1)
	if st != StageRevealed && st != StageVoided || s.retired.view().terms.Session != want {
		return fmt.Errorf("%w: the retired life is not that of epoch %d", ErrFormat, s.epoch-1)
	}
	return nil
}
