package engine

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/facts"
)

// shipped loads the tree that RunLens ships.
func shipped(t testing.TB) *Engine {
	t.Helper()
	e, err := Load(Source{FS: os.DirFS("../../policies"), Schemas: os.DirFS("../../schemas")})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// readCall is the input of an ordinary read: a declared tool, one clear target.
func readCall() *facts.Input {
	return &facts.Input{
		V: facts.Version,
		Call: facts.Call{
			ID: "c1", Tool: "read_file", Digest: "sha256:" + strings.Repeat("ab", 32),
			Arguments: map[string]any{"path": "workspace/src/app.py", "line": json.Number("12"), "follow": true},
		},
		Tool: &facts.Tool{
			Declared: true, Name: "read_file", Operation: facts.Read, Handler: "read_file", MaxBytes: 65536, TimeoutMS: 10000,
			Roots: []facts.Root{
				{Declared: "workspace/src", Path: "/p/workspace/src", Prefix: "/p/workspace/src/", Exists: true, Access: []string{"read", "list"}, MountID: 30, Device: 2049},
				{Declared: "workspace/tests", Path: "/p/workspace/tests", Prefix: "/p/workspace/tests/", Exists: true, Access: []string{"read", "list"}, MountID: 30, Device: 2049},
			},
		},
		Targets: []facts.Target{{
			Param: "path", Access: facts.Read, Raw: "workspace/src/app.py", Requested: "workspace/src/app.py",
			Resolution: facts.OK, Path: "/p/workspace/src/app.py", Segments: []string{"workspace", "src", "app.py"}, InProject: true,
			Folded: []string{"app.py", "src", "workspace"}, Kind: facts.File, Size: 1200, Allocated: 4096, Nlink: 1,
			Device: 2049, MountID: 30, Resolver: "openat2", Handle: true,
		}},
		Sandbox:  facts.Sandbox{Level: "none"},
		Run:      facts.Run{ID: "demo-001", Door: "cli", Limits: facts.RunLimits{InRow: -1, Total: -1, Malformed: -1}},
		Plan:     facts.Plan{Status: "none"},
		Contract: facts.Contract{Present: true, Matches: true},
		Now:      "2026-01-02T03:04:05.000006Z",
	}
}

func TestDecide(t *testing.T) {
	e := loadWith(t, nil)
	v := e.Decide(t.Context(), readCall())
	if v.Effect != Allow || v.Reasons[0].Code != "allowed" || v.MaxBytes != 5000000 {
		t.Errorf("read: %+v", v)
	}
	if r := shipped(t).Decide(t.Context(), readCall()).Reasons[0]; r.Code != "allowed" || r.File != "policies/runlens/decision.rego" || r.Line == 0 {
		t.Errorf("the shipped policy on a read: %+v", r)
	}
	in := readCall()
	in.Tool = nil
	in.Call.Tool = "nope"
	in.Targets[0].Folded = []string{".env"}
	v = e.Decide(t.Context(), in)
	slices.SortFunc(v.Reasons, func(a, b Reason) int { return strings.Compare(a.Code, b.Code) })
	if v.Effect != Deny || len(v.Reasons) != 2 {
		t.Fatalf("undeclared tool and refused name: %+v", v)
	}
	first, second := v.Reasons[0], v.Reasons[1]
	if first.Code != "forbidden_path" || first.File != "policies/runlens/rules/names/names.rego" || first.Line != 9 ||
		first.Gate != "paths" || !first.Retryable || first.Remedy != "leave it" {
		t.Errorf("first reason: %+v", first)
	}
	if second.Code != "unknown_tool" || second.Line != 9 || second.Detail["tool"] != "nope" || second.Message != "the tool is not declared" {
		t.Errorf("second reason: %+v", second)
	}
	if v := e.Decide(t.Context(), &facts.Input{}); v.Effect != Deny {
		t.Errorf("the zero input: %+v", v)
	}
	if (Verdict{}).Effect != Deny {
		t.Error("the zero verdict does not deny")
	}
}

// TestPolicyTrouble holds that every way in which a decision can go wrong is a
// denial with its own code.
func TestPolicyTrouble(t *testing.T) {
	decision := func(body string) map[string]string {
		return edit(t, "runlens/decision.rego", "decision := {\"verdict\": \"deny\", \"reasons\": _reasons, \"grant\": {}} if {\n\tcount(_reasons) > 0\n} else", body)
	}
	reason := `{"code": "unknown_tool", "message": "m", "param": "", "detail": {}}`
	result := func(value string) map[string]string {
		return decision("decision := " + value + " if {\n\tinput.call.tool == \"read_file\"\n} else")
	}
	tests := []struct {
		name, code, detail string
		changes            map[string]string
	}{
		{"undefined", "policy_undefined", "", map[string]string{"runlens/decision.rego": strings.NewReplacer(
			"} else := {\"verdict\": \"deny\", \"reasons\": [_incomplete], \"grant\": {}}", "} else := {\"verdict\": \"deny\", \"reasons\": [_incomplete], \"grant\": {}} if input.run.read_only",
			"\tinput.tool.declared\n", "\tnot input.tool.declared\n").Replace(small()["runlens/decision.rego"])}},
		{"built-in error", "policy_error", "", edit(t, "runlens/rules/registry/registry.rego", "not input.tool.declared", "1 % (input.targets[0].nlink - 1) == 1")},
		{"division by zero", "policy_error", "", edit(t, "runlens/rules/registry/registry.rego", "not input.tool.declared", "1 / input.run.denials.total == 1")},
		{"bad pattern at run time", "policy_error", "", edit(t, "runlens/rules/registry/registry.rego", "not input.tool.declared", `regex.match(concat("", ["(", input.tool.name]), input.tool.name)`)},
		{"conflict", "policy_conflict", "", edit(t, "runlens/rules/registry/registry.rego", "\tnot input.tool.declared\n}", "\t_x\n}\n\n_x := true if input.tool.declared\n\n_x := false if input.tool.name == \"read_file\"")},
		{"too slow", "policy_timeout", "", map[string]string{
			"runlens/rules/registry/registry.rego": strings.Replace(small()["runlens/rules/registry/registry.rego"], "\tnot input.tool.declared\n",
				"\tsome a in numbers.range(1, 3000)\n\tsome b in numbers.range(1, 3000)\n\ta * b == input.v + 17000000\n", 1),
			"runlens/data.json": strings.Replace(small()["runlens/data.json"], `"policy_timeout_ms": 2000`, `"policy_timeout_ms": 20`, 1),
		}},
		{"not an object", "policy_bad_result", "decision", result(`"allow"`)},
		{"boolean", "policy_bad_result", "decision", result(`true`)},
		{"no verdict", "policy_bad_result", "verdict", result(`{"reasons": [` + reason + `], "grant": {}}`)},
		{"unknown verdict", "policy_bad_result", "verdict", result(`{"verdict": "Allow", "reasons": [` + reason + `], "grant": {}}`)},
		{"verdict of another type", "policy_bad_result", "verdict", result(`{"verdict": ["allow"], "reasons": [` + reason + `], "grant": {}}`)},
		{"no reasons", "policy_bad_result", "reasons", result(`{"verdict": "deny", "grant": {}}`)},
		{"empty reasons", "policy_bad_result", "reasons", result(`{"verdict": "allow", "reasons": [], "grant": {}}`)},
		{"reasons as a set", "policy_bad_result", "reasons", result(`{"verdict": "deny", "reasons": {` + reason + `}, "grant": {}}`)},
		{"reason is a string", "policy_bad_result", "reasons[0]", result(`{"verdict": "deny", "reasons": ["unknown_tool"], "grant": {}}`)},
		{"unknown code", "policy_bad_result", "reasons[0].code", result(`{"verdict": "deny", "reasons": [` + strings.Replace(reason, "unknown_tool", "unknwon_tool", 1) + `], "grant": {}}`)},
		{"code of Go", "policy_bad_result", "reasons[0].code", result(`{"verdict": "deny", "reasons": [` + strings.Replace(reason, "unknown_tool", "ledger_failed", 1) + `], "grant": {}}`)},
		{"allow with an objection", "policy_bad_result", "reasons[0].code", result(`{"verdict": "allow", "reasons": [` + reason + `], "grant": {}}`)},
		{"allow beside an objection", "policy_bad_result", "reasons[1].code", result(`{"verdict": "allow", "reasons": [` + strings.Replace(reason, "unknown_tool", "allowed", 1) + `, ` + reason + `], "grant": {}}`)},
		{"deny with allowed", "policy_bad_result", "reasons[0].code", result(`{"verdict": "deny", "reasons": [` + strings.Replace(reason, "unknown_tool", "allowed", 1) + `], "grant": {}}`)},
		{"ask with a code that denies", "policy_bad_result", "reasons[0].code", result(`{"verdict": "ask", "reasons": [` + reason + `], "grant": {}}`)},
		{"block with a code that is no rule's", "policy_bad_result", "reasons[0].code", result(`{"verdict": "block", "reasons": [` + strings.Replace(reason, "unknown_tool", "incomplete", 1) + `], "grant": {}}`)},
		{"message missing", "policy_bad_result", "reasons[0].message", result(`{"verdict": "deny", "reasons": [{"code": "unknown_tool", "param": "", "detail": {}}], "grant": {}}`)},
		{"detail of another type", "policy_bad_result", "reasons[0].detail", result(`{"verdict": "deny", "reasons": [` + strings.Replace(reason, "{}}", "1}", 1) + `], "grant": {}}`)},
		{"unknown key of a reason", "policy_bad_result", "reasons[0]", result(`{"verdict": "deny", "reasons": [` + strings.Replace(reason, "\"param\"", "\"parm\": \"\", \"param\"", 1) + `], "grant": {}}`)},
		{"unknown key", "policy_bad_result", "decision", result(`{"verdict": "deny", "reasons": [` + reason + `], "grant": {}, "allow": true}`)},
		{"grant widens", "policy_bad_result", "grant", result(`{"verdict": "allow", "reasons": [` + strings.Replace(reason, "unknown_tool", "allowed", 1) + `], "grant": {"roots": ["/"]}}`)},
		{"grant of zero", "policy_bad_result", "grant.max_bytes", result(`{"verdict": "allow", "reasons": [` + strings.Replace(reason, "unknown_tool", "allowed", 1) + `], "grant": {"max_bytes": 0}}`)},
		{"grant below zero", "policy_bad_result", "grant.max_bytes", result(`{"verdict": "allow", "reasons": [` + strings.Replace(reason, "unknown_tool", "allowed", 1) + `], "grant": {"max_bytes": -1}}`)},
		{"grant in fractions", "policy_bad_result", "grant.timeout_ms", result(`{"verdict": "allow", "reasons": [` + strings.Replace(reason, "unknown_tool", "allowed", 1) + `], "grant": {"timeout_ms": 1.5}}`)},
		{"grant beyond a day", "policy_bad_result", "grant.timeout_ms", result(`{"verdict": "allow", "reasons": [` + strings.Replace(reason, "unknown_tool", "allowed", 1) + `], "grant": {"timeout_ms": 18446744073710}}`)},
		{"grant as text", "policy_bad_result", "grant.max_bytes", result(`{"verdict": "allow", "reasons": [` + strings.Replace(reason, "unknown_tool", "allowed", 1) + `], "grant": {"max_bytes": "10"}}`)},
		{"no grant", "policy_bad_result", "grant", result(`{"verdict": "deny", "reasons": [` + reason + `]}`)},
		{"denial with a grant", "policy_bad_result", "grant", result(`{"verdict": "deny", "reasons": [` + reason + `], "grant": {"max_bytes": 1}}`)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := loadWith(t, test.changes).Decide(t.Context(), readCall())
			if v.Effect != Deny || len(v.Reasons) != 1 || v.Reasons[0].Code != test.code {
				t.Fatalf("got %+v, want %s", v, test.code)
			}
			r := v.Reasons[0]
			if test.detail != "" && r.Detail["field"] != test.detail {
				t.Errorf("detail %v, want field %s", r.Detail, test.detail)
			}
			if r.Message == "" || r.Gate != "policy" || r.Remedy == "" || r.Retryable {
				t.Errorf("reason %+v", r)
			}
			if (test.code == "policy_error" || test.code == "policy_conflict") && (r.File == "" || r.Line == 0) {
				t.Errorf("no place: %+v", r)
			}
			if text := r.Message; strings.Contains(text, "app.py") {
				t.Errorf("message holds an argument: %s", text)
			}
		})
	}
}

func TestDecideCancelled(t *testing.T) {
	slow := edit(t, "runlens/rules/registry/registry.rego", "\tnot input.tool.declared\n",
		"\tsome a in numbers.range(1, 9000)\n\tsome b in numbers.range(1, 9000)\n\ta * b == input.v + 170000000\n")
	e := loadWith(t, slow)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if v := e.Decide(ctx, readCall()); v.Reasons[0].Code != "policy_timeout" {
		t.Errorf("cancelled: %+v", v)
	}
}

func TestDecidePanic(t *testing.T) {
	e := loadWith(t, nil)
	var heard string
	e.log = func(s string) { heard = s }
	e.store = nil // the first look at data panics inside OPA
	v := e.Decide(t.Context(), readCall())
	if v.Effect != Deny || v.Reasons[0].Code != "policy_error" {
		t.Errorf("panic: %+v", v)
	}
	if !strings.Contains(heard, "goroutine") {
		t.Errorf("log heard %q", heard)
	}
	if text, _ := json.Marshal(v); strings.Contains(string(text), "goroutine") {
		t.Errorf("the stack left by the verdict: %s", text)
	}
}

func TestDecideRefusesWhatItCannotJudge(t *testing.T) {
	e := loadWith(t, nil)
	in := readCall()
	list := make([]any, 0, 1000)
	for range 1000 {
		list = append(list, strings.Repeat("x", 8000))
	}
	in.Call.Arguments = map[string]any{"lines": list}
	if v := e.Decide(t.Context(), in); v.Effect != Deny || v.Reasons[0].Code != "input_too_large" {
		t.Errorf("8 MB of arguments: %v", v.Reasons[0].Code)
	}
	for _, value := range []any{json.Number("NaN"), json.Number("1 2"), json.Number(`"x"`), 1.5, struct{}{}} {
		in := readCall()
		in.Call.Arguments = map[string]any{"n": value}
		if v := e.Decide(t.Context(), in); v.Effect != Deny || v.Reasons[0].Code != "policy_error" {
			t.Errorf("argument %v: %+v", value, v)
		}
	}
}

// TestDecideConcurrently is for -race: tools and other parts of inputs are
// shared between decisions.
func TestDecideConcurrently(t *testing.T) {
	e := shipped(t)
	in := readCall()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				mine := *in
				want := Allow
				if i%2 == 1 {
					mine.Tool, want = nil, Deny
				}
				if v := e.Decide(t.Context(), &mine); v.Effect != want {
					t.Errorf("%d: %+v", i, v)
					return
				}
			}
		})
	}
	wg.Wait()
}
