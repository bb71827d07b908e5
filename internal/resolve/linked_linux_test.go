package resolve

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/runlens/runlens/internal/facts"
)

// Files of places with more than one name are found, and those of one run, but for its
// artifacts; those of others and what has one name are not.
func TestLinked(t *testing.T) {
	project := lay(t, map[string]string{
		"policies/runlens/a.rego": "a", "policies/runlens/b.rego": "b", "policies/runlens/deep/c.rego": "c", "manifests/tools.json": "{}",
		"manifests/skills/s.md": "s", "real.sh": "#!", "tools/p.sh": "-> ../real.sh", "keys/k": "k", "work/own": "own", "tools.json": "{}",
		"runs/r/events.jsonl": "", "runs/r/cache/fold": "", "runs/r/artifacts/a": "", "runs/other/events.jsonl": "",
	})
	at := func(name string) string { return project + "/" + name }
	want := map[string]string{
		"policies/runlens/a.rego": facts.ProtectedPolicy, "policies/runlens/deep/c.rego": facts.ProtectedPolicy, "manifests/skills/s.md": facts.ProtectedManifest,
		"real.sh": facts.ProtectedHandler, "keys/k": facts.ProtectedKey, "runs/r/events.jsonl": facts.ProtectedRun, "runs/r/cache/fold": facts.ProtectedRun,
	}
	places := append(DefaultPlaces(""), Place{Path: "tools/p.sh", Class: facts.ProtectedHandler}, Place{Path: at("keys"), Class: facts.ProtectedKey})
	r := open(t, Config{Project: project, Places: places})
	if found, err := r.Linked(at("runs/r"), "artifacts"); err != nil || len(found) != 0 {
		t.Errorf("without other names: %v, %v", found, err)
	}
	names := []string{"work/own", "runs/r/artifacts/a", "runs/other/events.jsonl"}
	for name := range want {
		names = append(names, name)
	}
	for _, name := range names {
		must(t, os.Link(at(name), at("work/"+strings.ReplaceAll(name, "/", "_"))))
	}
	found, err := r.Linked(at("runs/r"), "artifacts")
	must(t, err)
	for name, class := range want {
		st, err := os.Stat(at(name))
		must(t, err)
		sys := st.Sys().(*syscall.Stat_t)
		if !slices.Contains(found, Linked{uint64(sys.Dev), sys.Ino, class}) {
			t.Errorf("%s of class %s is not found", name, class)
		}
	}
	if len(found) != len(want) {
		t.Errorf("found %v", found)
	}
	if _, err := r.Linked(at("runs/gone")); err != nil {
		t.Errorf("a run that is not there: %v", err)
	}
}

// What is too much to be looked at is an error.
func TestLinkedBounds(t *testing.T) {
	project := lay(t, map[string]string{"policies/runlens/a.rego": "a"})
	r := open(t, Config{Project: project, Places: DefaultPlaces("")})
	l := &linkedLook{left: 1, seen: map[identity]bool{}}
	if l.look(project+"/policies", facts.ProtectedPolicy, nil, 0); l.err == nil {
		t.Error("two entries where one may be looked at")
	}
	l = &linkedLook{left: 2, seen: map[identity]bool{}}
	if l.look(project+"/policies", facts.ProtectedPolicy, nil, 0); l.err != nil {
		t.Errorf("two entries where two may be looked at: %v", l.err)
	}
	for i := range maxLinked {
		must(t, os.WriteFile(project+"/policies/"+string(rune('a'+i%26))+strings.Repeat("x", i/26%200)+strings.Repeat("y", i/26/200), nil, 0o644))
	}
	if _, err := r.Linked(project + "/runs/r"); err == nil || !strings.Contains(err.Error(), "more than 20000 entries") {
		t.Errorf("got %v", err)
	}
}
