package engine

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/runlens/runlens/internal/facts"
)

// TestContractIsTheSchema holds that whatever the engine accepts is a decision
// by schemas/decision.json, over decisions that are spoilt at random.
func TestContractIsTheSchema(t *testing.T) {
	schema, err := jsonschema.Compile("../../schemas/decision.json")
	if err != nil {
		t.Fatal(err)
	}
	e := shipped(t)
	refused := readCall()
	refused.Targets[0].Path = "/etc/passwd"
	refused.Targets[0].Nlink = 2
	var valid []any
	for _, in := range []*facts.Input{readCall(), refused, {}} {
		input, err := e.encoder.encode(in)
		if err != nil {
			t.Fatal(err)
		}
		result, err := e.evaluate(t.Context(), input)
		if err != nil {
			t.Fatal(err)
		}
		decision := native(result.Value)
		if err := schema.Validate(decision); err != nil {
			t.Errorf("the shipped policy answers\n%v\n%v", decision, err)
		}
		valid = append(valid, decision)
	}
	random := rand.New(rand.NewPCG(5, 6))
	accepted, denied := 0, 0
	for range 5000 {
		raw, err := json.Marshal(valid[random.IntN(len(valid))])
		if err != nil {
			t.Fatal(err)
		}
		term, err := ast.ParseTerm(string(raw))
		if err != nil {
			t.Fatal(err)
		}
		spoilt := spoil(random, native(term.Value))
		value, err := ast.InterfaceToValue(spoilt)
		if err != nil {
			t.Fatal(err)
		}
		v := e.verdict(ast.NewTerm(value))
		if v.Reasons[0].Code == "policy_bad_result" {
			denied++
			continue
		}
		accepted++
		if err := schema.Validate(spoilt); err != nil {
			t.Fatalf("accepted, yet no decision: %v\n%v", spoilt, err)
		}
	}
	if accepted == 0 || denied == 0 {
		t.Errorf("%d accepted, %d denied: this shows nothing", accepted, denied)
	}
}

// spoil changes one place somewhere below v.
func spoil(r *rand.Rand, v any) any {
	if r.IntN(4) > 0 {
		switch v := v.(type) {
		case map[string]any:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			switch n := r.IntN(6); {
			case n == 0:
				v["added"] = json.Number("1")
			case n == 1 && len(keys) > 0:
				delete(v, keys[r.IntN(len(keys))])
			case len(keys) > 0:
				k := keys[r.IntN(len(keys))]
				v[k] = spoil(r, v[k])
			}
			return v
		case []any:
			if len(v) > 0 && r.IntN(5) > 0 {
				i := r.IntN(len(v))
				v[i] = spoil(r, v[i])
				return v
			}
			return v[:r.IntN(len(v)+1)]
		}
	}
	return []any{
		nil, true, false, "", "allow", "deny", "ask", "allowed", "unknown_tool", json.Number("0"), json.Number("1"), json.Number("1.5"),
		[]any{},
		map[string]any{},
		map[string]any{"max_bytes": json.Number("5")},
		map[string]any{"file": "x", "row": json.Number("3")},
	}[r.IntN(16)]
}
