package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/engine"
)

// most is how many names a note of the static part lists.
const most = 20

// static says how the two trees differ as text: what a reader looks at first.
func (d *differ) static() ([]string, error) {
	if d.old.e.Revision() == d.now.e.Revision() {
		return []string{"OLD and NEW are the same policies: no verdict can differ"}, nil
	}
	was, err := d.old.e.Data()
	if err != nil {
		return nil, err
	}
	is, err := d.now.e.Data()
	if err != nil {
		return nil, err
	}
	var notes []string
	for _, part := range []struct {
		what string
		of   func(e *engine.Engine) []string
	}{{"families", families}, {"rules", ruleTitles}, {"codes", codeNames}} {
		old, now := part.of(d.old.e), part.of(d.now.e)
		notes = append(notes, listed(part.what+" only in OLD", less(old, now))...)
		notes = append(notes, listed(part.what+" only in NEW", less(now, old))...)
	}
	notes = append(notes, listed("data that differs", dataDiffers("", was, is))...)
	if len(notes) == 0 {
		notes = []string{"families, titles of rules, codes and data are the same: what differs is how rules are written"}
	}
	return notes, nil
}

func listed(what string, names []string) []string {
	if len(names) == 0 {
		return nil
	}
	more := ""
	if len(names) > most {
		more = fmt.Sprintf("; and %d more", len(names)-most)
		names = names[:most]
	}
	return []string{what + ": " + strings.Join(names, "; ") + more}
}

func less(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return slices.Contains(b, name) })
}

func families(e *engine.Engine) (list []string) {
	for _, r := range e.Rules() {
		list = append(list, r.Family)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func ruleTitles(e *engine.Engine) (list []string) {
	for _, r := range e.Rules() {
		list = append(list, fmt.Sprintf("%s %s %s (%s)", r.Family, r.Kind, r.Code, r.Title))
	}
	return list
}

func codeNames(e *engine.Engine) (list []string) {
	for _, c := range e.Codes() {
		list = append(list, c.Code)
	}
	return list
}

// dataDiffers names the data that differs, with values only where they are short.
func dataDiffers(at string, was, is map[string]any) (list []string) {
	keys := maps.Clone(was)
	maps.Copy(keys, is)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		old, had := was[key]
		now, has := is[key]
		below, both := old.(map[string]any)
		beside, too := now.(map[string]any)
		if both && too {
			list = append(list, dataDiffers(at+key+".", below, beside)...)
			continue
		}
		before, after := shortValue(old, had), shortValue(now, has)
		if same(old, now) && had == has {
			continue
		}
		list = append(list, fmt.Sprintf("%s%s: %s → %s", at, key, before, after))
	}
	return list
}

func same(a, b any) bool {
	was, err := json.Marshal(a)
	is, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(was) == string(is)
}

func shortValue(v any, there bool) string {
	if !there {
		return "nothing"
	}
	switch v := v.(type) {
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("an object with %d keys", len(v))
	}
	text, err := json.Marshal(v)
	if err != nil || len(text) > 40 {
		return "a long text"
	}
	return string(text)
}
