package executor

import (
	"encoding/json"

	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/ledger"
)

// resultEvent is the end of the handler: digests, sizes and facts, never text,
// unless the operator set `record` to full.
func (p *proposal) resultEvent() (string, toolEndedEvent) {
	ev := toolEndedEvent{
		Started: p.started, Verdict: p.out.Seq, CallID: p.out.CallID, Tool: p.out.Tool,
		Facts: map[string]any{}, Artifacts: []artifact{}, Micros: p.took.Microseconds(),
	}
	output := p.done.Output
	if p.err != nil {
		e := handlerError(p.err)
		ev.ErrorCode, ev.Abandoned, ev.Truncated, output = e.Code, e.Abandoned, e.Truncated, e.Output
		ev.Message = p.recordedMessage(e)
	}
	if output != nil {
		if text, err := json.Marshal(output); err == nil {
			ev.Bytes, ev.Digest = len(text), digest(text)
		}
		p.addFacts(ev.Facts, output)
	}
	if p.told != nil {
		r := p.told.result(p.result())
		ev.Observed, ev.Cut, ev.Told = int64(len(r.Observation)), r.Cut, r.ToldDigest()
	}
	if p.x.cfg.Tools.Record == recordFull {
		ev.Output = output
	}
	ev.Artifacts, ev.Removed = p.made(p.done, p.err)
	if p.err != nil {
		return ledger.ToolFailed, ev
	}
	ev.Truncated = p.done.Truncated
	return ledger.ToolSucceeded, ev
}

// addFacts takes from an output the numbers and truth values of members that the
// tool's output schema declares by name. Any other key is text of whoever made the
// output.
func (p *proposal) addFacts(known map[string]any, output map[string]any) {
	for name, v := range output {
		switch v.(type) {
		case bool, int, int64, float64, json.Number:
			if p.tool.Declares(name) {
				known[name] = v
			}
		}
	}
}

// recordedMessage is what the ledger keeps of an error's message.
func (p *proposal) recordedMessage(e *handlers.Error) string {
	message := e.Message
	if e.Recorded != "" {
		message = e.Recorded
	}
	return p.x.withhold.message(message, p.x.cfg.Engine.Reason(e.Code, "", "", nil).Message)
}
