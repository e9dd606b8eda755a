package battle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse"
	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/internal/wire"
)

// fullConfig has a value in every field.
func fullConfig() Config {
	cs := testCase()
	cs.Items[0] = CaseItem{
		Row: "row-a", Item: Item{ID: "a", Name: "Item a", Image: "a.png", Rarity: "blue", Value: 10},
		WeaponCategory: "rifle", Exterior: "worn", StatTrak: true, Weight: 7, First: 1, Last: 5_000_000, DropChance: "50",
	}
	return Config{
		ID: "b1", Creator: "ana", Asset: "BRL/2", Layout: Layout{2, 2}, Mode: Normal, Lowest: true, Payout: Pool, Ties: SplitAll,
		Private: true, Expiry: 60_000, Timeline: Timeline{1, 2, 3, 4, 5}, Cases: []Case{cs, testCase()},
		Catalogue: []Item{{ID: "f1", Name: "One", Image: "f.png", Rarity: "grey", Value: 1}},
		Beacon:    &BeaconRule{Drand: drandOfTests(), Delay: 3, Timeout: 9000},
		Compat:    Compat{PoolUnsorted: true, Legacy52: true},
	}
}

// TestConfigNamesTheFieldThatIsWrong sets every field wrong in turn.
func TestConfigNamesTheFieldThatIsWrong(t *testing.T) {
	long := strings.Repeat("x", 101)
	longText := strings.Repeat("x", 1025)
	row := func(edit func(*CaseItem)) func(*Config) {
		return func(c *Config) { edit(&c.Cases[0].Items[0]) }
	}
	for _, c := range []struct {
		path string
		edit func(*Config)
	}{
		{"id", func(c *Config) { c.ID = "" }},
		{"id", func(c *Config) { c.ID = "a:b" }},
		{"id", func(c *Config) { c.ID = strings.Repeat("x", 41) }},
		{"id", func(c *Config) { c.ID = "b1#config" }}, // its document would be the config's of b1
		{"creator", func(c *Config) { c.Creator = "" }},
		{"creator", func(c *Config) { c.Creator = "bot:1" }},
		{"creator", func(c *Config) { c.Creator = system }},
		{"asset", func(c *Config) { c.Asset = "" }},
		{"asset", func(c *Config) { c.Asset = "item:a" }},
		{"layout", func(c *Config) { c.Layout = Layout{} }},
		{"layout", func(c *Config) { c.Layout = Layout{1, 1} }},
		{"layout", func(c *Config) { c.Layout = Layout{9, 1} }},
		{"layout", func(c *Config) { c.Layout = Layout{2, 0} }},
		{"layout", func(c *Config) { c.Layout = Layout{2, 5} }},
		{"mode", func(c *Config) { c.Mode = 0 }},
		{"mode", func(c *Config) { c.Mode = Points + 1 }},
		{"payout", func(c *Config) { c.Payout = WholeItems + 1 }},
		{"ties", func(c *Config) { c.Ties = Refund + 1 }},
		{"lowest", func(c *Config) { c.Mode = Shared }},
		{"expiry_ms", func(c *Config) { c.Expiry = -1 }},
		{"expiry_ms", func(c *Config) { c.Expiry = 86_400_001 }},
		{"timeline.countdown_ms", func(c *Config) { c.Timeline.Countdown = -1 }},
		{"timeline.round_starting_ms", func(c *Config) { c.Timeline.RoundStarting = -1 }},
		{"timeline.spinning_ms", func(c *Config) { c.Timeline.Spinning = 86_400_001 }},
		{"timeline.flip_spinning_ms", func(c *Config) { c.Timeline.FlipSpinning = -1 }},
		{"timeline.round_complete_ms", func(c *Config) { c.Timeline.RoundComplete = -1 }},
		{"catalogue", func(c *Config) { c.Catalogue = make([]Item, 10_001) }},
		{"catalogue[0].id", func(c *Config) { c.Catalogue[0].ID = "" }},
		{"catalogue[0].id", func(c *Config) { c.Catalogue[0].ID = long }},
		{"catalogue[0].name", func(c *Config) { c.Catalogue[0].Name = longText }},
		{"catalogue[0].image", func(c *Config) { c.Catalogue[0].Image = "\xff" }},
		{"catalogue[0].rarity", func(c *Config) { c.Catalogue[0].Rarity = longText }},
		{"catalogue[0].value", func(c *Config) { c.Catalogue[0].Value = -1 }},
		{"catalogue[0].value", func(c *Config) { c.Catalogue[0].Value = 1_000_000_000_000_001 }},
		{"beacon.drand.chain", func(c *Config) { c.Beacon.Drand.Chain = fair.Digest{} }},
		{"beacon.drand.genesis", func(c *Config) { c.Beacon.Drand.Genesis = -1 }},
		{"beacon.drand.genesis", func(c *Config) { c.Beacon.Drand.Genesis = 253_402_300_800 }},
		{"beacon.drand.period", func(c *Config) { c.Beacon.Drand.Period = 0 }},
		{"beacon.drand.period", func(c *Config) { c.Beacon.Drand.Period = 3601 }},
		{"beacon.delay_rounds", func(c *Config) { c.Beacon.Delay = 1001 }},
		{"beacon.timeout_ms", func(c *Config) { c.Beacon.Timeout = -1 }},
		{"beacon.timeout_ms", func(c *Config) { c.Beacon.Timeout = 86_400_001 }},
		{"compat.pool_unsorted", func(c *Config) { c.Payout = ExactCash }},
		{"compat.pool_unsorted", func(c *Config) { c.Payout = WholeItems }},
		{"cases[0].id", func(c *Config) { c.Cases[0].ID = "a b" }},
		{"cases[1].name", func(c *Config) { c.Cases[1].Name = longText }},
		{"cases[1].image", func(c *Config) { c.Cases[1].Image = longText }},
		{"cases[1].price", func(c *Config) { c.Cases[1].Price = -1 }},
		{"cases[1].price", func(c *Config) { c.Cases[1].Price = 1_000_000_000_000_001 }},
		{"cases[1].flip_threshold", func(c *Config) { c.Cases[1].FlipThreshold = MaxRoll + 1 }},
		{"cases[1].items", func(c *Config) { c.Cases[1].Items = make([]CaseItem, 10_001) }},
		{"cases[0].items[0].row", row(func(r *CaseItem) { r.Row = "" })},
		{"cases[0].items[0].row", row(func(r *CaseItem) { r.Row = long })},
		{"cases[0].items[0].item.id", row(func(r *CaseItem) { r.Item.ID = "ä" })},
		{"cases[0].items[0].item.name", row(func(r *CaseItem) { r.Item.Name = "\xff" })},
		{"cases[0].items[0].item.value", row(func(r *CaseItem) { r.Item.Value = -5 })},
		{"cases[0].items[0].weapon_category", row(func(r *CaseItem) { r.WeaponCategory = longText })},
		{"cases[0].items[0].exterior", row(func(r *CaseItem) { r.Exterior = longText })},
		{"cases[0].items[0].first", row(func(r *CaseItem) { r.First = 0 })},
		{"cases[0].items[0].first", row(func(r *CaseItem) { r.First = MaxRoll + 1 })},
		{"cases[0].items[0].last", row(func(r *CaseItem) { r.First, r.Last = 5_000_000, 4_999_999 })},
		{"cases[0].items[0].last", row(func(r *CaseItem) { r.Last = MaxRoll + 1 })},
		{"cases[0].items[0].drop_chance", row(func(r *CaseItem) { r.DropChance = "51" })},
		{"cases[0].items: ", row(func(r *CaseItem) { r.First, r.DropChance = 2, "" })},                     // roll 1 wins nothing
		{"cases[0].items: ", row(func(r *CaseItem) { r.Last, r.DropChance = 4_999_999, "" })},              // a gap
		{"cases[0].items: ", row(func(r *CaseItem) { r.Last, r.DropChance = 5_000_001, "" })},              // an overlap
		{"cases[1].items: ", func(c *Config) { c.Cases[1].Items[1].Row = "row-a" }},                        // a row twice
		{"cases[1].items: ", func(c *Config) { c.Cases[1].Items[3].Last = MaxRoll - 1 }},                   // the last roll wins nothing
		{"cases[1].items: ", func(c *Config) { c.Cases[1].Items = c.Cases[1].Items[:3] }},                  // nor do many
		{"cases[1].items: ", func(c *Config) { c.Cases[1].Items[1] = c.Cases[1].Items[0] }},                // both
		{"cases[0].items: ", row(func(r *CaseItem) { r.First, r.Last, r.DropChance = 1, 1, "" })},          // a gap
		{"cases[0].items: ", row(func(r *CaseItem) { r.Last, r.DropChance = MaxRoll, "" })},                // overlaps all
		{"cases[0].items: ", func(c *Config) { c.Cases[0].Items = slices.Delete(c.Cases[0].Items, 1, 2) }}, // a gap
	} {
		cfg := fullConfig()
		c.edit(&cfg)
		err := cfg.Validate()
		require.ErrorIs(t, err, ErrConfig, c.path)
		require.ErrorContains(t, err, "battle: bad config: "+c.path)
		_, err = New(cfg)
		require.ErrorIs(t, err, ErrConfig)
	}
	require.NoError(t, fullConfig().Validate())
}

func TestConfigNamesTheRowAtFault(t *testing.T) {
	cfg := testConfig()
	cfg.Cases[1].Items[2].First++
	require.ErrorContains(t, cfg.Validate(), "row-c")
	require.ErrorContains(t, cfg.Validate(), "gap")
	cfg = testConfig()
	cfg.Cases[1].Items[2].First--
	require.ErrorContains(t, cfg.Validate(), "row-c")
	require.ErrorContains(t, cfg.Validate(), "overlap")
}

// TestBoundsOfConfig are values that are just allowed.
func TestBoundsOfConfig(t *testing.T) {
	for _, edit := range []func(*Config){
		func(c *Config) { c.ID = strings.Repeat("x", 40) },
		func(c *Config) { c.Layout = Layout{8, 4} },
		func(c *Config) { c.Expiry = 86_400_000 },
		func(c *Config) { c.Expiry = 1 },
		func(c *Config) { c.Timeline = Timeline{0, 0, 0, 0, 86_400_000} },
		func(c *Config) { c.Catalogue[0].ID = strings.Repeat("x", 100) },
		func(c *Config) { c.Catalogue[0].ID = strings.Repeat("x", 80) },
		func(c *Config) { c.Catalogue[0].Name = strings.Repeat("x", 1024) },
		func(c *Config) { c.Catalogue[0].Value = 0 },
		func(c *Config) { c.Catalogue[0].Value = 1_000_000_000_000_000 },
		func(c *Config) { c.Catalogue = nil },
		func(c *Config) { c.Beacon.Delay, c.Beacon.Timeout = 1, 1 },
		func(c *Config) { c.Beacon.Delay, c.Beacon.Timeout = 1000, 86_400_000 },
		func(c *Config) { c.Beacon.Drand.Genesis, c.Beacon.Drand.Period = 0, 1 },
		func(c *Config) { c.Beacon.Drand.Genesis, c.Beacon.Drand.Period = 253_402_300_799, 3600 },
		func(c *Config) { c.Payout = PoolCash },
		func(c *Config) { c.Catalogue = slices.Repeat(c.Catalogue, 10_000) },
		func(c *Config) {
			rows := make([]CaseItem, 10_000)
			for i := range rows {
				rows[i] = CaseItem{Row: fmt.Sprint(i), Item: Item{ID: "i"}, First: uint64(1000*i + 1), Last: uint64(1000*i + 1000)}
			}
			c.Cases[0].Items = rows
		},
		func(c *Config) { c.Cases[0].Price = 0 },
		func(c *Config) { c.Cases[0].Price = 1_000_000_000_000_000 },
		func(c *Config) { c.Cases[0].FlipThreshold = MaxRoll },
		func(c *Config) { c.Mode, c.Lowest = Shared, false },
		func(c *Config) { slices.Reverse(c.Cases[0].Items) }, // rows may stand in any order
	} {
		cfg := fullConfig()
		edit(&cfg)
		require.NoError(t, cfg.Validate())
	}
}

func TestDropChancesMustBeTrue(t *testing.T) {
	shows := func(first, last uint64, text string) bool {
		return CaseItem{First: first, Last: last}.shows(text)
	}
	for _, c := range []struct {
		first, last uint64
		text        string
		ok          bool
	}{
		{1, MaxRoll, "100", true},
		{1, MaxRoll, "100.000", true},
		{1, MaxRoll, "99", false},
		{1, MaxRoll, "100.00001", false},
		{1, 1, "0.00001", true},
		{1, 1, "0", true},
		{1, 1, "0.0000", true},
		{1, 1, "0.0001", false},
		{1, 3_333_333, "33.33333", true},
		{1, 3_333_333, "33.3333", true},
		{1, 3_333_333, "33", true},
		{1, 3_333_333, "33.3334", false},
		{1, 3_333_333, "34", false},
		{1, 50_000, "0.5", true},
		{1, 50_000, "0", true}, // half a unit rounds both ways
		{1, 50_000, "1", true},
		{1, 50_001, "0", false},
		{1, 2, "0.00002000000000000000", true},
		{1, 2, "0.000020000000000000000", false}, // 21 digits
		{1, 2, "", false},
		{1, 2, ".00002", false},
		{1, 2, "0.", false},
		{1, 2, "00.00002", false},
		{1, 2, "+0.00002", false},
		{1, 2, "-0", false},
		{1, 2, "2e-5", false},
		{1, 2, "0,00002", false},
		{1, 2, "0.00002%", false},
		{1, 2, "0.0.0", false},
		{1, 2, " 0", false},
		{1, 2, "1/50000", false},
		{1, MaxRoll, "0100", false},
		{1, MaxRoll, "1000", false},
	} {
		require.Equal(t, c.ok, shows(c.first, c.last, c.text), "%d..%d %q", c.first, c.last, c.text)
	}
}

func TestChanceIsTheRangesShareOfAllRolls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Uint64Range(1, MaxRoll).Draw(t, "first")
		last := rapid.Uint64Range(first, MaxRoll).Draw(t, "last")
		row := CaseItem{First: first, Last: last}
		shown, ok := new(big.Rat).SetString(row.Chance())
		require.True(t, ok)
		exact := big.NewRat(int64(last-first+1)*100, 10_000_000)
		require.Zero(t, shown.Cmp(exact), row.Chance())
		require.True(t, row.shows(row.Chance()))
		decimals := rapid.IntRange(0, 8).Draw(t, "decimals")
		require.True(t, row.shows(exact.FloatString(decimals)), "rounded to %d digits", decimals)
	})
}

func TestLayoutsParseAndPrint(t *testing.T) {
	names := map[string]string{
		"1v1": "ONE_VS_ONE", "2v2": "TWO_VS_TWO", "3v3": "THREE_VS_THREE", "4v4": "FOUR_VS_FOUR",
		"1v1v1": "ONE_VS_ONE_VS_ONE", "1v1v1v1": "ONE_VS_ONE_VS_ONE_VS_ONE",
	}
	seen := 0
	for teams := 2; teams <= 8; teams++ {
		for size := 1; size <= 4; size++ {
			want := Layout{teams, size}
			text := strings.TrimSuffix(strings.Repeat(fmt.Sprintf("%dv", size), teams), "v")
			got, err := ParseLayout(text)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, text, got.String())
			require.Equal(t, teams*size, got.Seats())
			for team := 1; team <= teams; team++ {
				for slot := range size {
					require.Equal(t, team, got.Team(got.Seat(team, slot)))
				}
			}
			require.Equal(t, teams*size-1, got.Seat(teams, size-1))
			name := text
			if source, ok := names[text]; ok {
				name = source
				got, err := ParseLayout(name)
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			require.Equal(t, name, got.SourceName())
			b, err := got.MarshalText()
			require.NoError(t, err)
			require.Equal(t, text, string(b))
			seen++
		}
	}
	require.Equal(t, 28, seen)
	for _, junk := range []string{
		"", "v", "1", "1v", "v1", "1v2", "0v0", "5v5", "1v1 ", "1V1", "one_vs_one", "ONE_VS_TWO", "1vv1", "1v1v1v1v1v1v1v1v1", "10v10", "²v²",
	} {
		_, err := ParseLayout(junk)
		require.ErrorContains(t, err, "unknown layout", junk)
		l := Layout{2, 2}
		require.Error(t, l.UnmarshalText([]byte(junk)))
	}
	for _, l := range []Layout{{}, {1, 1}, {9, 1}, {2, 0}, {2, 5}, {-1, -1}} {
		require.Equal(t, "invalid", l.String())
		require.Equal(t, "invalid", l.SourceName())
		_, err := l.MarshalText()
		require.Error(t, err)
	}
}

func TestEnumsReadWhatTheyWrite(t *testing.T) {
	enum[Mode](t, "mode", "normal", "shared", "terminal", "jackpot", "points")
	enum[Payout](t, "payout", "pool", "pool_cash", "exact_cash", "whole_items")
	enum[Ties](t, "ties", "split_all", "split_tied", "extra_roll", "refund")
	enum[Status](t, "status", "waiting", "in_progress", "finished", "cancelled")
	enum[Phase](t, "phase", "awaiting_beacon", "countdown", "round_starting", "spinning", "round_complete", "finished")
}

func enum[T interface {
	~uint8
	fmt.Stringer
	MarshalText() ([]byte, error)
}](t *testing.T, what string, names ...string) {
	read := func(text string) (T, error) {
		var v T
		err := any(&v).(interface{ UnmarshalText([]byte) error }).UnmarshalText([]byte(text))
		return v, err
	}
	for i, name := range names {
		v, err := read(name)
		require.NoError(t, err)
		require.EqualValues(t, i+1, v)
		require.Equal(t, name, v.String())
		b, err := v.MarshalText()
		require.NoError(t, err)
		require.Equal(t, name, string(b))
	}
	for _, junk := range []string{"", "Normal", "none", names[0] + " "} {
		_, err := read(junk)
		require.ErrorContains(t, err, what+": ")
	}
	for _, v := range []T{0, T(len(names) + 1), 255} {
		require.Equal(t, fmt.Sprintf("invalid(%d)", v), v.String())
		_, err := v.MarshalText()
		require.Error(t, err)
	}
}

func TestDefaults(t *testing.T) {
	got := testConfig(withBeacon).WithDefaults()
	require.Equal(t, Pool, got.Payout)
	require.Equal(t, SplitAll, got.Ties)
	require.EqualValues(t, 1_800_000, got.Expiry)
	require.Equal(t, Timeline{3000, 500, 8550, 22050, 1000}, got.Timeline)
	require.EqualValues(t, 2, got.Beacon.Delay)
	require.EqualValues(t, 600_000, got.Beacon.Timeout)

	original := testConfig(withBeacon)
	original.WithDefaults()
	require.Zero(t, original.Beacon.Delay, "WithDefaults writes into the caller's config")

	full := fullConfig()
	require.Equal(t, full, full.WithDefaults(), "what is set stays")
	full.Compat.SourceTimeline = true
	require.Equal(t, Timeline{1, 0, 3, 4, 0}, full.WithDefaults().Timeline)
	require.Equal(t, Timeline{3000, 0, 8550, 22050, 0}, testConfig(func(c *Config) { c.Compat.SourceTimeline = true }).WithDefaults().Timeline)
}

// TestDefaultsOfDefaultsAreTheSame: a config is stored with its defaults and gets them again when it is read.
func TestDefaultsOfDefaultsAreTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := func(label string) int64 { return rapid.SampledFrom([]int64{0, 0, 0, 7}).Draw(t, label) }
		cfg := testConfig()
		cfg.Timeline = Timeline{ms("countdown"), ms("starting"), ms("spinning"), ms("flip"), ms("complete")}
		cfg.Compat.SourceTimeline = rapid.Bool().Draw(t, "source timeline")
		if rapid.Bool().Draw(t, "beacon") {
			cfg.Beacon = &BeaconRule{Drand: drandOfTests()}
		}
		once := cfg.WithDefaults()
		require.Equal(t, once, once.WithDefaults())
	})
}

func TestHashIsOfTheCanonicalJSON(t *testing.T) {
	cfg := testConfig()
	b, err := wire.Marshal(cfg.WithDefaults())
	require.NoError(t, err)
	want := sha256.Sum256(append([]byte("glasshouse/battle/config/1\n"), b...))
	got, err := cfg.Hash()
	require.NoError(t, err)
	require.Equal(t, hex.EncodeToString(want[:]), got.String())
	withDefaults, err := cfg.WithDefaults().Hash()
	require.NoError(t, err)
	require.Equal(t, got, withDefaults)
	empty, err := testConfig(func(c *Config) { c.Catalogue = []Item{} }).Hash()
	require.NoError(t, err)
	none, err := testConfig(func(c *Config) { c.Catalogue = nil }).Hash()
	require.NoError(t, err)
	require.Equal(t, none, empty)
	_, err = Config{}.Hash()
	require.Error(t, err, "a config without a layout has no bytes")
}

// TestHashDependsOnEveryField changes each leaf of a full config in turn and wants a hash that no other change gave.
func TestHashDependsOnEveryField(t *testing.T) {
	hashes := map[fair.Digest]string{}
	note := func(path string, cfg Config) {
		h, err := cfg.Hash()
		require.NoError(t, err, path)
		require.NotContains(t, hashes, h, "%s changes nothing that %s does not", path, hashes[h])
		hashes[h] = path
	}
	note("nothing", fullConfig())
	for i := range leaves(reflect.ValueOf(new(fullConfigHolder)), nil) {
		holder := &fullConfigHolder{C: fullConfig()}
		path := ""
		changeLeaf(t, leaves(reflect.ValueOf(holder), nil)[i], &path)
		note(fmt.Sprintf("leaf %d %s", i, path), holder.C)
	}
	require.Greater(t, len(hashes), 80)
	cfg := fullConfig()
	slices.Reverse(cfg.Cases)
	note("order of the cases", cfg)
	cfg = fullConfig()
	slices.Reverse(cfg.Cases[0].Items)
	note("order of the rows", cfg)
	cfg = fullConfig()
	cfg.Beacon = nil
	note("no beacon", cfg)
}

type fullConfigHolder struct{ C Config }

// leaf is one value in a config, and how to get at it.
type leaf struct {
	path string
	v    reflect.Value
}

// leaves lists the values of a config; an empty holder is filled first.
func leaves(v reflect.Value, out []leaf) []leaf {
	if h, ok := v.Interface().(*fullConfigHolder); ok {
		if h.C.ID == "" {
			h.C = fullConfig()
		}
		return walk("config", v.Elem().Field(0), out)
	}
	return out
}

func walk(path string, v reflect.Value, out []leaf) []leaf {
	switch v.Kind() {
	case reflect.Pointer:
		return walk(path, v.Elem(), out)
	case reflect.Slice:
		for i := range v.Len() {
			out = walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i), out)
		}
		return out
	case reflect.Struct:
		for i := range v.NumField() {
			out = walk(path+"."+v.Type().Field(i).Name, v.Field(i), out)
		}
		return out
	}
	return append(out, leaf{path, v})
}

func changeLeaf(t *testing.T, l leaf, path *string) {
	t.Helper()
	*path = l.path
	switch v := l.v; v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Array: // a digest
		v.Index(31).SetUint(9)
	default:
		t.Fatalf("%s is a %s: teach the test", l.path, v.Kind())
	}
}

// TestCloneSharesNothing changes each leaf of the clone, and the original stays.
func TestCloneSharesNothing(t *testing.T) {
	original := fullConfig()
	holder := &fullConfigHolder{C: original.Clone()}
	require.Equal(t, original, holder.C)
	for _, l := range leaves(reflect.ValueOf(holder), nil) {
		changeLeaf(t, l, new(string))
	}
	require.Equal(t, fullConfig(), original)

	s, err := New(original)
	require.NoError(t, err)
	original.Cases[0].Items[0].Item.Value, original.Catalogue[0].Value, original.Beacon.Delay = 99, 99, 99
	require.Equal(t, fullConfig(), s.Config(), "New keeps the caller's config")
	mine := s.Config()
	mine.Cases[0].Items[0].Item.Value = 99
	require.Equal(t, fullConfig(), s.Config(), "Config gives its own away")
}

func TestEntryIsThePriceOfAllRounds(t *testing.T) {
	cfg := testConfig(func(c *Config) { c.Cases[1].Price = 23 })
	require.EqualValues(t, 123, cfg.Entry())
	require.Zero(t, Config{}.Entry())
}

func TestPick(t *testing.T) {
	cases, err := Pick(shelf, []string{"case-1", "case-1"})
	require.NoError(t, err)
	require.Equal(t, []Case{testCase(), testCase()}, cases)
	cases[0].Items[0].Item.Value = 99
	require.Equal(t, testCase(), cases[1], "two picks share their items")
	_, err = Pick(shelf, []string{strings.Repeat("x", 5000)})
	require.ErrorIs(t, err, ErrCaseNotFound)
	require.Less(t, len(err.Error()), 100)
}

// Fuzz targets: nothing panics, and what can be read is written as something that reads the same.

func FuzzCommand(f *testing.F) {
	for _, cmd := range []Command{
		Create{},
		Join{2, "0A1B2C3D", "words"},
		Seed{"x"},
		AddBots{},
		AddBots{"y"},
		Leave{},
		Cancel{},
		Expire{"expiry"},
		Beacon{beaconOf(7)},
		Nonces{1, []int64{0, 1<<53 - 1}},
		Void{"why"},
	} {
		b, err := MarshalCommand(cmd)
		require.NoError(f, err)
		f.Add(b)
	}
	states := []*State{newGame(f, testConfig()).s, created(f, testConfig()).s, started(f, testConfig(withBeacon)).s, started(f, testConfig(legacy52)).s}
	f.Fuzz(func(t *testing.T, data []byte) {
		cmd, err := UnmarshalCommand(data)
		if err != nil {
			return
		}
		stable(t, cmd, MarshalCommand, UnmarshalCommand)
		for _, s := range states {
			for _, actor := range []string{"ana", "bob", system} {
				_, _, _ = s.Step(glasshouseInput(actor), cmd)
			}
		}
	})
}

// glasshouseInput is an input of a fuzz target.
func glasshouseInput(actor string) glasshouse.Input {
	return glasshouse.Input{Actor: actor, At: start, Draw: hostSecrets.For("fuzz")}
}

func FuzzEvent(f *testing.F) {
	for _, g := range []*game{finished(f, testConfig(legacy52, private)), finished(f, testConfig(withBeacon))} {
		for _, turn := range g.turns {
			for _, ev := range turn.Events {
				b, err := MarshalEvent(ev)
				require.NoError(f, err)
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ev, err := UnmarshalEvent(data)
		if err != nil {
			return
		}
		stable(t, ev, MarshalEvent, UnmarshalEvent)
	})
}

// stable checks that v reads back as it was written, and is written the same again.
func stable[T any](t *testing.T, v T, marshal func(T) ([]byte, error), unmarshal func([]byte) (T, error)) {
	b, err := marshal(v)
	if err != nil {
		return // an enum without a value can be read as a missing field, and not be written
	}
	back, err := unmarshal(b)
	require.NoError(t, err)
	again, err := marshal(back)
	require.NoError(t, err)
	require.Equal(t, string(b), string(again))
}

func FuzzRestore(f *testing.F) {
	cfg := testConfig()
	for _, g := range []*game{created(f, cfg), started(f, cfg), finished(f, cfg)} {
		f.Add(g.s.Snapshot())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Restore(cfg, data)
		if err != nil {
			return
		}
		require.Equal(t, string(data), string(s.Snapshot()))
		s.View("ana")
		_, _, _ = s.Step(glasshouseInput("bob"), Join{Team: 2})
		in := glasshouseInput(system)
		in.At = s.Deadline().At
		_, _, _ = s.Step(in, Expire{s.Deadline().Key})
	})
}

func FuzzVerify(f *testing.F) {
	honest := [][]byte{finished(f, testConfig()).record(), finished(f, testConfig(withBeacon)).record(), finished(f, testConfig(legacy52)).record()}
	for _, r := range honest {
		f.Add(r)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := Verify(data)
		if err != nil {
			require.ErrorIs(t, err, ErrRecord)
			return
		}
		_ = report.String()
	})
}

func FuzzConfig(f *testing.F) {
	for _, cfg := range []Config{testConfig(), fullConfig(), testConfig(withBeacon, private)} {
		b, err := wire.Marshal(cfg)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var cfg Config
		if wire.Unmarshal(data, &cfg) != nil {
			return
		}
		s, err := New(cfg)
		if err != nil {
			var r RuleError
			require.True(t, errors.As(err, &r), "%v", err)
			return
		}
		again := s.Config()
		require.Equal(t, again, again.WithDefaults())
		h1, err := cfg.Hash()
		require.NoError(t, err)
		var back Config
		require.NoError(t, wire.Unmarshal(s.setup.json, &back))
		h2, err := back.Hash()
		require.NoError(t, err)
		require.Equal(t, h1, h2)
	})
}

func FuzzParseLayout(f *testing.F) {
	f.Add("1v1")
	f.Add("ONE_VS_ONE")
	f.Add("2v2v2v2")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLayout(text)
		if err != nil {
			return
		}
		require.Contains(t, []string{l.String(), l.SourceName()}, text)
	})
}
