// Package call turns the bytes of a proposed tool call into a [Call].
//
// It promises: what it lets through has one reading. The rules hold for the
// raw bytes, before anything is decoded: one JSON value, valid UTF-8, no byte
// order mark, no half surrogates, no key twice in an object (compared after
// unescaping, so "p\u0061th" is "path"), no control characters in keys, at most
// 64 levels and 16 MiB. Numbers stay text: an integer fits in 64 bits
// (-2^63 to 2^64-1), a decimal has at most 17 significant digits and an exponent
// within ±308. The bytes are decoded once, by the same pass that checks them,
// and everybody after shares that value. What encoding/json would refuse is
// refused here too.
//
// It never guesses: an envelope that could be read as two shapes, or a key that
// differs from a known one only in case, is refused with the place and the fix.
// It never repeats argument values in an error, never opens a file, and knows
// no tools: whether the arguments suit a tool is for the manifest to say.
//
// Read first: [Admit], [Call], [Malformed].
//
// # Shapes
//
// A shape is told by its mark, and two marks are ambiguous:
//
//	mark                    shape             name           arguments             call id
//	"tool"                  flat              tool           every other key       call_id
//	"type":"function"       openai_chat       function.name  function.arguments *  id
//	"type":"function_call"  openai_responses  name           arguments *           call_id
//	"type":"tool_use"       anthropic         name           input                 id
//	"method":"tools/call"   mcp               params.name    params.arguments      none; id is ClientID
//	or any "jsonrpc"
//	none of these           runlens           name           arguments             call_id
//
// * JSON in a string, admitted by the same rules: "" is refused, no arguments
// are "{}". Only MCP may leave its arguments out.
//
// Unknown keys are refused in our own shape and ignored in vendors', except
// those in which another shape keeps its name or arguments (tool, name,
// arguments, function, input, params): a reader of that shape would see another
// call, so they are ambiguous. In a flat call every key but tool and call_id is
// an argument, name and type among them, as long as it carries no second mark
// and no "arguments" key; our own shape takes arguments of every name.
package call

import "github.com/runlens/runlens/internal/glyph"

// Limits of one call.
const (
	MaxBytes = 16 << 20 // of the raw bytes
	MaxDepth = 64       // arrays and objects inside each other, the envelope counted
	maxName  = 256      // bytes of a name, a call id, a JSON-RPC id
)

// Shape says how a call was spelt. It is no part of the call's meaning: the
// digest leaves it out.
type Shape uint8

// The shapes; see the package comment.
const (
	Ours Shape = iota + 1
	Flat
	OpenAIChat
	OpenAIResponses
	Anthropic
	MCP
)

// String returns the shape's name in reports: runlens, flat, openai_chat,
// openai_responses, anthropic or mcp.
func (s Shape) String() string {
	switch s {
	case Ours:
		return "runlens"
	case Flat:
		return "flat"
	case OpenAIChat:
		return "openai_chat"
	case OpenAIResponses:
		return "openai_responses"
	case Anthropic:
		return "anthropic"
	case MCP:
		return "mcp"
	}
	return "unknown"
}

// Call is one admitted tool call. [Admit] makes it; its parts are shared, so
// nobody changes them. Nothing in it refers to the bytes given to Admit.
type Call struct {
	// Name is the tool's: 1 to 256 bytes without control characters. It need
	// not be a declared tool.
	Name string
	// Arguments is never nil. Values are string, bool, nil, json.Number, []any
	// and map[string]any.
	Arguments map[string]any
	// ID is the caller's call id, at most 256 bytes without control characters;
	// "" when there is none.
	ID string
	// ClientID is the JSON-RPC id of an MCP request as it was spelt, quotes
	// included: at most 256 bytes, no control characters; "" when there is none.
	ClientID string
	Shape    Shape
	// ArgumentsJSON is the arguments as they were spelt (order of keys, spelling
	// of numbers and escapes) on one line without spaces between tokens.
	ArgumentsJSON []byte

	digest string
}

// JSON returns the call in our own shape on one line:
// {"name":…,"arguments":…,"call_id":…}, the last only if there is one. Admit
// takes it and gives the same Name, Arguments, ArgumentsJSON, ID and Digest.
func (c *Call) JSON() []byte {
	line := make([]byte, 0, len(`{"name":"","arguments":,"call_id":""}`)+len(c.Name)+len(c.ArgumentsJSON)+len(c.ID)+8)
	line = append(line, `{"name":`...)
	line = appendQuoted(line, c.Name)
	line = append(line, `,"arguments":`...)
	line = append(line, c.ArgumentsJSON...)
	if c.ID != "" {
		line = append(line, `,"call_id":`...)
		line = appendQuoted(line, c.ID)
	}
	return append(line, '}')
}

// appendQuoted writes s as a JSON string. Admitted names and ids are valid
// UTF-8 without control characters, so two characters need an escape.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		if s[i] == '"' || s[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"')
}

// clip cuts foreign text for an error: at most 200 bytes, whole characters.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && s[cut]&0xC0 == 0x80 {
		cut--
	}
	return s[:cut] + "…"
}

// segment renders a key of a pointer: plain keys as they are, others quoted.
func segment(key string) string {
	for i := 0; i < len(key); i++ {
		switch c := key[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return "[" + glyph.Quote(clip(key)) + "]"
		}
	}
	if key == "" {
		return `[""]`
	}
	return clip(key)
}
