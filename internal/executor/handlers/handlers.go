// Package handlers holds what RunLens can do once a call is allowed: read, list,
// write, delete and rename files, read CSV, quote and count what it says, and run
// a declared command.
//
// It promises that a handler works on its Grant and on nothing else: handles
// that were judged, bytes that were rendered before the decision, an argv that
// was compared with the declared ones, and limits. It promises to end: Run gives
// every handler a deadline, and a command's whole process tree is killed with it.
// It never opens a path by name, never sees the call, never decides whether
// something is allowed, and never returns bytes that changed while they were read.
//
// Read Grant first, then Builtin, then Run.
package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
)

// Handler is what a tool is bound to: the part a manifest is checked against,
// and the part that works.
type Handler struct {
	manifest.Handler

	// Render makes, before the decision, the bytes that the tool would write,
	// from the call's arguments. pointer names the argument they come from as a
	// JSON pointer below the arguments, or with an error the one at fault. Render
	// reads and writes nothing. It is nil for a tool that writes no content.
	Render func(args map[string]any) (data []byte, pointer string, err error)

	// Check says, before the decision, what is wrong with arguments that fit the
	// input schema; it names arguments and not their values. It is nil where the
	// schema says all.
	Check func(args map[string]any) error

	// Run does the work. It returns early when ctx ends. Call it through Run,
	// the function, which holds it to that. Its error is an *Error.
	Run func(ctx context.Context, g *Grant) (Result, error)

	running *supervisor // of a handler that runs commands
}

// Grant is all that a handler may use. It is made from the verdict. The zero
// Grant grants nothing.
type Grant struct {
	Tool, RunID string

	Objects  map[string]*resolve.Object // by parameter; stay the executor's to close
	Declared map[string]string          // by parameter: the object's path as output names it, relative to the project
	Args     map[string]any             // the arguments that are neither target nor payload
	Data     []byte                     // what Render made

	// Admit says whether an entry below a granted directory may be shown and
	// entered; nil refuses every entry.
	Admit func(child *resolve.Object) bool

	Argv       []string        // of a command: equal to a declared one
	Executable *resolve.Object // what Argv[0] names
	Dir        *resolve.Object // the command's working directory
	Env        []string        // the command's whole environment, "NAME=value"
	Sandbox    string          // the command's isolation: "full" or "none"

	// Of a handler that is a program.
	Payload map[string]any                    // the arguments that are content, as they were judged
	Targets []Target                          // all objects, in the order of the manifest
	Writes  int64                             // of content that is written; 0 writes nothing
	Fits    func(output map[string]any) error // whether an answer is an output of the tool; nil: it is
	handed  *handed                           // what its program gets beside argv and environment

	Confinement *Confinement // of a command under "full"

	MaxBytes int64         // of content returned; 0 returns none
	Output   int64         // of each of a command's streams; 0 is DefaultOutput
	Timeout  time.Duration // 0 is the handler's own, or DefaultTimeout

	// Late, when set, is called once with what the handler returned when it
	// returned only after Run had given up on it.
	Late func(Result, error)

	// Release, when set, is called exactly once, when the handler no longer uses
	// the grant: before Run returns, or after Late. It is the place to close the
	// objects; closing them earlier would pull them from under a late handler.
	Release func()
}

// Bounds that hold where a grant sets none.
const (
	DefaultOutput  = 64 << 10
	DefaultTimeout = 60 * time.Second
)

// Target is one object of a tool that a program serves.
type Target struct {
	Name     string // the parameter; the template, where that takes no argument
	Access   string
	Object   *resolve.Object // stays the executor's to close
	Declared string          // the object's path as output names it
}

// Written is a file that a handler has put in place.
type Written struct {
	Path   string // as output names it
	Bytes  int64
	Digest string // sha256:<hex>
}

func newWritten(path string, data []byte) Written {
	sum := sha256.Sum256(data)
	return Written{Path: path, Bytes: int64(len(data)), Digest: "sha256:" + hex.EncodeToString(sum[:])}
}

// Result is what a handler that worked returns.
type Result struct {
	Output      map[string]any // fits the handler's output schema
	Truncated   bool           // there was more than the grant lets through
	Observation string         // the text for the model, uncut; "" stands for Output as JSON. See Observation, the function
	Written     []Written      // in the order in which it was written
}

// Codes of an Error.
const (
	CodeFailed  = "handler_failed"
	CodeTimeout = "handler_timeout"
	CodeCancel  = "handler_cancelled" // the caller no longer waited; how far it came is not known
	CodeChanged = "object_changed"
	CodeSandbox = "sandbox_unavailable" // the isolation that was promised could not be had; nothing ran
)

// Error is a handler that did not work. The zero Error is a handler_failed.
type Error struct {
	Code        string         // one of the codes above
	Message     string         // holds no argument values, and no text of a program's
	Recorded    string         // Message without what the tool has read; "" where it quotes nothing
	Output      map[string]any // what was printed so far; nil when the handler prints nothing
	Observation string         // Output as text for the model, uncut; "" stands for Output as JSON
	Truncated   bool           // more was printed than Output holds
	Written     []Written      // what was put in place before it failed, and is there
	Abandoned   bool           // it had not come back: what it does may still be done
}

func (e *Error) Error() string { return e.Message }

func failed(format string, args ...any) *Error {
	return &Error{Code: CodeFailed, Message: fmt.Sprintf(format, args...)}
}

// Builtin returns RunLens' own handlers, sorted by name. What one call returns
// shares the bookkeeping of running commands, so call it once a process.
func Builtin() []Handler {
	list := []Handler{
		readFile(), readCSV(), extractEvidence(), countCategories(),
		listFiles(), listRunFiles(),
		writeFile(), writeJSON(), writeMarkdown(),
		deleteFile(), renameFile(),
		runTests(),
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// object finds the one object that a handler works on: the one its own
// parameter names, or, where a manifest named the parameter differently, the
// only one there is.
func (g *Grant) object(param string) (o *resolve.Object, label string, err error) {
	if o := g.Objects[param]; o != nil {
		return o, g.Declared[param], nil
	}
	if len(g.Objects) == 1 {
		for name, o := range g.Objects {
			if o != nil {
				return o, g.Declared[name], nil
			}
		}
	}
	return nil, "", failed("find object: the grant of tool %.200q holds none for %q", g.Tool, param)
}

// boolean reads an optional argument.
func (g *Grant) boolean(name string) bool {
	value, _ := g.Args[name].(bool)
	return value
}

// text reads an optional argument.
func (g *Grant) text(name string) string {
	value, _ := g.Args[name].(string)
	return value
}

// integer reads an optional argument from 1 to most; usual stands for one that
// is left out or is no such number.
func (g *Grant) integer(name string, usual, most int) int {
	number, _ := g.Args[name].(json.Number)
	value, err := number.Float64() // 5.0 is an integer, too
	if err != nil || !(value >= 1 && value <= float64(most)) {
		return usual
	}
	return int(value)
}

// schema builds a closed object schema. Every property is required but those
// named optional.
func schema(properties map[string]any, optional ...string) json.RawMessage {
	required := []string{}
	for name := range properties {
		if !contains(optional, name) {
			required = append(required, name)
		}
	}
	sort.Strings(required)
	data, err := json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false,
		"properties": properties, "required": required,
	})
	if err != nil {
		panic(err) // the properties are literals of this package
	}
	return data
}

// quoting is an error that quotes what was read; plain says the same without.
type quoting struct{ text, plain string }

func (q quoting) Error() string { return q.text }

// failedReading is failed for an error that may quote what was read.
func failedReading(what string, err error) *Error {
	e := failed("%s: %v", what, err)
	if plain := unquoted(err); plain != err.Error() {
		e.Recorded = what + ": " + plain
	}
	return e
}

func unquoted(err error) string {
	switch e := err.(type) {
	case quoting:
		return e.plain
	case interface{ Unwrap() []error }:
		lines := []string{}
		for _, one := range e.Unwrap() {
			lines = append(lines, unquoted(one))
		}
		return strings.Join(lines, "\n")
	}
	return err.Error()
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}

// kind is a property of the given JSON type; the words are for whoever reads
// the tool spec.
func kind(typ, words string) map[string]any {
	property := map[string]any{"type": typ}
	if words != "" {
		property["description"] = words
	}
	return property
}
