package facts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/facts"
)

// full is an input in which no field is zero, and every list has two members.
func full(t testing.TB) *facts.Input {
	t.Helper()
	n := int64(0)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		n++
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(n%2 == 0)
		case reflect.Int, reflect.Int64:
			v.SetInt(n - 40)
		case reflect.String:
			v.SetString(fmt.Sprintf("t%d \"\\\n\t<&>é\u2028\x7f", n))
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem())
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		case reflect.Map:
			v.Set(reflect.ValueOf(map[string]any{
				"b": json.Number("1e3"), "a": []any{nil, true, "x\u2029", map[string]any{"<": ""}}, "c": map[string]any{},
			}))
		default:
			t.Fatalf("%s: this test does not know such a field", v.Type())
		}
	}
	in := &facts.Input{}
	fill(reflect.ValueOf(in).Elem())
	in.V, in.Now = facts.Version, "2026-01-02T03:04:05.000000Z"
	return in
}

func encode(t testing.TB, in *facts.Input) ([]byte, string) {
	t.Helper()
	line, digest, err := facts.Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	return line, digest
}

func TestDecodeWhatEncodeWrites(t *testing.T) {
	var d facts.Decoder
	for name, in := range map[string]*facts.Input{"full": full(t), "zero": {V: facts.Version}} {
		line, digest := encode(t, in)
		for range 2 { // the second time from the parts that are kept
			got, err := d.Decode(line)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if want := facts.Total(in); !reflect.DeepEqual(got.Input, want) {
				t.Errorf("%s:\n got %+v\nwant %+v", name, got.Input, want)
			}
			if got.Digest != digest {
				t.Errorf("%s: digest is %s, want %s", name, got.Digest, digest)
			}
			if names := facts.PartNames(); len(names) != len(got.Parts) || names[2] != "tool" || !bytes.HasPrefix(got.Parts[2], []byte(`{"declared":`)) {
				t.Errorf("%s: parts are not those of the fields: %v, %s", name, names, got.Parts[2])
			}
			again, _ := encode(t, got.Input)
			if !bytes.Equal(again, line) {
				t.Errorf("%s: is written as\n%s\nnot as\n%s", name, again, line)
			}
		}
	}
}

// TestDecodeSharesTheTool: the engine keeps what it made of a tool by its address.
func TestDecodeSharesTheTool(t *testing.T) {
	var d facts.Decoder
	in := full(t)
	first, _ := encode(t, in)
	in.Call.ID = "another"
	second, _ := encode(t, in)
	a, errA := d.Decode(first)
	b, errB := d.Decode(second)
	if errA != nil || errB != nil || a.Input.Tool != b.Input.Tool {
		t.Errorf("two inputs with one tool: %v, %v, shared: %t", errA, errB, a.Input.Tool == b.Input.Tool)
	}
}

// TestDecodeRefusesOtherFields takes every field out, and puts one more into every
// object.
func TestDecodeRefusesOtherFields(t *testing.T) {
	line, _ := encode(t, full(t))
	tried := 0
	var walk func(path string, object []byte, with func([]byte) []byte)
	refused := func(what, field string, changed []byte) {
		t.Helper()
		tried++
		_, err := facts.Decode(changed)
		foreign, is := errors.AsType[*facts.Foreign](err)
		if !is || foreign.Field != field {
			t.Errorf("%s: %v, want field %s", what, err, field)
		}
	}
	walk = func(path string, object []byte, with func([]byte) []byte) {
		more := append(bytes.TrimSuffix(bytes.Clone(object), []byte("}")), `,"extra":0}`...)
		refused(path+" with more", strings.TrimPrefix(path+`."extra"`, "."), with(more))
		facts.Members(object, func(name, value []byte) bool {
			at := strings.TrimPrefix(path+"."+string(name), ".")
			member := append(append([]byte(`"`), name...), `":`...)
			member = append(member, value...)
			rest := bytes.Replace(object, append([]byte(","), member...), nil, 1)
			if len(rest) == len(object) {
				rest = bytes.Replace(object, append(member, ','), nil, 1)
			}
			refused("without "+at, at, with(rest))
			inside := func(changed []byte) []byte {
				return with(bytes.Replace(object, member, append(append(append([]byte(`"`), name...), `":`...), changed...), 1))
			}
			switch {
			case string(name) == "arguments":
			case value[0] == '{':
				walk(at, value, inside)
			case bytes.HasPrefix(value, []byte("[{")):
				first := value[1 : 1+facts.Skip(value[1:])]
				walk(at+"[0]", first, func(changed []byte) []byte {
					return inside(append(append([]byte("["), changed...), value[1+len(first):]...))
				})
			}
			return true
		})
	}
	walk("", line, func(b []byte) []byte { return b })
	if tried < 150 {
		t.Errorf("%d changes were tried: the walk does not reach all fields", tried)
	}
}

// TestDecodeIsExact: whatever is accepted is written again as it was, byte for byte.
func TestDecodeIsExact(t *testing.T) {
	line, _ := encode(t, full(t))
	accepted := 0
	try := func(changed []byte) {
		in, err := facts.Decode(changed)
		if err != nil {
			return
		}
		accepted++
		if again, _ := encode(t, in); !bytes.Equal(again, changed) {
			t.Fatalf("accepted:\n%s\nwritten:\n%s", changed, again)
		}
	}
	for i := 0; i < len(line); i += 7 { // 7 meets all of a field's bytes in one field or another
		for _, c := range []byte("0-\"\\,:{}[] \ne\xff") {
			changed := bytes.Clone(line)
			changed[i] = c
			try(changed)
		}
		try(line[:i])
		try(append(bytes.Clone(line[:i]), line[i+1:]...))
	}
	if accepted == 0 {
		t.Error("no change was accepted: the test proves nothing")
	}
	for _, bad := range []string{"", "null", "[]", "{}", "{", `"x"`, strings.Repeat("[", 100_000)} {
		if _, err := facts.Decode([]byte(bad)); err == nil {
			t.Errorf("%.20q was accepted", bad)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	line, _ := encode(b, full(b))
	var d facts.Decoder
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(line); err != nil {
			b.Fatal(err)
		}
	}
}
