// Package golden reads, lays out and judges golden cases: real files, a real
// call, and the verdict, codes and places that are wanted of it.
//
// A case is <family>/<case>.txtar. The text before the first section tells the
// story. Sections:
//
//	-- call.json --        the call; in a table, "$PATH" stands for the row's path
//	-- tools.json --       the manifest, or tools.yaml; without one the project's own
//	-- <path> --           a file of the project, or with ../ beside it
//	-- layout --           other things to make, one a line: see lay
//	-- door --             cli (default), hook or mcp
//	-- events --           TYPE PAYLOAD a line: the run so far, instead of a fresh
//	                       one; "$DIGEST" is the call's, "$POLICY" and "$MANIFEST"
//	                       are the revisions, "$AFTER" the hash of the line before
//	-- facts --            POINTER = VALUE a line: a state of the run that no
//	                       call makes, put over the facts before they are judged
//	-- want --             verdict and codes, then "param = path" for each target
//	-- table --            one row a line: path, verdict, codes[, where it was found]
//	-- patches --          one row a line: NAME: CHANGE; CHANGE => verdict, codes[, where];
//	                       a change is /POINTER = JSON or /POINTER removed in the call
//	-- calls --            one row a line: CALL => verdict, codes[, where]
//	-- ledger --           what the run records when the call is executed
//
// Blank lines and lines that begin with "#" say nothing, but in the call, the
// manifest and files. A path of a table is a JSON string, or several, each with
// "*N" for N times, joined by "+". Codes stand in order, the primary one first.
// ":" and what the reason's detail says about the cause follow a code: the
// lexical rules of invalid_path, what is missing, the kind of a special file, the
// class of a protected place. A code that goes to the ledger alone has "(ledger)"
// behind it. Where a target was found is told only inside the roots. Paths count
// from the project directory; "$PROJECT" stands for it, "$BESIDE" for the one
// above.
//
// What a case lays out stays in a directory made for it, whatever its names and
// links say. It never skips what it does not know: that is a [Problem].
//
// Read Case first, then Case.Judge, then Parse.
package golden

import (
	"path/filepath"
	"strings"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// Case is a parsed case. It is not changed by being judged, so it may be judged
// by several engines at once.
type Case struct {
	File string // as it was given to Parse
	Rows []Row  // at least one

	lines    []string // of the file, with their ends
	sections map[string]*section
	want     string // the section that holds what is wanted: want, table, patches or calls

	tools  manifest.Source // the case's own manifest; no Data when it has none
	door   string
	layout []line
	files  []file
	events []event
	facts  []Change
}

// Row is one call and what is wanted of it.
type Row struct {
	Name string // as the case writes it: the path, the patch's name, the call; "" with a want section
	Line int    // of the file
	Call string // before $PROJECT and $BESIDE are put in
	Want string // verdict, codes and places, with one space or, in a want section, one line between

	sep string // between the parts of Want
	at  int    // where Want begins in its line
}

// Env is what cases are judged with.
type Env struct {
	Engine   *engine.Engine
	Manifest []manifest.Source  // of a case that has none; nil is a Problem of such a case
	Handlers []handlers.Handler // what the tools may be bound to
	TempDir  string             // where projects are laid out, each in a directory of its own that is removed again
	Log      func(format string, args ...any)
}

// Judged is a row, or the ledger section, as it came out.
type Judged struct {
	Row  int    // index in Case.Rows; LedgerRow for the ledger section
	Name string // of the row; "ledger"
	Line int    // of the row, or of the first line of the ledger
	Got  string
	Want string

	Call    []byte            // as it was judged
	Outcome *executor.Outcome // with the verdict that Got tells; nil for the ledger
	Input   *facts.Input      // what policy judged, the facts section put over it; nil when the call did not reach policy
}

// LedgerRow is Judged.Row of the ledger section.
const LedgerRow = -1

// AsWanted says whether the row came out as the case wants.
func (j *Judged) AsWanted() bool { return j.Got == j.Want }

// Name is the case's name, "family/case".
func (c *Case) Name() string {
	dir, base := filepath.Split(c.File)
	family := filepath.Base(dir)
	return family + "/" + strings.TrimSuffix(base, extension)
}

// Story is the text before the first section.
func (c *Case) Story() string {
	return strings.TrimSpace(strings.Join(c.lines[:c.story()], ""))
}

// HasLedger says whether the case wants something of the ledger.
func (c *Case) HasLedger() bool { return c.sections["ledger"] != nil }
