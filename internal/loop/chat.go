package loop

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/runlens/runlens/internal/executor"
)

// Causes of an end that only a conversation has.
const (
	CauseModelStopped = "model_stopped"    // an answer without a call
	CauseTurns        = "turn_limit"       //
	CauseTime         = "time_limit"       //
	CauseTokens       = "token_limit"      //
	CauseRepeats      = "repeat_limit"     // one failing call, again and again
	CauseBudget       = "budget_exhausted" // nothing goes through until a person acts
	CauseProvider     = "provider_failed"  // no answer, or none that can be used
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

// ChatLimits bound a conversation; zero sets none.
type ChatLimits struct {
	Turns   int           // answers of the model
	Time    time.Duration // in all
	Tokens  int64         // in all, of requests and answers
	Repeats int           // of one failing call in a row
}

// Chat lets a model work on a task until it stops or a limit is reached.
func (r *Run) Chat(ctx context.Context, m Model, task *executor.Task, tools json.RawMessage, lim ChatLimits) (cause string, err error) {
	return "", errors.New("ask model: not there yet")
}
