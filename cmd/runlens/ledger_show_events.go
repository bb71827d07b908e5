package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/report"
)

// showEvents writes one event a line:
//
//	3  14:03:01.131  tool_allowed    c2  allowed  /srv/app/workspace/src/app.py
func showEvents(out io.Writer, dir string) error {
	day := ""
	for ev, err := range ledger.Read(dir) {
		if err != nil {
			return err
		}
		date, clock, _ := strings.Cut(ev.TS, "T")
		if date != day {
			fmt.Fprintf(out, "run %s, %s UTC\n", ev.RunID, date)
			day = date
		}
		if len(clock) > 12 {
			clock = clock[:12]
		}
		fmt.Fprintf(out, "%6d  %s  %-18s %s\n", ev.Seq, clock, ev.Type, report.Escape(story(ev)))
	}
	return nil
}

// payload is what the timeline tells of an event. It is read loosely: a field
// that is missing tells nothing.
type payload struct {
	CallID    string          `json:"call_id"`
	Tool      string          `json:"tool"`
	Reason    string          `json:"reason"`
	Path      string          `json:"path"`
	Digest    string          `json:"digest"`
	Bytes     int64           `json:"bytes"`
	Call      json.RawMessage `json:"call"`
	ErrorCode string          `json:"error_code"`
	Message   string          `json:"message"`
	Output    int64           `json:"output_bytes"`
	Micros    int64           `json:"duration_us"`
	Truncated bool            `json:"truncated"`
	Malformed bool            `json:"malformed"`
	Policy    string          `json:"policy_revision"`
	Manifest  string          `json:"manifest_revision"`
	Goal      string          `json:"goal"`
	Note      json.RawMessage `json:"note"`
	Kind      string          `json:"kind"`
	Dropped   int64           `json:"dropped_bytes"`
	Started   int64           `json:"started_seq"`
}

// story is what one event tells, in a few words.
func story(ev *ledger.Event) string {
	var p payload
	if err := json.Unmarshal(ev.Payload, &p); err != nil {
		return string(ev.Payload)
	}
	return strings.Join(slices.DeleteFunc(p.words(ev), func(w string) bool { return w == "" }), "  ")
}

func (p *payload) words(ev *ledger.Event) []string {
	switch ev.Type {
	case ledger.RunStarted:
		return []string{"policy " + short(p.Policy), "manifest " + short(p.Manifest), p.Goal}
	case ledger.ModelProposed:
		if p.Malformed && p.Call == nil {
			return []string{fmt.Sprintf("malformed, %d bytes, %s", p.Bytes, short(p.Digest))}
		}
		return []string{callID(p.CallID, ev.Seq), p.Tool, callWords(p.Call, p.Tool)}
	case ledger.ToolAllowed, ledger.ToolDenied, ledger.ToolBlocked:
		return []string{p.CallID, p.Reason, p.Path}
	case ledger.ToolSucceeded:
		cut := ""
		if p.Truncated {
			cut = "truncated"
		}
		return []string{p.CallID, p.Tool, fmt.Sprintf("%d bytes, %s", p.Output, millis(p.Micros)), cut}
	case ledger.ToolFailed:
		return []string{p.CallID, p.Tool, p.ErrorCode, p.Message}
	case ledger.ToolUnknown:
		return []string{fmt.Sprintf("what event %d started has no end: it may have happened", p.Started)}
	case ledger.Note:
		if p.Kind == lateResult {
			return []string{p.lateWords()}
		}
		var text string
		if json.Unmarshal(p.Note, &text) != nil {
			text = string(p.Note)
		}
		return []string{text}
	case ledger.LedgerRecovered:
		return []string{fmt.Sprintf("%d bytes of a torn line were set aside", p.Dropped)}
	}
	return []string{p.CallID, p.Tool, p.Reason}
}

// lateResult is the kind of a note about a result that came when its call had ended
// without it.
const lateResult = "late_result"

func (p *payload) lateWords() string {
	came := fmt.Sprintf("gave %s B", commas(p.Output))
	if p.ErrorCode != "" {
		came = "failed " + p.ErrorCode
	}
	return fmt.Sprintf("late: %s of call %s, started at %d, %s %s; its result was dropped", p.Tool, p.CallID, p.Started, came, took(p.Micros))
}

// callID is the name of a call; one that came without is named after its event.
func callID(given string, seq int64) string {
	if given == "" {
		return fmt.Sprintf("c%d", seq)
	}
	return given
}

// callWords is a proposal's arguments, cut to a line.
func callWords(call json.RawMessage, tool string) string {
	var c struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(call, &c) != nil || c.Arguments == nil {
		return ""
	}
	text := string(c.Arguments)
	if most := 120 - len(tool); len(text) > most && most > 0 {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
