package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	vendor "github.com/openai/openai-go/v3"

	"github.com/runlens/runlens/internal/glyph"
	"github.com/runlens/runlens/internal/loop/provider"
)

// fits tells whether an answer says of itself that it is what was asked for.
func (e *exchange) fits(s secret) *failure {
	kind, _, _ := mime.ParseMediaType(e.header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return &failure{err: errors.New("the server streams its answer, which was not asked for")}
	}
	if text := bytes.TrimSpace(e.head.Bytes()); len(text) == 0 || text[0] != '{' {
		return &failure{err: fmt.Errorf("the server answered %s with what is not a JSON object: %s", statusText(e.status), s.quoted(string(text)))}
	}
	return nil
}

// answer makes a reply of a chat completion. earlier is the conversation, for the
// ids that are taken.
//
// The message is kept as it came but for what would make the conversation
// ambiguous or invalid: members that are null or empty go, an older server's
// function_call becomes a tool call, and a tool call whose id is missing, or was
// there before, gets a new one.
func answer(body []byte, earlier []json.RawMessage) (provider.Reply, error) {
	if !utf8.Valid(body) {
		return provider.Reply{}, errors.New("not JSON")
	}
	var line bytes.Buffer // without space between tokens; what is in strings stays
	if err := json.Compact(&line, body); err != nil {
		return provider.Reply{}, errors.New("not JSON")
	}
	body = line.Bytes()
	var completion vendor.ChatCompletion
	if err := json.Unmarshal(body, &completion); err != nil {
		return provider.Reply{}, errors.New("not a chat completion")
	}
	if len(completion.Choices) == 0 {
		var doc any
		if json.Unmarshal(body, &doc) == nil {
			if text := messageIn(doc); text != "" {
				return provider.Reply{}, fmt.Errorf("an error in the place of an answer: %s", text)
			}
		}
		return provider.Reply{}, errors.New("no choices")
	}
	choice := completion.Choices[0]
	reply := provider.Reply{Finish: choice.FinishReason, Tokens: tokens(completion.Usage)}
	m, err := readMessage([]byte(choice.Message.RawJSON()))
	if err != nil {
		return provider.Reply{}, fmt.Errorf("choices[0].message: %w", err)
	}
	if err := m.settleCalls(taken(earlier)); err != nil {
		return provider.Reply{}, fmt.Errorf("choices[0].message: %w", err)
	}
	reply.Calls, reply.CallIDs, reply.Text = m.calls, m.ids, m.text()
	if reply.Message, err = m.json(); err != nil {
		return provider.Reply{}, fmt.Errorf("choices[0].message: %w", err)
	}
	return reply, nil
}

// tokens adds up what a server that gives no total says.
func tokens(u vendor.CompletionUsage) int64 {
	if u.TotalTokens > 0 {
		return u.TotalTokens
	}
	in, out := max(u.PromptTokens, 0), max(u.CompletionTokens, 0)
	if sum := in + out; sum >= 0 {
		return sum
	}
	return in
}

// message is an assistant message on its way into the conversation.
type message struct {
	members []member
	calls   [][]byte
	ids     []string
}

// known are the members that mean something here. Another spelling of one could
// mean it to another reader.
var known = []string{"role", "content", "refusal", "tool_calls", "function_call"}

func readMessage(raw []byte) (*message, error) {
	list, ok := split(raw)
	if !ok {
		return nil, errors.New("not an object")
	}
	m := &message{}
	seen := map[string]bool{}
	for _, x := range list {
		if seen[x.key] {
			return nil, fmt.Errorf("key %s is there twice", glyph.Quote(cut(x.key)))
		}
		seen[x.key] = true
		for _, k := range known {
			if k != x.key && strings.EqualFold(k, x.key) {
				return nil, fmt.Errorf("key %s is spelt like %q", strconv.Quote(x.key), k)
			}
		}
		if s := string(x.value); s != "null" && s != "[]" {
			m.members = append(m.members, x)
		}
	}
	if role, ok := m.find("role"); ok && string(role) != `"assistant"` {
		return nil, errors.New("the role is not assistant")
	}
	return m, nil
}

func (m *message) find(key string) (json.RawMessage, bool) {
	i := slices.IndexFunc(m.members, func(x member) bool { return x.key == key })
	if i < 0 {
		return nil, false
	}
	return m.members[i].value, true
}

// settleCalls reads the tool calls and sees to their ids.
func (m *message) settleCalls(taken map[string]bool) error {
	var raw []json.RawMessage
	if list, ok := m.find("tool_calls"); ok {
		if json.Unmarshal(list, &raw) != nil {
			return errors.New("tool_calls: not a list")
		}
	} else if old, ok := m.find("function_call"); ok {
		raw = []json.RawMessage{slices.Concat([]byte(`{"type":"function","function":`), old, []byte("}"))}
	}
	for i, r := range raw {
		list, ok := split(r)
		if !ok {
			return fmt.Errorf("tool_calls[%d]: not an object", i)
		}
		call, id := settle(r, list, taken)
		taken[id] = true
		m.calls, m.ids = append(m.calls, call), append(m.ids, id)
	}
	return nil
}

// settle gives a tool call an id when it has none of its own, and a type when the
// server left it out. Name and arguments stay as they are.
func settle(raw []byte, list []member, taken map[string]bool) ([]byte, string) {
	var ids []string
	typed, function := false, false
	rest := make([]member, 0, len(list)+2)
	for _, x := range list {
		switch {
		case strings.EqualFold(x.key, "id"):
			var id string
			if x.key != "id" || json.Unmarshal(x.value, &id) != nil {
				id = ""
			}
			ids = append(ids, id)
			continue
		case x.key == "type" && (string(x.value) == "null" || string(x.value) == `""`):
			continue
		case x.key == "type":
			typed = true
		case x.key == "function":
			function = true
		}
		rest = append(rest, x)
	}
	id := ""
	if len(ids) == 1 && sound(ids[0]) && !taken[ids[0]] {
		id = ids[0]
	}
	if id != "" && (typed || !function) {
		return raw, id
	}
	if id == "" {
		id = fresh(taken)
	}
	quoted, _ := json.Marshal(id)
	front := []member{{"id", quoted}}
	if !typed && function {
		front = append(front, member{"type", json.RawMessage(`"function"`)})
	}
	return join(append(front, rest...)), id
}

// sound tells whether an id can be a call_id.
func sound(id string) bool {
	return id != "" && len(id) <= 256 && !strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == utf8.RuneError || !strconv.IsPrint(r) || !glyph.Shows(r) })
}

// fresh makes an id of nine letters and digits, the one form that every server
// takes: some refuse others.
func fresh(taken map[string]bool) string {
	for n := len(taken) + 1; ; n++ {
		if id := fmt.Sprintf("call%05d", n); !taken[id] {
			return id
		}
	}
}

// taken are the ids of the calls in a conversation.
func taken(messages []json.RawMessage) map[string]bool {
	ids := map[string]bool{}
	for _, raw := range messages {
		for _, id := range provider.CallIDs(raw) {
			ids[id] = true
		}
	}
	return ids
}

// text is what the message says.
func (m *message) text() string {
	var text string
	if content, ok := m.find("content"); ok && json.Unmarshal(content, &text) != nil {
		var parts []struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(content, &parts) == nil {
			for _, p := range parts {
				text += p.Text
			}
		}
	}
	if refusal, ok := m.find("refusal"); ok && text == "" {
		_ = json.Unmarshal(refusal, &text)
	}
	return text
}

// json is the message as it is kept, on one line.
func (m *message) json() (json.RawMessage, error) {
	list := []member{{"role", json.RawMessage(`"assistant"`)}, {"content", json.RawMessage("null")}}
	if content, ok := m.find("content"); ok {
		list[1].value = content
	}
	for _, x := range m.members {
		if x.key != "role" && x.key != "content" && x.key != "tool_calls" && x.key != "function_call" {
			list = append(list, x)
		}
	}
	if len(m.calls) > 0 {
		calls := slices.Concat([]byte("["), bytes.Join(m.calls, []byte(",")), []byte("]"))
		list = append(list, member{"tool_calls", calls})
	}
	var buf bytes.Buffer
	err := json.Compact(&buf, join(list))
	return buf.Bytes(), err
}
