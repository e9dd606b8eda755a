package battle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/wire"
)

// recordFormat is the format of NewRecord.
const recordFormat = 1

// maxRecord is the largest record that is read, in bytes.
const maxRecord = 64 << 20

// record is what an auditor gets once a battle is over: the config, the public events of every step, and at the end
// the digest of all the bytes before it.
type record struct {
	Format int             `json:"format"`
	Game   string          `json:"game"`
	Scheme string          `json:"scheme"`
	Config json.RawMessage `json:"config"`
	Turns  []recordTurn    `json:"turns"`
	Digest *fair.Digest    `json:"record_digest,omitempty"`
}

type recordTurn struct {
	Rev    uint64            `json:"rev"`
	At     int64             `json:"at"` // ms
	Actor  string            `json:"actor"`
	Events []json.RawMessage `json:"events"`
}

// NewRecord writes the public record of a battle that is over, canonical JSON: what everybody could have observed, the
// server seed shown at the end included; request ids and the join code are not in it. A battle that goes on is
// [ErrNotOver], turns that do not follow from each other are a [*glasshouse.CorruptError].
func NewRecord(cfg Config, turns iter.Seq2[Turn, error]) ([]byte, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	r := record{Format: recordFormat, Game: Game, Scheme: fair.Scheme, Config: s.setup.json}
	for t, err := range turns {
		if err != nil {
			return nil, err
		}
		if s, err = s.Apply(t); err != nil {
			return nil, err
		}
		rt := recordTurn{Rev: t.Rev, At: t.At.UnixMilli(), Actor: t.Actor}
		if rt.Events, err = s.public(t.Events); err != nil {
			return nil, err
		}
		r.Turns = append(r.Turns, rt)
	}
	if !s.Status().Done() {
		return nil, ErrNotOver
	}
	return r.seal()
}

// public writes the events as a spectator observes them.
func (s *State) public(evs []Event) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, ev := range evs {
		if ev, ok := s.Observe(ev, ""); ok {
			b, err := MarshalEvent(ev)
			if err != nil {
				return nil, err
			}
			out = append(out, b)
		}
	}
	return out, nil
}

// seal writes the record with its digest: SHA-256 of the JSON up to, and without, `,"record_digest"`.
func (r record) seal() ([]byte, error) {
	r.Digest = nil
	b, err := wire.Marshal(r)
	if err != nil {
		return nil, err
	}
	body := bytes.TrimSuffix(b, []byte("}"))
	sum := fair.Digest(sha256.Sum256(body))
	return fmt.Appendf(body, `,"record_digest":"%s"}`, sum), nil
}

// Verify derives a record of NewRecord again, from nothing but its bytes: every step is decided anew by the rules, from
// the revealed seed, what the players contributed and the beacon, and compared with what the record says. An error
// means that the bytes are no record of a battle, and names the place; whatever is wrong inside a record is a finding
// of the report.
func Verify(data []byte) (fair.Report, error) {
	if len(data) > maxRecord {
		return fair.Report{}, fmt.Errorf("%w: %d bytes, at most %d are read", ErrRecord, len(data), maxRecord)
	}
	var r record
	if err := wire.Unmarshal(data, &r); err != nil {
		return fair.Report{}, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	v, err := newVerifier(r)
	if err != nil {
		return fair.Report{}, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	v.bytes(data)
	v.commitment()
	v.replay()
	v.conclude()
	return v.report, nil
}

// verifier plays a record again. It goes on from what the rules say, not from what the record says, so that one wrong
// figure shows as one finding.
type verifier struct {
	record record
	turns  []Turn // as recorded: public events only
	state  *State // as derived
	draw   recorded
	report fair.Report

	rolls, rows, freeze, settlement, steps mismatch
	rolled                                 int
}

// mismatch is the first difference of its kind.
type mismatch struct{ got, want string }

func (m *mismatch) note(got, want string) {
	if *m == (mismatch{}) {
		*m = mismatch{got, want}
	}
}

func newVerifier(r record) (*verifier, error) {
	switch {
	case r.Format != recordFormat:
		return nil, fmt.Errorf("format: %d is unknown", r.Format)
	case r.Game != Game:
		return nil, fmt.Errorf("game: %.40q, want %q", r.Game, Game)
	case r.Scheme != fair.Scheme:
		return nil, fmt.Errorf("scheme: %.40q is unknown", r.Scheme)
	case r.Digest == nil:
		return nil, errors.New("record_digest: missing")
	case len(r.Turns) == 0:
		return nil, errors.New("turns: none")
	}
	var cfg Config
	if err := wire.Unmarshal(r.Config, &cfg); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	v := &verifier{record: r}
	var err error
	if v.state, err = New(cfg); err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	for i, rt := range r.Turns {
		t := Turn{Rev: rt.Rev, At: time.UnixMilli(rt.At).UTC(), Actor: rt.Actor}
		if len(rt.Events) == 0 {
			return nil, fmt.Errorf("turns[%d].events: none", i)
		}
		for n, raw := range rt.Events {
			ev, err := UnmarshalEvent(raw)
			if err != nil {
				return nil, fmt.Errorf("turns[%d].events[%d]: %w", i, n, err)
			}
			if _, ok := v.state.Observe(ev, ""); !ok {
				return nil, fmt.Errorf("turns[%d].events[%d]: %s is no public event", i, n, ev.Kind())
			}
			t.Events = append(t.Events, ev)
			if err := v.draw.learn(ev); err != nil {
				return nil, fmt.Errorf("turns[%d].events[%d]: %w", i, n, err)
			}
		}
		v.turns = append(v.turns, t)
	}
	if v.draw.seed.IsZero() {
		return nil, errors.New("turns: the server seed is not revealed, the battle is not over")
	}
	return v, nil
}

// bytes checks that the record is the one encoding of its content, and is whole.
func (v *verifier) bytes(data []byte) {
	again, err := v.record.canonical()
	if err != nil {
		again = nil
	}
	v.report.Add(fair.FindingCanonicalBytes, bytes.Equal(again, data),
		fmt.Sprintf("%d bytes", len(data)), fmt.Sprintf("%d bytes, encoded anew", len(again)))
	sealed, err := v.record.seal()
	want := ""
	if i := bytes.LastIndex(sealed, []byte(`"record_digest":"`)); err == nil && i >= 0 {
		want = string(sealed[i+len(`"record_digest":"`) : len(sealed)-2])
	}
	v.report.Check(fair.FindingRecordDigest, v.record.Digest.String(), want)
}

// canonical encodes the content of the record anew.
func (r record) canonical() ([]byte, error) {
	var cfg Config
	if err := wire.Unmarshal(r.Config, &cfg); err != nil {
		return nil, err
	}
	var err error
	if r.Config, err = wire.Marshal(cfg.WithDefaults()); err != nil {
		return nil, err
	}
	turns := make([]recordTurn, len(r.Turns))
	for i, t := range r.Turns {
		turns[i] = t
		turns[i].Events = make([]json.RawMessage, len(t.Events))
		for n, raw := range t.Events {
			ev, err := UnmarshalEvent(raw)
			if err != nil {
				return nil, err
			}
			if turns[i].Events[n], err = MarshalEvent(ev); err != nil {
				return nil, err
			}
		}
	}
	r.Turns = turns
	return wire.Marshal(r)
}

// commitment checks what the house had published before anybody could contribute.
func (v *verifier) commitment() {
	created, ok := v.turns[0].Events[0].(Created)
	v.report.Add(findingCreated, ok, v.turns[0].Events[0].Kind(), created.Kind())
	c, err := v.draw.seed.Commit(v.state.setup.cfg.ID)
	if err != nil {
		c = fair.Digest{}
	}
	v.report.Check(fair.FindingCommitment, created.Commitment.String(), c.String())
	v.report.Check(findingConfig, created.ConfigHash.String(), v.state.setup.hash.String())
	v.tables(created.Tables)
	// Everything after the first event is after the commitment; a record that begins otherwise has an early contribution.
	contributions, first := 0, v.turns[0].Events[0].Kind()
	for _, t := range v.turns {
		for _, ev := range t.Events {
			switch ev.(type) {
			case Joined, SeedSet:
				contributions++
			}
		}
	}
	v.report.Add(fair.FindingContributionOrder, first == created.Kind(),
		fmt.Sprintf("%d contributions, first of all %s", contributions, first), created.Kind()+" first")
}

// tables compares the table hashes one by one.
func (v *verifier) tables(got []fair.Digest) {
	want := v.state.setup.hashes
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			v.report.Add(fair.FindingTable, false, fmt.Sprintf("round %d: %s", i+1, got[i]), want[i].String())
			return
		}
	}
	v.report.Check(fair.FindingTable, fmt.Sprintf("%d tables", len(got)), fmt.Sprintf("%d tables", len(want)))
}

// replay decides every turn anew.
func (v *verifier) replay() {
	for _, got := range v.turns {
		cmd, err := v.command(got)
		if err != nil {
			v.steps.note(turnName(got), err.Error())
			return
		}
		next, want, err := v.state.Step(glasshouse.Input{Actor: got.Actor, At: got.At, Draw: &v.draw}, cmd)
		if err != nil {
			v.steps.note(turnName(got), err.Error())
			return
		}
		if got.Rev != want.Rev || !got.At.Equal(want.At) {
			v.steps.note(turnName(got), turnName(want))
		}
		v.compare(got, next.observed(want))
		v.state = next
	}
}

func (s *State) observed(t Turn) Turn {
	var evs []Event
	for _, ev := range t.Events {
		if ev, ok := s.Observe(ev, ""); ok {
			evs = append(evs, ev)
		}
	}
	t.Events = evs
	return t
}

func turnName(t Turn) string {
	return fmt.Sprintf("turn %d at %d by %s: %s", t.Rev, t.At.UnixMilli(), t.Actor, t.Events[0].Kind())
}

// compare notes each difference under the finding it belongs to.
func (v *verifier) compare(got, want Turn) {
	if len(got.Events) != len(want.Events) {
		v.steps.note(fmt.Sprintf("turn %d: %d events", got.Rev, len(got.Events)), fmt.Sprintf("%d events", len(want.Events)))
		return
	}
	for i := range got.Events {
		g, w := encode(got.Events[i]), encode(want.Events[i])
		if roll, ok := got.Events[i].(Rolled); ok {
			v.rolled++
			v.row(roll)
			if g != w {
				v.roll(roll, want.Events[i])
			}
			continue
		}
		if g == w {
			continue
		}
		m := &v.steps
		if got.Events[i].Kind() == want.Events[i].Kind() {
			switch want.Events[i].(type) {
			case Settled:
				m = &v.settlement
			case Started:
				m = &v.freeze
			}
		}
		m.note(fmt.Sprintf("turn %d: %s", got.Rev, g), w)
	}
}

func encode(ev Event) string {
	b, err := MarshalEvent(ev)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// roll notes where a roll differs from the derived one.
func (v *verifier) roll(got Rolled, want Event) {
	w, ok := want.(Rolled)
	name := fmt.Sprintf("round %d seat %d: ", got.Round, got.Seat)
	switch {
	case !ok:
		v.steps.note(name+"rolled", want.Kind())
	case got.Roll != w.Roll || encode(Rolled{Legacy: got.Legacy}) != encode(Rolled{Legacy: w.Legacy}):
		v.rolls.note(name+strconv.FormatUint(got.Roll, 10), strconv.FormatUint(w.Roll, 10))
	case got.Row != w.Row || got.Flip != w.Flip:
		v.rows.note(fmt.Sprintf("%srow %d flip %t", name, got.Row, got.Flip), fmt.Sprintf("row %d flip %t", w.Row, w.Flip))
	default:
		v.steps.note(name+encode(got), encode(w))
	}
}

// row checks the item of a recorded roll against the recorded roll itself.
func (v *verifier) row(got Rolled) {
	cfg := &v.state.setup.cfg
	if got.Round < 1 || got.Round > len(cfg.Cases) || got.Row < 0 || got.Row >= len(cfg.Cases[got.Round-1].Items) {
		v.rows.note(fmt.Sprintf("round %d row %d", got.Round, got.Row), "a row of the case")
		return
	}
	it := cfg.Cases[got.Round-1].Items[got.Row]
	if got.Roll < it.First || got.Roll > it.Last {
		v.rows.note(fmt.Sprintf("round %d seat %d: roll %d, row %d", got.Round, got.Seat, got.Roll, got.Row),
			fmt.Sprintf("a roll from %d to %d", it.First, it.Last))
	}
}

// The findings that only battles have.
const (
	findingCreated    = "created_first"
	findingConfig     = "config_matches"
	findingSettlement = "settlement_matches"
	findingSteps      = "steps_follow_rules"
	findingOver       = "battle_is_over"
)

func (v *verifier) conclude() {
	for _, f := range []struct {
		name string
		m    mismatch
		all  string
	}{
		{fair.FindingRoll, v.rolls, fmt.Sprintf("%d rolls", v.rolled)},
		{fair.FindingFreeze, v.freeze, "the same"},
		{fair.FindingItemInRange, v.rows, fmt.Sprintf("%d items", v.rolled)},
		{findingSettlement, v.settlement, "the same"},
		{findingSteps, v.steps, fmt.Sprintf("%d turns", len(v.turns))},
	} {
		got, want := f.m.got, f.m.want
		if f.m == (mismatch{}) {
			got, want = f.all, f.all
		}
		v.report.Add(f.name, f.m == (mismatch{}), got, want)
	}
	v.report.Add(findingOver, v.state.Status().Done(), v.state.Status().String(), "finished or cancelled")
	v.beacon()
	v.unproven()
}

func (v *verifier) beacon() {
	rule := v.state.setup.cfg.Beacon
	b, ok := v.state.life().BeaconValue()
	if rule == nil || !ok {
		return
	}
	desc, target := v.state.life().Target()
	err := b.Check(desc, target)
	v.report.Add(fair.FindingBeaconSignature, err == nil, b.Randomness.String(), "SHA-256 of the signature of round "+strconv.FormatUint(target, 10))
	due, err := rule.Drand.TimeOf(target)
	frozen := time.UnixMilli(v.state.d.StartedAt).UTC()
	v.report.Add(fair.FindingBeaconAfterFreeze, err == nil && due.After(frozen), due.Format(time.RFC3339), "after "+frozen.Format(time.RFC3339Nano))
	v.report.Unproven("that drand signed the beacon's value: its signature is not verified here")
}

// unproven says what the record cannot show.
func (v *verifier) unproven() {
	r, s := &v.report, v.state
	r.Unproven("when the commitment was shown to the players, unless its digest was published elsewhere")
	r.Unproven("that no other battle was begun and silently dropped")
	r.Unproven("who the players are, and that times and names are true, unless the record's digest was published elsewhere")
	r.Unproven("that the config is the one the players were shown, unless its hash was published elsewhere: the commitment binds the seed alone")
	r.Unproven("that the client seeds are those the players sent: each can look for his own, and for the freeze he was shown")
	r.Unproven("that the items and the money were handed over: see the ledger's journal")
	if s.setup.cfg.Compat.Legacy52 {
		r.Unproven("that the seeds of scheme legacy/52 were not chosen: the house made them after entries were closed")
	}
	if s.setup.cfg.Beacon == nil && s.Status() == StatusFinished {
		r.Unproven("that the house did not choose its seed together with a player: no public random value was mixed in")
	}
	if c := s.d.Cancelled; c != nil && !c.Void && c.Reason == reasonNoBeacon {
		r.Unproven("that the beacon's value could not be had: who has it and the seed knows the rolls, and may have called the battle off for them")
	}
	for _, p := range s.d.Seats {
		if p.User != "" && !p.Bot && p.ClientSeed == "" {
			r.Unproven("that %s added anything to the randomness: no client seed", p.User)
		}
		if p.Bot {
			r.Unproven("%s is the house's: its seat adds nothing to the randomness", p.User)
		}
	}
}

// command is the command that a recorded turn answers.
func (v *verifier) command(t Turn) (Command, error) {
	switch ev := t.Events[0].(type) {
	case Created:
		return Create{}, nil
	case Joined:
		if ev.Bot {
			return AddBots{}, nil
		}
		if ev.Seat < 0 || ev.Seat >= len(v.state.d.Seats) {
			return nil, fmt.Errorf("no seat %d", ev.Seat)
		}
		return Join{Team: v.state.setup.cfg.Layout.Team(ev.Seat), Code: string(v.state.d.Code), ClientSeed: ev.ClientSeed}, nil
	case SeedSet:
		if len(t.Events) > 1 {
			return AddBots{ClientSeed: ev.ClientSeed}, nil
		}
		return Seed{ClientSeed: ev.ClientSeed}, nil
	case Left:
		return Leave{}, nil
	case BeaconKnown:
		return Beacon(ev), nil
	case NoncesSet:
		return Nonces(ev), nil
	case Cancelled:
		if ev.Void {
			return Void{Reason: ev.Reason}, nil
		}
		if t.Actor != glasshouse.System {
			return Cancel{}, nil
		}
		return Expire{Key: v.state.Deadline().Key}, nil
	case PhaseStarted, Rolled, Settled:
		return Expire{Key: v.state.Deadline().Key}, nil
	}
	return nil, fmt.Errorf("no turn begins with %s", t.Events[0].Kind())
}

// recorded gives a replay the secrets that the record reveals.
type recorded struct {
	seed   fair.ServerSeed
	legacy []Rolled
}

// learn takes the secrets out of an event.
func (d *recorded) learn(ev Event) (err error) {
	switch ev := ev.(type) {
	case SeedRevealed:
		d.seed, err = fair.ParseSeed(string(ev.Seed))
	case Rolled:
		if ev.Legacy != nil {
			d.legacy = append(d.legacy, ev)
		}
	}
	return err
}

// At gives the words that the secret of that path was made of.
func (d *recorded) At(label string, i, j uint64) fair.Words {
	var w words
	switch label {
	case seedLabel:
		w.fill(d.seed[:])
	case legacyLabel, clientLabel:
		for _, r := range d.legacy {
			if uint64(r.Round) != i || uint64(r.Seat) != j {
				continue
			}
			text := r.Legacy.ServerSeed
			if label == clientLabel {
				text = r.Legacy.ClientSeed[max(0, len(r.Legacy.ClientSeed)-2*clientBytes):]
			}
			b, _ := hex.DecodeString(text) // what is no hex cannot be derived again, and shows as a wrong roll
			w.fill(b)
		}
	}
	return &w
}

// words gives four words again.
type words struct {
	w [4]uint64
	n int
}

func (w *words) fill(b []byte) {
	var all [32]byte
	copy(all[:], b)
	for i := range w.w {
		w.w[i] = binary.BigEndian.Uint64(all[8*i:])
	}
}

// Uint64 is the next word; after the fourth they come again.
func (w *words) Uint64() uint64 {
	w.n++
	return w.w[(w.n-1)%4]
}
