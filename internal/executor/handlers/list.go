package handlers

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
)

// Bounds of a listing.
const (
	maxEntries = 1_000  // returned
	maxVisited = 20_000 // opened and put to Admit
	maxLevels  = 64     // below the directory that was asked for
)

// listFiles lists a directory: names sorted by code point, with kind and size.
// Every entry is opened and put to Grant.Admit; a refused one is dropped and
// counted in withheld_entries, and a refused directory is not entered. Links are
// shown as links and not followed.
func listFiles() Handler {
	return Handler{
		Handler: manifest.Handler{
			Name:       "list_files",
			Operations: []string{facts.List},
			Targets:    []manifest.Target{{Param: "path", Access: facts.List}},
			Input: schema(map[string]any{
				"path":      kind("string", "the directory to list, counted from the project directory"),
				"recursive": map[string]any{"type": "boolean", "default": false, "description": "list what lies below, too"},
			}, "recursive"),
			Output: listing(),
		},
		Run: func(ctx context.Context, g *Grant) (Result, error) { return list(ctx, g, "path") },
	}
}

// listRunFiles lists the artifacts of the run.
func listRunFiles() Handler {
	return Handler{
		Handler: manifest.Handler{
			Name:       "list_run_files",
			Operations: []string{facts.List},
			Targets:    []manifest.Target{{Access: facts.List, Template: artifacts}},
			Input: schema(map[string]any{
				"recursive": map[string]any{"type": "boolean", "default": false, "description": "list what lies below, too"},
			}, "recursive"),
			Output: listing(),
		},
		Run: func(ctx context.Context, g *Grant) (Result, error) { return list(ctx, g, "") },
	}
}

func listing() []byte {
	return schema(map[string]any{
		"path": kind("string", ""),
		"entries": map[string]any{"type": "array", "items": map[string]any{
			"type": "object", "additionalProperties": false,
			"required": []string{"name", "kind", "size"},
			"properties": map[string]any{
				"name": kind("string", "counted from the listed directory"),
				"kind": map[string]any{"enum": []string{
					facts.File, facts.Directory, facts.Symlink, facts.FIFO, facts.Socket, facts.CharDevice, facts.BlockDevice,
				}},
				"size": kind("integer", "bytes of a file, else 0"),
			},
		}},
		"withheld_entries": kind("integer", "entries that may not be shown"),
		"truncated":        kind("boolean", "the directory has more entries"),
	})
}

func list(ctx context.Context, g *Grant, param string) (Result, error) {
	o, label, err := g.object(param)
	if err != nil {
		return Result{}, err
	}
	l := lister{admit: g.Admit, recursive: g.boolean("recursive")}
	if err := l.directory(ctx, o, "", 0); err != nil {
		return Result{}, objectError("list directory", err)
	}
	sort.Slice(l.found, func(i, j int) bool { return l.found[i].name < l.found[j].name })
	if len(l.found) > maxEntries {
		l.found, l.cut = l.found[:maxEntries], true
	}
	entries, text := l.render()
	return Result{Truncated: l.cut, Observation: text, Output: map[string]any{
		"path": label, "entries": entries, "withheld_entries": l.withheld, "truncated": l.cut,
	}}, nil
}

// entry is one line of a listing.
type entry struct {
	name, kind string
	size       int64
}

// lister walks a granted directory, one level of handles at a time.
type lister struct {
	admit     func(*resolve.Object) bool
	recursive bool

	found    []entry
	visited  int
	withheld int
	cut      bool
}

// directory lists o, whose own name below the listed directory is prefix.
func (l *lister) directory(ctx context.Context, o *resolve.Object, prefix string, level int) error {
	names, more, err := o.Entries(maxVisited - l.visited)
	if err != nil {
		return err
	}
	l.cut = l.cut || more
	sort.Slice(names, func(i, j int) bool { return names[i].Name < names[j].Name })
	for _, e := range names {
		if ctx.Err() != nil {
			return &Error{Code: CodeTimeout, Message: "list directory: the deadline came first"}
		}
		if l.visited >= maxVisited {
			l.cut = true
			return nil
		}
		l.visited++
		if err := l.child(ctx, o, prefix, e, level); err != nil {
			return err
		}
	}
	return nil
}

// child opens one entry, shows it when it may be shown, and enters it when it is
// a directory to enter.
func (l *lister) child(ctx context.Context, parent *resolve.Object, prefix string, e resolve.Entry, level int) error {
	child := parent.Child(e.Name)
	defer child.Close()
	f := &child.Facts
	if f.Resolution == facts.NotFound && e.Kind != facts.Symlink {
		return nil // removed since the directory was read
	}
	if l.admit == nil || !utf8.ValidString(e.Name) || !l.admit(child) {
		l.withheld++
		return nil
	}
	shown := entry{name: prefix + e.Name, kind: f.Kind}
	if e.Kind == facts.Symlink || f.Kind == facts.None {
		shown.kind = e.Kind
	}
	if shown.kind == facts.File {
		shown.size = f.Size
	}
	l.found = append(l.found, shown)
	if !l.recursive || shown.kind != facts.Directory {
		return nil
	}
	if level == maxLevels || l.visited >= maxVisited {
		l.cut = true
		return nil
	}
	if err := l.directory(ctx, child, shown.name+"/", level+1); err != nil {
		var e *Error
		if errors.As(err, &e) {
			return err
		}
		l.withheld++ // a directory that can't be read is shown without its entries
	}
	return nil
}

// render makes the output and its text.
func (l *lister) render() (entries []any, text string) {
	entries = make([]any, 0, len(l.found))
	var b strings.Builder
	for _, e := range l.found {
		entries = append(entries, map[string]any{"name": e.name, "kind": e.kind, "size": e.size})
		switch e.kind {
		case facts.File:
			fmt.Fprintf(&b, "%s\t%d\n", oneLine(e.name), e.size)
		case facts.Directory:
			fmt.Fprintf(&b, "%s/\n", oneLine(e.name))
		default:
			fmt.Fprintf(&b, "%s\t(%s)\n", oneLine(e.name), e.kind)
		}
	}
	if len(l.found) == 0 {
		b.WriteString("(no entries)\n")
	}
	if l.withheld > 0 {
		fmt.Fprintf(&b, "(withheld: %d)\n", l.withheld)
	}
	if l.cut {
		fmt.Fprintf(&b, "(there are more; these are the first %d)\n", len(l.found))
	}
	return entries, b.String()
}

// oneLine keeps a name with a line feed or tab in it from looking like several.
func oneLine(name string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(name)
}
