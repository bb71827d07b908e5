package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/replay"
	"github.com/runlens/runlens/internal/report"
)

// What a comparison ends with: the worst of what it came to.
func TestFlipsCode(t *testing.T) {
	judged := []report.Covered{{What: "recorded runs", Inputs: 4, Judged: 3, Same: 2}}
	unjudged := []report.Unjudged{{Cause: "altered", Example: &replay.Example{Count: 1}}}
	broken := []replay.Broken{{Where: "runs/bad", Err: errors.New("read runs/bad: broken")}}
	trouble := map[string]*replay.Example{"policy_error": {Count: 1, File: "runs/demo/events.jsonl", Line: 3, Note: "divides"}}
	allow, deny := replay.Verdict{Effect: engine.Allow}, replay.Verdict{Effect: engine.Deny}
	flipped := func(old, now replay.Verdict) *replay.Groups {
		g := &replay.Groups{}
		g.Add(replay.Flip{Class: replay.Compare(old, now), Old: old, New: now})
		return g
	}
	for name, c := range map[string]struct {
		flips report.Flips
		code  int
		says  string
	}{
		"same":                     {report.Flips{Covered: judged}, exitAllowed, ""},
		"nothing":                  {report.Flips{}, exitNothing, "note: nothing was judged"},
		"loosened":                 {report.Flips{Covered: judged, Groups: flipped(deny, allow)}, exitDenied, ""},
		"loosened, none counts":    {report.Flips{Covered: judged, Groups: flipped(deny, allow), FailOn: report.FailOnNone}, exitAllowed, ""},
		"tightened":                {report.Flips{Covered: judged, Groups: flipped(allow, deny)}, exitAllowed, ""},
		"tightened, any counts":    {report.Flips{Covered: judged, Groups: flipped(allow, deny), FailOn: report.FailOnAny}, exitDenied, ""},
		"not judged":               {report.Flips{Covered: judged, Unjudged: unjudged}, exitRecord, "note: more than 0 %"},
		"not judged, within limit": {report.Flips{Covered: judged, Unjudged: unjudged, Limit: 25}, exitAllowed, ""},
		"not judged, and loosened": {report.Flips{Covered: judged, Unjudged: unjudged, Groups: flipped(deny, allow)}, exitDenied, ""},
		"only not judged":          {report.Flips{Unjudged: unjudged}, exitRecord, ""},
		"only not judged, allowed": {report.Flips{Unjudged: unjudged, Limit: 100}, exitNothing, ""},
		"broken":                   {report.Flips{Covered: judged, Broken: broken, Groups: flipped(deny, allow)}, exitBroken, "error: read runs/bad: broken"},
		"trouble":                  {report.Flips{Covered: judged, Trouble: trouble}, exitBroken, "error: judge runs/demo/events.jsonl:3 by changed: policy_error in 1 verdicts: divides"},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			c.flips.New.Name = "changed"
			if got := (&world{stderr: &stderr}).flipsCode(&c.flips); got != c.code || !strings.Contains(stderr.String(), c.says) {
				t.Errorf("exit code %d, want %d, stderr %q, want %q", got, c.code, stderr.String(), c.says)
			}
		})
	}
}

// A replay that is ended gives no report, and says that there is none.
func TestReplayEnded(t *testing.T) {
	e, err := (&project{w: &world{stderr: io.Discard}, dir: "."}).loadTree(embeddedTree)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	out := &flipsWriter{w: &world{stdout: &stdout, stderr: &stderr, now: time.Now}, format: "text"}
	_, err = out.replay(ctx, nil, replay.Options{New: e})
	if code := exitCode(err, &stderr); code != exitBroken || !strings.Contains(stderr.String(), "error: replay runs: ended before all was judged") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
	if stdout.Len() > 0 {
		t.Errorf("there is a report: %s", stdout.String())
	}
}

// At a terminal the progress line is gone before anything else is written.
func TestMeter(t *testing.T) {
	var stderr bytes.Buffer
	now := time.Unix(0, 0)
	m := meter{w: &world{stderr: &stderr, stderrTerminal: true, now: func() time.Time { return now }}, began: now}
	m.show(1, 4<<20)
	now = now.Add(progressAfter)
	m.show(1<<20, 4<<20)
	m.show(2<<20, 4<<20)
	m.clear()
	m.clear()
	if got, want := stderr.String(), "\rjudged 25 % of 4.0 MiB\x1b[K\r\x1b[K"; got != want {
		t.Errorf("the terminal gets %q, want %q", got, want)
	}
}

// Where nobody looks, a log say, there is no progress line, however long it takes.
func TestMeterUnseen(t *testing.T) {
	var stderr bytes.Buffer
	now := time.Unix(0, 0)
	m := meter{w: &world{stderr: &stderr, now: func() time.Time { return now }}, began: now}
	for range 3 {
		now = now.Add(10 * progressAfter)
		m.show(1<<20, 4<<20)
	}
	m.clear()
	if stderr.Len() > 0 {
		t.Errorf("stderr gets %q", stderr.String())
	}
}
