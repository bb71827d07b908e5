package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
)

// A late result that the ledger has no room for is a fault that is logged, and the
// run is as it was.
func TestLateNotRecorded(t *testing.T) {
	project := canonical(t)
	d := newDeaf()
	logged := make(chan string, 8)
	x := open(t, project, func(c *executor.Config) {
		c.Tools = tools(t, `{"schema_version":1,"tools":{"read_file":{"operation":"read","timeout_ms":50}}}`)
		c.Handlers = d.stubborn("read_file")
		c.Log = func(format string, args ...any) { logged <- fmt.Sprintf(format, args...) }
	})
	write(t, project, "data/feedback.txt", "works well\n")
	if _, err := x.Note(context.Background(), json.RawMessage(`"`+strings.Repeat("x", 1<<20)+`"`), "r"); err != nil {
		t.Fatal(err)
	}
	if r := x.Exec(context.Background(), readCall, "r"); r.ErrorCode != "handler_timeout" {
		t.Fatalf("%+v", r)
	}
	before := len(events(t, project, "r"))
	mend := noRoom(t, filepath.Join(project, "runs/r/events.jsonl"))
	close(d.let)
	said := <-logged
	mend()
	if !strings.HasPrefix(said, "record a late result of event ") || strings.Contains(said, "panic") {
		t.Errorf("logged %q", said)
	}
	if after := events(t, project, "r"); len(after) != before || after[before-1].Type != ledger.ToolFailed {
		t.Errorf("events %v", types(after))
	}
	if report, err := ledger.Verify(project+"/runs/r", nil, nil); err != nil || len(report.Problems) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}
