package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/ledger"
)

// written is an event of a test's ledger: who of two writers adds it, and what.
type written struct {
	writer  int
	typ     string
	payload string
}

const twelve = "sha256:123456789abc000000000000000000000000000000000000000000000000cafe"

// A run of two processes with everything in it that a run can have.
var wholeRun = []written{
	{0, ledger.RunStarted, `{"goal":"Say what hurts","policy_revision":"` + twelve + `","manifest_revision":"sha256:aa","door":"cli",
		"skill":{"name":"feedback","title":"Feedback analysis"},"inputs":[{"name":"feedback","path":"data/f.csv","bytes":1234,"digest":"sha256:ff"}],
		"plan":{"name":"p","steps":[{"id":"read","title":"Read it"},{"id":"write","title":"Write \u001b[2Jit"}]},"read_only":false}`},
	{0, ledger.ModelProposed, `{"call_id":"call_longer_than_its_column","tool":"read_feedback_csv","call":{"name":"read_feedback_csv","arguments":{"path":"data/f.csv"}}}`}, // 2
	{1, ledger.ModelProposed, `{"call_id":"c3","tool":"write_json_file","call":{"name":"write_json_file","arguments":{"artifact_name":"x.json"}}}`},
	{1, ledger.ToolBlocked, `{"verdict":"block","reason":"step_tool_not_allowed","call_id":"c3","proposal":3,"reasons":[{"code":"step_tool_not_allowed"}],
		"input":{"targets":[{"requested":"runs/r1/artifacts/x.json","resolution":"absent","path":"/p/runs/r1/artifacts/x.json","segments":["runs","r1","artifacts","x.json"],"in_project":true}]}}`},
	{0, ledger.ToolAllowed, `{"verdict":"allow","reason":"allowed","call_id":"c2","proposal":2,"reasons":[{"code":"allowed"}],
		"input":{"targets":[{"requested":"data/f.csv","resolution":"ok","path":"/p/data/f.csv","segments":["data","f.csv"],"in_project":true}]}}`},
	{0, ledger.ToolStarted, `{"verdict_seq":5,"call_id":"c2","tool":"read_feedback_csv"}`}, // 6
	{1, ledger.ModelProposed, `{"call_id":"c7","tool":"read_file","call":{"name":"read_file","arguments":{"path":"data/link"}}}`},
	{1, ledger.ToolDenied, `{"verdict":"deny","reason":"outside_roots","call_id":"c7","proposal":7,"reasons":[{"code":"outside_roots"},{"code":"hard_link"}],
		"input":{"targets":[{"requested":"data/a  ok","resolution":"ok","path":"/etc/passwd","segments":["etc","passwd"],"in_project":false}]}}`},
	{0, ledger.ToolSucceeded, `{"started_seq":6,"verdict_seq":5,"call_id":"c2","tool":"read_feedback_csv","output_bytes":91234,"truncated":true,
		"observation_bytes":8000,"observation_cut":true,"artifacts":[],"duration_us":1234}`},
	{0, ledger.PlanStepCompleted, `{"step":"read","index":1,"result_seq":9,"artifacts":[]}`}, // 10
	{1, ledger.ModelProposed, `{"call_id":"c11","tool":"write_json_file","call":{"name":"write_json_file","arguments":{"artifact_name":"x.json"}}}`},
	{1, ledger.ToolBlocked, `{"verdict":"ask","reason":"approval_required","call_id":"c11","proposal":11,"reasons":[{"code":"approval_required"}],
		"input":{"targets":[{"requested":"runs/r1/artifacts/x.json","resolution":"absent","path":"/p/runs/r1/artifacts/x.json","segments":["runs","r1","artifacts","x.json"],"in_project":true}]}}`},
	{1, ledger.ApprovalRequested, `{"verdict_seq":12,"call_id":"c11","tool":"write_json_file","proposal":11}`},
	{0, ledger.ApprovalGranted, `{"kind":"call","after":"$AFTER","call":11,"call_id":"c11","tool":"write_json_file","digest":"d","objects":[{"param":"artifact_name","access":"write","path":"/p/runs/r1/artifacts/x.json"}],
		"policy_revision":"p","expires":"2026-03-01T10:10:00Z","times":1,"by":"eve","signed":true,"note":"…"}`}, // 14
	{1, ledger.ModelProposed, `{"call_id":"c15","tool":"write_json_file","call":{"name":"write_json_file","arguments":{"artifact_name":"x.json"}}}`},
	{1, ledger.ToolAllowed, `{"verdict":"allow","reason":"allowed","call_id":"c15","proposal":15,"reasons":[{"code":"allowed"}],
		"input":{"targets":[{"requested":"runs/r1/artifacts/x.json","resolution":"absent","path":"/p/runs/r1/artifacts/x.json","segments":["runs","r1","artifacts","x.json"],"in_project":true}]}}`},
	{1, ledger.ApprovalUsed, `{"approval":14,"verdict_seq":16,"call_id":"c15","remaining":0}`},
	{1, ledger.ToolStarted, `{"verdict_seq":16,"call_id":"c15","tool":"write_json_file"}`}, // 18
	{1, ledger.ToolSucceeded, `{"started_seq":18,"verdict_seq":16,"call_id":"c15","tool":"write_json_file","output_bytes":60,"artifacts":[{"path":"runs/r1/artifacts/x.json","bytes":1300,"digest":"` + twelve + `"}],"duration_us":400}`},
	{1, ledger.PlanStepCompleted, `{"step":"write","index":2,"result_seq":19,"artifacts":[{"path":"runs/r1/artifacts/x.json","bytes":1300,"digest":"` + twelve + `"}]}`}, // 20
	{0, ledger.ModelProposed, `{"call_id":"c21","tool":"run_tests","call":{"name":"run_tests","arguments":{}}}`},
	{0, ledger.ToolAllowed, `{"verdict":"allow","reason":"allowed","call_id":"c21","proposal":21,"input":{"targets":[],"command":{"present":true,"argv":["python","-c","print(1)\u202e x"]}}}`},
	{0, ledger.ToolStarted, `{"verdict_seq":22,"call_id":"c21","tool":"run_tests"}`}, // 23
	{0, ledger.ToolFailed, `{"started_seq":23,"verdict_seq":22,"call_id":"c21","tool":"run_tests","error_code":"handler_timeout","message":"took\nlonger","duration_us":60000000,"artifacts":[]}`},
	{0, ledger.ModelProposed, `{"call_id":"c25","malformed":true,"bytes":3,"digest":"sha256:0123456789abcdef"}`},
	{0, ledger.ToolDenied, `{"verdict":"deny","reason":"malformed_call","call_id":"c25","proposal":25,"reasons":[{"code":"malformed_call"}],"input":null}`},
	{0, ledger.ModelProposed, `{"call_id":"c27","tool":"delete_file","call":{"name":"delete_file","arguments":{"path":"data/old"}}}`},
	{0, ledger.ToolAllowed, `{"verdict":"allow","reason":"allowed","call_id":"c27","proposal":27,"input":{"targets":[{"requested":"data/old","path":"/p/data/old","segments":["data","old"],"in_project":true}]}}`},
	{0, ledger.ToolDenied, `{"verdict":"deny","reason":"object_changed","call_id":"c27","proposal":27,"reasons":[]}`}, // 29
	{0, ledger.ApprovalGranted, `{"kind":"budget","after":"$AFTER","by":"eve\u001b[1m","signed":false}`},
	{1, ledger.ApprovalRefused, `{"call":3,"call_id":"c3","tool":"write_json_file","digest":"d","by":"bob","signed":false}`},
	{0, ledger.Note, `{"note":"the window\nis open"}`},
	{0, ledger.ModelProposed, `{"call_id":"c33","tool":"wait","call":{"name":"wait","arguments":{}}}`},
	{0, ledger.ToolAllowed, `{"verdict":"allow","reason":"allowed","call_id":"c33","proposal":33,"input":{"command":{"argv":["sleep","60"]}}}`},
	{0, ledger.ToolStarted, `{"verdict_seq":34,"call_id":"c33","tool":"wait"}`}, // 35
	{1, ledger.LedgerRecovered, `{"dropped_bytes":7,"sha256":"00","offset":1,"file":"events.jsonl.torn.36","completed":false}`},
	{1, ledger.ToolUnknown, `{"started_seq":35,"verdict_seq":34}`},
	{1, ledger.ApprovalRefused, `{"by":["odd\u001b"]}`},
	{1, ledger.ModelProposed, `{"call_id":"c39","tool":"read_file","call":{"name":"read_file","arguments":{"path":"data/a"}}}`},
	{1, ledger.RunStopped, `{"status":"failed","reasons":[{"code":"artifact_missing","message":"report.md is not there","path":"report.md"}],"cause":"input_ended","calls":9,
		"verdicts":{"allow":4,"deny":3,"block":1,"ask":1},"codes":{"allowed":4,"outside_roots":1},"failures":{"handler_timeout":1},"truncated":1,"unknown":1,"steps":["read","write"],
		"artifacts":[{"path":"runs/r1/artifacts/x.json","bytes":1300,"digest":"` + twelve + `"}],"duration_ms":4100}`},
	{0, ledger.Note, `{"kind":"late_result","started_seq":23,"verdict_seq":22,"call_id":"c21","tool":"run_\u001btests","error_code":"","output_bytes":1234,"output_digest":"d",
		"artifacts":[{"path":"runs/r1/artifacts/x.json","bytes":1300,"digest":"` + twelve + `"}],"removed":["data/old"],"duration_us":61000000}`}, // 41
	{0, ledger.Note, `{"kind":"late_result","started_seq":35,"verdict_seq":34,"call_id":"c33","tool":"wait","error_code":"handler_failed","artifacts":[],"duration_us":1000}`},
}

const wholeTimeline = `run r1, 2026-03-01 UTC
    1  10:00:00  started by cli, policy 123456789abc, manifest aa
                           goal   Say what hurts
                           skill  feedback: Feedback analysis
                           input  feedback: data/f.csv  1,234 B ff
── step read: Read it (1 of 2) ──
    #  time      call      tool                 what                    result
    2  10:00:00  …_column  read_feedback_csv    data/f.csv  gave 91,234 B 1.2 ms, truncated, 8,000 B of it told
    3  10:00:01  c3        write_json_file      artifacts/x.json        blocked step_tool_not_allowed
    7  10:00:03  c7        read_file            "data/a  ok" → /etc/passwd  denied outside_roots, hard_link
── step read complete (1 of 2) ──
── next: write: Write \x1b[2Jit ──
   11  10:00:05  c11       write_json_file      artifacts/x.json        asks approval_required
   14  10:00:06  eve approved call 11: write_json_file artifacts/x.json
                           1 use until 2026-03-01T10:10:00Z, marked signed
   15  10:00:07  c15       write_json_file      artifacts/x.json
                           by approval 14, 0 uses left, wrote 1,300 B 123456789abc 0.4 ms
── step write complete (2 of 2) ──
                           has    artifacts/x.json  1,300 B 123456789abc
   21  10:00:10  c21       run_tests            python -c "print(1)\u202e x"  failed handler_timeout 60.0 s
                           took\nlonger
   25  10:00:12  c25       (not a call)         3 B 0123456789ab        denied malformed_call
   27  10:00:13  c27       delete_file          data/old  allowed, not started, denied object_changed
   30  10:00:14  eve\x1b[1m reset the budget of refused calls, unsigned
   31  10:00:15  bob refused call 3: write_json_file, unsigned
   32  10:00:15  note  the window\nis open
   33  10:00:16  c33       wait                 sleep 60                no end: it may have happened
   36  10:00:17  recovered  7 bytes of a torn line were set aside
   38  10:00:18  approval_refused  {"by":["odd\u001b"]}
   39  10:00:19  c39       read_file            {"path":"data/a"}       not judged
── run failed ──
   40  10:00:19  input_ended, after 4.1s
                           reason     artifact_missing: report.md is not there
                           calls      9: allow 4, deny 3, ask 1, block 1
                           codes      allowed 4, outside_roots 1
                           failures   handler_timeout 1
                           truncated  1
                           no end     1
                           steps      read, write
                           artifact   artifacts/x.json  1,300 B 123456789abc
   41  10:00:20  note  late: run_\x1btests of call c21, started at 23, gave 1,234 B 61.0 s; its result was dropped
                           wrote artifacts/x.json  1,300 B 123456789abc
                           removed data/old
   42  10:00:20  note  late: wait of call c33, started at 35, failed handler_failed 1.0 ms; its result was dropped
`

// TestTimeline holds the timeline to a run of two processes, word for word.
func TestTimeline(t *testing.T) {
	dir := recordRun(t, wholeRun)
	var out bytes.Buffer
	if err := showTimeline(&out, dir); err != nil {
		t.Fatal(err)
	}
	if out.String() != wholeTimeline {
		t.Errorf("got\n%s\nwant\n%s", out.String(), wholeTimeline)
	}
}

// TestTimelineLosesNothing leaves out one event after the other: the timeline
// is another one each time. And a payload that no one understands is shown.
func TestTimelineLosesNothing(t *testing.T) {
	var events []*ledger.Event
	for ev, err := range ledger.Read(recordRun(t, wholeRun)) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	whole := timelineOf(events)
	for i, ev := range events {
		without := append(append([]*ledger.Event{}, events[:i]...), events[i+1:]...)
		if timelineOf(without) == whole {
			t.Errorf("event %d (%s) is not in the timeline", ev.Seq, ev.Type)
		}
		odd := *ev
		odd.Payload = json.RawMessage(`{"call_id":["\u001b[2J"],"tool":1,"call":"x","by":2,"step":3,"status":4,"reason":5,"verdict":6,"started_seq":"s","verdict_seq":"s","note":{"n":1},"goal":7}`)
		with := append([]*ledger.Event{}, events...)
		with[i] = &odd
		if got := timelineOf(with); !strings.Contains(got, `\u001b[2J`) && !strings.Contains(got, `{"n":1}`) || strings.Contains(got, "\x1b") {
			t.Errorf("event %d (%s) with an odd payload: %q", ev.Seq, ev.Type, got)
		}
	}
}

// TestTimelineHoldsLittle: calls that never end do not pile up, and an end that
// comes when its call is written has a line of its own.
func TestTimelineHoldsLittle(t *testing.T) {
	var out bytes.Buffer
	tl := &timeline{out: &out, open: map[int64]*callLine{}}
	add := func(seq int64, typ, payload string) {
		tl.add(&ledger.Event{RunID: "r1", Seq: seq, TS: "2026-03-01T10:00:00.000000Z", Type: typ, Payload: json.RawMessage(payload)})
	}
	add(1, ledger.RunStarted, `{}`)
	for seq := int64(2); seq < 5000; seq++ {
		add(seq, ledger.ModelProposed, `{"tool":"read_file"}`)
		if len(tl.held) > maxHeld || len(tl.open) > maxHeld {
			t.Fatalf("event %d: %d entries and %d seqs are held", seq, len(tl.held), len(tl.open))
		}
	}
	if n := strings.Count(out.String(), "not judged"); n != 4998-maxHeld {
		t.Errorf("%d calls are written", n)
	}
	add(5000, ledger.ToolDenied, `{"verdict":"deny","reason":"not_found","proposal":2}`)
	tl.flush(0)
	if want := " 5000  10:00:00  call 2 denied not_found\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("ends in %q", out.String()[out.Len()-len(want):])
	}
}

func timelineOf(events []*ledger.Event) string {
	var out bytes.Buffer
	tl := &timeline{out: &out, open: map[int64]*callLine{}}
	for _, ev := range events {
		tl.add(ev)
	}
	tl.flush(0)
	return out.String()
}

// recordRun writes a ledger through two Logs, one event a commit, half a second
// apart.
func recordRun(t *testing.T, events []written) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "runs", "r1")
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	var logs [2]*ledger.Log
	for i := range logs {
		l, err := ledger.Open(dir, ledger.Options{Create: true, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		logs[i] = l
	}
	for i, ev := range events {
		var payload bytes.Buffer
		if err := json.Compact(&payload, []byte(ev.payload)); err != nil {
			t.Fatalf("event %d: %v", i+1, err)
		}
		err := logs[ev.writer].Commit(context.Background(), func(tx *ledger.Tx) error {
			text := bytes.ReplaceAll(payload.Bytes(), []byte("$AFTER"), []byte(tx.LastHash()))
			seq, err := tx.Add(ev.typ, json.RawMessage(text))
			if err == nil && seq != int64(i+1) {
				err = fmt.Errorf("is number %d", seq)
			}
			return err
		})
		if err != nil {
			t.Fatalf("event %d: %v", i+1, err)
		}
		now = now.Add(500 * time.Millisecond)
	}
	return dir
}
