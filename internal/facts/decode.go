package facts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

// Foreign is what Decode says of a line that Encode would not have written so: one
// of another version of RunLens, or one that somebody has changed.
type Foreign struct {
	Field string // the first that differs, as "targets[0].place"; "" when the line is no such document at all
	Cause string // "is missing", "isn't one of this version", "isn't in its recorded form"
}

func (e *Foreign) Error() string {
	if e.Field == "" {
		return "decode input: the document " + e.Cause
	}
	return fmt.Sprintf("decode input: %s %s", e.Field, e.Cause)
}

const (
	isMissing = "is missing"
	isForeign = "isn't one of this version"
	isAltered = "isn't in its recorded form"
)

// Decode reads the recorded form of an input. It takes exactly what Encode writes:
// a line that lacks a field, has one more, or spells a value in another way is a
// *Foreign. So an input that was read is all of what was recorded.
func Decode(line []byte) (*Input, error) {
	var d Decoder
	r, err := d.Decode(line)
	if err != nil {
		return nil, err
	}
	return r.Input, nil
}

// Decoder is Decode for many lines. Parts that many inputs have in common, such as
// the tool, are read once and shared: what it returns must not be changed. It is
// safe for concurrent use; the zero value is ready.
type Decoder struct {
	mu    sync.RWMutex
	parts [numParts]map[string]reflect.Value
	held  [numParts]int // bytes of the keys of parts
}

// Recorded is an input and the line that it was read from.
type Recorded struct {
	Input  *Input
	Digest string           // of the line, as Encode gives it
	Parts  [numParts][]byte // of the line: the values of Input's fields, in the order of PartNames
}

const (
	numParts = 12
	maxPart  = 16 << 10 // bytes of a part that is kept
	maxParts = 1 << 20  // bytes of what is kept of one field
)

// kept are the fields that stay the same from call to call.
var kept = [numParts]bool{2: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true}

// inputPlan is made when first asked for: most processes read no record.
var inputPlan = sync.OnceValue(func() *plan { return planOf(reflect.TypeFor[Input]()) })

// PartNames are the fields of Input, in order.
func PartNames() []string {
	names := make([]string, 0, numParts)
	for _, f := range inputPlan().fields {
		names = append(names, f.name)
	}
	return names
}

// Decode reads one line.
func (d *Decoder) Decode(line []byte) (*Recorded, error) {
	r := &Recorded{Input: &Input{}}
	rest, fields := line, inputPlan().fields
	for i := range fields {
		f := &fields[i]
		if !bytes.HasPrefix(rest, f.lead) {
			return nil, differs(line, f.name)
		}
		rest = rest[len(f.lead):]
		n := Skip(rest)
		if n == 0 {
			return nil, &Foreign{f.name, isAltered}
		}
		r.Parts[i], rest = rest[:n:n], rest[n:]
	}
	if string(rest) != "}" {
		return nil, differs(line, "")
	}
	into := reflect.ValueOf(r.Input).Elem()
	for i := range fields {
		if err := d.part(i, &fields[i], r.Parts[i], into.Field(i)); err != nil {
			return nil, err
		}
	}
	if r.Input.V != Version {
		return nil, &Foreign{"v", isForeign}
	}
	r.Digest = timelessDigest(line, len(r.Parts[numParts-1]))
	return r, nil
}

// timelessDigest is the digest of a line whose last value, Now, has n bytes.
func timelessDigest(line []byte, n int) string {
	h := sha256.New()
	h.Write(line[:len(line)-1-n])
	h.Write([]byte(`""}`))
	var sum [sha256.Size]byte
	return "sha256:" + hex.EncodeToString(h.Sum(sum[:0]))
}

// part reads the value of one field, or takes the one that was read of the same
// bytes before.
func (d *Decoder) part(i int, f *fieldPlan, raw []byte, into reflect.Value) error {
	if !kept[i] || len(raw) > maxPart {
		return f.read(raw, into)
	}
	d.mu.RLock()
	have, ok := d.parts[i][string(raw)]
	d.mu.RUnlock()
	if ok {
		into.Set(have)
		return nil
	}
	if err := f.read(raw, into); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if have, ok := d.parts[i][string(raw)]; ok {
		into.Set(have) // somebody was faster: all are to share one
		return nil
	}
	if d.parts[i] == nil || d.held[i] > maxParts {
		d.parts[i], d.held[i] = map[string]reflect.Value{}, 0
	}
	value := reflect.New(into.Type()).Elem()
	value.Set(into)
	d.parts[i][string(raw)] = value
	d.held[i] += len(raw)
	return nil
}

// read reads the whole of raw as the field's value.
func (f *fieldPlan) read(raw []byte, into reflect.Value) error {
	r := reader{b: raw}
	if bad := f.plan.read(&r, into); bad != nil {
		return bad.in(f.name)
	}
	if r.i != len(raw) {
		return &Foreign{f.name, isAltered}
	}
	return nil
}

// differs finds the first field of the document that is missing, or one that is too
// much.
func differs(line []byte, near string) error {
	var have map[string]json.RawMessage
	if json.Unmarshal(line, &have) != nil || have == nil {
		return &Foreign{near, isAltered}
	}
	return inputPlan().compare(have, near)
}
