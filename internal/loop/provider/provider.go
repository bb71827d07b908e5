// Package provider is the seam between a run and the model that works in it: what
// a model is asked and what it answers, and the lines by which a model in a
// program of its own is asked.
//
// It promises that messages and calls cross from one process to the other as they
// were spelt, that a program which breaks the protocol is an error and never an
// answer, and that no program outlives its Child. It never looks into what is
// said, and knows neither a vendor nor a key.
//
// The program is a child process. It gets one JSON object a line on stdin, and
// says one a line on stdout:
//
//	out  {"ready":true,"protocol":1}, or {"error":"…","hint":"…"} and its end
//	in   {"seq":1,"messages":[…],"tools":[…]}
//	out  {"seq":1,"message":{…},"calls":["base64",…],"call_ids":[…],"text":"…","tokens":9,"finish":"stop"},
//	     or {"seq":1,"error":"…"}
//
// and so on with the next seq, one question at a time. It ends when its stdin does.
// What it writes to stderr is for a person.
//
// Read Model first, then Child, then Serve.
package provider

import (
	"context"
	"encoding/json"
)

// Model answers a conversation.
type Model interface {
	// Next sends a conversation, OpenAI chat messages, and the tools that may be
	// called, an OpenAI tools array or nothing, and returns the answer. Its errors
	// may be shown: they hold no key and nothing that a terminal would act on.
	Next(ctx context.Context, messages []json.RawMessage, tools json.RawMessage) (Reply, error)
}

// Reply is one answer of a model.
type Reply struct {
	Message json.RawMessage // the assistant message, as it is kept and sent again
	Calls   [][]byte        // its tool_calls as the model spelt them; each goes to call.Admit
	CallIDs []string        // their ids: none is empty, none was there before
	Text    string          // what it says, a refusal too
	Finish  string          // why the model stopped, in the provider's words
	Tokens  int64           // that the request and the answer took; 0: not told
}

// CallIDs are the ids of the tool calls in a chat message, in order.
func CallIDs(message json.RawMessage) []string {
	var said struct {
		Role      string            `json:"role"`
		ToolCalls []json.RawMessage `json:"tool_calls"`
	}
	if json.Unmarshal(message, &said) != nil || said.Role != "assistant" {
		return nil
	}
	ids := make([]string, len(said.ToolCalls))
	for i, raw := range said.ToolCalls {
		var c struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(raw, &c) == nil {
			ids[i] = c.ID
		}
	}
	return ids
}
