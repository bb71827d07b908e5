package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/manifest"
)

// skillText is a skill of two steps on the shipped tools: read, then write a
// number into sum.json.
const skillText = `
schema_version: 1
name: sums
description: Add up what is in a file.
instructions: Read {input.numbers} and write the sum.
inputs:
  numbers: {description: one number a line, default: data/in/numbers.txt}
tools: [read_file, write_json_file]
narrow:
  read_file: {roots: [data/in], max_bytes: 100}
limits: {in_row: 4, total: 20, malformed: 5}
artifacts:
  - {path: sum.json, schema: {type: object, required: [sum], properties: {sum: {type: integer}}}}
plan:
  steps:
    - id: read
      title: Read the numbers
      tools: [read_file]
    - id: write
      title: Write the sum
      tools: [write_json_file]
      completion:
        succeed: {write_json_file: 1}
        artifacts: [{path: sum.json, schema: {type: object, required: [sum]}}]
`

// skillTools loads the shipped manifest with a skill beside it.
func skillTools(t testing.TB, skill string, change func(tools string) string) *manifest.Set {
	t.Helper()
	text := string(shippedManifest(t))
	if change != nil {
		text = change(text)
	}
	declared := make([]manifest.Handler, 0, len(builtin()))
	for _, h := range builtin() {
		declared = append(declared, h.Handler)
	}
	set, err := manifest.Load([]manifest.Source{
		{Name: "manifests/tools.json", Data: []byte(text)},
		{Name: "manifests/skills/sums.yaml", Data: []byte(skill), Kind: manifest.SkillFile},
	}, declared)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// underSkill alters a configuration so that it has the skill.
func underSkill(t testing.TB) func(*executor.Config) {
	return func(cfg *executor.Config) { cfg.Tools = skillTools(t, skillText, nil) }
}

// sumsProject is a project with the skill's input.
func sumsProject(t testing.TB) string {
	t.Helper()
	project := canonical(t)
	write(t, project, "data/in/numbers.txt", "1\n2\n")
	write(t, project, "data/other.txt", "x")
	return project
}

func started(t testing.TB, x *executor.Executor, spec executor.StartSpec) *executor.Task {
	t.Helper()
	task, err := x.Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func propose(tool string, args any) []byte {
	text, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
	if err != nil {
		panic(err)
	}
	return text
}

func readNumbers() []byte { return propose("read_file", map[string]any{"path": "data/in/numbers.txt"}) }

func writeSum(content any) []byte {
	return propose("write_json_file", map[string]any{"artifact_name": "sum.json", "content": content})
}

func payloadOf[T any](t testing.TB, list []*ledger.Event, typ string) (last T) {
	t.Helper()
	for _, ev := range slices.Backward(list) {
		if ev.Type == typ {
			if err := json.Unmarshal(ev.Payload, &last); err != nil {
				t.Fatal(err)
			}
			return last
		}
	}
	t.Fatalf("no %s in %v", typ, types(list))
	return last
}

// TestPlannedRun goes through a plan in and out of order and looks at every
// answer and at the whole ledger.
func TestPlannedRun(t *testing.T) {
	project := sumsProject(t)
	x := open(t, project, underSkill(t))
	task := started(t, x, executor.StartSpec{RunID: "r", Goal: "add them up", Skill: "sums"})
	if task.Instructions != "Read data/in/numbers.txt and write the sum." || task.Inputs["numbers"] != "data/in/numbers.txt" {
		t.Errorf("the task is %+v", task)
	}
	for _, step := range []struct {
		call            []byte
		status, code    string
		reason, message string
		plan            string
	}{
		{
			writeSum(map[string]any{"sum": 3}), "blocked", "pre_hook_blocked", "step_tool_not_allowed",
			"tool write_json_file is not allowed for current plan step read", "read",
		},
		{propose("read_file", map[string]any{"path": "data/other.txt"}), "denied", "permission_denied", "outside_roots", "", "read"},
		{propose("list_run_files", map[string]any{}), "denied", "permission_denied", "tool_not_allowed", "", "read"},
		{readNumbers(), "success", "", "allowed", "", "write"},
		{readNumbers(), "blocked", "pre_hook_blocked", "step_tool_not_allowed", "tool read_file is not allowed for current plan step write", "write"},
		{writeSum(map[string]any{"total": 3}), "success", "", "allowed", "", "write"}, // does not fit: the step stays
		{writeSum(map[string]any{"sum": 3}), "success", "", "allowed", "", ""},
		{readNumbers(), "blocked", "pre_hook_blocked", "plan_complete", "tool read_file is not allowed, the plan is complete", ""},
	} {
		r := x.Exec(context.Background(), step.call, "r")
		if r.Status != step.status || r.ErrorCode != step.code || r.Reason != step.reason {
			t.Fatalf("%s: got %s %s %s (%s), want %s %s %s", step.call, r.Status, r.ErrorCode, r.Reason, r.ErrorMessage, step.status, step.code, step.reason)
		}
		if step.message != "" && r.ErrorMessage != step.message {
			t.Errorf("%s: message is %q", step.call, r.ErrorMessage)
		}
		if r.Plan == nil || r.Plan.Step != step.plan {
			t.Errorf("%s: stands at %+v, want step %q", step.call, r.Plan, step.plan)
		}
	}
	list := events(t, project, "r")
	done := payloadOf[struct {
		Step      string `json:"step"`
		Index     int64  `json:"index"`
		Result    int64  `json:"result_seq"`
		Artifacts []struct{ Path, Digest string }
	}](t, list, ledger.PlanStepCompleted)
	if done.Step != "write" || done.Index != 2 || len(done.Artifacts) != 1 || done.Artifacts[0].Path != "runs/r/artifacts/sum.json" {
		t.Errorf("the last step completed is %+v", done)
	}
	if at := slices.IndexFunc(list, func(ev *ledger.Event) bool { return ev.Seq == done.Result }); list[at].Type != ledger.ToolSucceeded || list[at+1].Type != ledger.PlanStepCompleted {
		t.Errorf("the step was not completed by the event behind its result: %v", types(list))
	}
	sum, err := x.Stop(context.Background(), "r", "input_ended")
	if err != nil {
		t.Fatal(err)
	}
	if sum.Status != executor.RunCompleted || len(sum.Reasons) > 0 || !slices.Equal(sum.Steps, []string{"read", "write"}) || sum.Calls != 8 {
		t.Errorf("summary is %+v", sum)
	}
	if sum.Verdicts["allow"] != 3 || sum.Verdicts["block"] != 3 || sum.Verdicts["deny"] != 2 || sum.Codes["step_tool_not_allowed"] != 2 {
		t.Errorf("verdicts are %v, codes %v", sum.Verdicts, sum.Codes)
	}
	again, err := x.Stop(context.Background(), "r", "input_ended")
	if err != nil || fmt.Sprint(again) != fmt.Sprint(sum) {
		t.Errorf("stopped again: %v, %+v", err, again)
	}
	if n := len(events(t, project, "r")); n != len(list)+1 {
		t.Errorf("stopping twice made %d events", n-len(list))
	}
	// What became of the files since is looked at again.
	if err := os.Remove(filepath.Join(project, "runs/r/artifacts/sum.json")); err != nil {
		t.Fatal(err)
	}
	gone, err := x.Stop(context.Background(), "r", "input_ended")
	if err != nil || gone.Status != executor.RunFailed || gone.Reasons[0].Code != "artifact_missing" {
		t.Errorf("stopped without its artifact: %v, %+v", err, gone)
	}
}

// TestStepFails: only what was started and failed marks a step, a retry reopens
// it, and the fourth failure in a row is the last call of the run.
func TestStepFails(t *testing.T) {
	project := sumsProject(t)
	fails := true
	x := open(t, project, func(cfg *executor.Config) {
		underSkill(t)(cfg)
		cfg.Handlers = altered(func(h *handlers.Handler) {
			run := h.Run
			h.Run = func(ctx context.Context, g *handlers.Grant) (handlers.Result, error) {
				if fails {
					return handlers.Result{}, &handlers.Error{Code: handlers.CodeFailed, Message: "no luck"}
				}
				return run(ctx, g)
			}
		})
	})
	exec := func(run string, raw []byte) string {
		r := x.Exec(context.Background(), raw, run)
		return r.Status + " " + r.Reason
	}
	for run, calls := range map[string][]string{
		// f fails, g works, b is a call without its argument, d is denied
		"failed":   {"f failed handler_failed", "f failed handler_failed", "b failed input_validation_failed", "f failed handler_failed", "d denied outside_roots", "f failed handler_failed", "g blocked plan_failed"},
		"forgiven": {"f failed handler_failed", "f failed handler_failed", "f failed handler_failed", "g success allowed"},
	} {
		started(t, x, executor.StartSpec{RunID: run, Skill: "sums"})
		for i, want := range calls {
			what, want, _ := strings.Cut(want, " ")
			fails = what == "f"
			raw := readNumbers()
			switch what {
			case "b":
				raw = propose("read_file", map[string]any{})
			case "d":
				raw = propose("read_file", map[string]any{"path": "data/other.txt"})
			}
			if got := exec(run, raw); got != want {
				t.Errorf("%s: call %d: %s, want %s", run, i, got, want)
			}
		}
	}
}

// TestContractDrift: whatever is not as it was when the run began denies every
// call, and says what it is.
func TestContractDrift(t *testing.T) {
	edit := func(old, new string) func(t *testing.T, project string, cfg *executor.Config, spec *executor.StartSpec) {
		return func(t *testing.T, project string, _ *executor.Config, _ *executor.StartSpec) {
			name := filepath.Join(project, "runs/r/contract.json")
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, replaceOnce(t, text, old, new), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for what, change := range map[string]func(t *testing.T, project string, cfg *executor.Config, spec *executor.StartSpec){
		"contract_file": edit(`"goal": "add`, `"goal": "odd`),
		"contract_file, gone": func(t *testing.T, project string, _ *executor.Config, _ *executor.StartSpec) {
			if err := os.Remove(filepath.Join(project, "runs/r/contract.json")); err != nil {
				t.Fatal(err)
			}
		},
		"contract_file, a link": func(t *testing.T, project string, _ *executor.Config, _ *executor.StartSpec) {
			name := filepath.Join(project, "runs/r/contract.json")
			if err := os.Rename(name, name+".real"); err != nil {
				t.Fatal(err)
			}
			link(t, name+".real", name)
		},
		"goal": func(_ *testing.T, _ string, _ *executor.Config, spec *executor.StartSpec) {
			spec.Goal = "something else"
		},
		"skill": func(_ *testing.T, _ string, _ *executor.Config, spec *executor.StartSpec) { spec.Skill = "sum" },
		"inputs": func(_ *testing.T, _ string, _ *executor.Config, spec *executor.StartSpec) {
			spec.Inputs = map[string]string{"numbers": "data/other.txt"}
		},
		"manifest_revision": func(t *testing.T, _ string, cfg *executor.Config, _ *executor.StartSpec) {
			cfg.Tools = skillTools(t, skillText, func(tools string) string {
				return string(replaceOnce(t, []byte(tools), `"max_bytes": 262144`, `"max_bytes": 262145`))
			})
		},
		"manifest_revision, the skill's": func(t *testing.T, _ string, cfg *executor.Config, _ *executor.StartSpec) {
			cfg.Tools = skillTools(t, strings.Replace(skillText, "max_bytes: 100", "max_bytes: 101", 1), nil)
		},
		"policy_revision": func(t *testing.T, _ string, cfg *executor.Config, _ *executor.StartSpec) {
			cfg.Engine = spoiled(t, "runlens/data.json", `"write_bytes": 2000000`, `"write_bytes": 2000001`)
		},
	} {
		t.Run(what, func(t *testing.T) {
			project := sumsProject(t)
			x := open(t, project, underSkill(t))
			spec := executor.StartSpec{RunID: "r", Goal: "add them up", Skill: "sums"}
			started(t, x, spec)
			y := open(t, project, func(cfg *executor.Config) {
				underSkill(t)(cfg)
				change(t, project, cfg, &spec)
			})
			if _, _, err := y.Reopen(context.Background(), spec); err != nil {
				t.Fatal(err)
			}
			r := y.Exec(context.Background(), readNumbers(), "r")
			drift, _, _ := strings.Cut(what, ",")
			if want := "changed since the run was started: " + drift; r.Reason != "contract_drift" || r.ErrorMessage != want {
				t.Errorf("got %s: %s, want %s", r.Reason, r.ErrorMessage, want)
			}
		})
	}
}

// TestContract is the contract as it is recorded, in both places, and a run that
// has none.
func TestContract(t *testing.T) {
	project := sumsProject(t)
	x := open(t, project, underSkill(t))
	started(t, x, executor.StartSpec{RunID: "r", Skill: "sums"})
	first := events(t, project, "r")[0]
	var recorded, file map[string]any
	text, err := os.ReadFile(filepath.Join(project, "runs/r/contract.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(json.Unmarshal(first.Payload, &recorded), json.Unmarshal(text, &file)); err != nil {
		t.Fatal(err)
	}
	if file["run_id"] != "r" || file["schema_version"] != float64(1) {
		t.Errorf("contract.json begins with %v, %v", file["run_id"], file["schema_version"])
	}
	delete(file, "run_id")
	delete(file, "schema_version")
	if fmt.Sprint(file) != fmt.Sprint(recorded) {
		t.Errorf("contract.json and run_started differ:\n%v\n%v", file, recorded)
	}
	for _, key := range []string{"goal", "skill", "plan", "artifacts", "inputs", "write_roots", "limits", "policy_revision", "manifest_revision", "fingerprint"} {
		if recorded[key] == nil {
			t.Errorf("the contract lacks %s", key)
		}
	}
	if recorded["goal"] != "Add up what is in a file." {
		t.Errorf("without a goal the run has %v", recorded["goal"])
	}
	if info, err := os.Stat(filepath.Join(project, "runs/r/contract.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("contract.json: %v, %v", info.Mode(), err)
	}
	started(t, x, executor.StartSpec{RunID: "bare"})
	if _, err := os.Stat(filepath.Join(project, "runs/bare/contract.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a run without a goal has a contract.json: %v", err)
	}
	x.Exec(context.Background(), readNumbers(), "bare")
	_, v := lastVerdict(t, events(t, project, "bare"))
	if !strings.Contains(string(v.Input), `"contract":{"present":false,"matches":false,"drift":[]}`) {
		t.Errorf("judged with %s", v.Input)
	}
}

// TestStartRefuses names all that is wrong with a start, and starts nothing.
func TestStartRefuses(t *testing.T) {
	project := sumsProject(t)
	write(t, project, "data/dir/x", "x")
	outside := canonical(t)
	write(t, outside, "secret.txt", "x")
	x := open(t, project, underSkill(t))
	started(t, x, executor.StartSpec{RunID: "taken", Goal: "g"})
	for name, c := range map[string]struct {
		spec executor.StartSpec
		want []string
	}{
		"taken":        {executor.StartSpec{RunID: "taken"}, []string{"run exists"}},
		"bad id":       {executor.StartSpec{RunID: "../x"}, []string{"check run id"}},
		"no skill":     {executor.StartSpec{RunID: "a", Skill: "sum"}, []string{`unknown skill "sum"`}},
		"two problems": {executor.StartSpec{RunID: "a", Skill: "sums", Inputs: map[string]string{"number": "data/other.txt", "numbers": "data/none"}}, []string{`has no input "number"`, `input "numbers": "data/none": not found`}},
		"outside":      {executor.StartSpec{RunID: "a", Skill: "sums", Inputs: map[string]string{"numbers": filepath.Join(outside, "secret.txt")}}, []string{"lies outside the project"}},
		"a directory":  {executor.StartSpec{RunID: "a", Skill: "sums", Inputs: map[string]string{"numbers": "data/dir"}}, []string{"no regular file but a directory"}},
		"no goal":      {executor.StartSpec{RunID: "a", Inputs: map[string]string{"x": "data/other.txt"}}, []string{"inputs belong to a run with a goal"}},
	} {
		_, err := x.Start(context.Background(), c.spec)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(project, "runs/a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a start that was refused left a directory: %v", err)
	}
}

// TestNarrowedRootIsALink: a skill's root that leads out of the tool's own is no
// root at all.
func TestNarrowedRootIsALink(t *testing.T) {
	project := sumsProject(t)
	outside := canonical(t)
	write(t, outside, "numbers.txt", "secret")
	if err := os.RemoveAll(filepath.Join(project, "data/in")); err != nil {
		t.Fatal(err)
	}
	link(t, outside, filepath.Join(project, "data/in"))
	x := open(t, project, underSkill(t))
	started(t, x, executor.StartSpec{RunID: "r", Goal: "g"}) // without the skill the link leads out as well
	if r := x.Exec(context.Background(), readNumbers(), "r"); r.Reason != "outside_roots" {
		t.Errorf("without the skill: %s", r.Reason)
	}
	write(t, project, "data/inside.txt", "1")
	started(t, x, executor.StartSpec{RunID: "s", Skill: "sums", Inputs: map[string]string{"numbers": "data/inside.txt"}})
	if r := x.Exec(context.Background(), readNumbers(), "s"); r.Reason != "outside_roots" {
		t.Errorf("under the skill: %s (%s)", r.Reason, r.ErrorMessage)
	}
}

// TestStopFails finds what is wrong with a run's result, each by its code.
func TestStopFails(t *testing.T) {
	for name, c := range map[string]struct {
		content any
		after   func(t *testing.T, artifact string)
		want    []string
	}{
		"nothing done": {want: []string{"artifact_missing", "plan_incomplete"}},
		"unfit":        {content: map[string]any{"sum": "three"}, want: []string{"artifact_invalid"}},
		"changed": {content: map[string]any{"sum": 3}, want: []string{"artifact_changed"}, after: func(t *testing.T, name string) {
			if err := os.WriteFile(name, []byte(`{"sum":4}`), 0o644); err != nil {
				t.Fatal(err)
			}
		}},
		"gone": {content: map[string]any{"sum": 3}, want: []string{"artifact_missing"}, after: func(t *testing.T, name string) {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}},
		"a link": {content: map[string]any{"sum": 3}, want: []string{"artifact_invalid", "artifact_missing"}, after: func(t *testing.T, name string) {
			if err := os.Rename(name, name+".x"); err != nil {
				t.Fatal(err)
			}
			link(t, name+".x", name)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			project := sumsProject(t)
			x := open(t, project, underSkill(t))
			started(t, x, executor.StartSpec{RunID: "r", Skill: "sums"})
			if c.content != nil {
				for _, raw := range [][]byte{readNumbers(), writeSum(c.content)} {
					if r := x.Exec(context.Background(), raw, "r"); r.Status != "success" {
						t.Fatalf("%s: %s", r.Reason, r.ErrorMessage)
					}
				}
			}
			if c.after != nil {
				c.after(t, filepath.Join(project, "runs/r/artifacts/sum.json"))
			}
			sum, err := x.Stop(context.Background(), "r", "input_ended")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range sum.Reasons {
				got = append(got, r.Code)
			}
			slices.Sort(got)
			got = slices.Compact(got)
			if sum.Status != executor.RunFailed || !slices.Equal(got, c.want) {
				t.Errorf("%s %v, want failed %v: %+v", sum.Status, got, c.want, sum.Reasons)
			}
		})
	}
}

// TestBudgetReset: over the limit everything is denied, until a person sets the
// counters to zero; a skill's limit is lower than the policy's.
func TestBudgetReset(t *testing.T) {
	project := sumsProject(t)
	x := open(t, project, underSkill(t))
	started(t, x, executor.StartSpec{RunID: "r", Skill: "sums"})
	bad := propose("read_file", map[string]any{"path": "data/other.txt"})
	for range 4 {
		if r := x.Exec(context.Background(), bad, "r"); r.Reason != "outside_roots" {
			t.Fatal(r.Reason)
		}
	}
	if r := x.Exec(context.Background(), readNumbers(), "r"); r.Reason != "denial_budget_exhausted" || !strings.Contains(strings.Join(remedies(r), " "), "approve") {
		t.Fatalf("%s: %v", r.Reason, remedies(r))
	}
	if _, err := x.ResetBudget(context.Background(), executor.AnswerSpec{RunID: "r"}); err == nil {
		t.Error("a reset by nobody was recorded")
	}
	if _, err := x.ResetBudget(context.Background(), executor.AnswerSpec{RunID: "r", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	if r := x.Exec(context.Background(), readNumbers(), "r"); r.Status != "success" {
		t.Errorf("after the reset: %s", r.Reason)
	}
	judgedOnFold(t, events(t, project, "r"))
}

func remedies(r *executor.ToolResult) (list []string) {
	for _, reason := range r.Reasons {
		list = append(list, reason.Remedy)
	}
	return list
}

// asking is the shipped policy where writing JSON needs a person.
func asking(t *testing.T) func(*executor.Config) {
	return func(cfg *executor.Config) {
		cfg.Engine = spoiled(t, "runlens/data.json", `"approvals": {"tools": {}`, `"approvals": {"tools": {"write_json_file": true}`)
	}
}

// TestApproval walks an approval from the request to its last use.
func TestApproval(t *testing.T) {
	project := canonical(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	x := open(t, project, func(cfg *executor.Config) {
		asking(t)(cfg)
		cfg.Now = func() time.Time { return now }
	})
	exec := func(raw []byte) string {
		r := x.Exec(context.Background(), raw, "r")
		return r.Status + " " + r.ErrorCode + " " + r.Reason
	}
	want := func(got, want string) {
		t.Helper()
		if got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	const asked = "blocked approval_required approval_required"
	first := x.Exec(context.Background(), writeSum(1), "r")
	want(first.Status+" "+first.ErrorCode+" "+first.Reason, asked)
	if !strings.HasSuffix(first.ErrorMessage, "; a person can approve it: runlens approve r 2") {
		t.Errorf("message is %q", first.ErrorMessage)
	}
	approve := func(call int64, ttl time.Duration, times int64) *executor.Answer {
		t.Helper()
		a, err := x.Approve(context.Background(), executor.AnswerSpec{RunID: "r", Call: call, By: "ada", TTL: ttl, Times: times})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := approve(2, time.Minute, 2)
	if a.Tool != "write_json_file" || !slices.Equal(a.Paths, []string{filepath.Join(project, "runs/r/artifacts/sum.json")}) || a.Expires != "2026-01-02T03:05:05.000000Z" || a.Signed {
		t.Errorf("approved %+v", a)
	}
	want(exec(writeSum(2)), asked) // other arguments
	want(exec(propose("write_json_file", map[string]any{"artifact_name": "other.json", "content": 1})), asked)
	want(exec(writeSum(1)), "success  allowed")
	want(exec(writeSum(1)), "success  allowed")
	want(exec(writeSum(1)), asked) // used up
	list := events(t, project, "r")
	used := payloadOf[struct{ Approval, Remaining int64 }](t, list, ledger.ApprovalUsed)
	if used.Approval != a.Seq || used.Remaining != 0 {
		t.Errorf("used %+v of approval %d", used, a.Seq)
	}

	last := list[len(list)-3] // model_proposed, tool_blocked, approval_requested
	approve(last.Seq, time.Minute, 1)
	now = now.Add(time.Minute)
	want(exec(writeSum(1)), asked) // expired at that very moment
	list = events(t, project, "r")
	refuse := executor.AnswerSpec{RunID: "r", Call: list[len(list)-3].Seq, By: "bob"}
	if _, err := x.Refuse(context.Background(), refuse); err != nil {
		t.Fatal(err)
	}
	want(exec(writeSum(1)), "denied permission_denied approval_refused")
	_, err := x.Approve(context.Background(), executor.AnswerSpec{RunID: "r", Call: refuse.Call, By: "ada", TTL: time.Minute, Times: 1})
	if !errors.Is(err, executor.ErrNotAsked) || !strings.Contains(err.Error(), `refused by "bob"`) {
		t.Errorf("approved what was refused: %v", err)
	}
	for seq, why := range map[int64]string{1: "run_started", 3: "tool_blocked", 99: "no event 99"} {
		_, err := x.Approve(context.Background(), executor.AnswerSpec{RunID: "r", Call: seq, By: "ada", TTL: time.Minute, Times: 1})
		if !errors.Is(err, executor.ErrNotAsked) || !strings.Contains(err.Error(), why) {
			t.Errorf("call %d: %v, want %s", seq, err, why)
		}
	}
	judgedOnFold(t, events(t, project, "r"))
}

// TestApprovalNeverLiftsADeny: a call that is denied can't be approved, and an
// approval given before does not help once something denies.
func TestApprovalNeverLiftsADeny(t *testing.T) {
	project := canonical(t)
	x := open(t, project, asking(t))
	denied := x.Exec(context.Background(), propose("write_json_file", map[string]any{"artifact_name": "../../../x.json", "content": 1}), "r")
	if denied.Status != "denied" {
		t.Fatal(denied.Reason)
	}
	_, err := x.Approve(context.Background(), executor.AnswerSpec{RunID: "r", Call: 2, By: "ada", TTL: time.Minute, Times: 1})
	if !errors.Is(err, executor.ErrNotAsked) {
		t.Errorf("approved a denied call: %v", err)
	}
	x.Exec(context.Background(), writeSum(1), "r")
	list := events(t, project, "r")
	if _, err := x.Approve(context.Background(), executor.AnswerSpec{RunID: "r", Call: list[len(list)-3].Seq, By: "ada", TTL: time.Minute, Times: 1}); err != nil {
		t.Fatal(err)
	}
	outside := canonical(t)
	if err := os.RemoveAll(filepath.Join(project, "runs/r/artifacts")); err != nil {
		t.Fatal(err)
	}
	link(t, outside, filepath.Join(project, "runs/r/artifacts"))
	if r := x.Exec(context.Background(), writeSum(1), "r"); r.Status == "success" {
		t.Errorf("wrote through a link: %s", r.Reason)
	}
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("%v was written", left)
	}
}

// TestApprovalOnce: two calls at once on an approval for one use; one wins.
func TestApprovalOnce(t *testing.T) {
	for range 20 {
		project := canonical(t)
		executors := []*executor.Executor{open(t, project, asking(t)), open(t, project, asking(t))}
		executors[0].Exec(context.Background(), writeSum(1), "r")
		if _, err := executors[0].Approve(context.Background(), executor.AnswerSpec{RunID: "r", Call: 2, By: "ada", TTL: time.Minute, Times: 1}); err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		got := make([]string, 8)
		for i := range got {
			wait.Go(func() { got[i] = executors[i%2].Exec(context.Background(), writeSum(1), "r").Status })
		}
		wait.Wait()
		won := 0
		for _, status := range got {
			if status == "success" {
				won++
			}
		}
		list := events(t, project, "r")
		if won != 1 || count(types(list), ledger.ApprovalUsed) != 1 || count(types(list), ledger.ToolStarted) != 1 {
			t.Fatalf("%d calls went through: %v, %v", won, got, types(list))
		}
	}
}

// TestAuthorizedByApproval: what is authorised by an approval uses it when it
// starts, once.
func TestAuthorizedByApproval(t *testing.T) {
	project := canonical(t)
	x := open(t, project, asking(t))
	ctx := context.Background()
	proposed := func() {
		t.Helper()
		if _, err := x.Propose(ctx, writeSum(1), "r"); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Authorize(ctx, "r"); err != nil {
			t.Fatal(err)
		}
	}
	proposed()
	if got := types(events(t, project, "r")); got[len(got)-1] != ledger.ApprovalRequested {
		t.Fatalf("authorize asked for nothing: %v", got)
	}
	if _, err := x.Approve(ctx, executor.AnswerSpec{RunID: "r", Call: 2, By: "ada", TTL: time.Minute, Times: 1}); err != nil {
		t.Fatal(err)
	}
	proposed()
	proposed()
	if r, err := x.ExecAuthorized(ctx, "r"); err != nil || r.Status != "success" {
		t.Fatalf("%v, %+v", err, r)
	}
	if r, err := x.ExecAuthorized(ctx, "r"); err != nil || r.Reason != "approval_required" {
		t.Fatalf("a second start on one use: %v, %+v", err, r)
	}
	if n := count(types(events(t, project, "r")), ledger.ApprovalUsed); n != 1 {
		t.Errorf("used %d times", n)
	}
}

// TestAnswerAfterTornLine: a person's answer repairs what a crash left, as every
// other recording does.
func TestAnswerAfterTornLine(t *testing.T) {
	project := canonical(t)
	open(t, project, asking(t)).Exec(context.Background(), writeSum(1), "r")
	f, err := os.OpenFile(filepath.Join(project, "runs/r/events.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(`{"v":1,"run_id":"r","seq":5`)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	x := open(t, project, asking(t))
	refuse := executor.AnswerSpec{RunID: "r", Call: 2, By: "ada"}
	if _, err := x.Refuse(context.Background(), refuse); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Refuse(context.Background(), refuse); !errors.Is(err, executor.ErrNotAsked) {
		t.Errorf("refused twice: %v", err)
	}
	if got := types(events(t, project, "r")); got[len(got)-1] != ledger.ApprovalRefused || got[len(got)-2] != ledger.LedgerRecovered {
		t.Errorf("the run is %v", got)
	}
}

// TestHandlerCheck: what a schema can't say about arguments is told before
// anything is judged or run, and moves no plan.
func TestHandlerCheck(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/a.csv", "text\nslow\n")
	x := open(t, project, nil)
	rule := map[string]any{"category": "Speed", "terms": []string{"slow"}}
	same := map[string]any{"category": "speed", "terms": []string{"fast"}}
	for _, tool := range []string{"extract_evidence", "count_categories"} {
		r := x.Exec(context.Background(), propose(tool, map[string]any{"path": "data/a.csv", "rules": []any{rule, same}}), "r")
		if r.ErrorCode != "input_validation_failed" || r.ErrorMessage != "arguments.rules[1].category: the same as that of rules[0]" || !r.Retryable {
			t.Errorf("%s: %s: %s", tool, r.ErrorCode, r.ErrorMessage)
		}
	}
	if got := types(events(t, project, "r")); slices.Contains(got, ledger.ToolStarted) {
		t.Errorf("it was started: %v", got)
	}
}

// TestReopen: the same input by another spelling is the same, and a run without
// a contract can't be held to one afterwards.
func TestReopen(t *testing.T) {
	project := sumsProject(t)
	x := open(t, project, underSkill(t))
	ctx := context.Background()
	started(t, x, executor.StartSpec{RunID: "r", Skill: "sums"})
	for _, path := range []string{"./data//in/numbers.txt", filepath.Join(project, "data/in/numbers.txt")} {
		task, _, err := x.Reopen(ctx, executor.StartSpec{RunID: "r", Inputs: map[string]string{"numbers": path}})
		if err != nil || task.Inputs["numbers"] != "data/in/numbers.txt" || task.Skill == nil {
			t.Fatalf("%v, %+v", err, task)
		}
		if r := x.Exec(ctx, propose("list_run_files", map[string]any{}), "r"); r.Reason != "tool_not_allowed" {
			t.Errorf("%s: %s", path, r.ErrorMessage)
		}
	}
	started(t, x, executor.StartSpec{RunID: "bare"})
	for _, spec := range []executor.StartSpec{{Goal: "g"}, {Skill: "sums"}, {ReadOnly: true}, {Inputs: map[string]string{"numbers": "data/other.txt"}}} {
		spec.RunID = "bare"
		if _, _, err := x.Reopen(ctx, spec); !errors.Is(err, executor.ErrNoContract) {
			t.Errorf("%+v: %v", spec, err)
		}
	}
	if _, _, err := x.Reopen(ctx, executor.StartSpec{RunID: "bare"}); err != nil {
		t.Error(err)
	}
}

// TestWriteRootsDrift: a directory that the run may write below is no longer the
// one that it was.
func TestWriteRootsDrift(t *testing.T) {
	project := sumsProject(t)
	x := open(t, project, func(cfg *executor.Config) {
		cfg.Tools = tools(t, `{"schema_version":1,"tools":{"put":{"operation":"write","roots":["out"]},"read_file":{"operation":"read","roots":["data"]}}}`)
	})
	for _, dir := range []string{"out", "elsewhere"} {
		if err := os.Mkdir(filepath.Join(project, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	started(t, x, executor.StartSpec{RunID: "r", Goal: "g"})
	if r := x.Exec(context.Background(), readNumbers(), "r"); r.Status != "success" {
		t.Fatal(r.ErrorMessage)
	}
	if err := os.Remove(filepath.Join(project, "out")); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join(project, "elsewhere"), filepath.Join(project, "out"))
	if r := x.Exec(context.Background(), readNumbers(), "r"); r.ErrorMessage != "changed since the run was started: write_roots" {
		t.Errorf("%s: %s", r.Reason, r.ErrorMessage)
	}
	sum, err := x.Stop(context.Background(), "r", "input_ended")
	if err != nil || sum.Status != executor.RunFailed || sum.Reasons[0].Code != "contract_drift" {
		t.Errorf("stopped under other terms: %v, %+v", err, sum)
	}
}

// TestRunIsALink: a run whose directory or artifacts directory is a link is not
// opened, and one that becomes a link while it is open has no roots there.
func TestRunIsALink(t *testing.T) {
	for _, at := range []string{"runs/r", "runs/r/artifacts"} {
		project, outside := canonical(t), canonical(t)
		link(t, outside, filepath.Join(project, at))
		x := open(t, project, nil)
		if _, err := x.Start(context.Background(), executor.StartSpec{RunID: "r", Goal: "g"}); err == nil || !strings.Contains(err.Error(), "it is a link or a file") {
			t.Errorf("%s: %v", at, err)
		}
		if r := x.Exec(context.Background(), writeSum(1), "r"); r.Reason != "ledger_failed" {
			t.Errorf("%s: %s", at, r.Reason)
		}
		if left, _ := os.ReadDir(outside); len(left) > 0 {
			t.Errorf("%s: %v was written", at, left)
		}
	}
	project, outside := canonical(t), canonical(t)
	x := open(t, project, nil)
	if r := x.Exec(context.Background(), writeSum(1), "r"); r.Status != "success" {
		t.Fatal(r.ErrorMessage)
	}
	if err := os.RemoveAll(filepath.Join(project, "runs/r/artifacts")); err != nil {
		t.Fatal(err)
	}
	link(t, outside, filepath.Join(project, "runs/r/artifacts"))
	if r := x.Exec(context.Background(), writeSum(1), "r"); r.Reason != "outside_roots" {
		t.Errorf("swapped while it was open: %s", r.Reason)
	}
}

// TestStartOverFiles: a run is not started over files that it has not made.
func TestStartOverFiles(t *testing.T) {
	for name, want := range map[string]string{
		"runs/r/artifacts/sum.json": "artifacts directory is not empty",
		"runs/r/messages.jsonl":     `"messages.jsonl" in its directory already`,
		"runs/r/contract.json":      "",
		"runs/r/.contract.json.12":  "",
	} {
		project := sumsProject(t)
		write(t, project, name, "{}")
		_, err := open(t, project, underSkill(t)).Start(context.Background(), executor.StartSpec{RunID: "r", Skill: "sums"})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestNarrowedAccess: a link below a root for writing that leads into one for
// reading does not make it a root for writing.
func TestNarrowedAccess(t *testing.T) {
	project := sumsProject(t)
	set := `{"schema_version":1,"tools":{"put":{"operation":"write","handler":"write_file","roots":[{"path":"out","access":["write"]},{"path":"data","access":["read"]}]}}}`
	skill := "schema_version: 1\nname: sums\ndescription: d\ntools: [put]\nnarrow:\n  put: {roots: [{path: out/sub, access: [write]}]}\n"
	if err := os.Mkdir(filepath.Join(project, "out"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "../data", filepath.Join(project, "out/sub"))
	x := open(t, project, func(cfg *executor.Config) { cfg.Tools = skillTools(t, skill, func(string) string { return set }) })
	started(t, x, executor.StartSpec{RunID: "r", Skill: "sums"})
	r := x.Exec(context.Background(), propose("put", map[string]any{"path": "out/sub/evil.json", "content": "x"}), "r")
	if r.Reason != "outside_roots" {
		t.Errorf("%s: %s", r.Reason, r.ErrorMessage)
	}
	if _, err := os.Stat(filepath.Join(project, "data/evil.json")); !errors.Is(err, os.ErrNotExist) {
		t.Error("it was written")
	}
}

// TestStartTexts: what no ledger should hold starts no run and answers no call.
func TestStartTexts(t *testing.T) {
	x := open(t, sumsProject(t), nil)
	for goal, want := range map[string]string{
		"\xff": "not valid UTF-8", "a\x1b[2J": "control character", "AKIA" + strings.Repeat("Q", 16): "looks like a secret",
		strings.Repeat("g", 65<<10): "longer than",
	} {
		if _, err := x.Start(context.Background(), executor.StartSpec{RunID: "r", Goal: goal}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("goal %q: %v", goal[:min(len(goal), 20)], err)
		}
	}
	started(t, x, executor.StartSpec{RunID: "r", Goal: "zwei Zeilen\nüber alles"})
	if _, err := x.ResetBudget(context.Background(), executor.AnswerSpec{RunID: "r", By: "AKIA" + strings.Repeat("Q", 16)}); err == nil || !strings.Contains(err.Error(), "looks like a secret") {
		t.Errorf("by a secret: %v", err)
	}
}
