package loop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/runlens/runlens/internal/executor"
)

// Messages is what the model of a run was told: runs/<id>/messages.jsonl (0600),
// one JSON object a line, a line at most 32 MiB:
//
//	{"type":"message","message":{…}}
//	{"type":"result","started":12,"call_id":"…","digest":"sha256:…","result":{…}}
//
// A message is one of a chat, as the provider's interface has it. A result is an
// executor.ToolResult; started is the seq of its tool_started, 0 for a call that
// was refused, digest that of its output as the ledger has it. A result of which
// the line would be too long is kept without its output.
//
// The ledger is the record of what happened; this file says what was told, so
// that a run which is resumed can tell it again. One process at a time writes it.
// It is not safe for concurrent use.
type Messages struct {
	file   keeper
	name   string
	size   int64 // of the whole lines
	broken error // set for good when what is on disk is no longer known

	said    []json.RawMessage
	started map[int64]span // by the seq of the start
	refused map[int64]span // by the seq of the verdict
}

// keeper is the one way to the file, so that tests can make each step fail.
type keeper interface {
	io.Writer // appends
	io.ReaderAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// span is where a kept result stands.
type span struct {
	at     int64
	length int
}

// ErrDriven is a run that another process is driving.
var ErrDriven = errors.New("another process drives this run")

const (
	messagesName = "messages.jsonl"
	maxLine      = 32 << 20
)

// entry is one line.
type entry struct {
	Type    string          `json:"type"`
	Message json.RawMessage `json:"message,omitempty"`
	Started *int64          `json:"started,omitempty"`
	CallID  string          `json:"call_id,omitempty"`
	Digest  string          `json:"digest,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
}

const (
	typeMessage = "message"
	typeResult  = "result"
)

// OpenMessages opens the file in a run's directory and makes it when it is absent.
// A last line that a crash cut short was never told to anyone and is cut off;
// anything else that is odd is an error that names the line.
func OpenMessages(dir string) (*Messages, error) {
	name := filepath.Join(dir, messagesName)
	f, err := openKeeper(name)
	if err != nil {
		return nil, fmt.Errorf("open messages: %w", err)
	}
	m, err := readMessages(name, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return m, nil
}

func openKeeper(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s: not a regular file", name)
	case linked(info):
		err = fmt.Errorf("%s: it has another name too", name)
	default:
		err = lock(f)
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	if err == nil && info.Size() == 0 {
		err = syncDir(filepath.Dir(name))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readMessages reads what is there and cuts off a torn last line.
func readMessages(name string, f keeper) (*Messages, error) {
	m := &Messages{file: f, name: name, started: map[int64]span{}, refused: map[int64]span{}}
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(r)
		switch {
		case errors.Is(err, io.EOF):
			return m, m.cut(len(line) > 0)
		case err == nil:
			err = m.index(line)
		}
		if err != nil {
			return nil, fmt.Errorf("open messages: %s:%d: %w", name, n, err)
		}
		m.size += int64(len(line))
	}
}

// cut takes off what follows the whole lines.
func (m *Messages) cut(torn bool) error {
	if !torn {
		return nil
	}
	if err := errors.Join(m.file.Truncate(m.size), m.file.Sync()); err != nil {
		return fmt.Errorf("open messages: cut the torn last line: %w", err)
	}
	return nil
}

// readLine is the next line with its end; one without an end comes with io.EOF.
func readLine(r *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && long:
			return nil, errors.New("the line is too long")
		default:
			return line, err
		}
	}
}

// index takes in a line that stands at m.size.
func (m *Messages) index(line []byte) error {
	var e entry
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&e); err != nil {
		return errors.New("not a line of this file")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	switch {
	case e.Type == typeMessage && isObject(e.Message) && e.Result == nil && e.Started == nil:
		m.said = append(m.said, e.Message)
	case e.Type == typeResult && isObject(e.Result) && e.Message == nil && e.Started != nil && *e.Started >= 0:
		where := span{m.size, len(line)}
		if *e.Started > 0 {
			m.started[*e.Started] = where
			break
		}
		var head struct {
			Seq int64 `json:"seq"`
		}
		if err := json.Unmarshal(e.Result, &head); err != nil {
			return errors.New("not a result")
		}
		m.refused[head.Seq] = where
	default:
		return errors.New("neither a message nor a result")
	}
	return nil
}

func isObject(text json.RawMessage) bool { return len(text) > 0 && text[0] == '{' }

// Keep keeps a result under the seq of its start, 0 for a call that was refused.
// It is durable when Keep returns. It is an executor.Tell.
func (m *Messages) Keep(started int64, r *executor.ToolResult) error {
	kept := *r
	line, err := resultLine(started, &kept)
	if err == nil && len(line) > maxLine {
		// What the model is told is in the observation.
		kept.Output = nil
		line, err = resultLine(started, &kept)
	}
	if err != nil {
		return err
	}
	where, err := m.add(line)
	switch {
	case err != nil:
		return err
	case started > 0:
		m.started[started] = where
	default:
		m.refused[r.Seq] = where
	}
	return nil
}

func resultLine(started int64, r *executor.ToolResult) ([]byte, error) {
	e := entry{Type: typeResult, Started: &started, CallID: r.CallID}
	if r.Output != nil {
		output, err := compact(r.Output)
		if err != nil {
			return nil, err
		}
		e.Digest = executor.OutputDigest(bytes.TrimSuffix(output, []byte("\n")))
	}
	var err error
	if e.Result, err = compact(r); err != nil {
		return nil, err
	}
	return compact(e)
}

func compact(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("keep message: %w", err)
	}
	return buf.Bytes(), nil
}

// Say keeps a message of a chat, a JSON object. It is durable when Say returns.
func (m *Messages) Say(message json.RawMessage) error {
	line, err := compact(entry{Type: typeMessage, Message: message})
	if err != nil {
		return err
	}
	kept, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("}\n")), []byte(`{"type":"message","message":`))
	if !ok || !isObject(kept) {
		return errors.New("keep message: not an object")
	}
	if _, err := m.add(line); err != nil {
		return err
	}
	m.said = append(m.said, kept)
	return nil
}

// Conversation is every message that was kept, oldest first. The slice is the
// caller's, the messages are not to be changed.
func (m *Messages) Conversation() []json.RawMessage {
	return append([]json.RawMessage(nil), m.said...)
}

// add appends a line and says where. When it returns nil the line is durable;
// when not, the file is as it was before, or nothing more is added to it.
func (m *Messages) add(line []byte) (span, error) {
	where := span{m.size, len(line)}
	if m.broken != nil {
		return where, m.broken
	}
	if len(line) > maxLine {
		return where, fmt.Errorf("write %s: a line of %d bytes is too long", m.name, len(line))
	}
	if _, err := m.file.Write(line); err != nil {
		err = fmt.Errorf("write %s: %w", m.name, err)
		// A part of the line may be there; without it the next one would stand
		// in its middle.
		if cutErr := m.file.Truncate(m.size); cutErr != nil {
			m.broken = err
		}
		return where, err
	}
	if err := m.file.Sync(); err != nil {
		// What reached the disk is not known any more, and another sync would not
		// tell. The next opening reads what did.
		m.broken = fmt.Errorf("sync %s: %w", m.name, err)
		return where, m.broken
	}
	m.size += int64(len(line))
	return where, nil
}

// Close closes the file.
func (m *Messages) Close() error { return m.file.Close() }
