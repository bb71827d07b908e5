package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
)

// forge makes a run whose chain is valid and whose events say what the test
// wants.
func forge(t *testing.T, project string, list ...[2]string) {
	t.Helper()
	log, err := ledger.Open(filepath.Join(project, "runs/r"), ledger.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	err = log.Commit(context.Background(), func(tx *ledger.Tx) error {
		for _, ev := range list {
			if _, err := tx.Add(ev[0], json.RawMessage(ev[1])); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
}

func digestOf(t *testing.T, text []byte) string {
	t.Helper()
	c, err := call.Admit(text)
	if err != nil {
		t.Fatal(err)
	}
	return c.Digest()
}

// proposed is a model_proposed event with any text under any digest.
func proposed(digest, text string) [2]string {
	return [2]string{ledger.ModelProposed, fmt.Sprintf(`{"call_id":"c2","call_id_given":false,"tool":"read_file","shape":"runlens","bytes":%d,"digest":%q,"after":0,"call":%s}`, len(text), digest, text)}
}

// TestForgedProposal: a proposal whose text is not the one of its digest is
// corruption, whoever is asked to judge it or to run it. Nothing is recorded.
func TestForgedProposal(t *testing.T) {
	started := [2]string{ledger.RunStarted, "{}"}
	allow := [2]string{ledger.ToolAllowed, `{"verdict":"allow","reason":"allowed","proposal":2,"objects":[]}`}
	for name, c := range map[string]struct{ digest, text string }{
		"digest of another call": {digestOf(t, []byte(`{"name":"read_file","arguments":{"path":"data/other.txt"}}`)), string(readCall)},
		"no digest":              {"", string(readCall)},
		"no call":                {digestOf(t, readCall), `{"name":"read_file","arguments":[]}`},
	} {
		for door, allowed := range map[string][][2]string{"authorize": nil, "exec authorized": {allow}} {
			t.Run(name+"/"+door, func(t *testing.T) {
				project := canonical(t)
				write(t, project, "data/feedback.txt", "works well\n")
				forge(t, project, append([][2]string{started, proposed(c.digest, c.text)}, allowed...)...)
				before := types(events(t, project, "r"))
				ran := 0
				x := open(t, project, func(c *executor.Config) { c.Handlers = watched(&ran, nil) })
				var err error
				if allowed == nil {
					_, err = x.Authorize(context.Background(), "r")
				} else {
					_, err = x.ExecAuthorized(context.Background(), "r")
				}
				if !errors.Is(err, ledger.ErrCorrupt) || ran != 0 {
					t.Errorf("ran %d times: %v", ran, err)
				}
				if after := types(events(t, project, "r")); !slices.Equal(after, before) {
					t.Errorf("events %v, want %v", after, before)
				}
			})
		}
	}
}

// TestForgedAllow: an allow that policy never gave starts nothing, whatever
// revisions it claims: the call is judged again, and its objects are compared.
func TestForgedAllow(t *testing.T) {
	for path, want := range map[string]string{"../x": "outside_roots", "data/feedback.txt": "object_changed"} {
		project := canonical(t)
		write(t, project, "data/feedback.txt", "works well\n")
		ran := 0
		x := open(t, project, func(c *executor.Config) { c.Handlers = watched(&ran, nil) })
		text := callOf("read_file", map[string]any{"path": path})
		out, err := x.Check(context.Background(), text, "")
		if err != nil {
			t.Fatal(err)
		}
		forge(
			t, project, [2]string{ledger.RunStarted, "{}"}, proposed(digestOf(t, text), string(text)),
			[2]string{ledger.ToolAllowed, fmt.Sprintf(`{"verdict":"allow","reason":"allowed","proposal":2,"policy_revision":%q,"manifest_revision":%q,"objects":[]}`, out.PolicyRevision, out.ManifestRevision)},
		)
		r, err := x.ExecAuthorized(context.Background(), "r")
		if err != nil || r.Status != executor.StatusDenied || r.Reason != want || ran != 0 {
			t.Errorf("%s: ran %d times: %v %+v", path, ran, err, r)
		}
	}
}
