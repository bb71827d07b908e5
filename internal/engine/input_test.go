package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"

	"github.com/runlens/runlens/internal/facts"
)

// TestEncodeIsTheRecordedDocument holds that rules see exactly what the ledger
// records, for inputs of every shape.
func TestEncodeIsTheRecordedDocument(t *testing.T) {
	e := newEncoder()
	check := func(in *facts.Input) {
		t.Helper()
		got, err := e.encode(in)
		if err != nil {
			t.Fatal(err)
		}
		line, _, err := facts.Encode(in)
		if err != nil {
			t.Fatal(err)
		}
		want, err := ast.ValueFromReader(strings.NewReader(string(line)))
		if err != nil {
			t.Fatal(err)
		}
		if got.Value.Compare(want) != 0 || got.Value.String() != want.String() {
			t.Fatalf("rules see\n%s\nrecorded is\n%s", got.Value, want)
		}
		if got.Value.Hash() != want.Hash() {
			t.Fatal("hashes differ")
		}
	}
	check(&facts.Input{})
	check(readCall())
	random := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		check(randomInput(random))
	}
	if len(e.tools.terms) == 0 || len(e.lexicals.terms) == 0 {
		t.Error("nothing was remembered: this test does not show the second use")
	}
}

// TestEncodeKeepsNothingOfAnInput holds that a remembered tool is its own.
func TestEncodeRemembersTools(t *testing.T) {
	e := newEncoder()
	in := readCall()
	first, err := e.encode(in)
	if err != nil {
		t.Fatal(err)
	}
	second, err := e.encode(in)
	if err != nil {
		t.Fatal(err)
	}
	key := ast.StringTerm("tool")
	if first.Get(key) != second.Get(key) {
		t.Error("the tool was converted twice")
	}
	for range 2 * maxMemo {
		in := readCall()
		if _, err := e.encode(in); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(e.tools.terms); n > maxMemo {
		t.Errorf("%d tools are remembered", n)
	}
}

// randomInput fills every field of an input by its type.
func randomInput(r *rand.Rand) *facts.Input {
	in := &facts.Input{}
	fill(r, reflect.ValueOf(in).Elem())
	in.V = facts.Version
	return in
}

var someStrings = []string{
	"", "read", "ok", "file", "none", ".env", "src/app.py", "a/../b", "naïve", "\u202e", "\x00", "<&>", "\u2028", "\xff\xfe", "line\nline", "cli", "full",
}

func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if r.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case reflect.Slice:
		n := r.IntN(4)
		if n == 0 {
			return // nil and empty are the same document
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i))
		}
	case reflect.Map:
		m := map[string]any{}
		for i := range r.IntN(4) {
			m[fmt.Sprint("k", i, someStrings[r.IntN(10)])] = randomValue(r, 3)
		}
		v.Set(reflect.ValueOf(m))
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 2049, 1 << 40, -1 << 40, 1<<63 - 1}[r.IntN(7)])
	case reflect.String:
		v.SetString(someStrings[r.IntN(len(someStrings))])
	default:
		panic("a kind of field that this test does not know: " + v.Kind().String())
	}
}

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(7); {
	case n == 0:
		return nil
	case n == 1:
		return r.IntN(2) == 0
	case n == 2:
		return json.Number([]string{"0", "1", "1.0", "1e0", "-0", "9007199254740993", "0.1", "1e308", "123456789012345678901"}[r.IntN(9)])
	case n == 3 && depth > 0:
		list := make([]any, r.IntN(3))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	case n == 4 && depth > 0:
		m := map[string]any{}
		for range r.IntN(3) {
			m[someStrings[r.IntN(10)]] = randomValue(r, depth-1)
		}
		return m
	default:
		return someStrings[r.IntN(len(someStrings))]
	}
}

// TestIndexAndEarlyExitChangeNothing judges the same inputs with OPA's rule
// index and early exit and without: they are optimisations, and have had faults
// (opa#5283, #5585, #1110, #8341, #9318).
func TestIndexAndEarlyExitChangeNothing(t *testing.T) {
	with, without := shipped(t), shipped(t)
	without.plain = true
	effects := map[Effect]int{}
	for i, in := range corpus() {
		a, b := with.Decide(t.Context(), in), without.Decide(t.Context(), in)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("input %d: %+v with, %+v without", i, a, b)
		}
		effects[a.Effect]++
	}
	if effects[Allow] == 0 || effects[Deny] == 0 {
		t.Errorf("the corpus is one-sided: %v", effects)
	}
}

// corpus is readCall with one or two facts changed at a time, and some noise.
func corpus() []*facts.Input {
	random := rand.New(rand.NewPCG(3, 4))
	var list []*facts.Input
	for range 300 {
		in := readCall()
		tool := *in.Tool
		in.Tool = &tool
		for range random.IntN(3) {
			mutate(random, reflect.ValueOf(in).Elem())
		}
		list = append(list, in)
	}
	for range 50 {
		list = append(list, randomInput(random))
	}
	return list
}

// mutate fills one field somewhere below v anew.
func mutate(r *rand.Rand, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		mutate(r, v.Elem())
	case v.Kind() == reflect.Struct:
		mutate(r, v.Field(r.IntN(v.NumField())))
	case v.Kind() == reflect.Slice && v.Len() > 0 && r.IntN(4) > 0:
		mutate(r, v.Index(r.IntN(v.Len())))
	default:
		fill(r, v)
	}
}

// FuzzDecide takes an input as the ledger records it, spoils it, and expects an
// answer: never a panic, never an allow beside an objection.
func FuzzDecide(f *testing.F) {
	e := shipped(f)
	inputs := corpus()
	for i := range 20 {
		f.Add(uint16(i), []byte{byte(7 * i), 250, byte(i), 251, 3, 252, 9})
	}
	f.Fuzz(func(t *testing.T, pick uint16, noise []byte) {
		line, _, err := facts.Encode(inputs[int(pick)%len(inputs)])
		if err != nil {
			t.Fatal(err)
		}
		var in facts.Input
		if err := util.NewJSONDecoder(bytes.NewReader(line)).Decode(&in); err != nil {
			t.Fatal(err)
		}
		disturb(reflect.ValueOf(&in).Elem(), &noise)
		e.log = func(s string) { t.Error(s) }
		v := e.Decide(t.Context(), &in)
		if len(v.Reasons) == 0 {
			t.Fatal("no reasons")
		}
		for _, r := range v.Reasons {
			if (v.Effect == Allow) != (r.Code == "allowed") {
				t.Errorf("%s with %s", v.Effect, r.Code)
			}
			if r.Gate == "" || r.Message == "" {
				t.Errorf("reason %+v", r)
			}
		}
		if v.Effect == Allow && (in.Tool == nil || !in.Tool.Declared) {
			t.Error("an undeclared tool is allowed")
		}
		if v.Reasons[0].Gate == "policy" && v.Reasons[0].Code != "policy_incomplete" {
			t.Errorf("policy trouble: %+v", v.Reasons[0])
		}
	})
}

// disturb changes some of the values in v, as many and to what noise says.
func disturb(v reflect.Value, noise *[]byte) {
	next := func() int {
		if len(*noise) == 0 {
			return 0
		}
		b := (*noise)[0]
		*noise = (*noise)[1:]
		return int(b)
	}
	words := []string{
		"", "read", "list", "write", "delete", "execute", "rename", "fetch", "ok", "absent", "not_found", "loop", "invalid", "file", "directory",
		"fifo", "none", "run", "policy", "ancestor", "hook", "mcp", "cli", "active", "complete", "failed", "full", "cut", ".env", "/", "/etc/passwd", "external",
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			disturb(v.Elem(), noise)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			disturb(v.Field(i), noise)
		}
	case reflect.Slice:
		for i := range v.Len() {
			disturb(v.Index(i), noise)
		}
	case reflect.String:
		if n := next(); n >= 250 {
			v.SetString(words[next()%len(words)])
		} else if n >= 245 {
			v.SetString(string(*noise))
		}
	case reflect.Bool:
		if next() >= 240 {
			v.SetBool(!v.Bool())
		}
	case reflect.Int, reflect.Int64:
		if next() >= 245 {
			v.SetInt([]int64{-1, 0, 1, 5, 50, 1 << 40}[next()%6])
		}
	}
}
