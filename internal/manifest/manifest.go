// Package manifest loads the files in which an operator declares tools, and the
// skills and plans that use them.
//
// It promises that a Set is total and free of contradictions: every default is
// filled in, every target names a string parameter of the tool's input schema,
// every schema is compiled, and two files with the same content (JSON or YAML)
// have the same Revision. A skill only narrows: its tools may do nothing that the
// set's own may not, and no step of its plan waits for what its tools cannot do.
// All that is wrong is reported at once, each with file and line.
//
// It never reads a file, a directory or the network by itself (Files reads the
// file system it is given), never follows a $ref out of its document, and never
// guesses: an unknown key, an ambiguous YAML word or an empty allow list where
// one is needed refuses to load. It judges no call; CheckInput only says whether
// arguments have the declared shape.
//
// Read Load first, then Tool, then Skill.
package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

// Version is the only schema_version that loads.
const Version = 1

// External is the handler of tools that another program runs (hook, relay):
// they are judged, and exec refuses them. It serves every operation and
// declares nothing.
const External = "external"

// Set is what one or several manifest files declare. It is immutable after Load
// and safe for concurrent use.
type Set struct {
	Tools    map[string]*Tool
	Names    []string // sorted
	Revision string   // sha256:<hex> over the canonical content, defaults filled in
	Source   string   // names of the files, for people
	Path     []string // absolute directories in which executables are looked up
	Record   string   // "proposal", "facts" or "full"
	Notes    []string // what a reader of the files should know; never an error

	Skills     map[string]*Skill
	SkillNames []string   // sorted
	Approvers  []Approver // in the order of the file; none: an approval counts unsigned
}

// Approver is somebody whose signature under an approval counts.
type Approver struct {
	Name string // unique in a Set
	Key  string // verifier key in the form of golang.org/x/mod/sumdb/note; note.NewVerifier takes it
}

// Tool is one declared tool with every default filled in.
type Tool struct {
	Name, Description, Operation, Handler string

	Targets       []Target
	Roots         []Root
	Payload       []string // parameters that hold content, never policy input
	MaxBytes      int64    // 0: the tool sets none
	TimeoutMS     int64    // 0: the tool sets none
	Commands      [][]string
	Absolute      bool
	CreateParents bool

	// Of the program that the tool runs, if it runs one.
	Patterns [][]facts.Part // commands of which a call fills in arguments; Root may hold {run_id}
	Program  string         // of a handler "exec:PROGRAM": a name to look up in Set.Path, or a path, with a slash, from the project; else ""
	Dir      string         // working directory, from the project; "": the project itself
	Env      []string       // "NAME=value", sorted by name
	Network  string         // "none" or "private"; "" when it runs none
	Limits   Limits
	Sandbox  string // "full" or "none"; "" when it runs none

	Input  *Schema // never nil
	Output *Schema // nil: any output will do

	Where Location
}

// Limits bound a program. Zero means the policy's own; a larger one than that
// has no effect.
type Limits struct {
	CPUSeconds  int64 // of each process
	FileBytes   int64 // of each file written
	OpenFiles   int64 // of each process
	Processes   int64 // and threads, of all together
	MemoryBytes int64 // of address space, of each process
	TempBytes   int64 // of all temporary files together
	OutputBytes int64 // kept of each of stdout and stderr
}

// Location is a place in a manifest file.
type Location struct {
	File string
	Line int
}

// String returns the place as FILE:LINE.
func (l Location) String() string { return fmt.Sprintf("%s:%d", printable(l.File), l.Line) }

// Target is one object that a call touches.
type Target struct {
	Param     string // "" when Template takes no argument
	Access    string // one of Accesses
	Template  string // "": the parameter's value is the path; else as "runs/{run_id}/artifacts/{artifact_name}"
	Recursive bool
	Default   string // of an absent parameter; "": none
}

// Root is a directory below which a tool may touch objects.
type Root struct {
	Path   string // as declared; may hold {run_id}
	Access []string
}

// Handler is what a handler declares about itself: the operations it serves,
// and what a tool that names it gets where the manifest says nothing.
type Handler struct {
	Name       string
	Operations []string
	Input      json.RawMessage // default input schema; nil: built from Targets and Payload
	Output     json.RawMessage // default output schema; closed; nil: any output will do
	Targets    []Target
	Roots      []Root // nil: the defaults by access; a nil Access counts for every access
	Payload    []string
	Suffixes   []string // of what it writes: its target's name must end in one; nil: any name will do
	TimeoutMS  int64
}

// Source is one manifest file. Name is shown in errors; its extension says
// whether Data is JSON or YAML. The zero Kind declares tools.
type Source struct {
	Name string
	Data []byte
	Kind SourceKind
}

// SourceKind is what a manifest file declares.
type SourceKind uint8

// Kinds of manifest files. A skill or plan is named as its file, without the
// extension.
const (
	ToolFile SourceKind = iota
	SkillFile
	PlanFile
)

// Operations returns the operations a tool may have.
func Operations() []string {
	return []string{
		facts.Read, facts.List, facts.Search, facts.Write, facts.Delete,
		facts.Rename, facts.Execute, facts.Fetch, facts.Compute,
	}
}

// Accesses returns the accesses that a target or root may name.
func Accesses() []string {
	return []string{facts.Read, facts.List, facts.Write, facts.Delete, facts.Execute}
}

// Expand says what target names in a call with these arguments: raw is the
// parameter's value (or its default) as it came, requested the path to resolve.
// present is false when the parameter is absent without a default, is not a
// string, or the template needs another parameter that is. Values are put in
// once: braces in a value are plain text.
func (t *Tool) Expand(target Target, args map[string]any, runID string) (raw, requested string, present bool) {
	value := func(param string) (string, bool) {
		v, given := args[param]
		if !given && param == target.Param && target.Default != "" {
			return target.Default, true
		}
		s, ok := v.(string)
		return s, ok
	}
	if target.Param != "" {
		if raw, present = value(target.Param); !present {
			return "", "", false
		}
	}
	if target.Template == "" {
		return raw, raw, target.Param != ""
	}
	var b strings.Builder
	for _, part := range splitTemplate(target.Template) {
		switch {
		case !part.placeholder:
			b.WriteString(part.text)
		case part.text == runIDName:
			b.WriteString(runID)
		default:
			s, ok := value(part.text)
			if !ok {
				return "", "", false
			}
			b.WriteString(s)
		}
	}
	return raw, b.String(), true
}

// Params are the parameters that a target's path is made of, each once: its own
// and those that its template names.
func (t Target) Params() (names []string) {
	if t.Param != "" {
		names = append(names, t.Param)
	}
	for _, part := range splitTemplate(t.Template) {
		if part.placeholder && part.text != runIDName && !slices.Contains(names, part.text) {
			names = append(names, part.text)
		}
	}
	return names
}

const (
	runIDName = "run_id" // the placeholder that the host fills in
	argvName  = "argv"   // the parameter of an execute tool that holds its command
)

// templatePart is literal text, or the name inside braces.
type templatePart struct {
	text        string
	placeholder bool
}

// splitTemplate cuts a template into its parts. A brace without its partner
// stays literal; checkTemplate refuses those at load.
func splitTemplate(s string) []templatePart {
	var parts []templatePart
	for s != "" {
		open := strings.IndexByte(s, '{')
		if open < 0 {
			break
		}
		end := strings.IndexByte(s[open:], '}')
		if end < 0 {
			break
		}
		if open > 0 {
			parts = append(parts, templatePart{text: s[:open]})
		}
		parts = append(parts, templatePart{text: s[open+1 : open+end], placeholder: true})
		s = s[open+end+1:]
	}
	if s != "" {
		parts = append(parts, templatePart{text: s})
	}
	return parts
}
