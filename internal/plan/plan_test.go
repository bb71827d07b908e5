package plan_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/plan"
)

// two is a plan of two steps: read twice, then write once.
func two() *plan.Plan {
	return &plan.Plan{Name: "two", Steps: []plan.Step{
		{ID: "read", Tools: []string{"read_file"}, Completion: plan.Completion{Succeed: []plan.Success{{Tool: "read_file", Times: 2}}}},
		{ID: "write", Tools: []string{"write_file", "list_files"}, Completion: plan.Completion{Succeed: []plan.Success{{Tool: "write_file", Times: 1}}}},
	}}
}

// TestProgress replays stories word by word and looks at the position after
// each: "start N TOOL", "ok N", "fail N", "lost N", "done STEP".
func TestProgress(t *testing.T) {
	for name, story := range map[string][]string{
		"in order": {
			"start 1 read_file → active read 0 open", "ok 1 → active read 0 open",
			"start 2 read_file → active read 0 open", "ok 2 → active read 0 satisfied",
			"done read → active write 0 open",
			"start 3 write_file → active write 0 open", "ok 3 → active write 0 satisfied", "done write → complete",
			"start 4 write_file → complete", "fail 4 → complete",
		},
		"a failure marks, a retry reopens": {
			"start 1 read_file → active read 0 open", "fail 1 → active read 0 failed open",
			"start 2 read_file → active read 0 open", "ok 2 → active read 0 open",
		},
		"three failed retries": {
			"start 1 read_file → active read 0 open", "fail 1 → active read 0 failed open",
			"start 2 read_file → active read 0 open", "fail 2 → active read 1 failed open",
			"start 3 read_file → active read 1 open", "fail 3 → active read 2 failed open",
			"start 4 read_file → active read 2 open", "fail 4 → active read 3 failed open",
		},
		"a success forgives": {
			"start 1 read_file → active read 0 open", "fail 1 → active read 0 failed open",
			"start 2 read_file → active read 0 open", "fail 2 → active read 1 failed open",
			"start 3 read_file → active read 1 open", "ok 3 → active read 0 open",
			"start 4 read_file → active read 0 open", "fail 4 → active read 0 failed open",
		},
		"two at once count once as a retry": {
			"start 1 read_file → active read 0 open", "start 2 read_file → active read 0 open",
			"fail 1 → active read 0 failed open", "fail 2 → active read 0 failed open",
		},
		"another tool's retry is none": {
			"start 1 read_file → active read 0 open", "fail 1 → active read 0 failed open",
			"start 2 list_files → active read 0 failed open", "fail 2 → active read 0 failed open",
		},
		"what nobody knows moves nothing": {
			"start 1 read_file → active read 0 open", "lost 1 → active read 0 open", "ok 1 → active read 0 open",
		},
		"a late end counts for its own step alone": {
			"start 1 read_file → active read 0 open", "start 2 read_file → active read 0 open", "start 3 read_file → active read 0 open",
			"ok 1 → active read 0 open", "ok 2 → active read 0 satisfied", "done read → active write 0 open",
			"fail 3 → active write 0 open",
		},
		"an end without a start":        {"ok 9 → active read 0 open", "fail 9 → active read 0 open"},
		"completing another step fails": {"refused write → active read 0 open", "refused nothing → active read 0 open"},
	} {
		t.Run(name, func(t *testing.T) {
			var p plan.Progress
			p.Begin(two())
			for i, line := range story {
				event, want, _ := strings.Cut(line, " → ")
				tell(t, &p, event)
				if got := describe(&p); got != want {
					t.Fatalf("%d %s: position is %q, want %q", i, event, got, want)
				}
				p = restored(t, p)
			}
		})
	}
}

// tell feeds one event in words.
func tell(t *testing.T, p *plan.Progress, event string) {
	t.Helper()
	words := strings.Fields(event)
	seq := int64(0)
	if len(words[1]) == 1 {
		seq = int64(words[1][0] - '0')
	}
	switch words[0] {
	case "start":
		p.Started(seq, words[2])
	case "ok":
		p.Succeeded(seq)
	case "fail":
		p.HasFailed(seq)
	case "lost":
		p.Lost(seq)
	case "done", "refused":
		if p.Completed(words[1]) != (words[0] == "done") {
			t.Fatalf("%s: Completed is %v", event, words[0] != "done")
		}
	default:
		t.Fatalf("unknown word %q", words[0])
	}
}

func describe(p *plan.Progress) string {
	at := p.Position()
	out := []string{at.Status}
	if at.Step != nil {
		out = append(out, at.Step.ID, string(rune('0'+at.Retries)))
		if at.Failed {
			out = append(out, "failed")
		}
		if p.Satisfied() {
			out = append(out, "satisfied")
		} else {
			out = append(out, "open")
		}
	}
	return strings.Join(out, " ")
}

// restored is p through its JSON form, which must be p again.
func restored(t *testing.T, p plan.Progress) (back plan.Progress) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(text) {
		t.Fatalf("restored as another: %v\n%s\n%s", err, text, again)
	}
	return back
}

// TestNoPlan is a run without a plan: nothing moves it.
func TestNoPlan(t *testing.T) {
	var p plan.Progress
	p.Begin(nil)
	p.Started(1, "read_file")
	p.Succeeded(1)
	if at := p.Position(); !reflect.DeepEqual(at, plan.Position{Status: plan.None}) || p.Satisfied() || p.Completed("read") {
		t.Errorf("position is %+v", at)
	}
}

// TestIndex counts steps from one.
func TestIndex(t *testing.T) {
	var p plan.Progress
	p.Begin(two())
	if at := p.Position(); at.Index != 1 || at.Step.ID != "read" {
		t.Errorf("begins at %d %s", at.Index, at.Step.ID)
	}
	p.Completed("read")
	if at := p.Position(); at.Index != 2 || at.Step.ID != "write" {
		t.Errorf("goes on at %d %s", at.Index, at.Step.ID)
	}
}
