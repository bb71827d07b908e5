package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/loop"
	"github.com/runlens/runlens/internal/loop/openai"
	"github.com/runlens/runlens/internal/loop/provider"
)

// other is a call that fails, unlike any of another n.
func other(n string) string {
	return toolCall("", "read_file", `{"path":"data/in/`+n+`"}`)
}

// Each limit ends the run, after the calls that were wanted have been made.
func TestChatLimits(t *testing.T) {
	missing := "read_file denied not_found"
	t.Run("turns", func(t *testing.T) {
		m := scripted(t, calls(readNumbers), calls(writeSum), says("done"))
		tell(t).ends(m, loop.ChatLimits{Turns: 2}, loop.CauseTurns, readFine, writeFine)
		if m.asked() != 2 {
			t.Errorf("%d requests", m.asked())
		}
	})
	t.Run("tokens", func(t *testing.T) {
		m := scripted(t, calls(readNumbers), calls(writeSum), says("done"))
		tell(t).ends(m, loop.ChatLimits{Tokens: 11}, loop.CauseTokens, readFine, writeFine)
		if m.asked() != 2 {
			t.Errorf("%d requests", m.asked())
		}
	})
	t.Run("tokens that nobody counts", func(t *testing.T) {
		m := scripted(t, sends(200, `{"choices":[{"message":{"tool_calls":[`+readNumbers+`]}}]}`))
		cause, err := tell(t).ask(m, loop.ChatLimits{Tokens: 1000}, nil)
		if cause != loop.CauseProvider || err == nil || !strings.Contains(err.Error(), "tokens") || m.asked() != 1 {
			t.Errorf("%s, %v, %d requests", cause, err, m.asked())
		}
	})
	t.Run("time", func(t *testing.T) {
		// Also when it ends while the server is waited for.
		tell(t).ends(scripted(t, silent), loop.ChatLimits{Time: 50 * time.Millisecond}, loop.CauseTime)
		tell(t).ends(scripted(t, calls(readNumbers)), loop.ChatLimits{Time: 1}, loop.CauseTime)
	})
	t.Run("repeats", func(t *testing.T) {
		m := scripted(t, calls(other("x")), calls(other("y")), calls(readNumbers), calls(other("y")),
			calls(toolCall("", "read_file", "{ \"path\": \"data/in/y\"}"), other("y"), other("z")))
		s := tell(t)
		s.ends(m, loop.ChatLimits{Repeats: 3, Turns: 20}, loop.CauseRepeats, missing, missing, readFine,
			missing, missing, missing)
		if m.asked() != 5 {
			t.Errorf("%d requests", m.asked())
		}
	})
	t.Run("repeats of what is no call", func(t *testing.T) {
		broken := toolCall("", "read_file", "{")
		m := scripted(t, calls(broken), calls(strings.Replace(broken, `{"id":""`, `{"id":"other"`, 1)), calls(broken))
		tell(t).ends(m, loop.ChatLimits{Repeats: 2}, loop.CauseRepeats, "read_file failed malformed_call", "read_file failed malformed_call")
	})
	t.Run("a finished plan", func(t *testing.T) {
		m := scripted(t, calls(readNumbers), calls(writeSum), calls(toolCall("", "write_json_file", `{"artifact_name":"sum.json","content":{"sum":4}}`)))
		s := tell(t)
		done := "write_json_file blocked plan_complete"
		s.ends(m, loop.ChatLimits{Repeats: 3}, loop.CauseRepeats, readFine, writeFine, done, done, done)
		s.completed()
	})
	t.Run("none", func(t *testing.T) {
		m := scripted(t, says("I can't."))
		s := tell(t)
		s.ends(m, loop.ChatLimits{}, loop.CauseModelStopped)
		if sum, err := s.x.Stop(t.Context(), "r1", loop.CauseModelStopped); err != nil || sum.Status != executor.RunFailed {
			t.Errorf("%+v, %v", sum, err)
		}
	})
}

// A model whose answer was cut or withheld did not stop by itself.
func TestChatUnfinished(t *testing.T) {
	for finish, want := range map[string]string{
		"length": loop.CauseProvider, "content_filter": loop.CauseProvider,
		"stop": loop.CauseModelStopped, "tool_calls": loop.CauseModelStopped, "eos": loop.CauseModelStopped, "": loop.CauseModelStopped,
	} {
		m := scripted(t, completes(finish, `{"content":"half"}`))
		if cause, err := tell(t).ask(m, loop.ChatLimits{}, nil); cause != want || (err != nil) != (want == loop.CauseProvider) {
			t.Errorf("%q: %s, %v", finish, cause, err)
		}
	}
	// Calls count, whatever it says of why it stopped.
	m := scripted(t, completes("stop", `{"content":"now","tool_calls":[`+readNumbers+`]}`), completes("length", `{"tool_calls":[`+writeSum+`]}`), says("done"))
	s := tell(t)
	s.ends(m, loop.ChatLimits{}, loop.CauseModelStopped, readFine, writeFine)
	s.completed()
}

// A server that fails ends the run clearly, nothing of it is lost, and the run
// goes on when there is a better one.
func TestChatProviderFailed(t *testing.T) {
	stream := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"\x00\xff\n\n")
	}
	for name, c := range map[string]struct {
		step     http.HandlerFunc
		requests int
		want     string
	}{
		"silence":              {silent, 0, "no answer within 50ms (attempt 4 of 4)"},
		"a bad gateway":        {sends(502, "<html>"), 4, `502 Bad Gateway: "<html>" (attempt 4 of 4)`},
		"a stream":             {stream, 1, "streams its answer"},
		"garbage":              {sends(200, "\x00\x01{}"), 1, "not a JSON object"},
		"a refusal":            {sends(401, `{"error":{"message":"bad key `+secret+`"}}`), 1, `401 Unauthorized: "bad key [key]"`},
		"the key as an answer": {says("your key is " + secret), 1, "holds the API key"},
		"the key in a call":    {calls(toolCall("a", "read_file", `{"path":"data/in/`+secret+`"}`)), 1, "holds the API key"},
	} {
		t.Run(name, func(t *testing.T) {
			s := tell(t)
			begin := []http.HandlerFunc{calls(readNumbers)}
			if name == "silence" {
				begin = nil // on a busy machine no answer is there in time
			}
			m := scripted(t, append(begin, c.step)...)
			cause, err := s.ask(m, loop.ChatLimits{}, func(cfg *openai.Config) {
				if name == "silence" {
					cfg.Timeout = 50 * time.Millisecond
				}
			})
			if cause != loop.CauseProvider || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %v, want %s", cause, err, c.want)
			}
			rest := []http.HandlerFunc{calls(writeSum), says("done")}
			want := []string{writeFine}
			if name == "silence" {
				s.saw()
				rest, want = append([]http.HandlerFunc{calls(readNumbers)}, rest...), append([]string{readFine}, want...)
			} else {
				s.saw(readFine)
				if m.asked() != 1+c.requests {
					t.Errorf("%d requests, want %d", m.asked(), 1+c.requests)
				}
			}
			before := s.events()
			s.resume()
			s.ends(scripted(t, rest...), loop.ChatLimits{}, loop.CauseModelStopped, want...)
			if after := s.events(); !slices.Equal(after[:len(before)], before) {
				t.Errorf("events %q became %q", before, after)
			}
			s.completed()
		})
	}
}

// stopping ends the run after some calls, as a signal does.
type stopping struct {
	loop.Gate
	left int
	end  context.CancelFunc
}

func (g *stopping) ExecTold(ctx context.Context, raw []byte, id string, limit int, tell executor.Tell) *executor.ToolResult {
	res := g.Gate.ExecTold(ctx, raw, id, limit, tell)
	if g.left--; g.left == 0 {
		g.end()
	}
	return res
}

// A run that is interrupted goes on with the calls that have no answer yet, and
// one whose answer did not reach the conversation is answered without running.
func TestChatResume(t *testing.T) {
	both := calls(readNumbers, writeSum)
	for name, lose := range map[string]int{"after an answer": 0, "before the answer was said": 1} {
		t.Run(name, func(t *testing.T) {
			s := tell(t)
			ctx, end := context.WithCancel(t.Context())
			s.Gate = &stopping{Gate: s.x, left: 1, end: end}
			client, err := openai.New(openai.Config{BaseURL: scripted(t, both).URL, Model: "scripted"})
			if err != nil {
				t.Fatal(err)
			}
			if cause, err := s.Chat(ctx, client, s.task, s.tools, loop.ChatLimits{}); cause != loop.CauseInterrupted || err != nil {
				t.Errorf("%s, %v", cause, err)
			}
			s.saw(readFine)
			dropLines(t, filepath.Join(s.task.Dir, "messages.jsonl"), lose)

			s.resume()
			m := scripted(t, says("done"))
			want := []string{writeFine}
			if lose > 0 {
				want = []string{readFine + " again", writeFine}
			}
			s.ends(m, loop.ChatLimits{}, loop.CauseModelStopped, want...)
			s.completed()
			starts := 0
			for _, e := range s.events() {
				if e == "tool_started" {
					starts++
				}
			}
			if starts != 2 {
				t.Errorf("%d starts, want 2", starts)
			}
			told := read(t, m.requests[0].Messages)
			if len(told) != 5 || !strings.HasPrefix(told[3].Content, "1\n2\n") {
				t.Errorf("the model was told %+v", told)
			}
		})
	}
}

// dropLines takes the last n lines off a file.
func dropLines(t *testing.T, name string, n int) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	lines = lines[:len(lines)-1-n]
	if err := os.WriteFile(name, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A crash before the conversation was open leaves a part of it.
func TestChatResumeOpening(t *testing.T) {
	s := tell(t)
	m := scripted(t, sends(400, "{}"))
	if cause, err := s.ask(m, loop.ChatLimits{}, nil); cause != loop.CauseProvider || err == nil {
		t.Fatalf("%s, %v", cause, err)
	}
	for n := range 3 {
		dropLines(t, filepath.Join(s.task.Dir, "messages.jsonl"), min(n, 1))
		s.resume()
		m := scripted(t, sends(400, "{}"))
		if cause, _ := s.ask(m, loop.ChatLimits{}, nil); cause != loop.CauseProvider {
			t.Fatal(cause)
		}
		if got := read(t, m.requests[0].Messages); len(got) != 2 || got[0].Role != "system" || got[1].Role != "user" {
			t.Errorf("after %d lines were lost the conversation begins with %+v", n, got)
		}
	}
}

// A model that breaks its word is not followed.
func TestChatModel(t *testing.T) {
	s := tell(t)
	for name, reply := range map[string]provider.Reply{
		"calls without ids": {Message: json.RawMessage(`{"role":"assistant"}`), Calls: [][]byte{[]byte(readNumbers)}},
		"no message":        {CallIDs: []string{"a"}, Calls: [][]byte{[]byte(readNumbers)}},
	} {
		cause, err := s.Chat(t.Context(), answers{reply, nil}, s.task, s.tools, loop.ChatLimits{})
		if err == nil || cause == loop.CauseModelStopped || len(s.seen) != 0 {
			t.Errorf("%s: %s, %v, %q", name, cause, err, s.seen)
		}
	}
	ctx, end := context.WithCancel(t.Context())
	end()
	if cause, err := s.Chat(ctx, answers{provider.Reply{}, errors.New("x")}, s.task, s.tools, loop.ChatLimits{}); cause != loop.CauseInterrupted || err != nil {
		t.Errorf("interrupted: %s, %v", cause, err)
	}
}

type answers struct {
	reply provider.Reply
	err   error
}

func (a answers) Next(context.Context, []json.RawMessage, json.RawMessage) (provider.Reply, error) {
	return a.reply, a.err
}

// A model that stopped to wait for a person is told once the person has answered;
// one that stopped for good is not asked again.
func TestChatApproved(t *testing.T) {
	s := tell(t)
	s.ends(scripted(t, says("I wait for the approval.")), loop.ChatLimits{}, loop.CauseModelStopped)
	s.resume()
	m := scripted(t, says("done"))
	s.ends(m, loop.ChatLimits{}, loop.CauseModelStopped)
	if len(m.requests) != 0 {
		t.Errorf("asked %d times", len(m.requests))
	}
	s.task.Approved = []string{"write_json_file (a)"}
	s.ends(m, loop.ChatLimits{}, loop.CauseModelStopped)
	if len(m.requests) != 1 {
		t.Fatalf("asked %d times", len(m.requests))
	}
	told := read(t, m.requests[0].Messages)
	if last := told[len(told)-1]; last.Role != "user" || last.Content != "A person has approved: write_json_file (a). Make that call again, exactly as it was." {
		t.Errorf("told %+v", last)
	}
}
