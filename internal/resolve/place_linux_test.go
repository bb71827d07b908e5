package resolve

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/runlens/runlens/internal/facts"
)

const (
	none     = ""
	ancestor = facts.ProtectedAncestor
	policy   = facts.ProtectedPolicy
	manifest = facts.ProtectedManifest
	runClass = facts.ProtectedRun
	keyClass = facts.ProtectedKey
)

type protection struct {
	access, ask, class string
}

func checkProtection(t *testing.T, project string, places []Place, rows []protection) {
	t.Helper()
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Places: places, Resolver: name})
		for _, c := range rows {
			o := asks(t, r, Request{Access: c.access, Raw: c.ask, Requested: c.ask, Absolute: true, CreateParents: true})
			if o.Facts.Protected != c.class {
				t.Errorf("%s: %s %s (%s): protected %q, want %q", r.resolver(), c.access, c.ask, o.Facts.Resolution, o.Facts.Protected, c.class)
			}
		}
	}
}

// A project without any of the places: their names are taken, everything
// beside them is free.
func TestPlacesAbsent(t *testing.T) {
	project := lay(t, map[string]string{
		"policies/network.rego": "", "manifests/deploy.yaml": "", "manifests/k8s/x.yaml": "",
		"runs/exp1/metrics.json": "", "runs/notes.txt": "", "sub/": "",
	})
	checkProtection(t, project, DefaultPlaces(""), []protection{
		{facts.Read, "policies/network.rego", none},
		{facts.Write, "policies/network.rego", none},
		{facts.Write, "policies/new.rego", none},
		{facts.Write, "policies/a/b/new.rego", none},
		{facts.Delete, "policies/network.rego", none},
		{facts.Delete, "policies", none},
		{facts.Delete, "policies/", none},
		{facts.Write, "policies", ancestor}, // a folder may land on it
		{facts.Write, "policies/runlens", policy},
		{facts.Write, "policies/runlens/x.rego", policy},
		{facts.Write, "policies/RunLens/x.rego", policy},
		{facts.Write, "policies/runlens./x.rego", policy},
		{facts.Write, "policies/run\u200blens/x.rego", policy},
		{facts.Write, "policies/ｒｕｎｌｅｎｓ/x.rego", policy},
		{facts.Write, "POLICIES/runlens/x.rego", policy},
		{facts.Write, "sub/../policies/./runlens/x", policy},
		{facts.Write, "policies/runlens2/x.rego", none},
		{facts.Write, "sub/policies/runlens/x.rego", none},

		{facts.Write, "manifests/deploy.yaml", none},
		{facts.Write, "manifests/k8s/x.yaml", none},
		{facts.Write, "manifests/tools.json", manifest},
		{facts.Write, "manifests/Tools.YAML", manifest},
		{facts.Write, "manifests/tools.toml", manifest},
		{facts.Write, "manifests/toolset.json", none},
		{facts.Write, "manifests/skills/a.yaml", manifest},
		{facts.Write, "manifests/plans", manifest},
		{facts.Delete, "manifests", none},

		{facts.Write, "tools.json", manifest},
		{facts.Write, "TOOLS.json", manifest},
		{facts.Write, "tools.json::$DATA", manifest},
		{facts.Write, "tools.yaml", none},
		{facts.Write, "sub/tools.json", none},

		{facts.Read, "runs/exp1/metrics.json", none},
		{facts.Write, "runs/exp1/metrics.json", none},
		{facts.Write, "runs/exp1/more/metrics.json", none},
		{facts.Delete, "runs/exp1/metrics.json", none},
		{facts.Delete, "runs/exp1", none},
		{facts.Delete, "runs", none},
		{facts.Write, "runs/notes.txt", none},
		{facts.Write, "runs/new.txt", ancestor},
		{facts.Write, "runs/exp1/events.jsonl", runClass},
		{facts.Write, "runs/exp1/Events.JSONL", runClass},
		{facts.Write, "runs/new/events.jsonl", runClass},
		{facts.Write, "runs/exp1/sub/events.jsonl", none},
		{facts.Write, "runs/events.jsonl", ancestor},

		{facts.Delete, ".", ancestor},
		{facts.Delete, "..", ancestor},
		{facts.Read, ".", none},
		{facts.List, ".", none},
	})
}

// A project that has them: each is protected as a whole.
func TestPlacesPresent(t *testing.T) {
	project := lay(t, map[string]string{
		"policies/runlens/decision.rego": "", "policies/other.rego": "",
		"manifests/tools.yaml": "", "manifests/deploy.yaml": "", "tools.json": "",
		"runs/r1/events.jsonl": "", "runs/r1/contract.json": "", "runs/r1/artifacts/a.txt": "",
		"runs/r1/artifacts/events.jsonl": "", "runs/exp/metrics.json": "",
		"alias": "-> policies", "src/": "", "src/up": "-> ../runs/r1", "runs/r1/artifacts/esc": "-> ../contract.json",
	})
	must(t, os.Link(filepath.Join(project, "policies/runlens/decision.rego"), filepath.Join(project, "src/d.rego")))
	must(t, os.Link(filepath.Join(project, "runs/r1/events.jsonl"), filepath.Join(project, "src/e.txt")))
	must(t, os.Link(filepath.Join(project, "tools.json"), filepath.Join(project, "src/t.json")))
	must(t, os.Link(filepath.Join(project, "runs/exp/metrics.json"), filepath.Join(project, "src/m.json")))
	must(t, os.Link(filepath.Join(project, "runs/r1/artifacts/a.txt"), filepath.Join(project, "src/a.txt")))
	checkProtection(t, project, DefaultPlaces(""), []protection{
		{facts.Write, "policies/other.rego", policy},
		{facts.Write, "policies/new.rego", policy},
		{facts.Write, "policies/a/new.rego", policy},
		{facts.Write, "alias/new.rego", policy},
		{facts.Write, "Policies/new.rego", policy},
		{facts.Delete, "policies/other.rego", policy},
		{facts.Delete, "policies", policy},
		{facts.Read, "policies/other.rego", policy}, // a fact; reading is not refused
		{facts.Delete, "alias", none},
		{facts.Write, "manifests/deploy.yaml", manifest},
		{facts.Delete, "manifests", manifest},
		{facts.Write, "tools.json", manifest},
		{facts.Delete, "tools.json", manifest},

		{facts.Read, "runs/r1/events.jsonl", runClass},
		{facts.Read, "runs/r1/contract.json", runClass},
		{facts.Read, "src/up/contract.json", runClass},
		{facts.Read, "runs/r1/artifacts/esc", runClass},
		{facts.Read, "runs/r1/artifacts/../contract.json", runClass},
		{facts.Write, "runs/r1/new.json", runClass},
		{facts.Write, "runs/r1/sub/new.json", runClass},
		{facts.Write, "runs/r1/Artifacts/new.json", runClass},
		{facts.Read, "runs/r1/artifacts/a.txt", none},
		{facts.Read, "runs/r1/artifacts/events.jsonl", none},
		{facts.Write, "runs/r1/artifacts/new.txt", none},
		{facts.Write, "runs/r1/artifacts/d/new.txt", none},
		{facts.Delete, "runs/r1", ancestor},
		{facts.Delete, "runs", ancestor},
		{facts.List, "runs/r1", none},
		{facts.List, "runs/r1/artifacts", none},
		{facts.Delete, "runs/exp", none},
		{facts.Write, "runs/exp/metrics.json", none},
		{facts.Read, "runs/exp/metrics.json", none},

		// By object: another name of a protected file.
		{facts.Write, "src/d.rego", policy},
		{facts.Read, "src/d.rego", none}, // not searched for reading, which policy files allow
		{facts.Read, "src/e.txt", runClass},
		{facts.Write, "src/e.txt", runClass},
		{facts.Delete, "src/e.txt", runClass},
		{facts.Write, "src/t.json", manifest},
		{facts.Write, "src/m.json", none},
		{facts.Read, "src/a.txt", none},
	})
}

// A place behind links: the folder it leads to and every link on the way.
func TestPlacesBehindLinks(t *testing.T) {
	project := lay(t, map[string]string{"policies": "-> p2", "p2": "-> ../shared/policies", "manifests": "-> nowhere/yet"})
	add(t, filepath.Dir(project), map[string]string{"shared/policies/runlens/decision.rego": ""})
	shared := filepath.Join(filepath.Dir(project), "shared")
	checkProtection(t, project, DefaultPlaces(""), []protection{
		{facts.Write, shared + "/policies/x.rego", policy},
		{facts.Write, "policies/x.rego", policy},
		{facts.Delete, "policies", policy},
		{facts.Delete, "p2", policy},
		{facts.Delete, shared, ancestor},
		{facts.Write, "nowhere/yet/tools.json", manifest},
		{facts.Write, "nowhere/other", none},
		{facts.Write, shared + "/other", none},
	})
}

func TestPlacesAbsolute(t *testing.T) {
	project := lay(t, map[string]string{"x": ""})
	state := filepath.Join(filepath.Dir(project), "state")
	places := []Place{
		{Path: state + "/runlens/keys", Class: keyClass},
		{Path: state + "/config", Class: facts.ProtectedConfig},
	}
	rows := []protection{
		{facts.Read, state + "/runlens/keys/k", none}, // while absent there is nothing to read
		{facts.Write, state + "/runlens/keys/k", keyClass},
		{facts.Write, state + "/runlens/keys", keyClass},
		{facts.Write, state + "/runlens", ancestor},
		{facts.Write, state + "/config/c", facts.ProtectedConfig},
		{facts.Write, state + "/other", none},
	}
	checkProtection(t, project, places, rows)
	add(t, state, map[string]string{"runlens/keys/k": "key", "config/c": ""})
	must(t, os.Link(state+"/runlens/keys/k", filepath.Join(project, "k")))
	rows[0].class = keyClass
	checkProtection(t, project, places, append(rows,
		protection{facts.Read, "k", keyClass}, protection{facts.Delete, state, ancestor}, protection{facts.List, state + "/runlens/keys", keyClass}))
}

// What comes into being while a Resolver is open counts at once.
func TestPlacesFollowChanges(t *testing.T) {
	project := lay(t, map[string]string{"policies/a.rego": "", "other/b.rego": ""})
	r := open(t, Config{Project: project, Places: DefaultPlaces("")})
	class := func(access, p string) string { return ask(t, r, access, p).Facts.Protected }
	if c := class(facts.Write, "policies/a.rego"); c != none {
		t.Fatalf("before: %q", c)
	}
	must(t, os.Mkdir(filepath.Join(project, "policies/runlens"), 0o755))
	if c := class(facts.Write, "policies/a.rego"); c != policy {
		t.Fatalf("after: %q", c)
	}
	must(t, os.RemoveAll(filepath.Join(project, "policies")))
	must(t, os.Mkdir(filepath.Join(project, "other/runlens"), 0o755))
	must(t, os.Symlink("other", filepath.Join(project, "policies")))
	if c := class(facts.Write, "other/b.rego"); c != policy {
		t.Fatalf("behind a new link: %q", c)
	}
	add(t, project, map[string]string{"runs/r2/x": ""})
	if c := class(facts.Read, "runs/r2/x"); c != none {
		t.Fatalf("no run yet: %q", c)
	}
	add(t, project, map[string]string{"runs/r2/events.jsonl": ""})
	if c := class(facts.Read, "runs/r2/x"); c != runClass {
		t.Fatalf("a run now: %q", c)
	}
}

// A link that is turned without a trace in the project directory is seen by the
// next write, one in the project directory by the next read.
func TestPlacesFollowLinks(t *testing.T) {
	project := lay(t, map[string]string{
		"policies": "-> sub/now", "sub/now": "-> a", "sub/a/runlens/x": "", "sub/b/runlens/x": "",
		"old/r/events.jsonl": "", "new/r/events.jsonl": "", "runs": "-> old",
	})
	r := open(t, Config{Project: project, Places: DefaultPlaces("")})
	check := func(access, p, want string) {
		t.Helper()
		if got := ask(t, r, access, p).Facts.Protected; got != want {
			t.Errorf("%s %s: %q, want %q", access, p, got, want)
		}
	}
	check(facts.Write, "sub/a/f", policy)
	check(facts.Write, "sub/b/f", none)
	must(t, os.Remove(project+"/sub/now"))
	must(t, os.Symlink("b", project+"/sub/now"))
	check(facts.Write, "sub/b/f", policy)
	check(facts.Write, "sub/a/f", none)

	check(facts.Read, "old/r/events.jsonl", runClass)
	check(facts.Read, "new/r/events.jsonl", none)
	must(t, os.Remove(project+"/runs"))
	must(t, os.Symlink("new", project+"/runs"))
	check(facts.Read, "new/r/events.jsonl", runClass)
	check(facts.Read, "old/r/events.jsonl", none)
}

func TestPlaceErrors(t *testing.T) {
	for _, p := range []Place{{Class: policy}, {Path: "x"}, {Path: "x", Class: "odd"}, {Path: "a/*/b", Class: policy}, {Path: "x", Class: ancestor}} {
		if r, err := Open(Config{Project: t.TempDir(), Places: []Place{p}}); err == nil {
			r.Close()
			t.Errorf("%+v: no error", p)
		}
	}
}

func TestBelow(t *testing.T) {
	files := map[string]string{"a/.env": "", "a/b/.ENV": "", "a/b/c.txt": "", "a/link": "-> ..", "runs/r/events.jsonl": "", "runs/r/artifacts/x": ""}
	project := lay(t, files)
	for _, name := range resolvers {
		r := open(t, Config{Project: project, Places: DefaultPlaces(""), Resolver: name})
		cares := func(folded string) bool { return folded == ".env" }
		o := asks(t, r, Request{Access: facts.Read, Requested: ".", Recursive: true, Below: cares})
		want := []facts.Below{
			{Path: "a/.env", Folded: ".env", Kind: facts.File},
			{Path: "a/b/.ENV", Folded: ".env", Kind: facts.File},
			{Path: "runs/r/events.jsonl", Folded: "events.jsonl", Kind: facts.File},
		}
		if o.Facts.Walk != walkComplete || fmt.Sprint(o.Facts.Below) != fmt.Sprint(want) {
			t.Errorf("%s: %s %v", name, o.Facts.Walk, o.Facts.Below)
		}
		if o := asks(t, r, Request{Access: facts.Read, Requested: "a/.env", Recursive: true, Below: cares}); o.Facts.Walk != "" {
			t.Errorf("walk of a file: %q", o.Facts.Walk)
		}
	}
	deep := project
	for range maxDepth + 1 {
		deep += "/d"
	}
	must(t, os.MkdirAll(deep, 0o755))
	r := open(t, Config{Project: project})
	if o := asks(t, r, Request{Access: facts.Read, Requested: ".", Recursive: true}); o.Facts.Walk != walkCut {
		t.Errorf("deep: %q", o.Facts.Walk)
	}
}

// A program that serves a tool: a file, or the name of one that is not there yet.
func TestPlacesOfPrograms(t *testing.T) {
	const handler = facts.ProtectedHandler
	project := lay(t, map[string]string{
		"tools/p.sh": "", "tools/beside.sh": "", "tools/real.sh": "", "tools/link.sh": "-> real.sh",
		"manifests/tools.json": "", "manifests/m.sh": "", "src/": "",
	})
	must(t, os.Link(filepath.Join(project, "tools/p.sh"), filepath.Join(project, "src/other")))
	places := DefaultPlaces("")
	for _, p := range []string{"./tools/p.sh", "tools/link.sh", "later/p.sh", "manifests/m.sh"} {
		places = append(places, Place{Path: p, Class: handler})
	}
	checkProtection(t, project, places, []protection{
		{facts.Execute, "tools/p.sh", handler},
		{facts.Execute, "tools/link.sh", handler},
		{facts.Execute, "tools/real.sh", handler},
		{facts.Execute, "tools/beside.sh", none},
		{facts.Execute, "manifests/m.sh", handler}, // trusted there, too
		{facts.Write, "manifests/m.sh", handler},
		{facts.Write, "manifests/tools.json", manifest},
		{facts.Read, "tools/p.sh", handler},
		{facts.Write, "tools/p.sh", handler},
		{facts.Write, "TOOLS/P.sh", handler},
		{facts.Write, "tools/real.sh", handler},
		{facts.Write, "tools/link.sh", handler},
		{facts.Delete, "tools/link.sh", handler},
		{facts.Write, "src/other", handler},
		{facts.Delete, "src/other", handler},
		{facts.Write, "later/p.sh", handler},
		{facts.Write, "later/p.sh/below", handler},
		{facts.Write, "later", ancestor},
		{facts.Delete, "tools", ancestor},
		{facts.Write, "tools/beside.sh", none},
		{facts.Write, "tools/new.sh", none},
		{facts.List, "tools", none},
	})
	r := open(t, Config{Project: project, Places: places})
	if list := r.Shadowed(); fmt.Sprint(list) != fmt.Sprint([]string{project + "/manifests", project + "/runs", project + "/tools.json"}) {
		t.Errorf("shadowed: %v", list)
	}
	for folder, want := range map[string]bool{"/tools": true, "/later": true, "/src": false, "": true} {
		if got := r.Holds(project + folder); got != want {
			t.Errorf("%q holds a place: %t, want %t", folder, got, want)
		}
	}
	time.Sleep(50 * time.Millisecond) // until what was looked at counts as settled
	ask(t, r, facts.Write, "tools/new.sh")
	must(t, os.Remove(filepath.Join(project, "tools/link.sh")))
	must(t, os.Symlink("beside.sh", filepath.Join(project, "tools/link.sh")))
	for name, class := range map[string]string{"tools/beside.sh": handler, "tools/real.sh": none} {
		if got := ask(t, r, facts.Execute, name).Facts.Protected; got != class {
			t.Errorf("behind the link that was turned: %s is %q, want %q", name, got, class)
		}
	}
}
