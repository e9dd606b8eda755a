package fair_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// This file is a second implementation of SPEC.md, written to be read beside
// it: hex and big integers, nothing fast, no code of package fair. Vectors are
// made with it; package fair and testdata/vectors.mjs must agree.

// fault is the error code of a vector.
type fault string

func refuse(bad bool, code string) {
	if bad {
		panic(fault(code))
	}
}

type (
	vEntry struct {
		ID     string `json:"id"`
		Weight string `json:"weight"`
	}
	vSpan struct {
		ID    string `json:"id"`
		First string `json:"first"`
		Last  string `json:"last"`
	}
	vTable struct {
		Entries []vEntry `json:"entries,omitempty"`
		Max     string   `json:"max,omitempty"`
		Spans   []vSpan  `json:"spans,omitempty"`
	}
	vContribution struct {
		Player   string `json:"player"`
		Operator bool   `json:"operator"`
		Seed     string `json:"seed"`
	}
	vBeacon struct {
		Round      string `json:"round"`
		Randomness string `json:"randomness"`
		Signature  string `json:"signature"`
	}
	vDraw struct {
		Draw  string  `json:"draw"` // roll, pick, perm, sample
		Label string  `json:"label"`
		I     string  `json:"i"`
		J     string  `json:"j"`
		N     string  `json:"n,omitempty"`
		K     string  `json:"k,omitempty"`
		Table *vTable `json:"table,omitempty"`
	}
	vIn struct {
		vTable
		Kind          string          `json:"kind,omitempty"`
		Session       string          `json:"session,omitempty"`
		Seed          string          `json:"seed,omitempty"`
		Commitment    string          `json:"commitment,omitempty"`
		ConfigHash    string          `json:"config_hash,omitempty"`
		Tables        []string        `json:"tables,omitempty"`
		Contributions []vContribution `json:"contributions,omitempty"`
		Descriptor    string          `json:"descriptor,omitempty"`
		Target        string          `json:"target,omitempty"`
		Freeze        string          `json:"freeze,omitempty"`
		Beacon        *vBeacon        `json:"beacon,omitempty"`
		Root          string          `json:"root,omitempty"`
		Label         string          `json:"label,omitempty"`
		I             string          `json:"i,omitempty"`
		J             string          `json:"j,omitempty"`
		Count         string          `json:"count,omitempty"`
		Words         []string        `json:"words,omitempty"`
		Rolls         []string        `json:"rolls,omitempty"`
		N             string          `json:"n,omitempty"`
		K             string          `json:"k,omitempty"`
		Deal          string          `json:"deal,omitempty"`
		Pos           string          `json:"pos,omitempty"`
		Card          string          `json:"card,omitempty"`
		Salt          string          `json:"salt,omitempty"`
		Published     []string        `json:"published,omitempty"`
		Genesis       string          `json:"genesis,omitempty"`
		Period        string          `json:"period,omitempty"`
		Round         string          `json:"round,omitempty"`
		Unix          string          `json:"unix,omitempty"`
		Player        string          `json:"player,omitempty"`
		Epoch         string          `json:"epoch,omitempty"`
		Client        string          `json:"client,omitempty"`
		Plays         string          `json:"plays,omitempty"`
		Draws         []vDraw         `json:"draws,omitempty"`
	}
	vOut   map[string]any
	vector struct {
		Name  string `json:"name"`
		Op    string `json:"op"`
		In    vIn    `json:"in"`
		Want  vOut   `json:"want,omitempty"`
		Error string `json:"error,omitempty"`
	}
)

// same normalises through JSON so that results of all three can be compared.
func (o vOut) text() string {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(b)
}

const plainP = "glasshouse/fair/v2"

var two64 = new(big.Int).Lsh(big.NewInt(1), 64)

func num(s string) *big.Int {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		panic("not a number: " + s)
	}
	return n
}

// All byte strings of this file are hex texts.
func text(s string) string { return hex.EncodeToString([]byte(s)) }

func u(bytes int, n *big.Int) string {
	return fmt.Sprintf("%0*x", 2*bytes, n)
}
func u64(s string) string    { return u(8, num(s)) }
func count(n int) *big.Int   { return big.NewInt(int64(n)) }
func lp(x string) string     { return u(4, count(len(x)/2)) + x }
func tagged(s string) string { return lp(text(plainP + s)) }
func raw(x string) []byte {
	b, err := hex.DecodeString(x)
	if err != nil {
		panic(err)
	}
	return b
}

func plainSHA(x string) string {
	sum := sha256.Sum256(raw(x))
	return hex.EncodeToString(sum[:])
}

func plainHMAC(key, x string) string {
	m := hmac.New(sha256.New, raw(key))
	m.Write(raw(x))
	return hex.EncodeToString(m.Sum(nil))
}

func name(s string) string {
	refuse(s == "" || len(s) > 128 || !utf8.ValidString(s), "bad_text")
	return text(s)
}

var zero32 = strings.Repeat("0", 64)

func is32(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

func seedOf(s string) string {
	refuse(!is32(s) || s == zero32, "bad_seed")
	return s
}

func commitPre(session, seed string) string {
	return tagged("/commit") + lp(name(session)) + lp(seedOf(seed))
}

// plainTable is a table in drawing order.
type plainTable struct {
	ids     []string
	weights []*big.Int
	total   *big.Int
}

func (t vTable) plain() plainTable {
	entries := append([]vEntry(nil), t.Entries...)
	if t.Max != "" {
		max, next := num(t.Max), big.NewInt(1)
		refuse(max.Sign() == 0, "zero_total")
		spans := append([]vSpan(nil), t.Spans...)
		for _, s := range spans {
			f, l := num(s.First), num(s.Last)
			refuse(f.Sign() == 0 || l.Cmp(max) > 0 || f.Cmp(l) > 0, "bad_range")
		}
		sort.SliceStable(spans, func(a, b int) bool { return num(spans[a].First).Cmp(num(spans[b].First)) < 0 })
		for _, s := range spans {
			refuse(num(s.First).Cmp(next) > 0, "gap")
			refuse(num(s.First).Cmp(next) < 0, "overlap")
			next.Add(num(s.Last), big.NewInt(1))
			w := new(big.Int).Sub(next, num(s.First))
			entries = append(entries, vEntry{s.ID, w.String()})
		}
		refuse(len(spans) > 0 && next.Cmp(max) <= 0, "gap")
	}
	refuse(len(entries) == 0, "no_items")
	p := plainTable{total: new(big.Int)}
	for _, e := range entries {
		name(e.ID)
		for _, id := range p.ids {
			refuse(id == e.ID, "duplicate")
		}
		p.ids = append(p.ids, e.ID)
		p.weights = append(p.weights, num(e.Weight))
		p.total.Add(p.total, num(e.Weight))
	}
	refuse(p.total.Cmp(two64) >= 0, "overflow")
	refuse(p.total.Sign() == 0, "zero_total")
	return p
}

func (p plainTable) pre() string {
	x := tagged("/table") + u(8, count(len(p.ids)))
	for i := range p.ids {
		x += lp(text(p.ids[i])) + u(8, p.weights[i])
	}
	return x
}

func (p plainTable) at(r *big.Int) string {
	sum := new(big.Int)
	for i := range p.ids {
		if sum.Add(sum, p.weights[i]); r.Cmp(sum) < 0 {
			return p.ids[i]
		}
	}
	return ""
}

func transcriptBytes(in vIn) string {
	x := lp(name(in.Kind)) + lp(name(in.Session))
	refuse(in.Commitment == zero32, "bad_commitment")
	x += lp(in.Commitment) + lp(in.ConfigHash) + u(8, count(len(in.Tables)))
	for _, h := range in.Tables {
		x += lp(h)
	}
	x += u(8, count(len(in.Contributions)))
	for i, c := range in.Contributions {
		id := name(c.Player)
		refuse(len(c.Seed) > 2*64, "bad_contribution")
		for _, other := range in.Contributions[:i] {
			refuse(other.Player == c.Player, "duplicate")
		}
		operator := "00"
		if c.Operator {
			operator = "01"
		}
		x += lp(id) + operator + lp(c.Seed)
	}
	return x
}

func decimalOK(s string) bool {
	n, ok := new(big.Int).SetString(s, 10)
	return ok && n.Sign() >= 0 && n.Cmp(two64) < 0 && n.String() == s
}

func descriptorBytes(d string) string {
	if d == "none" {
		return ""
	}
	if hash, ok := strings.CutPrefix(d, "drand/"); ok {
		refuse(!is32(hash), "bad_descriptor")
		return lp(text("drand")) + lp(hash)
	}
	parts := strings.SplitN(d, "/", 4)
	refuse(len(parts) != 4 || parts[0] != "block", "bad_descriptor")
	refuse(!decimalOK(parts[1]) || parts[1] == "0" || !decimalOK(parts[2]), "bad_descriptor")
	refuse(parts[3] == "" || len(parts[3]) > 128 || !utf8.ValidString(parts[3]), "bad_descriptor")
	return lp(text("block")) + lp(text(parts[3])) + u64(parts[1]) + u64(parts[2])
}

func freezePre(in vIn) string {
	t, d := transcriptBytes(in), descriptorBytes(in.Descriptor)
	refuse((in.Target == "0") != (d == ""), "bad_target")
	return tagged("/freeze") + t + lp(d) + u64(in.Target)
}

func rootPre(in vIn) string {
	seedOf(in.Seed)
	refuse(in.Freeze == zero32, "bad_digest")
	d := descriptorBytes(in.Descriptor)
	refuse((in.Target == "0") != (d == ""), "bad_target")
	x := tagged("/root") + lp(in.Freeze)
	b := in.Beacon
	if b == nil {
		refuse(d != "", "no_beacon")
		return x + "00"
	}
	refuse(d == "" || b.Round != in.Target || b.Randomness == zero32, "bad_beacon")
	if strings.HasPrefix(in.Descriptor, "drand/") {
		refuse(b.Signature == "" || plainSHA(b.Signature) != b.Randomness, "signature")
	} else {
		refuse(b.Signature != "", "bad_beacon")
	}
	return x + "01" + lp(d) + u64(b.Round) + lp(b.Randomness)
}

func blockPre(label, i, j string, t int) string {
	return lp(text(label)) + u64(i) + u64(j) + u(4, count(t))
}

// plainWords are given words, or those of a path.
type plainWords struct {
	given       []string
	root, label string
	i, j        string
	used        int
}

func (w *plainWords) next() *big.Int {
	var word string
	if w.root == "" {
		word = w.given[w.used]
	} else {
		block := plainHMAC(w.root, blockPre(w.label, w.i, w.j, w.used/4))
		word = block[16*(w.used%4):][:16]
	}
	w.used++
	n, _ := new(big.Int).SetString(word, 16)
	return n
}

func (w *plainWords) uniform(n *big.Int) *big.Int {
	limit := new(big.Int).Sub(two64, new(big.Int).Mod(two64, n))
	for {
		if x := w.next(); x.Cmp(limit) < 0 {
			return x.Mod(x, n)
		}
	}
}

func (w *plainWords) below(n int) int { return int(w.uniform(count(n)).Int64()) }

func (w *plainWords) perm(n int) []int {
	a := make([]int, n)
	for i := range a {
		a[i] = i
	}
	for i := n - 1; i >= 1; i-- {
		j := w.below(i + 1)
		a[i], a[j] = a[j], a[i]
	}
	return a
}

func (w *plainWords) sample(n, k int) []int {
	a := make([]int, n)
	for i := range a {
		a[i] = i
	}
	out := []int{}
	for i := n - 1; i >= n-k; i-- {
		if i > 0 {
			j := w.below(i + 1)
			a[i], a[j] = a[j], a[i]
		}
		out = append(out, a[i])
	}
	return out
}

func small(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// plainRun is the whole scheme by operation, as section 14 lists them.
func plainRun(op string, in vIn) (out vOut, code string) {
	defer func() {
		if f, ok := recover().(fault); ok {
			out, code = nil, string(f)
		} else if !ok && out == nil {
			panic(op + ": no result")
		}
	}()
	w := &plainWords{given: in.Words}
	switch op {
	case "commit":
		return vOut{"commitment": plainSHA(commitPre(in.Session, in.Seed))}, ""
	case "table":
		t := in.plain()
		return vOut{"hash": plainSHA(t.pre()), "total": t.total.String()}, ""
	case "pick":
		t := in.plain()
		id := t.at(w.uniform(t.total))
		return vOut{"id": id, "used": w.used}, ""
	case "at":
		t, ids := in.plain(), []string{}
		for _, r := range in.Rolls {
			if roll := num(r); roll.Sign() == 0 {
				ids = append(ids, "")
			} else {
				ids = append(ids, t.at(roll.Sub(roll, big.NewInt(1))))
			}
		}
		return vOut{"ids": ids}, ""
	case "transcript":
		return vOut{"bytes": transcriptBytes(in)}, ""
	case "freeze":
		return vOut{"freeze": plainSHA(freezePre(in)), "descriptor_bytes": descriptorBytes(in.Descriptor)}, ""
	case "root":
		return vOut{"root": plainHMAC(in.Seed, rootPre(in))}, ""
	case "stream":
		w = &plainWords{root: in.Root, label: in.Label, i: in.I, j: in.J}
		words := []string{}
		for range small(in.Count) {
			words = append(words, u(8, w.next()))
		}
		return vOut{"words": words}, ""
	case "uniform":
		v := w.uniform(num(in.N))
		return vOut{"value": v.String(), "used": w.used}, ""
	case "perm":
		p := w.perm(small(in.N))
		return vOut{"perm": p, "used": w.used}, ""
	case "sample":
		s := w.sample(small(in.N), small(in.K))
		return vOut{"sample": s, "used": w.used}, ""
	case "card":
		salt := plainHMAC(in.Root, blockPre("salt", in.Pos, in.Deal, 0))
		return vOut{"salt": salt, "commitment": plainSHA(tagged("/card") + u64(in.Pos) + lp(name(in.Card)) + salt)}, ""
	case "open":
		refuse(num(in.Pos).Cmp(count(len(in.Published))) >= 0, "position_unknown")
		c := plainSHA(tagged("/card") + u64(in.Pos) + lp(name(in.Card)) + in.Salt)
		refuse(in.Published[small(in.Pos)] != c, "opening_mismatch")
		return vOut{"opens": true}, ""
	case "drand":
		refuse(in.Round == "0", "bad_round")
		due := num(in.Round)
		due.Sub(due, big.NewInt(1)).Mul(due, num(in.Period)).Add(due, num(in.Genesis))
		refuse(!due.IsInt64(), "bad_round")
		at := new(big.Int).Sub(num(in.Unix), num(in.Genesis))
		if at.Sign() < 0 {
			at.SetInt64(0)
		} else {
			at.Div(at, num(in.Period)).Add(at, big.NewInt(1))
		}
		return vOut{"due": due.String(), "round_at": at.String()}, ""
	case "session":
		named := in
		named.Session = in.Session + "#" + u64(in.Epoch)
		named.Commitment = plainSHA(commitPre(named.Session, in.Seed))
		named.Contributions = []vContribution{{in.Player, false, in.Client}}
		named.Descriptor, named.Target = "none", "0"
		named.Freeze = plainSHA(freezePre(named))
		root := plainHMAC(in.Seed, rootPre(named))
		words := []string{}
		for p := range small(in.Plays) {
			w := &plainWords{root: root, label: "box", i: strconv.Itoa(p), j: "0"}
			words = append(words, u(8, w.next()))
		}
		return vOut{"commitment": named.Commitment, "freeze": named.Freeze, "root": root, "words": words}, ""
	case "game":
		in.Commitment = plainSHA(commitPre(in.Session, in.Seed))
		in.Freeze = plainSHA(freezePre(in))
		root := plainHMAC(in.Seed, rootPre(in))
		results := []any{}
		for _, d := range in.Draws {
			w := &plainWords{root: root, label: d.Label, i: d.I, j: d.J}
			switch d.Draw {
			case "roll":
				r := w.uniform(num(d.N))
				results = append(results, r.Add(r, big.NewInt(1)).String())
			case "pick":
				t := d.Table.plain()
				results = append(results, t.at(w.uniform(t.total)))
			case "perm":
				results = append(results, w.perm(small(d.N)))
			case "sample":
				results = append(results, w.sample(small(d.N), small(d.K)))
			}
		}
		return vOut{"commitment": in.Commitment, "freeze": in.Freeze, "root": root, "results": results}, ""
	}
	panic("unknown op " + op)
}

func bigOf(n uint64) *big.Int { return new(big.Int).SetUint64(n) }

type bigInt = big.Int

func newInt(n int64) *big.Int { return big.NewInt(n) }
