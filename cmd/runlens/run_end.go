package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/ledger"
)

// openAsk is a call that policy asks a person about and nobody has answered.
type openAsk struct {
	call int64 // seq of its proposal
	tool string
}

// openAsks are the calls of a run whose last verdict is an ask that no person has
// answered, oldest first. Calls of the same tool and arguments are one.
func openAsks(dir string) ([]openAsk, error) {
	type asked struct {
		openAsk
		digest string
	}
	judging := map[int64]asked{} // by the seq of the proposal, until its verdict
	asks := map[int64]string{}   // digest of each call that was asked about
	open := map[string]openAsk{} // by digest
	for ev, err := range ledger.Read(dir) {
		if err != nil {
			return nil, err
		}
		var p struct {
			Tool     string `json:"tool"`
			Digest   string `json:"digest"`
			Verdict  string `json:"verdict"`
			Proposal int64  `json:"proposal"`
			Call     int64  `json:"call"`
		}
		switch ev.Type {
		case ledger.ModelProposed:
			var p struct{ Tool, Digest string }
			if err := json.Unmarshal(ev.Payload, &p); err != nil {
				return nil, err
			}
			judging[ev.Seq] = asked{openAsk{ev.Seq, p.Tool}, p.Digest}
		case ledger.ToolAllowed, ledger.ToolDenied, ledger.ToolBlocked:
			if err := json.Unmarshal(ev.Payload, &p); err != nil {
				return nil, err
			}
			call, known := judging[p.Proposal]
			delete(judging, p.Proposal)
			switch {
			case !known:
			case p.Verdict == "ask":
				open[call.digest], asks[call.call] = call.openAsk, call.digest
			default:
				delete(open, call.digest)
			}
		case ledger.ApprovalGranted, ledger.ApprovalRefused:
			if err := json.Unmarshal(ev.Payload, &p); err != nil {
				return nil, err
			}
			delete(open, asks[p.Call])
		}
	}
	return slices.SortedFunc(maps.Values(open), func(a, b openAsk) int { return int(a.call - b.call) }), nil
}

// maxAsks is how many calls that wait a person is told.
const maxAsks = 5

// askHint says how a person answers the calls that wait.
func askHint(out io.Writer, run string, asks []openAsk) {
	for i, a := range asks {
		if i == maxAsks {
			fmt.Fprintf(out, "runlens: hint: … and %d more: `runlens ledger show %s`\n", len(asks)-i, run)
			break
		}
		fmt.Fprintf(out, "runlens: hint: %s waits for a person: `runlens approve %s %d --by NAME --ttl 10m`, then `runlens run --resume %s`\n",
			quoted(a.tool), run, a.call, run)
	}
}

// resumable adds to a provider's error how the run goes on.
func resumable(run string, err error) error {
	hint := fmt.Sprintf("`runlens run --resume %s`, with the same flags of the provider, goes on where it broke off", run)
	if t, ok := errors.AsType[*trouble](err); ok && t.hint != "" {
		hint = t.hint + "\n" + hint
	}
	return hinted(hint, "%w", err)
}

// Of what a model says last a person is told the head.
const (
	wordsLines = 12
	wordsWidth = 200
)

// lastWords shows what a model said when it stopped.
func lastWords(out io.Writer, conversation []json.RawMessage) {
	if len(conversation) == 0 {
		return
	}
	text := said(conversation[len(conversation)-1])
	if text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if i == wordsLines {
			fmt.Fprintf(out, "model: … and %s more, in messages.jsonl\n", counted(int64(len(lines)-i), "line"))
			break
		}
		fmt.Fprintf(out, "model: %s\n", cutHead(strings.TrimRight(line, " \r"), wordsWidth))
	}
}

// said is the text of a model's message, which some servers give in parts.
func said(message json.RawMessage) string {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		Refusal string          `json:"refusal"`
	}
	if json.Unmarshal(message, &m) != nil || m.Role != "assistant" {
		return ""
	}
	var text string
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &text) != nil && json.Unmarshal(m.Content, &parts) == nil {
		for _, part := range parts {
			text += part.Text
		}
	}
	return strings.TrimSpace(cmp.Or(text, m.Refusal))
}
