package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor/handlers"
)

// Observe is a result as a model is told it, deterministic and free of what a
// terminal would obey. What the tool gave is cut to limit bytes, head and tail
// kept, with a mark that says how much is missing; cut says so too. Why a call did
// not run is told whole up to 4 KiB, whatever the limit: the model must mend it.
// Where the run stands in its plan comes behind it.
//
// When r.Observation is set it is the tool's own text for a model, uncut, which
// stands for the output.
func Observe(r *ToolResult, limit int) (text string, cut bool) {
	if r.Status != StatusSuccess {
		limit = max(limit, refusalLimit)
	}
	text, cut = handlers.Observation(r.account(), limit)
	if r.Plan != nil {
		// Step and tool names come from a manifest: bounded, and spelt out the same way.
		where, _ := handlers.Observation(handlers.Result{Observation: r.Plan.words()}, standingLimit)
		text = strings.TrimRight(text, "\n") + "\n\n" + where
	}
	return text, cut
}

const (
	standingLimit = 4 << 10
	refusalLimit  = 4 << 10
	// toldLimit bounds the observation of a result that was not made for a model.
	toldLimit = 16 << 10
)

// account is what a result tells, before it is cut.
func (r *ToolResult) account() handlers.Result {
	if r.Status == StatusSuccess {
		if r.Output == nil && r.Observation == "" {
			return handlers.Result{Observation: "(done; the tool returned nothing)"}
		}
		return handlers.Result{Output: r.Output, Observation: r.Observation}
	}
	var b strings.Builder
	code := r.ErrorCode
	if r.Reason != "" {
		code = r.Reason
	}
	fmt.Fprintf(&b, "%s (%s): %s", r.status(), code, r.ErrorMessage)
	r.writeReasons(&b)
	if how := r.approving(); !strings.Contains(r.ErrorMessage, how) {
		fmt.Fprintf(&b, "\nto approve it, a person runs: %s", how)
	}
	if r.Output != nil || r.Observation != "" {
		printed, _ := handlers.Observation(handlers.Result{Output: r.Output, Observation: r.Observation}, maxAccount)
		fmt.Fprintf(&b, "\nwhat the tool gave before that:\n%s", printed)
	}
	return handlers.Result{Observation: b.String()}
}

// maxAccount is more than any result holds; the caller's limit cuts.
const maxAccount = 1 << 30

// status is the result's status; a result without one has failed.
func (r *ToolResult) status() string {
	if r.Status == "" {
		return StatusFailed
	}
	return r.Status
}

// approving is the command of the person whose answer is missing; "" when none is.
func (r *ToolResult) approving() string {
	if r.Outcome == nil || r.Outcome.Verdict.Effect != engine.Ask || r.Outcome.Proposal == 0 {
		return ""
	}
	return fmt.Sprintf("runlens approve %s %d", r.RunID, r.Outcome.Proposal)
}

// writeReasons tells every reason that may be told, what it allows instead and
// what to do. The primary one's message stands in the first line.
func (r *ToolResult) writeReasons(b *strings.Builder) {
	for i, reason := range r.Reasons {
		if reason.LedgerOnly {
			continue
		}
		message := reason.Message
		if i == 0 {
			message = r.ErrorMessage
		}
		if i > 0 {
			fmt.Fprintf(b, "\nalso (%s): %s", reason.Code, message)
		}
		if roots := missingFrom(message, reason.Detail["roots"]); roots != "" {
			fmt.Fprintf(b, "\nallowed roots: %s", roots)
		}
		if reason.Remedy != "" {
			fmt.Fprintf(b, "\nremedy: %s", reason.Remedy)
		}
	}
}

// missingFrom lists the roots of a reason's detail when its message does not name
// every one of them.
func missingFrom(message string, detail any) string {
	var roots []string
	told := true
	list, _ := detail.([]any)
	for _, e := range list {
		root, _ := e.(string)
		roots = append(roots, root)
		told = told && strings.Contains(message, root)
	}
	if told {
		return ""
	}
	return strings.Join(roots, ", ")
}

// words tell where the run stands, in one line:
//
//	step read complete; now: extract (tools: extract_evidence)
func (s *Standing) words() string {
	var parts []string
	switch len(s.Completed) {
	case 0:
	case 1:
		parts = append(parts, fmt.Sprintf("step %s complete", s.Completed[0]))
	default:
		parts = append(parts, fmt.Sprintf("steps %s complete", strings.Join(s.Completed, ", ")))
	}
	if s.Step == "" {
		return strings.Join(append(parts, "the plan is complete"), "; ")
	}
	parts = append(parts, fmt.Sprintf("now: %s (tools: %s)", s.Step, strings.Join(s.Tools, ", ")))
	if len(s.Completed) == 0 {
		for _, open := range s.Open {
			parts = append(parts, "open: "+open)
		}
	}
	return strings.Join(parts, "; ")
}

// OpenAI is the result as a role=tool message of an OpenAI chat, one line with
// its newline.
func (r *ToolResult) OpenAI() ([]byte, error) {
	return line(struct {
		Role    string `json:"role"`
		CallID  string `json:"tool_call_id"`
		Content string `json:"content"`
	}{"tool", r.CallID, r.told()})
}

// Anthropic is the result as a user message with one tool_result block, one line
// with its newline.
func (r *ToolResult) Anthropic() ([]byte, error) {
	type block struct {
		Type    string `json:"type"`
		CallID  string `json:"tool_use_id"`
		Content string `json:"content"`
		IsError bool   `json:"is_error,omitempty"`
	}
	return line(struct {
		Role    string  `json:"role"`
		Content []block `json:"content"`
	}{"user", []block{{"tool_result", r.CallID, r.told(), r.Status != StatusSuccess}}})
}

// Line is the result as one line of JSON, with its newline.
func (r *ToolResult) Line() ([]byte, error) { return line(r) }

// ToldDigest is the digest of all that a result tells, but the number of its
// event: the ledger has it for what a model was told.
func (r *ToolResult) ToldDigest() string {
	told := *r
	told.Seq = 0
	text, err := told.Line()
	if err != nil {
		return ""
	}
	return digest(text)
}

// told is what a model is told of a result, made now where it was not before.
func (r *ToolResult) told() string {
	if r.Observation != "" {
		return r.Observation
	}
	text, _ := Observe(r, toldLimit)
	return text
}

func line(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write result: %w", err)
	}
	return buf.Bytes(), nil
}

// OutputDigest is the digest of an output as the ledger has it: of its compact
// JSON, "" for none. Text of that JSON without the escapes of <, > and & has the
// same digest.
func OutputDigest(output json.RawMessage) string {
	if len(output) == 0 || bytes.Equal(output, []byte("null")) {
		return ""
	}
	var escaped bytes.Buffer
	json.HTMLEscape(&escaped, output)
	return digest(escaped.Bytes())
}
