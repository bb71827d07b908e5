package facts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Encode returns the recorded form of in, one line of JSON without a newline,
// and its digest, sha256:<hex> over that line with Now left out.
// The same facts give the same bytes: fields stand in the order of the types,
// keys of arguments are sorted, numbers are kept as they were spelt.
func Encode(in *Input) (line []byte, digest string, err error) {
	timeless := Total(in)
	timeless.Now = ""
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(timeless); err != nil {
		return nil, "", fmt.Errorf("encode input: %w", err)
	}
	line = bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	sum := sha256.Sum256(line)
	// Now is the last field, so that it can be set without encoding twice.
	now, err := json.Marshal(in.Now)
	if err != nil {
		return nil, "", fmt.Errorf("encode input: %w", err)
	}
	line = append(bytes.TrimSuffix(line, []byte(`""}`)), now...)
	return append(line, '}'), "sha256:" + hex.EncodeToString(sum[:]), nil
}

// Total returns a copy of in in which every list is present, so that nil and
// empty are the same document, and Tool is set.
func Total(in *Input) *Input {
	out := *in
	if out.Call.Arguments == nil {
		out.Call.Arguments = map[string]any{}
	}
	out.Call.Payloads = each(out.Call.Payloads, func(p *Payload) { p.Kinds = list(p.Kinds) })
	out.Call.Withheld = each(out.Call.Withheld, func(w *Withheld) { w.Kinds = list(w.Kinds) })
	out.Tool = TotalTool(out.Tool)
	out.Targets = each(out.Targets, func(t *Target) {
		t.Segments, t.Folded, t.Below = list(t.Segments), list(t.Folded), list(t.Below)
	})
	out.Command.Argv, out.Command.Run = list(out.Command.Argv), list(out.Command.Run)
	out.Skill.Tools = list(out.Skill.Tools)
	out.Plan.Step.Tools = list(out.Plan.Step.Tools)
	out.Contract.Drift = list(out.Contract.Drift)
	out.Approvals = list(out.Approvals)
	return &out
}

// TotalTool is Total for a tool; nil gives an undeclared tool.
func TotalTool(t *Tool) *Tool {
	if t == nil {
		t = &Tool{}
	}
	out := *t
	out.Roots = each(out.Roots, func(r *Root) { r.Access = list(r.Access) })
	commands := make([][]string, 0, len(out.Commands))
	for _, c := range out.Commands {
		commands = append(commands, list(c))
	}
	out.Commands = commands
	patterns := make([][]Part, 0, len(out.Patterns))
	for _, p := range out.Patterns {
		patterns = append(patterns, each(p, func(part *Part) { part.Values = list(part.Values) }))
	}
	out.Patterns = patterns
	return &out
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func each[T any](s []T, fill func(*T)) []T {
	out := make([]T, len(s))
	copy(out, s)
	for i := range out {
		fill(&out[i])
	}
	return out
}
