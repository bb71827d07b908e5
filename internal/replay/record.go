package replay

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

// record is a recorded verdict, as its event tells it.
type record struct {
	verdict  Verdict
	reasons  []engine.Reason // not to be changed
	primary  string          // code
	callID   string
	revision string // of the policy that gave it
	tools    string // revision of the manifests
	digest   string // of the input; "" for a start, which has none
	input    []byte // nil when the call did not reach policy
}

// policyOwn tells whether policy gave the verdict, or would have if it had not
// failed: nobody else's refusal can be judged again. A reason of policy names a
// rule's file; what the engine says in the place of a decision has a gate of its own.
func (r *record) policyOwn() bool {
	first := r.reasons[0]
	return first.File != "" || first.Gate == policyGate || first.Code == tooLarge || first.Code == "allowed"
}

const (
	policyGate = "policy"
	tooLarge   = "input_too_large"
	timedOut   = "policy_timeout"
)

// troubled tells whether policy itself failed.
func troubled(code string) bool { return strings.HasPrefix(code, "policy_") }

// reasonsReader reads lists of reasons. Most verdicts have the same ones, so that a
// list is read once.
type reasonsReader struct {
	known map[string][]engine.Reason
}

const (
	maxReasons     = 1000    // lists that are kept
	maxReasonsText = 8 << 10 // bytes of a list that is kept
)

func (r *reasonsReader) read(raw []byte) []engine.Reason {
	if have, ok := r.known[string(raw)]; ok {
		return have
	}
	var list []engine.Reason
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	if len(raw) > maxReasonsText {
		return list
	}
	if r.known == nil || len(r.known) >= maxReasons {
		r.known = map[string][]engine.Reason{}
	}
	r.known[string(raw)] = list
	return list
}

// readRecord reads the event of a job; note says what is not as RunLens writes it.
func readRecord(j *job, reasons *reasonsReader) (rec record, note string) {
	if j.kind != ledger.ToolStarted {
		return readVerdict(j.payload, j.kind, reasons)
	}
	if j.allowed == nil {
		return rec, "the verdict that it carries out is not among those before it"
	}
	if rec, note = readVerdict(j.allowed, ledger.ToolAllowed, reasons); note != "" {
		return rec, "the verdict that it carries out: " + note
	}
	// The call was judged once more before it was started, by the same policy and
	// with the same outcome, else it would not have been.
	rec.input, rec.digest = nil, ""
	facts.Members(j.payload, func(name, value []byte) bool {
		if string(name) == "input" {
			rec.input = value
		}
		return true
	})
	if rec.input == nil {
		note = "input is missing"
	}
	return rec, note
}

// readVerdict reads the payload of a verdict.
func readVerdict(payload []byte, kind string, reasons *reasonsReader) (rec record, note string) {
	var effect, limit string
	var input []byte
	whole := facts.Members(payload, func(name, value []byte) bool {
		switch string(name) {
		case "verdict":
			effect = text(value)
		case "reason":
			rec.primary = text(value)
		case "max_bytes":
			limit = string(value)
		case "call_id":
			rec.callID = text(value)
		case "policy_revision":
			rec.revision = text(value)
		case "manifest_revision":
			rec.tools = text(value)
		case "input_digest":
			rec.digest = text(value)
		case "reasons":
			rec.reasons = reasons.read(value)
		case "input":
			input = value
		}
		return true
	})
	n, err := strconv.ParseInt(limit, 10, 64)
	is, known := effects[effect]
	switch {
	case !whole:
		return rec, "the payload isn't one of a verdict"
	case !known || is.kind != kind:
		return rec, "verdict and type don't belong together"
	case err != nil || n < 0:
		return rec, "max_bytes isn't a limit"
	case len(rec.reasons) == 0:
		return rec, "reasons is missing, or no list of reasons"
	case rec.reasons[0].Code != rec.primary:
		return rec, "reason isn't the first of reasons"
	case slices.ContainsFunc(rec.reasons, func(r engine.Reason) bool { return len(r.Code) > maxText }):
		return rec, "reasons holds what is no code"
	case len(rec.callID) > maxText || len(rec.revision) > maxText:
		return rec, "call_id or policy_revision is none"
	case input == nil:
		return rec, "input is missing"
	}
	if string(input) != "null" {
		rec.input = input
	}
	switch own := rec.policyOwn(); {
	case rec.input == nil && own:
		return rec, "the input that policy judged is missing"
	case rec.input == nil && is.effect == engine.Allow, !own && is.effect == engine.Allow:
		return rec, "an allow that no policy has given"
	case rec.input != nil && rec.digest == "":
		return rec, "input_digest is missing"
	}
	rec.verdict = Of(engine.Verdict{Effect: is.effect, Reasons: rec.reasons}, n)
	return rec, ""
}

// maxText bounds the names that a record gives, in bytes: RunLens admits none that
// is longer.
const maxText = 256

// effects are the verdicts that events tell of, and the type of event of each.
var effects = map[string]struct {
	effect engine.Effect
	kind   string
}{
	"deny":  {engine.Deny, ledger.ToolDenied},
	"block": {engine.Block, ledger.ToolBlocked},
	"ask":   {engine.Ask, ledger.ToolBlocked},
	"allow": {engine.Allow, ledger.ToolAllowed},
}

// text is a JSON string, "" when value is none.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	var s string
	if inside := value[1 : len(value)-1]; isPlain(inside) {
		return string(inside)
	}
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

func isPlain(inside []byte) bool {
	for _, c := range inside {
		if c == '\\' || c < 0x20 {
			return false
		}
	}
	return true
}
