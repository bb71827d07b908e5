package provider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// protocol is raised when the lines change their meaning: the two programs are
// installed separately.
const protocol = 1

// maxLine bounds a line. An answer of 16 MiB, the most that is taken from a
// server, comes as a message, as calls in base64 and as text, and fits.
const maxLine = 96 << 20

// greeting is the first line of a program: it is ready, or says why not. Several
// problems are several lines of text.
type greeting struct {
	Ready    bool   `json:"ready,omitempty"`
	Protocol int    `json:"protocol,omitempty"`
	Error    string `json:"error,omitempty"`
	Hint     string `json:"hint,omitempty"`
}

// question is a conversation to be answered.
type question struct {
	Seq      int               `json:"seq"`
	Messages []json.RawMessage `json:"messages"`
	Tools    json.RawMessage   `json:"tools,omitempty"`
}

// answer is a reply, or an error in its place.
type answer struct {
	Seq     int             `json:"seq"`
	Message json.RawMessage `json:"message,omitempty"`
	Calls   [][]byte        `json:"calls,omitempty"`
	CallIDs []string        `json:"call_ids,omitempty"`
	Text    string          `json:"text,omitempty"`
	Tokens  int64           `json:"tokens,omitempty"`
	Finish  string          `json:"finish,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// reply takes an answer for what it claims to be, or not.
func (a *answer) reply() (Reply, error) {
	switch {
	case len(a.Message) == 0 || a.Message[0] != '{':
		return Reply{}, errors.New("an answer without a message")
	case len(a.Calls) != len(a.CallIDs) || !slices.Equal(CallIDs(a.Message), a.CallIDs):
		return Reply{}, errors.New("an answer whose calls are not those of its message")
	}
	var m struct {
		Role  string            `json:"role"`
		Calls []json.RawMessage `json:"tool_calls"`
	}
	if err := json.Unmarshal(a.Message, &m); err != nil || m.Role != "assistant" || len(m.Calls) != len(a.Calls) {
		return Reply{}, errors.New("an answer whose message is no model's")
	}
	seen := map[string]bool{"": true}
	for i, id := range a.CallIDs {
		var spelt bytes.Buffer
		if json.Compact(&spelt, a.Calls[i]) != nil || !bytes.Equal(spelt.Bytes(), m.Calls[i]) || seen[id] {
			return Reply{}, errors.New("an answer whose calls are not those of its message")
		}
		seen[id] = true
	}
	return Reply{
		Message: a.Message, Calls: a.Calls, CallIDs: a.CallIDs,
		Text: a.Text, Tokens: a.Tokens, Finish: a.Finish,
	}, nil
}

// encode is a value on one line, with its JSON parts as they were spelt but for
// space between tokens.
func encode(v any) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	if line.Len() > maxLine {
		return nil, fmt.Errorf("larger than %d MiB", maxLine>>20)
	}
	return line.Bytes(), nil
}

// decode reads a line that holds one value, in the members that are known.
func decode(line []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("more than one value")
	}
	return nil
}

var (
	errLong = errors.New("a line that is too long")
	errTorn = errors.New("a line that does not end")
)

// readLine reads a line of at most limit bytes; io.EOF where none begins.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return nil, errLong
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case err == io.EOF && len(line) > 0:
			return nil, errTorn
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}
