package main

import (
	"bytes"
	"embed"
	"path"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"
)

// The files that `policy new` writes, with FAMILY for the name.
//
//go:embed scaffold/family
var scaffold embed.FS

func (w *world) newCommand() *cli.Command {
	return &cli.Command{
		Name:      "new",
		Usage:     "start a family of rules: rule, test, code and case",
		ArgsUsage: "FAMILY",
		Description: `Writes into the project's policies/ and policy_test/; the family is in force at once,
since every folder below policies/runlens/rules/ is asked. Files that exist are never
written over.

  runlens policy new drafts
  $EDITOR policies/runlens/rules/drafts/drafts.rego
  runlens policy export shipped && opa test shipped policies/

In a project without a policy tree of its own the family comes on top of the embedded
one.`,
		Action: w.policyNew,
	}
}

// isFamilyName tells whether a folder and a Rego package can have the name:
// ^[a-z][a-z0-9_]{0,39}$ and no word of Rego.
func isFamilyName(name string) bool {
	if name == "" || len(name) > 40 || slices.Contains(taken, name) {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}

// taken are words that a Rego package can't be named.
var taken = []string{
	"and", "as", "data", "default", "else", "every", "false", "if", "import", "in", "input",
	"not", "null", "or", "package", "set", "some", "true", "with", "contains",
}

func (w *world) policyNew(c *cli.Context) error {
	if err := countFiles(c, 1, 1); err != nil {
		return err
	}
	family := c.Args().First()
	if !isFamilyName(family) {
		return hinted("lower-case letters, digits and _, a letter first, and no word of Rego: for example \"drafts\"",
			"name family %s: not a name", quoted(family))
	}
	p, err := w.openProject(c)
	if err != nil {
		return err
	}
	if p.policies.given {
		return hinted("go to the project, or give --project", "start family %s: it goes into the project, not into --policies", family)
	}
	// What is there must load, and must not have the family or its code: the
	// new files would otherwise break the project.
	e, err := p.loadPolicies()
	if err != nil {
		return err
	}
	for _, r := range e.Rules() {
		if r.Family == family {
			return hinted("choose another name", "start family %s: %s has it", family, r.File)
		}
	}
	files, err := familyFiles(family)
	if err != nil {
		return err
	}
	if err := w.lay(p.dir, files); err != nil {
		return err
	}
	w.note("the rule in %s is in force now", filepath.Join(p.dir, "policies", "runlens", "rules", family, family+".rego"))
	return nil
}

// familyFiles are the files of a new family by their names in the project. The
// code stands in a folder of its own, which names it: no file that is there
// has to be changed.
func familyFiles(family string) (map[string][]byte, error) {
	rules := path.Join("policies/runlens/rules", family)
	files := map[string][]byte{}
	for name, from := range map[string]string{
		path.Join(rules, family+".rego"):                                       "rule.rego",
		path.Join(rules, family+"_test.rego"):                                  "test.rego",
		path.Join("policies/runlens/codes", codeOfFamily(family), "data.json"): "code.json",
		path.Join("policy_test", family, family+".txtar"):                      "case.txtar",
	} {
		data, err := scaffold.ReadFile("scaffold/family/" + from)
		if err != nil {
			return nil, hinted("", "read scaffold: %w", err)
		}
		files[filepath.FromSlash(name)] = bytes.ReplaceAll(data, []byte("FAMILY"), []byte(family))
	}
	return files, nil
}

func codeOfFamily(family string) string { return family + "_refused" }
