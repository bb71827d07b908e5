// Package executor is RunLens' pipeline: a tool call comes in as bytes and
// leaves as a ToolResult, and every step between is in the run's ledger.
//
//	bytes → admit → registry → input schema → resolve → decide → record →
//	handler → output schema → record → ToolResult
//
// It promises that a handler runs only after an allow, and after the proposal,
// the verdict and the start of the handler are durable; that the handler gets a
// grant made from the verdict and never the call; and that whatever goes wrong
// is a result that is not a success, with a code. It never judges: facts are
// found here, judgements are made in Rego.
//
// Read Exec first: it is the whole pipeline in order. Then proposal, which is
// what travels through it, and State, which is a run as a fold over its ledger.
package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/runlens/runlens/internal/call"
	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

// Exec takes one call through the whole pipeline in the run named runID; ""
// opens a new run, named in the result. It never returns nil, and no error: a
// broken world is a result with the code of the stage that noticed it. It is
// safe for concurrent use; calls of one process share the ledger's syncs.
func (x *Executor) Exec(ctx context.Context, raw []byte, runID string) *ToolResult {
	return x.exec(ctx, raw, runID, nil)
}

func (x *Executor) exec(ctx context.Context, raw []byte, runID string, told *telling) (result *ToolResult) {
	r, err := x.enter(runID, true)
	if err != nil {
		return brokenLedger(runID, err)
	}
	p := x.newProposal(ctx, r, raw)
	p.told = told
	defer p.close()
	defer p.recoverPanic(&result)

	p.admit()
	p.lookUp()
	p.checkInput()
	p.resolve()
	p.decide(ctx)

	// From here on the proposal, the verdict and, on an allow, the start are
	// durable. A crash before leaves nothing and has done nothing; a crash
	// after leaves a start without an end, which the next opening of the run
	// records as tool_unknown.
	if err := p.recordVerdict(ctx); err != nil {
		return p.failRecord(err)
	}
	if p.out.Verdict.Effect != engine.Allow {
		return p.refusal()
	}

	p.runHandler(ctx)
	p.checkOutput()

	// From here on the result is durable and may be told.
	if err := p.recordResult(); err != nil {
		return p.failRecord(err)
	}
	return p.result()
}

// Tell is given a result before its end is recorded: whoever must answer for what
// the model was told keeps it then. started is the seq of tool_started, 0 for a
// call that was refused; r.Seq is not known yet for one that ran. An error is
// logged; what happened is recorded all the same.
type Tell func(started int64, r *ToolResult) error

// ExecTold is Exec for a caller that talks to a model: the result has its
// Observation, of at most limit bytes (0: the policy's), and tell, if not nil,
// sees it before it is durable.
func (x *Executor) ExecTold(ctx context.Context, raw []byte, runID string, limit int, tell Tell) *ToolResult {
	if limit <= 0 {
		limit = int(x.settings.ObservationBytes)
	}
	told := &telling{limit: limit, tell: tell}
	result := x.exec(ctx, raw, runID, told)
	told.observe(result)
	if result.Seq > 0 && !told.done {
		x.tell(told, 0, result)
	}
	return result
}

// Check takes a call as far as the decision and records nothing. With a run it
// judges against that run's recorded state; with "" in a fresh virtual run
// named "check" of which nothing exists on disk. The error is a run that can't
// be read.
func (x *Executor) Check(ctx context.Context, raw []byte, runID string) (out *Outcome, err error) {
	r, err := x.view(runID)
	if err != nil {
		return nil, err
	}
	p := x.newProposal(ctx, r, raw)
	defer p.close()
	defer p.recoverOutcome(&out)

	p.admit()
	p.lookUp()
	p.checkInput()
	p.resolve()
	p.decide(ctx)
	return p.out, nil
}

// admit turns the bytes into a call.
func (p *proposal) admit() {
	c, err := call.Admit(p.raw)
	if err != nil {
		p.fail(codeMalformed, err.Error())
		p.known = p.x.withhold.known(err)
		return
	}
	if where := p.x.withhold.inNames(c); where != "" {
		// Names go into every event; one that holds a secret is not admitted.
		p.fail(codeMalformed, where+": looks like a secret: choose another")
		return
	}
	p.call, p.out.Call, p.out.Tool, p.out.CallID = c, c, c.Name, c.ID
	if p.told != nil {
		p.again = p.run.takeAgain(callKey(c.ID, c.Digest()))
	}
}

// lookUp finds the tool. One that is not declared goes on to policy as it is.
func (p *proposal) lookUp() {
	if p.stopped() {
		return
	}
	p.tool = p.x.tool(p.judged.skill.Name, p.call.Name)
	switch {
	case p.tool == nil:
	case p.tool.Program != "":
		p.handler = &p.x.program
	default:
		p.handler = p.x.handlers[p.tool.Handler]
	}
}

// checkInput holds the arguments against the tool's schema and renders what
// the tool would write, so that the bytes that are judged are the bytes that
// are written.
func (p *proposal) checkInput() {
	if p.stopped() || p.tool == nil {
		return
	}
	if code, message := issues(p.tool.CheckInput(p.call)); code != "" {
		p.fail(code, message)
		return
	}
	if p.handler != nil && p.handler.Check != nil {
		if err := p.handler.Check(p.call.Arguments); err != nil {
			p.fail(codeInvalid, strings.ReplaceAll("arguments."+err.Error(), "\n", "; arguments."))
			return
		}
	}
	if err := p.render(); err != nil {
		p.fail(codeInvalid, err.Error())
	}
}

// resolve opens what the call points at and reads the facts from the handles.
func (p *proposal) resolve() {
	if p.stopped() {
		return
	}
	p.describeCall()
	p.describeTool()
	if p.tool != nil {
		p.openTargets()
		p.openCommand()
	}
	p.out.Input = &p.input
}

// decide asks policy, with the run as it stands now.
func (p *proposal) decide(ctx context.Context) {
	if p.stopped() {
		return
	}
	p.decideAs(ctx, p.judged)
}

// recordVerdict makes the proposal, the verdict and the start durable. Under
// the run's lock it sees what others recorded since; when that changes what
// policy is shown, the call is judged again before anything is written.
func (p *proposal) recordVerdict(ctx context.Context) error {
	p.out.encode() // outside the lock; done again there only when the call is judged again
	return p.run.log.Commit(ctx, func(tx *ledger.Tx) error {
		p.checkCallID()
		p.decideAgainLocked(ctx)
		if err := p.begin(tx); err != nil {
			return err
		}
		if _, err := p.addProposal(tx); err != nil {
			return err
		}
		p.checkApproval()
		p.standing = standing(&p.run.state.Plan, nil)
		return p.addVerdict(tx)
	})
}

// runHandler lets the tool work on the grant, under its own deadline.
func (p *proposal) runHandler(ctx context.Context) {
	begin := p.x.cfg.Now()
	p.done, p.err = handlers.Run(ctx, *p.handler, p.grant())
	p.took = p.x.cfg.Now().Sub(begin)
}

// checkOutput holds what the handler returned against the output schema.
func (p *proposal) checkOutput() {
	if p.err != nil {
		return
	}
	if err := p.fits(p.done.Output); err != nil {
		err.Written = p.done.Written
		p.done, p.err = handlers.Result{}, err
	}
}

// fits says what of an output doesn't fit the output schema; nil when all does.
func (p *proposal) fits(output map[string]any) *handlers.Error {
	if _, message := issues(p.tool.CheckOutput(output)); message != "" {
		return &handlers.Error{Code: codeOutput, Message: fmt.Sprintf("tool %q: %s", p.tool.Name, message)}
	}
	return nil
}

// recordResult makes the end of the handler durable. It does not heed the
// caller's context: what happened is recorded, whoever still listens. Until
// then other processes see the start as running; when the end cannot be
// recorded the claim is given up, so that the next opening of the run says
// tool_unknown.
func (p *proposal) recordResult() error {
	ctx, cancel := context.WithTimeout(context.Background(), resultWait)
	defer cancel()
	err := p.run.log.Commit(ctx, func(tx *ledger.Tx) (err error) {
		step := p.advance()
		typ, payload := p.resultEvent()
		if p.seq, err = tx.Add(typ, payload); err != nil {
			return err
		}
		if step != nil {
			step.Result = p.seq
			if _, err := tx.Add(ledger.PlanStepCompleted, step); err != nil {
				return err
			}
		}
		p.keep()
		return nil
	})
	if err != nil {
		p.run.log.Started(p.started)()
	}
	return err
}

// resultWait bounds how long a finished handler waits for the ledger.
const resultWait = 30 * time.Second

// failRecord answers a call that the ledger could not take.
func (p *proposal) failRecord(err error) *ToolResult {
	result := brokenLedger(p.run.id, err)
	result.CallID, result.ToolName, result.Outcome = p.out.CallID, p.out.Tool, p.out
	return result
}

func brokenLedger(runID string, err error) *ToolResult {
	code := codeLedgerFailed
	if errors.Is(err, ledger.ErrBusy) {
		code = codeLedgerBusy
	}
	r := engine.GoReason(code, fmt.Sprintf("the run's ledger took no event: %v", err), "", nil)
	return &ToolResult{
		Status: StatusFailed, ErrorCode: code, ErrorMessage: r.Message, Retryable: r.Retryable,
		Reason: code, Reasons: []engine.Reason{r}, RunID: runID,
	}
}

// decideAs judges the call as the given state of the run makes it.
func (p *proposal) decideAs(ctx context.Context, j judgedBy) {
	p.judged = j
	p.input.Run, p.input.Skill, p.input.Plan, p.input.Contract = j.run, j.skill, j.plan, j.contract
	p.input.Approvals = p.approvals(j)
	p.input.Call.Interrupted = j.lost[p.input.Call.Digest] > 0
	p.input.Now = p.x.cfg.Now().UTC().Format(timeFormat)
	p.input.V = facts.Version
	p.out.line, p.out.digest = nil, ""
	// A caller who goes away makes no verdict: policy has its own deadline.
	p.out.Verdict = p.x.cfg.Engine.Decide(context.WithoutCancel(ctx), &p.input)
	p.describeOutcome()
}

// timeFormat is RFC 3339 in UTC with microseconds.
const timeFormat = "2006-01-02T15:04:05.000000Z07:00"
