package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/runlens/runlens/internal/ledger"
)

// askedCall is a recorded call that a person is asked about.
type askedCall struct {
	call int64
	run  string
	proposal
	verdict *verdictWords
	message string   // of the verdict's primary reason
	found   string   // type of event call; "" when there is none
	last    int64    // events of the run
	whose   int64    // proposal that event call belongs to, when it says so
	refused *refusal // of this very call
}

// proposal is what a proposal's payload tells of the call.
type proposal struct {
	CallID string          `json:"call_id"`
	Tool   string          `json:"tool"`
	Digest string          `json:"digest"`
	Call   json.RawMessage `json:"call"`
}

// refusal is what approval_refused tells.
type refusal struct {
	seq    int64
	By     string `json:"by"`
	Tool   string `json:"tool"`
	Digest string `json:"digest"`
}

// findAsked reads what the run in dir has recorded of a call. A torn last line
// is left to whoever records next.
func findAsked(dir string, call int64) (*askedCall, error) {
	id, err := ledger.RunIDOf(dir)
	if err != nil {
		return nil, err
	}
	c := &askedCall{call: call, run: id}
	for ev, err := range ledger.Read(dir) {
		if err != nil {
			return c, err
		}
		c.last = ev.Seq
		c.see(ev)
	}
	return c, nil
}

// see takes in an event.
func (c *askedCall) see(ev *ledger.Event) {
	if ev.Seq == c.call {
		c.found = ev.Type
		c.whose, _, _ = refs(ev)
		if ev.Type == ledger.ModelProposed && json.Unmarshal(ev.Payload, &c.proposal) != nil {
			c.proposal = proposal{}
		}
		return
	}
	switch ev.Type {
	case ledger.ToolAllowed, ledger.ToolDenied, ledger.ToolBlocked:
		if of, _, _ := refs(ev); of != c.call {
			return
		}
		var v struct {
			verdictWords
			Reasons []struct{ Code, Message string } `json:"reasons"`
		}
		if json.Unmarshal(ev.Payload, &v) != nil {
			return
		}
		c.verdict, c.message = &v.verdictWords, ""
		if len(v.Reasons) > 0 {
			c.message = v.Reasons[0].Message
		}
	case ledger.ApprovalRefused:
		r := refusal{seq: ev.Seq}
		if json.Unmarshal(ev.Payload, &r) == nil && c.Digest != "" && r.Digest == c.Digest && r.Tool == c.Tool {
			c.refused = &r
		}
	}
}

// trouble says why a person can't answer the call; nil when one can. verb is
// approve or deny.
func (c *askedCall) trouble(verb string) error {
	numbers := fmt.Sprintf("`runlens ledger show %s` has the numbers of the calls in its first column", c.run)
	fail := func(hint, format string, args ...any) error {
		return hinted(hint, "%s call %d of run %s: %s", verb, c.call, c.run, fmt.Sprintf(format, args...))
	}
	switch {
	case c.found == "":
		return fail(numbers, "the run has %d events", c.last)
	case c.found != ledger.ModelProposed && c.whose > 0:
		return fail(fmt.Sprintf("did you mean %d?", c.whose), "event %d is %s of call %d", c.call, c.found, c.whose)
	case c.found != ledger.ModelProposed:
		return fail(numbers, "event %d is %s, and proposes no call", c.call, c.found)
	case c.refused != nil:
		return fail("propose another call", "%s has refused it in event %d, which is final", quoted(c.refused.By), c.refused.seq)
	case c.verdict == nil:
		return fail(fmt.Sprintf("`runlens authorize --run %s` judges the run's last proposal", c.run), "it is not judged yet")
	}
	switch c.verdict.Verdict {
	case "ask":
		return nil
	case "allow":
		return fail("", "it is allowed already")
	case "block":
		return fail("the run's plan decides when the tool may be called, not a person", "it is blocked: %s", c.verdict.Reason)
	}
	if verb == "deny" {
		return fail("", "it is denied already: %s", c.verdict.Reason)
	}
	hint := "an approval never lifts a denial; docs/approvals.md says how a rule asks instead"
	if c.verdict.Reason == "denial_budget_exhausted" {
		hint = fmt.Sprintf("`runlens approve %s --budget --by NAME` lets the run go on", c.run)
	}
	return fail(hint, "it is denied: %s", c.verdict.Reason)
}

// text is what a person is about to answer.
func (c *askedCall) text(answer string) string {
	lines := []string{fmt.Sprintf("call %d of run %s, to be %s", c.call, c.run, answer)}
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, fmt.Sprintf("  %-9s  %s", name, value))
		}
	}
	add("tool", oneWord(c.Tool, maxTool))
	if in := c.verdict.Input; in != nil {
		for _, path := range in.paths() {
			add("path", path)
		}
		add("command", argvWords(in.Command.Argv))
	}
	add("arguments", c.arguments())
	add("asked for", strings.TrimSuffix(c.verdict.Reason+": "+cutText(c.message, foreignCut), ": "))
	return joinLines(lines)
}

// maxShown bounds, in bytes, the arguments that a person is shown.
const maxShown = 2000

func (c *askedCall) arguments() string {
	var call struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(c.Call, &call) != nil || call.Arguments == nil {
		return "not recorded; the digest of the call is " + c.Digest
	}
	return cutText(string(call.Arguments), maxShown)
}

// paths are the objects that were judged; those in the project count from it.
func (in *inputWords) paths() (list []string) {
	for _, t := range in.Targets {
		path := t.Path
		if t.InProject {
			path = filepath.Join(append([]string{"."}, t.Segments...)...)
		}
		if !t.Entry && !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	return list
}

// callNumber reads CALL. A call_id is none, since two calls of a run can have
// the same; when just one has it, its number is the hint.
func callNumber(dir, verb, text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		return n, nil
	}
	id := filepath.Base(dir)
	hint := fmt.Sprintf("`runlens ledger show %s` has the numbers of the calls in its first column", id)
	var seqs []int64
	for ev, err := range ledger.Read(dir) {
		if err != nil {
			break
		}
		var p proposal
		if ev.Type == ledger.ModelProposed && json.Unmarshal(ev.Payload, &p) == nil && p.CallID == text && text != "" {
			seqs = append(seqs, ev.Seq)
		}
	}
	if len(seqs) == 1 {
		hint = fmt.Sprintf("the call with that call_id is %d: `runlens %s %s %d …`", seqs[0], verb, id, seqs[0])
	}
	return 0, hinted(hint, "read arguments: CALL: %s is not the number of a proposal", quoted(text))
}
