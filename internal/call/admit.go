package call

import "strings"

// Admit applies the rules of the package comment to raw, decodes it once and
// tells its shape. It keeps no reference to raw. The error is a [*Malformed]:
// the first problem in the bytes, problems of the envelope last.
func Admit(raw []byte) (*Call, error) {
	c, bad := admit(raw)
	if bad != nil {
		return nil, bad
	}
	return c, nil
}

func admit(raw []byte) (*Call, *Malformed) {
	if len(raw) > MaxBytes {
		return nil, &Malformed{Rule: ruleTooLarge, Offset: MaxBytes, Fix: "send at most 16 MiB"}
	}
	s := scanner{src: string(raw), limit: MaxDepth}
	e, bad := s.document()
	if bad != nil {
		return nil, bad
	}
	shape, bad := e.shape()
	if bad != nil {
		return nil, bad
	}
	if bad := e.vet(words[shape]); bad != nil {
		return nil, bad
	}
	c, bad := s.read(e, shape)
	if bad != nil {
		bad.Name, bad.ID = e.known(shape)
		return nil, bad
	}
	c.Shape = shape
	var few [512]byte
	space := few[:]
	if need := len(c.ArgumentsJSON) + len(c.ArgumentsJSON)/8 + maxName; need > len(few) {
		space = make([]byte, need)
	}
	c.digest = digest(c.Name, c.Arguments, space)
	return c, nil
}

// document reads the whole text, an envelope.
func (s *scanner) document() (*envelope, *Malformed) {
	if bad := s.begin(); bad != nil {
		return nil, bad
	}
	start := s.pos
	if s.peek() == '{' {
		e, bad := s.envelope(0)
		if bad != nil {
			return nil, bad
		}
		return e, s.end()
	}
	return nil, s.notAnObject(start, 0)
}

// notAnObject refuses the value at pos, as soon as it is clear that it is one.
func (s *scanner) notAnObject(start, depth int) *Malformed {
	if _, bad := s.value(depth); bad != nil {
		return bad
	}
	if bad := s.end(); bad != nil {
		return bad
	}
	return s.fail(ruleNotAnObject, start, "send a JSON object")
}

func (s *scanner) read(e *envelope, shape Shape) (*Call, *Malformed) {
	switch shape {
	case Flat:
		return s.flat(e)
	case OpenAIChat:
		return s.chat(e)
	case OpenAIResponses:
		return s.spelt(e, "name", "call_id", "arguments", s.argumentText)
	case Anthropic:
		return s.spelt(e, "name", "id", "input", s.argumentObject)
	case MCP:
		return s.mcp(e)
	default:
		return s.spelt(e, "name", "call_id", "arguments", s.argumentObject)
	}
}

// arguments puts the arguments that a member holds into the call.
type arguments func(*Call, *member) *Malformed

// spelt reads an envelope whose members hold name, id and arguments directly;
// id is "" where the shape has none.
func (s *scanner) spelt(e *envelope, name, id, args string, take arguments) (*Call, *Malformed) {
	c := new(Call)
	var bad *Malformed
	if c.Name, bad = e.name(name); bad != nil {
		return nil, bad
	}
	if id != "" {
		if c.ID, bad = e.id(id); bad != nil {
			return nil, bad
		}
	}
	m := e.find(args)
	if m == nil {
		return nil, e.missing(args)
	}
	if bad := take(c, m); bad != nil {
		return nil, bad
	}
	return c, nil
}

func (s *scanner) argumentObject(c *Call, m *member) *Malformed {
	object, ok := m.value.(map[string]any)
	if !ok {
		return m.fail(ruleWrongType, "send an object, {} for no arguments")
	}
	c.Arguments = object
	c.ArgumentsJSON = s.line(s.src[m.start:m.end], m.tight)
	return nil
}

// argumentText admits arguments that come as JSON in a string. They count as
// one level deep, as they are in our own shape.
func (s *scanner) argumentText(c *Call, m *member) *Malformed {
	text, ok := m.value.(string)
	if !ok {
		return m.fail(ruleWrongType, `send the arguments as JSON in a string, "{}" for none`)
	}
	inside := scanner{src: text, limit: s.limit}
	object, bad := inside.arguments()
	if bad != nil {
		if bad.Rule == ruleEmpty {
			bad.Fix = `send "{}" when there are no arguments`
		}
		bad.Offset = int64(m.start + 1 + offsetIn(s.src[m.start+1:m.end-1], int(bad.Offset)))
		return bad.in(m.key)
	}
	c.Arguments = object
	c.ArgumentsJSON = inside.line(text, inside.blanks == 0)
	// The text of the envelope need not live as long as the call.
	c.Name, c.ID = strings.Clone(c.Name), strings.Clone(c.ID)
	return nil
}

// arguments reads the whole text, an object inside an envelope.
func (s *scanner) arguments() (map[string]any, *Malformed) {
	if bad := s.begin(); bad != nil {
		return nil, bad
	}
	start := s.pos
	if s.peek() != '{' {
		return nil, s.notAnObject(start, 1)
	}
	object, bad := s.object(1)
	if bad != nil {
		return nil, bad
	}
	return object, s.end()
}

func (s *scanner) flat(e *envelope) (*Call, *Malformed) {
	// In our own shape the same arguments take one level and some bytes more.
	if s.deepest == MaxDepth {
		again := scanner{src: s.src, limit: MaxDepth - 1}
		_, bad := again.document()
		return nil, bad
	}
	if len(s.src) > MaxBytes-len(`"arguments":{},`) {
		return nil, s.fail(ruleTooLarge, MaxBytes-len(`"arguments":{},`), "send at most 16 MiB, the envelope counted")
	}
	c := &Call{Arguments: make(map[string]any, len(e.members))}
	var bad *Malformed
	if c.Name, bad = e.name("tool"); bad != nil {
		return nil, bad
	}
	if c.ID, bad = e.id("call_id"); bad != nil {
		return nil, bad
	}
	c.ArgumentsJSON = append(make([]byte, 0, len(s.src)), '{')
	for i := range e.members {
		m := &e.members[i]
		if m.key == "tool" || m.key == "call_id" {
			continue
		}
		if len(c.Arguments) > 0 {
			c.ArgumentsJSON = append(c.ArgumentsJSON, ',')
		}
		c.ArgumentsJSON = appendLine(c.ArgumentsJSON, s.src[m.at:m.end])
		c.Arguments[m.key] = m.plain()
	}
	c.ArgumentsJSON = append(c.ArgumentsJSON, '}')
	return c, nil
}

func (s *scanner) chat(e *envelope) (*Call, *Malformed) {
	id, bad := e.id("id")
	if bad != nil {
		return nil, bad
	}
	inside, bad := e.inside("function")
	if bad != nil {
		return nil, bad
	}
	c, bad := s.spelt(inside, "name", "", "arguments", s.argumentText)
	if bad != nil {
		return nil, bad.in("function")
	}
	c.ID = strings.Clone(id)
	return c, nil
}

func (s *scanner) mcp(e *envelope) (*Call, *Malformed) {
	if m := e.find("jsonrpc"); m != nil && m.value != "2.0" {
		return nil, m.fail(ruleWrongType, `send "2.0"`)
	}
	method := e.find("method")
	if method == nil {
		return nil, e.missing("method")
	}
	if method.value != "tools/call" {
		return nil, method.fail(ruleWrongMethod, `send "tools/call"`)
	}
	id, bad := s.clientID(e)
	if bad != nil {
		return nil, bad
	}
	inside, bad := e.inside("params")
	if bad != nil {
		return nil, bad
	}
	c := &Call{Arguments: map[string]any{}, ArgumentsJSON: []byte("{}")}
	if inside.find("arguments") != nil {
		c, bad = s.spelt(inside, "name", "", "arguments", s.argumentObject)
	} else {
		c.Name, bad = inside.name("name")
	}
	if bad != nil {
		return nil, bad.in("params")
	}
	c.ClientID = id
	return c, nil
}

// line returns text without blanks between its tokens; tight says it has none.
func (s *scanner) line(text string, tight bool) []byte {
	if tight {
		return []byte(text)
	}
	return appendLine(make([]byte, 0, len(text)), text)
}

// appendLine appends valid JSON without the blanks between its tokens.
func appendLine(dst []byte, text string) []byte {
	for i := 0; i < len(text); {
		switch text[i] {
		case ' ', '\t', '\n', '\r':
			i++
		case '"':
			end := i + 1
			for ; text[end] != '"'; end++ {
				if text[end] == '\\' {
					end++
				}
			}
			dst = append(dst, text[i:end+1]...)
			i = end + 1
		default:
			dst = append(dst, text[i])
			i++
		}
	}
	return dst
}
