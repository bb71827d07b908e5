package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

// Change is one line of a facts section.
type Change struct {
	Pointer []string // to a fact that is there
	Value   json.RawMessage
}

func (c *Case) parseChange(l line) (Change, error) {
	to, value, found := strings.Cut(l.text, " = ")
	if !found || !json.Valid([]byte(value)) {
		return Change{}, c.problem(l.n, "", "facts: want /POINTER = JSON value")
	}
	parts, err := pointer(strings.TrimSpace(to))
	if err != nil {
		return Change{}, c.problem(l.n, "", "facts: %v", err)
	}
	return Change{parts, json.RawMessage(value)}, nil
}

// Alter is in with the changes put over it. A pointer must lead to a fact that is
// there; one of a list must be in it.
func Alter(in *facts.Input, changes []Change) (*facts.Input, error) {
	text, _, err := facts.Encode(in)
	if err != nil {
		return nil, err
	}
	doc, err := decode(text)
	if err != nil {
		return nil, err
	}
	for _, ch := range changes {
		value, err := decode(ch.Value)
		if err != nil {
			return nil, fmt.Errorf("facts: /%s: %w", strings.Join(ch.Pointer, "/"), err)
		}
		if doc, err = put(doc, ch.Pointer, value); err != nil {
			return nil, fmt.Errorf("facts: /%s: %w", strings.Join(ch.Pointer, "/"), err)
		}
	}
	if text, err = json.Marshal(doc); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	out := &facts.Input{}
	if err := dec.Decode(out); err != nil {
		return nil, fmt.Errorf("facts: %w", err)
	}
	return out, nil
}

func put(doc any, at []string, value any) (any, error) {
	if len(at) == 0 {
		return value, nil
	}
	switch d := doc.(type) {
	case map[string]any:
		inner, there := d[at[0]]
		if !there {
			return nil, fmt.Errorf("no fact %s (%s)", cut(at[0]), didYouMean(at[0], slices.Sorted(maps.Keys(d))))
		}
		inner, err := put(inner, at[1:], value)
		d[at[0]] = inner
		return d, err
	case []any:
		i, err := strconv.Atoi(at[0])
		if err != nil || i < 0 || i >= len(d) {
			return nil, fmt.Errorf("no element %s in a list of %d", cut(at[0]), len(d))
		}
		d[i], err = put(d[i], at[1:], value)
		return d, err
	}
	return nil, errors.New("nothing lies below " + cut(at[0]))
}
