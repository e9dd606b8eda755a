package fair_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/glasshouse-go/glasshouse/fair"
)

var update = flag.Bool("update", false, "write testdata/vectors anew from the plain implementation")

// script is a list of injected words.
type script struct {
	words []uint64
	used  int
}

func (s *script) Uint64() uint64 { s.used++; return s.words[s.used-1] }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func number(s string) uint64 { return must(strconv.ParseUint(s, 10, 64)) }

func unhex(s string) []byte { return must(hex.DecodeString(s)) }

func digest(s string) fair.Digest {
	if s == "" {
		return fair.Digest{}
	}
	return must(fair.ParseDigest(s))
}

func digests(list []string) (out []fair.Digest) {
	for _, s := range list {
		out = append(out, digest(s))
	}
	return out
}

func (t vTable) fair() (*fair.Table[string], error) {
	if t.Max == "" {
		var entries []fair.Entry[string]
		for _, e := range t.Entries {
			entries = append(entries, fair.Entry[string]{ID: e.ID, Weight: number(e.Weight), Item: "item " + e.ID})
		}
		return fair.NewTable(entries...)
	}
	var spans []fair.Span[string]
	for _, s := range t.Spans {
		spans = append(spans, fair.Span[string]{ID: s.ID, First: number(s.First), Last: number(s.Last), Item: "item " + s.ID})
	}
	return fair.NewRangeTable(number(t.Max), spans...)
}

func (b *vBeacon) fair() *fair.Beacon {
	if b == nil {
		return nil
	}
	return &fair.Beacon{Round: number(b.Round), Randomness: digest(b.Randomness), Signature: unhex(b.Signature)}
}

func (in vIn) contributions() (out []fair.Contribution) {
	for _, c := range in.Contributions {
		out = append(out, fair.Contribution{Player: c.Player, Operator: c.Operator, Seed: unhex(c.Seed)})
	}
	return out
}

func (in vIn) terms() fair.Terms {
	return fair.Terms{Kind: in.Kind, Session: in.Session, ConfigHash: digest(in.ConfigHash), Tables: digests(in.Tables)}
}

func word(w uint64) string { return fmt.Sprintf("%016x", w) }

// keyOf finds the key of a root among the expected ones: package fair does not
// show it.
func keyOf(r *fair.Root, want vOut) string {
	if key, ok := want["root"].(string); ok && fair.RootIs(r, [32]byte(unhex(key))) {
		return key
	}
	return "another root"
}

// fairRun does what plainRun does, with package fair.
func fairRun(op string, in vIn, want vOut) (vOut, error) {
	w := &script{}
	for _, s := range in.Words {
		w.words = append(w.words, must(strconv.ParseUint(s, 16, 64)))
	}
	switch op {
	case "commit":
		seed, err := fair.ParseSeed(in.Seed)
		if err != nil {
			return nil, err
		}
		c, err := seed.Commit(in.Session)
		return vOut{"commitment": c}, err
	case "table", "pick", "at":
		t, err := in.fair()
		if err != nil {
			return nil, err
		}
		if op == "table" {
			return vOut{"hash": t.Hash(), "total": strconv.FormatUint(t.Total(), 10)}, nil
		}
		if op == "pick" {
			i := t.Pick(w)
			if t.Item(i) != "item "+t.ID(i) {
				return nil, errors.New("items and ids are not in the same order")
			}
			return vOut{"id": t.ID(i), "used": w.used}, nil
		}
		ids := []string{}
		for _, r := range in.Rolls {
			id := ""
			if i := t.At(number(r)); i >= 0 {
				id = t.ID(i)
			}
			ids = append(ids, id)
		}
		return vOut{"ids": ids}, nil
	case "transcript", "freeze":
		t := fair.Transcript{
			Kind: in.Kind, Session: in.Session, Commitment: digest(in.Commitment), ConfigHash: digest(in.ConfigHash),
			Tables: digests(in.Tables), Contributions: in.contributions(),
		}
		if op == "transcript" {
			b, err := t.Bytes()
			return vOut{"bytes": hex.EncodeToString(b)}, err
		}
		var d fair.Descriptor
		if err := d.UnmarshalText([]byte(in.Descriptor)); err != nil {
			return nil, err
		}
		f, err := t.Freeze(d, number(in.Target))
		if err != nil {
			return nil, err
		}
		return vOut{"freeze": f, "descriptor_bytes": hex.EncodeToString(must(d.Bytes()))}, nil
	case "root":
		seed, err := fair.ParseSeed(in.Seed)
		if err != nil {
			return nil, err
		}
		var d fair.Descriptor
		if err := d.UnmarshalText([]byte(in.Descriptor)); err != nil {
			return nil, err
		}
		r, err := fair.NewRoot(seed, digest(in.Freeze), d, number(in.Target), in.Beacon.fair())
		if err != nil {
			return nil, err
		}
		return vOut{"root": keyOf(r, want)}, nil
	case "stream":
		s := fair.RootFromKey([32]byte(unhex(in.Root))).Stream(in.Label, number(in.I), number(in.J))
		words := []string{}
		for range number(in.Count) {
			words = append(words, word(s.Uint64()))
		}
		return vOut{"words": words}, nil
	case "uniform":
		v := fair.Uniform(w, number(in.N))
		return vOut{"value": strconv.FormatUint(v, 10), "used": w.used}, nil
	case "perm":
		return vOut{"perm": fair.Perm(w, int(number(in.N))), "used": w.used}, nil
	case "sample":
		return vOut{"sample": fair.Sample(w, int(number(in.N)), int(number(in.K))), "used": w.used}, nil
	case "card":
		root := fair.RootFromKey([32]byte(unhex(in.Root)))
		c, err := fair.CommitCard(root, number(in.Deal), number(in.Pos), in.Card)
		return vOut{"salt": fair.OpenCard(root, number(in.Deal), number(in.Pos), in.Card).Salt, "commitment": c}, err
	case "open":
		o := fair.CardOpening{Pos: number(in.Pos), Card: in.Card, Salt: digest(in.Salt)}
		return vOut{"opens": true}, o.Check(digests(in.Published))
	case "drand":
		c := fair.Drand{Genesis: must(strconv.ParseInt(in.Genesis, 10, 64)), Period: must(strconv.ParseInt(in.Period, 10, 64))}
		due, err := c.TimeOf(number(in.Round))
		if err != nil {
			return nil, err
		}
		at := c.RoundAt(time.Unix(must(strconv.ParseInt(in.Unix, 10, 64)), 999_999_999))
		return vOut{"due": strconv.FormatInt(due.Unix(), 10), "round_at": strconv.FormatUint(at, 10)}, nil
	case "session":
		return fairSession(in, want)
	case "game":
		return fairGame(in, want)
	}
	return nil, fmt.Errorf("unknown op %q", op)
}

func fairSession(in vIn, want vOut) (vOut, error) {
	// Earlier epochs have other seeds: only their number counts.
	seedAt := func(e uint64) fair.ServerSeed {
		if e == number(in.Epoch) {
			return must(fair.ParseSeed(in.Seed))
		}
		return fair.ServerSeed{0: 1, 31: byte(e)}
	}
	s, err := fair.OpenSession(in.terms(), in.Player, seedAt(0))
	for e := uint64(1); err == nil && e <= number(in.Epoch); e++ {
		s, err = s.Rotate(in.terms(), seedAt(e))
	}
	if err != nil {
		return nil, err
	}
	if s, err = s.Begin(unhex(in.Client)); err != nil {
		return nil, err
	}
	l, words := s.Life(), []string{}
	for range number(in.Plays) {
		var p uint64
		if s, p, err = s.Play(); err != nil {
			return nil, err
		}
		words = append(words, word(l.Root().At("box", p, 0).Uint64()))
	}
	return vOut{"commitment": l.Commitment(), "freeze": l.FreezeDigest(), "root": keyOf(l.Root(), want), "words": words}, nil
}

func fairGame(in vIn, want vOut) (vOut, error) {
	seed, err := fair.ParseSeed(in.Seed)
	if err != nil {
		return nil, err
	}
	var d fair.Descriptor
	if err := d.UnmarshalText([]byte(in.Descriptor)); err != nil {
		return nil, err
	}
	l, err := fair.Commit(in.terms(), seed)
	if err == nil {
		l, err = l.Open()
	}
	var order []string
	for _, c := range in.contributions() {
		if order = append(order, c.Player); err == nil {
			l, err = l.Contribute(c)
		}
	}
	if err == nil {
		l, err = l.Freeze(order, d, number(in.Target))
	}
	if b := in.Beacon.fair(); err == nil && b != nil {
		l, err = l.Beacon(*b)
	}
	if err == nil {
		l, err = l.Resolve()
	}
	if err != nil {
		return nil, err
	}
	results := []any{}
	for _, draw := range in.Draws {
		w := l.Root().At(draw.Label, number(draw.I), number(draw.J))
		switch draw.Draw {
		case "roll":
			results = append(results, strconv.FormatUint(fair.Roll(w, number(draw.N)), 10))
		case "pick":
			t := must(draw.Table.fair())
			results = append(results, t.ID(t.Pick(w)))
		case "perm":
			results = append(results, fair.Perm(w, int(number(draw.N))))
		case "sample":
			results = append(results, fair.Sample(w, int(number(draw.N)), int(number(draw.K))))
		}
	}
	return vOut{"commitment": l.Commitment(), "freeze": l.FreezeDigest(), "root": keyOf(l.Root(), want), "results": results}, nil
}

func vectorFiles(t *testing.T) map[string][]vector {
	t.Helper()
	if *update {
		writeVectors(t)
	}
	paths, err := filepath.Glob("testdata/vectors/*.json")
	require.NoError(t, err)
	files, total := map[string][]vector{}, 0
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		var list []vector
		require.NoError(t, dec.Decode(&list), path)
		files[filepath.Base(path)] = list
		total += len(list)
	}
	require.GreaterOrEqual(t, total, 60)
	return files
}

func TestVectorsFollowFromTheSpecificationTwice(t *testing.T) {
	for file, list := range vectorFiles(t) {
		for _, v := range list {
			t.Run(file+"/"+v.Name, func(t *testing.T) {
				require.True(t, (v.Want == nil) != (v.Error == ""), "either want or error")
				plain, code := plainRun(v.Op, v.In)
				require.Equal(t, v.Error, code, "plain implementation")
				got, err := fairRun(v.Op, v.In, v.Want)
				if v.Error != "" {
					var e fair.Error
					require.ErrorAs(t, err, &e)
					require.Equal(t, v.Error, e.Code(), "%v", err)
					return
				}
				require.NoError(t, err)
				require.Equal(t, v.Want.text(), plain.text(), "plain implementation")
				require.Equal(t, v.Want.text(), got.text(), "package fair")
			})
		}
	}
}

func TestVectorsHoldInJavaScript(t *testing.T) {
	if testing.Short() {
		t.Skip("starts another program")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	out, err := exec.Command(node, "testdata/vectors.mjs").CombinedOutput()
	require.NoError(t, err, "%s", out)
	total := 0
	for _, list := range vectorFiles(t) {
		total += len(list)
	}
	require.Contains(t, string(out), fmt.Sprintf("%d vectors hold", total))
}

func TestEveryOperationOfTheSpecificationHasVectors(t *testing.T) {
	spec, err := os.ReadFile("SPEC.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(spec), "## 14. Vectors")
	ops := map[string]bool{}
	for _, list := range vectorFiles(t) {
		for _, v := range list {
			ops[v.Op] = true
		}
	}
	listed := 0
	for line := range strings.Lines(section) {
		if op, ok := strings.CutPrefix(line, "| `"); ok {
			op, _, _ = strings.Cut(op, "`")
			require.True(t, ops[op], "no vector of %q", op)
			listed++
		}
	}
	require.Len(t, ops, listed)
}

// The worked example is written into SPEC.md by hand; here each of its values
// is derived again.
func TestTheWorkedExampleOfTheSpecificationHolds(t *testing.T) {
	spec := string(must(os.ReadFile("SPEC.md")))
	for what, value := range workedExample() {
		require.Contains(t, spec, "`"+value+"`", what)
	}
}

func workedExample() map[string]string {
	in := vIn{
		Kind: "battle", Session: "b-1", Seed: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		ConfigHash: zero32, Descriptor: "none", Target: "0",
		Contributions: []vContribution{{"ana", false, "0102"}, {"bot:1", true, ""}},
	}
	table := vTable{Entries: []vEntry{{"knife", "1"}, {"pistol", "99"}}}
	ex := map[string]string{"COMMIT_PRE": commitPre(in.Session, in.Seed), "TABLE_PRE": table.plain().pre()}
	ex["C"], ex["HT"] = plainSHA(ex["COMMIT_PRE"]), plainSHA(ex["TABLE_PRE"])
	in.Commitment, in.Tables = ex["C"], []string{ex["HT"]}
	ex["T"] = transcriptBytes(in)
	ex["F"] = plainSHA(freezePre(in))
	in.Freeze = ex["F"]
	ex["ROOT_PRE"] = rootPre(in)
	ex["R"] = plainHMAC(in.Seed, ex["ROOT_PRE"])
	ex["BLOCK_PRE"] = blockPre("roll", "0", "1", 0)
	ex["BLOCK"] = plainHMAC(ex["R"], ex["BLOCK_PRE"])
	ex["WORD"] = ex["BLOCK"][:16]
	w := &plainWords{root: ex["R"], label: "roll", i: "0", j: "1"}
	r := w.uniform(num("100"))
	ex["ITEM"] = table.plain().at(r)
	ex["ROLL"] = r.Add(r, num("1")).String()
	return ex
}

func writeVectors(t *testing.T) {
	for file, list := range vectorCases() {
		names := []string{}
		for i, v := range list {
			require.NotContains(t, names, v.Name)
			names = append(names, v.Name)
			out, code := plainRun(v.Op, v.In)
			require.Equal(t, v.Error, code, v.Name)
			list[i].Want = out
		}
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		require.NoError(t, enc.Encode(list))
		require.NoError(t, os.MkdirAll("testdata/vectors", 0o755))
		require.NoError(t, os.WriteFile(filepath.Join("testdata/vectors", file), buf.Bytes(), 0o644))
	}
	spec := string(must(os.ReadFile("SPEC.md")))
	for what, value := range workedExample() {
		spec = strings.ReplaceAll(spec, "@@"+what+"@@", "`"+value+"`")
	}
	spec = strings.ReplaceAll(spec, "``", "`")
	require.NoError(t, os.WriteFile("SPEC.md", []byte(spec), 0o644))
}

var (
	seedA = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	seedB = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"
	hashA = strings.Repeat("a1", 32)
	hashB = strings.Repeat("0b", 32)
	quick = "drand/52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971"
	block = "block/10/6/monero/mainnet"
	long  = strings.Repeat("x", 129)
	most  = strings.Repeat("é", 64) // 128 bytes
	sigA  = strings.Repeat("5a", 48)
	ana   = vContribution{"ana", false, "0102"}
	bot   = vContribution{"bot:1", true, ""}
	full  = vContribution{"zé 🃏", false, strings.Repeat("ff", 64)}
)

// vectorCases is every vector without its result; errors are stated here.
func vectorCases() map[string][]vector {
	ok := func(name, op string, in vIn) vector { return vector{Name: name, Op: op, In: in} }
	bad := func(name, op string, in vIn, code string) vector {
		return vector{Name: name, Op: op, In: in, Error: code}
	}
	entries := func(list ...string) vTable {
		var t vTable
		for i := 0; i < len(list); i += 2 {
			t.Entries = append(t.Entries, vEntry{list[i], list[i+1]})
		}
		return t
	}
	spans := func(max string, list ...string) vTable {
		t := vTable{Max: max}
		for i := 0; i < len(list); i += 3 {
			t.Spans = append(t.Spans, vSpan{list[i], list[i+1], list[i+2]})
		}
		return t
	}
	tab := func(t vTable) vIn { return vIn{vTable: t} }
	with := func(in vIn, f func(*vIn)) vIn { f(&in); return in }

	max64 := "18446744073709551615"
	cases := entries("knife", "1", "pistol", "99")
	ranges := spans("10000000", "pistol", "1000001", "10000000", "knife", "1", "1000", "rifle", "1001", "1000000")

	commit := []vector{
		ok("short session", "commit", vIn{Session: "b-1", Seed: seedA}),
		ok("session of 128 bytes", "commit", vIn{Session: most, Seed: seedB}),
		ok("not normalised", "commit", vIn{Session: "e\u0301", Seed: seedA}),
		ok("composed", "commit", vIn{Session: "\u00e9", Seed: seedA}),
		bad("empty session", "commit", vIn{Seed: seedA}, "bad_text"),
		bad("session of 129 bytes", "commit", vIn{Session: long, Seed: seedA}, "bad_text"),
		bad("zero seed", "commit", vIn{Session: "b-1", Seed: zero32}, "bad_seed"),
		bad("upper-case seed", "commit", vIn{Session: "b-1", Seed: strings.ToUpper(seedB)}, "bad_seed"),
		bad("short seed", "commit", vIn{Session: "b-1", Seed: seedA[2:]}, "bad_seed"),
		bad("long seed", "commit", vIn{Session: "b-1", Seed: seedA + "00"}, "bad_seed"),
		bad("seed that is not hex", "commit", vIn{Session: "b-1", Seed: "g" + seedA[1:]}, "bad_seed"),
	}
	tables := []vector{
		ok("two weights", "table", tab(cases)),
		ok("one item", "table", tab(entries("only", "1"))),
		ok("zero weights inside", "table", tab(entries("a", "0", "b", "5", "c", "0"))),
		ok("total of 2^64-1", "table", tab(entries("a", "1", "b", "18446744073709551614"))),
		ok("ranges out of order", "table", tab(ranges)),
		ok("same as ranges in order", "table", tab(entries("knife", "1000", "rifle", "999000", "pistol", "9000000"))),
		ok("one roll each", "table", tab(spans("3", "c", "3", "3", "a", "1", "1", "b", "2", "2"))),
		ok("range up to 2^64-1", "table", tab(spans(max64, "all", "1", max64))),
		ok("pick first", "pick", with(tab(cases), func(v *vIn) { v.Words = []string{"0000000000000000"} })),
		ok("pick at a boundary", "pick", with(tab(cases), func(v *vIn) { v.Words = []string{"0000000000000001"} })),
		ok("pick last", "pick", with(tab(cases), func(v *vIn) { v.Words = []string{"0000000000000063"} })),
		ok("pick after rejection", "pick", with(tab(cases), func(v *vIn) { v.Words = []string{"fffffffffffffff0", "ffffffffffffffff", "0000000000000064"} })),
		ok("pick passes zero weights", "pick", with(tab(entries("a", "0", "b", "5", "c", "0", "d", "1")), func(v *vIn) { v.Words = []string{"0000000000000005"} })),
		ok("pick never the first of weight 0", "pick", with(tab(entries("a", "0", "b", "5")), func(v *vIn) { v.Words = []string{"0000000000000000"} })),
		ok("pick from ranges", "pick", with(tab(ranges), func(v *vIn) { v.Words = []string{word(10_000_000 + 999)} })),
		ok("rolls", "at", with(tab(ranges), func(v *vIn) {
			v.Rolls = []string{"0", "1", "1000", "1001", "1000000", "1000001", "10000000", "10000001", max64}
		})),
		bad("no items", "table", tab(vTable{}), "no_items"),
		bad("all weights zero", "table", tab(entries("a", "0", "b", "0")), "zero_total"),
		bad("total of 2^64", "table", tab(entries("a", "1", "b", max64)), "overflow"),
		bad("item twice", "table", tab(entries("a", "1", "b", "1", "a", "1")), "duplicate"),
		bad("item without a name", "table", tab(entries("", "1")), "bad_text"),
		bad("item with a long name", "table", tab(entries(long, "1")), "bad_text"),
		bad("max of 0", "table", tab(spans("0", "a", "1", "1")), "zero_total"),
		bad("ranges without items", "table", tab(spans("5")), "no_items"),
		bad("gap at the start", "table", tab(spans("5", "a", "2", "5")), "gap"),
		bad("gap in the middle", "table", tab(spans("5", "a", "1", "2", "b", "4", "5")), "gap"),
		bad("gap at the end", "table", tab(spans("5", "a", "1", "4")), "gap"),
		bad("overlap of one roll", "table", tab(spans("5", "a", "1", "3", "b", "3", "5")), "overlap"),
		bad("same range twice", "table", tab(spans("5", "a", "1", "5", "b", "1", "5")), "overlap"),
		bad("reversed range", "table", tab(spans("5", "a", "1", "3", "b", "5", "4")), "bad_range"),
		bad("range from 0", "table", tab(spans("5", "a", "0", "5")), "bad_range"),
		bad("range past max", "table", tab(spans("5", "a", "1", "6")), "bad_range"),
		bad("range item twice", "table", tab(spans("2", "a", "1", "1", "a", "2", "2")), "duplicate"),
	}
	base := vIn{Kind: "battle", Session: "b-1", Commitment: hashA, ConfigHash: hashB, Descriptor: "none", Target: "0"}
	many := with(base, func(v *vIn) {
		v.Tables, v.Contributions = []string{hashA, hashA, hashB}, []vContribution{ana, bot, full}
	})
	one := with(base, func(v *vIn) { v.Tables, v.Contributions = []string{hashB}, []vContribution{ana} })
	beacon := func(in vIn, d, target string) vIn { in.Descriptor, in.Target = d, target; return in }
	transcripts := []vector{
		ok("no tables and no contributions", "transcript", base),
		ok("one table and one contribution", "transcript", one),
		ok("many, seat order is not sorted", "transcript", many),
		ok("no config", "transcript", with(base, func(v *vIn) { v.ConfigHash = zero32 })),
		ok("operator flag counts", "transcript", with(one, func(v *vIn) { v.Contributions = []vContribution{{"ana", true, "0102"}} })),
		bad("empty kind", "transcript", with(base, func(v *vIn) { v.Kind = "" }), "bad_text"),
		bad("long kind", "transcript", with(base, func(v *vIn) { v.Kind = long }), "bad_text"),
		bad("empty session", "transcript", with(base, func(v *vIn) { v.Session = "" }), "bad_text"),
		bad("no commitment", "transcript", with(base, func(v *vIn) { v.Commitment = zero32 }), "bad_commitment"),
		bad("player without a name", "transcript", with(base, func(v *vIn) { v.Contributions = []vContribution{{"", false, ""}} }), "bad_text"),
		bad("player with a long name", "transcript", with(base, func(v *vIn) { v.Contributions = []vContribution{{long, false, ""}} }), "bad_text"),
		bad("contribution of 65 bytes", "transcript", with(base, func(v *vIn) { v.Contributions = []vContribution{{"ana", false, strings.Repeat("00", 65)}} }), "bad_contribution"),
		bad("player twice", "transcript", with(base, func(v *vIn) { v.Contributions = []vContribution{ana, bot, {"ana", true, ""}} }), "duplicate"),
		ok("freeze without a beacon", "freeze", one),
		ok("freeze with drand", "freeze", beacon(many, quick, "27798178")),
		ok("freeze with a block", "freeze", beacon(many, block, "3200000")),
		ok("freeze with the greatest numbers", "freeze", beacon(one, "block/"+max64+"/"+max64+"/x", max64)),
		ok("freeze with no confirmations", "freeze", beacon(one, "block/1/0/x", "1")),
		bad("target without a beacon", "freeze", beacon(one, "none", "1"), "bad_target"),
		bad("beacon without a target", "freeze", beacon(one, quick, "0"), "bad_target"),
		bad("unknown source", "freeze", beacon(one, "nist/1", "1"), "bad_descriptor"),
		bad("empty descriptor", "freeze", beacon(one, "", "1"), "bad_descriptor"),
		bad("none with more", "freeze", beacon(one, "none/", "1"), "bad_descriptor"),
		bad("drand without a hash", "freeze", beacon(one, "drand/", "1"), "bad_descriptor"),
		bad("drand in upper case", "freeze", beacon(one, "drand/"+strings.ToUpper(hashA), "1"), "bad_descriptor"),
		bad("block without delay", "freeze", beacon(one, "block/0/6/x", "1"), "bad_descriptor"),
		bad("block with a leading zero", "freeze", beacon(one, "block/010/6/x", "1"), "bad_descriptor"),
		bad("block with a sign", "freeze", beacon(one, "block/10/+6/x", "1"), "bad_descriptor"),
		bad("block past 2^64", "freeze", beacon(one, "block/18446744073709551616/6/x", "1"), "bad_descriptor"),
		bad("block without a chain", "freeze", beacon(one, "block/10/6/", "1"), "bad_descriptor"),
		bad("block with a long chain", "freeze", beacon(one, "block/10/6/"+long, "1"), "bad_descriptor"),
		bad("block with two parts", "freeze", beacon(one, "block/10/x", "1"), "bad_descriptor"),
	}
	root := vIn{Seed: seedA, Freeze: hashA, Descriptor: "none", Target: "0"}
	drandB := &vBeacon{"27798178", plainSHA(sigA), sigA}
	blockB := &vBeacon{"3200000", hashB, ""}
	beaconed := func(d, target string, b *vBeacon) vIn {
		return vIn{Seed: seedA, Freeze: hashA, Descriptor: d, Target: target, Beacon: b}
	}
	roots := []vector{
		ok("root without a beacon", "root", root),
		ok("root with drand", "root", beaconed(quick, "27798178", drandB)),
		ok("root with a block", "root", beaconed(block, "3200000", blockB)),
		ok("block with other confirmations", "root", beaconed("block/10/7/monero/mainnet", "3200000", blockB)),
		bad("beacon missing", "root", beaconed(quick, "27798178", nil), "no_beacon"),
		bad("beacon not named", "root", beaconed("none", "0", blockB), "bad_beacon"),
		bad("next round", "root", beaconed(quick, "27798177", drandB), "bad_beacon"),
		bad("zero randomness", "root", beaconed(block, "1", &vBeacon{"1", zero32, ""}), "bad_beacon"),
		bad("block with a signature", "root", beaconed(block, "1", &vBeacon{"1", plainSHA(sigA), sigA}), "bad_beacon"),
		bad("randomness of another signature", "root", beaconed(quick, "1", &vBeacon{"1", hashA, sigA}), "signature"),
		bad("drand without a signature", "root", beaconed(quick, "1", &vBeacon{"1", plainSHA(""), ""}), "signature"),
		bad("root of the zero seed", "root", with(root, func(v *vIn) { v.Seed = zero32 }), "bad_seed"),
		bad("root of no freeze", "root", with(root, func(v *vIn) { v.Freeze = zero32 }), "bad_digest"),
		bad("root with a target alone", "root", with(root, func(v *vIn) { v.Target = "1" }), "bad_target"),
		ok("quicknet", "drand", vIn{Genesis: "1692803367", Period: "3", Round: "27798178", Unix: "1776197898"}),
		ok("first round, before genesis", "drand", vIn{Genesis: "1692803367", Period: "3", Round: "1", Unix: "1692803366"}),
		ok("within a period", "drand", vIn{Genesis: "1692803367", Period: "3", Round: "2", Unix: "1692803369"}),
		ok("genesis before 1970", "drand", vIn{Genesis: "-100", Period: "30", Round: "5", Unix: "-70"}),
		ok("last expressible round", "drand", vIn{Genesis: "0", Period: "1", Round: "9223372036854775808", Unix: "0"}),
		bad("round too far", "drand", vIn{Genesis: "0", Period: "1", Round: "9223372036854775809", Unix: "0"}, "bad_round"),
		bad("round 0", "drand", vIn{Genesis: "0", Period: "1", Round: "0", Unix: "0"}, "bad_round"),
	}
	draws := []vector{
		ok("one word", "stream", vIn{Root: hashA, Label: "roll", I: "0", J: "0", Count: "1"}),
		ok("three blocks", "stream", vIn{Root: hashA, Label: "deal", I: "7", J: "3", Count: "9"}),
		ok("empty label", "stream", vIn{Root: hashB, I: "0", J: "0", Count: "4"}),
		ok("label of 23 bytes and greatest numbers", "stream", vIn{Root: hashA, Label: strings.Repeat("l", 23), I: max64, J: max64, Count: "5"}),
		ok("label of two-byte letters", "stream", vIn{Root: hashA, Label: "mão de onze", I: "1", J: "256", Count: "2"}),
		ok("i and j are told apart", "stream", vIn{Root: hashA, Label: "deal", I: "3", J: "7", Count: "1"}),
		ok("n = 1", "uniform", vIn{Words: []string{"ffffffffffffffff"}, N: "1"}),
		ok("power of two rejects nothing", "uniform", vIn{Words: []string{"ffffffffffffffff"}, N: "9223372036854775808"}),
		ok("just accepted", "uniform", vIn{Words: []string{"fffffffffffffffe"}, N: "3"}),
		ok("just rejected", "uniform", vIn{Words: []string{"ffffffffffffffff", "0000000000000004"}, N: "3"}),
		ok("rejected many times", "uniform", vIn{Words: []string{"ffffffffffffffff", "8000000000000001", "fffffffffffffffe", "8000000000000000"}, N: "9223372036854775809"}),
		ok("greatest n", "uniform", vIn{Words: []string{"ffffffffffffffff", "fffffffffffffffe"}, N: max64}),
		ok("ten million", "uniform", vIn{Words: []string{"0123456789abcdef"}, N: "10000000"}),
		ok("perm of 0", "perm", vIn{N: "0"}),
		ok("perm of 1", "perm", vIn{N: "1"}),
		ok("perm of 5", "perm", vIn{N: "5", Words: []string{"0000000000000000", "0000000000000003", "0000000000000001", "0000000000000000"}}),
		ok("perm with a rejection", "perm", vIn{N: "3", Words: []string{"ffffffffffffffff", "0000000000000001", "0000000000000001"}}),
		ok("sample of none", "sample", vIn{N: "5", K: "0"}),
		ok("sample of 2 from 5", "sample", vIn{N: "5", K: "2", Words: []string{"0000000000000000", "0000000000000000"}}),
		ok("sample of all", "sample", vIn{N: "3", K: "3", Words: []string{"0000000000000000", "0000000000000000"}}),
	}
	opening := func(pos, card string) vIn {
		out, _ := plainRun("card", vIn{Root: hashA, Deal: "4", Pos: "1", Card: "7o"})
		return vIn{Pos: pos, Card: card, Salt: out["salt"].(string), Published: []string{hashB, out["commitment"].(string)}}
	}
	cards := []vector{
		ok("first card", "card", vIn{Root: hashA, Deal: "0", Pos: "0", Card: "As"}),
		ok("same card in another deal", "card", vIn{Root: hashA, Deal: "1", Pos: "0", Card: "As"}),
		ok("same card at another position", "card", vIn{Root: hashA, Deal: "0", Pos: "1", Card: "As"}),
		ok("card in a symbol", "card", vIn{Root: hashB, Deal: "12", Pos: "39", Card: "🂡"}),
		ok("opening", "open", opening("1", "7o")),
		bad("another card", "open", opening("1", "7c"), "opening_mismatch"),
		bad("another position", "open", opening("0", "7o"), "opening_mismatch"),
		bad("position outside", "open", opening("2", "7o"), "position_unknown"),
		bad("another salt", "open", with(opening("1", "7o"), func(v *vIn) { v.Salt = hashA }), "opening_mismatch"),
		bad("card without a name", "card", vIn{Root: hashA, Deal: "0", Pos: "0"}, "bad_text"),
		bad("card with a long name", "card", vIn{Root: hashA, Deal: "0", Pos: "0", Card: long}, "bad_text"),
	}
	play := vIn{Kind: "mystery", Session: "box-9/ana", Player: "ana", ConfigHash: hashA, Tables: []string{hashB}, Seed: seedA, Epoch: "0", Client: "c0ffee", Plays: "3"}
	game := vIn{
		Kind: "battle", Session: "b-1", ConfigHash: hashB, Tables: []string{hashA}, Seed: seedA,
		Contributions: []vContribution{ana, bot}, Descriptor: "none", Target: "0",
		Draws: []vDraw{
			{Draw: "roll", Label: "roll", I: "0", J: "0", N: "10000000"},
			{Draw: "roll", Label: "roll", I: "0", J: "1", N: "10000000"},
			{Draw: "roll", Label: "half", I: "0", J: "0", N: "9223372036854775809"},
			{Draw: "pick", Label: "box", I: "5", J: "0", Table: &ranges},
			{Draw: "perm", Label: "seating", I: "0", J: "0", N: "9"},
			{Draw: "sample", Label: "deal", I: "1", J: "0", N: "40", K: "7"},
			{Draw: "sample", Label: "deal", I: "2", J: "0", N: "40", K: "40"},
		},
	}
	games := []vector{
		ok("session, first epoch", "session", play),
		ok("session, second epoch", "session", with(play, func(v *vIn) { v.Epoch, v.Seed = "1", seedB })),
		ok("session, epoch 16 without a client seed", "session", with(play, func(v *vIn) { v.Epoch, v.Client = "16", "" })),
		bad("session name of 112 bytes", "session", with(play, func(v *vIn) { v.Session = strings.Repeat("s", 112) }), "bad_text"),
		bad("client seed of 65 bytes", "session", with(play, func(v *vIn) { v.Client = strings.Repeat("00", 65) }), "bad_contribution"),
		ok("game without a beacon", "game", game),
		ok("game with drand", "game", with(game, func(v *vIn) { v.Descriptor, v.Target, v.Beacon = quick, "27798178", drandB })),
		ok("game with a block", "game", with(game, func(v *vIn) { v.Descriptor, v.Target, v.Beacon = block, "3200000", blockB })),
		ok("game with nobody", "game", with(game, func(v *vIn) { v.Contributions, v.Tables = nil, nil })),
		ok("game of another kind", "game", with(game, func(v *vIn) { v.Kind = "race" })),
		bad("game of a missing beacon", "game", with(game, func(v *vIn) { v.Descriptor, v.Target = block, "9" }), "no_beacon"),
	}
	return map[string][]vector{
		"commit.json": commit, "table.json": tables, "transcript.json": transcripts, "root.json": roots,
		"draw.json": draws, "card.json": cards, "game.json": games,
	}
}
