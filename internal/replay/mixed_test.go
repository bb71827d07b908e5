package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

// made is a directory that tests share; "" while there is none.
var made string

func TestMain(m *testing.M) {
	code := m.Run()
	if made != "" {
		os.RemoveAll(made)
	}
	os.Exit(code)
}

var shipped = sync.OnceValues(func() (*engine.Engine, error) {
	return engine.Load(engine.Source{FS: policies.FS, Schemas: schemas.FS})
})

func shippedEngine(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// edited is the shipped tree with changes: of a file, some text and what comes in
// its place; with no text, what comes behind its end.
func edited(t testing.TB, changes ...string) *engine.Engine {
	t.Helper()
	tree := fstest.MapFS{}
	err := copyFS(tree)
	for ; err == nil && len(changes) > 0; changes = changes[3:] {
		name, old, now := changes[0], changes[1], changes[2]
		text := string(tree[name].Data)
		switch {
		case old == "":
			text += now
		case strings.Count(text, old) != 1:
			t.Fatalf("%s holds %q %d times", name, old, strings.Count(text, old))
		default:
			text = strings.Replace(text, old, now, 1)
		}
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Load(engine.Source{FS: tree, Schemas: schemas.FS})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func copyFS(tree fstest.MapFS) error {
	return walk(policies.FS, ".", func(name string, data []byte) { tree[name] = &fstest.MapFile{Data: data} })
}

// toolsText declares the tools of these tests; the roots of read_file are put in.
const toolsText = `{"schema_version":1,"tools":{
	"read_file":{"operation":"read","roots":[%s],"max_bytes":65536},
	"list_files":{"operation":"list","handler":"list_files","roots":["data"]},
	"write_json_file":{"operation":"write","handler":"write_json_file"},
	"write_markdown_file":{"operation":"write","handler":"write_markdown_file"},
	"think":{"operation":"compute","handler":"external"},
	"run_tests":{"operation":"execute","commands":[["true"]],"sandbox":"none"}}}`

// sumsText is a skill whose plan stays in its first step.
const sumsText = `
schema_version: 1
name: sums
description: Add up what is in a file.
instructions: Read the numbers.
tools: [read_file, write_json_file]
narrow:
  read_file: {roots: [data/in]}
limits: {in_row: 90, total: 500, malformed: 50}
plan:
  steps:
    - {id: read, title: Read, tools: [read_file], completion: {succeed: {read_file: 1000}}}
    - {id: write, title: Write, tools: [write_json_file]}
`

func loadTools(t testing.TB, text string, skills ...string) *manifest.Set {
	t.Helper()
	src := []manifest.Source{{Name: "tools.json", Data: []byte(text)}}
	for _, s := range skills {
		src = append(src, manifest.Source{Name: "skills/sums.yaml", Data: []byte(s), Kind: manifest.SkillFile})
	}
	var declared []manifest.Handler
	for _, h := range handlers.Builtin() {
		declared = append(declared, h.Handler)
	}
	set, err := manifest.Load(src, declared)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// mixedTools are the tools of the mixed record, with the roots of read_file.
func mixedTools(t testing.TB, roots string) *manifest.Set {
	return loadTools(t, fmt.Sprintf(toolsText, roots), sumsText)
}

func project(t testing.TB, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"data/a.txt", "data/b.txt", "data/a%2fb.txt", "data/.env", "data/in/n.txt",
		"secret/open/x.txt", "secret/open/y.txt", "secret/shut/x.txt",
	} {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte("text\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t testing.TB, project string, change func(*executor.Config)) *executor.Executor {
	t.Helper()
	cfg := executor.Config{
		Project: project, Engine: shippedEngine(t), Tools: mixedTools(t, `"data"`), Handlers: handlers.Builtin(),
		Door: "mcp", Now: time.Now, NewID: func() string { return "fresh" }, Log: t.Logf,
	}
	if change != nil {
		change(&cfg)
	}
	x, err := executor.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func call(tool string, args map[string]any) []byte {
	raw, err := json.Marshal(map[string]any{"name": tool, "arguments": args})
	if err != nil {
		panic(err)
	}
	return raw
}

func read(path string) []byte { return call("read_file", map[string]any{"path": path}) }

// kind is one kind of call of the mixed record.
type kind int

const (
	inside   kind = iota // allowed
	opened               // outside the roots, where the changed policy has one more
	missing              // likewise, but nothing is there
	shut                 // outside all roots
	refused              // by other rules
	plain                // whatever comes of it, roots don't matter
	malform              // refused before policy
	invalid              // likewise, by the schema
	mindless             // allowed, and then refused by RunLens itself: no handler
)

// mixed are twenty calls, one of each kind of thing that agents do; n makes them differ.
func mixed(n int) []struct {
	kind kind
	raw  []byte
} {
	return []struct {
		kind kind
		raw  []byte
	}{
		{inside, read("data/a.txt")},
		{opened, read("secret/open/x.txt")},
		{inside, read("data/b.txt")},
		{shut, read("secret/shut/x.txt")},
		{inside, read("data/in/n.txt")},
		{plain, call("write_json_file", map[string]any{"artifact_name": fmt.Sprintf("f%d.json", n), "content": map[string]any{"n": n}})},
		{missing, read(fmt.Sprintf("secret/open/none-%d.txt", n))},
		{plain, call("write_markdown_file", map[string]any{"artifact_name": fmt.Sprintf("f%d.md", n), "content": "# text"})},
		{plain, call("list_files", map[string]any{"path": "data"})},
		{plain, call("fetch_page", map[string]any{"address": fmt.Sprint(n)})},
		{malform, []byte(fmt.Sprintf(`{"name":"read_file","arguments":{"path":"data/%d"`, n))},
		{invalid, call("read_file", map[string]any{"path": n})},
		{mindless, call("think", map[string]any{})},
		{refused, read("data/a%2fb.txt")},
		{refused, read("data/.env")},
		{refused, read("../elsewhere.txt")},
		{refused, read("data/AKIA" + strings.Repeat("Z", 16))},
		{plain, call("run_tests", map[string]any{"argv": []string{"false"}})},
		{inside, []byte(fmt.Sprintf(`{"name":"read_file","arguments":{"path":"data/a.txt"},"call_id":"own-%d"}`, n))},
		{opened, read("secret/open/y.txt")},
	}
}

// recording is the mixed record: 1,000 calls in ten runs, two of them of a skill.
type recording struct {
	dirs   []string
	counts map[kind]int
	seqs   map[string]map[kind][]int64 // by run: the verdicts, in order
	skills []string                    // runs of a skill
	skill  map[kind]int                // calls in those
}

var (
	mixedOnce sync.Once
	mixedRuns recording
)

// record makes the mixed record, once for all tests.
func record(t testing.TB) *recording {
	t.Helper()
	mixedOnce.Do(func() {
		dir, err := os.MkdirTemp("", "replay")
		if err != nil {
			t.Fatal(err)
		}
		made = dir
		dir = project(t, dir)
		x := open(t, dir, nil)
		r := recording{counts: map[kind]int{}, seqs: map[string]map[kind][]int64{}, skill: map[kind]int{}}
		var all sync.WaitGroup
		var mu sync.Mutex
		for n := range 10 {
			id := fmt.Sprintf("run-%d", n)
			r.dirs = append(r.dirs, filepath.Join(dir, "runs", id))
			if n >= 8 {
				r.skills = append(r.skills, id)
				if _, err := x.Start(t.Context(), executor.StartSpec{RunID: id, Goal: "add up", Skill: "sums"}); err != nil {
					t.Fatal(err)
				}
			}
			all.Go(func() {
				mine := map[kind][]int64{}
				for k := range 100 {
					c := mixed(n*1000 + k/20*20)[k%20]
					result := x.Exec(context.Background(), c.raw, id)
					if result.Outcome == nil || result.Outcome.Seq == 0 {
						t.Errorf("%s: nothing was recorded: %+v", c.raw, result)
						return
					}
					mine[c.kind] = append(mine[c.kind], result.Outcome.Seq)
				}
				mu.Lock()
				defer mu.Unlock()
				r.seqs[id] = mine
				for k, seqs := range mine {
					r.counts[k] += len(seqs)
					if n >= 8 {
						r.skill[k] += len(seqs)
					}
				}
			})
		}
		all.Wait()
		mixedRuns = r
	})
	if len(mixedRuns.dirs) == 0 {
		t.Fatal("the record was not made")
	}
	return &mixedRuns
}

// named are calls of a kind as flips name them, in the order of the record.
func (r *recording) named(kinds []kind, but ...string) (list []string) {
	for _, dir := range r.dirs {
		if slices.Contains(but, filepath.Base(dir)) {
			continue
		}
		var seqs []int64
		for _, k := range kinds {
			seqs = append(seqs, r.seqs[filepath.Base(dir)][k]...)
		}
		slices.Sort(seqs)
		for _, s := range seqs {
			list = append(list, fmt.Sprintf("%s %d", dir, s))
		}
	}
	return list
}
