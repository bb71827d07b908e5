package engine

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
	Code       string
	Message    string
	Param      string         // target parameter it is about, "" when about the call
	Detail     map[string]any // values as encoding/json gives them, numbers as json.Number; nil when none
	File       string         // of the rule, "" when Go decided
	Line       int
	Gate       string
	Remedy     string
	Retryable  bool
	LedgerOnly bool // recorded, not reported to the caller
}
