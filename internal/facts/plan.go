package facts

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// plan is how the recorded form of a type is read: in exactly the form that
// encoding/json writes it in, so that what was read is written as it was.
type plan struct {
	kind   reflect.Kind
	fields []fieldPlan // of a struct
	elem   *plan       // of a slice or pointer
}

type fieldPlan struct {
	name string
	lead []byte // what stands before the value: `{"v":`, `,"call":`
	plan *plan
}

// planOf panics on a type that no input has; the tests of this package read all.
func planOf(t reflect.Type) *plan {
	p := &plan{kind: t.Kind()}
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			lead := `,"` + name + `":`
			if i == 0 {
				lead = `{"` + name + `":`
			}
			p.fields = append(p.fields, fieldPlan{name, []byte(lead), planOf(t.Field(i).Type)})
		}
	case reflect.Slice, reflect.Pointer:
		p.elem = planOf(t.Elem())
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.String, reflect.Map:
	default:
		panic("facts: no recorded form for " + t.String())
	}
	return p
}

// in puts a field before the one that an error names.
func (e *Foreign) in(field string) *Foreign {
	switch {
	case e.Field == "":
	case e.Field[0] == '[':
		field += e.Field
	default:
		field += "." + e.Field
	}
	return &Foreign{field, e.Cause}
}

// reader stands at a place of a recorded document.
type reader struct {
	b []byte
	i int
}

func (r *reader) take(word string) bool {
	if len(r.b)-r.i < len(word) || string(r.b[r.i:r.i+len(word)]) != word {
		return false
	}
	r.i += len(word)
	return true
}

var altered = &Foreign{Cause: isAltered}

// read reads a value into v.
func (p *plan) read(r *reader, v reflect.Value) *Foreign {
	switch p.kind {
	case reflect.Bool:
		if r.take("true") {
			v.SetBool(true)
			return nil
		}
		if r.take("false") {
			return nil
		}
	case reflect.Int, reflect.Int64:
		if n, ok := r.integer(); ok {
			v.SetInt(n)
			return nil
		}
	case reflect.String:
		if s, ok := r.text(); ok {
			v.SetString(s)
			return nil
		}
	case reflect.Struct:
		return p.object(r, v)
	case reflect.Slice:
		return p.list(r, v)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return p.elem.read(r, v.Elem())
	case reflect.Map:
		if m, ok := r.arguments(); ok {
			v.Set(reflect.ValueOf(m))
			return nil
		}
	}
	return altered
}

func (p *plan) object(r *reader, v reflect.Value) *Foreign {
	start := r.i
	for i := range p.fields {
		f := &p.fields[i]
		if !bytes.HasPrefix(r.b[r.i:], f.lead) {
			return p.why(r.b[start:], f.name)
		}
		r.i += len(f.lead)
		if bad := f.plan.read(r, v.Field(i)); bad != nil {
			return bad.in(f.name)
		}
	}
	if !r.take("}") {
		return p.why(r.b[start:], "")
	}
	return nil
}

// why says what is wrong with an object whose members aren't the ones it should
// have.
func (p *plan) why(b []byte, near string) *Foreign {
	n := Skip(b)
	var have map[string]json.RawMessage
	if n == 0 || json.Unmarshal(b[:n], &have) != nil || have == nil {
		return &Foreign{near, isAltered}
	}
	return p.compare(have, near)
}

// compare names the first field that is missing, else one that is too much.
func (p *plan) compare(have map[string]json.RawMessage, near string) *Foreign {
	for _, f := range p.fields {
		if _, ok := have[f.name]; !ok {
			return &Foreign{f.name, isMissing}
		}
		delete(have, f.name)
	}
	var more []string
	for name := range have {
		more = append(more, name)
	}
	if len(more) == 0 {
		return &Foreign{near, isAltered}
	}
	return &Foreign{strconv.QuoteToASCII(cut(slices.Min(more))), isForeign}
}

func cut(s string) string { return s[:min(len(s), 100)] }

func (p *plan) list(r *reader, v reflect.Value) *Foreign {
	if !r.take("[") {
		return altered
	}
	list := reflect.MakeSlice(v.Type(), 0, 1)
	if r.take("]") {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return nil
	}
	for n := 0; ; n++ {
		if n == list.Cap() {
			list = grown(list, n)
		}
		list = list.Slice(0, n+1)
		if bad := p.elem.read(r, list.Index(n)); bad != nil {
			return bad.in("[" + strconv.Itoa(n) + "]")
		}
		if r.take("]") {
			v.Set(list)
			return nil
		}
		if !r.take(",") {
			return altered
		}
	}
}

func grown(list reflect.Value, n int) reflect.Value {
	wider := reflect.MakeSlice(list.Type(), n, 2*n+2)
	reflect.Copy(wider, list)
	return wider
}

func (r *reader) integer() (int64, bool) {
	start := r.i
	for r.i < len(r.b) && (r.b[r.i] == '-' || r.b[r.i] >= '0' && r.b[r.i] <= '9') {
		r.i++
	}
	text := string(r.b[start:r.i])
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && (len(text) == 1 || strconv.FormatInt(n, 10) == text)
}

// text reads a string. Without a backslash its bytes are the string; one with
// escapes is written again and compared.
func (r *reader) text() (string, bool) {
	start := r.i
	n := skipText(r.b[start:])
	if n == 0 {
		return "", false
	}
	r.i += n
	inside := r.b[start+1 : r.i-1]
	if isPlain(inside) {
		return string(inside), true
	}
	var s string
	if json.Unmarshal(r.b[start:r.i], &s) != nil {
		return "", false
	}
	again, err := written(s)
	return s, err == nil && bytes.Equal(again, r.b[start:r.i])
}

// isPlain says whether encoding/json writes text as it is.
func isPlain(text []byte) bool {
	ascii := true
	for _, c := range text {
		if c < 0x20 || c == '\\' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.Valid(text) && !bytes.Contains(text, []byte("\u2028")) && !bytes.Contains(text, []byte("\u2029"))
}

// arguments are read by encoding/json, and written again to compare.
func (r *reader) arguments() (map[string]any, bool) {
	n := Skip(r.b[r.i:])
	raw := r.b[r.i : r.i+n]
	if n < 2 || raw[0] != '{' {
		return nil, false
	}
	r.i += n
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	m := map[string]any{}
	if n == 2 {
		return m, true
	}
	if dec.Decode(&m) != nil {
		return nil, false
	}
	again, err := written(m)
	return m, err == nil && bytes.Equal(again, raw)
}

func written(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
