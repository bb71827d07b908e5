package loop

import (
	"bytes"
	"encoding/json"

	"github.com/runlens/runlens/internal/executor"
)

// Told is the result that was kept for a start; its Seq may be 0, for a result is
// kept before it is recorded.
func (m *Messages) Told(started int64) (*executor.ToolResult, bool) {
	r, _ := m.read(m.started[started])
	return r, r != nil
}

// told is the kept result of a call that the ledger knows, nil when nothing was
// kept or when it is not of the call that the ledger has there.
func (m *Messages) told(past *executor.Past) *executor.ToolResult {
	where := m.started[past.Started]
	if past.Started == 0 {
		where = m.refused[past.Seq]
	}
	r, digest := m.read(where)
	if r == nil || digest != past.OutputDigest || past.ToldDigest == "" || r.ToldDigest() != past.ToldDigest {
		return nil
	}
	return r
}

// read is the result in a line, and the digest of its output as it stands there.
func (m *Messages) read(where span) (*executor.ToolResult, string) {
	if where.length == 0 {
		return nil, ""
	}
	line := make([]byte, where.length)
	if _, err := m.file.ReadAt(line, where.at); err != nil {
		return nil, ""
	}
	var e entry
	if json.Unmarshal(line, &e) != nil {
		return nil, ""
	}
	var spelt struct {
		Output json.RawMessage `json:"output"`
	}
	if json.Unmarshal(e.Result, &spelt) != nil {
		return nil, ""
	}
	var r executor.ToolResult
	dec := json.NewDecoder(bytes.NewReader(e.Result))
	dec.UseNumber() // numbers are told again as they were spelt
	if dec.Decode(&r) != nil {
		return nil, ""
	}
	return &r, executor.OutputDigest(spelt.Output)
}
