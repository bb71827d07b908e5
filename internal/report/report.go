// Package report writes judged calls for people and for programs, one file a
// format: text.go, json.go, jsonl.go, input.go. Each format is a pure function
// from results to bytes.
//
// It promises that whatever a call or a file name holds, a terminal is safe:
// text is escaped, so that nothing a model wrote can move the cursor, hide a
// line or forge one. It never judges and never leaves out a result.
//
// Read Result first, then Text, then JSON.
package report

import (
	"encoding/json"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/facts"
)

// SchemaVersion is schema_version in every JSON report. It changes when a field
// changes its meaning or goes away; adding a field does not change it.
const SchemaVersion = 1

// Result is one judged call.
type Result struct {
	Source  string // where the call came from, for people: "calls.jsonl#3"
	Place   Place  // where the call begins
	CallID  string // "" when the caller gave none
	Tool    string // "" when the call was not admitted
	Effect  engine.Effect
	Reasons []engine.Reason // those that may be told, primary first; never empty

	Normalized map[string]string // target parameter → canonical absolute path
	MaxBytes   int64             // 0: no limit

	PolicyRevision string
	InputDigest    string          // "" when the call did not reach policy
	Input          json.RawMessage // nil when the call did not reach policy; one line
	Facts          *facts.Input    // Input as a value
}

// primary is the reason that carries the verdict.
func (r *Result) primary() engine.Reason {
	if len(r.Reasons) == 0 {
		return engine.Reason{Code: "policy_bad_result", Message: "no reason was given"}
	}
	return r.Reasons[0]
}
