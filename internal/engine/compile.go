package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// capabilities is what OPA of this version can do minus everything whose answer
// may differ from one evaluation to the next: network, clock, random numbers,
// the process's environment. schemas/capabilities.json holds the same list.
func capabilities() *ast.Capabilities {
	caps := ast.CapabilitiesForThisVersion()
	caps.Builtins = slices.DeleteFunc(caps.Builtins, func(b *ast.Builtin) bool {
		return b.Nondeterministic || b.Name == "opa.runtime" || b.Name == "http.send" || strings.HasPrefix(b.Name, "net.lookup")
	})
	caps.AllowNet = []string{}
	return caps
}

// shortcuts are what the loader may do to rules without changing what they say.
type shortcuts struct {
	gathered  []string   // families whose rules the decision asks directly
	documents ast.Object // policy data that rules read through the input; nil: they ask the store
}

// compileModules compiles strictly against the closed input schema. carried
// says that rules read policy data through the input, which must carry it.
func compileModules(modules []module, data *node, schema any, caps *ast.Capabilities, short shortcuts, p *problems) (c *ast.Compiler, carried bool) {
	schemas := ast.NewSchemaSet()
	schemas.Put(ast.SchemaRootRef, schema)
	c = ast.NewCompiler().
		SetErrorLimit(0).
		WithCapabilities(caps).
		WithStrict(true).
		WithSchemas(schemas).
		WithStageAfterID(ast.StageResolveRefs, ast.CompilerStageDefinition{
			Name: "GatherFamilies",
			Stage: func(c *ast.Compiler) *ast.Error {
				gather(c, short.gathered)
				return nil
			},
		}).
		WithStageAfterID(ast.StageSetRuleTree, ast.CompilerStageDefinition{
			Name: "CheckDataRefs",
			Stage: func(c *ast.Compiler) *ast.Error {
				checkShadows(c.RuleTree, data, p)
				checkRefs(c, modules, data, p)
				return nil
			},
		}).
		WithStageAfterID(ast.StageCheckTypes, ast.CompilerStageDefinition{
			Name: "ReadDataThroughInput",
			Stage: func(c *ast.Compiler) *ast.Error {
				carried = short.documents != nil && constants(c, short.documents)
				return nil
			},
		})
	parsed := make(map[string]*ast.Module, len(modules))
	for _, m := range modules {
		parsed[m.file.shown] = m.parsed
	}
	c.Compile(parsed)
	checkPatterns(modules, p)
	if c.Failed() {
		addOPA(p, "policies", slices.DeleteFunc(c.Errors, func(e *ast.Error) bool { return reported(e, p) }))
	}
	return c, carried
}

// reported tells whether checkRefs has said better what e says.
func reported(e *ast.Error, p *problems) bool {
	name, ok := strings.CutPrefix(e.Message, "undefined function data.")
	if !ok || e.Location == nil {
		return false
	}
	return slices.ContainsFunc(p.list, func(other Problem) bool {
		path, ok := strings.CutPrefix(other.Message, `nothing defines "data.`)
		return ok && other.File == e.Location.File && strings.HasPrefix(name, strings.TrimSuffix(path, `"`))
	})
}

// checkShadows refuses data where rules are: which of the two a reference
// means would be a matter of luck, and data could pass for what a family says.
func checkShadows(tree *ast.TreeNode, data *node, p *problems) {
	var walk func(t *ast.TreeNode, n *node, at []string)
	walk = func(t *ast.TreeNode, n *node, at []string) {
		if n == nil {
			return
		}
		if len(t.Values) > 0 {
			p.add(n.file, n.line, "", "data.%s shadows the rule of %s:%d",
				strings.Join(at, "."), t.Values[0].Loc().File, t.Values[0].Loc().Row)
			return
		}
		for k, child := range t.Children {
			if key, ok := k.(ast.String); ok {
				if n.kind != '{' && n.kind != 0 {
					p.add(n.file, n.line, "", "data.%s shadows the package of that name", strings.Join(at, "."))
					return
				}
				walk(child, n.obj[string(key)], append(slices.Clip(at), string(key)))
			}
		}
	}
	if root := tree.Child(ast.DefaultRootDocument.Value); root != nil {
		walk(root, data, nil)
	}
	families := data.at(folder, "rules")
	if families == nil {
		return
	}
	for _, family := range families.keys() {
		for _, kind := range kinds {
			if n := families.at(family, kind); n != nil {
				p.add(n.file, n.line, "", "data.runlens.rules.%s.%s would pass for a rule", family, kind)
			}
		}
	}
}

// readSchema reads the input schema and checks that it is closed.
func readSchema(fsys fs.FS, name string, p *problems) any {
	shown := "schemas/" + name
	if fsys == nil {
		p.add(shown, 0, "", "is missing")
		return nil
	}
	raw, err := readFile(fsys, name)
	if err != nil {
		p.add(shown, 0, "", "cannot be read: %v", reason(err))
		return nil
	}
	var schema map[string]any
	if err := json.Unmarshal(raw, &schema); err != nil {
		p.add(shown, 0, "", "is not JSON: %v", err)
		return nil
	}
	return schema
}

// revision is the digest over what judges: every policy file by its place and
// bytes, and the data as one document. It is the same for a directory, the
// embedded copy and a bundle, and does not depend on test files.
func revision(modules []module, data *node) string {
	h := sha256.New()
	modules = slices.Clone(modules)
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.file.rel, b.file.rel) })
	for _, m := range modules {
		sum := sha256.Sum256(m.file.raw)
		h.Write([]byte(hex.EncodeToString(sum[:]) + "  " + m.file.rel + "\n"))
	}
	h.Write(data.canonical(nil))
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
