package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/loop"
	"github.com/runlens/runlens/internal/loop/openai"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/manifests"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

const (
	secret = "sk-loop-0123456789abcdefGHIJKLMNOP"

	// sums is a skill of two steps on the shipped tools.
	sums = `
schema_version: 1
name: sums
description: Add up what is in a file.
instructions: Read {input.numbers} and write the sum.
inputs:
  numbers: {description: one number a line, default: data/in/numbers.txt}
tools: [read_file, write_json_file]
narrow:
  read_file: {roots: [data/in]}
limits: {in_row: 4, total: 20, malformed: 5}
artifacts:
  - {path: sum.json, schema: {type: object, required: [sum]}}
plan:
  steps:
    - {id: read, title: Read the numbers, tools: [read_file]}
    - {id: write, title: Write the sum, tools: [write_json_file], completion: {succeed: {write_json_file: 1}, artifacts: [{path: sum.json}]}}
`
)

var shipped = sync.OnceValues(func() (*engine.Engine, error) {
	return engine.Load(engine.Source{FS: policies.FS, Schemas: schemas.FS})
})

// story is a run of the skill sums in a project of its own.
type story struct {
	*loop.Run
	t       *testing.T
	project string
	x       *executor.Executor
	task    *executor.Task
	tools   json.RawMessage
	seen    []string // of each call: tool, status, reason
}

func tell(t *testing.T) *story {
	t.Helper()
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"data/in/numbers.txt": "1\n2\n", "data/other.txt": "x"} {
		at := filepath.Join(project, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := &story{t: t, project: project}
	s.open()
	if s.task, err = s.x.Start(t.Context(), executor.StartSpec{RunID: "r1", Skill: "sums"}); err != nil {
		t.Fatal(err)
	}
	s.begin(nil)
	return s
}

// open makes the executor, as a new process would.
func (s *story) open() {
	s.t.Helper()
	eng, err := shipped()
	if err != nil {
		s.t.Fatal(err)
	}
	shippedTools, err := manifests.FS.ReadFile("tools.json")
	if err != nil {
		s.t.Fatal(err)
	}
	builtin := handlers.Builtin()
	declared := make([]manifest.Handler, 0, len(builtin))
	for _, h := range builtin {
		declared = append(declared, h.Handler)
	}
	set, err := manifest.Load([]manifest.Source{
		{Name: "manifests/tools.json", Data: shippedTools},
		{Name: "manifests/skills/sums.yaml", Data: []byte(sums), Kind: manifest.SkillFile},
	}, declared)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.tools, err = set.Skills["sums"].Specs("openai"); err != nil {
		s.t.Fatal(err)
	}
	x, err := executor.New(executor.Config{Project: s.project, Engine: eng, Tools: set, Handlers: builtin, Now: time.Now, NewID: func() string { return "r1" }, Log: s.t.Logf})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { x.Close() })
	s.x = x
}

func (s *story) begin(past *executor.History) {
	s.t.Helper()
	messages, err := loop.OpenMessages(s.task.Dir)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { messages.Close() })
	s.Run = &loop.Run{Gate: s.x, ID: "r1", Past: past, Messages: messages, Seen: func(r *executor.ToolResult, _ time.Duration, answered bool) {
		words := r.ToolName + " " + r.Status + " " + r.Reason
		if answered {
			words += " again"
		}
		s.seen = append(s.seen, words)
	}}
}

// resume is the run in another process.
func (s *story) resume() {
	s.t.Helper()
	if err := s.Messages.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.x.Close()
	s.open()
	task, past, err := s.x.Reopen(s.t.Context(), executor.StartSpec{RunID: "r1"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.task, s.seen = task, nil
	s.begin(past)
}

// ask lets the server drive the run and returns why it ended.
func (s *story) ask(m *model, lim loop.ChatLimits, change func(*openai.Config)) (cause string, err error) {
	s.t.Helper()
	cfg := openai.Config{
		BaseURL: m.URL + "/v1", Model: "scripted", Key: secret, Timeout: time.Minute,
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	if change != nil {
		change(&cfg)
	}
	client, err := openai.New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	cause, err = s.Chat(s.t.Context(), client, s.task, s.tools, lim)
	s.keyless(err)
	return cause, err
}

// keyless fails the test when the key is anywhere in the project or in an error.
func (s *story) keyless(err error) {
	s.t.Helper()
	if err != nil && strings.Contains(err.Error(), secret) {
		s.t.Errorf("the key is in %q", err)
	}
	err = filepath.WalkDir(s.project, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if bytes.Contains(text, []byte(secret)) || strings.Contains(name, secret) {
			s.t.Errorf("the key is in %s", name)
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

// ends holds a run to why it ended and to what its calls came to.
func (s *story) ends(m *model, lim loop.ChatLimits, want string, seen ...string) {
	s.t.Helper()
	cause, err := s.ask(m, lim, nil)
	if cause != want || err != nil {
		s.t.Errorf("ended by %q, %v, want %q", cause, err, want)
	}
	s.saw(seen...)
}

func (s *story) saw(seen ...string) {
	s.t.Helper()
	if !slices.Equal(s.seen, seen) {
		s.t.Errorf("calls:\n  %s\nwant:\n  %s", strings.Join(s.seen, "\n  "), strings.Join(seen, "\n  "))
	}
}

// events are the types in the ledger behind run_started, with the reason of each
// verdict.
func (s *story) events() []string {
	s.t.Helper()
	var list []string
	for ev, err := range ledger.Read(s.task.Dir) {
		if err != nil {
			s.t.Fatal(err)
		}
		var p struct{ Reason string }
		if err := json.Unmarshal(ev.Payload, &p); err != nil {
			s.t.Fatal(err)
		}
		if ev.Type != ledger.RunStarted {
			list = append(list, strings.TrimSpace(ev.Type+" "+p.Reason))
		}
	}
	return list
}

func (s *story) completed() {
	s.t.Helper()
	sum, err := s.x.Stop(s.t.Context(), "r1", loop.CauseModelStopped)
	if err != nil || sum.Status != executor.RunCompleted {
		s.t.Errorf("the run is not complete: %+v, %v", sum, err)
	}
}

const (
	readFine  = "read_file success allowed"
	writeFine = "write_json_file success allowed"
)

// A model that does what it is asked: what it is shown, what is kept, what is
// recorded.
func TestChat(t *testing.T) {
	s := tell(t)
	m := scripted(t, calls(readNumbers), calls(writeSum), says("The sum is 3."))
	s.ends(m, loop.ChatLimits{Turns: 3, Time: time.Hour, Tokens: 100, Repeats: 1}, loop.CauseModelStopped, readFine, writeFine)
	want := []string{
		"model_proposed", "tool_allowed allowed", "tool_started", "tool_succeeded", "plan_step_completed",
		"model_proposed", "tool_allowed allowed", "tool_started", "tool_succeeded", "plan_step_completed",
	}
	if got := s.events(); !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	s.completed()

	for i, a := range m.requests {
		if a.Model != "scripted" || !bytes.Equal(a.Tools, bytes.TrimSpace(s.tools)) {
			t.Errorf("request %d: model %q, tools\n%s\nwant\n%s", i, a.Model, a.Tools, s.tools)
		}
	}
	first := read(t, m.requests[0].Messages)
	const steps = "Steps, one after the other; a step allows its own tools alone:\n1. read: Read the numbers (tools: read_file)\n2. write: Write the sum (tools: write_json_file; makes sum.json)\n\nFiles that must be there in the end: sum.json"
	for _, part := range []string{"RunLens", "Read data/in/numbers.txt and write the sum.", "Goal: Add up what is in a file.", "Inputs:\n- numbers: data/in/numbers.txt", steps} {
		if !strings.Contains(first[0].Content, part) {
			t.Errorf("system message %q lacks %q", first[0].Content, part)
		}
	}
	if len(first) != 2 || first[1].Content != "Add up what is in a file." {
		t.Errorf("the conversation begins with %+v", first)
	}
	if told := m.last(t, 1); told.ID != "call_read" || !strings.HasPrefix(told.Content, "1\n2\n") || !strings.Contains(told.Content, "step read complete") {
		t.Errorf("the model was told %+v", told)
	}
	// What was sent last, and the answer to it, is what was kept.
	kept := s.Messages.Conversation()
	sent := m.requests[2].Messages
	if len(kept) != len(sent)+1 || !slices.EqualFunc(kept[:len(sent)], sent, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		t.Errorf("kept %d messages, sent %d", len(kept), len(sent))
	}
	if got, want := string(kept[2]), `{"role":"assistant","content":null,"tool_calls":[`+readNumbers+`]}`; got != want {
		t.Errorf("kept %s, want %s", got, want)
	}

	// It has ended: nothing is asked again.
	s.resume()
	s.ends(m, loop.ChatLimits{}, loop.CauseModelStopped)
	if m.asked() != 3 {
		t.Errorf("%d requests", m.asked())
	}
}

// Arguments that are no call reach the gate as they are, and the model mends them.
func TestChatMalformed(t *testing.T) {
	s := tell(t)
	m := scripted(t,
		calls(toolCall("a", "read_file", `{"path":"data/in/numbers.txt"`)),
		calls(toolCall("b", "read_file", `{"path":"data/in/numbers.txt","path":"/etc/passwd"}`)),
		calls(toolCall("c", "read_file", `{"file":"data/in/numbers.txt"}`)),
		calls(toolCall("", "", `{}`)),
		calls(readNumbers), calls(writeSum), says("done"))
	s.ends(m, loop.ChatLimits{Repeats: 2}, loop.CauseModelStopped,
		"read_file failed malformed_call", "read_file failed malformed_call", "read_file failed input_validation_failed", " failed malformed_call", readFine, writeFine)
	for i, want := range []struct{ id, part string }{
		{"a", "malformed_call"}, {"b", "arguments.path"}, {"c", "input_validation_failed"}, {"call00004", "function.name"},
	} {
		k := i + 1
		if told := m.last(t, k); told.Role != "tool" || told.ID != want.id || !strings.Contains(told.Content, want.part) {
			t.Errorf("request %d: the model was told %+v, want %q of %q", k, told, want.part, want.id)
		}
	}
	events := s.events()
	if n := len(slices.DeleteFunc(slices.Clone(events), func(e string) bool { return e != "tool_denied malformed_call" })); n != 3 {
		t.Errorf("%d of %q are malformed, want 3", n, events)
	}
	s.completed()
}

// A path that is refused comes back with what is allowed, and the model takes it.
func TestChatDenied(t *testing.T) {
	s := tell(t)
	m := scripted(t, calls(toolCall("a", "read_file", `{"path":"data/other.txt"}`)),
		calls(readNumbers), calls(toolCall("b", "read_run", `{}`)),
		calls(writeSum), says("done"))
	s.ends(m, loop.ChatLimits{}, loop.CauseModelStopped,
		"read_file denied outside_roots", readFine, "read_run denied unknown_tool", writeFine)
	if told := m.last(t, 1); !strings.Contains(told.Content, "outside_roots") || !strings.Contains(told.Content, "data/in") || !strings.Contains(told.Content, "remedy") {
		t.Errorf("the model was told %q", told.Content)
	}
	s.completed()
}

// A prober that never tires is stopped by the budget: four refusals, and the fifth
// call says that nothing goes through any more.
func TestChatProber(t *testing.T) {
	s := tell(t)
	n := 0
	m := scripted(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		calls(toolCall("", "read_file", `{"path":"data/in/../../../`+strings.Repeat("x", n)+`"}`))(w, r)
	})
	s.ends(m, loop.ChatLimits{Turns: 50, Repeats: 3}, loop.CauseBudget, slices.Repeat([]string{"read_file denied outside_roots"}, 5)...)
	if m.asked() != 5 {
		t.Errorf("%d requests, want 5", m.asked())
	}
	var verdicts []string
	for ev, err := range ledger.Read(s.task.Dir) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == ledger.ToolDenied {
			verdicts = append(verdicts, string(ev.Payload))
		}
	}
	if len(verdicts) != 5 || strings.Contains(verdicts[3], `"denial_budget_exhausted"`) || !strings.Contains(verdicts[4], `"denial_budget_exhausted"`) {
		t.Fatalf("%d verdicts, the last %s", len(verdicts), verdicts[len(verdicts)-1])
	}

	// Resumed, it gets no further, until a person sets the counters to zero.
	s.resume()
	s.ends(scripted(t, calls(readNumbers)), loop.ChatLimits{}, loop.CauseBudget, "read_file denied denial_budget_exhausted")
	if _, err := s.x.ResetBudget(t.Context(), executor.AnswerSpec{RunID: "r1", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	s.resume()
	s.ends(scripted(t, calls(strings.Replace(readNumbers, "call_read", "again", 1)), calls(writeSum), says("done")),
		loop.ChatLimits{}, loop.CauseModelStopped, readFine, writeFine)
	s.completed()
}

// Two calls in one answer are made in order, and each has its own result, however
// the server names them.
func TestChatTwoAtOnce(t *testing.T) {
	s := tell(t)
	same := func(name, args string) string { return toolCall("call_0", name, args) }
	m := scripted(t,
		calls(same("read_file", `{"path":"data/in/numbers.txt"}`), same("write_json_file", `{"artifact_name":"sum.json","content":{"sum":3}}`)),
		calls(same("write_json_file", `{"artifact_name":"sum.json","content":{"sum":4}}`)),
		says("done"))
	s.ends(m, loop.ChatLimits{}, loop.CauseModelStopped, readFine, writeFine, "write_json_file blocked plan_complete")
	if events := s.events(); !slices.Contains(events, "tool_blocked plan_complete") {
		t.Errorf("events %q", events)
	}
}
