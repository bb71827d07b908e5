package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/ledger"
)

// Whatever a model wrote, what a person is asked to approve can be read line by
// line, and a call that was not recorded says so.
func TestApproveText(t *testing.T) {
	c := &askedCall{call: 2, run: "r1"}
	for seq, ev := range []struct{ typ, payload string }{
		{ledger.RunStarted, `{}`},
		{ledger.ModelProposed, `{"call_id":"c","tool":"run  tests","digest":"sha256:d","call":{"arguments":{"a":"` + "\u202e" + `"}}}`},
		{ledger.ToolDenied, `{"verdict":"deny","reason":"not_found","proposal":1}`},
		{ledger.ToolBlocked, `{"verdict":"ask","reason":"approval_required","proposal":2,"reasons":[{"message":"a\nb\u001b[2J"}],
			"input":{"targets":[{"path":"/p/a\nb","segments":["a\nb"],"in_project":true},{"path":"/etc/x","segments":["etc","x"]},{"entry":true,"path":"/y"}],
			"command":{"argv":["sh","-c","rm a;\nb"]}}}`},
	} {
		c.see(&ledger.Event{Seq: int64(seq + 1), Type: ev.typ, Payload: json.RawMessage(ev.payload)})
	}
	if err := c.trouble("approve"); err != nil {
		t.Fatal(err)
	}
	want := `call 2 of run r1, to be approved
  tool       "run  tests"
  path       a\nb
  path       /etc/x
  command    sh -c "rm a;\nb"
  arguments  {"a":"\u202e"}
  asked for  approval_required: a\nb\x1b[2J
`
	if got := c.text("approved"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	c.Call = nil
	if got := c.text("approved"); !strings.Contains(got, "not recorded; the digest of the call is sha256:d\n") {
		t.Errorf("got\n%s", got)
	}
	c.see(&ledger.Event{Seq: 5, Type: ledger.ApprovalRefused, Payload: json.RawMessage(`{"tool":"run  tests","digest":"sha256:other","by":"bob"}`)})
	if err := c.trouble("approve"); err != nil {
		t.Errorf("the refusal of another call counts: %v", err)
	}
	c.see(&ledger.Event{Seq: 6, Type: ledger.ApprovalRefused, Payload: json.RawMessage(`{"tool":"run  tests","digest":"sha256:d","by":"bob"}`)})
	if err := c.trouble("approve"); err == nil {
		t.Error("a call that was refused can be approved")
	}
}

// A call that the plan blocks waits for its step, not for a person.
func TestApproveBlocked(t *testing.T) {
	c := &askedCall{call: 1, run: "r1"}
	c.see(&ledger.Event{Seq: 1, Type: ledger.ModelProposed, Payload: json.RawMessage(`{"tool":"x","digest":"d"}`)})
	c.see(&ledger.Event{Seq: 2, Type: ledger.ToolBlocked, Payload: json.RawMessage(`{"verdict":"block","reason":"step_tool_not_allowed","proposal":1}`)})
	if err := c.trouble("approve"); err == nil || !strings.Contains(err.Error(), "it is blocked: step_tool_not_allowed") {
		t.Errorf("%v", err)
	}
}

func TestShortDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		10 * time.Minute: "10m", 720 * time.Hour: "720h", 90 * time.Minute: "1h30m",
		90 * time.Second: "1m30s", time.Second: "1s", time.Nanosecond: "1ns", time.Hour + time.Second: "1h0m1s",
	} {
		if got := shortDuration(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// A new file is private and whole, takes no other's place, and leaves nothing
// beside it.
func TestPutNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "k")
	if err := putNew(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := putNew(path, []byte("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	if got, err := readFile(path, 10); err != nil || string(got) != "one" {
		t.Errorf("it holds %q, %v", got, err)
	}
	if err := kept(path); err != nil {
		t.Error(err)
	}
	if names := entries(dir); len(names) != 1 {
		t.Errorf("%q are left", names)
	}
}

// A key in the project is one, by a link too; one in the key directory is not,
// even where the project is the home around it.
func TestKeyInProject(t *testing.T) {
	home := t.TempDir()
	project, state := filepath.Join(home, "project"), filepath.Join(home, ".local", "state", "runlens")
	for _, dir := range []string{project, state} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path string) string {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	in, out, key := write(filepath.Join(project, "k")), write(filepath.Join(home, "k")), write(filepath.Join(state, "k"))
	link := filepath.Join(home, "link")
	if err := os.Symlink(in, link); err != nil {
		t.Skip(err)
	}
	w := &world{getenv: func(string) string { return "" }, home: func() string { return home }}
	for _, c := range []struct {
		project, file string
		inside        bool
	}{
		{project, in, true},
		{project, link, true},
		{project, out, false},
		{project, key, false},
		{home, key, false},
		{home, out, true},
	} {
		if w.inside(c.project, c.file) != c.inside {
			t.Errorf("%s in %s: %t", c.file, c.project, !c.inside)
		}
	}
}
