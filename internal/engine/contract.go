package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// badResult is the denial for a decision that does not keep its contract,
// schemas/decision.json. What it held is not repeated.
func badResult(field, problem string) Verdict {
	return trouble("policy_bad_result", field+" "+problem, map[string]any{"field": field, "problem": problem})
}

// verdict reads a decision and checks every part of it. Anything unexpected
// denies: an answer that is half understood is no answer.
func (e *Engine) verdict(result *ast.Term) Verdict {
	decision, ok := result.Value.(ast.Object)
	if !ok {
		return badResult("decision", "is not an object")
	}
	c := contract{codes: e.byCode}
	v := c.read(decision)
	if c.field != "" {
		return badResult(c.field, c.problem)
	}
	return v
}

// contract reads a decision; the first thing wrong stays in field and problem.
type contract struct {
	codes          map[string]*Code
	field, problem string
}

func (c *contract) fail(field, problem string) {
	if c.field == "" {
		c.field, c.problem = field, problem
	}
}

func (c *contract) read(decision ast.Object) Verdict {
	var v Verdict
	c.only(decision, "decision", "verdict", "reasons", "grant")
	known := false
	for _, effect := range []Effect{Deny, Block, Ask, Allow} {
		if text(decision, "verdict") == effect.String() {
			v.Effect, known = effect, true
		}
	}
	if !known {
		c.fail("verdict", "is none of allow, deny, block and ask")
	}
	reasons, _ := get(decision, "reasons").(*ast.Array)
	if reasons == nil || reasons.Len() == 0 {
		c.fail("reasons", "is not a list with at least one reason")
		return v
	}
	v.Reasons = make([]Reason, reasons.Len())
	for i := range v.Reasons {
		c.reason(&v.Reasons[i], reasons.Elem(i).Value, v.Effect, i)
	}
	grant, ok := get(decision, "grant").(ast.Object)
	if !ok {
		c.fail("grant", "is not an object")
		return v
	}
	c.only(grant, "grant", "max_bytes", "timeout_ms")
	v.MaxBytes = c.positive(grant, "max_bytes")
	if v.TimeoutMS = c.positive(grant, "timeout_ms"); v.TimeoutMS > longest {
		c.fail("grant.timeout_ms", "is more than 24 hours")
	}
	if v.Effect != Allow && grant.Len() > 0 {
		c.fail("grant", "must be empty unless the verdict is allow")
	}
	return v
}

func (c *contract) reason(r *Reason, value ast.Value, effect Effect, i int) {
	obj, ok := value.(ast.Object)
	if !ok {
		c.fail(at(i, ""), "is not an object")
		return
	}
	c.only(obj, at(i, ""), "code", "message", "param", "detail", "ledger_only", "location")
	r.Code = c.text(obj, i, "code")
	r.Message = c.text(obj, i, "message")
	r.Param = c.text(obj, i, "param")
	if r.Message == "" {
		c.fail(at(i, "message"), "is empty")
	}
	detail, ok := get(obj, "detail").(ast.Object)
	if !ok {
		c.fail(at(i, "detail"), "is not an object")
	} else if detail.Len() > 0 {
		r.Detail, _ = native(detail).(map[string]any)
	}
	if v := get(obj, "ledger_only"); v != nil {
		b, _ := v.(ast.Boolean)
		if !b {
			c.fail(at(i, "ledger_only"), "is not true")
		}
		r.LedgerOnly = true
	}
	if v := get(obj, "location"); v != nil {
		c.location(r, v, i)
	}
	code := c.codes[r.Code]
	if code == nil || code.File == "" {
		c.fail(at(i, "code"), "is not a code of the policy's catalogue")
		return
	}
	r.Gate, r.Remedy, r.Retryable = code.Gate, code.Remedy, code.Retryable
	if r.File == "" {
		r.File, r.Line = code.ruleFile, code.ruleLine
	}
	if fits := c.fits(code, effect, i); fits != "" {
		c.fail(at(i, "code"), fits)
	}
}

func (c *contract) location(r *Reason, v ast.Value, i int) {
	place, ok := v.(ast.Object)
	if !ok {
		c.fail(at(i, "location"), "is not an object")
		return
	}
	c.only(place, at(i, "location"), "file", "row")
	file, isText := get(place, "file").(ast.String)
	row, isNumber := get(place, "row").(ast.Number)
	line, whole := row.Int()
	if !isText || !isNumber || !whole || line < 1 {
		c.fail(at(i, "location"), "names no line of a file")
		return
	}
	r.File, r.Line = string(file), line
}

// fits checks a code against the verdict: an allow carries allowed and nothing
// else, and what carries any other verdict is a rule of that kind.
func (c *contract) fits(code *Code, effect Effect, i int) string {
	allows := code.Code == "allowed"
	switch {
	case effect == Allow && !allows:
		return "objects, yet the verdict is allow"
	case effect != Allow && allows:
		return "allows, yet the verdict is " + effect.String()
	case i == 0 && len(code.Effects) > 0 && !slices.Contains(code.Effects, effect.String()):
		return "is not one that gives this verdict"
	case i == 0 && len(code.Effects) == 0 && !allows && effect != Deny:
		return "can only deny"
	}
	return ""
}

// only refuses keys other than those named.
func (c *contract) only(obj ast.Object, field string, keys ...string) {
	obj.Foreach(func(k, _ *ast.Term) {
		name, ok := k.Value.(ast.String)
		if !ok || !slices.Contains(keys, string(name)) {
			c.fail(field, "has an unknown key")
		}
	})
}

func (c *contract) text(obj ast.Object, i int, key string) string {
	s, ok := get(obj, key).(ast.String)
	if !ok {
		c.fail(at(i, key), "is not a string")
	}
	return string(s)
}

func (c *contract) positive(obj ast.Object, key string) int64 {
	v := get(obj, key)
	if v == nil {
		return 0
	}
	if n, ok := v.(ast.Number); ok {
		if i, ok := n.Int64(); ok && i > 0 {
			return i
		}
	}
	c.fail("grant."+key, "is not a whole number above zero")
	return 0
}

func at(i int, key string) string {
	if key == "" {
		return fmt.Sprintf("reasons[%d]", i)
	}
	return fmt.Sprintf("reasons[%d].%s", i, key)
}

func get(obj ast.Object, key string) ast.Value {
	if t := obj.Get(ast.InternedTerm(key)); t != nil {
		return t.Value
	}
	return nil
}

func text(obj ast.Object, key string) string {
	s, _ := get(obj, key).(ast.String)
	return string(s)
}

// native converts a detail to plain values; numbers keep their spelling and
// sets become sorted lists.
func native(v ast.Value) any {
	switch v := v.(type) {
	case ast.String:
		return string(v)
	case ast.Boolean:
		return bool(v)
	case ast.Number:
		return json.Number(v)
	case *ast.Array:
		list := make([]any, 0, v.Len())
		v.Foreach(func(t *ast.Term) { list = append(list, native(t.Value)) })
		return list
	case ast.Set:
		list := make([]any, 0, v.Len())
		for _, t := range v.Slice() {
			list = append(list, native(t.Value))
		}
		return list
	case ast.Object:
		m := make(map[string]any, v.Len())
		v.Foreach(func(k, t *ast.Term) {
			if s, ok := k.Value.(ast.String); ok {
				m[string(s)] = native(t.Value)
				return
			}
			m[k.String()] = native(t.Value)
		})
		return m
	default:
		return nil
	}
}
