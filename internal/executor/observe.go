package executor

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Observe is a result as a model is told it, of at most about limit bytes. cut
// says that it is a preview of something longer.
func Observe(r *ToolResult, limit int) (text string, cut bool) { return r.ErrorMessage, false }

// OpenAI is the result as a role=tool message of an OpenAI chat, one line.
func (r *ToolResult) OpenAI() ([]byte, error) { return nil, errors.New("write result: not there yet") }

// Anthropic is the result as a user message with a tool_result block, one line.
func (r *ToolResult) Anthropic() ([]byte, error) {
	return nil, errors.New("write result: not there yet")
}

// Line is the result as one line of JSON, with its newline.
func (r *ToolResult) Line() ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
