package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/glyph"
)

// Status of a ToolResult.
const (
	StatusSuccess = "success"
	StatusFailed  = "failed"
	StatusDenied  = "denied"
	StatusBlocked = "blocked"
)

// ToolResult is what goes back to the caller of a tool. The zero value is not a
// success: its status is empty and Finish turns that into a failure.
type ToolResult struct {
	CallID       string          `json:"call_id"`
	ToolName     string          `json:"tool_name"`
	Status       string          `json:"status"`
	Output       map[string]any  `json:"output"` // null unless the tool ran
	ErrorMessage string          `json:"error_message"`
	ErrorCode    string          `json:"error_code"`
	Retryable    bool            `json:"retryable"`
	Reason       string          `json:"reason"`  // code of the primary reason
	Reasons      []engine.Reason `json:"reasons"` // without those that are for the ledger only
	Truncated    bool            `json:"truncated"`
	RunID        string          `json:"run_id"`
	Seq          int64           `json:"seq"` // of the event that ends the call; 0 when nothing could be recorded

	Plan        *Standing `json:"plan,omitempty"`        // in a run with a plan
	Observation string    `json:"observation,omitempty"` // what a model is told; set by ExecTold
	Cut         bool      `json:"-"`                     // Observation is a preview

	// Outcome is what was judged; nil when the call was not admitted.
	Outcome *Outcome `json:"-"`
}

// Standing is where a run stands in its plan after a call.
type Standing struct {
	Status    string   `json:"status"`              // active or complete
	Step      string   `json:"step,omitempty"`      // the current one
	Title     string   `json:"title,omitempty"`     // of it
	Tools     []string `json:"tools,omitempty"`     // that it allows
	Completed []string `json:"completed,omitempty"` // steps that this very call completed
	Open      []string `json:"open,omitempty"`      // what the step still waits for, in words
}

// JSON is the result as one indented document with a final newline, for a terminal,
// too: what can't be seen stands as its \u escape.
func (r *ToolResult) JSON() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return nil, err
	}
	return glyph.JSON(buf.Bytes(), glyph.Hidden), nil
}

// Outcome is a judged call: what came in, what was found, what was decided.
// The zero Outcome is a denial.
type Outcome struct {
	CallID  string // the caller's, or c<seq> once recorded
	Tool    string
	Call    *call.Call   // nil when the bytes were not admitted
	Input   *facts.Input // nil when the call did not reach policy
	Verdict engine.Verdict

	ErrorCode  string            // "" on an allow, else the code of the stage that stopped the call
	Normalized map[string]string // target parameter → canonical absolute path; as requested when outside every root or not found
	MaxBytes   int64             // what a handler may return or write at most

	PolicyRevision   string
	ManifestRevision string
	RunID            string
	Proposal         int64 // seq of the model_proposed event; 0 when nothing was recorded
	Seq              int64 // seq of the verdict event; 0 when nothing was recorded

	line   []byte // the encoded input, made once when first asked for
	digest string
}

// InputDigest is sha256:<hex> over the recorded form of the input without
// `now`; "" when the call did not reach policy.
func (o *Outcome) InputDigest() string {
	o.encode()
	return o.digest
}

// InputJSON is the recorded form of the input, one line, not to be changed; nil
// when the call did not reach policy.
func (o *Outcome) InputJSON() []byte {
	o.encode()
	return o.line
}

func (o *Outcome) encode() {
	if o.Input == nil || o.digest != "" {
		return
	}
	line, digest, err := facts.Encode(o.Input)
	if err != nil {
		return
	}
	o.line, o.digest = line, digest
}

// Public are the reasons that may go back to the caller: those about what lies
// outside the roots stay in the ledger.
func (o *Outcome) Public() []engine.Reason {
	public := make([]engine.Reason, 0, len(o.Verdict.Reasons))
	for _, r := range o.Verdict.Reasons {
		if !r.LedgerOnly {
			public = append(public, r)
		}
	}
	return public
}

// handlerError is err as a handler's error, whatever it was.
func handlerError(err error) *handlers.Error {
	var e *handlers.Error
	if errors.As(err, &e) {
		return e
	}
	return &handlers.Error{Code: codeHandler, Message: err.Error()}
}

// refusal answers a call that policy or an earlier stage stopped.
func (p *proposal) refusal() *ToolResult {
	v := p.out.Verdict
	status := StatusDenied
	switch {
	case v.Effect == engine.Block, v.Effect == engine.Ask:
		status = StatusBlocked
	case p.out.Input == nil:
		status = StatusFailed
	}
	primary := v.Reasons[0]
	message := primary.Message
	if v.Effect == engine.Ask && p.proposed > 0 {
		message += fmt.Sprintf("; a person can approve it: runlens approve %s %d", p.run.id, p.proposed)
	}
	callID, tool := p.known.or(p.out.CallID, p.out.Tool)
	return &ToolResult{
		CallID: callID, ToolName: tool, Status: status, Plan: p.standing,
		ErrorCode: p.out.ErrorCode, ErrorMessage: message, Retryable: primary.Retryable,
		Reason: primary.Code, Reasons: p.out.Public(), RunID: p.run.id, Seq: p.seq, Outcome: p.out,
	}
}

// result answers a call whose handler ran.
func (p *proposal) result() *ToolResult {
	r := &ToolResult{
		CallID: p.out.CallID, ToolName: p.out.Tool, Status: StatusSuccess, Plan: p.standing,
		Output: p.done.Output, Truncated: p.done.Truncated,
		Reason: p.out.Verdict.Reasons[0].Code, Reasons: p.out.Public(),
		RunID: p.run.id, Seq: p.seq, Outcome: p.out,
	}
	if p.told != nil {
		r.Observation = p.done.Observation
	}
	if p.err != nil {
		e := handlerError(p.err)
		known := p.x.cfg.Engine.Reason(e.Code, e.Message, "", nil)
		r.Status, r.ErrorCode, r.ErrorMessage, r.Retryable = StatusFailed, e.Code, e.Message, known.Retryable
		r.Output, r.Truncated, r.Reason, r.Reasons = e.Output, e.Truncated, e.Code, []engine.Reason{known}
		if p.told != nil {
			r.Observation = e.Observation
		}
	}
	return r
}
