package runlens_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/runlens/runlens/"

// arrows is the import table: what each package may import of this module.
// A package that is not here fails the test, so that it is placed on purpose.
var arrows = map[string][]string{
	"internal/facts":             {},
	"internal/glyph":             {},
	"internal/call":              {"internal/glyph"},
	"internal/ledger":            {},
	"internal/plan":              {},
	"internal/manifest":          {"internal/facts", "internal/call", "internal/plan", "internal/glyph"},
	"internal/resolve":           {"internal/facts"},
	"internal/engine":            {"internal/facts"},
	"internal/engine/regotest":   {"internal/facts", "internal/engine"},
	"internal/executor/handlers": {"internal/facts", "internal/call", "internal/manifest", "internal/resolve", "internal/executor/sandbox", "internal/glyph"},
	"internal/executor/sandbox":  {"internal/facts"},
	"internal/executor": {
		"internal/facts", "internal/call", "internal/ledger", "internal/manifest", "internal/resolve",
		"internal/engine", "internal/executor/handlers", "internal/executor/sandbox", "internal/plan", "internal/glyph",
	},
	"internal/loop":          {"internal/executor", "internal/executor/handlers", "internal/call", "internal/facts", "internal/loop/provider"},
	"internal/loop/provider": {"internal/glyph"},
	"internal/loop/openai":   {"internal/loop/provider", "internal/glyph"},
	"internal/report":        {"internal/facts", "internal/engine", "internal/glyph", "internal/replay"},
	"internal/golden": {
		"internal/facts", "internal/call", "internal/ledger", "internal/manifest", "internal/engine",
		"internal/executor", "internal/executor/handlers", "internal/glyph",
	},
	"internal/replay": {"internal/facts", "internal/ledger", "internal/manifest", "internal/engine"},
	"internal/corpus": {
		"internal/facts", "internal/manifest", "internal/engine", "internal/executor", "internal/executor/handlers", "internal/golden",
		"internal/ledger", "internal/resolve",
	},
	"policies":            {},
	"schemas":             {},
	"manifests":           {},
	"test/bench":          {"internal/facts", "internal/ledger"},
	"cmd/runlens":         {"*"},
	"cmd/runlens-openai":  {"internal/loop/openai"},
	"cmd/runlens-sandbox": {"internal/executor/sandbox", "internal/resolve"},
}

// homes say who alone may import what begins so. Nothing else knows the policy
// language, or a model's vendor: what links one pays for it at every start.
var homes = []struct {
	prefix string
	pkgs   []string
}{
	{"github.com/open-policy-agent/opa", []string{"internal/engine", "internal/engine/regotest"}},
	{"github.com/openai/", []string{"internal/loop/openai"}},
	{module + "internal/loop/openai", []string{"cmd/runlens-openai"}},
}

// TestShape holds every package to the import table, tests left out.
func TestShape(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		allowed, placed := arrows[pkg]
		if !placed {
			t.Errorf("%s: package %s is not in the import table", path, pkg)
		}
		seen[pkg] = true
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			for _, h := range homes {
				if strings.HasPrefix(name, h.prefix) && !slices.Contains(h.pkgs, pkg) {
					t.Errorf("%s imports %s: only %v may", path, name, h.pkgs)
				}
			}
			own, is := strings.CutPrefix(name, module)
			if is && !slices.Contains(allowed, own) && !slices.Contains(allowed, "*") {
				t.Errorf("%s imports %s: the import table has no arrow %s → %s", path, own, pkg, own)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range arrows {
		if !seen[pkg] && pkg != "internal/engine/regotest" {
			t.Errorf("the import table names %s, which has no Go files", pkg)
		}
	}
}
