package executor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

// levels of isolation that programs are tested under.
var levels = []string{"full", "none"}

// program puts a shell script into the project, where it is a program.
func program(t testing.TB, project, name, script string) {
	t.Helper()
	write(t, project, name, "#!/bin/sh\n"+script)
	if err := os.Chmod(filepath.Join(project, name), 0o755); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// served opens an executor whose tools programs serve. Each declaration is that
// of one tool after its name; LEVEL in it becomes level.
func served(t testing.TB, project, level string, declared map[string]string, change func(*executor.Config)) *executor.Executor {
	t.Helper()
	if level == "full" {
		isolated(t)
	}
	var list []string
	for name, text := range declared {
		list = append(list, fmt.Sprintf("%q:%s", name, strings.ReplaceAll(text, "LEVEL", level)))
	}
	slices.Sort(list)
	set := tools(t, `{"schema_version":1,"tools":{`+strings.Join(list, ",")+`}}`)
	return open(t, project, func(c *executor.Config) {
		c.Tools, c.Stage = set, stage()
		if change != nil {
			change(c)
		}
	})
}

const (
	reads    = `{"operation":"read","handler":"exec:tools/p.sh","sandbox":"LEVEL","roots":["data"],"timeout_ms":20000}`
	computes = `{"operation":"compute","handler":"exec:tools/p.sh","sandbox":"LEVEL","timeout_ms":20000}`
	writes   = `{"operation":"write","handler":"exec:tools/p.sh","sandbox":"LEVEL","roots":["data"],"payload":[],"max_bytes":1000,"timeout_ms":20000}`
)

// The question is on stdin, the file is a descriptor, and the answer is the output.
func TestProgram(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			project := canonical(t)
			write(t, project, "data/a.txt", "one\ntwo\n")
			program(t, project, "tools/p.sh", `question=$(cat)
[ -z "$question" ] && exit 3
printf '{"question":%s,"lines":%d,"data":"%s","argv":"%s %d"}\n' "$question" "$(wc -l <&3)" "$(ls data 2>/dev/null)" "$0" $#
`)
			x := served(t, project, level, map[string]string{"count": `{"operation":"read","handler":"exec:tools/p.sh","sandbox":"LEVEL","roots":["data"],
				"timeout_ms":20000,"max_bytes":100,"targets":[{"param":"path","access":"read"}],"payload":["text"],
				"input_schema":{"type":"object","additionalProperties":false,"required":["path"],"properties":{
					"path":{"type":"string"},"text":{},"n":{"type":"number"}}}}`}, nil)
			r := x.Exec(context.Background(), []byte(`{"name":"count","arguments":{"path":"data/a.txt","n":1.50,"text":{"<b>":["\u0001"]}}}`), "r")
			if r.Status != executor.StatusSuccess {
				t.Fatalf("%s %s\n%v", r.ErrorCode, r.ErrorMessage, r.Output)
			}
			got, err := json.Marshal(r.Output["question"])
			want := `{"arguments":{"n":1.50,"text":{"\u003cb\u003e":["\u0001"]}},"max_bytes":100,"run_id":"r","schema_version":1,` +
				`"targets":{"path":{"access":"read","fd":3,"kind":"file","path":"data/a.txt","size":8}},"timeout_ms":20000,"tool":"count"}`
			if err != nil || string(got) != want {
				t.Errorf("it was asked %s\nwant          %s", got, want)
			}
			seen := map[string]string{"full": "", "none": "a.txt"}[level]
			if r.Output["lines"] != json.Number("2") || r.Output["data"] != seen {
				t.Errorf("read %v lines, saw %q, want %q", r.Output["lines"], r.Output["data"], seen)
			}
		})
	}
}

// What a run records of a program: the events in order, the command as a fact, the
// output by size and digest, and no text.
func TestProgramRecorded(t *testing.T) {
	project := canonical(t)
	program(t, project, "tools/p.sh", `echo secret words >&2; echo '{"n":3,"text":"told"}'`)
	x := served(t, project, "full", map[string]string{"p": computes}, nil)
	r := x.Exec(context.Background(), toolCall("p"), "r")
	if r.Status != executor.StatusSuccess || r.Output["text"] != "told" {
		t.Fatalf("%s %s", r.ErrorCode, r.ErrorMessage)
	}
	list := events(t, project, "r")
	want := []string{ledger.RunStarted, ledger.ModelProposed, ledger.ToolAllowed, ledger.ToolStarted, ledger.ToolSucceeded}
	if got := types(list); !slices.Equal(got, want) {
		t.Fatalf("events %v, want %v", got, want)
	}
	_, v := lastVerdict(t, list)
	var input struct {
		Command facts.Command
		Sandbox facts.Sandbox
	}
	if err := json.Unmarshal(v.Input, &input); err != nil {
		t.Fatal(err)
	}
	c := input.Command
	if !c.Present || !slices.Equal(c.Argv, []string{"tools/p.sh"}) || !slices.Equal(c.Run, c.Argv) || c.Dir != project ||
		c.Executable.Path != project+"/tools/p.sh" || !c.Executable.InProject || !c.Executable.Executable || c.Executable.Protected != facts.ProtectedHandler {
		t.Errorf("the command %+v", c)
	}
	if input.Sandbox.Level != "full" {
		t.Errorf("the sandbox %+v", input.Sandbox)
	}
	if text, err := os.ReadFile(project + "/runs/r/events.jsonl"); err != nil || strings.Contains(string(text), "told") || strings.Contains(string(text), "secret words") {
		t.Errorf("text of the program is recorded: %v", err)
	}
}

// Everything that a program can get wrong has a message of its own, and what it
// printed is told, harmless.
func TestProgramFaults(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)
	for _, c := range []struct{ name, script, code, says string }{
		{"exit code", `echo '{}'; echo why >&2; exit 3`, "handler_failed", "ended with exit code 3"},
		{"signal", `echo '{}'; kill -TERM $$`, "handler_failed", "SIGTERM ended it"},
		{"nothing", `true`, "handler_failed", "answer: empty"},
		{"no JSON", `echo done`, "handler_failed", "answer: not valid JSON"},
		{"no object", `echo '[1]'`, "handler_failed", "answer: not a JSON object"},
		{"two values", `echo '{}'; echo '{}'`, "handler_failed", "answer: more data after the value"},
		{"a key twice", `echo '{"a":1,"\u0061":2}'`, "handler_failed", "answer: key appears twice (byte 7)"},
		{"no UTF-8", `printf '{"a":"\377"}'`, "handler_failed", "answer: not valid UTF-8"},
		{"too deep", `echo '` + deep + `'`, "handler_failed", "nested too deep"},
		{"too long", `printf '{"a":"'; head -c 3000 /dev/zero | tr '\0' x; echo '"}'`, "handler_failed", "its answer has 3009 bytes, at most 2000 are taken"},
		{"a flood", `yes`, "handler_timeout", "the deadline came first"},
		{"a hang", `echo '{}'; echo begun >&2; sleep 1000 & sleep 1000`, "handler_timeout", "the deadline came first"},
		{"a late answer", `(sleep 2; echo '{}') >&1 & exit 0`, "handler_failed", "answer: empty"},
		{"another output", `echo '{"n":"three"}'`, "output_validation_failed", "output.n"},
		{"an undeclared key", `echo '{"n":3,"more":1}'`, "output_validation_failed", "output.*: unknown field"},
	} {
		for _, level := range levels {
			t.Run(c.name+" "+level, func(t *testing.T) {
				t.Parallel()
				project := canonical(t)
				program(t, project, "tools/p.sh", "printf 'a\\033[31mb' >&2\n"+c.script)
				timeout := 20000
				if c.code == "handler_timeout" {
					timeout = 700
				}
				x := served(t, project, level, map[string]string{"p": fmt.Sprintf(`{"operation":"compute","handler":"exec:tools/p.sh","sandbox":"LEVEL",
					"timeout_ms":%d,"limits":{"output_bytes":2000},
					"output_schema":{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer"}}}}`, timeout)}, nil)
				r := x.Exec(context.Background(), toolCall("p"), "r")
				if r.Status != executor.StatusFailed || r.ErrorCode != c.code || !strings.Contains(r.ErrorMessage, c.says) {
					t.Fatalf("%s %s %q, want %s %q", r.Status, r.ErrorCode, r.ErrorMessage, c.code, c.says)
				}
				stderr, _ := r.Output["stderr"].(string)
				if !strings.HasPrefix(stderr, `a\x1b[31mb`) || len(fmt.Sprint(r.Output)) > 6000 {
					t.Errorf("output %.300q", r.Output)
				}
				for _, key := range []string{"exit_code", "signal", "stdout"} {
					if _, has := r.Output[key]; !has {
						t.Errorf("output has no %s", key)
					}
				}
				if got := events(t, project, "r"); got[len(got)-1].Type != ledger.ToolFailed {
					t.Errorf("the last event is %s", got[len(got)-1].Type)
				}
			})
		}
	}
}

// Whoever calls can go away, and nothing is left.
func TestProgramCancelled(t *testing.T) {
	for _, level := range levels {
		project := canonical(t)
		write(t, project, "data/a.txt", "old\n")
		tag := fmt.Sprintf("%d.25", 1_000_000+os.Getpid())
		program(t, project, "tools/p.sh", "echo new >&3; echo '{}'; setsid sleep "+tag+" & sleep "+tag)
		x := served(t, project, level, map[string]string{"p": writes}, nil)
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(500*time.Millisecond, cancel)
		r := x.Exec(ctx, callOf("p", map[string]any{"path": "data/a.txt"}), "r")
		if r.ErrorCode != "handler_cancelled" {
			t.Errorf("%s: %s %s", level, r.ErrorCode, r.ErrorMessage)
		}
		if left := running(t, tag); len(left) > 0 {
			t.Errorf("%s: left running: %v", level, left)
		}
		if data, _ := os.ReadFile(project + "/data/a.txt"); string(data) != "old\n" {
			t.Errorf("%s: it wrote %q", level, data)
		}
	}
}

// Through the descriptor of a file that is read nothing can be changed.
func TestProgramReadsOnly(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/a.txt", "kept\n")
	at := filepath.Join(project, "data/a.txt")
	if err := os.Chmod(at, 0o666); err != nil {
		t.Fatal(err)
	}
	program(t, project, "tools/p.sh", `tried=
try() { "$@" >/dev/null 2>&1 && tried="$tried $1"; }
try sh -c 'echo x >&3'
try sh -c 'echo x >/dev/fd/3'
try chmod 777 /dev/fd/3
try touch /dev/fd/3
try truncate -s 0 /dev/fd/3
try cat `+at+`
try ls /dev/fd/5
printf '{"tried":"%s","read":"%s"}' "$tried" "$(cat <&3)"
`)
	before, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	x := served(t, project, "full", map[string]string{"p": reads}, nil)
	r := x.Exec(context.Background(), callOf("p", map[string]any{"path": "data/a.txt"}), "r")
	if r.Status != executor.StatusSuccess || r.Output["tried"] != "" || r.Output["read"] != "kept" {
		t.Errorf("%s %s: it could %q, read %q", r.ErrorCode, r.ErrorMessage, r.Output["tried"], r.Output["read"])
	}
	after, err := os.Stat(at)
	if err != nil || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size() {
		t.Errorf("the file is %v now", after)
	}
}

// Two files and a directory: descriptors for the files, what is written first, and
// a path for the directory, without secrets and closed for writing.
func TestProgramTargets(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			project := canonical(t)
			for name, text := range map[string]string{
				"data/a": "a\n", "data/b": "b\n", "data/d/x": "x\n", "data/d/.env": "TOKEN=1\n", "data/out": "old\n", "data/beside": "1\n",
			} {
				write(t, project, name, text)
			}
			program(t, project, "tools/p.sh", `read -r question
cat <&4 >&3; cat <&5 >&3
cd `+project+`/data/d && dir=$(ls) && touch new 2>/dev/null && wrote=y
printf '{"question":%s,"dir":"%s","env":"%s","wrote":"%s"}' "$question" "$dir" "$(cat .env 2>/dev/null)" "$wrote"
`)
			x := served(t, project, level, map[string]string{"p": `{"operation":"write","handler":"exec:tools/p.sh","sandbox":"LEVEL","roots":["data"],"payload":[],
				"timeout_ms":20000,"targets":[{"param":"a","access":"read"},{"param":"b","access":"read"},{"param":"d","access":"list"},{"param":"to","access":"write"}]}`}, nil)
			r := x.Exec(context.Background(), callOf("p", map[string]any{"a": "data/a", "b": "data/b", "d": "data/d", "to": "data/out"}), "r")
			if r.Status != executor.StatusSuccess {
				t.Fatalf("%s %s\n%v", r.ErrorCode, r.ErrorMessage, r.Output)
			}
			question, _ := r.Output["question"].(map[string]any)
			got, _ := json.Marshal(question["targets"])
			d, err := os.Stat(project + "/data/d")
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf(`{"a":{"access":"read","fd":4,"kind":"file","path":"data/a","size":2},"b":{"access":"read","fd":5,"kind":"file","path":"data/b","size":2},`+
				`"d":{"access":"list","dir":"%s/data/d","kind":"directory","path":"data/d","size":%d},`+
				`"to":{"access":"write","fd":3,"kind":"file","max_bytes":2000000,"path":"data/out","size":4}}`, project, d.Size())
			if string(got) != want {
				t.Errorf("targets %s\nwant    %s", got, want)
			}
			if data, _ := os.ReadFile(project + "/data/out"); string(data) != "a\nb\n" {
				t.Errorf("it wrote %q", data)
			}
			if r.Output["dir"] != "x" {
				t.Errorf("the directory holds %q", r.Output["dir"])
			}
			if level == "full" && (r.Output["env"] != "" || r.Output["wrote"] != "") {
				t.Errorf("it read %q, wrote %q", r.Output["env"], r.Output["wrote"])
			}
		})
	}
}

// Directory, environment, network and limits are the manifest's, and nothing of
// the project is seen beside what the call names.
func TestProgramSurroundings(t *testing.T) {
	project := canonical(t)
	write(t, project, "data/d/x", "")
	write(t, project, "data/beside", "")
	program(t, project, "tools/p.sh", `printf '{"pwd":"%s","here":"%s","above":"%s","env":"%s","files":"%s"}' "$(pwd)" "$(echo *)" "$(cd `+project+` && echo * data/*)" "$GREETING $HOME $RUNLENS_COMMAND" "$(ulimit -n)"`)
	declared := `{"operation":"list","handler":"exec:tools/p.sh","sandbox":"LEVEL","roots":["data"],"dir":"data/d","env":{"GREETING":"hello"},"limits":{"open_files":77}}`
	x := served(t, project, "full", map[string]string{"p": declared, "away": strings.Replace(declared, `"dir":"data/d",`, "", 1)}, nil)
	for tool, want := range map[string]map[string]any{
		"p":    {"pwd": project + "/data/d", "here": "x", "above": "data data/d", "env": "hello /home/sandbox ", "files": "77"},
		"away": {"pwd": project, "here": "data", "above": "data data/d", "env": "hello /home/sandbox ", "files": "77"},
	} {
		r := x.Exec(context.Background(), callOf(tool, map[string]any{"path": "data/d"}), "r")
		for key, value := range want {
			if r.Output[key] != value {
				t.Errorf("%s: %s is %q, want %q (%s)", tool, key, r.Output[key], value, r.ErrorMessage)
			}
		}
	}
}
