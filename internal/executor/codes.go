package executor

import "github.com/runlens/runlens/internal/engine"

// Codes that Go emits or looks at. Their titles, remedies and whether a retry
// can help are in the engine's catalogue.
const (
	codeMalformed      = "malformed_call"
	codeInvalid        = "input_validation_failed"
	codeLedgerFailed   = "ledger_failed"
	codeLedgerBusy     = "ledger_busy"
	codeHandler        = "handler_failed"
	codeCancelled      = "handler_cancelled"
	codeTimeout        = "handler_timeout"
	codeObjectChanged  = "object_changed"
	codeOutput         = "output_validation_failed"
	codeInternal       = "internal_error"
	codeContractDrift  = "contract_drift"
	codeOutsideRoots   = "outside_roots"
	codeBadResult      = "policy_bad_result"
	codeDenied         = "permission_denied"
	codeBlocked        = "pre_hook_blocked"
	codeNeedsApproval  = "approval_required"
	codePolicyFailed   = "policy_failed"
	codeNotExecutable  = "unsupported_operation"
	gatePolicyFailures = "policy"
)

// errorCode is the stage code of a verdict that is not an allow; the reasons
// carry the precise one.
func errorCode(v engine.Verdict) string {
	switch {
	case v.Effect == engine.Block:
		return codeBlocked
	case v.Effect == engine.Ask:
		return codeNeedsApproval
	case len(v.Reasons) > 0 && v.Reasons[0].Gate == gatePolicyFailures:
		return codePolicyFailed
	}
	return codeDenied
}
