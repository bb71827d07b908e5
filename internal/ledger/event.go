package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// The closed set of event types.
const (
	RunStarted        = "run_started"
	ModelProposed     = "model_proposed"
	ToolAllowed       = "tool_allowed"
	ToolDenied        = "tool_denied"
	ToolBlocked       = "tool_blocked"
	ToolStarted       = "tool_started"
	ToolSucceeded     = "tool_succeeded"
	ToolFailed        = "tool_failed"
	ToolUnknown       = "tool_unknown"
	PlanStepCompleted = "plan_step_completed"
	ApprovalRequested = "approval_requested"
	ApprovalGranted   = "approval_granted"
	ApprovalRefused   = "approval_refused"
	ApprovalUsed      = "approval_used"
	RunStopped        = "run_stopped"
	LedgerRecovered   = "ledger_recovered"
	Note              = "note"
)

// Types lists every event type.
func Types() []string {
	return []string{
		RunStarted, ModelProposed, ToolAllowed, ToolDenied, ToolBlocked, ToolStarted,
		ToolSucceeded, ToolFailed, ToolUnknown, PlanStepCompleted, ApprovalRequested,
		ApprovalGranted, ApprovalRefused, ApprovalUsed, RunStopped, LedgerRecovered, Note,
	}
}

// MaxLine bounds a line, in bytes without its newline.
const MaxLine = 32 << 20

// Genesis is the prev of the first event.
const Genesis = "0000000000000000000000000000000000000000000000000000000000000000"

const (
	version  = 1
	tsLayout = "2006-01-02T15:04:05.000000Z"
	// tailLen is what stands behind the payload: ,"prev":"<64 hex>"}
	tailLen = len(`,"prev":"`) + len(Genesis) + len(`"}`)
)

// Event is one line of the ledger.
type Event struct {
	V       int
	RunID   string
	Seq     int64
	TS      string // as written; Time parses it
	Type    string
	Payload json.RawMessage // one JSON object on one line
	Prev    string

	Hash   string // hex SHA-256 of the line; the next event's Prev
	Offset int64  // where the line starts in events.jsonl
	Size   int64  // of the line, in bytes without its newline
}

// Time returns the event's time. It is zero for an event that was not read
// from a ledger.
func (e *Event) Time() time.Time {
	t, _ := time.Parse(tsLayout, e.TS)
	return t
}

// AppendLine appends the event's line, without newline, to dst.
// For an event that was read it gives the bytes that were read.
func (e *Event) AppendLine(dst []byte) []byte {
	dst = append(dst, `{"v":`...)
	dst = strconv.AppendInt(dst, int64(e.V), 10)
	dst = append(dst, `,"run_id":"`...)
	dst = append(dst, e.RunID...)
	dst = append(dst, `","seq":`...)
	dst = strconv.AppendInt(dst, e.Seq, 10)
	dst = append(dst, `,"ts":"`...)
	dst = append(dst, e.TS...)
	dst = append(dst, `","type":"`...)
	dst = append(dst, e.Type...)
	dst = append(dst, `","payload":`...)
	dst = append(dst, e.Payload...)
	dst = append(dst, `,"prev":"`...)
	dst = append(dst, e.Prev...)
	return append(dst, `"}`...)
}

// CheckRunID refuses an id that does not match ^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$.
func CheckRunID(id string) error {
	if len(id) > 64 {
		return errors.New("check run id: longer than 64 bytes")
	}
	if !validRunID(id) {
		return fmt.Errorf("check run id %q: want a letter or digit, then letters, digits, '.', '_' or '-'", id)
	}
	return nil
}

func validRunID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		alnum := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

// parse reads one line, without its newline, in the exact form of the package
// comment. Payload aliases line. Errors name the field, never its value.
func parse(line []byte) (ev Event, found links, err error) {
	if len(line) > MaxLine {
		return ev, found, errTooLong
	}
	head, ok := bytes.CutPrefix(line, []byte(`{"v":1,"run_id":"`))
	if !ok {
		return ev, found, errors.New("does not begin with the version and run_id of this format")
	}
	ev.V = version
	var seq string
	for _, f := range [...]struct {
		name, behind string
		value        *string
	}{
		{"run_id", `","seq":`, &ev.RunID},
		{"seq", `,"ts":"`, &seq},
		{"ts", `","type":"`, &ev.TS},
		{"type", `","payload":`, &ev.Type},
	} {
		value, rest, ok := cutNear(head, f.behind)
		if !ok {
			return ev, found, fmt.Errorf("%s is not where it belongs", f.name)
		}
		*f.value, head = string(value), rest
	}
	ev.Seq, err = parseSeq(seq)
	switch {
	case err != nil:
		return ev, found, fmt.Errorf("seq %w", err)
	case !validRunID(ev.RunID):
		return ev, found, errors.New("run_id is not a run id")
	case !validTS(ev.TS):
		return ev, found, errors.New("ts is not RFC 3339 UTC with six fractional digits")
	case !validType(ev.Type):
		return ev, found, errors.New("type is not an event type")
	case len(head) < tailLen:
		return ev, found, errors.New("prev is not where it belongs")
	}
	body, tail := head[:len(head)-tailLen], head[len(head)-tailLen:]
	tail, before := bytes.CutPrefix(tail, []byte(`,"prev":"`))
	tail, behind := bytes.CutSuffix(tail, []byte(`"}`))
	if !before || !behind || !lowerHex(tail) {
		return ev, found, errors.New("prev is not 64 lower-case hex digits at the end")
	}
	if found, err = scanPayload(body); err != nil {
		return ev, found, err
	}
	ev.Payload, ev.Prev = body, string(tail)
	ev.Hash, ev.Size = hashLine(line), int64(len(line))
	return ev, found, nil
}

var errTooLong = fmt.Errorf("longer than %d bytes", MaxLine)

// cutNear is bytes.Cut for a separator that stands near the start, so that a
// bad line costs no search through a payload of megabytes.
func cutNear(b []byte, sep string) (before, after []byte, found bool) {
	i := bytes.Index(b[:min(len(b), 128)], []byte(sep))
	if i < 0 {
		return nil, nil, false
	}
	return b[:i], b[i+len(sep):], true
}

func lowerHex(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(b) == len(Genesis)
}

// parseSeq accepts what AppendInt writes for 1 and above.
func parseSeq(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || s[0] < '1' || s[0] > '9' {
		return 0, errors.New("is not a positive integer without leading zeros")
	}
	return n, nil
}

func validTS(s string) bool {
	if len(s) != len(tsLayout) || s[19] != '.' {
		return false
	}
	_, err := time.Parse(tsLayout, s)
	return err == nil
}

func validType(s string) bool {
	switch s {
	case RunStarted, ModelProposed, ToolAllowed, ToolDenied, ToolBlocked, ToolStarted,
		ToolSucceeded, ToolFailed, ToolUnknown, PlanStepCompleted, ApprovalRequested,
		ApprovalGranted, ApprovalRefused, ApprovalUsed, RunStopped, LedgerRecovered, Note:
		return true
	}
	return false
}

func hashLine(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// foreign prepares text that somebody else chose for an error message.
func foreign(s string) string {
	return strconv.QuoteToASCII(s[:min(len(s), 200)])
}
