package corpus

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// subject is a tool and what can be varied in its calls.
type subject struct {
	tool     *manifest.Tool
	plain    map[string]any // arguments with which nothing is wrong
	slots    []*slot
	commands []command
	constant []manifest.Target // that no argument has a say in
	programs []string          // names of programs that its commands run
}

func (s *subject) args() map[string]any { return maps.Clone(s.plain) }

// slot is a place in a call where a path goes.
type slot struct {
	param    string
	argv     int    // place in argv, from 0, of an argument of a command; -1: a parameter of its own
	shown    string // in front of its classes' names: "PARAM." where the tool has several slots
	index    int    // of its target in the input
	accesses []string

	root  string   // in which good objects lie: from the project, or absolute
	more  []string // other roots of the tool
	dir   string   // what values count from
	stem  string   // of each name, which the template puts in front of the value
	tail  string   // which it puts behind it
	ext   string   // that a value must end in
	words []string // the command that it is part of

	classes []class
}

// with are the subject's arguments with value in this slot.
func (t *slot) with(s *subject, value string) map[string]any {
	args := s.args()
	if t.argv < 0 {
		args[t.param] = value
		return args
	}
	words := slices.Clone(t.words)
	words[t.argv] = value
	return s.calling(args, words)
}

// calling puts a command into the arguments: as argv, or by the names of what a
// call fills in where the tool knows no argv.
func (s *subject) calling(args map[string]any, words []string) map[string]any {
	if !s.takesArgv() {
		for i, part := range s.tool.Patterns[0] {
			if part.Kind != facts.Word && i < len(words) {
				args[part.Arg] = words[i]
			}
		}
		return args
	}
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	args["argv"] = list
	return args
}

func (s *subject) takesArgv() bool {
	names := propertiesOf(schemaOf(s.tool))
	return len(names) == 0 || slices.Contains(names, "argv") || len(s.tool.Patterns) != 1
}

// has tells whether one of the slot's targets has this access.
func (t *slot) has(access string) bool { return slices.Contains(t.accesses, access) }

// file is the name of a file in a folder of this slot.
func (t *slot) file(name string) string { return t.stem + name + t.ext + t.tail }

// at is an object in the root.
func (t *slot) at(name string) string { return path.Join(t.root, t.file(name)) }

// value is what a call says for an object: a path from where values count.
func (t *slot) value(place string) string {
	if path.IsAbs(place) {
		return strings.TrimSuffix(place, t.tail)
	}
	rel, err := filepath.Rel(filepath.FromSlash(path.Join("/", t.dir)), filepath.FromSlash(path.Join("/", place)))
	if strings.HasPrefix(place, "../") {
		rel, err = strings.Repeat("../", strings.Count(path.Join("/", t.dir, "x"), "/")-1)+place, nil
	}
	if err != nil {
		return place
	}
	rel = strings.TrimSuffix(filepath.ToSlash(rel), t.tail)
	if t.stem == "" {
		return rel
	}
	if rest, is := strings.CutPrefix(rel, t.stem); is {
		return rest
	}
	return "/../" + rel
}

// spelt is a name in the root, spelt as it is: nothing makes it a plain path.
func (t *slot) spelt(name string) string {
	return strings.TrimSuffix(t.value(t.at("f1")), "f1"+t.ext) + name + t.ext
}

// command is a class of commands.
type command struct {
	name string
	good bool
	args map[string]any
}

// runID names the run in which all calls are looked at.
const runID = "corpus"

func fill(declared string) string { return strings.ReplaceAll(declared, "{run_id}", runID) }

// subject finds out what can be varied in a tool's calls.
func (m *maker) subject(tool *manifest.Tool) *subject {
	doc := schemaOf(tool)
	args, _ := example(doc, doc, 0).(map[string]any)
	if args == nil {
		args = map[string]any{}
	}
	s := &subject{tool: tool, plain: args}
	for i, target := range tool.Targets {
		names := target.Params()
		if len(names) == 0 {
			s.constant = append(s.constant, target)
			continue
		}
		if at := slices.IndexFunc(s.slots, func(t *slot) bool { return t.param == names[0] }); at >= 0 {
			s.slots[at].accesses = append(s.slots[at].accesses, target.Access)
			continue
		}
		for _, name := range names[1:] {
			if _, is := args[name].(string); !is {
				args[name] = "x"
			}
		}
		s.slots = append(s.slots, m.slotOf(tool, target, names[0], i, args))
	}
	if tool.Operation == facts.Execute && tool.Program == "" {
		m.addCommands(s)
	}
	for _, t := range s.slots {
		t.choose(tool)
		if len(s.slots) > 1 {
			t.shown = t.param + "."
		}
	}
	for _, t := range s.slots {
		t.classes = t.classesOf(m.layout, m.known, tool)
		if t.argv < 0 {
			s.plain[t.param] = t.good()
		}
	}
	m.fillCommands(s)
	return s
}

// slotOf reads a template around the value of one parameter.
func (m *maker) slotOf(tool *manifest.Tool, target manifest.Target, param string, index int, args map[string]any) *slot {
	const mark = "\x00"
	t := &slot{param: param, argv: -1, index: index, accesses: []string{target.Access}}
	given := maps.Clone(args)
	given[param] = mark
	_, requested, _ := tool.Expand(target, given, runID)
	before, after, _ := strings.Cut(requested, mark)
	slash := strings.LastIndexByte(before, '/') + 1
	t.dir, t.stem, t.tail = before[:slash], before[slash:], after
	for _, h := range m.cfg.Handlers {
		if h.Name == tool.Handler && len(h.Suffixes) > 0 && target.Access == facts.Write && !strings.HasSuffix(after, h.Suffixes[0]) {
			t.ext = h.Suffixes[0]
		}
	}
	return t
}

// choose picks the roots: the first that allows all that the slot's targets do.
func (t *slot) choose(tool *manifest.Tool) {
	if t.root != "" {
		return
	}
	for _, root := range tool.Roots {
		allows := !slices.ContainsFunc(t.accesses, func(a string) bool { return !slices.Contains(root.Access, a) })
		place := path.Clean(fill(root.Path))
		switch {
		case allows && t.root == "":
			t.root = place
		case place != t.root:
			t.more = append(t.more, place)
		}
	}
	if t.root == "" {
		t.root, t.more = "elsewhere", append([]string{}, t.more...)
	}
	// Values that count from inside one of several roots are good there.
	for i, place := range t.more {
		inside := strings.HasPrefix(path.Join("/", t.dir)+"/", path.Join("/", place)+"/")
		if t.dir != "" && inside && !strings.HasPrefix(path.Join("/", t.dir)+"/", path.Join("/", t.root)+"/") {
			t.root, t.more[i] = place, t.root
		}
	}
}

// good is the value with which nothing is wrong.
func (t *slot) good() string {
	for _, c := range t.classes {
		if c.good {
			return c.value(1)
		}
	}
	return ""
}

// addCommands adds the slots of the path arguments of the tool's commands.
func (m *maker) addCommands(s *subject) {
	for _, pattern := range s.tool.Patterns {
		before := len(s.slots)
		index := len(s.tool.Targets)
		for i, part := range pattern {
			if part.Kind != facts.Path {
				continue
			}
			s.slots = append(s.slots, &slot{
				param: part.Arg, argv: i, index: index, accesses: []string{part.Access},
				root: path.Clean(fill(part.Root)), dir: s.tool.Dir,
			})
			index++
		}
		words := wordsOf(pattern)
		for _, t := range s.slots[before:] {
			t.words = words
		}
	}
}

// wordsOf is a command that fits a pattern, paths left empty.
func wordsOf(pattern []facts.Part) []string {
	words := make([]string, len(pattern))
	for i, part := range pattern {
		switch part.Kind {
		case facts.Word:
			words[i] = part.Word
		case facts.Choice:
			words[i] = part.Values[0]
		case facts.Text:
			words[i], _ = matching(part.Pattern)
		}
	}
	return words
}

// fillCommands makes the tool's commands, once the good paths are known.
func (m *maker) fillCommands(s *subject) {
	if s.tool.Operation != facts.Execute || s.tool.Program != "" {
		return
	}
	for _, t := range s.slots {
		if t.argv >= 0 {
			t.words[t.argv] = t.good() // shared by the slots of one command
		}
	}
	var first []string
	add := func(name string, good bool, words []string) {
		if len(words) > 0 && good {
			s.programs = append(s.programs, words[0])
			if first == nil {
				first = words
			}
		}
		s.commands = append(s.commands, command{name, good, s.calling(s.args(), words)})
	}
	for i, words := range s.tool.Commands {
		add("command_"+strconv.Itoa(i+1), true, words)
	}
	for i, pattern := range s.tool.Patterns {
		words := wordsOf(pattern)
		for _, t := range s.slots {
			if t.argv >= 0 && len(t.words) == len(words) && len(pattern) > t.argv && pattern[t.argv].Arg == t.param {
				words[t.argv] = t.good()
			}
		}
		add("pattern_"+strconv.Itoa(i+1), true, words)
		for at, part := range pattern {
			if part.Kind == facts.Choice || part.Kind == facts.Text {
				other := slices.Clone(words)
				other[at] = "\u2026"
				add("pattern_"+strconv.Itoa(i+1)+"_other_"+part.Arg, false, other)
			}
		}
	}
	if len(first) == 0 {
		return
	}
	add("more_words", false, append(slices.Clone(first), "--more"))
	add("fewer_words", false, first[:len(first)-1])
	add("other_program", false, append([]string{"other-program"}, first[1:]...))
	add("missing_program", false, append([]string{"missing-program"}, first[1:]...))
	add("shell", false, []string{"sh", "-c", strings.Join(first, " ")})
	add("one_word", false, []string{strings.Join(first, " ") + "; true"})
	s.programs = append(s.programs, "other-program", "sh")
}
