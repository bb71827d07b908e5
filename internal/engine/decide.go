package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/metrics"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/runlens/runlens/internal/facts"
)

// answer is the variable that the prepared query binds to the decision.
const answer = ast.Var("answer")

// prepare compiles the query once. All decisions share one read transaction:
// nothing ever writes to the store.
func (e *Engine) prepare() error {
	e.queries = e.compiler.QueryCompiler()
	query, err := e.queries.Compile(ast.NewBody(ast.Equality.Expr(
		ast.NewTerm(answer),
		ast.NewTerm(ast.Ref{ast.DefaultRootDocument, ast.StringTerm(folder), ast.StringTerm("decision")}),
	)))
	if err != nil {
		return fmt.Errorf("load policies: %w", err)
	}
	e.query = query
	e.txn, err = e.store.NewTransaction(context.Background(), storage.TransactionParams{})
	if err != nil {
		return fmt.Errorf("load policies: %w", err)
	}
	return nil
}

// Decide judges one input. It always answers: trouble with policy is a denial
// whose code says which. A cancelled ctx counts as policy_timeout.
func (e *Engine) Decide(ctx context.Context, in *facts.Input) (v Verdict) {
	defer func() {
		if r := recover(); r != nil {
			if e.log != nil {
				e.log(fmt.Sprintf("panic in policy evaluation: %v\n%s", r, debug.Stack()))
			}
			v = trouble("policy_error", "policy evaluation panicked", nil)
		}
	}()
	input, err := e.encoder.encode(in)
	switch {
	case errors.Is(err, errInputTooLarge):
		return trouble("input_too_large", "", map[string]any{"limit": maxInputText})
	case err != nil:
		return trouble("policy_error", "input cannot be judged: "+err.Error(), nil)
	}
	result, err := e.evaluate(ctx, input)
	if err != nil {
		v := evaluationTrouble(err)
		if errors.Is(ctx.Err(), context.Canceled) && v.Reasons[0].Code == "policy_timeout" {
			v.Reasons[0].Message = "the caller gave up before policy had decided"
		}
		return v
	}
	return e.verdict(result)
}

var (
	errUndefined = errors.New("no result")
	errMany      = errors.New("more than one result")
)

// evaluate asks for the decision on input.
func (e *Engine) evaluate(ctx context.Context, input *ast.Term) (*ast.Term, error) {
	cancel := topdown.NewCancel()
	timer := time.AfterFunc(e.settings.Timeout, cancel.Cancel)
	defer timer.Stop()
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, cancel.Cancel)()
	}
	var result *ast.Term
	results := 0
	err := topdown.NewQuery(e.query).
		WithQueryCompiler(e.queries).
		WithCompiler(e.compiler).
		WithStore(e.store).
		WithTransaction(e.txn).
		WithBaseCache(baseDocuments{e.data}).
		WithInput(input).
		WithCancel(cancel).
		WithMetrics(metrics.NoOp()).
		WithStrictBuiltinErrors(true).
		WithIndexing(!e.plain).
		WithEarlyExit(!e.plain).
		Iter(ctx, func(r topdown.QueryResult) error {
			result = r[answer]
			results++
			return nil
		})
	switch {
	case err != nil:
		return nil, err
	case results == 0 || result == nil:
		return nil, errUndefined
	case results > 1:
		return nil, errMany
	}
	return result, nil
}

// baseDocuments answers OPA's reads of data straight from the data. OPA means a
// cache that fills as one evaluation goes on; data that never changes needs none.
type baseDocuments struct {
	data ast.Object
}

// Get returns the document at ref, nil when there is none.
func (b baseDocuments) Get(ref ast.Ref) ast.Value {
	v, err := b.data.Find(ref[1:])
	if err != nil {
		return nil
	}
	return v
}

// Put is never needed: what could be put is there.
func (baseDocuments) Put(ast.Ref, ast.Value) {}

// evaluationTrouble gives each way in which an evaluation ends without a result
// its own code. OPA's messages name rules and built-ins; those that quote values
// are left out.
func evaluationTrouble(err error) Verdict {
	if errors.Is(err, errUndefined) {
		return trouble("policy_undefined", "", nil)
	}
	if errors.Is(err, errMany) {
		return badResult("data.runlens.decision", "has more than one value")
	}
	detail := map[string]any{}
	code := "policy_error"
	if te, ok := errors.AsType[*topdown.Error](err); ok {
		detail["error"] = te.Code
		if te.Location != nil && te.Location.File != "" {
			detail["file"], detail["line"] = te.Location.File, te.Location.Row
		}
		switch te.Code {
		case topdown.CancelErr:
			code = "policy_timeout"
		case topdown.ConflictErr, topdown.WithMergeErr:
			code = "policy_conflict"
		}
	}
	return trouble(code, "", detail)
}

// trouble is the denial for a decision that could not be had.
func trouble(code, message string, detail map[string]any) Verdict {
	if len(detail) == 0 {
		detail = nil
	}
	r := GoReason(code, message, "", detail)
	if file, ok := detail["file"].(string); ok {
		r.File = file
		r.Line, _ = detail["line"].(int)
	}
	return Verdict{Effect: Deny, Reasons: []Reason{r}}
}
