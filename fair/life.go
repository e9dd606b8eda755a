package fair

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Stage is where a seed stands in its life. The zero value is invalid.
type Stage uint8

// The stages, in the order in which a life goes through them. BeaconKnown is
// left out where no beacon is named; Voided is the end of a game that is called
// off before its root exists.
const (
	StageCommitted Stage = iota + 1
	StageOpen
	StageFrozen
	StageBeaconKnown
	StageResolved
	StageRevealed
	StageVoided
)

var stageNames = [...]string{
	StageCommitted:   "committed",
	StageOpen:        "open",
	StageFrozen:      "frozen",
	StageBeaconKnown: "beacon_known",
	StageResolved:    "resolved",
	StageRevealed:    "revealed",
	StageVoided:      "voided",
}

// String returns the stage's name, "invalid" for a value that has none.
func (s Stage) String() string {
	if s == 0 || int(s) >= len(stageNames) {
		return "invalid"
	}
	return stageNames[s]
}

// MarshalText returns the stage's name; an invalid stage is [ErrFormat].
func (s Stage) MarshalText() ([]byte, error) {
	if name := s.String(); name != "invalid" {
		return []byte(name), nil
	}
	return nil, fmt.Errorf("%w: stage %d", ErrFormat, uint8(s))
}

// UnmarshalText reads a stage's name; anything else is [ErrFormat].
func (s *Stage) UnmarshalText(text []byte) error {
	for i, name := range stageNames {
		if i > 0 && name == string(text) {
			*s = Stage(i)
			return nil
		}
	}
	return fmt.Errorf("%w: stage %.40q", ErrFormat, text)
}

// Life is the life of one seed, an immutable value: each step returns a new
// Life and leaves the receiver as it was; with an error it returns the receiver.
// A step that the stage does not allow is [ErrOrder]. The zero value is a life that has not begun ([Commit] begins
// one).
//
// A Life knows the secret seed. It prints as [secret], or as an address where
// fmt walks an unexported field of another struct; but its JSON form holds the
// seed: store it, never send it. Slices given in and out are copied.
type Life struct{ s veil[life] }

type life struct {
	stage         Stage
	before        Stage // where a voided life stood
	terms         Terms
	seed          ServerSeed
	commitment    Digest
	contributions []Contribution
	descriptor    Descriptor
	target        uint64
	freeze        Digest
	beacon        *Beacon
	root          *Root
}

// Commit begins the life of a seed. The terms are published together with the
// commitment. Errors are [ErrText] and [ErrSeed].
func Commit(t Terms, seed ServerSeed) (Life, error) {
	if err := t.check(); err != nil {
		return Life{}, err
	}
	c, err := seed.Commit(t.Session)
	if err != nil {
		return Life{}, err
	}
	t.Tables = slices.Clone(t.Tables)
	return Life{hide(&life{stage: StageCommitted, terms: t, seed: seed, commitment: c})}, nil
}

// step returns a copy of the life to change, or ErrOrder.
func (l Life) step(name string, from ...Stage) (*life, error) {
	if !slices.Contains(from, l.Stage()) {
		return nil, fmt.Errorf("%w: %s of a life that is %v", ErrOrder, name, l.Stage())
	}
	next := *l.s.get()
	return &next, nil
}

// Open records that the commitment has been published: from now on, and not
// before, players contribute.
func (l Life) Open() (Life, error) {
	next, err := l.step("open", StageCommitted)
	if err != nil {
		return l, err
	}
	next.stage = StageOpen
	return Life{hide(next)}, nil
}

// Contribute adds a player's contribution or replaces his own, until the
// freeze. Errors are [ErrText] and [ErrContribution].
func (l Life) Contribute(c Contribution) (Life, error) {
	next, err := l.step("contribute", StageOpen)
	if err != nil {
		return l, err
	}
	if err := c.check(); err != nil {
		return l, err
	}
	c.Seed = slices.Clone(c.Seed)
	next.contributions = slices.Clone(next.contributions)
	if i := find(next.contributions, c.Player); i >= 0 {
		next.contributions[i] = c
	} else {
		next.contributions = append(next.contributions, c)
	}
	return Life{hide(next)}, nil
}

// contributeAll is Contribute for a whole list of different players, without a
// copy for each.
func (l Life) contributeAll(list []Contribution) (Life, error) {
	next, err := l.step("contribute", StageOpen)
	if err != nil {
		return l, err
	}
	if _, err := seats(list); err != nil {
		return l, err
	}
	for _, c := range list {
		if err := c.check(); err != nil {
			return l, err
		}
	}
	next.contributions = list
	return Life{hide(next)}, nil
}

// Withdraw removes a player and his contribution, until the freeze;
// [ErrUnknownPlayer] if there is none.
func (l Life) Withdraw(player string) (Life, error) {
	next, err := l.step("withdraw", StageOpen)
	if err != nil {
		return l, err
	}
	i := find(next.contributions, player)
	if i < 0 {
		return l, fmt.Errorf("%w: %.140q", ErrUnknownPlayer, player)
	}
	next.contributions = slices.Delete(slices.Clone(next.contributions), i, i+1)
	return Life{hide(next)}, nil
}

// Freeze closes entries. order lists every contributor once, in seat order
// ([ErrUnknownPlayer], [ErrDuplicate], [ErrPlayerMissing]); a player with
// nothing to say contributes an empty seed beforehand. For d and target see
// [Transcript.Freeze]; that the target lies in the future is for the caller to
// ensure, who has a clock.
func (l Life) Freeze(order []string, d Descriptor, target uint64) (Life, error) {
	next, err := l.step("freeze", StageOpen)
	if err != nil {
		return l, err
	}
	given, err := seats(next.contributions)
	if err != nil {
		return l, err
	}
	seated := make([]Contribution, 0, len(order))
	for _, player := range order {
		i, ok := given[player]
		if !ok {
			return l, fmt.Errorf("%w: %.140q", ErrUnknownPlayer, player)
		}
		seated = append(seated, next.contributions[i])
	}
	taken, err := seats(seated)
	if err != nil {
		return l, err
	}
	for _, c := range next.contributions {
		if _, ok := taken[c.Player]; !ok {
			return l, fmt.Errorf("%w: %q", ErrPlayerMissing, c.Player)
		}
	}
	next.contributions = seated
	next.descriptor, next.target = d, target
	if next.freeze, err = next.transcript().Freeze(d, target); err != nil {
		return l, err
	}
	next.stage = StageFrozen
	return Life{hide(next)}, nil
}

// Beacon records the value of the beacon that the freeze named; see
// [Beacon.Check] for the errors.
func (l Life) Beacon(b Beacon) (Life, error) {
	next, err := l.step("beacon", StageFrozen)
	if err != nil {
		return l, err
	}
	if err := b.Check(next.descriptor, next.target); err != nil {
		return l, err
	}
	b.Signature = slices.Clone(b.Signature)
	next.beacon = &b
	next.stage = StageBeaconKnown
	return Life{hide(next)}, nil
}

// Resolve makes the root. It is [ErrNoBeacon] while the freeze names a beacon
// that is not known.
func (l Life) Resolve() (Life, error) {
	next, err := l.step("resolve", StageFrozen, StageBeaconKnown)
	if err != nil {
		return l, err
	}
	if next.root, err = NewRoot(next.seed, next.freeze, next.descriptor, next.target, next.beacon); err != nil {
		return l, err
	}
	next.stage = StageResolved
	return Life{hide(next)}, nil
}

// Reveal ends the life: [Life.Seed] shows the seed. Nothing may be drawn for
// anybody afterwards.
func (l Life) Reveal() (Life, error) {
	next, err := l.step("reveal", StageResolved)
	if err != nil {
		return l, err
	}
	next.stage = StageRevealed
	return Life{hide(next)}, nil
}

// Void ends the life of a seed from which nothing was drawn: the game is called
// off before it is resolved. The seed is shown, so that everybody can see what
// would have come, and there is never a root.
func (l Life) Void() (Life, error) {
	next, err := l.step("void", StageCommitted, StageOpen, StageFrozen, StageBeaconKnown)
	if err != nil {
		return l, err
	}
	next.before, next.stage = next.stage, StageVoided
	return Life{hide(next)}, nil
}

// Stage returns where the life stands; 0 for the zero Life.
func (l Life) Stage() Stage {
	return l.view().stage
}

// Commitment returns the commitment, which is zero for the zero Life.
func (l Life) Commitment() Digest { return l.view().commitment }

// Terms returns what is published with the commitment.
func (l Life) Terms() Terms {
	t := l.view().terms
	t.Tables = slices.Clone(t.Tables)
	return t
}

// Transcript returns everything public so far. The contributions stand in order
// of arrival until the freeze, in seat order from then on.
func (l Life) Transcript() Transcript {
	t := l.view().transcript()
	t.Tables = slices.Clone(t.Tables)
	t.Contributions = slices.Clone(t.Contributions)
	for i := range t.Contributions {
		t.Contributions[i].Seed = slices.Clone(t.Contributions[i].Seed)
	}
	return t
}

// FreezeDigest returns F, which is zero before the freeze.
func (l Life) FreezeDigest() Digest { return l.view().freeze }

// Target returns what the freeze named: the zero descriptor and 0 before the
// freeze or without a beacon.
func (l Life) Target() (Descriptor, uint64) { return l.view().descriptor, l.view().target }

// BeaconValue returns the beacon, once it is known.
func (l Life) BeaconValue() (Beacon, bool) {
	b := l.view().beacon
	if b == nil {
		return Beacon{}, false
	}
	out := *b
	out.Signature = slices.Clone(b.Signature)
	return out, true
}

// Root returns the root of all draws, nil unless the life is Resolved or
// Revealed.
func (l Life) Root() *Root { return l.view().root }

// Seed returns the seed, once it is Revealed or Voided.
func (l Life) Seed() (ServerSeed, bool) {
	if s := l.Stage(); s != StageRevealed && s != StageVoided {
		return ServerSeed{}, false
	}
	return l.view().seed, true
}

// String returns [secret].
func (l Life) String() string { return secretText }

// Format prints [secret] whatever the verb.
func (l Life) Format(f fmt.State, _ rune) { printSecret(f) }

func (l Life) view() *life {
	if s := l.s.get(); s != nil {
		return s
	}
	return &life{}
}

func (s *life) transcript() Transcript {
	return Transcript{
		Kind: s.terms.Kind, Session: s.terms.Session, Commitment: s.commitment,
		ConfigHash: s.terms.ConfigHash, Tables: s.terms.Tables, Contributions: s.contributions,
	}
}

// lifeFormat numbers the JSON form of a Life.
const lifeFormat = 1

// lifeJSON leaves out what follows from the rest: the commitment, the freeze
// digest and the root.
type lifeJSON struct {
	Format        int            `json:"format"`
	Scheme        string         `json:"scheme"`
	Stage         Stage          `json:"stage"`
	Voided        bool           `json:"voided"`
	Seed          ServerSeed     `json:"seed"`
	Terms         Terms          `json:"terms"`
	Contributions []Contribution `json:"contributions"`
	Descriptor    Descriptor     `json:"descriptor"`
	Target        uint64         `json:"target,string"`
	Beacon        *Beacon        `json:"beacon"`
}

// MarshalJSON returns the private form, which holds the seed; null for the zero
// Life.
func (l Life) MarshalJSON() ([]byte, error) {
	s := l.s.get()
	if s == nil {
		return []byte("null"), nil
	}
	j := lifeJSON{
		Format: lifeFormat, Scheme: Scheme, Stage: s.stage, Seed: s.seed, Terms: s.terms,
		Contributions: s.contributions, Descriptor: s.descriptor, Target: s.target, Beacon: s.beacon,
	}
	if s.stage == StageVoided {
		j.Stage, j.Voided = s.before, true
	}
	// nil and empty must not be two texts for one life.
	if len(j.Contributions) == 0 {
		j.Contributions = []Contribution{}
	}
	if len(j.Terms.Tables) == 0 {
		j.Terms.Tables = []Digest{}
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads the form of MarshalJSON and nothing else: it goes through
// the life again, step by step, and refuses text that is not canonical
// ([ErrFormat]), or the error of the step that is not possible.
func (l *Life) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*l = Life{}
		return nil
	}
	var j lifeJSON
	if err := decodeStrict(data, &j); err != nil {
		return err
	}
	switch {
	case j.Format != lifeFormat:
		return fmt.Errorf("%w: format %d of a life, want %d", ErrFormat, j.Format, lifeFormat)
	case j.Scheme != Scheme:
		return fmt.Errorf("%w: scheme %.40q, want %q", ErrFormat, j.Scheme, Scheme)
	}
	v, err := j.live()
	if err != nil {
		return err
	}
	if err := sameJSON(data, v); err != nil {
		return err
	}
	*l = v
	return nil
}

// live goes through the life that j describes.
func (j lifeJSON) live() (Life, error) {
	l, err := Commit(j.Terms, j.Seed)
	step := func(at Stage, next func() (Life, error)) {
		if err == nil && j.Stage >= at {
			l, err = next()
		}
	}
	step(StageOpen, func() (Life, error) { return l.Open() })
	if len(j.Contributions) > 0 {
		step(0, func() (Life, error) { return l.contributeAll(j.Contributions) })
	}
	step(StageFrozen, func() (Life, error) {
		order := make([]string, len(j.Contributions))
		for i, c := range j.Contributions {
			order[i] = c.Player
		}
		return l.Freeze(order, j.Descriptor, j.Target)
	})
	if j.Beacon != nil {
		step(0, func() (Life, error) { return l.Beacon(*j.Beacon) })
	}
	step(StageResolved, func() (Life, error) { return l.Resolve() })
	step(StageRevealed, func() (Life, error) { return l.Reveal() })
	if j.Voided {
		step(0, func() (Life, error) { return l.Void() })
	}
	return l, err
}

// decodeStrict refuses unknown fields and trailing data. What it lets pass
// (duplicate names, other case, other order) sameJSON finds.
func decodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		// The decoder's own error may quote the input, which holds a seed.
		return fmt.Errorf("%w: not the JSON of %T", ErrFormat, v)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("%w: data after the JSON", ErrFormat)
	}
	return nil
}

// sameJSON refuses text that is not what v would be written as, white space
// apart.
func sameJSON(data []byte, v any) error {
	want, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var got bytes.Buffer
	if err := json.Compact(&got, data); err != nil || !bytes.Equal(got.Bytes(), want) {
		return fmt.Errorf("%w: not canonical JSON", ErrFormat)
	}
	return nil
}
