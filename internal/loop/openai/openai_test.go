package openai

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

var hello = []json.RawMessage{json.RawMessage(`{"role":"user","content":"a < b, 1e400"}`)}

// What goes out is what was handed in, to the byte, with the key in its header
// and nothing that the environment says.
func TestRequest(t *testing.T) {
	for name, value := range map[string]string{
		"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "sk-of-the-environment", "OPENAI_ADMIN_KEY": "sk-admin",
		"OPENAI_ORG_ID": "org", "OPENAI_PROJECT_ID": "project", "OPENAI_CUSTOM_HEADERS": "X-Custom: 1",
	} {
		t.Setenv(name, value)
	}
	s := serve(t, text("hi"))
	c, _, _ := client(t, s.URL+"/v1", nil)
	tools := json.RawMessage("[\n  {\"type\": \"function\", \"function\": {\"name\": \"read\", \"parameters\": {\"a\": 1.0}}}\n]\n")
	reply, err := c.Next(t.Context(), append(hello[:1:1], json.RawMessage(`{"role": "tool"}`)), tools)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"role":"assistant","content":"hi"}`; string(reply.Message) != want || reply.Text != "hi" || reply.Tokens != 10 || reply.Finish != "stop" || len(reply.Calls) != 0 {
		t.Errorf("reply %+v, message %s, want %s", reply, reply.Message, want)
	}
	want := `{"model":"scripted","messages":[{"role":"user","content":"a < b, 1e400"},{"role": "tool"}],"tools":` + strings.TrimSpace(string(tools)) + `}`
	if s.bodies[0] != want {
		t.Errorf("body %s\nwant %s", s.bodies[0], want)
	}
	h := s.headers[0]
	if s.paths[0] != "POST /v1/chat/completions" || h.Get("Authorization") != "Bearer "+testKey || h.Get("Content-Type") != "application/json" {
		t.Errorf("%s with %v", s.paths[0], h)
	}
	for _, name := range []string{"OpenAI-Organization", "OpenAI-Project", "X-Custom"} {
		if h.Get(name) != "" {
			t.Errorf("header %s comes from the environment", name)
		}
	}

	c, _, _ = client(t, s.URL, func(cfg *Config) { cfg.Key = "" })
	for _, none := range []string{"", "[]\n"} {
		if _, err := c.Next(t.Context(), hello, json.RawMessage(none)); err != nil {
			t.Fatal(err)
		}
	}
	if s.paths[1] != "POST /chat/completions" || s.headers[1].Get("Authorization") != "" || strings.Contains(s.bodies[1]+s.bodies[2], `"tools"`) {
		t.Errorf("without key and tools: %s, %v, %s", s.paths[1], s.headers[1], s.bodies[1])
	}
	if _, err := c.Next(t.Context(), []json.RawMessage{json.RawMessage("{")}, nil); err == nil {
		t.Error("a message that is no JSON was sent")
	}
}

// TestAttempts holds every kind of trouble to how often it is tried and what is
// said of it in the end.
func TestAttempts(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	with := func(status int, header, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(header, value)
			says(status, `{"error":{"message":"slow\u001b[2J down"}}`)(w, r)
		}
	}
	plain := func(kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, body)
		}
	}
	huge := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id":"`+strings.Repeat("x", maxAnswer)+`"}`)
	}
	bomb := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, "{"+strings.Repeat(" ", maxAnswer)+"}")
		_ = z.Close()
	}
	for _, c := range []struct {
		name     string
		steps    []http.HandlerFunc
		attempts int
		pause    time.Duration // the first, when it is fixed
		want     string        // of the error; "" is an answer
	}{
		{"an answer", []http.HandlerFunc{text("ok")}, 1, 0, ""},
		{"busy, then an answer", []http.HandlerFunc{says(503, ""), says(500, "<html>"), says(502, `{"error":{}}`), text("ok")}, 4, 0, ""},
		{"always busy", []http.HandlerFunc{says(503, `{"error":{"message":"over\nloaded"}}`)}, 4, 0, `the server answered 503 Service Unavailable: "over\nloaded" (attempt 4 of 4)`},
		{"an unknown status", []http.HandlerFunc{says(599, "")}, 4, 0, "the server answered 599 (attempt 4 of 4)"},
		{"silent", []http.HandlerFunc{silent}, 4, 0, "no answer within 50ms (attempt 4 of 4)"},
		{"silent, then an answer", []http.HandlerFunc{silent, text("ok")}, 2, 0, ""},
		{"cut off", []http.HandlerFunc{cutOff}, 4, 0, "unexpected EOF (attempt 4 of 4)"},
		{"cut off, then an answer", []http.HandlerFunc{cutOff, text("ok")}, 2, 0, ""},
		{"too many, in a while", []http.HandlerFunc{with(429, "Retry-After", "7"), text("ok")}, 2, 7 * time.Second, ""},
		{"too many, at a time", []http.HandlerFunc{with(429, "Retry-After", "Fri, 02 Jan 2026 03:04:14 GMT"), text("ok")}, 2, 9 * time.Second, ""},
		{"too many, for long", []http.HandlerFunc{with(429, "Retry-After", "3600")}, 1, 0, `the server answered 429 Too Many Requests: "slow\x1b[2J down"; it asks to wait 1h0m0s`},
		{"too many, for ever", []http.HandlerFunc{with(429, "Retry-After", "1e300")}, 1, 0, "it asks to wait 24h0m0s"},
		{"a wait that is none", []http.HandlerFunc{with(429, "Retry-After", "-5"), with(429, "Retry-After", "NaN"), with(429, "Retry-After", "soon"), text("ok")}, 4, 0, ""},
		{"a server that wants refusals repeated", []http.HandlerFunc{with(401, "X-Should-Retry", "true")}, 1, 0, "the server answered 401 Unauthorized"},
		{"no such model", []http.HandlerFunc{says(404, `{"detail":"no such model"}`)}, 1, 0, `the server answered 404 Not Found: "no such model"`},
		{"a bad request", []http.HandlerFunc{says(400, `{"error":"bad"}`)}, 1, 0, `the server answered 400 Bad Request: "bad"`},
		{"a long complaint", []http.HandlerFunc{says(400, strings.Repeat("é", 9000))}, 1, 0, `"` + strings.Repeat("é", 100) + `…"`},
		{"huge", []http.HandlerFunc{huge}, 1, 0, "the answer is larger than 16 MiB"},
		{"huge when unpacked", []http.HandlerFunc{bomb}, 1, 0, "the answer is larger than 16 MiB"},
		{"a stream", []http.HandlerFunc{plain("text/event-stream; charset=utf-8", "data: {}\n\n")}, 1, 0, "the server streams its answer, which was not asked for"},
		{"a stream that says it is JSON", []http.HandlerFunc{plain("application/json", "data: {\"x\":1}\n\n")}, 1, 0, `with what is not a JSON object: "data: {\"x\":1}"`},
		{"garbage", []http.HandlerFunc{plain("application/json", "\x00\xff\x1b]0;x\a")}, 1, 0, `with what is not a JSON object: "\x00\xff\x1b]0;x\a"`},
		{"a page", []http.HandlerFunc{plain("text/html", "<html>welcome</html>")}, 1, 0, `the server answered 200 OK with what is not a JSON object: "<html>welcome</html>"`},
		{"nothing", []http.HandlerFunc{plain("application/json", "")}, 1, 0, "not a JSON object"},
		{"half an object", []http.HandlerFunc{plain("application/json", `{"choices":[`)}, 1, 0, "read answer: not JSON"},
		{"no object", []http.HandlerFunc{plain("application/json", `[]`)}, 1, 0, "not a JSON object"},
		{"no choices", []http.HandlerFunc{says(200, `{"choices":[]}`)}, 1, 0, "read answer: no choices"},
		{"an error that counts as success", []http.HandlerFunc{says(200, `{"error":{"message":"no\u0007 credit","code":402}}`)}, 1, 0, `read answer: "an error in the place of an answer: no\a credit"`},
		{"an answer that says nothing of JSON", []http.HandlerFunc{plain("text/plain", `{"choices":[{"message":{"content":"ok"}}]}`)}, 1, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// On a busy machine an attempt can be over before it reaches the server,
			// or before the answer that is there reaches us.
			short := strings.HasPrefix(c.name, "silent")
			answered := short && c.want == ""
			s := serve(t, c.steps...)
			m, pauses, notes := client(t, s.URL, func(cfg *Config) {
				cfg.Now = func() time.Time { return now }
				if short {
					cfg.Timeout = 50 * time.Millisecond
				}
				if answered {
					cfg.Timeout, cfg.Retries = 500*time.Millisecond, 20
				}
			})
			reply, err := m.Next(t.Context(), hello, nil)
			switch {
			case c.want == "" && (err != nil || reply.Text != "ok"):
				t.Errorf("reply %q, error %v", reply.Text, err)
			case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "ask model: ") || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v\nwant   %s", err, c.want)
			}
			if got := s.requests(); got != c.attempts && !short || len(*pauses) != c.attempts-1 && !answered || len(*notes) != len(*pauses) {
				t.Errorf("%d attempts with pauses %v and notes %q, want %d", got, *pauses, *notes, c.attempts)
			}
			for i, d := range *pauses {
				if c.pause != 0 && d != c.pause || d < firstPause<<i*3/4 || c.pause == 0 && d > firstPause<<i {
					t.Errorf("pause %d is %s", i, d)
				}
			}
		})
	}
}

// Nobody is there.
func TestNoServer(t *testing.T) {
	s := serve(t, text("x"))
	s.Close()
	c, pauses, _ := client(t, s.URL, func(cfg *Config) { cfg.Retries = 2 })
	_, err := c.Next(t.Context(), hello, nil)
	if err == nil || !strings.Contains(err.Error(), "connection refused (attempt 3 of 3)") || len(*pauses) != 2 {
		t.Errorf("error %v after pauses %v", err, *pauses)
	}
	c, pauses, _ = client(t, s.URL, func(cfg *Config) { cfg.Retries = -1 })
	if _, err := c.Next(t.Context(), hello, nil); err == nil || len(*pauses) != 0 {
		t.Errorf("error %v after pauses %v", err, *pauses)
	}
}

// A redirect is not followed, to another host or the same: neither key nor
// conversation goes there.
func TestRedirect(t *testing.T) {
	other := serve(t, text("stolen"))
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+"/"+testKey, status)
			})
			c, _, _ := client(t, s.URL, nil)
			_, err := c.Next(t.Context(), hello, nil)
			if err == nil || !strings.Contains(err.Error(), "sends us elsewhere") || !strings.Contains(err.Error(), other.Listener.Addr().String()) {
				t.Errorf("error %v", err)
			}
			keyless(t, err)
			if s.requests() != 1 || other.requests() != 0 {
				t.Errorf("%d requests here, %d there", s.requests(), other.requests())
			}
		})
	}
}

// The end of the run ends the waiting, too.
func TestInterrupted(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { end(why); silent(w, r) })
	c, pauses, _ := client(t, s.URL, nil)
	if _, err := c.Next(ctx, hello, nil); !errors.Is(err, why) || s.requests() != 1 || len(*pauses) != 0 {
		t.Errorf("error %v after %d requests", err, s.requests())
	}
	ctx, end = context.WithCancelCause(t.Context())
	s = serve(t, says(503, ""))
	c, _, _ = client(t, s.URL, func(cfg *Config) {
		cfg.Wait = nil
		cfg.Note = func(string) { end(why) }
	})
	if _, err := c.Next(ctx, hello, nil); !errors.Is(err, why) || s.requests() != 1 {
		t.Errorf("error %v after %d requests", err, s.requests())
	}
}

func TestNew(t *testing.T) {
	for name, cfg := range map[string]Config{
		"nothing":            {},
		"no model":           {BaseURL: "https://example.com"},
		"no URL":             {Model: "m"},
		"a key of two lines": {BaseURL: "https://example.com", Model: "m", Key: testKey + "\n" + testKey},
	} {
		c, err := New(cfg)
		if err == nil {
			t.Errorf("%s: %v", name, c)
		}
		keyless(t, err)
	}
}
