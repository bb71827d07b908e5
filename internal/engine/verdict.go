package engine

import "encoding/json"

// Effect is what a verdict says. The zero Effect denies.
type Effect uint8

// Effects, the words of the contract.
const (
	Deny Effect = iota
	Block
	Ask
	Allow
)

func (e Effect) String() string {
	switch e {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	case Block:
		return "block"
	default:
		return "deny"
	}
}

// Verdict is the answer to one input.
type Verdict struct {
	Effect    Effect
	Reasons   []Reason // primary first; never empty in what Decide returns
	MaxBytes  int64    // the grant narrows the tool's limit to this; 0: not narrowed
	TimeoutMS int64    // likewise
}

// Reason is one cause of a verdict. Code is stable, Message is for people and
// Detail is for both; none of them holds a value of the call's arguments that
// policy did not put there.
type Reason struct {
	Code       string         `json:"code"`
	Message    string         `json:"message"`
	Param      string         `json:"param"`  // target parameter it is about, "" when about the call
	Detail     map[string]any `json:"detail"` // values as encoding/json gives them, numbers as json.Number; nil when none
	File       string         `json:"file"`   // of the rule, "" when Go decided
	Line       int            `json:"line"`
	Gate       string         `json:"gate"`
	Remedy     string         `json:"remedy"`
	Retryable  bool           `json:"retryable"`
	LedgerOnly bool           `json:"ledger_only,omitempty"` // recorded, not reported to the caller
}

// MarshalJSON writes a reason with its detail always an object.
func (r Reason) MarshalJSON() ([]byte, error) {
	type plain Reason
	if r.Detail == nil {
		r.Detail = map[string]any{}
	}
	return json.Marshal(plain(r))
}
