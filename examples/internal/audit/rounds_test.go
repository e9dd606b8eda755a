package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func mac(key, msg string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(msg))
	return hex.EncodeToString(h.Sum(nil))
}

// round is a row in the order of the columns below, worked out here as the source does.
var snake = []string{
	"id", "battle_id", "item_name", "server_seed", "server_seed_hash", "client_seed", "nonce", "roll", "is_flip",
	"flip_server_seed", "flip_client_seed", "flip_nonce", "flip_roll",
}

var camel = []string{
	"id", "battleId", "itemName", "serverSeed", "serverSeedHash", "clientSeed", "nonce", "roll", "isFlip",
	"flipServerSeed", "flipClientSeed", "flipNonce", "flipRoll",
}

func round(n int) []any {
	sum := sha256.Sum256([]byte(strconv.Itoa(n)))
	server, client := hex.EncodeToString(sum[:]), fmt.Sprintf("1735689600000%032x", n)
	prefix, _ := new(big.Int).SetString(mac(server, fmt.Sprintf("%s:%d", client, n))[:13], 16)
	roll := prefix.Mod(prefix, big.NewInt(10_000_000)).Int64() + 1
	out := []any{n, 7, "Kestrel-47 | \"Rope\", Work", server, mac(server, ""), client, n, roll, false, nil, nil, nil, nil}
	if n%5 == 0 {
		copy(out[8:], []any{true, server + "_flip", client, n + 1, roll})
	}
	return out
}

func rounds(n int) [][]any {
	rows := make([][]any, n)
	for i := range rows {
		rows[i] = round(i)
	}
	return rows
}

func asObject(names []string, row []any) string {
	parts := make([]string, len(names))
	for i, name := range names {
		v, _ := json.Marshal(row[i])
		parts[i] = fmt.Sprintf("%q: %s", name, v)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func asNDJSON(names []string, rows [][]any) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(asObject(names, r) + "\n")
	}
	return b.String()
}

func asArray(names []string, rows [][]any) string {
	var b strings.Builder
	b.WriteString("[\n")
	for i, r := range rows {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString("  " + asObject(names, r))
	}
	b.WriteString("\n]\n")
	return b.String()
}

func asCSV(names []string, rows [][]any) string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(names)
	for _, r := range rows {
		fields := make([]string, len(r))
		for i, v := range r {
			if v != nil {
				fields[i] = fmt.Sprint(v)
			}
		}
		_ = w.Write(fields)
	}
	w.Flush()
	return b.String()
}

var forms = []struct {
	kind  string
	write func([]string, [][]any) string
	first int // line of the first row
}{
	{RoundsNDJSON, asNDJSON, 1},
	{RoundsJSON, asArray, 2},
	{RoundsCSV, asCSV, 2},
}

func read(text string) Result { return Read("file", strings.NewReader(text)) }

func TestGoodRoundsHoldInEveryForm(t *testing.T) {
	for _, f := range forms {
		for _, names := range [][]string{snake, camel} {
			res := read(f.write(names, rounds(2000)))
			require.True(t, res.OK, "%s: %+v", f.kind, res)
			require.Equal(t, f.kind, res.Kind)
			require.Len(t, res.Report.Findings, 4)
			for _, finding := range res.Report.Findings {
				require.Equal(t, "2000 of 2000 rows", finding.Got)
			}
			require.NotEmpty(t, res.Report.NotProven)
			require.Empty(t, res.Faults)
		}
	}
}

func TestTamperedRoundsAreFoundInOrderWithTheirLines(t *testing.T) {
	rows := rounds(3000)
	tamper := func(n, column int, v any) { rows[n][column] = v }
	tamper(0, 7, rows[0][7].(int64)%10_000_000+1) // the flip's copy of the roll does not fit either
	tamper(700, 4, strings.Repeat("0", 64))
	tamper(1501, 8, true)
	tamper(1502, 6, "many")
	tamper(2999, 5, "another")
	for _, f := range forms {
		res := read(f.write(snake, rows))
		require.False(t, res.OK)
		require.Empty(t, res.Error)
		var got []string
		for _, fault := range res.Faults {
			got = append(got, fmt.Sprintf("%d %s", fault.Line-f.first, fault.Finding))
		}
		require.Equal(t, []string{
			"0 roll_matches", "0 flip_consistent", "700 commitment_matches", "1501 flip_consistent", "1502 row_readable",
			"2999 roll_matches",
		}, got, f.kind)
		var sums []string
		for _, finding := range res.Report.Findings {
			sums = append(sums, fmt.Sprintf("%s %t %s", finding.Name, finding.OK, finding.Got))
		}
		require.Equal(t, []string{
			"row_readable false 2999 of 3000 rows", "commitment_matches false 2998 of 3000 rows",
			"roll_matches false 2997 of 3000 rows", "flip_consistent false 2997 of 3000 rows",
		}, sums, f.kind)
	}
}

func TestOnlyTheFirstFaultsAreShownButAllAreCounted(t *testing.T) {
	rows := rounds(2500)
	for i := range rows {
		rows[i][4] = "00"
	}
	res := read(asNDJSON(camel, rows))
	require.Len(t, res.Faults, maxFaults)
	require.Equal(t, maxFaults, res.Faults[maxFaults-1].Line)
	require.Equal(t, "0 of 2500 rows", res.Report.Findings[1].Got)
}

func TestCSVQuirks(t *testing.T) {
	plain := asCSV(snake, rounds(6))
	quoted := func(field string) string { return strings.ReplaceAll(plain, "\n", ","+field+"\n") }
	for _, tc := range []struct{ name, text string }{
		{"CRLF", strings.ReplaceAll(plain, "\n", "\r\n")},
		{"BOM", bom + plain},
		{"no line end at the end", strings.TrimSuffix(plain, "\n")},
		{"blank lines", strings.ReplaceAll(plain, "\n", "\n\n")},
		{"header in quotes", "\"" + strings.Replace(strings.Replace(plain, "\n", "\"\n", 1), ",", "\",\"", len(snake)-1)},
		{"booleans of PostgreSQL", strings.ReplaceAll(strings.ReplaceAll(plain, ",true,", ",t,"), ",false,", ",f,")},
		{"NULL", strings.ReplaceAll(plain, ",,,,\n", ",NULL,NULL,NULL,NULL\n")},
		{`\N`, strings.ReplaceAll(plain, ",,,,\n", `,\N,\N,\N,\N`+"\n")},
		{"a field over two lines", strings.ReplaceAll(plain, `""Rope""`, "Ro\npe")},
		{"a further column", quoted("zzz")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := read(tc.text)
			require.True(t, res.OK, "%+v\n%s", res, tc.text)
			require.Equal(t, RoundsCSV, res.Kind)
			require.Equal(t, "6 of 6 rows", res.Report.Findings[0].Got)
			unknown := strings.Contains(strings.Join(res.Report.NotProven, "\n"), "not known here: zzz")
			require.Equal(t, tc.name == "a further column", unknown)
		})
	}
}

func TestLinesOfCSVCountThoseInsideOfQuotes(t *testing.T) {
	rows := rounds(3)
	rows[2][7] = int64(5)
	res := read(strings.ReplaceAll(asCSV(snake, rows), `""Rope""`, "Ro\npe"))
	require.Equal(t, 6, res.Faults[0].Line) // header, two rows of two lines
}

func TestJSONQuirks(t *testing.T) {
	object := asObject(camel, round(5))
	for _, tc := range []struct{ name, text string }{
		{"white space", " \n\t" + object + " \r\n"},
		{"blank lines", "\n\n" + object + "\n\n" + object + "\n"},
		{"no line end", object},
		{"CRLF", object + "\r\n" + object + "\r\n"},
		{"BOM", bom + object + "\n"},
		{"array on one line", "[" + object + "," + object + "]"},
		{"array with BOM", bom + "[" + object + "]"},
		{"numbers as text", strings.ReplaceAll(object, `"nonce": 5`, `"nonce": "5"`)},
		{"nested extras", "[" + strings.Replace(object, "{", `{"case": {"a": [1, "}],\""]}, `, 1) + "]"},
		{"escapes", strings.Replace(object, `"nonce"`, `"\u006eonce"`, 1)},
		{"flip as 1", strings.Replace(object, `"isFlip": true`, `"isFlip": 1`, 1)},
		{"object over several lines", "[" + strings.ReplaceAll(object, ", \"", ",\n\"") + "]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := read(tc.text)
			require.True(t, res.OK, "%+v", res)
		})
	}
}

func TestRowsThatCannotBeRead(t *testing.T) {
	good := asObject(camel, round(5))
	swap := func(old, new string) string {
		require.Contains(t, good, old)
		return strings.Replace(good, old, new, 1)
	}
	for _, tc := range []struct{ name, row, want string }{
		{"broken", good[:len(good)-1], "invalid JSON"},
		{"two in one", good + " " + good, "invalid JSON"},
		{"no object", "17", "no object"},
		{"a column missing", swap(`"nonce": 5, `, ""), "nonce: no such column"},
		{"a column twice", swap(`"nonce": 5`, `"nonce": 5, "nonce": 5`), "nonce: there twice"},
		{"a column under both names", swap(`"isFlip": true`, `"isFlip": true, "is_flip": true`), "is_flip: there twice"},
		{"null", swap(`"roll": `, `"roll": null, "r": `), "roll: missing"},
		{"fraction", swap(`"nonce": 5`, `"nonce": 5.0`), `nonce: "5.0"`},
		{"exponent", swap(`"nonce": 5`, `"nonce": 5e0`), `nonce: "5e0"`},
		{"too large", swap(`"nonce": 5`, `"nonce": 9223372036854775808`), "nonce: "},
		{"negative roll", swap(`"roll": `, `"roll": -`), "roll: "},
		{"no boolean", swap(`"isFlip": true`, `"isFlip": "maybe"`), "isFlip: "},
		{"a list", swap(`"nonce": 5`, `"nonce": [5]`), "nonce: "},
		{"no UTF-8", swap("Kestrel", "\xff"), "invalid UTF-8"},
		{"huge", swap("Kestrel", strings.Repeat("x", maxRow)), "longer than 1048576 bytes"},
	} {
		for _, form := range []struct{ name, text string }{
			{"NDJSON", good + "\n" + tc.row + "\n" + good + "\n"},
			{"JSON", "[" + good + ",\n" + tc.row + "\n," + good + "]"},
		} {
			t.Run(tc.name+" "+form.name, func(t *testing.T) {
				if form.name == "JSON" && tc.name == "broken" {
					require.False(t, read(form.text).OK) // where it ends is anybody's guess
					return
				}
				res := read(form.text)
				require.False(t, res.OK)
				require.Empty(t, res.Error)
				require.Equal(t, "2 of 3 rows", res.Report.Findings[0].Got)
				require.Len(t, res.Faults, 1)
				require.Equal(t, 2, res.Faults[0].Line)
				require.Contains(t, res.Faults[0].Got, tc.want)
			})
		}
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	object := asObject(camel, round(5))
	table := asCSV(snake, rounds(3))
	lines := strings.SplitAfter(table, "\n")
	for _, tc := range []struct{ name, text, want string }{
		{"empty", "", "empty"},
		{"white space", " \n\n", "empty"},
		{"only a BOM", bom, "empty"},
		{"prose", "hello, world\n", "not recognised"},
		{"binary", "\x89PNG\r\n\x1a\n\x00", "not recognised"},
		{"UTF-16", "\xff\xfes\x00e\x00", "not recognised"},
		{"other JSON", `{"hello": 1}`, "not recognised"},
		{"no JSON", `{hello}`, "not recognised"},
		{"a number", `17`, "not recognised"},
		{"empty array", "[]", "no rows"},
		{"only a header", lines[0], "no rows"},
		{"array of something else", `[{"hello": 1}]`, ""},
		{"array that does not end", "[" + object + ",\n" + object, "line 2: the array does not end"},
		{"array that ends with a comma", "[" + object + ",\n]", "line 2: a row is missing"},
		{"array without a row", "[" + object + ",,\n" + object + "]", "line 1: a row is missing"},
		{"array and more", "[" + object + "]\n[]", "line 2: '[' follows the array"},
		{"stray bracket", "[}, " + object + "]", ""},
		{"header without a column", strings.Replace(table, "nonce,", "nonsense,", 1), "line 1: no column nonce"},
		{"header with a column twice", strings.Replace(table, "battle_id,", "nonce,", 1), "line 1: column \"nonce\": there twice"},
		{"header under both names", strings.Replace(table, "battle_id,", "serverSeed,", 1), "there twice"},
		{"open quote", lines[0] + `"` + strings.Repeat("x,y\n", 400_000), "is a quote left open?"},
		{"open quote, short", lines[0] + lines[1] + `"` + lines[2], ""},
		{"another game's record", `{"format":1,"game":"chess","scheme":"fair/v2","config":{},"turns":[]}`, "game"},
		{"another scheme's record", `{"format":1,"game":"battle","scheme":"fair/v9","config":{},"turns":[]}`, "fair/v9"},
		{"another format's record", `{"format":9,"game":"battle","scheme":"fair/v2","config":{},"turns":[]}`, "format"},
		{"record with a field too many", `{"format":1,"weather":"fine"}`, "weather"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := read(tc.text)
			require.False(t, res.OK)
			require.Contains(t, res.Error, tc.want)
			if tc.want == "" {
				require.NotEmpty(t, res.Report.Failed())
			}
			var out bytes.Buffer
			res.Print(&out)
			require.Contains(t, out.String(), "FAIL  file: ")
		})
	}
}

func TestWrongNumberOfFieldsInARowOfCSV(t *testing.T) {
	text := asCSV(snake, rounds(3))
	res := read(strings.Replace(text, "\n1,7,", "\n1,", 1))
	require.Empty(t, res.Error)
	require.Equal(t, "2 of 3 rows", res.Report.Findings[0].Got)
	require.Equal(t, Fault{3, "row_readable", "wrong number of fields", "a round"}, res.Faults[0])
}

type failing struct{ after io.Reader }

func (f failing) Read(p []byte) (int, error) {
	n, err := f.after.Read(p)
	if err == io.EOF {
		err = io.ErrClosedPipe
	}
	return n, err
}

func TestAnErrorOfReadingIsNoEnd(t *testing.T) {
	for _, f := range forms {
		res := Read("file", failing{strings.NewReader(f.write(snake, rounds(1000)))})
		require.False(t, res.OK)
		require.Contains(t, res.Error, io.ErrClosedPipe.Error(), f.kind)
	}
}

// endless gives the same rows over and over, up to n bytes.
type endless struct {
	rows []byte
	at   int
	n    int
	peak uint64
	next int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	if e.next -= len(p); e.next < 0 {
		e.next = 4 << 20
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		e.peak = max(e.peak, m.HeapAlloc)
	}
	n := copy(p, e.rows[e.at:])
	e.at = (e.at + n) % len(e.rows)
	e.n -= n
	return n, nil
}

func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	rows := []byte(asNDJSON(snake, rounds(1000)))
	size := 200 << 20
	if testing.Short() {
		size = 40 << 20
	}
	in := &endless{rows: rows, n: size / len(rows) * len(rows)}
	res := Read("file", in)
	require.NotEmpty(t, res.Report.Findings)
	require.Less(t, in.peak, uint64(24<<20), "of %d bytes read", size)
}

func BenchmarkRounds(b *testing.B) {
	const n = 10_000
	for _, f := range forms {
		text := f.write(snake, rounds(n))
		b.Run(f.kind[len("battle rounds, legacy/52, "):], func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if res := read(text); !res.OK {
					b.Fatal(res)
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
