package loop

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/loop/provider"
)

// about says what RunLens is to a model, and when it is done.
const about = `You work through RunLens, which stands between you and your tools. It checks every tool call against a policy before it runs, and a call that is refused comes back with the reason and with what you may do instead: change the call, don't repeat it.

When you have reached the goal, or can't reach it, answer without a tool call.`

// systemMessage is what the model is told before all else.
func systemMessage(task *executor.Task) []byte {
	parts := []string{about}
	if text := strings.TrimSpace(task.Instructions); text != "" {
		parts = append(parts, text)
	}
	parts = append(parts, "Goal: "+goalOf(task))
	if len(task.Inputs) > 0 {
		var b strings.Builder
		b.WriteString("Inputs:")
		for _, name := range slices.Sorted(maps.Keys(task.Inputs)) {
			fmt.Fprintf(&b, "\n- %s: %s", name, task.Inputs[name])
		}
		parts = append(parts, b.String())
	}
	if task.Skill != nil && task.Skill.Plan != nil {
		parts = append(parts, stepsOf(task))
	}
	if task.Skill != nil && len(task.Skill.Artifacts) > 0 {
		var paths []string
		for _, a := range task.Skill.Artifacts {
			paths = append(paths, a.Path)
		}
		parts = append(parts, "Files that must be there in the end: "+strings.Join(paths, ", "))
	}
	return chatMessage("system", strings.Join(parts, "\n\n"))
}

// stepsOf tells the order of a task's plan: which tools may be called when, and which
// files a step waits for.
func stepsOf(task *executor.Task) string {
	var b strings.Builder
	b.WriteString("Steps, one after the other; a step allows its own tools alone:")
	for i, step := range task.Skill.Plan.Steps {
		fmt.Fprintf(&b, "\n%d. %s", i+1, step.ID)
		if step.Title != step.ID {
			b.WriteString(": " + step.Title)
		}
		fmt.Fprintf(&b, " (tools: %s", strings.Join(step.Tools, ", "))
		for j, a := range step.Completion.Artifacts {
			b.WriteString([]string{"; makes ", ", "}[min(j, 1)] + a.Path)
		}
		b.WriteString(")")
	}
	return b.String()
}

// goalOf is a task's goal; a run may have none.
func goalOf(task *executor.Task) string {
	if goal := strings.TrimSpace(task.Goal); goal != "" {
		return goal
	}
	return "Do what you were asked to do."
}

func chatMessage(role, content string) []byte {
	text, _ := json.Marshal(struct { // two strings: it can't fail
		Role    string `json:"role"`
		Content string `json:"content"`
	}{role, content})
	return text
}

// said is what the loop reads in a message that was kept.
type said struct {
	Role      string            `json:"role"`
	CallID    string            `json:"tool_call_id"`
	ToolCalls []json.RawMessage `json:"tool_calls"`
}

func readSaid(message json.RawMessage) said {
	var s said
	if json.Unmarshal(message, &s) != nil {
		return said{}
	}
	return s
}

// unanswered are the calls of the last answer that nothing was said to; ended
// tells that it wanted none.
func unanswered(conversation []json.RawMessage) (calls [][]byte, ids []string, ended bool) {
	answered := map[string]bool{}
	for _, raw := range slices.Backward(conversation) {
		switch s := readSaid(raw); s.Role {
		case "tool":
			answered[s.CallID] = true
		case "assistant":
			for i, id := range provider.CallIDs(raw) {
				if !answered[id] {
					calls, ids = append(calls, s.ToolCalls[i]), append(ids, id)
				}
			}
			return calls, ids, len(s.ToolCalls) == 0
		default:
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// digestOf is the same for calls of the same tool and arguments; for a call that
// is not admitted, for the same text, its id left out.
func digestOf(raw []byte) string {
	if c, err := call.Admit(raw); err == nil {
		return c.Digest()
	}
	var part struct {
		Function json.RawMessage `json:"function"`
	}
	if json.Unmarshal(raw, &part) == nil && part.Function != nil {
		raw = part.Function
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}
