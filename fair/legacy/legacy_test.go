package legacy_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/glasshouse-go/glasshouse/fair"
	"github.com/glasshouse-go/glasshouse/fair/legacy"
)

type vectors struct {
	Rolls []struct {
		Note, ServerSeed, ClientSeed, Nonce, NonceText, Max, HMAC, Prefix52, Roll, MessageHex, KeyHex string
		Retried                                                                                       bool
	}
	Hashes []struct{ Note, ServerSeed, ServerSeedHash, PlainSha256 string }
}

func load(t *testing.T) vectors {
	t.Helper()
	data, err := os.ReadFile("testdata/fair_seed.json")
	require.NoError(t, err)
	var v vectors
	require.NoError(t, json.Unmarshal(data, &v))
	require.Len(t, v.Rolls, 25)
	require.Len(t, v.Hashes, 8)
	return v
}

func TestEveryRollOfTheSourceIsReproduced(t *testing.T) {
	for _, v := range load(t).Rolls {
		t.Run(v.Note, func(t *testing.T) {
			require.Equal(t, v.KeyHex, hex.EncodeToString([]byte(v.ServerSeed)), "key is the text's UTF-8")
			require.Equal(t, v.MessageHex, hex.EncodeToString([]byte(v.ClientSeed+":"+v.NonceText)))
			max, err := strconv.ParseUint(v.Max, 10, 64)
			require.NoError(t, err)
			nonce, nonceErr := strconv.ParseInt(v.Nonce, 10, 64)
			if v.Retried {
				// Only max = 2^53 takes the original's retry; it is refused.
				_, err := legacy.Roll52Text(v.ServerSeed, v.ClientSeed, v.NonceText, max)
				require.ErrorIs(t, err, legacy.ErrMax)
				_, err = legacy.Roll52(v.ServerSeed, v.ClientSeed, nonce, max)
				require.ErrorIs(t, err, legacy.ErrMax)
				return
			}
			got, err := legacy.Roll52Text(v.ServerSeed, v.ClientSeed, v.NonceText, max)
			require.NoError(t, err)
			require.Equal(t, v.Roll, strconv.FormatUint(got, 10))
			if nonceErr != nil {
				require.Equal(t, "1e+21", v.NonceText)
				return
			}
			got, err = legacy.Roll52(v.ServerSeed, v.ClientSeed, nonce, max)
			require.NoError(t, err)
			require.Equal(t, v.Roll, strconv.FormatUint(got, 10))
		})
	}
}

func TestEveryHashOfTheSourceIsReproduced(t *testing.T) {
	for _, v := range load(t).Hashes {
		t.Run(v.Note, func(t *testing.T) {
			require.Equal(t, v.ServerSeedHash, legacy.Commit52(v.ServerSeed).String())
			require.NotEqual(t, v.PlainSha256, legacy.Commit52(v.ServerSeed).String(), "it is an HMAC, not a plain hash")
		})
	}
}

func TestRollEqualsTheStandardHMACForTextsOfAnyLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		server := strings.Repeat("s", rapid.SampledFrom([]int{0, 1, 63, 64, 65, 128, 191, 192, 193, 300}).Draw(t, "server"))
		client := strings.Repeat("c", rapid.IntRange(0, 300).Draw(t, "client"))
		nonce := rapid.Int64().Draw(t, "nonce")
		max := rapid.Uint64Range(1, legacy.MaxRoll52).Draw(t, "max")
		h := hmac.New(sha256.New, []byte(server))
		fmt.Fprintf(h, "%s:%d", client, nonce)
		prefix, _ := new(big.Int).SetString(hex.EncodeToString(h.Sum(nil))[:13], 16)
		want := prefix.Mod(prefix, new(big.Int).SetUint64(max)).Uint64() + 1
		got, err := legacy.Roll52(server, client, nonce, max)
		if err != nil || got != want {
			t.Fatalf("got %d, %v; want %d", got, err, want)
		}
		if got, err = legacy.Roll52Text(server, client, strconv.FormatInt(nonce, 10), max); err != nil || got != want {
			t.Fatalf("text nonce: got %d, %v; want %d", got, err, want)
		}
		h = hmac.New(sha256.New, []byte(server))
		if want := hex.EncodeToString(h.Sum(nil)); legacy.Commit52(server).String() != want {
			t.Fatalf("commitment %v, want %s", legacy.Commit52(server), want)
		}
	})
}

func TestMaxOutsideTheSafeIntegersIsRefused(t *testing.T) {
	for _, max := range []uint64{0, 1 << 53, 1<<64 - 1} {
		_, err := legacy.Roll52("s", "c", 0, max)
		require.ErrorIs(t, err, legacy.ErrMax)
		require.ErrorContains(t, err, strconv.FormatUint(max, 10))
		_, err = legacy.Roll52Text("s", "c", "0", max)
		require.ErrorIs(t, err, legacy.ErrMax)
	}
	for _, max := range []uint64{1, 1<<53 - 1} {
		_, err := legacy.Roll52("s", "c", 0, max)
		require.NoError(t, err)
	}
}

func TestRollAndCommitmentDoNotAllocate(t *testing.T) {
	seed, client := strings.Repeat("a", 64), strings.Repeat("b", 45)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := legacy.Roll52(seed, client, 1<<62, 10_000_000); err != nil {
			panic(err)
		}
		legacy.Commit52(seed)
	}))
}

// The row of the first vector; its flip fields are what the source stores.
func row() legacy.Row52 {
	return legacy.Row52{
		ServerSeed:     "3c9c71aa9ffa2691d29fd754cb0caf8ce1fa87d57804196967de81088fab1d23",
		ServerSeedHash: "b49cfec15f51b429a8c9f17d7c30abb823cdff4c44b176cb024c4adb8f33223b",
		ClientSeed:     "173568960000000112233445566778899aabbccddeeff",
		Nonce:          0, Roll: 2784146, ItemID: "b",
	}
}

func flipRow() legacy.Row52 {
	r := row()
	server, client, nonce, roll := r.ServerSeed+"_flip", r.ClientSeed, int64(1), uint64(2784146)
	r.IsFlip, r.FlipServerSeed, r.FlipClientSeed, r.FlipNonce, r.FlipRoll = true, &server, &client, &nonce, &roll
	return r
}

func table(threshold uint64) *legacy.Table52 {
	t := &legacy.Table52{Max: 10_000_000, Items: []legacy.Item52{
		{ID: "a", First: 1, Last: 2784145}, {ID: "b", First: 2784146, Last: 2784146}, {ID: "c", First: 2784147, Last: 10_000_000},
	}}
	if threshold > 0 {
		t.FlipThreshold = &threshold
	}
	return t
}

func failed(r fair.Report) []string {
	names := []string{}
	for _, f := range r.Failed() {
		names = append(names, f.Name)
	}
	return names
}

func TestRowsAreJudgedByNamedFindings(t *testing.T) {
	edit := func(r legacy.Row52, f func(*legacy.Row52)) legacy.Row52 { f(&r); return r }
	other, n, roll := "x", int64(7), uint64(5664622)
	for name, c := range map[string]struct {
		rec      legacy.Record52
		failed   []string
		findings int
	}{
		"plain":                  {legacy.Record52{Row: row()}, nil, 3},
		"with a table":           {legacy.Record52{Row: row(), Table: table(0)}, nil, 4},
		"flip":                   {legacy.Record52{Row: flipRow()}, nil, 3},
		"flip at the threshold":  {legacy.Record52{Row: flipRow(), Table: table(2784146)}, nil, 4},
		"below the threshold":    {legacy.Record52{Row: row(), Table: table(2784147)}, nil, 4},
		"no flip item covers":    {legacy.Record52{Row: edit(row(), func(r *legacy.Row52) { r.ItemID = "a" }), Table: &legacy.Table52{Max: 10_000_000, FlipThreshold: new(uint64(2)), Items: []legacy.Item52{{ID: "a", First: 1, Last: 9_000_000}, {ID: "z", First: 9_000_001, Last: 10_000_000}}}}, nil, 4},
		"hash":                   {legacy.Record52{Row: edit(row(), func(r *legacy.Row52) { r.ServerSeedHash = strings.ToUpper(r.ServerSeedHash) })}, []string{"commitment_matches"}, 3},
		"roll":                   {legacy.Record52{Row: edit(row(), func(r *legacy.Row52) { r.Roll++ })}, []string{"roll_matches"}, 3},
		"nonce":                  {legacy.Record52{Row: edit(row(), func(r *legacy.Row52) { r.Nonce++ })}, []string{"roll_matches"}, 3},
		"client seed":            {legacy.Record52{Row: edit(row(), func(r *legacy.Row52) { r.ClientSeed = "x" })}, []string{"roll_matches"}, 3},
		"item":                   {legacy.Record52{Row: edit(row(), func(r *legacy.Row52) { r.ItemID = "a" }), Table: table(0)}, []string{"item_in_range"}, 4},
		"item without a range":   {legacy.Record52{Row: row(), Table: &legacy.Table52{Max: 10_000_000}}, []string{"item_in_range"}, 4},
		"another max":            {legacy.Record52{Row: edit(row(), func(r *legacy.Row52) { r.ItemID = "" }), Table: &legacy.Table52{Max: 100}}, []string{"roll_matches"}, 3},
		"flip below threshold":   {legacy.Record52{Row: flipRow(), Table: table(2784147)}, []string{"flip_consistent"}, 4},
		"flip without threshold": {legacy.Record52{Row: flipRow(), Table: table(0)}, []string{"flip_consistent"}, 4},
		"flip not taken":         {legacy.Record52{Row: row(), Table: table(1)}, []string{"flip_consistent"}, 4},
		"flip server seed":       {legacy.Record52{Row: edit(flipRow(), func(r *legacy.Row52) { r.FlipServerSeed = &other })}, []string{"flip_consistent"}, 3},
		"flip client seed":       {legacy.Record52{Row: edit(flipRow(), func(r *legacy.Row52) { r.FlipClientSeed = &other })}, []string{"flip_consistent"}, 3},
		"flip nonce":             {legacy.Record52{Row: edit(flipRow(), func(r *legacy.Row52) { r.FlipNonce = &n })}, []string{"flip_consistent"}, 3},
		"flip re-rolled":         {legacy.Record52{Row: edit(flipRow(), func(r *legacy.Row52) { r.FlipRoll = &roll })}, []string{"flip_consistent"}, 3},
		"flip fields missing":    {legacy.Record52{Row: edit(row(), func(r *legacy.Row52) { r.IsFlip = true })}, []string{"flip_consistent"}, 3},
		"flip fields left over":  {legacy.Record52{Row: edit(flipRow(), func(r *legacy.Row52) { r.IsFlip = false })}, []string{"flip_consistent"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			rep, err := c.rec.Verify()
			require.NoError(t, err)
			if c.failed == nil {
				c.failed = []string{}
			}
			require.Equal(t, c.failed, failed(rep), "%v", rep)
			require.Len(t, rep.Findings, c.findings)
			require.Equal(t, len(c.failed) == 0, rep.OK())
			text := strings.Join(rep.NotProven, "\n")
			require.Contains(t, text, "the original publishes none")
			require.Equal(t, c.rec.Row.IsFlip, strings.Contains(text, "not applicable"))
			require.Equal(t, c.rec.Table == nil, strings.Contains(text, "the case's ranges are not in the record"))
			require.Equal(t, c.rec.Table == nil && c.rec.Row.IsFlip, strings.Contains(text, "threshold"))
			require.Equal(t, c.rec.Table != nil && c.rec.Row.ItemID == "", strings.Contains(text, "names none"))
		})
	}
}

func TestDocumentedFlipReCheckDoesNotGiveTheStoredRoll(t *testing.T) {
	r := flipRow()
	got, err := legacy.Roll52(*r.FlipServerSeed, *r.FlipClientSeed, *r.FlipNonce, legacy.Default52)
	require.NoError(t, err)
	require.EqualValues(t, 5664622, got)
	require.NotEqual(t, *r.FlipRoll, got)
}

func TestTheFirstItemInOrderWinsWhereRangesOverlap(t *testing.T) {
	threshold := uint64(5)
	tab := legacy.Table52{Max: 10, FlipThreshold: &threshold, Items: []legacy.Item52{
		{"wide", 1, 10}, {"low", 1, 4}, {"high", 5, 9}, {"higher", 6, 9},
	}}
	for roll, want := range map[uint64]string{1: "wide", 4: "wide", 5: "high", 9: "high", 10: "wide"} {
		it, flip, ok := tab.Select(roll)
		require.True(t, ok)
		require.Equal(t, want, it.ID, "roll %d", roll)
		require.Equal(t, want == "high", flip)
	}
	for _, roll := range []uint64{0, 11} {
		_, _, ok := tab.Select(roll)
		require.False(t, ok)
	}
}

func TestUnknownSchemesFailClosed(t *testing.T) {
	require.Equal(t, []string{"legacy/52"}, legacy.Schemes())
	for _, id := range []string{"", "legacy/52 ", "LEGACY/52", "fair/v2", "legacy/53"} {
		rep, err := legacy.Verify(id, []byte(`{}`))
		require.ErrorIs(t, err, legacy.ErrUnknownScheme)
		require.False(t, rep.OK())
	}
}

func TestVerifyDecodesStrictly(t *testing.T) {
	good, err := json.Marshal(legacy.Record52{Row: flipRow(), Table: table(2784146)})
	require.NoError(t, err)
	rep, err := legacy.Verify(legacy.Scheme52, good)
	require.NoError(t, err)
	require.True(t, rep.OK(), "%v", rep)
	for _, bad := range []string{
		``, `{"row":`, `{"row":{"Roll":1}}`, `{"row":{"roll":1,"roll":2}}`, `{"row":{"extra":1}}`, string(good) + `{}`,
	} {
		_, err := legacy.Verify(legacy.Scheme52, []byte(bad))
		require.ErrorIs(t, err, legacy.ErrRecord, bad)
	}
	_, err = legacy.Verify(legacy.Scheme52, []byte(`{"row":{"serverSeed":"s"},"table":{"max":0,"items":[]}}`))
	require.ErrorIs(t, err, legacy.ErrMax)
}

func FuzzVerifyNeverPanics(f *testing.F) {
	good, _ := json.Marshal(legacy.Record52{Row: flipRow(), Table: table(2784146)})
	f.Add("legacy/52", good)
	f.Add("legacy/52", []byte(`{"row":{},"table":null}`))
	f.Fuzz(func(t *testing.T, scheme string, data []byte) {
		rep, err := legacy.Verify(scheme, data)
		if err != nil && len(rep.Findings) > 0 {
			t.Fatal("findings beside an error")
		}
		if err == nil && len(rep.Findings) < 3 {
			t.Fatalf("no error and %d findings", len(rep.Findings))
		}
	})
}

func ExampleRoll52() {
	roll, err := legacy.Roll52(
		"3c9c71aa9ffa2691d29fd754cb0caf8ce1fa87d57804196967de81088fab1d23",
		"173568960000000112233445566778899aabbccddeeff", 0, legacy.Default52)
	fmt.Println(roll, err)
	// Output: 2784146 <nil>
}

func ExampleRecord52_Verify() {
	rep, err := legacy.Record52{Row: row()}.Verify()
	if err != nil {
		panic(err)
	}
	fmt.Println(rep.OK(), len(rep.Findings), "findings")
	fmt.Println(rep.NotProven[1])
	// Output:
	// true 3 findings
	// that the hash was shown to anybody before the roll: the original publishes none
}
