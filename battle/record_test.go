package battle

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/wire"
)

// recordedBattles are a battle of each kind that is over, by name.
func recordedBattles(t testing.TB) map[string]*game {
	bots := created(t, testConfig(private, withLayout(2, 2)))
	bots.do("bob", Join{Team: 2, Code: bots.code(), ClientSeed: "x"})
	bots.do("bob", Seed{"y"})
	bots.do("ana", AddBots{"z"})
	bots.finish()
	quietBots := created(t, testConfig(withLayout(3, 1)))
	quietBots.do("ana", AddBots{})
	quietBots.finish()
	left := created(t, testConfig(withLayout(2, 2)))
	left.do("bob", Join{Team: 1})
	left.do("bob", Leave{})
	left.fill()
	left.finish()
	cancelled, expired, voided := created(t, testConfig()), created(t, testConfig()), created(t, testConfig(private))
	cancelled.do("ana", Cancel{})
	expired.tick()
	voided.do(system, Void{"expired"})
	late, voidedLate := started(t, testConfig(withBeacon)), started(t, testConfig(legacy52))
	late.tick()
	voidedLate.tick()
	voidedLate.do(system, Void{})
	return map[string]*game{
		"finished": finished(t, testConfig()), "with bots, private": bots, "with bots only": quietBots, "leave and come": left,
		"beacon": finished(t, testConfig(withBeacon)), "legacy52": finished(t, testConfig(legacy52)),
		"jackpot": finished(t, testConfig(func(c *Config) { c.Mode = Jackpot })),
		"extra roll": finished(t, testConfig(func(c *Config) {
			c.Cases, c.Ties = []Case{oneItem("x", 1)}, ExtraRoll
		})),
		"refund": finished(t, testConfig(func(c *Config) { c.Cases, c.Ties = []Case{oneItem("x", 1)}, Refund })),
		"ten rounds of 2v2v2v2v2v2v2v2": finished(t, testConfig(withLayout(8, 2), func(c *Config) {
			c.Cases = slices.Repeat([]Case{testCase()}, 10)
		})),
		"cancelled": cancelled, "expired": expired, "voided": voided, "beacon missing": late, "voided late": voidedLate,
	}
}

func TestRecordsVerify(t *testing.T) {
	for name, g := range recordedBattles(t) {
		t.Run(name, func(t *testing.T) {
			data := g.record()
			report, err := Verify(data)
			require.NoError(t, err)
			require.True(t, report.OK(), report)
			for _, f := range []string{
				fair.FindingCanonicalBytes, fair.FindingRecordDigest, fair.FindingCommitment, fair.FindingTable, fair.FindingRoll,
				fair.FindingFreeze, fair.FindingItemInRange, fair.FindingContributionOrder,
				"created_first", "config_matches", "settlement_matches", "steps_follow_rules", "battle_is_over",
			} {
				require.Contains(t, findings(report), f)
			}
			again, err := NewRecord(g.cfg, g.all())
			require.NoError(t, err)
			require.Equal(t, string(data), string(again))
			require.True(t, json.Valid(data))

			body, digest, ok := strings.Cut(string(data), `,"record_digest":"`)
			require.True(t, ok)
			require.Equal(t, fmt.Sprintf("%x\"}", sha256.Sum256([]byte(body))), digest)
		})
	}
}

// TestRecordsSayWhatTheyCannotProve by what kind of battle it was.
func TestRecordsSayWhatTheyCannotProve(t *testing.T) {
	games := recordedBattles(t)
	unproven := func(name string) string {
		report, err := Verify(games[name].record())
		require.NoError(t, err)
		return strings.Join(report.NotProven, "\n")
	}
	for _, name := range []string{"finished", "beacon", "cancelled"} {
		for _, always := range []string{
			"when the commitment was shown", "silently dropped", "who the players are", "handed over",
		} {
			require.Contains(t, unproven(name), always)
		}
		require.Contains(t, unproven(name), "that ana added anything to the randomness")
		require.NotContains(t, unproven(name), "that bob added anything", "he gave a client seed")
		require.NotContains(t, unproven(name), "legacy/52")
	}
	const chosen = "did not choose its seed together with a player"
	require.Contains(t, unproven("finished"), chosen)
	require.NotContains(t, unproven("beacon"), chosen)
	require.NotContains(t, unproven("cancelled"), chosen)
	require.Contains(t, unproven("beacon"), "that drand signed the beacon's value")
	require.NotContains(t, unproven("beacon missing"), "that drand signed")
	require.Contains(t, unproven("legacy52"), "legacy/52")
	require.Contains(t, unproven("with bots only"), "bot:1 is the house's")
	require.Contains(t, unproven("with bots only"), "bot:2 is the house's")
	require.NotContains(t, unproven("with bots, private"), "that ana added anything")
}

func TestRecordsHoldNoPrivateThings(t *testing.T) {
	g := created(t, testConfig(private))
	in := g.input("bob")
	in.ID = "request-77"
	_, err := g.step(in, Join{Team: 2, Code: g.code()})
	require.NoError(t, err)
	g.finish()
	data := string(g.record())
	require.NotContains(t, data, g.code())
	require.NotContains(t, data, "request-77")
	require.NotContains(t, data, "seed_drawn")
	require.NotContains(t, data, "00000000\"")
}

// TestAnyOtherByteIsNoticed changes every single byte of a record, and takes each away.
func TestAnyOtherByteIsNoticed(t *testing.T) {
	g := finished(t, testConfig(func(c *Config) {
		c.Cases, c.Catalogue = []Case{testCase()}, nil
	}))
	data := g.record()
	step := 1
	if testing.Short() {
		step = 41
	}
	noticed := func(forged []byte, what string, at int) {
		report, err := Verify(forged)
		if err != nil {
			require.ErrorIs(t, err, ErrRecord)
			require.Greater(t, len(err.Error()), len("battle: bad record: "), "no place is named")
			return
		}
		require.NotEmpty(t, report.Failed(), "%s at byte %d: %q for %q passes", what, at, forged[at], data[at])
	}
	for at := 0; at < len(data); at += step {
		for _, b := range []byte{data[at] ^ 1, data[at] ^ 0x20, '0', '"', ' ', 0xff} {
			if b == data[at] {
				continue
			}
			forged := slices.Clone(data)
			forged[at] = b
			noticed(forged, "replaced", at)
		}
		if at < len(data)-1 {
			noticed(slices.Delete(slices.Clone(data), at, at+1), "deleted", at)
		}
	}
	for _, more := range []string{" ", "\n", "{}"} {
		_, err := Verify(append(slices.Clone(data), more...))
		if err == nil {
			report, _ := Verify(append(slices.Clone(data), more...))
			require.Equal(t, []string{fair.FindingCanonicalBytes}, failed(report))
		}
	}
}

func failed(r fair.Report) []string {
	var out []string
	for _, f := range r.Failed() {
		out = append(out, f.Name)
	}
	return out
}

// forgery is a record taken apart. Its digest and bytes are made anew, as a forger would.
type forgery struct {
	t     testing.TB
	cfg   Config
	turns []Turn
}

func forge(t testing.TB, g *game) *forgery {
	t.Helper()
	var r record
	require.NoError(t, wire.Unmarshal(g.record(), &r))
	v, err := newVerifier(r)
	require.NoError(t, err)
	return &forgery{t, v.state.Config(), v.turns}
}

func (f *forgery) seal() []byte {
	f.t.Helper()
	r := record{Format: 1, Game: "battle", Scheme: "fair/v2"}
	var err error
	r.Config, err = wire.Marshal(f.cfg)
	require.NoError(f.t, err)
	for _, turn := range f.turns {
		rt := recordTurn{Rev: turn.Rev, At: turn.At.UnixMilli(), Actor: turn.Actor}
		for _, ev := range turn.Events {
			b, err := MarshalEvent(ev)
			require.NoError(f.t, err)
			rt.Events = append(rt.Events, b)
		}
		r.Turns = append(r.Turns, rt)
	}
	data, err := r.seal()
	require.NoError(f.t, err)
	return data
}

// renumber gives the turns consecutive numbers again.
func (f *forgery) renumber() {
	for i := range f.turns {
		f.turns[i].Rev = uint64(i + 1)
	}
}

// change edits the n-th event of a type.
func change[E Event](f *forgery, n int, edit func(*E)) {
	f.t.Helper()
	for i := range f.turns {
		for j, ev := range f.turns[i].Events {
			if ev, ok := ev.(E); ok {
				if n == 0 {
					edit(&ev)
					f.turns[i].Events[j] = ev
					return
				}
				n--
			}
		}
	}
	f.t.Fatalf("no such event")
}

// find is the turn of the n-th event of a type.
func find[E Event](f *forgery, n int) int {
	f.t.Helper()
	for i, turn := range f.turns {
		for _, ev := range turn.Events {
			if _, ok := ev.(E); ok {
				if n == 0 {
					return i
				}
				n--
			}
		}
	}
	f.t.Fatalf("no such event")
	return 0
}

func (f *forgery) drop(i int) {
	f.turns = slices.Delete(f.turns, i, i+1)
	f.renumber()
}

// TestForgeriesAreNamed: each is well formed, with its digest made anew. The findings that must fail are listed, all of
// them and no other; where other rolls follow from the forgery, what follows from the rolls may fail too.
func TestForgeriesAreNamed(t *testing.T) {
	const steps, over = "steps_follow_rules", "battle_is_over"
	duel := func(t testing.TB) *game { return finished(t, testConfig()) }
	rerolls := map[string]bool{
		"another client seed": true, "another player": true, "somebody else's join": true, "swapped seats": true,
		"another server seed": true, "another server seed with its commitment": true, "another price": true,
		"another item value": true, "another range": true, "another beacon value": true, "a legacy seed": true, "a nonce": true, "no legacy row": true,
	}
	for _, c := range []struct {
		name  string
		play  func(testing.TB) *game
		forge func(*forgery)
		want  []string
	}{
		{"nothing", duel, func(*forgery) {}, nil},
		{"a roll by one", duel, func(f *forgery) {
			change(f, 1, func(r *Rolled) { r.Roll = neighbour(r.Roll) })
		}, []string{fair.FindingRoll}},
		{"another row", duel, func(f *forgery) {
			change(f, 2, func(r *Rolled) { r.Row = (r.Row + 1) % 4 })
		}, []string{fair.FindingItemInRange}},
		{"a row before the first", duel, func(f *forgery) { change(f, 2, func(r *Rolled) { r.Row = -1 }) }, []string{fair.FindingItemInRange}},
		{"a row after the last", duel, func(f *forgery) { change(f, 2, func(r *Rolled) { r.Row = 4 }) }, []string{fair.FindingItemInRange}},
		{"a round that never was", duel, func(f *forgery) { change(f, 2, func(r *Rolled) { r.Round = 3 }) }, []string{fair.FindingItemInRange, steps}},
		{"a round before the first", duel, func(f *forgery) { change(f, 2, func(r *Rolled) { r.Round = 0 }) }, []string{fair.FindingItemInRange, steps}},
		{"a roll and its row", duel, func(f *forgery) {
			change(f, 0, func(r *Rolled) {
				s, err := New(f.cfg)
				require.NoError(f.t, err)
				r.Roll = 10_000_000 - r.Roll
				r.Row, r.Flip = s.setup.item(1, r.Roll)
			})
		}, []string{fair.FindingRoll}},
		{"a flip that was none", duel, func(f *forgery) {
			change(f, 3, func(r *Rolled) { r.Flip = !r.Flip })
		}, []string{fair.FindingItemInRange}},
		{"another draw", duel, func(f *forgery) {
			change(f, 3, func(r *Rolled) { r.Path.J++ })
		}, []string{steps}},
		{"another winner", duel, func(f *forgery) {
			change(f, 0, func(s *Settled) { s.Settlement.Winners[0] = 1 - s.Settlement.Winners[0] })
		}, []string{"settlement_matches"}},
		{"a cent for the house", duel, func(f *forgery) {
			change(f, 0, func(s *Settled) { s.Settlement.HouseGain++ })
		}, []string{"settlement_matches"}},
		{"another client seed", duel, func(f *forgery) {
			change(f, 1, func(j *Joined) { j.ClientSeed += "x" })
		}, []string{fair.FindingRoll, fair.FindingFreeze}},
		{"another player", duel, func(f *forgery) {
			change(f, 1, func(j *Joined) { j.User = "eva" })
			f.turns[1].Actor = "eva"
		}, []string{fair.FindingRoll, fair.FindingFreeze}},
		{"somebody else's join", duel, func(f *forgery) {
			f.turns[1].Actor = "eva"
		}, []string{fair.FindingRoll, fair.FindingFreeze, steps}},
		{"swapped seats", func(t testing.TB) *game { return finished(t, testConfig(withLayout(3, 1))) }, func(f *forgery) {
			change(f, 1, func(j *Joined) { j.Seat = 2 })
			change(f, 2, func(j *Joined) { j.Seat = 1 })
		}, []string{fair.FindingRoll, fair.FindingFreeze}},
		{"swapped seats in a team", func(t testing.TB) *game { return finished(t, testConfig(withLayout(2, 2))) }, func(f *forgery) {
			change(f, 2, func(j *Joined) { j.Seat = 3 })
			change(f, 3, func(j *Joined) { j.Seat = 2 })
		}, []string{steps}},
		{"another freeze digest", duel, func(f *forgery) {
			change(f, 0, func(s *Started) { s.Freeze[0] ^= 1 })
		}, []string{fair.FindingFreeze}},
		{"another commitment", duel, func(f *forgery) {
			change(f, 0, func(c *Created) { c.Commitment[0] ^= 1 })
		}, []string{fair.FindingCommitment, steps}},
		{"another server seed", duel, func(f *forgery) {
			change(f, 0, func(r *SeedRevealed) { r.Seed = RevealedSeed(strings.Repeat("ab", 32)) })
		}, []string{fair.FindingCommitment, fair.FindingRoll, fair.FindingFreeze, steps}},
		{"another server seed with its commitment", duel, func(f *forgery) {
			seed, err := fair.ParseSeed(strings.Repeat("ab", 32))
			require.NoError(f.t, err)
			change(f, 0, func(r *SeedRevealed) { r.Seed = RevealedSeed(seed.Hex()) })
			change(f, 0, func(c *Created) { c.Commitment, err = seed.Commit("b1") })
			require.NoError(f.t, err)
		}, []string{fair.FindingRoll, fair.FindingFreeze}},
		{"another price", duel, func(f *forgery) { f.cfg.Cases[0].Price++ }, []string{"config_matches", fair.FindingFreeze, fair.FindingRoll, steps}},
		{"another item value", duel, func(f *forgery) { f.cfg.Cases[1].Items[3].Item.Value++ }, []string{"config_matches", fair.FindingFreeze, fair.FindingRoll, steps}},
		{"another range", duel, func(f *forgery) {
			f.cfg.Cases[0].Items[0].Last--
			f.cfg.Cases[0].Items[1].First--
		}, []string{"config_matches", fair.FindingTable, fair.FindingFreeze, fair.FindingRoll, steps}},
		{"a table hash", duel, func(f *forgery) {
			change(f, 0, func(c *Created) { c.Tables[1][5] ^= 1 })
		}, []string{fair.FindingTable, steps}},
		{"a skipped phase", duel, func(f *forgery) { f.drop(find[PhaseStarted](f, 2)) }, []string{steps, over}},
		{"a turn taken away", duel, func(f *forgery) { f.drop(find[Rolled](f, 0)) }, []string{steps, over}},
		{"a turn twice", duel, func(f *forgery) {
			f.turns = slices.Insert(f.turns, 3, f.turns[3])
			f.renumber()
		}, []string{steps, over}},
		{"numbers with a gap", duel, func(f *forgery) { f.turns[4].Rev++ }, []string{steps}},
		{"a phase that ends early", duel, func(f *forgery) {
			change(f, 1, func(p *PhaseStarted) { p.EndsAt -= 100 })
		}, []string{steps}},
		{"a clock that fired early", duel, func(f *forgery) {
			f.turns[3].At = f.turns[3].At.Add(-1e6)
		}, []string{steps, over}},
		{"time runs backwards", duel, func(f *forgery) {
			f.turns[1].At = f.turns[1].At.Add(-1e9)
		}, []string{steps}},
		{"a late join", duel, func(f *forgery) {
			for i := 1; i < len(f.turns); i++ {
				f.turns[i].At = f.turns[i].At.Add(30 * 60 * 1e9)
			}
		}, []string{steps, over}},
		{"the host's step by a player", duel, func(f *forgery) { f.turns[2].Actor = "bob" }, []string{steps, over}},
		{"the end taken away", duel, func(f *forgery) {
			last := len(f.turns) - 1
			end := f.turns[last].Events
			f.turns[last-1].Events = append(f.turns[last-1].Events, end[1])
			f.turns = f.turns[:last]
		}, []string{steps, over}},
		{"a battle after its end", duel, func(f *forgery) {
			f.turns = append(f.turns, f.turns[len(f.turns)-1])
			f.renumber()
		}, []string{steps}},
		{"a refund of a finished battle", duel, func(f *forgery) {
			last := len(f.turns) - 1
			f.turns[last].Events[0] = Cancelled{Void: true, Reason: "power cut"}
		}, []string{steps, over}},
		{"a refund that says otherwise", func(t testing.TB) *game { return recordedBattles(t)["cancelled"] }, func(f *forgery) {
			change(f, 0, func(c *Cancelled) { c.Reason = "expired" })
		}, []string{steps}},
		{"a refund after the start", func(t testing.TB) *game { return recordedBattles(t)["cancelled"] }, func(f *forgery) {
			change(f, 0, func(c *Cancelled) { c.Void = true })
		}, []string{steps, over}},
		{"another beacon value", func(t testing.TB) *game { return finished(t, testConfig(withBeacon)) }, func(f *forgery) {
			change(f, 0, func(b *BeaconKnown) {
				b.Value.Signature = []byte("another signature")
				b.Value.Randomness = sha256.Sum256(b.Value.Signature)
			})
		}, []string{fair.FindingRoll}},
		{"a beacon that is no hash", func(t testing.TB) *game { return finished(t, testConfig(withBeacon)) }, func(f *forgery) {
			change(f, 0, func(b *BeaconKnown) { b.Value.Randomness[3] ^= 1 })
		}, []string{steps, over}},
		{"another beacon round", func(t testing.TB) *game { return finished(t, testConfig(withBeacon)) }, func(f *forgery) {
			change(f, 0, func(b *BeaconKnown) { b.Value = beaconOf(b.Value.Round + 1) })
			change(f, 0, func(s *Started) { s.Target++ })
		}, []string{fair.FindingFreeze, steps, over}},
		{"a legacy seed", func(t testing.TB) *game { return finished(t, testConfig(legacy52)) }, func(f *forgery) {
			change(f, 1, func(r *Rolled) { r.Legacy.ServerSeed = strings.Repeat("ab", 32) })
		}, []string{fair.FindingRoll}},
		{"a legacy hash", func(t testing.TB) *game { return finished(t, testConfig(legacy52)) }, func(f *forgery) {
			change(f, 1, func(r *Rolled) { r.Legacy.ServerSeedHash[0] ^= 1 })
		}, []string{fair.FindingRoll}},
		{"a legacy seed in capitals", func(t testing.TB) *game { return finished(t, testConfig(legacy52)) }, func(f *forgery) {
			change(f, 1, func(r *Rolled) { r.Legacy.ServerSeed = strings.ToUpper(r.Legacy.ServerSeed) })
		}, []string{fair.FindingRoll}},
		{"a nonce", func(t testing.TB) *game { return finished(t, testConfig(legacy52)) }, func(f *forgery) {
			change(f, 0, func(n *NoncesSet) { n.Values[0]++ })
		}, []string{fair.FindingRoll}},
		{"no legacy row", func(t testing.TB) *game { return finished(t, testConfig(legacy52)) }, func(f *forgery) {
			change(f, 1, func(r *Rolled) { r.Legacy = nil })
		}, []string{fair.FindingRoll}},
		{"a host that joins before it commits", duel, func(f *forgery) {
			f.turns[0], f.turns[1] = f.turns[1], f.turns[0]
			f.renumber()
		}, []string{"created_first", fair.FindingCommitment, "config_matches", fair.FindingTable, fair.FindingContributionOrder, steps, over}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := forge(t, c.play(t))
			c.forge(f)
			report, err := Verify(f.seal())
			require.NoError(t, err)
			if rerolls[c.name] {
				require.Subset(t, failed(report), c.want, "%v", report)
				require.NotContains(t, failed(report), fair.FindingRecordDigest)
				require.NotContains(t, failed(report), fair.FindingCanonicalBytes)
				return
			}
			require.ElementsMatch(t, c.want, failed(report), "%v", report)
		})
	}
}

// neighbour is another roll of the same row.
func neighbour(roll uint64) uint64 {
	switch roll {
	case 1, 5_000_001, 8_000_001, 9_500_001:
		return roll + 1
	}
	return roll - 1
}

// TestARecordHasOneForm: another text of the same content is not the record.
func TestARecordHasOneForm(t *testing.T) {
	g := finished(t, testConfig())
	var r record
	require.NoError(t, wire.Unmarshal(g.record(), &r))
	other := func(edit func(*record)) []string {
		c := r
		c.Turns = slices.Clone(r.Turns)
		for i := range c.Turns {
			c.Turns[i].Events = slices.Clone(r.Turns[i].Events)
		}
		edit(&c)
		data, err := c.seal()
		require.NoError(t, err)
		report, err := Verify(data)
		require.NoError(t, err)
		return failed(report)
	}
	replace := func(data *json.RawMessage, old, new string) {
		require.Contains(t, string(*data), old)
		*data = json.RawMessage(strings.Replace(string(*data), old, new, 1))
	}
	require.Empty(t, other(func(*record) {}))
	canonical := []string{fair.FindingCanonicalBytes}
	require.Equal(t, canonical, other(func(r *record) { replace(&r.Config, `"payout":"pool",`, ``) }), "a default left out")
	require.Equal(t, canonical, other(func(r *record) { replace(&r.Config, `"layout":"1v1"`, `"layout":"ONE_VS_ONE"`) }))
	require.Equal(t, canonical, other(func(r *record) {
		replace(&r.Config, `"id":"b1","creator":"ana"`, `"creator":"ana","id":"b1"`)
	}))
	require.Equal(t, canonical, other(func(r *record) { replace(&r.Turns[1].Events[0], `"user":"bob"`, `"user":"\u0062ob"`) }))
	require.Equal(t, canonical, other(func(r *record) { replace(&r.Turns[1].Events[0], `"seat":1`, `"seat":1,"bot":false`) }))
}

// TestVerifyNamesThePlace of what is no record at all.
func TestVerifyNamesThePlace(t *testing.T) {
	data := string(finished(t, testConfig()).record())
	replace := func(old, new string) string {
		require.Contains(t, data, old)
		return strings.Replace(data, old, new, 1)
	}
	body, _, _ := strings.Cut(data, `,"record_digest"`)
	turns := strings.Index(data, `"turns":[`)
	for place, forged := range map[string]string{
		"format: 2":                   replace(`"format":1`, `"format":2`),
		"game: ":                      replace(`"game":"battle"`, `"game":"bottle"`),
		"scheme: ":                    replace(`fair/v2`, `fair/v3`),
		"record_digest: missing":      body + "}",
		"turns: none":                 data[:turns] + `"turns":[],` + data[strings.Index(data, `"record_digest"`):],
		"config: ":                    replace(`"layout":"1v1"`, `"layout":"1v2"`),
		"config: battle: bad config":  replace(`"first":1,`, `"first":2,`),
		"turns[0].events[0]: ":        replace(`"kind":"created"`, `"kind":"creatid"`),
		"turns[0].events[1]: joined:": replace(`"user":"ana","seat":0`, `"user":"ana","seat":"0"`),
		"turns[0].events: none":       replace(data[strings.Index(data, `{"kind":"created"`):strings.Index(data, `]},{"rev":2`)], ""),
		"no public event":             replace(`{"kind":"joined"`, `{"kind":"seed_drawn","data":{"seed":"`+strings.Repeat("ab", 32)+`"}},{"kind":"joined"`),
		"seed is not revealed":        replace(data[strings.LastIndex(data, `,{"kind":"seed_revealed"`):strings.LastIndex(data, `]}],"record_digest"`)], ""),
		"want 64 lower-case hex":      data[:strings.LastIndex(data, `"seed":"`)+8] + "XY" + data[strings.LastIndex(data, `"seed":"`)+10:],
		"unknown field":               replace(`"format":1`, `"format":1,"x":1`),
		"trailing data":               data + "{}",
	} {
		_, err := Verify([]byte(forged))
		require.ErrorIs(t, err, ErrRecord, place)
		require.ErrorContains(t, err, place)
	}
	_, err := Verify(make([]byte, 64<<20+1))
	require.ErrorIs(t, err, ErrRecord)
	require.ErrorContains(t, err, "at most")
}
