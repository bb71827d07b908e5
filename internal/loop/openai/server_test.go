package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// testKey is the key of these tests.
const testKey = "sk-test-0123456789abcdefGHIJKLMNOP"

// script answers the k-th request with its k-th handler, further ones with the
// last.
type script struct {
	*httptest.Server
	mu      sync.Mutex
	steps   []http.HandlerFunc
	bodies  []string
	headers []http.Header
	paths   []string
}

func serve(t testing.TB, steps ...http.HandlerFunc) *script {
	t.Helper()
	s := &script{steps: steps}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		step := s.steps[min(len(s.bodies), len(s.steps)-1)]
		s.bodies, s.headers = append(s.bodies, string(body)), append(s.headers, r.Header)
		s.paths = append(s.paths, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		step(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *script) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// says answers with a status and a JSON body.
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// text answers like a model that says something.
func text(content string) http.HandlerFunc {
	quoted, _ := json.Marshal(content)
	return says(200, fmt.Sprintf(`{"id":"x","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s,"refusal":null}}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`, quoted))
}

// silent answers never.
func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// cutOff closes the connection in the middle of an answer.
func cutOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"id":"x","choices":[{"mess`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// client is a client of the server that waits for nothing. It returns what it
// would have waited, and what it said.
func client(t testing.TB, base string, change func(*Config)) (c *Client, pauses *[]time.Duration, notes *[]string) {
	t.Helper()
	pauses, notes = &[]time.Duration{}, &[]string{}
	cfg := Config{
		BaseURL: base, Model: "scripted", Key: testKey, Timeout: time.Minute,
		Wait: func(ctx context.Context, d time.Duration) error { *pauses = append(*pauses, d); return ctx.Err() },
		Note: func(text string) { *notes = append(*notes, text) },
	}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c, pauses, notes
}
