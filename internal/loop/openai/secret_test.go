package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// keyless fails the test when an error holds a piece of the key.
func keyless(t testing.TB, err error) {
	t.Helper()
	for i := 0; err != nil && i+tellTale <= len(testKey); i++ {
		if strings.Contains(err.Error(), testKey[i:i+tellTale]) {
			t.Errorf("a piece of the key is in %q", err)
			return
		}
	}
}

// escapedKey is the key as a JSON text hides it.
func escapedKey() string {
	var b strings.Builder
	for _, r := range testKey {
		b.WriteString(`\u00`)
		b.WriteByte("0123456789abcdef"[r>>4])
		b.WriteByte("0123456789abcdef"[r&15])
	}
	return b.String()
}

// However a server gives the key back, it does not come out.
func TestKeyThatComesBack(t *testing.T) {
	nested, _ := json.Marshal(`{"path":"` + escapedKey() + `"}`)
	for name, step := range map[string]http.HandlerFunc{
		"in a message":                    says(401, `{"error":{"message":"Incorrect API key provided: `+testKey+`."}}`),
		"in pieces":                       says(401, `{"error":{"message":"key `+testKey[:20]+`*** `+testKey[12:]+`"}}`),
		"escaped":                         says(401, `{"error":{"message":"`+escapedKey()+`"}}`),
		"escaped, elsewhere":              says(401, `{"seen":"`+escapedKey()+`"}`),
		"as a name":                       says(401, `{"`+testKey+`":1}`),
		"as text":                         says(500, "Authorization: Bearer "+testKey),
		"at the cut":                      says(400, strings.Repeat("x", shownCut-10)+testKey),
		"at the end of a head":            says(400, strings.Repeat(" ", maxHead-10)+testKey),
		"in garbage":                      says(200, "Bearer "+testKey),
		"in the place of an answer":       says(200, `{"error":{"message":"`+testKey+`"}}`),
		"as a member that is there twice": says(200, `{"choices":[{"message":{"`+testKey+`":1,"`+testKey+`":2}}]}`),
		"in an answer":                    says(200, `{"choices":[{"message":{"content":"`+testKey+`"}}]}`),
		"escaped in an answer":            says(200, `{"choices":[{"message":{"content":"`+escapedKey()+`"}}]}`),
		"in a list":                       says(200, `{"choices":[{"message":{"content":[{"type":"text","text":"`+escapedKey()+`"}]}}]}`),
		"in a call":                       says(200, `{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{\"a\":\"`+testKey+`\"}"}}]}}]}`),
		"escaped in a call's arguments":   says(200, `{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":`+string(nested)+`}}]}}]}`),
		"in a broken status": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 "+testKey+"\r\n\r\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, _, notes := client(t, serve(t, step).URL, nil)
			reply, err := c.Next(t.Context(), hello, nil)
			if err == nil {
				t.Errorf("an answer: %s", reply.Message)
			}
			keyless(t, err)
			if strings.Contains(strings.Join(*notes, ""), testKey[:tellTale]) {
				t.Errorf("a piece of the key is in the notes %q", *notes)
			}
		})
	}
}

func TestScrub(t *testing.T) {
	for _, c := range []struct{ key, text, want string }{
		{"", "all stays", "all stays"},
		{"none", "none of it, not one", "[key] of it, not one"},
		{"abcdefghij", "xabcdefghijx", "x[key]x"},
		{"abcdefghij", "abcdefg hij", "abcdefg hij"},
		{"abcdefghij", "abcdefgh, cdefghij", "[key], [key]"},
		{"abcdefghij", "abcdefghiabcdefghij", "[key][key]"},
		{"abcdefgh", "abcdefg", "abcdefg"},
		{"ababababab", "babababab!", "[key]!"},
		{"abcdefgh", "é\xffabcdefgh", "é\xff[key]"},
	} {
		if got := secret(c.key).scrub(c.text); got != c.want {
			t.Errorf("scrub %q of %q = %q, want %q", c.text, c.key, got, c.want)
		}
	}
}

func TestHiddenIsQuoted(t *testing.T) {
	for _, c := range []rune{0x1b, 0xad, 0x34f, 0x115f, 0x17b4, 0x180b, 0x200d, 0x2028, 0x202e, 0x3164, 0xe000, 0xfdd0, 0xfe0f, 0xffa0, 0x1d173, 0xe0041, 0xe0100, 0x10ffff} {
		text := "a" + string(c)
		for _, got := range []string{secret("").plain(text), secret("").quoted(text)} {
			if !strings.HasPrefix(got, `"a\`) || strings.ContainsRune(got, c) {
				t.Errorf("%U: %q", c, got)
			}
		}
		if sound(text) {
			t.Errorf("%U: it can be an id", c)
		}
	}
}

func TestCheckURL(t *testing.T) {
	for _, c := range []struct {
		base      string
		local, ok bool
	}{
		{"https://api.openai.com/v1", false, true},
		{"HTTPS://example.com:8443/a/b/", false, true},
		{"https://localhost/v1", true, true},
		{"http://localhost:11434/v1", true, true},
		{"http://127.0.0.1:1/v1", true, true},
		{"http://127.8.9.10/", true, true},
		{"http://[::1]:8080/v1", true, true},
		{"http://example.com/v1", false, false},
		{"http://10.0.0.1/v1", false, false},
		{"http://127.0.0.1.example.com/", false, false},
		{"http://localhost.example.com/", false, false},
		{"http://localhost@example.com/", false, false},
		{"https://user:secret@example.com/", false, false},
		{"https://example.com/?key=secret", false, false},
		{"https://example.com/?", false, false},
		{"https://example.com/#x", false, false},
		{"ftp://localhost/", false, false},
		{"file:///etc/passwd", false, false},
		{"example.com/v1", false, false},
		{"//example.com", false, false},
		{"https:", false, false},
		{"https://", false, false},
		{"https:example.com", false, false},
		{"http://[::1", false, false},
		{"", false, false},
	} {
		local, err := CheckURL(c.base)
		if (err == nil) != c.ok || c.ok && local != c.local {
			t.Errorf("CheckURL(%q) = %v, %v", c.base, local, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v tells a password", err)
		}
	}
}

// A name that stands for this machine must lead to it.
func TestLoopbackOnly(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:80": true, "127.1.2.3:1": true, "[::1]:80": true,
		"10.0.0.1:80": false, "[2001:db8::1]:80": false, "0.0.0.0:80": false, "example.com:80": false, "": false,
	} {
		if err := loopbackOnly("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
	c := httpClient("http://localhost/")
	if tr := c.Transport.(*http.Transport); tr.Proxy != nil {
		t.Error("what is in the clear goes through a proxy")
	}
}
