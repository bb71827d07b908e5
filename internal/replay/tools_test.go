package replay_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/replay"
)

// declaredText are the tools of the record of these tests.
const declaredText = `{"schema_version":1,"tools":{
	"read_file":{"operation":"read","roots":["data"]},
	"peek":{"operation":"read","handler":"read_file","roots":["/usr"],"absolute":true},
	"find":{"operation":"search","handler":"external","roots":["data",{"path":"secret","access":["read"]}],
		"targets":[{"param":"path","access":"list","recursive":true}]},
	"save":{"operation":"write","handler":"write_file","roots":["data"]},
	"tag":{"operation":"read","handler":"external","roots":["data"],"targets":[{"param":"path","access":"read"}],
		"input_schema":{"type":"object","properties":{"path":{"type":"string"},"label":{"type":"string"}}}},
	"write_markdown_file":{"operation":"write","handler":"write_markdown_file"},
	"run_tests":{"operation":"execute","commands":[["true"]],"sandbox":"none"}}}`

// declaredCalls: one of each tool, in the order of their names in the table of
// TestTargets.
func declaredCalls() [][]byte {
	return [][]byte{
		read("data/a.txt"),
		call("peek", map[string]any{"path": "/etc/passwd"}),
		call("find", map[string]any{"path": "secret"}),
		call("save", map[string]any{"path": "secret/tool.sh", "content": "text"}),
		call("tag", map[string]any{"path": "secret/open/x.txt", "label": "y"}),
		call("write_markdown_file", map[string]any{"artifact_name": "a.md", "content": "text"}),
		call("run_tests", map[string]any{"argv": []string{"false"}}),
		call("fetch_page", map[string]any{"address": "x"}),
	}
}

// TestTargets: where other tools would have had something opened that nobody
// opened, there is no verdict, and the others are judged.
func TestTargets(t *testing.T) {
	was := func(cfg *executor.Config) { cfg.Tools = loadTools(t, declaredText) }
	dir, seqs := done(t, was, declaredCalls()...)
	const (
		reader = iota
		peek
		find
		save
		tag
		markdown
		command
		undeclared
	)
	for name, c := range map[string]struct {
		old, now string // of the manifest
		call     int
		want     string
	}{
		"another program":   {`"commands":[["true"]],"sandbox":"none"`, `"commands":[["true"]]`, command, "the tool runs another program, or runs it otherwise"},
		"no program":        {`"operation":"execute","commands":[["true"]],"sandbox":"none"`, `"operation":"compute","handler":"external"`, command, "the tool runs another program, or runs it otherwise"},
		"another directory": {`"sandbox":"none"`, `"sandbox":"none","dir":"data"`, command, "the program works in another directory, or in one that nobody looked at"},
		"another pattern":   {`[["true"]]`, `[["true"],["cat",{"arg":"path","root":"data"}]]`, command, "the commands of which a call fills in some arguments are others"},
		"a program's root":  {`"sandbox":"none"`, `"sandbox":"none","roots":["secret"]`, command, "a program sees the root secret, and nobody looked how that stands to protected places"},
		"absolute":          {`"read","roots":["data"]}`, `"read","roots":["data"],"absolute":true}`, reader, "absolute or create_parents is declared otherwise"},
		"absolute no more":  {`"roots":["/usr"],"absolute":true`, `"roots":["data"]`, peek, "absolute or create_parents is declared otherwise"},
		"create parents":    {`"write_file","roots":["data"]`, `"write_file","roots":["data"],"create_parents":true`, save, "absolute or create_parents is declared otherwise"},
		"another handler":   {`"handler":"write_file"`, `"handler":"external","targets":[{"param":"path","access":"write"}],"payload":["content"]`, save, "another handler would make other bytes of the content"},
		"content no more": {
			`"handler":"write_markdown_file"`,
			`"handler":"external","targets":[{"param":"artifact_name","access":"write"}]`, markdown, "another handler would make other bytes of the content",
		},
		"content now":         {`"label":{"type":"string"}}}`, `"label":{"type":"string"}}},"payload":["label"]`, tag, "what was an ordinary argument then, label, is content now"},
		"a target more":       {`[{"param":"path","access":"read"}]`, `[{"param":"path","access":"read"},{"param":"label","access":"read"}]`, tag, "the tool has another number of targets"},
		"another target":      {`[{"param":"path","access":"read"}]`, `[{"param":"label","access":"read"}]`, tag, "target label (read) is another object, or is looked at otherwise"},
		"not looked through":  {`,"recursive":true`, ``, find, "target path (list) is another object, or is looked at otherwise"},
		"the project unknown": {`"roots":["/usr"]`, `"roots":["/usr","data"]`, peek, "nothing tells where the project lies, so nobody knows the root data"},
		"declared now": {
			`"peek":`, `"fetch_page":{"operation":"read","handler":"external","targets":[{"param":"address","access":"read"}]},"peek":`,
			undeclared, "the tool was declared by nobody then, so that nobody looked",
		},
		"content of nobody": {
			`"write_markdown_file":{"operation":"write","handler":"write_markdown_file"},`, ``,
			markdown, "nobody declares the tool, and what it was to write is not in the record",
		},
		"a program now": {
			`"peek":`, `"served":{"operation":"read","handler":"exec:secret/tool.sh"},"peek":`,
			save, "target path is, or holds, a program of the tools of now",
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := loadTools(t, instead(t, declaredText, c.old, c.now))
			sum, flips := one(t, dir, replay.Options{New: shippedEngine(t), Tools: set})
			wantCause(t, sum, fmt.Sprintf("targets 1 %d: %s", seqs[c.call], c.want))
			if sum.Judged != len(seqs)-1 || sum.Same != sum.Judged || len(flips) > 0 {
				t.Errorf("the others: %s", told(sum))
			}
		})
	}
	// What needs no other facts is judged.
	for name, c := range map[string]struct{ old, now, want string }{
		"a tool gone": {`"read_file":{"operation":"read","roots":["data"]},`, ``, "1 allow_to_deny read_file: allow [allowed] > deny [unknown_tool]"},
		"a tool more": {`"peek":`, `"fetch_page":{"operation":"compute","handler":"external"},"peek":`, "1 deny_to_allow fetch_page: deny [unknown_tool] > allow [allowed]"},
		"a root more": {`"handler":"write_file","roots":["data"]`, `"handler":"write_file","roots":["data","secret"]`, "1 deny_to_allow save: deny [outside_roots] > allow [allowed]"},
		"an access":   {`{"path":"secret","access":["read"]}`, `{"path":"secret","access":["list"]}`, "1 deny_to_allow find: deny [outside_roots] > allow [allowed]"},
		"a limit":     {`"read","roots":["data"]}`, `"read","roots":["data"],"max_bytes":4}`, "1 grant_narrowed read_file: allow [allowed] > allow [allowed]"},
		"a command":   {`[["true"]]`, `[["true"],["false"]]`, "1 deny_to_allow run_tests: deny [command_not_allowed] > allow [allowed]"},
		"nothing":     {`"schema_version":1`, `"schema_version": 1`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			set := loadTools(t, instead(t, declaredText, c.old, c.now))
			sum, _ := one(t, dir, replay.Options{New: shippedEngine(t), Tools: set})
			if got := strings.Join(lines(sum), "; "); got != c.want || sum.Judged != len(seqs) || sum.Unreplayable() > 0 {
				t.Errorf("%s; want %s", told(sum), c.want)
			}
			if assumed := name == "a root more"; (sum.Assumed == 1) != assumed {
				t.Errorf("%d with an assumed root", sum.Assumed)
			}
		})
	}
}

// TestProtectedTarget: what was protected as a tool's program may be none of the
// tools of now, and nobody looked as what else.
func TestProtectedTarget(t *testing.T) {
	const text = `{"schema_version":1,"tools":{
		"read_file":{"operation":"read","roots":["data"]},
		"save":{"operation":"write","handler":"write_file","roots":["secret"]},
		"served":{"operation":"read","handler":"exec:secret/open/tool.sh"}}}`
	dir, seqs := done(t, func(cfg *executor.Config) {
		cfg.Tools = loadTools(t, text)
	}, read("data/a.txt"), call("save", map[string]any{"path": "secret/open/tool.sh", "content": "text"}))
	sum, _ := one(t, dir, replay.Options{New: shippedEngine(t), Tools: loadTools(t, instead(t, text, `"read","roots":["data"]`, `"read","roots":["data"],"max_bytes":100`))})
	wantCause(t, sum, fmt.Sprintf("targets 1 %d: target path is protected, maybe as a program of the tools of then", seqs[1]))
	if len(lines(sum)) != 1 || sum.Judged != 1 {
		t.Error(told(sum))
	}
}

// TestPlanted: whether a link may have been made by a tool depends on all tools.
func TestPlanted(t *testing.T) {
	const text = `{"schema_version":1,"tools":{
		"read_file":{"operation":"read","roots":["data/link"]},
		"list_files":{"operation":"list","handler":"list_files","roots":["data"]},
		"work":{"operation":"execute","commands":[["true"]],"sandbox":"none","roots":["data"]}}}`
	at := project(t, t.TempDir())
	if err := os.Symlink("../secret/open", filepath.Join(at, "data/link")); err != nil {
		t.Fatal(err)
	}
	x := open(t, at, func(cfg *executor.Config) { cfg.Tools = loadTools(t, text) })
	seqs := exec(t, x, "r", read("data/link/x.txt"), read("data/a.txt"), call("list_files", map[string]any{"path": "data/in"}))
	less := loadTools(t, instead(t, text, `"sandbox":"none","roots":["data"]`, `"sandbox":"none","roots":["data/in"]`))
	sum, flips := one(t, filepath.Join(at, "runs/r"), replay.Options{New: shippedEngine(t), Tools: less})
	wantCause(t, sum, fmt.Sprintf("targets 2 %d: a link leads to a root or program that a tool could have made then, and nobody looked whether one can now", seqs[0]))
	if sum.Same != 1 || len(flips) > 0 {
		t.Error(told(sum))
	}

	// A program of now may write where the link lies; none could then.
	x = open(t, at, func(cfg *executor.Config) { cfg.Tools = less })
	seqs = exec(t, x, "s", read("data/link/x.txt"), read("data/a.txt"), call("list_files", map[string]any{"path": "data/in"}))
	for _, c := range []struct {
		roots string // of the program
		now   bool   // it may write where the link lies
	}{
		{`["data"]`, true},
		{`["."]`, true},
		{`["da{run_id}"]`, true},
		{`["secret"]`, true}, // or the last of several
		{`["secret/shut"]`, false},
		{`["da/{run_id}"]`, false},
		{`["data/link"]`, false},
		{`[{"path":"data","access":["read"]}]`, false},
	} {
		more := loadTools(t, instead(t, text, `"sandbox":"none","roots":["data"]`, `"sandbox":"none","roots":`+c.roots))
		sum, flips = one(t, filepath.Join(at, "runs/s"), replay.Options{New: shippedEngine(t), Tools: more})
		if c.now {
			wantCause(t, sum, fmt.Sprintf("targets 2 %d: the root data/link is found by a link, and a program of the tools of now may write where that may lie", seqs[0]))
		} else {
			wantCause(t, sum)
		}
		if sum.Judged != sum.Same || len(flips) > 0 {
			t.Errorf("%s: %s", c.roots, told(sum))
		}
	}
}

// TestProgramWritable: what a tool of now may write is no program to be trusted.
func TestProgramWritable(t *testing.T) {
	const text = `{"schema_version":1,"tools":{
		"save":{"operation":"write","handler":"write_file","roots":["data"]},
		"run":{"operation":"execute","commands":[["secret/open/tool.sh"]],"sandbox":"none","roots":[{"path":"data","access":["read"]}]}}}`
	at := project(t, t.TempDir())
	if err := os.WriteFile(filepath.Join(at, "secret/open/tool.sh"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	x := open(t, at, func(cfg *executor.Config) { cfg.Tools = loadTools(t, text) })
	seqs := exec(t, x, "r", call("run", map[string]any{"argv": []string{"secret/open/tool.sh"}}), call("save", map[string]any{"path": "data/c.txt", "content": "text"}))
	for roots, now := range map[string]bool{`["data","secret"]`: true, `["data","."]`: true, `["data","secret/shut"]`: false} {
		more := loadTools(t, instead(t, text, `"write_file","roots":["data"]`, `"write_file","roots":`+roots))
		sum, flips := one(t, filepath.Join(at, "runs/r"), replay.Options{New: shippedEngine(t), Tools: more})
		if now {
			wantCause(t, sum, fmt.Sprintf("targets 1 %d: the program lies where a tool of now may write", seqs[0]))
		} else {
			wantCause(t, sum)
		}
		if sum.Judged != sum.Same || len(flips) > 0 {
			t.Errorf("%s: %s", roots, told(sum))
		}
	}
}

// TestSkillGone: the calls of a run of a skill need the skill, those of others
// don't.
func TestSkillGone(t *testing.T) {
	at := project(t, t.TempDir())
	x := open(t, at, nil)
	if _, err := x.Start(context.Background(), executor.StartSpec{RunID: "s", Goal: "add up", Skill: "sums"}); err != nil {
		t.Fatal(err)
	}
	mine := exec(t, x, "s", read("data/in/n.txt"), read("data/a.txt"), []byte("{"), call("fetch_page", map[string]any{}),
		read("secret/shut/x.txt"), call("list_files", map[string]any{"path": "data"}))
	exec(t, x, "r", read("data/in/n.txt"), read("secret/shut/x.txt"))
	dirs := []string{filepath.Join(at, "runs/r"), filepath.Join(at, "runs/s")}
	without := loadTools(t, fmt.Sprintf(toolsText, `"data"`))
	sum, flips := replayed(t, dirs, replay.Options{New: shippedEngine(t), Tools: without})
	wantCause(t, sum, fmt.Sprintf("skill 5 %d: sums", mine[0]))
	if e := sum.Causes[replay.Skill]; e == nil || e.Where != dirs[1] || e.Tool != "read_file" {
		t.Errorf("%+v", e)
	}
	if sum.Judged != 2 || sum.Same != 2 || len(flips) > 0 || !maps.Equal(sum.Apart, map[string]int{"malformed_call": 1}) {
		t.Error(told(sum))
	}
	// Of a skill that allows another tool, its calls are judged.
	wider := loadTools(t, fmt.Sprintf(toolsText, `"data","secret"`), strings.NewReplacer(
		"roots: [data/in]", "roots: [data]", "write_json_file]\nnarrow", "write_json_file, list_files]\nnarrow").Replace(sumsText))
	sum, _ = replayed(t, dirs, replay.Options{New: shippedEngine(t), Tools: wider})
	want := []string{
		"2 deny_to_allow read_file: deny [outside_roots] > allow [allowed]",
		"1 codes_changed list_files: deny [tool_not_allowed step_tool_not_allowed] > block [step_tool_not_allowed]",
	}
	if !slices.Equal(lines(sum), want) || sum.Unreplayable() > 0 || sum.Assumed != 5 {
		t.Errorf("%s; want %q", told(sum), want)
	}
}
