package engine

// Code is one entry of the catalogue of reasons.
type Code struct {
	Code      string
	Title     string
	Gate      string // the check that it comes from
	Retryable bool   // the same agent may try again with a corrected call
	Remedy    string
	Effects   []string // verdicts that rules give with it; empty for codes that Go emits
	File      string   // where it is declared; "" for codes that Go emits
	Line      int

	ruleFile string // where the first rule that emits it stands
	ruleLine int
}

// goCodes are the codes that no rule can emit, because there was no decision to
// ask for or because the decision itself was at fault.
func goCodes() []Code {
	return []Code{
		{
			Code: "malformed_call", Gate: "admission", Retryable: true,
			Title: "the call's bytes are not one well-formed call", Remedy: "send one JSON object in a supported shape; the message names the place",
		},
		{
			Code: "input_too_large", Gate: "admission", Retryable: true,
			Title: "the call is too large to be judged", Remedy: "send less text in the arguments",
		},
		{
			Code: "input_validation_failed", Gate: "input schema", Retryable: true,
			Title: "the arguments do not fit the tool's input schema", Remedy: "correct the fields that the message names",
		},
		{
			Code: "policy_undefined", Gate: "policy",
			Title: "the policy gave no decision", Remedy: "make the decision rule total: its last branch denies",
		},
		{
			Code: "policy_error", Gate: "policy",
			Title: "the policy failed while it was evaluated", Remedy: "correct the rule that the detail names",
		},
		{
			Code: "policy_conflict", Gate: "policy",
			Title: "two rules gave one document different values", Remedy: "make the rules that the detail names exclude each other",
		},
		{
			Code: "policy_timeout", Gate: "policy",
			Title: "the policy took too long", Remedy: "find the slow rule with opa eval --profile, or raise limits.policy_timeout_ms",
		},
		{
			Code: "policy_bad_result", Gate: "policy",
			Title: "the decision does not keep its contract", Remedy: "compare the decision with schemas/decision.json; the detail names the field",
		},
		{
			Code: "ledger_failed", Gate: "record",
			Title: "the ledger could not record the call", Remedy: "check space and permissions of the run's directory; nothing was run",
		},
		{
			Code: "ledger_busy", Gate: "record", Retryable: true,
			Title: "another process held the run for too long", Remedy: "try again",
		},
		{
			Code: "handler_failed", Gate: "handler",
			Title: "the tool failed", Remedy: "read the message",
		},
		{
			Code: "handler_timeout", Gate: "handler", Retryable: true,
			Title: "the tool ran out of time", Remedy: "ask for less, or raise the tool's timeout_ms",
		},
		{
			Code: "handler_cancelled", Gate: "handler", Retryable: true,
			Title: "the caller cancelled the call while its tool ran", Remedy: "make the call again; what changes something asks a person first, since it may have been done",
		},
		{
			Code: "object_changed", Gate: "handler", Retryable: true,
			Title: "the object changed after it was judged", Remedy: "try again; it will be judged as it is then",
		},
		{
			Code: "output_validation_failed", Gate: "output schema",
			Title: "the tool's output does not fit its output schema", Remedy: "correct the tool or its schema; the message names the field",
		},
		{
			Code: "internal_error", Gate: "start",
			Title: "RunLens itself failed", Remedy: "report it with what stderr says; nothing more was run",
		},
		{
			Code: "policy_writable", Gate: "start",
			Title: "a place that agents may write holds policies, manifests, configuration or keys", Remedy: "move the root or the place so that neither holds the other",
		},
	}
}

// GoReason makes a reason with a code of this package's own: one that no rule
// emits. A code that only the policy's catalogue knows gives a reason without
// gate and remedy; use Engine.Reason for those.
func GoReason(code, message, param string, detail map[string]any) Reason {
	for _, c := range goCodes() {
		if c.Code == code {
			return c.reason(message, param, detail)
		}
	}
	return Reason{Code: code, Message: message, Param: param, Detail: detail}
}

// Reason makes a reason with any code of the catalogue, for the places where Go
// finds what a rule would say, such as contract_drift before an authorized call.
func (e *Engine) Reason(code, message, param string, detail map[string]any) Reason {
	if c, ok := e.byCode[code]; ok {
		return c.reason(message, param, detail)
	}
	return Reason{Code: code, Message: message, Param: param, Detail: detail}
}

func (c *Code) reason(message, param string, detail map[string]any) Reason {
	if message == "" {
		message = c.Title
	}
	return Reason{
		Code: c.Code, Message: message, Param: param, Detail: detail,
		Gate: c.Gate, Remedy: c.Remedy, Retryable: c.Retryable,
	}
}
