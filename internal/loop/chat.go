package loop

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/loop/provider"
)

// Causes of an end that only a conversation has.
const (
	CauseModelStopped = "model_stopped"    // an answer without a call
	CauseTurns        = "turn_limit"       // so many answers were allowed
	CauseTime         = "time_limit"       // the time for the run is over
	CauseTokens       = "token_limit"      // so many tokens were allowed
	CauseRepeats      = "repeat_limit"     // one failing call, again and again
	CauseBudget       = "budget_exhausted" // nothing goes through until a person acts
	CauseProvider     = "provider_failed"  // no answer, or none that can be used
)

// ChatLimits bound a conversation; zero sets none.
type ChatLimits struct {
	Turns   int           // answers of the model
	Time    time.Duration // in all
	Tokens  int64         // in all, of requests and answers
	Repeats int           // of one failing call in a row
}

// Chat lets a model work on a task until it stops or a limit is reached, and says
// why it ended. Everything that is said is kept before it is sent, and the answer
// before any of its calls is made; so a run whose process died goes on where it
// was: the calls that have no answer yet are answered first. A conversation that
// had ended ends at once. Turns, time and tokens count from here; the calls of the
// last answer are still made.
func (r *Run) Chat(ctx context.Context, m provider.Model, task *executor.Task, tools json.RawMessage, lim ChatLimits) (cause string, err error) {
	timed, cancel := ctx, context.CancelFunc(func() {})
	if lim.Time > 0 {
		timed, cancel = context.WithTimeoutCause(ctx, lim.Time, errTime)
	}
	defer cancel()
	c := chat{run: r, model: m, tools: tools, limits: lim}
	cause, err = c.begin(timed, task)
	for cause == "" {
		cause, err = c.turn(timed)
	}
	return cause, err
}

var errTime = errors.New("the time for the run is over")

// chat is a conversation under way.
type chat struct {
	run    *Run
	model  provider.Model
	tools  json.RawMessage
	limits ChatLimits

	turns   int
	tokens  int64
	failing string // digest of the call that failed last
	failed  int    // how often in a row
}

// begin opens the conversation, or takes it up where it was.
func (c *chat) begin(ctx context.Context, task *executor.Task) (cause string, err error) {
	said := c.run.Messages.Conversation()
	opening := [][]byte{systemMessage(task), chatMessage("user", goalOf(task))}
	for _, text := range opening[min(len(said), len(opening)):] {
		if err := c.run.Messages.Say(text); err != nil {
			return CauseNotKept, err
		}
	}
	calls, ids, ended := unanswered(said)
	if ended && len(task.Approved) == 0 {
		return CauseModelStopped, nil
	}
	if ended {
		// The model stopped to wait for a person, who has answered since.
		if err := c.run.Messages.Say(chatMessage("user", "A person has approved: "+strings.Join(task.Approved, ", ")+". Make that call again, exactly as it was.")); err != nil {
			return CauseNotKept, err
		}
		return "", nil
	}
	return c.answer(ctx, calls, ids)
}

// turn asks the model once and makes the calls that it wants.
func (c *chat) turn(ctx context.Context) (cause string, err error) {
	switch {
	case ctx.Err() != nil:
		return overBy(ctx), nil
	case c.limits.Turns > 0 && c.turns >= c.limits.Turns:
		return CauseTurns, nil
	case c.limits.Tokens > 0 && c.tokens >= c.limits.Tokens:
		return CauseTokens, nil
	}
	c.turns++
	reply, err := c.model.Next(ctx, c.run.Messages.Conversation(), c.tools)
	switch {
	case err != nil && ctx.Err() != nil:
		return overBy(ctx), nil
	case err != nil:
		return CauseProvider, err
	case len(reply.Calls) != len(reply.CallIDs):
		return CauseProvider, errors.New("ask model: an answer whose calls have no ids")
	}
	if err := c.run.Messages.Say(reply.Message); err != nil {
		return CauseNotKept, err
	}
	if c.tokens += max(reply.Tokens, 0); c.tokens < 0 {
		c.tokens = math.MaxInt64
	}
	if len(reply.Calls) == 0 {
		return ending(reply)
	}
	if c.limits.Tokens > 0 && reply.Tokens <= 0 {
		return CauseProvider, errors.New("ask model: the server does not say how many tokens it took, so no limit on them can be held")
	}
	return c.answer(ctx, reply.Calls, reply.CallIDs)
}

// answer makes calls, one after the other, and tells the model what came of them.
func (c *chat) answer(ctx context.Context, calls [][]byte, ids []string) (cause string, err error) {
	for i, raw := range calls {
		if ctx.Err() != nil {
			return overBy(ctx), nil
		}
		res, _, err := c.run.Call(ctx, raw)
		if err != nil {
			return CauseNotKept, err
		}
		// A call that was not admitted has no id of its own in the result.
		told := *res
		told.CallID = ids[i]
		text, err := told.OpenAI()
		if err != nil {
			return CauseNotKept, err
		}
		if err := c.run.Messages.Say(text); err != nil {
			return CauseNotKept, err
		}
		switch {
		case exhausted(res):
			return CauseBudget, nil
		case c.repeats(raw, res):
			return CauseRepeats, nil
		}
	}
	return "", nil
}

// codeBudget is the policy's word for a run that has been refused too often.
const codeBudget = "denial_budget_exhausted"

// exhausted tells whether nothing goes through until a person acts.
func exhausted(res *executor.ToolResult) bool {
	for _, reason := range res.Reasons {
		if reason.Code == codeBudget {
			return true
		}
	}
	return false
}

// repeats counts a call that fails again, unchanged.
func (c *chat) repeats(raw []byte, res *executor.ToolResult) bool {
	if res.Status == executor.StatusSuccess {
		c.failing, c.failed = "", 0
		return false
	}
	if d := digestOf(raw); d != c.failing {
		c.failing, c.failed = d, 0
	}
	c.failed++
	return c.limits.Repeats > 0 && c.failed >= c.limits.Repeats
}

// ending is the cause of an end that the model chose, or that was chosen for it.
func ending(reply provider.Reply) (string, error) {
	switch reply.Finish {
	case "length":
		return CauseProvider, errors.New("ask model: the answer was cut at the provider's limit before it was complete")
	case "content_filter":
		return CauseProvider, errors.New("ask model: the provider's content filter withheld the answer")
	}
	return CauseModelStopped, nil
}

// overBy tells whose end of time it was.
func overBy(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), errTime) {
		return CauseTime
	}
	return CauseInterrupted
}
