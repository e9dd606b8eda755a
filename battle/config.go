package battle

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/wire"
	"github.com/glasshouse-go/glasshouse/ledger"
)

// The limits of a Config.
const (
	MaxCases = 10         // rounds of a battle
	MaxRoll  = 10_000_000 // rolls are 1..MaxRoll
	MaxItems = 10_000     // rows of a case, and of the catalogue

	maxText     = 1024            // bytes of a name or image
	maxDecimals = 20              // of a drop chance
	maxChance   = 4 + maxDecimals // bytes of a drop chance, "100." and the decimals
	maxMillis   = 24 * 3_600_000  // of a phase or an expiry, ms
	minBeacon   = 1               // rounds
	maxBeacon   = 1_000           // rounds
	configTag   = "glasshouse/battle/config/1\n"
	expiryMS    = 30 * 60 * 1000
	beaconMS    = 10 * 60 * 1000
	beaconStep  = 2
)

// Config is everything about a battle that is fixed when it is created. It is plain data. Its hash is published with
// the commitment to the seed, which does not hold it, and goes into every roll: prices, ranges and values cannot change
// under players who have paid and kept that hash. Fields left out take the defaults written beside them; see
// WithDefaults.
type Config struct {
	// ID names the battle, 1..40 bytes of [A-Za-z0-9._/@-]. Its document is battle:ID, its escrow escrow:battle:ID.
	ID string `json:"id"`
	// Creator is the user who opens the battle; he pays with Create and sits in team 1, slot 0.
	Creator string `json:"creator"`
	// Asset is the money of prices and values, with its scale: "BRL/2" are cents.
	Asset ledger.Asset `json:"asset"`
	// Layout is how many teams of how many players, "2v2".
	Layout Layout `json:"layout"`
	// Mode says who wins; Lowest turns the comparison round (not with Shared).
	Mode   Mode `json:"mode"`
	Lowest bool `json:"lowest,omitempty"`
	// Payout is how the winners share the items. Default Pool.
	Payout Payout `json:"payout,omitzero"`
	// Ties is what happens to teams level at the top. Default SplitAll.
	Ties Ties `json:"ties,omitzero"`
	// Private battles are joined with a code that only the creator is shown.
	Private bool `json:"private,omitempty"`
	// Expiry is how long a battle waits for players, in ms. Default 30 minutes.
	Expiry int64 `json:"expiry_ms,omitempty"`
	// Timeline is how long the phases last. Default [SourceTimes], also if all of them are 0.
	Timeline Timeline `json:"timeline,omitzero"`
	// Cases are opened in this order, one a round, 1..MaxCases; a case may come more than once.
	Cases []Case `json:"cases"`
	// Catalogue are the items that the Pool policies compensate with, in order.
	Catalogue []Item `json:"catalogue,omitempty"`
	// Beacon, if set, mixes a public random value into the rolls that nobody can know when entries close. Recommended
	// where money or bots are in play.
	Beacon *BeaconRule `json:"beacon,omitempty"`
	// Compat is for hosts that must match the source.
	Compat Compat `json:"compat,omitzero"`
}

// Item is a thing of value.
type Item struct {
	ID     string `json:"id"` // 1..100 bytes; as an asset it is item:ID
	Name   string `json:"name"`
	Image  string `json:"image,omitempty"`
	Rarity string `json:"rarity,omitempty"`
	Value  int64  `json:"value,string"` // minor units of the battle's asset ("cents"), 0..MaxCents
}

// Case is a box of items with the rolls they are given for.
type Case struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Image  string `json:"image,omitempty"`
	Price  int64  `json:"price,string"` // cents
	Active bool   `json:"active"`
	// FlipThreshold is the roll from which on the second roulette turns; 0 = never.
	FlipThreshold uint64     `json:"flip_threshold,omitempty"`
	Items         []CaseItem `json:"items"`
}

// CaseItem is one row of a case: an item, and the rolls First..Last, both included, that win it.
type CaseItem struct {
	Row            string `json:"row"` // unique in the case
	Item           Item   `json:"item"`
	WeaponCategory string `json:"weapon_category,omitempty"`
	Exterior       string `json:"exterior,omitempty"`
	StatTrak       bool   `json:"stat_trak,omitempty"`
	Weight         uint64 `json:"weight,omitempty"` // for display only, up to 2^53: the range decides
	First          uint64 `json:"first"`
	Last           uint64 `json:"last"`
	// DropChance is the chance shown to players, in percent, as decimal text. It must be that of the range, rounded to
	// the digits it has; left out, feeds show the exact one.
	DropChance string `json:"drop_chance,omitempty"`
}

// Chance is the exact probability of the row, in percent, as decimal text: the range's share of MaxRoll.
func (c CaseItem) Chance() string {
	n := c.Last - c.First + 1 // of 10,000,000: five decimals of a percent
	return strconv.FormatUint(n/100_000, 10) + "." + fmt.Sprintf("%05d", n%100_000)
}

// Timeline is how long the phases last, in ms, 0..24 h each. A phase of 0 ms ends when it is next looked at.
type Timeline struct {
	Countdown     int64 `json:"countdown_ms"`
	RoundStarting int64 `json:"round_starting_ms"`
	Spinning      int64 `json:"spinning_ms"`      // a round without a flip
	FlipSpinning  int64 `json:"flip_spinning_ms"` // a round with one
	RoundComplete int64 `json:"round_complete_ms"`
}

// SourceTimes is the timeline that the source announces: 3000, 500, 8550 (6000+1050+1500), 22050
// (6000+8550+6000+1500) and 1000 ms.
func SourceTimes() Timeline { return Timeline{3000, 500, 8550, 22050, 1000} }

// BeaconRule names the public random value that goes into the rolls: the drand round that comes Delay rounds after the
// newest one when entries close. If it is not there Timeout ms after it was due, the battle is cancelled and everybody
// paid back: one target, never another.
type BeaconRule struct {
	Drand   fair.Drand `json:"drand"`
	Delay   uint64     `json:"delay_rounds,omitempty"` // 1..1000, default 2
	Timeout int64      `json:"timeout_ms,omitempty"`   // default 10 minutes
}

// Compat gathers what exists only to match the source to the bit.
type Compat struct {
	SourceTimeline bool `json:"source_timeline,omitempty"` // no pause at round_starting and round_complete, which it announces but does not wait for
	PoolUnsorted   bool `json:"pool_unsorted,omitempty"`   // Pool distributes in drop order (reading B of the vectors)
	Legacy52       bool `json:"legacy_52,omitempty"`       // rolls by scheme legacy/52, from seeds made anew for each roll; see Nonces
}

// WithDefaults returns the config with every field that was left out filled in. New does this by itself.
func (c Config) WithDefaults() Config {
	if c.Payout == 0 {
		c.Payout = Pool
	}
	if c.Ties == 0 {
		c.Ties = SplitAll
	}
	if c.Expiry == 0 {
		c.Expiry = expiryMS
	}
	c.Timeline = c.Timeline.withDefaults(c.Compat)
	if c.Beacon != nil {
		b := *c.Beacon
		if b.Delay == 0 {
			b.Delay = beaconStep
		}
		if b.Timeout == 0 {
			b.Timeout = beaconMS
		}
		c.Beacon = &b
	}
	return c
}

// withDefaults of what it returns is the same again: a config that was stored is not changed when it is read.
func (t Timeline) withDefaults(compat Compat) Timeline {
	pauses := func() {
		if compat.SourceTimeline {
			t.RoundStarting, t.RoundComplete = 0, 0
		}
	}
	pauses()
	if t == (Timeline{}) {
		t = SourceTimes()
		pauses()
	}
	return t
}

// Entry is what a seat costs in cents: the prices of the cases.
func (c Config) Entry() int64 {
	var sum int64
	for _, cs := range c.Cases {
		sum += cs.Price
	}
	return sum
}

// Policy is how the config settles, defaults filled in.
func (c Config) Policy() Policy {
	c = c.WithDefaults()
	return Policy{Payout: c.Payout, Ties: c.Ties, Unsorted: c.Compat.PoolUnsorted}
}

// Hash commits to the whole config, defaults filled in: SHA-256("glasshouse/battle/config/1\n" ‖ JSON).
func (c Config) Hash() (fair.Digest, error) {
	b, err := wire.Marshal(c.WithDefaults())
	if err != nil {
		return fair.Digest{}, err
	}
	return hashConfig(b), nil
}

func hashConfig(config []byte) fair.Digest {
	return sha256.Sum256(append([]byte(configTag), config...))
}

// Clone is a copy that shares nothing with c.
func (c Config) Clone() Config {
	c.Cases = slices.Clone(c.Cases)
	for i := range c.Cases {
		c.Cases[i].Items = slices.Clone(c.Cases[i].Items)
	}
	c.Catalogue = slices.Clone(c.Catalogue)
	if c.Beacon != nil {
		b := *c.Beacon
		c.Beacon = &b
	}
	return c
}

// Validate reports the first field that is wrong, by its path in the JSON: [ErrConfig], or [ErrCaseCount],
// [ErrCaseNotActive] and [ErrCaseWithoutItems] where the source has a refusal of its own. Fields left out are judged
// as their defaults.
func (c Config) Validate() error {
	_, err := c.WithDefaults().tables()
	return err
}

// tables validates the config and returns the weighted table of each round, whose payload is the row's index.
func (c Config) tables() ([]*fair.Table[int], error) {
	for _, check := range []func() error{c.checkNames, c.checkRules, c.checkTimes, c.checkCatalogue} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	if len(c.Cases) == 0 || len(c.Cases) > MaxCases {
		return nil, fmt.Errorf("%w: cases: %d", ErrCaseCount, len(c.Cases))
	}
	tables := make([]*fair.Table[int], len(c.Cases))
	for i, cs := range c.Cases {
		var err error
		if tables[i], err = cs.table(fmt.Sprintf("cases[%d]", i)); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

func bad(path, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrConfig, path, fmt.Sprintf(format, args...))
}

func (c Config) checkNames() error {
	switch {
	case !glasshouse.ValidName(c.ID) || strings.Contains(c.ID, "#"): // x#config would be another battle's document
		return bad("id", "want 1 to %d bytes of [A-Za-z0-9._/@-]", glasshouse.MaxActor)
	case !glasshouse.ValidName(c.Creator):
		return bad("creator", "want 1 to %d bytes of [A-Za-z0-9._/#@-]", glasshouse.MaxActor)
	case !validAsset(string(c.Asset)):
		return bad("asset", "want 1 to 100 bytes of [A-Za-z0-9._/#@-], as in \"BRL/2\"")
	}
	return nil
}

func (c Config) checkRules() error {
	if err := c.Layout.check(); err != nil {
		return bad("layout", "%v", err)
	}
	for _, e := range []struct {
		path string
		ok   bool
	}{
		{"mode", c.Mode >= Normal && c.Mode <= Points},
		{"payout", c.Payout >= Pool && c.Payout <= WholeItems},
		{"ties", c.Ties >= SplitAll && c.Ties <= Refund},
	} {
		if !e.ok {
			return bad(e.path, "missing or unknown")
		}
	}
	switch {
	case c.Lowest && c.Mode == Shared:
		return bad("lowest", "nothing to turn round where all win")
	case c.Compat.PoolUnsorted && c.Payout != Pool && c.Payout != PoolCash:
		return bad("compat.pool_unsorted", "the payout is %s", c.Payout)
	}
	return nil
}

func (c Config) checkTimes() error {
	t := c.Timeline
	for _, f := range []struct {
		path    string
		ms, min int64
	}{
		{"expiry_ms", c.Expiry, 1},
		{"timeline.countdown_ms", t.Countdown, 0},
		{"timeline.round_starting_ms", t.RoundStarting, 0},
		{"timeline.spinning_ms", t.Spinning, 0},
		{"timeline.flip_spinning_ms", t.FlipSpinning, 0},
		{"timeline.round_complete_ms", t.RoundComplete, 0},
	} {
		if f.ms < f.min || f.ms > maxMillis {
			return bad(f.path, "%d, want %d to %d", f.ms, f.min, maxMillis)
		}
	}
	b := c.Beacon
	switch {
	case b == nil:
		return nil
	case b.Drand.Chain.IsZero():
		return bad("beacon.drand.chain", "missing")
	case b.Drand.Genesis < 0 || b.Drand.Genesis > maxSeconds:
		return bad("beacon.drand.genesis", "%d, want 0 to %d", b.Drand.Genesis, maxSeconds)
	case b.Drand.Period < 1 || b.Drand.Period > 3600:
		return bad("beacon.drand.period", "%d, want 1 to 3600", b.Drand.Period)
	case b.Delay < minBeacon || b.Delay > maxBeacon:
		return bad("beacon.delay_rounds", "%d, want %d to %d", b.Delay, minBeacon, maxBeacon)
	case b.Timeout < 1 || b.Timeout > maxMillis:
		return bad("beacon.timeout_ms", "%d, want 1 to %d", b.Timeout, maxMillis)
	}
	return nil
}

// maxSeconds keeps instants inside what milliseconds and JSON numbers hold (year 9999).
const maxSeconds int64 = 253_402_300_799

func (c Config) checkCatalogue() error {
	if len(c.Catalogue) > MaxItems {
		return bad("catalogue", "%d items, at most %d", len(c.Catalogue), MaxItems)
	}
	for i, it := range c.Catalogue {
		if err := it.check(fmt.Sprintf("catalogue[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (it Item) check(path string) error {
	switch {
	case !validAsset(it.ID):
		return bad(path+".id", "want 1 to 100 bytes of [A-Za-z0-9._/#@-]")
	case !validText(it.Name):
		return bad(path+".name", "want valid UTF-8, at most %d bytes", maxText)
	case !validText(it.Image):
		return bad(path+".image", "want valid UTF-8, at most %d bytes", maxText)
	case !validText(it.Rarity):
		return bad(path+".rarity", "want valid UTF-8, at most %d bytes", maxText)
	case it.Value < 0 || it.Value > MaxCents:
		return bad(path+".value", "%d, want 0 to %d", it.Value, int64(MaxCents))
	}
	return nil
}

func (c Case) table(path string) (*fair.Table[int], error) {
	switch {
	case !validAsset(c.ID):
		return nil, bad(path+".id", "want 1 to 100 bytes of [A-Za-z0-9._/#@-]")
	case !validText(c.Name):
		return nil, bad(path+".name", "want valid UTF-8, at most %d bytes", maxText)
	case !validText(c.Image):
		return nil, bad(path+".image", "want valid UTF-8, at most %d bytes", maxText)
	case !c.Active:
		return nil, fmt.Errorf("%w: %s.active: case %s", ErrCaseNotActive, path, c.ID)
	case c.Price < 0 || c.Price > MaxCents:
		return nil, bad(path+".price", "%d, want 0 to %d", c.Price, int64(MaxCents))
	case c.FlipThreshold > MaxRoll:
		return nil, bad(path+".flip_threshold", "%d, want 0 to %d", c.FlipThreshold, MaxRoll)
	case len(c.Items) == 0:
		return nil, fmt.Errorf("%w: %s.items: case %s", ErrCaseWithoutItems, path, c.ID)
	case len(c.Items) > MaxItems:
		return nil, bad(path+".items", "%d items, at most %d", len(c.Items), MaxItems)
	}
	spans := make([]fair.Span[int], len(c.Items))
	for i, it := range c.Items {
		if err := it.check(fmt.Sprintf("%s.items[%d]", path, i)); err != nil {
			return nil, err
		}
		spans[i] = fair.Span[int]{ID: it.Row, First: it.First, Last: it.Last, Item: i}
	}
	t, err := fair.NewRangeTable(MaxRoll, spans...)
	if err != nil {
		return nil, bad(path+".items", "%v", err)
	}
	return t, nil
}

func (c CaseItem) check(path string) error {
	if !validAsset(c.Row) {
		return bad(path+".row", "want 1 to 100 bytes of [A-Za-z0-9._/#@-]")
	}
	if err := c.Item.check(path + ".item"); err != nil {
		return err
	}
	switch {
	case !validText(c.WeaponCategory):
		return bad(path+".weapon_category", "want valid UTF-8, at most %d bytes", maxText)
	case !validText(c.Exterior):
		return bad(path+".exterior", "want valid UTF-8, at most %d bytes", maxText)
	case c.First < 1 || c.First > MaxRoll:
		return bad(path+".first", "%d, want 1 to %d", c.First, MaxRoll)
	case c.Last < c.First || c.Last > MaxRoll:
		return bad(path+".last", "%d, want %d to %d", c.Last, c.First, MaxRoll)
	case c.Weight > 1<<53:
		return bad(path+".weight", "%d, want 0 to 2^53", c.Weight)
	case c.DropChance != "" && !c.shows(c.DropChance):
		return bad(path+".drop_chance", "%.20q is not the chance of rolls %d to %d, %s %%", c.DropChance, c.First, c.Last, c.Chance())
	}
	return nil
}

// shows reports whether text is the row's chance in percent, rounded to the digits it has.
func (c CaseItem) shows(text string) bool {
	if len(text) > maxChance {
		return false
	}
	whole, frac, decimals := len(text), 0, 0
	for i := range len(text) {
		switch {
		case text[i] == '.' && whole == len(text) && i > 0 && i < len(text)-1:
			whole = i
		case text[i] < '0' || text[i] > '9':
			return false
		case i > whole:
			frac++
		}
	}
	decimals = frac
	shown, ok := new(big.Rat).SetString(text)
	if !ok || decimals > maxDecimals || whole > 3 || (whole > 1 && text[0] == '0') {
		return false
	}
	exact := big.NewRat(int64(c.Last-c.First+1), MaxRoll/100)
	half := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Mul(big.NewInt(2), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)))
	diff := new(big.Rat).Sub(shown, exact)
	return diff.Abs(diff).Cmp(half) <= 0
}

func validText(s string) bool { return len(s) <= maxText && utf8.ValidString(s) }

// validAsset reports whether s may be an asset or the id of an item: a name, but longer.
func validAsset(s string) bool {
	for len(s) > glasshouse.MaxActor {
		if len(s) > 100 || !glasshouse.ValidName(s[:glasshouse.MaxActor]) {
			return false
		}
		s = s[glasshouse.MaxActor:]
	}
	return glasshouse.ValidName(s)
}

// Pick builds the case list of a battle from ids, in their order; a case may be picked more than once. The refusals
// are the source's: [ErrCaseCount] unless 1 to MaxCases are picked, [ErrCaseNotFound], [ErrCaseNotActive],
// [ErrCaseWithoutItems], each naming the case.
func Pick(lookup func(id string) (Case, bool), ids []string) ([]Case, error) {
	if len(ids) == 0 || len(ids) > MaxCases {
		return nil, fmt.Errorf("%w: %d", ErrCaseCount, len(ids))
	}
	cases := make([]Case, len(ids))
	for i, id := range ids {
		c, ok := lookup(id)
		switch {
		case !ok:
			return nil, fmt.Errorf("%w: %.40q", ErrCaseNotFound, id)
		case !c.Active:
			return nil, fmt.Errorf("%w: %.40q", ErrCaseNotActive, id)
		case len(c.Items) == 0:
			return nil, fmt.Errorf("%w: %.40q", ErrCaseWithoutItems, id)
		}
		c.Items = slices.Clone(c.Items)
		cases[i] = c
	}
	return cases, nil
}
