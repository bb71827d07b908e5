package loop_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/runlens/runlens/internal/loop/provider"
)

// model is an OpenAI-compatible server that follows a script: the k-th request
// gets the k-th step, and the last for ever.
type model struct {
	*httptest.Server
	mu       sync.Mutex
	steps    []http.HandlerFunc
	requests []asked
}

// asked is what a request held.
type asked struct {
	Model    string            `json:"model"`
	Messages []json.RawMessage `json:"messages"`
	Tools    json.RawMessage   `json:"tools"`
}

// spoken is a message as the tests read it.
type spoken struct {
	Role, Content string
	ID            string `json:"tool_call_id"`
	Calls         []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func scripted(t testing.TB, steps ...http.HandlerFunc) *model {
	t.Helper()
	m := &model{steps: steps}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var a asked
		if err := json.Unmarshal(body, &a); err != nil {
			t.Errorf("request %s: %v", body, err)
		}
		valid(t, a.Messages)
		m.mu.Lock()
		step := m.steps[min(len(m.requests), len(m.steps)-1)]
		m.requests = append(m.requests, a)
		m.mu.Unlock()
		step(w, r)
	}))
	t.Cleanup(m.Close)
	return m
}

// valid holds a conversation to what servers insist on: every tool call has its
// answer, in order, before anything else is said, and no id is there twice.
func valid(t testing.TB, messages []json.RawMessage) {
	t.Helper()
	var open []string
	seen := map[string]bool{}
	for i, m := range read(t, messages) {
		switch {
		case i == 0 && m.Role != "system", i == 1 && m.Role != "user":
			t.Errorf("message %d is the %s's", i, m.Role)
		case m.Role == "tool":
			if len(open) == 0 || open[0] != m.ID {
				t.Errorf("message %d answers %q, open are %q", i, m.ID, open)
				return
			}
			open = open[1:]
		case len(open) > 0:
			t.Errorf("message %d is the %s's while %q are open", i, m.Role, open)
		}
		for _, c := range m.Calls {
			if c.ID == "" || seen[c.ID] {
				t.Errorf("message %d: id %q is empty or there twice", i, c.ID)
			}
			seen[c.ID] = true
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("nothing answers %q", open)
	}
}

func read(t testing.TB, messages []json.RawMessage) []spoken {
	t.Helper()
	list := make([]spoken, len(messages))
	for i, raw := range messages {
		if err := json.Unmarshal(raw, &list[i]); err != nil {
			t.Fatalf("message %s: %v", raw, err)
		}
	}
	return list
}

// last is the last message of the k-th request.
func (m *model) last(t testing.TB, k int) spoken {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if k >= len(m.requests) {
		t.Fatalf("%d requests, none is number %d", len(m.requests), k)
	}
	list := read(t, m.requests[k].Messages)
	return list[len(list)-1]
}

func (m *model) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests)
}

func sends(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// completes answers with a message, at 10 tokens.
func completes(finish, message string) http.HandlerFunc {
	return sends(200, fmt.Sprintf(`{"id":"x","object":"chat.completion","choices":[{"index":0,"finish_reason":%q,"message":%s}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`, finish, message))
}

func says(content string) http.HandlerFunc {
	text, _ := json.Marshal(content)
	return completes("stop", `{"role":"assistant","content":`+string(text)+`,"refusal":null}`)
}

// calls answers with tool calls.
func calls(list ...string) http.HandlerFunc {
	return completes("tool_calls", `{"role":"assistant","content":null,"tool_calls":[`+strings.Join(list, ",")+`]}`)
}

// toolCall spells one call; args is the text of its arguments.
func toolCall(id, name, args string) string {
	quoted := func(s string) string {
		text, _ := json.Marshal(s)
		return string(text)
	}
	return `{"id":` + quoted(id) + `,"type":"function","function":{"name":` + quoted(name) + `,"arguments":` + quoted(args) + `}}`
}

// The calls that most stories are made of.
var (
	readNumbers = toolCall("call_read", "read_file", `{"path":"data/in/numbers.txt"}`)
	writeSum    = toolCall("call_write", "write_json_file", `{"artifact_name":"sum.json","content":{"sum":3}}`)
)

// silent never answers.
func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestCallIDs(t *testing.T) {
	for message, want := range map[string][]string{
		`{"role":"assistant","tool_calls":[{"id":"a"},{"id":7},"x",{"id":"b"}]}`: {"a", "", "", "b"},
		`{"role":"assistant","content":"x"}`:                                     nil,
		`{"role":"user","tool_calls":[{"id":"a"}]}`:                              nil,
		`[]`: nil,
		`{`:  nil,
	} {
		if got := provider.CallIDs(json.RawMessage(message)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}
