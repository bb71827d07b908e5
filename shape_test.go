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
	"internal/call":              {},
	"internal/ledger":            {},
	"internal/plan":              {},
	"internal/manifest":          {"internal/facts", "internal/call", "internal/plan"},
	"internal/resolve":           {"internal/facts"},
	"internal/engine":            {"internal/facts"},
	"internal/engine/regotest":   {"internal/facts", "internal/engine"},
	"internal/executor/handlers": {"internal/facts", "internal/manifest", "internal/resolve"},
	"internal/executor": {
		"internal/facts", "internal/call", "internal/ledger", "internal/manifest", "internal/resolve",
		"internal/engine", "internal/executor/handlers", "internal/plan",
	},
	"internal/loop":        {"internal/executor", "internal/executor/handlers", "internal/call", "internal/facts"},
	"internal/loop/openai": {"internal/loop", "internal/call"},
	"internal/report":      {"internal/facts", "internal/engine"},
	"policies":             {},
	"schemas":              {},
	"manifests":            {},
	"test/bench":           {"internal/ledger"},
	"cmd/runlens":          {"*"},
}

// opaAlone may import OPA: nothing else knows the policy language.
var opaAlone = []string{"internal/engine", "internal/engine/regotest"}

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
			if strings.HasPrefix(name, "github.com/open-policy-agent/opa") && !slices.Contains(opaAlone, pkg) {
				t.Errorf("%s imports %s: only %v may know OPA", path, name, opaAlone)
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
