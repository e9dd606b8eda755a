package battle

import (
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/fair/legacy"
)

// The paths of the draws. Those of outcomes are under the fair/v2 root of the battle; the others only make secrets.
const (
	rollLabel   = "roll"          // (round from 1, seat from 0)
	seedLabel   = "server_seed"   // (0, 0), from Input.Draw
	codeLabel   = "join_code"     // (0, 0), from Input.Draw
	legacyLabel = "legacy_server" // (round, seat), from Input.Draw: Legacy52
	clientLabel = "legacy_client" // (round, seat), from Input.Draw: Legacy52
)

const (
	maxClientSeed = 64        // bytes
	maxReason     = 200       // bytes
	maxNonce      = 1<<53 - 1 // what the source's numbers hold
	clientBytes   = 16        // random bytes of a Legacy52 client seed
)

// The reasons of Cancelled that are not the host's words.
const (
	reasonExpired   = "expired"
	reasonCancelled = "cancelled"
	reasonNoBeacon  = "beacon_missing"
)

// Step decides one command: the state after it and what happened, or an error, and then nothing has. s never changes.
func (s *State) Step(in glasshouse.Input, cmd Command) (*State, Turn, error) {
	if err := in.Check(); err != nil {
		return nil, Turn{}, err
	}
	st := step{State: s.clone(), in: in}
	st.d.Rev++
	st.d.At = max(in.At.UnixMilli(), s.d.At)
	if err := st.do(cmd); err != nil {
		return nil, Turn{}, err
	}
	return st.State, Turn{Rev: st.d.Rev, At: time.UnixMilli(st.d.At).UTC(), Actor: in.Actor, ID: in.ID, Events: st.events}, nil
}

// step is a State in the making: emit writes down what happens and lets it happen.
type step struct {
	*State
	in     glasshouse.Input
	events []Event
}

func (st *step) emit(ev Event) {
	if err := st.on(ev); err != nil {
		panic("battle: a step of its own cannot be applied: " + ev.Kind() + ": " + err.Error())
	}
	st.events = append(st.events, ev)
}

func (st *step) do(cmd Command) error {
	if st.d.Status == 0 {
		switch cmd.(type) {
		case nil, Create, Expire: // no clock runs yet: stale_key, as for every other clock that does not run
		default:
			return ErrNotCreated
		}
	}
	switch cmd := cmd.(type) {
	case Create:
		return st.create()
	case Join:
		return st.join(cmd)
	case Seed:
		return st.seed(cmd)
	case AddBots:
		return st.addBots(cmd)
	case Leave:
		return st.leave()
	case Cancel:
		return st.cancel()
	case Expire:
		return st.expire(cmd)
	case Beacon:
		return st.beacon(cmd)
	case Nonces:
		return st.nonces(cmd)
	case Void:
		return st.void(cmd)
	}
	return ErrUnknownCommand
}

func (st *step) create() error {
	switch {
	case st.in.Actor != glasshouse.System:
		return ErrHostOnly
	case st.d.Status != 0:
		return ErrAlreadyCreated
	case st.in.Draw == nil:
		return ErrNoDraw
	}
	cfg := &st.setup.cfg
	drawn := SeedDrawn{Seed: fair.SeedFrom(st.in.Draw.At(seedLabel, 0, 0))}
	if cfg.Private {
		drawn.Code = JoinCode(fmt.Sprintf("%08X", st.in.Draw.At(codeLabel, 0, 0).Uint64()>>32))
	}
	st.emit(drawn)
	st.emit(Created{
		Commitment: st.d.Life.Commitment(), ConfigHash: st.setup.hash, Tables: slices.Clone(st.setup.hashes),
		ExpiresAt: st.d.At + cfg.Expiry,
	})
	st.emit(Joined{User: cfg.Creator, Seat: 0})
	return nil
}

// waiting refuses what only a battle that waits for players allows.
func (st *step) waiting() error {
	if st.d.Status != StatusWaiting {
		return ErrNotWaiting
	}
	return st.inTime(expiryKey)
}

// inTime refuses a command at or after the end of a clock, whether or not its expiry has been stepped.
func (st *step) inTime(key string) error {
	if at, ok := st.has(key); ok && st.d.At >= at {
		return ErrTooLate
	}
	return nil
}

// person refuses the host where a player acts.
func (st *step) person() error {
	if st.in.Actor == glasshouse.System {
		return ErrPlayersOnly
	}
	return nil
}

func checkClientSeed(text string) error {
	if len(text) > maxClientSeed || !utf8.ValidString(text) {
		return ErrClientSeed
	}
	return nil
}

func (st *step) join(cmd Join) error {
	cfg := &st.setup.cfg
	if err := st.person(); err != nil {
		return err
	}
	// A battle with every seat taken has started: whoever comes too late for the last seat is told that it is full.
	if st.d.Status.Done() {
		return ErrNotWaiting
	}
	if err := st.inTime(expiryKey); err != nil {
		return err
	}
	switch {
	case cfg.Private && cmd.Code != string(st.d.Code):
		return ErrJoinCode
	case st.seatOf(st.in.Actor) >= 0:
		return ErrAlreadyJoined
	case st.d.Status != StatusWaiting:
		return ErrBattleFull
	case cmd.Team < 1 || cmd.Team > cfg.Layout.Teams:
		return fmt.Errorf("%w: team %d of %d", ErrNoSuchTeam, cmd.Team, cfg.Layout.Teams)
	}
	if err := checkClientSeed(cmd.ClientSeed); err != nil {
		return err
	}
	for slot := range cfg.Layout.Size {
		if at := cfg.Layout.Seat(cmd.Team, slot); st.d.Seats[at].User == "" {
			st.emit(Joined{User: st.in.Actor, Seat: at, ClientSeed: cmd.ClientSeed})
			st.startIfFull()
			return nil
		}
	}
	return fmt.Errorf("%w: team %d", ErrTeamFull, cmd.Team)
}

func (st *step) seed(cmd Seed) error {
	if err := st.waiting(); err != nil {
		return err
	}
	at := st.seatOf(st.in.Actor)
	if at < 0 {
		return ErrNotJoined
	}
	if err := checkClientSeed(cmd.ClientSeed); err != nil {
		return err
	}
	st.emit(SeedSet{Seat: at, ClientSeed: cmd.ClientSeed})
	return nil
}

func (st *step) addBots(cmd AddBots) error {
	switch {
	case st.in.Actor != st.setup.cfg.Creator:
		return ErrOnlyCreator
	case st.d.Status == StatusInProgress:
		return ErrBattleFull
	}
	if err := st.waiting(); err != nil {
		return err
	}
	if err := checkClientSeed(cmd.ClientSeed); err != nil {
		return err
	}
	if cmd.ClientSeed != "" {
		st.emit(SeedSet{Seat: 0, ClientSeed: cmd.ClientSeed})
	}
	for at := st.free(); at >= 0; at = st.free() {
		// The colon keeps a bot's name apart from every person's.
		st.emit(Joined{User: "bot:" + strconv.Itoa(st.d.Bots+1), Seat: at, Bot: true})
	}
	st.startIfFull()
	return nil
}

func (st *step) leave() error {
	if err := st.waiting(); err != nil {
		return err
	}
	at := st.seatOf(st.in.Actor)
	switch {
	case at < 0:
		return ErrNotJoined
	case at == 0:
		return ErrCreatorCancels
	}
	st.emit(Left{User: st.in.Actor, Seat: at})
	return nil
}

func (st *step) cancel() error {
	if st.in.Actor != st.setup.cfg.Creator {
		return ErrOnlyCreator
	}
	if err := st.waiting(); err != nil {
		return err
	}
	st.end(Cancelled{Reason: reasonCancelled})
	return nil
}

func (st *step) void(cmd Void) error {
	switch {
	case st.in.Actor != glasshouse.System:
		return ErrHostOnly
	case st.d.Status.Done():
		return ErrNotInProgress
	case st.rollsKnown():
		return ErrRollsKnown
	case len(cmd.Reason) > maxReason || !utf8.ValidString(cmd.Reason):
		return ErrReason
	}
	for _, key := range []string{expiryKey, beaconKey} {
		if err := st.inTime(key); err != nil {
			return err
		}
	}
	if st.beaconOut() {
		return ErrRollsKnown
	}
	st.end(Cancelled{Void: true, Reason: cmd.Reason})
	return nil
}

// end pays everybody back and shows the seed that was committed to.
func (st *step) end(c Cancelled) {
	st.emit(c)
	st.emit(SeedRevealed{Seed: st.revealed()})
}

func (st *step) revealed() RevealedSeed {
	seed, _ := st.d.Life.Seed() // on has ended the life
	return RevealedSeed(seed.Hex())
}

// startIfFull closes entries once the last seat is taken.
func (st *step) startIfFull() {
	if st.free() >= 0 {
		return
	}
	life, target := st.freeze()
	st.emit(Started{Freeze: life.FreezeDigest(), Target: target})
	st.nextPhase()
}

// freeze is the seed's life with entries closed now, and the beacon round that is named.
func (s *State) freeze() (fair.Life, uint64) {
	order := make([]string, len(s.d.Seats))
	for i, p := range s.d.Seats {
		order[i] = p.User
	}
	var desc fair.Descriptor
	var target uint64
	if rule := s.setup.cfg.Beacon; rule != nil {
		desc = rule.Drand.Descriptor()
		target = rule.Drand.RoundAt(time.UnixMilli(s.d.At)) + rule.Delay
	}
	life, err := s.d.Life.Freeze(order, desc, target)
	if err != nil {
		panic("battle: " + err.Error()) // the seats are the contributors
	}
	return life, target
}

// nextPhase goes on along the timeline.
func (st *step) nextPhase() {
	next, ok := st.following()
	if !ok {
		panic("battle: no phase follows " + st.d.Phase.String())
	}
	st.emit(next)
}

// following is the phase that comes now, for how long: the beacon if one is named, the countdown, then for each round
// starting, spinning, complete.
func (s *State) following() (PhaseStarted, bool) {
	d, cfg := &s.d, &s.setup.cfg
	t := cfg.Timeline
	lasts := func(p Phase, round int, ms int64) (PhaseStarted, bool) {
		return PhaseStarted{Phase: p, Round: round, EndsAt: d.At + ms}, true
	}
	known := s.life().Root() != nil
	switch {
	case d.Status != StatusInProgress:
	case d.Phase == 0 && !known && cfg.Beacon != nil:
		return PhaseStarted{Phase: PhaseAwaitingBeacon, EndsAt: s.beaconDue() + cfg.Beacon.Timeout}, true
	case d.Phase <= PhaseAwaitingBeacon && known:
		return lasts(PhaseCountdown, 0, t.Countdown)
	case d.Phase == PhaseCountdown, d.Phase == PhaseRoundComplete && d.Round < len(cfg.Cases):
		next, ok := lasts(PhaseRoundStarting, d.Round+1, t.RoundStarting)
		if cfg.Compat.Legacy52 {
			next.EndsAt = 0 // the nonces come first
		}
		return next, ok
	case d.Phase == PhaseRoundStarting && len(d.Rolls) == d.Round*len(d.Seats):
		if slices.ContainsFunc(d.Rolls[len(d.Rolls)-len(d.Seats):], func(r Rolled) bool { return r.Flip }) {
			return lasts(PhaseSpinning, d.Round, t.FlipSpinning)
		}
		return lasts(PhaseSpinning, d.Round, t.Spinning)
	case d.Phase == PhaseSpinning:
		return lasts(PhaseRoundComplete, d.Round, t.RoundComplete)
	}
	return PhaseStarted{}, false
}

// beaconDue is when the beacon that is waited for comes out, in ms.
func (s *State) beaconDue() int64 {
	_, target := s.life().Target()
	due, err := s.setup.cfg.Beacon.Drand.TimeOf(target)
	if err != nil {
		panic("battle: " + err.Error()) // Validate bounds what leads here
	}
	return due.UnixMilli()
}

func (st *step) beacon(cmd Beacon) error {
	switch {
	case st.in.Actor != glasshouse.System:
		return ErrHostOnly
	case st.d.Phase != PhaseAwaitingBeacon || st.d.Status != StatusInProgress:
		return ErrNoBeacon
	}
	if err := st.inTime(beaconKey); err != nil {
		return err
	}
	if !st.beaconOut() { // a host whose clock is behind may have closed the entries too late
		return ErrNotDue
	}
	if _, err := st.d.Life.Beacon(cmd.Value); err != nil {
		return fmt.Errorf("%w: %w", ErrBadBeacon, err)
	}
	cmd.Value.Signature = slices.Clone(cmd.Value.Signature)
	st.emit(BeaconKnown(cmd))
	st.nextPhase()
	return nil
}

func (st *step) nonces(cmd Nonces) error {
	switch {
	case st.in.Actor != glasshouse.System:
		return ErrHostOnly
	case !st.setup.cfg.Compat.Legacy52 || st.d.Status != StatusInProgress || st.d.Phase != PhaseRoundStarting ||
		cmd.Round != st.d.Round || st.d.Nonces != nil:
		return ErrNoNonces
	case st.in.Draw == nil:
		return ErrNoDraw
	case !goodNonces(cmd.Values, len(st.d.Seats)):
		return ErrNonces
	}
	drawn := LegacyDrawn{Round: cmd.Round, Seeds: make([]LegacySecret, len(st.d.Seats))}
	for i := range drawn.Seeds {
		round, seat := uint64(cmd.Round), uint64(i)
		client := fair.SeedFrom(st.in.Draw.At(clientLabel, round, seat))
		drawn.Seeds[i] = LegacySecret{
			Server: fair.SeedFrom(st.in.Draw.At(legacyLabel, round, seat)),
			// The source's form: a time in ms, then 16 random bytes. The time is the start's, so that a retry of this
			// step a moment later makes the same seed.
			Client: strconv.FormatInt(st.d.StartedAt, 10) + hex.EncodeToString(client[:clientBytes]),
		}
	}
	st.emit(drawn)
	st.emit(NoncesSet{Round: cmd.Round, Values: slices.Clone(cmd.Values)})
	return nil
}

func (st *step) expire(cmd Expire) error {
	if st.in.Actor != glasshouse.System {
		return ErrHostOnly
	}
	at, ok := st.has(cmd.Key)
	switch {
	case !ok:
		return fmt.Errorf("%w: %.60q", ErrStaleKey, cmd.Key)
	case st.d.At < at:
		return ErrNotDue
	case cmd.Key == expiryKey:
		st.end(Cancelled{Reason: reasonExpired})
	case cmd.Key == beaconKey:
		st.end(Cancelled{Reason: reasonNoBeacon})
	default:
		return st.goOn()
	}
	return nil
}

// goOn ends a phase: the rolls of a round are drawn when it has started, and the last round ends with the settlement.
func (st *step) goOn() error {
	switch {
	case st.d.Phase == PhaseRoundStarting:
		for range st.d.Seats {
			st.emit(st.roll())
		}
	case st.d.Phase == PhaseRoundComplete && st.d.Round == len(st.setup.cfg.Cases):
		settlement, err := st.settle()
		if err != nil {
			return err
		}
		st.emit(Settled{Settlement: settlement})
		st.emit(SeedRevealed{Seed: st.revealed()})
		return nil
	}
	st.nextPhase()
	return nil
}

// roll draws the next player's item.
func (s *State) roll() Rolled {
	i := len(s.d.Rolls)
	if !s.setup.cfg.Compat.Legacy52 {
		path := s.rollPath(i)
		stream := s.d.Life.Root().Stream(path.Label, path.I, path.J)
		return s.rolled(i, stream.Roll(MaxRoll), nil)
	}
	seat := i % len(s.d.Seats)
	secret := s.d.Secrets.Seeds[seat]
	server := secret.Server.Hex()
	row := &LegacyRow{server, legacy.Commit52(server), secret.Client, s.d.Nonces.Values[seat]}
	roll, err := legacy.Roll52(server, secret.Client, row.Nonce, MaxRoll)
	if err != nil {
		panic("battle: " + err.Error()) // MaxRoll is in its range
	}
	return s.rolled(i, roll, row)
}

// rollPath names the draw of the i-th roll.
func (s *State) rollPath(i int) Path {
	label, n := rollLabel, len(s.d.Seats)
	if s.setup.cfg.Compat.Legacy52 {
		label = legacyLabel
	}
	return Path{label, uint64(i/n + 1), uint64(i % n)}
}

// rolled is the i-th roll of the battle: everything that is told of it follows from the number that came.
func (s *State) rolled(i int, roll uint64, row *LegacyRow) Rolled {
	n := len(s.d.Seats)
	r := Rolled{Path: s.rollPath(i), Round: i/n + 1, Seat: i % n, Roll: roll, Legacy: row}
	r.Row, r.Flip = s.setup.item(r.Round, roll)
	return r
}

// item is the row whose range covers the roll, and whether the second roulette turns for it: the roll has reached the
// case's threshold and the whole range of the row lies above it.
func (st *setup) item(round int, roll uint64) (row int, flip bool) {
	cs := &st.cfg.Cases[round-1]
	row = st.tables[round-1].At(roll)
	return row, cs.FlipThreshold > 0 && roll >= cs.FlipThreshold && cs.Items[row].First >= cs.FlipThreshold
}

func (s *State) settle() (Settlement, error) {
	cfg := &s.setup.cfg
	d := Drops{
		Layout: cfg.Layout, Mode: cfg.Mode, Lowest: cfg.Lowest, Catalogue: s.setup.catalogue, Draw: s.d.Life.Root(),
		Drops: make([]Drop, len(s.d.Rolls)),
	}
	for i, r := range s.d.Rolls {
		d.Drops[i] = Drop{Item: s.setup.items[r.Round-1][r.Row], Value: cfg.Cases[r.Round-1].Items[r.Row].Item.Value}
	}
	return Settle(d, cfg.Policy())
}

// on lets one event happen to a state in the making; an event that does not fit there is an error. Step and Apply go
// through here, so that a replay cannot end anywhere else than the play.
func (s *State) on(ev Event) error {
	switch ev := ev.(type) {
	case SeedDrawn:
		return s.onSeedDrawn(ev)
	case Created:
		return s.onCreated(ev)
	case Joined:
		return s.onJoined(ev)
	case SeedSet:
		return s.onSeedSet(ev)
	case Left:
		return s.onLeft(ev)
	case Started:
		return s.onStarted(ev)
	case BeaconKnown:
		return s.onBeacon(ev)
	case PhaseStarted:
		return s.onPhase(ev)
	case NoncesSet:
		return s.onNonces(ev)
	case LegacyDrawn:
		if !s.setup.cfg.Compat.Legacy52 || ev.Round != s.d.Round || s.d.Phase != PhaseRoundStarting || s.d.Secrets != nil ||
			len(ev.Seeds) != len(s.d.Seats) || s.d.Status != StatusInProgress {
			return errors.New("not expected here")
		}
		s.d.Secrets = &ev
	case Rolled:
		return s.onRolled(ev)
	case Settled:
		return s.onSettled(ev)
	case SeedRevealed:
		if seed, ok := s.life().Seed(); !ok || RevealedSeed(seed.Hex()) != ev.Seed || s.d.Revealed != "" {
			return errors.New("seed: not the one that was committed to, too early or a second time")
		}
		s.d.Revealed = ev.Seed
	case Cancelled:
		return s.onCancelled(ev)
	default:
		return errors.New("unknown event")
	}
	return nil
}

// life is the seed's life; before Create the zero one, which allows nothing.
func (s *State) life() fair.Life {
	if s.d.Life == nil {
		return fair.Life{}
	}
	return *s.d.Life
}

// setLife keeps the outcome of a step of the seed's life.
func (s *State) setLife(l fair.Life, err error) error {
	if err == nil {
		s.d.Life = &l
	}
	return err
}

func (s *State) onSeedDrawn(ev SeedDrawn) error {
	if s.d.Life != nil {
		return errors.New("a second time")
	}
	cfg := &s.setup.cfg
	s.d.Code = ev.Code
	return s.setLife(fair.Commit(fair.Terms{Kind: Game, Session: cfg.ID, ConfigHash: s.setup.hash, Tables: s.setup.hashes}, ev.Seed))
}

func (s *State) onCreated(ev Created) error {
	switch {
	case s.d.Status != 0:
		return errors.New("a second time")
	case ev.Commitment != s.life().Commitment():
		return errors.New("commitment: not that of the seed")
	case ev.ConfigHash != s.setup.hash:
		return errors.New("config_hash: another config's")
	case !slices.Equal(ev.Tables, s.setup.hashes):
		return errors.New("tables: another config's")
	case ev.ExpiresAt != s.d.At+s.setup.cfg.Expiry:
		return errors.New("expires_at: not the config's")
	}
	s.d.Status, s.d.CreatedAt = StatusWaiting, s.d.At
	s.d.Clock = clock{expiryKey, ev.ExpiresAt}
	return s.setLife(s.life().Open())
}

func (s *State) contribute(at int) error {
	p := s.d.Seats[at]
	return s.setLife(s.life().Contribute(fair.Contribution{Player: p.User, Operator: p.Bot, Seed: []byte(p.ClientSeed)}))
}

func (s *State) onJoined(ev Joined) error {
	switch {
	case s.d.Status != StatusWaiting:
		return errors.New("not waiting")
	case ev.Seat < 0 || ev.Seat >= len(s.d.Seats) || s.d.Seats[ev.Seat].User != "":
		return fmt.Errorf("seat: %d is not free", ev.Seat)
	case s.seatOf(ev.User) >= 0 || ev.Bot != isBot(ev.User):
		return errors.New("user: cannot join")
	}
	s.d.Seats[ev.Seat] = seat{ev.User, ev.Bot, ev.ClientSeed, s.d.At}
	if ev.Bot {
		s.d.Bots++
	}
	return s.contribute(ev.Seat)
}

func (s *State) onSeedSet(ev SeedSet) error {
	if s.d.Status != StatusWaiting || ev.Seat < 0 || ev.Seat >= len(s.d.Seats) {
		return fmt.Errorf("seat: %d has no say", ev.Seat)
	}
	s.d.Seats[ev.Seat].ClientSeed = ev.ClientSeed
	return s.contribute(ev.Seat)
}

func (s *State) onLeft(ev Left) error {
	if s.d.Status != StatusWaiting || ev.Seat < 1 || ev.Seat >= len(s.d.Seats) || s.d.Seats[ev.Seat].User != ev.User {
		return fmt.Errorf("seat: %d is not his to leave", ev.Seat)
	}
	s.d.Seats[ev.Seat] = seat{}
	return s.setLife(s.life().Withdraw(ev.User))
}

func (s *State) onStarted(ev Started) error {
	if s.d.Status != StatusWaiting || s.free() >= 0 {
		return errors.New("not full")
	}
	life, target := s.freeze()
	if life.FreezeDigest() != ev.Freeze || target != ev.Target {
		return errors.New("freeze: not that of these entries")
	}
	s.d.Status, s.d.StartedAt, s.d.Clock = StatusInProgress, s.d.At, clock{}
	if s.setup.cfg.Beacon != nil {
		return s.setLife(life, nil)
	}
	return s.setLife(life.Resolve())
}

func (s *State) onBeacon(ev BeaconKnown) error {
	life, err := s.life().Beacon(ev.Value)
	if err != nil {
		return err
	}
	return s.setLife(life.Resolve())
}

func (s *State) onPhase(ev PhaseStarted) error {
	if next, ok := s.following(); !ok || ev != next {
		return errors.New("not the phase that follows")
	}
	s.d.Phase, s.d.Round, s.d.PhaseAt, s.d.Clock = ev.Phase, ev.Round, s.d.At, clock{}
	switch {
	case ev.Phase == PhaseAwaitingBeacon:
		s.d.Clock = clock{beaconKey, ev.EndsAt}
	case ev.Phase != PhaseRoundStarting || !s.setup.cfg.Compat.Legacy52: // else the nonces come first
		s.d.Clock = clock{s.phaseKey(), ev.EndsAt}
	}
	return nil
}

func (s *State) phaseKey() string {
	return "phase/" + strconv.Itoa(s.d.Round) + "/" + s.d.Phase.String()
}

func (s *State) onNonces(ev NoncesSet) error {
	if s.d.Secrets == nil || ev.Round != s.d.Secrets.Round || s.d.Nonces != nil || !goodNonces(ev.Values, len(s.d.Seats)) {
		return errors.New("not expected here")
	}
	s.d.Nonces = &ev
	s.d.Clock = clock{s.phaseKey(), max(s.d.PhaseAt+s.setup.cfg.Timeline.RoundStarting, s.d.At)}
	return nil
}

func (s *State) onRolled(ev Rolled) error {
	if s.d.Phase != PhaseRoundStarting || ev.Round != s.d.Round {
		return errors.New("not expected here")
	}
	if err := s.checkRoll(ev, len(s.d.Rolls)); err != nil {
		return err
	}
	if ev.Seat == len(s.d.Seats)-1 {
		s.d.Nonces, s.d.Secrets = nil, nil
	}
	s.d.Rolls = append(s.d.Rolls, ev)
	return nil
}

func (s *State) onSettled(ev Settled) error {
	if s.d.Status != StatusInProgress || len(s.d.Rolls) != len(s.d.Seats)*len(s.setup.cfg.Cases) {
		return errors.New("not all rounds are open")
	}
	if err := s.checkSettlement(&ev.Settlement); err != nil {
		return err
	}
	s.d.Settlement = &ev.Settlement
	s.finish(StatusFinished)
	s.d.Phase = PhaseFinished
	return s.setLife(s.life().Reveal())
}

func (s *State) onCancelled(ev Cancelled) error {
	if s.d.Status != StatusWaiting && s.d.Status != StatusInProgress {
		return errors.New("already over")
	}
	if s.rollsKnown() || ev.Void && s.beaconOut() {
		return errors.New("the rolls are known")
	}
	s.d.Cancelled = &ev
	s.finish(StatusCancelled)
	if s.life().Root() != nil { // Legacy52 resolves the seed at the start and may not have used it yet
		return s.setLife(s.life().Reveal())
	}
	return s.setLife(s.life().Void())
}

func (s *State) finish(status Status) {
	s.d.Status, s.d.EndedAt, s.d.Clock, s.d.Phase = status, s.d.At, clock{}, 0
}

// Apply replays one turn: the state that Step gave when the turn was made. A turn that does not fit is a
// [*glasshouse.CorruptError]. It believes the rolls and the settlement; Verify derives them again.
func (s *State) Apply(t Turn) (*State, error) {
	next := s.clone()
	next.d.Rev, next.d.At = t.Rev, t.At.UnixMilli()
	err := s.fits(t)
	for i := 0; err == nil && i < len(t.Events); i++ {
		if err = next.on(t.Events[i]); err != nil {
			err = fmt.Errorf("events[%d]: %w", i, err)
		}
	}
	if err == nil {
		err = next.check()
	}
	if err != nil {
		return nil, &glasshouse.CorruptError{What: fmt.Sprintf("battle turn %d", t.Rev), Err: err}
	}
	return next, nil
}

func (s *State) fits(t Turn) error {
	switch {
	case t.Rev != s.d.Rev+1:
		return fmt.Errorf("rev: follows %d", s.d.Rev)
	case t.At.UnixMilli() < s.d.At:
		return errors.New("at: before the turn before")
	case t.Actor == "":
		return errors.New("actor: missing")
	case len(t.Events) == 0:
		return errors.New("events: none")
	}
	return nil
}

// Replay is the state after all the turns of a battle, in order. An error of the sequence ends it.
func Replay(cfg Config, turns iter.Seq2[Turn, error]) (*State, error) {
	s, err := New(cfg)
	if err != nil {
		return nil, err
	}
	for t, err := range turns {
		if err != nil {
			return nil, err
		}
		if s, err = s.Apply(t); err != nil {
			return nil, err
		}
	}
	return s, nil
}
