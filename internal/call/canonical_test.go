package call

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestDigestIsFixed holds the form itself: the digest is in ledgers.
func TestDigestIsFixed(t *testing.T) {
	c := admitted(t, `{"name":"t","arguments":{"b":[1.50,true,null,"é"],"a":{"x":-0,"":false}}}`)
	const form = `["1:t{"1:a{"0:f"1:x#0;}"1:b[#15e-1;tn"2:é]}]`
	if got := string(AppendCanonical(nil, []any{c.Name, c.Arguments})); got != form {
		t.Errorf("form %s, want %s", got, form)
	}
	const want = "sha256:47a647592da11ab8785dd7e293da6f8ddbfc6516613cc96a402ce09ead219a1d"
	if got := c.Digest(); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	if got := (&Call{Name: c.Name, Arguments: c.Arguments}).Digest(); got != want {
		t.Errorf("digest of a call made by hand %s, want %s", got, want)
	}
}

// TestSameDigest: each row is one call in several spellings, and no two rows
// are the same call.
func TestSameDigest(t *testing.T) {
	rows := [][]string{
		{ours(`{}`), `{"tool":"t"}`, `{"name":"\u0074","arguments":{},"call_id":"c"}`, `{"type":"tool_use","name":"t","input":{ }}`, `{"type":"function","function":{"name":"t","arguments":" {}"}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`},
		{`{"name":"T","arguments":{}}`},
		{ours(`{"a":1}`), ours(`{"a":1.0}`), ours(`{"a":1e0}`), ours(`{"a":10e-1}`), ours(`{"a":0.1E+1}`), ours(`{"\u0061" : 1}`), `{"type":"function_call","name":"t","arguments":"{\"a\":1.00}"}`},
		{ours(`{"a":true}`)},
		{ours(`{"a":"1"}`), ours(`{"a":"\u0031"}`)},
		{ours(`{"a":"true"}`)},
		{ours(`{"a":[1]}`)},
		{ours(`{"a":-1}`), ours(`{"a":-1.0}`)},
		{ours(`{"a":0}`), ours(`{"a":-0}`), ours(`{"a":0.0}`), ours(`{"a":-0.00}`), ours(`{"a":0e5}`)},
		{ours(`{"a":null}`)},
		{ours(`{"a":false}`)},
		{ours(`{"a":""}`)},
		{ours(`{"a":{}}`)},
		{ours(`{"a":[]}`)},
		{ours(`{"a":[[]]}`)},
		{ours(`{"a":[null]}`)},
		{ours(`{"a":100}`), ours(`{"a":1e2}`), ours(`{"a":100.0}`), ours(`{"a":0.001e5}`)},
		{ours(`{"a":9007199254740992}`)},
		{ours(`{"a":9007199254740993}`), ours(`{"a":9007199254740993.0}`), ours(`{"a":9.007199254740993e15}`)},
		{ours(`{"a":18446744073709551615}`)},
		{ours(`{"a":18446744073709551614}`)},
		{ours(`{"a":0.1}`), ours(`{"a":1e-1}`)},
		{ours(`{"a":0.10000000000000001}`)},
		{ours(`{"a":1,"b":2}`), ours(`{"b":2,"a":1}`), `{"tool":"t","b":2,"a":1}`},
		{ours(`{"a":2,"b":1}`)},
		{ours(`{"a":{"a":1,"b":2}}`), ours(`{"a":{"b":2.0,"a":1}}`)},
		{ours(`{"a":[1,2]}`)},
		{ours(`{"a":[2,1]}`)},
		{ours(`{"a":[[1],2]}`)},
		{ours(`{"a":"é"}`), ours(`{"a":"\u00e9"}`)},
		{ours(`{"a":"e\u0301"}`)},
		{ours(`{"a":"\ufffd"}`)},
		{ours(`{"a":"x\"1:b"}`)},
	}
	seen := map[string]string{}
	for _, row := range rows {
		want := admitted(t, row[0]).Digest()
		for _, raw := range row {
			if got := admitted(t, raw).Digest(); got != want {
				t.Errorf("%s and %s are one call with two digests", row[0], raw)
			}
		}
		if other, twice := seen[want]; twice {
			t.Errorf("%s and %s are two calls with one digest", other, row[0])
		}
		seen[want] = row[0]
	}
}

// TestDigestRandom spells random arguments twice, keys shuffled and numbers,
// escapes and blanks respelt, and changes one leaf once.
func TestDigestRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		v := map[string]any{"leaf": json.Number(strconv.Itoa(rng.IntN(1000))), "rest": randomValue(rng, 4)}
		a := admitted(t, ours(spell(rng, v)))
		b := admitted(t, ours(spell(rng, v)))
		if a.Digest() != b.Digest() {
			t.Fatalf("one value, two digests:\n%s\n%s", a.ArgumentsJSON, b.ArgumentsJSON)
		}
		was := v["leaf"]
		for _, other := range []any{"1" + was.(json.Number), string(was.(json.Number)), true, nil, []any{was}, map[string]any{"leaf": was}} {
			v["leaf"] = other
			if c := admitted(t, ours(spell(rng, v))); c.Digest() == a.Digest() {
				t.Fatalf("two values, one digest:\n%s\n%s", a.ArgumentsJSON, c.ArgumentsJSON)
			}
		}
		delete(v, "leaf")
		if c := admitted(t, ours(spell(rng, v))); c.Digest() == a.Digest() {
			t.Fatalf("a key less, one digest: %s", a.ArgumentsJSON)
		}
	}
}

func randomValue(rng *rand.Rand, depth int) any {
	switch n := rng.IntN(9); {
	case n < 2 && depth > 0:
		list := make([]any, rng.IntN(4))
		for i := range list {
			list[i] = randomValue(rng, depth-1)
		}
		return list
	case n < 5 && depth > 0:
		object := map[string]any{}
		for range rng.IntN(20) {
			object[randomText(rng)+"k"] = randomValue(rng, depth-1)
		}
		return object
	case n == 5:
		return rng.IntN(2) == 0
	case n == 6:
		return nil
	case n == 7:
		return json.Number(fmt.Sprintf("%d.%de%d", rng.IntN(2000)-1000, rng.IntN(1000), rng.IntN(40)-20))
	}
	return randomText(rng)
}

func randomText(rng *rand.Rand) string {
	letters := []string{"a", "b", "é", "😀", `"`, `\`, "1", ":", "/"}
	var b strings.Builder
	for range rng.IntN(5) {
		b.WriteString(letters[rng.IntN(len(letters))])
	}
	return b.String()
}

// spell writes v as JSON in one of its many spellings.
func spell(rng *rand.Rand, v any) string {
	blank := []string{"", "", " ", "\n", "\t "}[rng.IntN(5)]
	switch v := v.(type) {
	case json.Number:
		return spellNumber(rng, string(v))
	case string:
		return spellText(rng, v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = blank + spell(rng, e)
		}
		return "[" + strings.Join(parts, ",") + blank + "]"
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		var parts []string
		for _, key := range keys {
			parts = append(parts, blank+spellText(rng, key)+blank+":"+spell(rng, v[key]))
		}
		return "{" + strings.Join(parts, ",") + blank + "}"
	case bool:
		return strconv.FormatBool(v)
	}
	return "null"
}

func spellNumber(rng *rand.Rand, text string) string {
	mantissa, exponent, _ := strings.Cut(text, "e")
	e, _ := strconv.Atoi(exponent)
	for range rng.IntN(3) { // ten times as much, one exponent less
		whole, frac, _ := strings.Cut(mantissa, ".")
		if frac == "" {
			frac = "0"
		}
		negative := strings.HasPrefix(whole, "-")
		whole = strings.TrimLeft(strings.TrimPrefix(whole, "-")+frac[:1], "0")
		if whole == "" {
			whole = "0"
		}
		if negative {
			whole = "-" + whole
		}
		mantissa = whole
		if frac[1:] != "" {
			mantissa += "." + frac[1:]
		}
		e--
	}
	if e == 0 && rng.IntN(2) == 0 {
		return mantissa
	}
	return mantissa + []string{"e", "E"}[rng.IntN(2)] + strconv.Itoa(e)
}

func spellText(rng *rand.Rand, s string) string {
	quoted, _ := json.Marshal(s)
	out := string(quoted)
	if rng.IntN(2) == 0 {
		out = strings.ReplaceAll(out, "é", `\u00E9`)
		out = strings.ReplaceAll(out, "😀", `\ud83D\ude00`)
	}
	if rng.IntN(2) == 0 {
		out = strings.ReplaceAll(out, "/", `\/`)
		out = strings.ReplaceAll(out, "a", `\u0061`)
	}
	return out
}

// TestAppendCanonicalGo holds what JSON does not decode to.
func TestAppendCanonicalGo(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want string
	}{
		{100, "#1e2;"},
		{int64(math.MinInt64), "#-9223372036854775808e0;"},
		{uint64(math.MaxUint64), "#18446744073709551615e0;"},
		{0.1, "#1e-1;"},
		{1e21, "#1e21;"},
		{math.Copysign(0, -1), "#0;"},
		{json.Number("1e400"), "#1e400;"}, // refused by Admit, still a number
		{math.Inf(1), `?"4:+Inf`},
		{json.Number("x"), `?"3:"x"`},
		{json.Number("1e+-5"), `?"7:"1e+-5"`},
		{json.Number("1e9999999999"), `?"14:"1e9999999999"`},
		{json.Number("01"), `?"4:"01"`},
		{json.Number("-"), `?"3:"-"`},
		{json.Number("1."), `?"4:"1."`},
		{json.Number(""), `?"2:""`},
		{[]string{"a"}, `?"13:[]string{"a"}`},
	} {
		if got := string(AppendCanonical([]byte("x"), tt.v)); got != "x"+tt.want {
			t.Errorf("AppendCanonical(%#v) = %s, want %s", tt.v, got[1:], tt.want)
		}
	}
}
