package call

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/runlens/runlens/internal/glyph"
)

// envelope is an object whose keys mean something to us: the call itself, and
// what it holds under "function" or "params". Its members keep their order and
// their places.
type envelope struct {
	at      int // offset of the bracket
	members []member
	room    [3]member // for the members of most
}

type member struct {
	key            string
	at, start, end int  // offsets of the key, of the value and behind it
	tight          bool // no blanks inside the value
	value          any  // *envelope for an object under "function" or "params"
}

func (s *scanner) envelope(depth int) (*envelope, *Malformed) {
	e := &envelope{at: s.pos}
	e.members = e.room[:0]
	if bad := s.open(depth); bad != nil {
		return nil, bad
	}
	var seen map[string]bool // for envelopes too long to search
	for first := true; ; first = false {
		key, at, done, bad := s.key(first)
		if done || bad != nil {
			return e, bad
		}
		if len(e.members) == 16 {
			seen = make(map[string]bool)
			for _, m := range e.members {
				seen[m.key] = true
			}
		}
		if seen[key] || seen == nil && e.find(key) != nil {
			return nil, s.fail(ruleDuplicateKey, at, "keep one").in(key)
		}
		if seen != nil {
			seen[key] = true
		}
		m := member{key: key, at: at, start: s.pos}
		blanks := s.blanks
		if depth == 0 && s.peek() == '{' && (key == "function" || key == "params") {
			m.value, bad = s.envelope(1)
		} else {
			m.value, bad = s.value(depth + 1)
		}
		if bad != nil {
			return nil, bad.in(key)
		}
		m.end, m.tight = s.pos, s.blanks == blanks
		e.members = append(e.members, m)
	}
}

func (e *envelope) find(key string) *member {
	for i := range e.members {
		if e.members[i].key == key {
			return &e.members[i]
		}
	}
	return nil
}

func (e *envelope) missing(key string) *Malformed {
	return (&Malformed{Rule: ruleMissingKey, Offset: int64(e.at), Fix: "add it"}).in(key)
}

// fail is about the value, refuse about the key.
func (m *member) fail(rule, fix string) *Malformed {
	return (&Malformed{Rule: rule, Offset: int64(m.start), Fix: fix}).in(m.key)
}

func (m *member) refuse(rule, fix string) *Malformed {
	return (&Malformed{Rule: rule, Offset: int64(m.at), Fix: fix}).in(m.key)
}

// plain is the value as an argument holds it.
func (m *member) plain() any {
	e, ok := m.value.(*envelope)
	if !ok {
		return m.value
	}
	object := make(map[string]any, len(e.members))
	for _, m := range e.members {
		object[m.key] = m.value
	}
	return object
}

func (e *envelope) name(key string) (string, *Malformed) {
	m := e.find(key)
	if m == nil {
		return "", e.missing(key)
	}
	name, ok := m.value.(string)
	if !ok {
		return "", m.fail(ruleWrongType, "send the tool's name, a string")
	}
	if name == "" || len(name) > maxName || hasControl(name) {
		return "", m.fail(ruleBadName, "send 1 to 256 bytes without control characters")
	}
	return name, nil
}

// id reads a call id, which may be absent.
func (e *envelope) id(key string) (string, *Malformed) {
	m := e.find(key)
	if m == nil {
		return "", nil
	}
	id, ok := m.value.(string)
	if !ok {
		return "", m.fail(ruleWrongType, "send a string, or leave it out")
	}
	if len(id) > maxName || hasControl(id) {
		return "", m.fail(ruleBadID, "send at most 256 bytes without control characters")
	}
	return id, nil
}

// known is what an envelope says of a call whose arguments can't be read.
func (e *envelope) known(shape Shape) (name, id string) {
	holder, nameKey, idKey := e, "name", "call_id"
	switch shape {
	case Flat:
		nameKey = "tool"
	case OpenAIChat:
		idKey = "id"
		if m := e.find("function"); m != nil {
			holder, _ = m.value.(*envelope)
		}
	case Anthropic:
		idKey = "id"
	case MCP:
		return "", ""
	}
	if holder != nil {
		name, _ = holder.name(nameKey)
	}
	id, _ = e.id(idKey)
	return name, id
}

// clientID reads a JSON-RPC id as it is spelt: 1, 1.0 and "1" are three ids.
func (s *scanner) clientID(e *envelope) (string, *Malformed) {
	m := e.find("id")
	if m == nil {
		return "", nil
	}
	text, isText := m.value.(string)
	if _, isNumber := m.value.(json.Number); !isText && !isNumber {
		return "", m.fail(ruleWrongType, "send a string or a number")
	}
	if m.end-m.start > maxName || hasControl(text) {
		return "", m.fail(ruleBadID, "send at most 256 bytes without control characters")
	}
	return s.src[m.start:m.end], nil
}

// inside returns the envelope under key.
func (e *envelope) inside(key string) (*envelope, *Malformed) {
	m := e.find(key)
	if m == nil {
		return nil, e.missing(key)
	}
	inside, ok := m.value.(*envelope)
	if !ok {
		return nil, m.fail(ruleWrongType, "send an object")
	}
	if bad := inside.vet(vocabulary{own: []string{"name", "arguments"}}); bad != nil {
		return nil, bad.in(key)
	}
	return inside, nil
}

// vocabulary is what the keys of an envelope may mean.
type vocabulary struct {
	own     []string
	foreign []string // other shapes keep a name or arguments here
	closed  bool     // no other keys
}

var words = [...]vocabulary{
	Ours:            {own: []string{"name", "arguments", "call_id"}, closed: true},
	Flat:            {own: []string{"tool", "call_id"}, foreign: []string{"arguments", "jsonrpc"}},
	OpenAIChat:      {own: []string{"type", "id", "function"}, foreign: []string{"tool", "name", "arguments", "input", "params"}},
	OpenAIResponses: {own: []string{"type", "call_id", "name", "arguments"}, foreign: []string{"tool", "function", "input", "params"}},
	Anthropic:       {own: []string{"type", "id", "name", "input"}, foreign: []string{"tool", "arguments", "function", "params"}},
	MCP:             {own: []string{"jsonrpc", "id", "method", "params"}, foreign: []string{"tool", "name", "arguments", "function", "input"}},
}

const oneShape = `send one shape, such as {"name":"…","arguments":{…}}`

// shape tells the shape by its mark.
func (e *envelope) shape() (Shape, *Malformed) {
	var found Shape
	for i := range e.members {
		m := &e.members[i]
		mark := m.mark()
		if mark == 0 || mark == found {
			continue
		}
		if found != 0 {
			return 0, m.refuse(ruleAmbiguous, oneShape)
		}
		found = mark
	}
	if found != 0 {
		return found, nil
	}
	if m := e.find("type"); m != nil {
		return 0, m.refuse(ruleUnknownShape, `send "function", "function_call" or "tool_use", or leave it out`)
	}
	if m := e.find("method"); m != nil {
		return 0, m.refuse(ruleUnknownShape, `send "tools/call", or leave it out`)
	}
	return Ours, nil
}

func (m *member) mark() Shape {
	switch m.key {
	case "tool":
		return Flat
	case "jsonrpc":
		return MCP
	case "method":
		if m.value == "tools/call" {
			return MCP
		}
	case "type":
		switch m.value {
		case "function":
			return OpenAIChat
		case "function_call":
			return OpenAIResponses
		case "tool_use":
			return Anthropic
		}
	}
	return 0
}

// vet refuses keys that another reader could take for others.
func (e *envelope) vet(v vocabulary) *Malformed {
	var few [16]string
	keys := few[:0]
	for _, m := range e.members {
		keys = append(keys, m.key)
	}
	if a, b, found := CaseVariant(keys); found {
		return e.find(b).refuse(ruleCaseVariant, "keep one of the two, the other is "+glyph.Quote(clip(a)))
	}
	for i := range e.members {
		if bad := e.members[i].vet(v); bad != nil {
			return bad
		}
	}
	return nil
}

func (m *member) vet(v vocabulary) *Malformed {
	if slices.Contains(v.own, m.key) {
		return nil
	}
	if slices.Contains(v.foreign, m.key) {
		return m.refuse(ruleAmbiguous, oneShape)
	}
	for _, list := range [...][]string{v.own, v.foreign} {
		for _, word := range list {
			if strings.EqualFold(word, m.key) {
				return m.refuse(ruleCaseVariant, "spell it "+strconv.Quote(word)+" or leave it out")
			}
		}
	}
	if v.closed {
		return m.refuse(ruleUnknownKey, meant(m.key))
	}
	return nil
}

// meant guesses the key that somebody wanted from what other formats call it.
func meant(key string) string {
	switch strings.ToLower(key) {
	case "tool_name", "toolname", "function", "action":
		return `write "name"`
	case "args", "parameters", "params", "input", "tool_input", "argument", "kwargs":
		return `write "arguments"`
	case "id", "callid", "tool_call_id", "tool_use_id":
		return `write "call_id"`
	}
	return `keep only "name", "arguments" and "call_id"`
}
