package executor_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/manifest"
)

// withID is a call with a call_id.
func withID(id string, raw []byte) []byte {
	return append([]byte(`{"call_id":"`+id+`",`), raw[1:]...)
}

// TestHistory: what has its final event is answered from it, in turn; what was
// refused because of where the run stood, and what nobody answered, is not.
func TestHistory(t *testing.T) {
	project := sumsProject(t)
	x := open(t, project, underSkill(t))
	started(t, x, executor.StartSpec{RunID: "r", Skill: "sums"})
	ctx := context.Background()
	blocked, denied, malformed := writeSum(1), propose("read_file", map[string]any{"path": "data/other.txt"}), []byte(`{"name":"read_file",`)
	var told []*executor.ToolResult
	for _, raw := range [][]byte{blocked, denied, malformed, withID("a", readNumbers()), withID("b", writeSum(2))} {
		told = append(told, x.Exec(ctx, raw, "r"))
	}
	_, h, err := x.Reopen(ctx, executor.StartSpec{RunID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	if past, ok := h.Answer(blocked); !ok || past.Result.Reason != "step_tool_not_allowed" {
		t.Errorf("a blocked call after which the caller went on has no answer: %+v", past)
	}
	for i, raw := range map[int][]byte{1: denied, 2: malformed} {
		past, ok := h.Answer(raw)
		if !ok || past.Started != 0 || past.OutputDigest != "" {
			t.Fatalf("%s: %v, %+v", raw, ok, past)
		}
		want, _ := told[i].JSON()
		if i == 2 { // what was wrong with bytes that were not admitted is not recorded
			r := *told[i]
			r.ErrorMessage, r.Reasons[0].Message = past.Result.ErrorMessage, past.Result.ErrorMessage
			want, _ = r.JSON()
		}
		past.Result.Plan = told[i].Plan // where the run stood then is not part of the answer
		if got, _ := past.Result.JSON(); !bytes.Equal(got, want) {
			t.Errorf("answered\n%s\ntold\n%s", got, want)
		}
		if _, again := h.Answer(raw); again {
			t.Errorf("%s was proposed once and answered twice", raw)
		}
	}
	for range 2 { // by its id, as often as it comes
		past, ok := h.Answer(withID("b", writeSum(2)))
		if !ok || past.Result.Status != "success" || past.Started == 0 || past.Result.Seq != told[4].Seq || !strings.HasPrefix(past.OutputDigest, "sha256:") {
			t.Fatalf("%v, %+v", ok, past)
		}
	}
	for _, raw := range [][]byte{withID("b", writeSum(3)), withID("c", writeSum(2)), writeSum(2)} {
		if past, ok := h.Answer(raw); ok {
			t.Errorf("%s was answered: %+v", raw, past)
		}
	}
}

// TestLost: a start that nobody saw end. A read runs again, a write asks, and
// once it is approved and done nothing is lost any more.
func TestLost(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "x")
	dir := filepath.Join(project, "runs/r")
	lose := func(raw []byte) {
		t.Helper()
		x := open(t, project, nil)
		if r := x.Exec(context.Background(), raw, "r"); r.Status != "success" {
			t.Fatal(r.Reason)
		}
		// Cut the end off the ledger: the process died before it recorded it.
		text, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n')
		if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), text[:at+1], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lose(readCall)
	x := open(t, project, nil)
	if r := x.Exec(context.Background(), readCall, "r"); r.Status != "success" {
		t.Errorf("a read whose end is unknown: %s", r.Reason)
	}
	lose(writeSum(1))
	x = open(t, project, nil)
	ask := x.Exec(context.Background(), writeSum(1), "r")
	if ask.Status != "blocked" || ask.ErrorCode != "approval_required" || ask.Reason != "outcome_unknown" {
		t.Fatalf("a write whose end is unknown: %s %s %s", ask.Status, ask.ErrorCode, ask.Reason)
	}
	if r := x.Exec(context.Background(), writeSum(2), "r"); r.Status != "success" {
		t.Errorf("another write: %s", r.Reason)
	}
	_, h, err := x.Reopen(context.Background(), executor.StartSpec{RunID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	if past, ok := h.Answer(writeSum(1)); ok {
		t.Errorf("an unknown end was given as an answer: %+v", past)
	}
	if _, err := x.Approve(context.Background(), executor.AnswerSpec{RunID: "r", Call: ask.Outcome.Proposal, By: "ada", TTL: time.Minute, Times: 1}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // approved, and then nothing is unknown
		if r := x.Exec(context.Background(), writeSum(1), "r"); r.Status != "success" {
			t.Errorf("after the approval: %s", r.Reason)
		}
	}
	if n := count(types(events(t, project, "r")), ledger.ToolUnknown); n != 2 {
		t.Errorf("%d starts are unknown", n)
	}
}

// TestTold: who answers for what a model is told gets each result before it is
// durable, with the text for the model, and can't stop it from being recorded.
func TestTold(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", strings.Repeat("a line of feedback\n", 100))
	x := open(t, project, func(cfg *executor.Config) { cfg.Log = func(string, ...any) {} })
	var kept []int64
	var events0 int
	tell := func(started int64, r *executor.ToolResult) error {
		kept = append(kept, started)
		events0 = len(events(t, project, "r"))
		if r.Observation == "" {
			t.Error("the result has no text for the model")
		}
		return errors.New("no space")
	}
	r := x.ExecTold(context.Background(), readCall, "r", 200, tell)
	list := events(t, project, "r")
	if r.Status != "success" || !r.Cut || !strings.Contains(r.Observation, "bytes cut here") || r.Seq != int64(len(list)) {
		t.Errorf("told %s, cut %v, seq %d: %q", r.Status, r.Cut, r.Seq, r.Observation)
	}
	if len(kept) != 1 || kept[0] != 4 || events0 != 4 {
		t.Errorf("kept %v when the run had %d events", kept, events0)
	}
	end := payloadOf[struct {
		Bytes int64 `json:"observation_bytes"`
		Cut   bool  `json:"observation_cut"`
	}](t, list, ledger.ToolSucceeded)
	if !end.Cut || end.Bytes != int64(len(r.Observation)) {
		t.Errorf("recorded %+v of %d bytes", end, len(r.Observation))
	}
	denied := x.ExecTold(context.Background(), propose("read_file", map[string]any{"path": "../x"}), "r", 0, tell)
	if denied.Reason != "outside_roots" || kept[len(kept)-1] != 0 || !strings.Contains(denied.Observation, "data/") {
		t.Errorf("%s, kept %v: %q", denied.Reason, kept, denied.Observation)
	}
	sum, err := x.Stop(context.Background(), "r", "input_ended")
	if err != nil || sum.Truncated != 1 {
		t.Errorf("%v: %d truncated", err, sum.Truncated)
	}
}

// TestSignedApprovals: where the manifest names approvers, only what one of them
// signed for this run counts.
func TestSignedApprovals(t *testing.T) {
	project := canonical(t)
	secret, public, err := note.GenerateKey(rand.Reader, "ada")
	if err != nil {
		t.Fatal(err)
	}
	otherSecret, _, err := note.GenerateKey(rand.Reader, "ada")
	if err != nil {
		t.Fatal(err)
	}
	signer := func(key string) note.Signer {
		s, err := note.NewSigner(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	named := func(cfg *executor.Config) {
		asking(t)(cfg)
		set := tools(t, "")
		copied := *set
		copied.Approvers = []manifest.Approver{{Name: "ada", Key: public}}
		cfg.Tools = &copied
	}
	x := open(t, project, named)
	ctx := context.Background()
	ask := func(run string) int64 {
		t.Helper()
		r := x.Exec(ctx, writeSum(1), run)
		if r.Reason != "approval_required" {
			t.Fatalf("run %s: %s", run, r.Reason)
		}
		return r.Outcome.Proposal
	}
	spec := executor.AnswerSpec{RunID: "r", Call: ask("r"), By: "ada", TTL: time.Minute, Times: 1}
	for name, s := range map[string]note.Signer{"unsigned": nil, "another key": signer(otherSecret)} {
		spec.Signer = s
		if _, err := x.Approve(ctx, spec); !errors.Is(err, executor.ErrUnsigned) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := x.ResetBudget(ctx, spec); !errors.Is(err, executor.ErrUnsigned) {
			t.Errorf("%s, the budget: %v", name, err)
		}
	}
	spec.Signer, spec.By = signer(secret), "somebody else"
	a, err := x.Approve(ctx, spec)
	if err != nil || !a.Signed {
		t.Fatalf("%v, %+v", err, a)
	}
	granted := payloadOf[map[string]any](t, events(t, project, "r"), ledger.ApprovalGranted)
	if granted["by"] != "ada" || granted["signed"] != true {
		t.Errorf("granted %v", granted)
	}

	// The same signed words in another run, and with more uses in this one, are
	// no approval; nor is one that was recorded where nobody had to sign.
	ask("s")
	granted["times"] = 9
	for run, payload := range map[string]map[string]any{"r": granted, "s": payloadOf[map[string]any](t, events(t, project, "r"), ledger.ApprovalGranted)} {
		appended(t, project, run, ledger.ApprovalGranted, payload)
	}
	lax := open(t, project, asking(t))
	ask("u")
	if _, err := lax.Approve(ctx, executor.AnswerSpec{RunID: "u", Call: 2, By: "ada", TTL: time.Minute, Times: 1}); err != nil {
		t.Fatal(err)
	}
	x = open(t, project, named)
	for _, run := range []string{"s", "u"} {
		ask(run)
	}
	if r := x.Exec(ctx, writeSum(1), "r"); r.Status != "success" {
		t.Errorf("signed and refused: %s", r.Reason)
	}
	ask("r") // the one with nine uses counts for nothing
}

// appended adds an event to a run as somebody with the same rights could.
func appended(t *testing.T, project, run, typ string, payload any) {
	t.Helper()
	log, err := ledger.Open(filepath.Join(project, "runs", run), ledger.Options{RunID: run, Create: true})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	err = log.Commit(context.Background(), func(tx *ledger.Tx) error {
		_, err := tx.Add(typ, json.RawMessage(text))
		return err
	})
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestBlockedIsNotFinal: a call that the plan blocked is judged again while
// nothing that followed it is final.
func TestBlockedIsNotFinal(t *testing.T) {
	project := sumsProject(t)
	x := open(t, project, underSkill(t))
	started(t, x, executor.StartSpec{RunID: "r", Skill: "sums"})
	ctx := context.Background()
	first, second := withID("a", writeSum(map[string]any{"sum": 1})), withID("b", writeSum(map[string]any{"sum": 2}))
	for _, raw := range [][]byte{readNumbers(), withID("c", readNumbers()), withID("d", readNumbers())} {
		x.Exec(ctx, raw, "r")
	}
	_, h, err := x.Reopen(ctx, executor.StartSpec{RunID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range [][]byte{withID("c", readNumbers()), withID("d", readNumbers())} {
		if past, ok := h.Answer(raw); ok {
			t.Errorf("%s, blocked last, was answered: %+v", raw, past)
		}
	}
	x.Exec(ctx, first, "r")
	x.Exec(ctx, second, "r")
	if _, h, err = x.Reopen(ctx, executor.StartSpec{RunID: "r"}); err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string]string{string(withID("c", readNumbers())): "step_tool_not_allowed", string(first): "allowed"} {
		if past, ok := h.Answer([]byte(raw)); !ok || past.Result.Reason != want {
			t.Errorf("%s: %v, want %s", raw, ok, want)
		}
	}
	if past, ok := h.Answer(second); ok {
		t.Errorf("blocked after the last step, answered %+v", past)
	}
}

// TestMalformedAnswer: bytes whose envelope can be read are answered under the
// name and the id that their sender knows, now and when the run is resumed; the
// ledger keeps neither.
func TestMalformedAnswer(t *testing.T) {
	project := canonical(t)
	x := open(t, project, nil)
	secret := "AKIA" + strings.Repeat("Q", 16)
	for raw, want := range map[string]string{
		`{"id":"call_9","type":"function","function":{"name":"read_file","arguments":"{bad"}}`:      "call_9 read_file",
		`{"type":"tool_use","id":"toolu_1","name":"read_file","input":"x"}`:                         "toolu_1 read_file",
		`{"type":"function_call","call_id":"fc_1","name":"read_file","arguments":"[]"}`:             "fc_1 read_file",
		`{"call_id":"own","name":"read_file","arguments":7}`:                                        "own read_file",
		`{"id":"` + secret + `","type":"function","function":{"name":"read_file","arguments":"{"}}`: "c# read_file",
		`{"id":"call_9","type":"function"`:                                                          "c# ",
	} {
		r := x.Exec(context.Background(), []byte(raw), "r")
		list := events(t, project, "r")
		proposed := payloadOf[map[string]any](t, list, ledger.ModelProposed)
		own := proposed["call_id"].(string)
		want = strings.Replace(want, "c#", own, 1)
		if got := r.CallID + " " + r.ToolName; r.Reason != "malformed_call" || got != want {
			t.Errorf("%s: answered %s to %q, want %q", raw, r.Reason, got, want)
		}
		if proposed["tool"] != "" || !strings.HasPrefix(own, "c") || own == "call_9" {
			t.Errorf("%s: recorded %v", raw, proposed)
		}
		h, err := x.History(context.Background(), "r")
		if err != nil {
			t.Fatal(err)
		}
		if past, ok := h.Answer([]byte(raw)); !ok || past.Result.CallID+" "+past.Result.ToolName != want {
			t.Errorf("%s: answered again to %+v", raw, past)
		}
	}
}

// TestAnswerCountsOnce: a copy of what a person said, signed or not, in the same
// run or in one remade under its name, counts for nothing.
func TestAnswerCountsOnce(t *testing.T) {
	for _, signed := range []bool{false, true} {
		project := canonical(t)
		secret, public, err := note.GenerateKey(rand.Reader, "ada")
		if err != nil {
			t.Fatal(err)
		}
		change := asking(t)
		spec := executor.AnswerSpec{RunID: "r", Call: 2, By: "ada", TTL: time.Hour, Times: 1}
		if signed {
			change = func(cfg *executor.Config) {
				asking(t)(cfg)
				copied := *tools(t, "")
				copied.Approvers = []manifest.Approver{{Name: "ada", Key: public}}
				cfg.Tools = &copied
			}
			if spec.Signer, err = note.NewSigner(secret); err != nil {
				t.Fatal(err)
			}
		}
		ctx := context.Background()
		exec := func() string { return open(t, project, change).Exec(ctx, writeSum(1), "r").Reason }
		ask := func() {
			t.Helper()
			if got := exec(); got != "approval_required" {
				t.Fatalf("signed %v: %s", signed, got)
			}
		}
		ask()
		if _, err := open(t, project, change).Approve(ctx, spec); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, project, change).ResetBudget(ctx, spec); err != nil {
			t.Fatal(err)
		}
		list := events(t, project, "r")
		reset, granted := list[len(list)-1].Payload, list[len(list)-2].Payload
		if got := exec(); got != "allowed" {
			t.Fatal(got)
		}
		ask()
		appended(t, project, "r", ledger.ApprovalGranted, json.RawMessage(granted))
		ask()
		bad := propose("read_file", map[string]any{"path": "../x"})
		for range 6 {
			open(t, project, change).Exec(ctx, bad, "r")
		}
		appended(t, project, "r", ledger.ApprovalGranted, json.RawMessage(reset))
		if got := exec(); got != "denial_budget_exhausted" {
			t.Errorf("signed %v: a copied reset counts: %s", signed, got)
		}
		if err := os.RemoveAll(filepath.Join(project, "runs/r")); err != nil {
			t.Fatal(err)
		}
		ask()
		appended(t, project, "r", ledger.ApprovalGranted, json.RawMessage(granted))
		ask()
	}
}

// TestApprovalOfOtherManifest: what was approved is void once the manifests have
// changed, and an approval that could never count is not recorded.
func TestApprovalOfOtherManifest(t *testing.T) {
	project := canonical(t)
	under := func(text string) func(*executor.Config) {
		return func(cfg *executor.Config) {
			asking(t)(cfg)
			cfg.Tools = tools(t, text)
		}
	}
	const one = `{"schema_version":1,"tools":{"write_json_file":{"operation":"write","max_bytes":1000}}}`
	other := strings.Replace(one, "1000", "2000", 1)
	ctx := context.Background()
	open(t, project, under(one)).Exec(ctx, writeSum(1), "r")
	spec := executor.AnswerSpec{RunID: "r", Call: 2, By: "ada", TTL: time.Hour, Times: 9}
	if _, err := open(t, project, under(other)).Approve(ctx, spec); !errors.Is(err, executor.ErrNotAsked) || !strings.Contains(err.Error(), "the manifests have changed") {
		t.Errorf("approved under other manifests: %v", err)
	}
	if _, err := open(t, project, under(one)).Approve(ctx, spec); err != nil {
		t.Fatal(err)
	}
	if r := open(t, project, under(other)).Exec(ctx, writeSum(1), "r"); r.Reason != "approval_required" {
		t.Errorf("under other manifests: %s", r.Reason)
	}
	if r := open(t, project, under(one)).Exec(ctx, writeSum(1), "r"); r.Status != "success" {
		t.Errorf("under its own: %s", r.Reason)
	}
}

// TestApprovalExpiresWhileWaiting: an approval that expires between the decision
// and the lock is not used.
func TestApprovalExpiresWhileWaiting(t *testing.T) {
	project := canonical(t)
	now := time.Now()
	clock := &between{}
	x := open(t, project, func(cfg *executor.Config) {
		asking(t)(cfg)
		cfg.Now = func() time.Time { clock.now(); return now }
	})
	ctx := context.Background()
	x.Exec(ctx, writeSum(1), "r")
	if _, err := x.Approve(ctx, executor.AnswerSpec{RunID: "r", Call: 2, By: "ada", TTL: time.Minute, Times: 1}); err != nil {
		t.Fatal(err)
	}
	// The second look at the clock is that of the facts about the approval; what
	// happens at it is after the decision began.
	looks := 0
	var later func()
	later = func() {
		if looks++; looks == 2 {
			now = now.Add(time.Hour)
			return
		}
		clock.next = later
	}
	clock.next = later
	if r := x.Exec(ctx, writeSum(1), "r"); r.Status == "success" {
		t.Errorf("used an approval that had expired: %+v", r.Reasons)
	}
	if n := count(types(events(t, project, "r")), ledger.ApprovalUsed); n != 0 {
		t.Errorf("used %d times", n)
	}
}

// TestAnsweredAgain: a line that waited for a person is one line, however often
// the run is resumed, and what its caller said again is another one.
func TestAnsweredAgain(t *testing.T) {
	project := canonical(t)
	x := open(t, project, asking(t))
	ctx := context.Background()
	reopen := func(run string) *executor.History {
		t.Helper()
		_, h, err := x.Reopen(ctx, executor.StartSpec{RunID: run})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	answers := func(run string, want ...string) {
		t.Helper()
		h := reopen(run)
		for i, reason := range want {
			past, ok := h.Answer(writeSum(1))
			got := "none"
			if ok {
				got = past.Result.Status
			}
			if got != reason {
				t.Errorf("%s: line %d is answered %s, want %s", run, i, got, reason)
			}
		}
	}
	tell := func(int64, *executor.ToolResult) error { return nil }
	for _, run := range []string{"resumed", "said again"} {
		run := strings.ReplaceAll(run, " ", "-")
		if r := x.ExecTold(ctx, writeSum(1), run, 0, tell); r.Reason != "approval_required" {
			t.Fatal(r.Reason)
		}
		if _, err := x.Approve(ctx, executor.AnswerSpec{RunID: run, Call: 2, By: "ada", TTL: time.Hour, Times: 5}); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := reopen("resumed").Answer(writeSum(1)); ok {
		t.Fatal("a call that waits for a person has an answer")
	}
	if task, _, err := x.Reopen(ctx, executor.StartSpec{RunID: "resumed"}); err != nil || !slices.Equal(task.Approved, []string{"write_json_file (c2)"}) {
		t.Errorf("approved %v, %v", task.Approved, err)
	}
	for _, run := range []string{"resumed", "said-again"} {
		if r := x.ExecTold(ctx, writeSum(1), run, 0, tell); r.Status != "success" {
			t.Fatal(r.Reason)
		}
	}
	answers("resumed", "success", "none")
	answers("said-again", "blocked", "success", "none")
}

// TestDoneInALaterLine: a call that was refused for the run's budget, and done
// under another id once a person had reset it, is not done again.
func TestDoneInALaterLine(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "x")
	x := open(t, project, nil)
	ctx := context.Background()
	bad := propose("read_file", map[string]any{"path": "../x"})
	for range 5 {
		x.Exec(ctx, bad, "r")
	}
	other := propose("list_run_files", map[string]any{})
	for _, raw := range [][]byte{withID("a", writeSum(1)), other} {
		if r := x.Exec(ctx, raw, "r"); r.Reason != "denial_budget_exhausted" {
			t.Fatal(r.Reason)
		}
	}
	if _, err := x.ResetBudget(ctx, executor.AnswerSpec{RunID: "r", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	if r := x.Exec(ctx, withID("b", writeSum(1)), "r"); r.Status != "success" {
		t.Fatal(r.Reason)
	}
	h, err := x.History(ctx, "r")
	if err != nil {
		t.Fatal(err)
	}
	if past, ok := h.Answer(withID("a", writeSum(1))); !ok || past.Result.Reason != "denial_budget_exhausted" {
		t.Errorf("refused and done later, it is answered %v, %+v", ok, past)
	}
	if past, ok := h.Answer(other); ok {
		t.Errorf("refused and not done since, it is answered %+v", past)
	}
}

// TestBlockedBehindAQuestion: what the plan blocked because an earlier line waits
// for a person is judged again once the person has answered, whatever else was
// refused meanwhile.
func TestBlockedBehindAQuestion(t *testing.T) {
	project := sumsProject(t)
	x := open(t, project, func(cfg *executor.Config) {
		underSkill(t)(cfg)
		cfg.Engine = spoiled(t, "runlens/data.json", `"approvals": {"tools": {}`, `"approvals": {"tools": {"read_file": true}`)
	})
	ctx := context.Background()
	tell := func(int64, *executor.ToolResult) error { return nil }
	started(t, x, executor.StartSpec{RunID: "r", Skill: "sums"})
	lines := [][]byte{readNumbers(), writeSum(map[string]any{"sum": 3}), propose("read_file", map[string]any{"path": "data/other.txt"})}
	var answers []string
	resume := func() {
		t.Helper()
		_, h, err := x.Reopen(ctx, executor.StartSpec{RunID: "r"})
		if err != nil {
			t.Fatal(err)
		}
		answers = nil
		for _, raw := range lines {
			past, ok := h.Answer(raw)
			if ok {
				answers = append(answers, "again "+past.Result.Reason)
				continue
			}
			answers = append(answers, x.ExecTold(ctx, raw, "r", 0, tell).Reason)
		}
	}
	resume()
	if want := []string{"approval_required", "step_tool_not_allowed", "outside_roots"}; !slices.Equal(answers, want) {
		t.Fatalf("%v", answers)
	}
	if _, err := x.Approve(ctx, executor.AnswerSpec{RunID: "r", Call: 2, By: "ada", TTL: time.Hour, Times: 1}); err != nil {
		t.Fatal(err)
	}
	resume()
	if want := []string{"allowed", "allowed", "again outside_roots"}; !slices.Equal(answers, want) {
		t.Errorf("after the approval: %v", answers)
	}
	resume()
	if want := []string{"again allowed", "again allowed", "again outside_roots"}; !slices.Equal(answers, want) {
		t.Errorf("at the end: %v", answers)
	}
}

// TestApproveForgedProposal: a person is not shown one call and made to sign
// another.
func TestApproveForgedProposal(t *testing.T) {
	project := canonical(t)
	x := open(t, project, asking(t))
	ctx := context.Background()
	x.Exec(ctx, writeSum(1), "r")
	x.Exec(ctx, writeSum(2), "other")
	// The same run, rebuilt by somebody who can write it, with one digest put in
	// the place of the other.
	digest := func(run string) string {
		return payloadOf[map[string]any](t, events(t, project, run), ledger.ModelProposed)["digest"].(string)
	}
	for name, types := range map[string][]string{"proposal": {ledger.ModelProposed}, "both": {ledger.ModelProposed, ledger.ToolBlocked}, "verdict": {ledger.ToolBlocked}} {
		run := "forged-" + name
		for _, ev := range events(t, project, "r") {
			payload := string(ev.Payload)
			if slices.Contains(types, ev.Type) {
				payload = strings.ReplaceAll(payload, digest("r"), digest("other"))
			}
			appended(t, project, run, ev.Type, json.RawMessage(payload))
		}
		_, err := x.Approve(ctx, executor.AnswerSpec{RunID: run, Call: 2, By: "ada", TTL: time.Hour, Times: 1})
		if !errors.Is(err, ledger.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCancelledCall: a call whose caller went away has no answer: when the run is
// resumed a read runs again, a write asks, and the plan has not failed.
func TestCancelledCall(t *testing.T) {
	project := sumsProject(t)
	var cancel context.CancelFunc
	stops := false
	x := open(t, project, func(cfg *executor.Config) {
		underSkill(t)(cfg)
		cfg.Handlers = altered(func(h *handlers.Handler) {
			run := h.Run
			h.Run = func(ctx context.Context, g *handlers.Grant) (handlers.Result, error) {
				if stops {
					cancel()
					<-ctx.Done()
					return handlers.Result{}, &handlers.Error{Code: handlers.CodeTimeout, Message: "the deadline came first"}
				}
				return run(ctx, g)
			}
		})
	})
	started(t, x, executor.StartSpec{RunID: "r", Skill: "sums"})
	sum := writeSum(map[string]any{"sum": 3})
	for _, c := range []struct {
		raw   []byte
		after string
	}{{readNumbers(), "success allowed"}, {sum, "blocked outcome_unknown"}} {
		stops = true
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		cancel = stop
		if r := x.Exec(ctx, c.raw, "r"); r.Status != "failed" || r.Reason != "handler_cancelled" || !r.Retryable || r.Plan.Status != "active" {
			t.Fatalf("cancelled: %s %s: %s", r.Status, r.Reason, r.ErrorMessage)
		}
		stops = false
		_, h, err := x.Reopen(context.Background(), executor.StartSpec{RunID: "r"})
		if err != nil {
			t.Fatal(err)
		}
		if past, ok := h.Answer(c.raw); ok {
			t.Errorf("cancelled, answered %+v", past.Result)
		}
		if r := x.Exec(context.Background(), c.raw, "r"); r.Status+" "+r.Reason != c.after {
			t.Errorf("again: %s %s, want %s", r.Status, r.Reason, c.after)
		}
	}
}

// TestUnsignedReset: where approvers are named, a reset that none of them signed
// and that stands in the ledger all the same leaves the counters as they were.
func TestUnsignedReset(t *testing.T) {
	project := canonical(t)
	_, public, err := note.GenerateKey(rand.Reader, "ada")
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	lax := open(t, project, nil)
	for range 5 {
		lax.Exec(ctx, propose("read_file", map[string]any{"path": "../x"}), "r")
	}
	if _, err := lax.ResetBudget(ctx, executor.AnswerSpec{RunID: "r", By: "eve"}); err != nil {
		t.Fatal(err)
	}
	if r := lax.Exec(ctx, propose("list_run_files", map[string]any{}), "r"); r.Status != "success" {
		t.Fatal(r.Reason)
	}
	for range 5 {
		lax.Exec(ctx, propose("read_file", map[string]any{"path": "../x"}), "r")
	}
	if _, err := lax.ResetBudget(ctx, executor.AnswerSpec{RunID: "r", By: "eve"}); err != nil {
		t.Fatal(err)
	}
	strict := open(t, project, func(cfg *executor.Config) {
		copied := *tools(t, "")
		copied.Approvers = []manifest.Approver{{Name: "ada", Key: public}}
		cfg.Tools = &copied
	})
	if r := strict.Exec(ctx, propose("list_run_files", map[string]any{}), "r"); r.Reason != "denial_budget_exhausted" {
		t.Errorf("an unsigned reset counts: %s", r.Reason)
	}
}

// TestStartedMeanwhile: a run that got its skill after a call looked its tool up
// does not run that call with the tool's own roots.
func TestStartedMeanwhile(t *testing.T) {
	project := sumsProject(t)
	clock := &between{}
	x := open(t, project, func(cfg *executor.Config) {
		underSkill(t)(cfg)
		cfg.Now = clock.now
	})
	y := open(t, project, underSkill(t))
	clock.next = func() { started(t, y, executor.StartSpec{RunID: "r", Skill: "sums"}) }
	r := x.Exec(context.Background(), propose("read_file", map[string]any{"path": "data/other.txt"}), "r")
	if r.Reason != "contract_drift" {
		t.Errorf("%s: %s", r.Reason, r.ErrorMessage)
	}
	if r := x.Exec(context.Background(), readNumbers(), "r"); r.Status != "success" {
		t.Errorf("tried again: %s: %s", r.Reason, r.ErrorMessage)
	}
}

// TestStopForgetsRemoved: a file that a tool deleted is missed by nobody.
func TestStopForgetsRemoved(t *testing.T) {
	project := canonical(t)
	x := open(t, project, func(cfg *executor.Config) {
		cfg.Tools = tools(t, `{"schema_version":1,"tools":{"write_json_file":{"operation":"write"},"delete_file":{"operation":"delete","roots":["runs/{run_id}/artifacts"]}}}`)
	})
	ctx := context.Background()
	for _, raw := range [][]byte{writeSum(1), propose("delete_file", map[string]any{"path": "runs/r/artifacts/sum.json"})} {
		if r := x.Exec(ctx, raw, "r"); r.Status != "success" {
			t.Fatalf("%s: %s", r.Reason, r.ErrorMessage)
		}
	}
	if sum, err := x.Stop(ctx, "r", "input_ended"); err != nil || sum.Status != executor.RunCompleted || len(sum.Artifacts) > 0 {
		t.Errorf("%v, %+v", err, sum)
	}
}

// TestRecordFull: with `record: full` an answer comes with its output.
func TestRecordFull(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "hello")
	x := open(t, project, func(cfg *executor.Config) {
		cfg.Tools = tools(t, `{"schema_version":1,"record":"full","tools":{"read_file":{"operation":"read"}}}`)
	})
	x.Exec(context.Background(), readCall, "r")
	h, err := x.History(context.Background(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if past, ok := h.Answer(readCall); !ok || past.Result.Output["content"] != "hello" {
		t.Errorf("%v, %+v", ok, past)
	}
}

// TestOpenProposals: proposals that nobody judges do not make a run's state grow.
func TestOpenProposals(t *testing.T) {
	s := executor.NewState()
	for seq := int64(1); seq <= 5000; seq++ {
		ev := &ledger.Event{Seq: seq, Type: ledger.ModelProposed, Payload: json.RawMessage(`{"call_id":"c1","digest":"sha256:0","after":0}`)}
		if err := s.Apply(ev); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.Proposals); n > 512 {
		t.Errorf("%d are remembered", n)
	}
	if _, last := s.Proposals[5000]; !last {
		t.Error("the last one is forgotten")
	}
}

// TestCallerGoesWhileJudged: a caller who goes away while policy decides makes no
// verdict of it, and no refusal that counts.
func TestCallerGoesWhileJudged(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/feedback.txt", "x")
	clock := &between{}
	x := open(t, project, func(cfg *executor.Config) { cfg.Now = clock.now })
	ctx, cancel := context.WithCancel(context.Background())
	clock.next = cancel
	x.Exec(ctx, readCall, "r")
	for _, ev := range events(t, project, "r") {
		if ev.Type == ledger.ToolDenied || ev.Type == ledger.ToolBlocked {
			t.Errorf("event %d refuses: %s", ev.Seq, ev.Payload)
		}
	}
	state, _ := judgedOnFold(t, events(t, project, "r"))
	if state.Denials.Total != 0 {
		t.Errorf("counted %+v", state.Denials)
	}
}

// TestStopOutside: a file that a tool wrote elsewhere is told as it is at the end,
// and not told when it is gone.
func TestStopOutside(t *testing.T) {
	project := canonical(t)
	x := open(t, project, func(cfg *executor.Config) {
		cfg.Tools = tools(t, `{"schema_version":1,"tools":{"put":{"operation":"write","roots":["out"]}}}`)
	})
	ctx := context.Background()
	write(t, project, "out/keep.txt", "")
	for _, name := range []string{"out/a.txt", "out/b.txt"} {
		if r := x.Exec(ctx, propose("put", map[string]any{"path": name, "content": "x"}), "r"); r.Status != "success" {
			t.Fatal(r.ErrorMessage)
		}
	}
	if err := os.Remove(filepath.Join(project, "out/a.txt")); err != nil {
		t.Fatal(err)
	}
	write(t, project, "out/b.txt", "changed")
	sum, err := x.Stop(ctx, "r", "input_ended")
	if err != nil || sum.Status != executor.RunCompleted || len(sum.Artifacts) != 1 || sum.Artifacts[0].Path != "out/b.txt" || sum.Artifacts[0].Bytes != 7 {
		t.Errorf("%v, %+v", err, sum)
	}
}
