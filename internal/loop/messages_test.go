package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/executor"
)

// faulty makes chosen steps fail. The zero value lets everything through.
type faulty struct {
	keeper
	write, truncate, sync error
	short                 int // bytes of a failing write that reach the file
}

func (f *faulty) Write(p []byte) (int, error) {
	if f.write == nil {
		return f.keeper.Write(p)
	}
	n, _ := f.keeper.Write(p[:min(f.short, len(p))])
	return n, f.write
}

func (f *faulty) Truncate(size int64) error {
	if f.truncate != nil {
		return f.truncate
	}
	return f.keeper.Truncate(size)
}

func (f *faulty) Sync() error {
	if f.sync != nil {
		return f.sync
	}
	return f.keeper.Sync()
}

func success(output map[string]any) *executor.ToolResult {
	return &executor.ToolResult{CallID: "c1", ToolName: "t", Status: executor.StatusSuccess, Output: output, Observation: "told"}
}

func read(t *testing.T, dir string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, messagesName))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMessages(t *testing.T) {
	dir := t.TempDir()
	m := reopen(t, dir)
	for _, err := range []error{
		m.Say(json.RawMessage("{\n \"role\": \"user\",\"content\":\"<a>\"}")),
		m.Keep(12, success(map[string]any{"n": 1, "s": "<&>"})),
		m.Keep(0, &executor.ToolResult{CallID: "c2", Status: executor.StatusDenied, Seq: 15}),
		m.Say(json.RawMessage(`{"role":"assistant"}`)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	recorded, err := json.Marshal(map[string]any{"n": 1, "s": "<&>"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"message","message":{"role":"user","content":"<a>"}}
{"type":"result","started":12,"call_id":"c1","digest":"` + executor.OutputDigest(recorded) + `","result":{"call_id":"c1","tool_name":"t","status":"success","output":{"n":1,"s":"<&>"},"error_message":"","error_code":"","retryable":false,"reason":"","reasons":null,"truncated":false,"run_id":"","seq":0,"observation":"told"}}
{"type":"result","started":0,"call_id":"c2","result":{"call_id":"c2","tool_name":"","status":"denied","output":null,"error_message":"","error_code":"","retryable":false,"reason":"","reasons":null,"truncated":false,"run_id":"","seq":15}}
{"type":"message","message":{"role":"assistant"}}
`
	if got := read(t, dir); got != want {
		t.Errorf("the file:\n%swant:\n%s", got, want)
	}
	info, err := os.Stat(filepath.Join(dir, messagesName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for range 2 {
		if r, ok := m.Told(12); !ok || r.Observation != "told" || fmt.Sprint(r.Output) != "map[n:1 s:<&>]" {
			t.Errorf("told: %v", r)
		}
		for _, unknown := range []int64{0, 1, 15} {
			if r, ok := m.Told(unknown); ok {
				t.Errorf("told of %d: %v", unknown, r)
			}
		}
		if got := fmt.Sprintf("%s", m.Conversation()); got != `[{"role":"user","content":"<a>"} {"role":"assistant"}]` {
			t.Errorf("conversation: %s", got)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		m = reopen(t, dir)
	}
	if err := m.Say(json.RawMessage(`"text"`)); err == nil {
		t.Error("a message that is no object is kept")
	}
}

// A line that a crash cut short is cut off; the rest stays.
func TestTorn(t *testing.T) {
	whole := `{"type":"message","message":{"n":1}}` + "\n"
	last := `{"type":"message","message":{"n":2}}`
	for n := range len(last) + 1 {
		dir := t.TempDir()
		write(t, dir, whole+last[:n])
		m := reopen(t, dir)
		if got := read(t, dir); got != whole {
			t.Fatalf("%d bytes of the last line: %q", n, got)
		}
		if err := m.Say(json.RawMessage(`{"n":3}`)); err != nil {
			t.Fatal(err)
		}
		if got := read(t, dir); got != whole+`{"type":"message","message":{"n":3}}`+"\n" {
			t.Fatalf("%d bytes of the last line, then one more: %q", n, got)
		}
	}
	dir := t.TempDir()
	write(t, dir, whole+strings.Repeat("x", maxLine+1))
	reopen(t, dir)
	if got := read(t, dir); got != whole {
		t.Errorf("a long torn line: %d bytes", len(got))
	}
}

func write(t *testing.T, dir, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, messagesName), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Anything else that is odd is said, with its line, and nothing is changed.
func TestOddMessages(t *testing.T) {
	good := `{"type":"message","message":{"n":1}}` + "\n"
	for _, odd := range []string{
		"", "x", "[]", `{}`, `null`, `{"type":"other","message":{}}`, `{"type":"message"}`, `{"type":"message","message":1}`,
		`{"type":"message","message":{}} {}`, `{"type":"message","message":{},"more":1}`,
		`{"type":"message","message":{},"started":1}`, `{"type":"result","result":{}}`, `{"type":"result","started":-1,"result":{}}`,
		`{"type":"result","started":1}`, `{"type":"result","started":1,"result":[]}`, `{"type":"result","started":"1","result":{}}`,
		`{"type":"result","started":0,"result":{"seq":"1"}}`, `{"type":"result","started":1,"result":{},"message":{}}`,
		"{\"type\":\"message\",\"message\":{\x00}}", strings.Repeat("x", maxLine),
	} {
		dir := t.TempDir()
		content := good + odd + "\n" + good
		write(t, dir, content)
		m, err := OpenMessages(dir)
		if err == nil {
			m.Close()
			t.Errorf("%.80q: no error", odd)
		} else if want := messagesName + ":2: "; !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%.80q: %v", odd, err)
		}
		if read(t, dir) != content {
			t.Errorf("%.80q: the file changed", odd)
		}
	}
}

// A disk that is full leaves the file as it was; one that fails a sync or cannot
// take a part back gets nothing more.
func TestMessagesFaults(t *testing.T) {
	full := errors.New("no space left")
	for name, test := range map[string]struct {
		f     faulty
		again bool // the next one is kept once the disk is well
	}{
		"nothing written":    {faulty{write: full}, true},
		"a part written":     {faulty{write: full, short: 9}, true},
		"a part stays there": {faulty{write: full, short: 9, truncate: errors.New("no")}, false},
		"not synced":         {faulty{sync: full}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m := reopen(t, dir)
			if err := m.Keep(1, success(nil)); err != nil {
				t.Fatal(err)
			}
			f := test.f
			f.keeper = m.file
			m.file = &f
			if err := m.Keep(2, success(nil)); !errors.Is(err, full) {
				t.Fatalf("kept on a broken disk: %v", err)
			}
			if _, ok := m.Told(2); ok {
				t.Error("what was not kept is told")
			}
			f.write, f.truncate, f.sync = nil, nil, nil
			if err := m.Keep(3, success(nil)); (err == nil) != test.again {
				t.Errorf("after it: %v", err)
			}
			m.Close()
			m = reopen(t, dir)
			for seq, want := range map[int64]bool{1: true, 3: test.again} {
				if _, ok := m.Told(seq); ok != want {
					t.Errorf("told %d after reopening: %t", seq, ok)
				}
			}
		})
	}
}

// A result of megabytes is kept whole; one beyond a line is kept as it was told.
func TestLargeResults(t *testing.T) {
	dir := t.TempDir()
	m := reopen(t, dir)
	large := map[string]any{"content": strings.Repeat("\x01", 2_000_000)} // 12 MB as JSON
	if err := m.Keep(1, success(large)); err != nil {
		t.Fatal(err)
	}
	if err := m.Keep(2, success(map[string]any{"content": strings.Repeat("x", maxLine)})); err != nil {
		t.Fatal(err)
	}
	m.Close()
	m = reopen(t, dir)
	if r, ok := m.Told(1); !ok || r.Output["content"] != large["content"] {
		t.Error("the large result is lost")
	}
	if r, ok := m.Told(2); !ok || r.Output != nil || r.Observation != "told" {
		t.Error("what was told of the larger result is lost")
	}
	long := json.RawMessage(`{"a":"` + strings.Repeat("x", maxLine) + `"}`)
	if err := m.Say(long); err == nil {
		t.Error("a message beyond a line is kept")
	}
}
