package engine

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Settings is the part of policy data that Go acts on. All of it comes from
// data.runlens; none of it has a default here, so a tree that leaves one out
// does not load.
type Settings struct {
	WithheldBytes    int64         // strings longer than this are withheld
	CommandBytes     int64         // command text is kept whole up to this
	ReadBytes        int64         // a file larger than this needs a smaller max_bytes of its tool
	WriteBytes       int64         // one call writes at most this
	ObservationBytes int64         // of one result, a model is shown at most this
	Timeout          time.Duration // one decision takes at most this
	Secrets          []Secret      // sorted by kind
	Names            Names
	Programs         ProgramLimits
	Budget           Budget            // for doors that Doors does not name
	Doors            map[string]Budget // "hook", "mcp"
	JudgeAgain       []string          // gates whose refusals do not stand when a run is resumed
	JudgeAgainLast   []string          // gates whose refusals do not stand while no later call has its final event
	ApprovalTools    []string          // tools of which a person approves each call, sorted
}

// Secret is a framed format that marks a string as a secret.
type Secret struct {
	Kind    string
	Pattern *regexp.Regexp
}

// Names says which folded names inside a tree rules care about.
type Names struct {
	Exact, Prefix, Suffix []string
	Allowed               []string // suffixes that make a name harmless
}

// Refused tells whether a folded name is one of those.
func (n Names) Refused(folded string) bool {
	has := func(f func(string, string) bool, list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return f(folded, s) })
	}
	if has(strings.HasSuffix, n.Allowed) {
		return false
	}
	return slices.Contains(n.Exact, folded) || has(strings.HasPrefix, n.Prefix) || has(strings.HasSuffix, n.Suffix)
}

// ProgramLimits bound each program that a tool runs; MemoryBytes 0 sets no limit.
type ProgramLimits struct {
	CPUSeconds  int64 // of each process
	FileBytes   int64 // of each file written
	OpenFiles   int64 // of each process
	Processes   int64 // and threads, of all together
	MemoryBytes int64 // of address space, of each process
	TempBytes   int64 // of all temporary files together
	OutputBytes int64 // kept of each of stdout and stderr
}

// Budget is how many denials a run may have; -1 sets no limit.
type Budget struct {
	InRow, Total, Malformed int64
}

// BudgetOf returns the budget of a door.
func (s *Settings) BudgetOf(door string) Budget {
	if b, ok := s.Doors[door]; ok {
		return b
	}
	return s.Budget
}

// readSettings decodes settings from data.runlens; codes is the catalogue.
func readSettings(data *node, codes map[string]*Code, name string, p *problems) Settings {
	r := settingsReader{root: data.at(folder), name: name, p: p}
	s := Settings{
		WithheldBytes:    r.number(1, "limits", "withheld_bytes"),
		CommandBytes:     r.number(1, "limits", "command_bytes"),
		ReadBytes:        r.number(1, "limits", "read_bytes"),
		WriteBytes:       r.number(1, "limits", "write_bytes"),
		ObservationBytes: r.number(1, "limits", "observation_bytes"),
		Timeout:          r.milliseconds("limits", "policy_timeout_ms"),
		Names: Names{
			Exact:   r.strings("names", "refused", "exact"),
			Prefix:  r.strings("names", "refused", "prefix"),
			Suffix:  r.strings("names", "refused", "suffix"),
			Allowed: r.strings("names", "allowed", "suffix"),
		},
		Programs: ProgramLimits{
			CPUSeconds:  r.number(1, "sandbox", "limits", "cpu_seconds"),
			FileBytes:   r.number(1, "sandbox", "limits", "file_bytes"),
			OpenFiles:   r.number(1, "sandbox", "limits", "open_files"),
			Processes:   r.number(1, "sandbox", "limits", "processes"),
			MemoryBytes: r.number(0, "sandbox", "limits", "memory_bytes"),
			TempBytes:   r.number(1, "sandbox", "limits", "temp_bytes"),
			OutputBytes: r.number(1, "sandbox", "limits", "output_bytes"),
		},
		Budget: r.budget("budget", "default"),
		Doors:  map[string]Budget{},

		JudgeAgain:     r.gates(codes, "resume", "judge_again"),
		JudgeAgainLast: r.gates(codes, "resume", "judge_again_last"),
	}
	for _, gate := range s.JudgeAgainLast {
		if slices.Contains(s.JudgeAgain, gate) {
			n := r.root.at("resume", "judge_again_last")
			p.add(n.file, n.line, "name it in one of them", "data.runlens.resume names gate %s in both lists", cut(gate))
		}
	}
	if tools := r.at('{', "approvals", "tools"); tools != nil {
		for _, tool := range tools.keys() {
			if asks, _ := tools.obj[tool].leaf.(bool); asks {
				s.ApprovalTools = append(s.ApprovalTools, tool)
			}
		}
	}
	if doors := r.at('{', "budget", "doors"); doors != nil {
		for _, door := range doors.keys() {
			s.Doors[door] = r.budget("budget", "doors", door)
		}
	}
	if secrets := r.at('{', "secrets", "kinds"); secrets != nil {
		for _, kind := range secrets.keys() {
			n := secrets.obj[kind]
			pattern, _ := n.leaf.(string)
			re, err := regexp.Compile(pattern)
			if err != nil || pattern == "" {
				p.add(n.file, n.line, "", "data.runlens.secrets.kinds.%s is not a regular expression", kind)
				continue
			}
			s.Secrets = append(s.Secrets, Secret{Kind: kind, Pattern: re})
		}
	}
	return s
}

type settingsReader struct {
	root *node
	name string
	p    *problems
}

func (r *settingsReader) at(kind byte, keys ...string) *node {
	n := r.root.at(keys...)
	key := "data.runlens." + strings.Join(keys, ".")
	switch {
	case n == nil:
		r.p.add(r.name, 0, "add it to runlens/data.json", "%s is missing", key)
	case n.kind != kind:
		r.p.add(n.file, n.line, "", "%s has the wrong type", key)
	default:
		return n
	}
	return nil
}

func (r *settingsReader) number(least int64, keys ...string) int64 {
	n := r.at('v', keys...)
	if n == nil {
		return 0
	}
	number, _ := n.leaf.(json.Number)
	i, err := number.Int64()
	if err != nil || i < least {
		r.p.add(n.file, n.line, "", "data.runlens.%s must be a whole number, %d or more", strings.Join(keys, "."), least)
		return 0
	}
	return i
}

// longest is the longest time that loads, in milliseconds: 24 hours. What is far
// beyond it would overflow.
const longest = 24 * 60 * 60 * 1000

func (r *settingsReader) milliseconds(keys ...string) time.Duration {
	i := r.number(1, keys...)
	if i > longest {
		n := r.at('v', keys...)
		r.p.add(n.file, n.line, "", "data.runlens.%s must be %d at most, which is 24 hours", strings.Join(keys, "."), longest)
		return 0
	}
	return time.Duration(i) * time.Millisecond
}

func (r *settingsReader) strings(keys ...string) []string {
	n := r.at('[', keys...)
	if n == nil {
		return nil
	}
	var list []string
	for _, e := range n.arr {
		s, ok := e.leaf.(string)
		if !ok || s == "" {
			r.p.add(e.file, e.line, "", "data.runlens.%s must hold strings that are not empty", strings.Join(keys, "."))
			continue
		}
		list = append(list, s)
	}
	return list
}

// gates reads a list of gates and refuses one that no code has: a typo there
// would quietly make refusals final.
func (r *settingsReader) gates(codes map[string]*Code, keys ...string) []string {
	var known []string
	for _, c := range codes {
		known = append(known, c.Gate)
	}
	slices.Sort(known) // of two gates that are equally near, always the same is meant
	list := r.strings(keys...)
	if len(list) == 0 {
		return list
	}
	for _, n := range r.root.at(keys...).arr {
		if gate, _ := n.leaf.(string); gate != "" && !slices.Contains(known, gate) {
			r.p.add(n.file, n.line, cmp.Or(didYouMean(gate, known), "name the gate of a code in data.runlens.codes"),
				"data.runlens.%s names gate %s, which no code has", strings.Join(keys, "."), cut(gate))
		}
	}
	return list
}

func (r *settingsReader) budget(keys ...string) Budget {
	keys = slices.Clip(keys)
	return Budget{
		InRow:     r.number(-1, append(keys, "in_row")...),
		Total:     r.number(-1, append(keys, "total")...),
		Malformed: r.number(-1, append(keys, "malformed")...),
	}
}

// clone keeps callers from changing what other callers see.
func (s Settings) clone() Settings {
	s.Secrets = slices.Clone(s.Secrets)
	s.Doors = maps.Clone(s.Doors)
	s.JudgeAgain = slices.Clone(s.JudgeAgain)
	s.JudgeAgainLast = slices.Clone(s.JudgeAgainLast)
	s.ApprovalTools = slices.Clone(s.ApprovalTools)
	return s
}
