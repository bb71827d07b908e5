// Package replay judges recorded inputs again and tells what came out
// differently.
//
// It promises that a verdict counts as unchanged only when it was judged again
// from exactly what was recorded; that what can't be judged again is counted by
// its cause; and that memory does not grow with the length of a record.
//
// It never opens what a call named, never writes, and never says that two
// policies are equivalent.
//
// Read Verdict first, then Flip, then Groups.
package replay

import "github.com/runlens/runlens/internal/engine"

// Verdict is what two judgements are compared by.
type Verdict struct {
	Effect   engine.Effect
	Codes    []string // of all reasons, each once, primary first, those for the ledger alone too
	MaxBytes int64    // the limit that counts, of tool and grant; 0: none
}

// Of is a verdict of the engine under the tool's own limit.
func Of(v engine.Verdict, toolMaxBytes int64) Verdict {
	out := Verdict{Effect: v.Effect, MaxBytes: toolMaxBytes}
	if v.MaxBytes > 0 && (toolMaxBytes == 0 || v.MaxBytes < toolMaxBytes) {
		out.MaxBytes = v.MaxBytes
	}
	seen := map[string]bool{}
	for _, r := range v.Reasons {
		if !seen[r.Code] {
			seen[r.Code] = true
			out.Codes = append(out.Codes, r.Code)
		}
	}
	return out
}
