package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/report"
)

// callLine is a call as far as its events have been read.
type callLine struct {
	head   string // number and time of the proposal
	id     string
	tool   string
	points string   // what it points at, else its arguments
	seqs   []int64  // by which later events name it
	said   []string // what became of it, in order
	state  string   // what is to be said when nothing more comes
	below  []string // what does not fit into a line
	closed bool
}

// proposed begins a call.
func (t *timeline) proposed(ev *ledger.Event) bool {
	var p struct {
		CallID    string          `json:"call_id"`
		Tool      string          `json:"tool"`
		Bytes     int64           `json:"bytes"`
		Digest    string          `json:"digest"`
		Malformed bool            `json:"malformed"`
		Call      json.RawMessage `json:"call"`
	}
	if json.Unmarshal(ev.Payload, &p) != nil || p.Tool == "" && !p.Malformed {
		return false
	}
	c := &callLine{
		head: eventHead(ev), id: idWord(callID(p.CallID, ev.Seq)), tool: oneWord(p.Tool, maxTool),
		points: callWords(p.Call, ""), state: "not judged",
	}
	if p.Tool == "" {
		c.tool, c.points = "(not a call)", fmt.Sprintf("%s B %s", commas(p.Bytes), short(p.Digest))
	}
	c.points = cutText(c.points, maxArguments)
	t.held = append(t.held, entry{call: c})
	t.join(c, ev)
	return true
}

// maxArguments bounds, in bytes, the arguments in a call's line.
const maxArguments = 60

func (t *timeline) join(c *callLine, ev *ledger.Event) {
	c.seqs = append(c.seqs, ev.Seq)
	t.open[ev.Seq] = c
}

// say adds what became of the call; state is what it waits for now.
func (c *callLine) say(state, format string, args ...any) {
	c.state = state
	if text := fmt.Sprintf(format, args...); text != "" {
		c.said = append(c.said, text)
	}
}

// verdictWords are what a verdict's payload tells of a call.
type verdictWords struct {
	Verdict  string `json:"verdict"`
	Reason   string `json:"reason"`
	Proposal int64  `json:"proposal"`
	Reasons  []struct {
		Code string `json:"code"`
	} `json:"reasons"`
	Input *inputWords `json:"input"`
}

// inputWords are what the judged input tells.
type inputWords struct {
	Targets []struct {
		Requested  string   `json:"requested"`
		Resolution string   `json:"resolution"`
		Path       string   `json:"path"`
		Segments   []string `json:"segments"`
		InProject  bool     `json:"in_project"`
		Entry      bool     `json:"entry"`
	} `json:"targets"`
	Command struct {
		Argv []string `json:"argv"`
	} `json:"command"`
}

// project is the project's directory, as a path in it tells; "" when none does.
func (in *inputWords) project() string {
	for _, t := range in.Targets {
		if dir, below := strings.CutSuffix(t.Path, "/"+strings.Join(t.Segments, "/")); t.InProject && below && len(t.Segments) > 0 {
			return dir
		}
	}
	return ""
}

// verdictTypes are the events of the verdicts.
var verdictTypes = map[string]string{"allow": ledger.ToolAllowed, "deny": ledger.ToolDenied, "block": ledger.ToolBlocked, "ask": ledger.ToolBlocked}

// judged joins a verdict to its proposal.
func (t *timeline) judged(ev *ledger.Event) bool {
	var v verdictWords
	if json.Unmarshal(ev.Payload, &v) != nil || verdictTypes[v.Verdict] != ev.Type {
		return false
	}
	c := t.open[v.Proposal]
	if c == nil {
		t.line(ev, fmt.Sprintf("call %d %s", v.Proposal, verdictSaid(&v)))
		return true
	}
	if points := v.points(t.run); points != "" {
		c.points = points
	}
	if v.Input != nil && t.project == "" {
		t.project = v.Input.project()
	}
	t.join(c, ev)
	if len(c.seqs) > 2 { // judged before, and that allow is void
		c.said = append(c.said, c.state)
	}
	switch v.Verdict {
	case "allow":
		words := ""
		if v.Reason != "allowed" {
			words = "allowed " + v.codes()
		}
		c.say("allowed, not started", "%s", words)
	case "ask":
		c.say("no request for an approval", "%s", verdictSaid(&v))
		t.asked = c
	default:
		c.say("", "%s", verdictSaid(&v))
		t.close(c)
	}
	return true
}

func verdictSaid(v *verdictWords) string {
	return map[string]string{"allow": "allowed ", "deny": "denied ", "block": "blocked ", "ask": "asks "}[v.Verdict] + v.codes()
}

// codes are the verdict's codes, the primary one first.
func (v *verdictWords) codes() string {
	codes := []string{v.Reason}
	for _, r := range v.Reasons {
		if !slices.Contains(codes, r.Code) {
			codes = append(codes, r.Code)
		}
	}
	return strings.Join(codes, ", ")
}

// points is what the judged call points at: the objects of an allow, and what
// any other asked for, with the object that was found when it is another one.
func (v *verdictWords) points(run string) string {
	if v.Input == nil {
		return ""
	}
	var words []string
	for _, target := range v.Input.Targets {
		found := target.Path
		if target.InProject {
			found = inRun(run, strings.Join(target.Segments, "/"))
		}
		word := found
		found = oneWord(found, maxPath)
		if asked := oneWord(inRun(run, target.Requested), maxPath); v.Verdict != "allow" && target.Requested != "" && asked != found {
			word = asked
			if target.Resolution == "ok" || target.Resolution == "absent" {
				word += " → " + found
			}
		}
		if !target.Entry && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	points := strings.Join(words, ", ")
	if argv := v.Input.Command.Argv; len(argv) > 0 {
		points = strings.TrimPrefix(points+": "+argvWords(argv), ": ")
	}
	return points
}

// maxPath bounds, in characters, a path in a call's line; longer than any name
// that a file can have.
const maxPath = 4096

// oneWord is a name from outside that can't be taken for the columns behind it:
// quoted when it has spaces, and at most most characters long.
func oneWord(name string, most int) string {
	if strings.Contains(name, " ") {
		name = fmt.Sprintf("%q", name)
	}
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most-1]) + "…"
	}
	return name
}

// argvWords is a command as one could type it.
func argvWords(argv []string) string {
	words := make([]string, 0, len(argv))
	for _, arg := range argv {
		if arg == "" || strings.ContainsAny(arg, " \t\n\"'\\$") {
			arg = fmt.Sprintf("%q", arg)
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// inRun is a path that counts from the project, or, behind artifacts/, from the
// run. A folder of the project that has this name as well is ./artifacts/.
func inRun(run, path string) string {
	switch own := "runs/" + run + "/artifacts"; {
	case path == "":
		return "."
	case path == own || strings.HasPrefix(path, own+"/"):
		return "artifacts" + path[len(own):]
	case path == "artifacts" || strings.HasPrefix(path, "artifacts/"):
		return "./" + path
	}
	return path
}

// idWord is a call's own name, cut to its column. Names that a model's server
// makes begin alike, so the end is kept.
func idWord(id string) string {
	if strings.Contains(id, " ") {
		id = fmt.Sprintf("%q", id)
	}
	return cutTail(id, idWidth)
}

// The columns of a call's line; a longer word moves what stands behind it.
const (
	idWidth     = 8
	toolWidth   = 19
	pointsWidth = 22
	maxTool     = 40
)

// lines is the call in one line when it fits, else with its end below.
func (c *callLine) lines() []string {
	said := slices.Clone(c.said)
	if c.state != "" {
		said = append(said, c.state)
	}
	end := report.Escape(strings.Join(said, ", "))
	head := c.head + pad(c.id, idWidth) + pad(c.tool, toolWidth)
	points := report.Escape(c.points)
	lines := []string{head + pad(points, pointsWidth) + end}
	if utf8.RuneCountInString(lines[0]) > lineWidth {
		lines[0] = head + points + "  " + end
	}
	if utf8.RuneCountInString(lines[0]) > lineWidth {
		lines = []string{head + points, belowAt + end}
	}
	for _, b := range c.below {
		lines = append(lines, belowAt+b)
	}
	return lines
}

// pad fills a column and parts it from the next.
func pad(word string, width int) string {
	word = report.Escape(word)
	return word + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(word))+2)
}
