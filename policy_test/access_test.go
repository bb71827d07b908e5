package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/runlens/runlens/internal/executor"
)

// TestNoAccess: what the process itself may not reach. Root may reach all of
// it, so this runs as an ordinary user; resolution/no_access has the fact.
func TestNoAccess(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root has access everywhere")
	}
	g := open(t, shipped(t), reads, "file ws/closed/f.txt ws/unreadable ../closed/f.txt", "link ws/out -> ../../closed/f.txt",
		"mode ws/closed 000", "mode ../closed 000", "mode ws/unreadable 000")
	t.Cleanup(func() {
		for _, name := range []string{"ws/closed", "../closed"} {
			if err := os.Chmod(filepath.Join(g.project, name), 0o755); err != nil {
				t.Error(err)
			}
		}
	})
	g.answers(t, map[string]string{
		read("ws/closed/f.txt"): "deny no_access",
		read("ws/closed/nope"):  "deny no_access",
		read("ws/out"):          "deny outside_roots no_access(ledger)",
	})
	// A file that is there and may not be read is denied before anything opens it.
	g.answers(t, map[string]string{read("ws/unreadable"): "deny no_access"})
	if r := g.x.Exec(t.Context(), []byte(read("ws/unreadable")), "access"); r.Status != executor.StatusDenied || r.Reason != "no_access" {
		t.Errorf("%s %s", r.Status, r.Reason)
	}
}
