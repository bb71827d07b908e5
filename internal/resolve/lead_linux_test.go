package resolve

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/runlens/runlens/internal/facts"
)

// What a link in a place leads to is as good as in it, and so is each link on
// the way. The folders beside it are free.
func TestLinksInPlaces(t *testing.T) {
	for _, mark := range []string{"tools.json", "tools.yaml", "tools.yml"} {
		project := lay(t, map[string]string{
			"manifests/" + mark: "-> ../src/cur/t", "src/cur": "-> v1", "src/v1/t": "{}", "src/v1/other": "", "src/other": "",
		})
		must(t, os.Link(project+"/src/v1/t", project+"/src/again"))
		checkProtection(t, project, DefaultPlaces(""), []protection{
			{facts.Write, "src/v1/t", manifest},
			{facts.Write, "SRC/v1/T.", manifest},
			{facts.Write, "src/cur/t", manifest},
			{facts.Delete, "src/v1/t", manifest},
			{facts.Delete, "src/cur", manifest},
			{facts.Delete, "src/v1", ancestor},
			{facts.Delete, "src", ancestor},
			{facts.Write, "src/again", manifest}, // by object
			{facts.Delete, "src/again", manifest},
			{facts.Write, "src/v1/other", none},
			{facts.Write, "src/v1/new", none},
			{facts.Write, "src/other", none},
			{facts.Read, "src/v1/other", none},
			{facts.Write, "manifests/other", manifest},
		})
	}
}

func TestLinkedFoldersInPlaces(t *testing.T) {
	project := lay(t, map[string]string{
		"policies/runlens": "-> ../../shared/rules", "manifests/skills": "-> " + "../src/skills", "manifests/plans": "-> ../src/none/yet",
		"src/skills/a.yaml": "", "src/skills/deep/b.yaml": "-> ../../b.yaml", "src/b.yaml": "", "src/c": "",
		"src/skills/loop": "-> loop", "src/skills/up": "-> .",
	})
	shared := filepath.Join(filepath.Dir(project), "shared")
	add(t, shared, map[string]string{"rules/decision.rego": "", "rules/x/y.rego": "-> ../../real/y.rego", "real/y.rego": "", "real/z": ""})
	must(t, os.Link(shared+"/rules/decision.rego", project+"/src/d"))
	checkProtection(t, project, DefaultPlaces(""), []protection{
		{facts.Write, shared + "/rules/decision.rego", policy},
		{facts.Write, shared + "/rules/new/n.rego", policy},
		{facts.Delete, shared + "/rules", policy},
		{facts.Delete, shared, ancestor},
		{facts.Write, shared + "/real/y.rego", policy},
		{facts.Delete, shared + "/real", ancestor},
		{facts.Write, shared + "/real/z", none},
		{facts.Write, "src/d", policy},
		{facts.Write, "src/skills/a.yaml", manifest},
		{facts.Write, "src/skills/new.yaml", manifest},
		{facts.Write, "src/b.yaml", manifest},
		{facts.Delete, "src/skills", manifest},
		{facts.Write, "src/none", ancestor},
		{facts.Write, "src/none/yet", manifest},
		{facts.Write, "src/none/yet/a.yaml", manifest},
		{facts.Write, "src/none/other", none},
		{facts.Write, "src/c", none},
	})
}

// Any link in a place that counts is followed; in one that does not, only those
// under its names.
func TestOtherLinksInPlaces(t *testing.T) {
	files := map[string]string{
		"policies/a/b/c.rego": "-> ../../../src/c.rego", "policies/top": "-> ../src/top", "manifests/tools.toml": "-> ../src/t",
		"manifests/other": "-> ../src/other", "src/c.rego": "", "src/top/x": "", "src/t": "", "src/other": "",
	}
	rows := []protection{
		{facts.Write, "src/t", manifest},
		{facts.Write, "src/other", none},
		{facts.Write, "src/c.rego", none},
		{facts.Write, "src/top/x", none},
	}
	checkProtection(t, lay(t, files), DefaultPlaces(""), rows)
	// A name that leads to the place itself makes all of it protected.
	round := map[string]string{"manifests/tools.d": "-> .", "manifests/other": "-> ../src/other", "src/other": ""}
	checkProtection(t, lay(t, round), DefaultPlaces(""), []protection{{facts.Write, "src/other", manifest}, {facts.Write, "manifests/x", manifest}})
	files["policies/runlens/decision.rego"], files["manifests/skills/"] = "", ""
	for i, class := range []string{manifest, manifest, policy, policy} {
		rows[i].class = class
	}
	checkProtection(t, lay(t, files), DefaultPlaces(""), rows)
}

func TestLinksInKeys(t *testing.T) {
	project := lay(t, map[string]string{"vault/k": "key", "vault/deep/k": "key", "free": ""})
	state := filepath.Join(filepath.Dir(project), "state")
	add(t, state, map[string]string{"keys/k": "-> " + project + "/vault/k", "keys/sub/d": "-> " + project + "/vault/deep"})
	checkProtection(t, project, []Place{{Path: state + "/keys", Class: keyClass}}, []protection{
		{facts.Read, "vault/k", keyClass},
		{facts.Read, "vault/deep/k", keyClass},
		{facts.Write, "vault/deep/new", keyClass},
		{facts.List, "vault/deep", keyClass},
		{facts.Read, "free", none},
	})
}

// A run by another name is a run.
func TestLinkedRuns(t *testing.T) {
	project := lay(t, map[string]string{
		"runs/r1/events.jsonl": "", "runs/latest": "-> r1", "runs/victim": "-> ../space/cur", "runs/notyet": "-> ../space/n",
		"runs/absent": "-> ../space/gone", "space/cur": "-> v2x", "space/v2x/events.jsonl": "", "space/v2x/contract.json": "",
		"space/v2x/artifacts/a": "", "space/n/x": "", "space/x": "",
	})
	must(t, os.Link(project+"/space/v2x/contract.json", project+"/c"))
	checkProtection(t, project, DefaultPlaces(""), []protection{
		{facts.Read, "runs/victim/contract.json", runClass},
		{facts.Read, "space/v2x/contract.json", runClass},
		{facts.Read, "space/cur/contract.json", runClass},
		{facts.Read, "space/v2x/events.jsonl", runClass},
		{facts.Read, "c", runClass},
		{facts.Write, "space/V2X/new", runClass},
		{facts.Write, "space/v2x/sub/new", runClass},
		{facts.Delete, "space/v2x/contract.json", runClass},
		{facts.Delete, "space/v2x", ancestor},
		{facts.Delete, "space/cur", ancestor},
		{facts.Delete, "space", ancestor},
		{facts.Delete, "runs/victim", ancestor},
		{facts.Delete, "runs/latest", ancestor},
		{facts.List, "space/v2x", none},
		{facts.Read, "space/v2x/artifacts/a", none},
		{facts.Write, "space/v2x/artifacts/new", none},
		{facts.Write, "runs/victim/artifacts/new", none},
		{facts.Read, "runs/latest/events.jsonl", runClass},
		{facts.Read, "runs/r1/events.jsonl", runClass},

		{facts.Write, "space/n/x", none},
		{facts.Write, "space/n/events.jsonl", runClass},
		{facts.Write, "space/gone", ancestor},
		{facts.Write, "space/gone/events.jsonl", runClass},
		{facts.Write, "space/gone/x", none},
		{facts.Read, "space/x", none},
		{facts.Write, "space/x", none},
	})
	r := open(t, Config{Project: project, Places: DefaultPlaces("")})
	o := asks(t, r, Request{Access: facts.Read, Requested: "space", Recursive: true})
	if want := "[{v2x/contract.json contract.json file} {v2x/events.jsonl events.jsonl file}]"; fmt.Sprint(o.Facts.Below) != want {
		t.Errorf("below: %v", o.Facts.Below)
	}
	if class, inside := r.InPlace(facts.Root{Path: project + "/space/v2x/sub"}); !inside || class != runClass {
		t.Errorf("a root in the run: %q %v", class, inside)
	}
}

// Reads by a Resolver that is long open see a link turned wherever it is, and
// one that comes where a place is.
func TestReadsFollowLinks(t *testing.T) {
	files := map[string]string{
		"p/cur": "-> one", "p/one/r/c": "", "p/one/r/events.jsonl": "", "p/two/r/c": "", "p/two/r/events.jsonl": "",
	}
	for _, c := range []struct {
		name, link string // link: what leads to p/cur
		places     []Place
		one, two   string
	}{
		{"folder of runs", "runs", DefaultPlaces(""), "p/one/r/c", "p/two/r/c"},
		{"deep folder of runs", "a/b/runs", DefaultPlaces("a/b/runs"), "p/one/r/c", "p/two/r/c"},
		{"run", "runs/x", DefaultPlaces(""), "p/one/events.jsonl", "p/two/events.jsonl"},
		{"key", "keys/x", []Place{{Path: "keys", Class: keyClass}}, "p/one/r/c", "p/two/r/c"},
		{"deep key", "keys/a/x", []Place{{Path: "keys", Class: keyClass}}, "p/one/r/c", "p/two/r/c"},
	} {
		project := lay(t, files)
		add(t, project, map[string]string{"p/one/events.jsonl": "", "p/two/events.jsonl": ""})
		add(t, project, map[string]string{filepath.Dir(c.link) + "/": ""})
		r := open(t, Config{Project: project, Places: c.places})
		check := func(when, p string, want bool) {
			t.Helper()
			if got := isSecret(ask(t, r, facts.Read, p).Facts.Protected); got != want {
				t.Errorf("%s, %s: read %s: secret %v, want %v", c.name, when, p, got, want)
			}
		}
		check("before", c.one, false)
		must(t, os.Symlink(project+"/p/cur", filepath.Join(project, c.link)))
		check("linked", c.one, true)
		check("linked", c.two, false)
		must(t, os.Symlink("two", project+"/p/next"))
		must(t, os.Rename(project+"/p/next", project+"/p/cur"))
		check("turned", c.two, true)
		check("turned", c.one, false)
		must(t, os.Remove(filepath.Join(project, c.link)))
		check("removed", c.two, false)
	}
}

// Without links, a read looks at what could have changed and no further.
func TestReadsKeepSnapshot(t *testing.T) {
	project := lay(t, map[string]string{"f": "", "runs/r/events.jsonl": "", "runs/latest": "-> r", "policies/runlens/x": ""})
	r := open(t, Config{Project: project, Places: DefaultPlaces("")})
	s := r.refresh()
	s.young = false // or the test would have to wait
	for range 3 {
		ask(t, r, facts.Read, "f")
	}
	if r.snap.Load() != s {
		t.Error("looked again without a reason")
	}
	for w := s.watch[0]; w.same(r); { // a clock of the file system may stand still for a moment
		must(t, os.RemoveAll(project+"/runs/new"))
		must(t, os.Mkdir(project+"/runs/new", 0o755))
	}
	ask(t, r, facts.Read, "f")
	if r.snap.Load() == s {
		t.Error("a new run was not seen")
	}
}

// Folders are read again only when they changed; a change is never missed.
func TestListingsFollowChanges(t *testing.T) {
	project := lay(t, map[string]string{"policies/runlens/a/x": "", "src/f": ""})
	r := open(t, Config{Project: project, Places: DefaultPlaces("")})
	at := project + "/policies/runlens/a"
	for i := range 50 {
		link := fmt.Sprintf("%s/l%d", at, i)
		if c := ask(t, r, facts.Write, "src/f").Facts.Protected; c != none {
			t.Fatalf("round %d: %q without a link", i, c)
		}
		must(t, os.Symlink(project+"/src/f", link))
		if c := ask(t, r, facts.Write, "src/f").Facts.Protected; c != policy {
			t.Fatalf("round %d: %q behind a link", i, c)
		}
		must(t, os.Remove(link))
	}
}

// A place too big or too deep to be looked at as a whole does not hang.
func TestLookIsBounded(t *testing.T) {
	project := lay(t, map[string]string{"policies/runlens/x": "", "src/near": "", "src/far": ""})
	deep := project + "/policies"
	for range maxDepth + 2 {
		deep += "/d"
	}
	must(t, os.MkdirAll(deep, 0o755))
	must(t, os.Symlink(project+"/src/far", deep+"/l"))
	must(t, os.Symlink(project+"/src/near", project+"/policies/l"))
	must(t, os.Symlink("..", project+"/policies/runlens/round"))
	r := open(t, Config{Project: project, Places: DefaultPlaces("")})
	if c := ask(t, r, facts.Write, "src/near").Facts.Protected; c != policy {
		t.Errorf("near: %q", c)
	}
	if n := len(r.snap.Load().known); n > 20 {
		t.Errorf("%d names are known", n)
	}
}
