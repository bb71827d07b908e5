package executor

import (
	"encoding/json"

	"github.com/runlens/runlens/internal/engine"
)

// The payloads of the events that this package writes. Field order is part of
// the format.

type proposedEvent struct {
	CallID    string          `json:"call_id"`
	Given     bool            `json:"call_id_given"` // by the caller; else it is c<seq>
	ClientID  string          `json:"client_id,omitempty"`
	Tool      string          `json:"tool"`
	Shape     string          `json:"shape"`
	Bytes     int             `json:"bytes"`
	Digest    string          `json:"digest"` // of the call; of the bytes when malformed
	Malformed bool            `json:"malformed,omitempty"`
	After     int64           `json:"after"`           // last event its caller can have known of
	Again     int64           `json:"again,omitempty"` // the first proposal of the same line of a transcript
	Call      json.RawMessage `json:"call,omitempty"`  // the proposal's text, unless `record` is facts; last
}

// verdictEvent is a verdict without its last member: input, the document that
// was judged, or null when the call did not reach policy.
type verdictEvent struct {
	Verdict          string          `json:"verdict"`
	Reason           string          `json:"reason"`
	Path             string          `json:"path"` // canonical, of the first target
	MaxBytes         int64           `json:"max_bytes"`
	CallID           string          `json:"call_id"`
	Proposal         int64           `json:"proposal"`
	PolicyRevision   string          `json:"policy_revision"`
	ManifestRevision string          `json:"manifest_revision"`
	InputDigest      string          `json:"input_digest"`
	Reasons          []engine.Reason `json:"reasons"`
	Objects          []objectID      `json:"objects"`
	Told             string          `json:"told_digest,omitempty"` // of a refusal that a model was told
}

// objectID says which object was judged, in a form that another process can
// compare: what is there under the same name may be another object by then.
type objectID struct {
	Param  string `json:"param"`
	Access string `json:"access"`
	ID     string `json:"id"`
}

type toolStartedEvent struct {
	Verdict int64  `json:"verdict_seq"`
	CallID  string `json:"call_id"`
	Tool    string `json:"tool"`
}

type toolEndedEvent struct {
	Started   int64          `json:"started_seq"`
	Verdict   int64          `json:"verdict_seq"`
	CallID    string         `json:"call_id"`
	Tool      string         `json:"tool"`
	ErrorCode string         `json:"error_code,omitempty"`
	Message   string         `json:"message,omitempty"`
	Abandoned bool           `json:"abandoned,omitempty"` // the handler had not come back
	Bytes     int            `json:"output_bytes"`
	Digest    string         `json:"output_digest"`
	Facts     map[string]any `json:"facts"` // numbers and booleans of the output that its schema names; no text
	Truncated bool           `json:"truncated"`
	Artifacts []artifact     `json:"artifacts"`
	Removed   []string       `json:"removed,omitempty"` // files deleted or renamed away
	Micros    int64          `json:"duration_us"`
	Observed  int64          `json:"observation_bytes,omitempty"` // what a model was told, when one was
	Cut       bool           `json:"observation_cut,omitempty"`
	Told      string         `json:"told_digest,omitempty"`
	Output    map[string]any `json:"output,omitempty"` // with `record: full` alone
}

type approvalRequestedEvent struct {
	Verdict  int64  `json:"verdict_seq"`
	CallID   string `json:"call_id"`
	Tool     string `json:"tool"`
	Proposal int64  `json:"proposal"`
}

type stepCompletedEvent struct {
	Step      string     `json:"step"`
	Index     int64      `json:"index"` // from 1
	Result    int64      `json:"result_seq"`
	Artifacts []artifact `json:"artifacts"`
}

type artifact struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
}
