package battle

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/glasshouse-go/glasshouse/fair"
)

// EdgeOptions says how Edge may find its answer. The zero value enumerates up to a million outcomes, and otherwise
// simulates 20,000 battles from seed 0.
type EdgeOptions struct {
	Outcomes int    // enumerate if there are no more than this; 0 = 1,000,000, negative = always simulate
	Battles  int    // to simulate, from 2; 0 = 20,000
	Seed     uint64 // of the simulation: the same seed gives the same report
}

// EdgeReport is what a policy gives the house in a battle where every seat pays. Amounts are cents a battle; the big
// rationals are exact expectations where Exact, and sample means otherwise.
type EdgeReport struct {
	Config  string // the battle's id
	Layout  Layout
	Mode    Mode
	Lowest  bool
	Policy  Policy
	Exact   bool
	Battles uint64   // outcomes enumerated, each with its probability, or battles simulated
	Seed    uint64   // of the simulation
	Entries int64    // what all the seats pay
	Value   *big.Rat // of the items opened
	Gain    *big.Rat // Settlement.HouseGain: positive if the settlement keeps value for the house, negative if it adds
	Loses   *big.Rat // share of the battles with a negative HouseGain
	Refunds *big.Rat // share of the battles whose entries go back
	Margin  *big.Rat // entries kept, less everything handed out: what the house earns by a battle
	StdErr  float64  // standard error of Gain, 0 where Exact; for reading only, nothing depends on it
}

const (
	edgeOutcomes = 1_000_000
	edgeBattles  = 20_000
)

// Edge tells what a policy gives the house in the battles of a config, whose own payout and tie policies it takes the
// place of. Every roll is taken as independent and uniform, and no seat as a bot's. For the config's own policies pass
// cfg.Policy().
//
// Where the items of the cases can fall in few enough ways the answer is exact: all of them are settled, each with its
// probability. Otherwise battles are simulated. An error is that of the config, of Settle, or of the options.
func Edge(cfg Config, p Policy, opts EdgeOptions) (EdgeReport, error) {
	if opts.Battles < 0 || opts.Battles == 1 {
		return EdgeReport{}, fmt.Errorf("battle: %d battles to simulate, want 2 or more", opts.Battles)
	}
	e, err := newEdge(cfg.WithDefaults(), p)
	if err != nil {
		return EdgeReport{}, err
	}
	limit := opts.Outcomes
	if limit == 0 {
		limit = edgeOutcomes
	}
	if n, ok := e.outcomes(); ok && limit > 0 && n <= uint64(limit) {
		err = e.enumerate(n)
	} else {
		err = e.simulate(opts)
	}
	return e.report, err
}

// edge is a calculation under way.
type edge struct {
	report EdgeReport
	drops  Drops
	faces  [][]face // of each round
}

// face is a value that a case can give, with the number of rolls that give it. Items alike in value are one face:
// which of them it is changes names, but no amount.
type face struct {
	value int64
	rolls int64
}

func newEdge(cfg Config, p Policy) (*edge, error) {
	tables, err := cfg.tables()
	if err != nil {
		return nil, err
	}
	values := make([]int64, len(cfg.Catalogue))
	for i, item := range cfg.Catalogue {
		values[i] = item.Value
	}
	catalogue, err := NewCatalogue(values)
	if err != nil {
		return nil, err
	}
	e := &edge{
		report: EdgeReport{
			Config: cfg.ID, Layout: cfg.Layout, Mode: cfg.Mode, Lowest: cfg.Lowest, Policy: p,
			Entries: cfg.Entry() * int64(cfg.Layout.Seats()),
		},
		drops: Drops{
			Layout: cfg.Layout, Mode: cfg.Mode, Lowest: cfg.Lowest, Catalogue: catalogue,
			Drops: make([]Drop, len(cfg.Cases)*cfg.Layout.Seats()),
		},
	}
	for round, cs := range cfg.Cases {
		e.faces = append(e.faces, facesOf(cs, tables[round]))
	}
	return e, nil
}

func facesOf(cs Case, t *fair.Table[int]) (faces []face) {
	for i := range t.Len() {
		v, rolls := cs.Items[t.Item(i)].Item.Value, int64(t.Weight(i))
		at := slices.IndexFunc(faces, func(f face) bool { return f.value == v })
		if at < 0 {
			faces = append(faces, face{v, rolls})
		} else {
			faces[at].rolls += rolls
		}
	}
	return faces
}

// outcomes is the number of ways in which the drops can fall, false if it passes 64 bits.
func (e *edge) outcomes() (uint64, bool) {
	n := uint64(1)
	for place := range e.drops.Drops {
		hi, lo := bits.Mul64(n, uint64(len(e.facesAt(place))))
		if hi > 0 {
			return 0, false
		}
		n = lo
	}
	return n, true
}

func (e *edge) facesAt(place int) []face { return e.faces[place/e.drops.Layout.Seats()] }

// tally adds up what is asked about battles, each with a weight.
type tally struct {
	gain, value, loses, refunds, kept *big.Int
}

func newTally() tally {
	return tally{new(big.Int), new(big.Int), new(big.Int), new(big.Int), new(big.Int)}
}

func (t tally) fields() [5]*big.Int { return [5]*big.Int{t.gain, t.value, t.loses, t.refunds, t.kept} }

// add adds another tally, weighted.
func (t tally) add(weight int64, other tally) {
	var product big.Int
	w := big.NewInt(weight)
	from := other.fields()
	for i, sum := range t.fields() {
		sum.Add(sum, product.Mul(w, from[i]))
	}
}

// tallyOf counts one battle.
func tallyOf(s Settlement, entries int64) tally {
	t := newTally()
	t.value.SetInt64(s.pot())
	if s.Outcome == Refunded {
		t.refunds.SetInt64(1)
		return t
	}
	t.gain.SetInt64(s.HouseGain)
	if s.HouseGain < 0 {
		t.loses.SetInt64(1)
	}
	t.kept.SetInt64(entries - s.Value + s.HouseGain)
	return t
}

// conclude turns the tally into means; total is the weight of all the battles in it.
func (r *EdgeReport) conclude(t tally, total *big.Int) {
	mean := func(sum *big.Int) *big.Rat { return new(big.Rat).SetFrac(sum, total) }
	r.Gain, r.Value, r.Loses, r.Refunds, r.Margin = mean(t.gain), mean(t.value), mean(t.loses), mean(t.refunds), mean(t.kept)
}

// anyTeam is a source of draws for settlements whose amounts alone are looked at. Teams are equal in number, so the
// amounts are the same whichever single team wins a jackpot or an extra roll; it lets the first roll decide.
type anyTeam struct{}

type teamWord uint64

func (w teamWord) Uint64() uint64 { return uint64(w) }

func (anyTeam) At(_ string, _, team uint64) fair.Words { return teamWord(team) }

func (e *edge) enumerate(outcomes uint64) error {
	e.drops.Draw = anyTeam{}
	t, err := e.below(0)
	if err != nil {
		return err
	}
	total := new(big.Int).Exp(big.NewInt(MaxRoll), big.NewInt(int64(len(e.drops.Drops))), nil)
	e.report.Exact, e.report.Battles = true, outcomes
	e.report.conclude(t, total)
	return nil
}

// below is the tally of all the ways in which the drops from place on can fall, each weighted with its number of rolls.
func (e *edge) below(place int) (tally, error) {
	if place == len(e.drops.Drops) {
		s, err := Settle(e.drops, e.report.Policy)
		return tallyOf(s, e.report.Entries), err
	}
	sum := newTally()
	for _, f := range e.facesAt(place) {
		e.drops.Drops[place].Value = f.value
		t, err := e.below(place + 1)
		if err != nil {
			return tally{}, err
		}
		sum.add(f.rolls, t)
	}
	return sum, nil
}

func (e *edge) simulate(opts EdgeOptions) error {
	battles := opts.Battles
	if battles == 0 {
		battles = edgeBattles
	}
	words := rand.NewPCG(opts.Seed, 0)
	e.drops.Draw = fair.Simulation(words)
	sum := newTally()
	var mean, spread float64 // Welford's running mean and sum of squares of the gain
	for n := range battles {
		for place := range e.drops.Drops {
			e.drops.Drops[place].Value = draw(e.facesAt(place), fair.Uniform(words, MaxRoll))
		}
		s, err := Settle(e.drops, e.report.Policy)
		if err != nil {
			return err
		}
		sum.add(1, tallyOf(s, e.report.Entries))
		delta := float64(s.HouseGain) - mean
		mean += delta / float64(n+1)
		spread += delta * (float64(s.HouseGain) - mean)
	}
	e.report.Battles, e.report.Seed = uint64(battles), opts.Seed
	e.report.StdErr = math.Sqrt(spread / float64(battles-1) / float64(battles))
	e.report.conclude(sum, big.NewInt(int64(battles)))
	return nil
}

// draw is the value of the face that a roll falls on, rolls counted from 0 and face by face.
func draw(faces []face, roll uint64) int64 {
	left := int64(roll)
	for _, f := range faces {
		if left -= f.rolls; left < 0 {
			return f.value
		}
	}
	panic("battle: a roll that no item covers")
}

// Write writes the report for people to read: rounded decimals, and the seed where it was simulated.
func (r EdgeReport) Write(w io.Writer) error {
	if r.Gain == nil {
		return errors.New("battle: an empty report")
	}
	how := fmt.Sprintf("exact, %d outcomes", r.Battles)
	if !r.Exact {
		how = fmt.Sprintf("%d simulated battles, seed %d", r.Battles, r.Seed)
	}
	lowest := ""
	if r.Lowest {
		lowest = " lowest"
	}
	gain := r.Gain.FloatString(4)
	if !r.Exact {
		gain += fmt.Sprintf(" ± %.4f", r.StdErr)
	}
	_, err := fmt.Fprintf(w, `%s: %s %s%s, payout %s, ties %s (%s)
entries  %d
opened   %s
gain     %s (%s %% of what is opened)
loses in %s %% of battles, refunds in %s %%
margin   %s
`,
		r.Config, r.Layout, r.Mode, lowest, r.Policy.Payout, r.Policy.Ties, how,
		r.Entries, r.Value.FloatString(4), gain, percent(r.Gain, r.Value), percent(r.Loses, nil), percent(r.Refunds, nil),
		r.Margin.FloatString(4))
	return err
}

// percent is a/b, or a, in percent; "0.000" of nothing.
func percent(a, b *big.Rat) string {
	out := new(big.Rat).Mul(a, big.NewRat(100, 1))
	if b != nil && b.Sign() != 0 {
		out.Quo(out, b)
	}
	return out.FloatString(3)
}
