package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/runlens/runlens/internal/call"
)

// base reads call.json of a case with patches.
func (c *Case) base(text string) (any, error) {
	// By the rules for calls, so that a key that is there twice, of which a patch
	// would drop one, is seen.
	if _, err := call.Object([]byte(strings.TrimSpace(text)), "call.json"); err != nil {
		return nil, c.problem(c.sections["call.json"].line, "a call that is no JSON object goes into a calls section", "patches need a call: %v", err)
	}
	return decode([]byte(text))
}

// patch reads a row of a patches section: NAME: CHANGE; CHANGE => wanted.
func (p *parser) patch(l line, call string, doc any) {
	name, rest, found := strings.Cut(l.text, ":")
	name = strings.TrimSpace(name)
	if !found || name == "" || strings.ContainsAny(name, `"/=`) {
		p.add(l.n, "", "row of patches: want NAME: /POINTER = JSON %s verdict and codes", arrow)
		return
	}
	if slices.ContainsFunc(p.c.Rows, func(r Row) bool { return r.Name == name }) {
		p.add(l.n, "", "patch %s is there twice", cut(name))
		return
	}
	changes, n, err := readChanges(rest)
	if err != nil {
		p.add(l.n, "", "patch %s: %v", cut(name), err)
		return
	}
	if len(changes) > 0 {
		if call, err = patched(doc, changes); err != nil {
			p.add(l.n, "", "patch %s: %v", cut(name), err)
			return
		}
	}
	p.row(p.behind(l, len(l.text)-len(rest)+n, Row{Name: name, Call: call}))
}

// edit is one change of a patch.
type edit struct {
	shown   string
	pointer []string
	value   json.RawMessage // nil: removed
}

// readChanges reads the changes of a row up to and with the arrow, which ends at n.
func readChanges(text string) (list []edit, n int, err error) {
	skip := func() {
		n += len(text[n:]) - len(strings.TrimLeft(text[n:], " \t"))
	}
	for skip(); !strings.HasPrefix(text[n:], arrow); skip() {
		if len(list) > 0 {
			if !strings.HasPrefix(text[n:], ";") {
				return nil, 0, fmt.Errorf("want \";\" or %q behind %s", arrow, cut(list[len(list)-1].shown))
			}
			n++
			skip()
		}
		one, used, err := readEdit(text[n:])
		if err != nil {
			return nil, 0, err
		}
		list, n = append(list, one), n+used
	}
	return list, n + len(arrow), nil
}

// readEdit reads one change: /POINTER = JSON, or /POINTER removed. A pointer with
// spaces is a JSON string.
func readEdit(text string) (e edit, n int, err error) {
	if strings.HasPrefix(text, `"`) {
		dec := json.NewDecoder(strings.NewReader(text))
		if err := dec.Decode(&e.shown); err != nil {
			return e, 0, fmt.Errorf("pointer %s is no JSON string", cut(text))
		}
		n = int(dec.InputOffset())
	} else {
		if n = strings.IndexAny(text, " \t;"); n < 0 {
			n = len(text)
		}
		e.shown = text[:n]
	}
	if e.pointer, err = pointer(e.shown); err != nil {
		return e, 0, err
	}
	n += len(text[n:]) - len(strings.TrimLeft(text[n:], " \t"))
	if strings.HasPrefix(text[n:], "removed") {
		if len(e.pointer) == 0 {
			return e, 0, fmt.Errorf("the whole call can't be removed")
		}
		return e, n + len("removed"), nil
	}
	if !strings.HasPrefix(text[n:], "=") || strings.HasPrefix(text[n:], arrow) {
		return e, 0, fmt.Errorf("want \"= JSON\" or \"removed\" behind %s", cut(e.shown))
	}
	n++
	dec := json.NewDecoder(strings.NewReader(text[n:]))
	if err := dec.Decode(&e.value); err != nil {
		return e, 0, fmt.Errorf("%s: no JSON value behind \"=\"", cut(e.shown))
	}
	return e, n + int(dec.InputOffset()), nil
}

// pointer reads a JSON pointer, RFC 6901.
func pointer(text string) ([]string, error) {
	if text == "" {
		return nil, fmt.Errorf("no pointer: it begins with \"/\"")
	}
	if text[0] != '/' {
		return nil, fmt.Errorf("pointer %s does not begin with \"/\"", cut(text))
	}
	parts := strings.Split(text[1:], "/")
	for i, part := range parts {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(part), "~") {
			return nil, fmt.Errorf("pointer %s has \"~\" without 0 or 1 behind it (RFC 6901)", cut(text))
		}
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts, nil
}

// patched is the call with the changes made, written anew.
func patched(doc any, changes []edit) (string, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return "", err
	}
	if doc, err = decode(text); err != nil { // a copy: the next patch starts anew
		return "", err
	}
	for _, ch := range changes {
		var value any
		if ch.value != nil {
			if value, err = decode(ch.value); err != nil {
				return "", err
			}
		}
		if doc, err = changed(doc, ch.pointer, value, ch.value == nil); err != nil {
			return "", fmt.Errorf("%s: %w", cut(ch.shown), err)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(doc)
	return strings.TrimSpace(b.String()), err
}

// changed is doc with the value at the pointer set or removed. The last element
// may be new in an object, and "-" appends to a list.
func changed(doc any, at []string, value any, remove bool) (any, error) {
	if len(at) == 0 {
		return value, nil
	}
	last := len(at) == 1
	switch d := doc.(type) {
	case map[string]any:
		inner, there := d[at[0]]
		switch {
		case !there && (!last || remove):
			return nil, fmt.Errorf("the call has no %s there (%s)", cut(at[0]), didYouMean(at[0], slices.Sorted(maps.Keys(d))))
		case last && remove:
			delete(d, at[0])
			return d, nil
		}
		inner, err := changed(inner, at[1:], value, remove)
		d[at[0]] = inner
		return d, err
	case []any:
		if last && at[0] == "-" && !remove {
			return append(d, value), nil
		}
		i, err := strconv.Atoi(at[0])
		if err != nil || i < 0 || i >= len(d) || strconv.Itoa(i) != at[0] {
			return nil, fmt.Errorf("the list there has no element %s", cut(at[0]))
		}
		if last && remove {
			return slices.Delete(d, i, i+1), nil
		}
		d[i], err = changed(d[i], at[1:], value, remove)
		return d, err
	}
	return nil, fmt.Errorf("nothing lies below %s", cut(at[0]))
}

// decode reads one JSON value; numbers stay as they are spelt.
func decode(data []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, err
}
