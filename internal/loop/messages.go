package loop

import (
	"encoding/json"
	"errors"

	"github.com/runlens/runlens/internal/executor"
)

// Messages is what the model of a run was told: runs/<id>/messages.jsonl.
type Messages struct{}

// OpenMessages opens the file in a run's directory and makes it when it is absent.
func OpenMessages(dir string) (*Messages, error) {
	return nil, errors.New("open messages: not there yet")
}

// Keep keeps a result; it is durable when Keep returns.
func (m *Messages) Keep(started int64, r *executor.ToolResult) error { return nil }

// Told is the result that was kept for a start.
func (m *Messages) Told(started int64) (*executor.ToolResult, bool) { return nil, false }

// Say keeps a message of a conversation; it is durable when Say returns.
func (m *Messages) Say(message json.RawMessage) error { return nil }

// Conversation is every message that was kept, oldest first.
func (m *Messages) Conversation() []json.RawMessage { return nil }

// Close closes the file.
func (m *Messages) Close() error { return nil }
