package replay

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
)

func load(t testing.TB, overlay fstest.MapFS) *engine.Engine {
	t.Helper()
	src := engine.Source{FS: os.DirFS("../../policies"), Schemas: os.DirFS("../../schemas")}
	if overlay != nil {
		src.Overlay = overlay
	}
	e, err := engine.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// refusing is an overlay that refuses what this condition is true of.
func refusing(condition string) fstest.MapFS {
	return fstest.MapFS{
		"runlens/rules/site/site.rego": {Data: []byte(`package runlens.rules.site

import data.runlens.lib

# METADATA
# title: the site refuses this
# custom:
#   code: site_refused
deny contains lib.reason(rego.metadata.rule(), {}) if ` + condition + "\n")},
		"runlens/codes/site_refused/data.json": {Data: []byte(`{"gate": "registry", "retryable": false, "remedy": "use another"}`)},
	}
}

// filled is an input in which nothing is empty.
func filled() *facts.Input {
	in := &facts.Input{}
	n := int64(0)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		n++
		switch v.Kind() {
		case reflect.Int, reflect.Int64:
			v.SetInt(n)
		case reflect.String:
			v.SetString(fmt.Sprintf("text %d", n))
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
			v.Set(reflect.ValueOf(map[string]any{"path": "data/a.txt"}))
		}
	}
	fill(reflect.ValueOf(in).Elem())
	in.V = facts.Version
	return in
}

// leaves calls fn with each value of the input that holds no other, by its path.
func leaves(v reflect.Value, path string, fn func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			leaves(v.Field(i), strings.TrimPrefix(path+"."+name, "."), fn)
		}
	case reflect.Pointer:
		leaves(v.Elem(), path, fn)
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i), fn)
		}
		fn(path, v)
	default:
		fn(path, v)
	}
}

// changed changes a leaf and returns what undoes it.
func altered(v reflect.Value) (undo func()) {
	old := reflect.New(v.Type()).Elem()
	old.Set(v)
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Slice:
		v.Set(v.Slice(0, v.Len()-1))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]any{"path": "data/b.txt"}))
	}
	return func() { v.Set(old) }
}

// TestKey: whatever a rule can read is in the key, and nothing else.
func TestKey(t *testing.T) {
	all := []string{"now", "call.id", "call.digest", "run.id"}
	for _, c := range []struct {
		condition string
		unread    []string // all that may change without changing the key
	}{
		{"", all},
		{`startswith(input.now, "2020")`, all[1:]},
		{`input.call.id == "x"`, []string{"now", "call.digest", "run.id"}},
		{`input.run.id == "x"`, all[:3]},
		{`count(input.call) == 0`, []string{"now", "run.id"}},
		{`count(input) == 0`, nil},
	} {
		t.Run(c.condition, func(t *testing.T) {
			engines := []*engine.Engine{load(t, nil)}
			if c.condition != "" {
				engines = append(engines, load(t, refusing(c.condition)))
			}
			m := newMemo(engines)
			key := func(in *facts.Input) digest {
				line, _, err := facts.Encode(in)
				if err != nil {
					t.Fatal(err)
				}
				var d facts.Decoder
				in.V = facts.Version
				r, err := d.Decode(line)
				if err != nil {
					t.Fatal(err)
				}
				return m.key(line, r)
			}
			in := filled()
			base, looked := key(in), 0
			if base == (digest{}) {
				t.Fatal("no key")
			}
			var same []string
			leaves(reflect.ValueOf(in).Elem(), "", func(path string, v reflect.Value) {
				if path == "v" {
					return // inputs of another version are not judged at all
				}
				undo := altered(v)
				if key(in) == base {
					same = append(same, path)
				}
				undo()
				looked++
			})
			slices.Sort(same)
			want := slices.Sorted(slices.Values(c.unread))
			if !slices.Equal(same, want) {
				t.Errorf("changed without effect on the key: %q, want %q", same, want)
			}
			if looked < 150 {
				t.Errorf("%d values were looked at: too few to be all of an input", looked)
			}
			if key(in) != base {
				t.Error("the key of the same input changed: this test undoes too little")
			}
		})
	}
}

// TestKeyKeepsPartsApart moves text from one field to the next.
func TestKeyKeepsPartsApart(t *testing.T) {
	m := newMemo([]*engine.Engine{load(t, nil)})
	key := func(change func(*facts.Input)) digest {
		in := filled()
		change(in)
		line, _, err := facts.Encode(in)
		if err != nil {
			t.Fatal(err)
		}
		var d facts.Decoder
		r, err := d.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		return m.key(line, r)
	}
	a := key(func(in *facts.Input) { in.Run.ID, in.Run.Door, in.Skill.Name = "", "ab", "c" })
	b := key(func(in *facts.Input) { in.Run.ID, in.Run.Door, in.Skill.Name = "", "a", "bc" })
	c := key(func(in *facts.Input) { in.Call.ID, in.Call.Tool = "read", "" })
	d := key(func(in *facts.Input) { in.Call.ID, in.Call.Tool = "", "read" })
	if a == b || c == d {
		t.Error("two inputs have one key")
	}
	if long := key(func(in *facts.Input) { in.Call.Tool = strings.Repeat("x", maxMemoInput) }); long != (digest{}) {
		t.Error("an input so long that its length could decide has a key")
	}
}

// TestMemoIsBounded holds what was asked for lately, and no more than twice maxMemo.
func TestMemoIsBounded(t *testing.T) {
	var m memo
	name := func(i int) memoKey { return memoKey{0, digest{byte(i), byte(i >> 8), byte(i >> 16), 1}} }
	for i := range 10 * maxMemo {
		m.put(name(i), engine.Verdict{MaxBytes: int64(i)})
		if v, ok := m.get(name(0)); !ok || v.MaxBytes != 0 {
			t.Fatalf("after %d more the verdict that is always asked for is gone: %v %v", i, v, ok)
		}
	}
	if n := len(m.held) + len(m.retired); n > 2*maxMemo+1 {
		t.Errorf("%d verdicts are held", n)
	}
	if _, ok := m.get(name(1)); ok {
		t.Error("what nobody asked for is still held")
	}
	if v, ok := m.get(name(10*maxMemo - 1)); !ok || v.MaxBytes != 10*maxMemo-1 {
		t.Errorf("the last verdict: %v %v", v, ok)
	}
	if _, ok := m.get(memoKey{1, name(0).input}); ok {
		t.Error("the verdict of one tree came for another")
	}
}
