package main

import (
	"strings"
	"testing"
)

// TestRunProviderEnd: what the model said last is told with the run's end, and a
// provider that failed is no dead end.
func TestRunProviderEnd(t *testing.T) {
	project := t.TempDir()
	done := strings.Replace(saysDone, `"Done."`, `"All done.\n\u001b[2J"`, 1)
	base, _ := chatServer(t, "no", done)
	code, _, stderr := runWithModel(t, project, base, "--run", "r1", "--goal", "say hello")
	hint := "runlens: hint: `runlens run --resume r1`, with the same flags of the provider, goes on where it broke off\n"
	if code != exitBroken || !strings.HasSuffix(stderr, hint) || strings.Contains(stderr, "\nmodel: ") {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
	code, _, stderr = runWithModel(t, project, base, "--resume", "r1")
	if end := "model: All done.\nmodel: \\x1b[2J\nrun r1 completed: 0 calls; "; code != exitAllowed || !strings.Contains(stderr, end) {
		t.Errorf("exit code %d, stderr:\n%s", code, stderr)
	}
}
