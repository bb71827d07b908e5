package regotest

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
)

// Unformatted lists the first line of every policy file below fsys that
// `opa fmt` would change.
func Unformatted(fsys fs.FS) ([]Place, error) {
	var list []Place
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".rego" {
			return err
		}
		raw, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		want, err := format.SourceWithOpts(name, raw, format.Opts{RegoVersion: ast.RegoV1})
		if err != nil {
			return fmt.Errorf("format %s: %w", name, err)
		}
		if !bytes.Equal(raw, want) {
			list = append(list, Place{File: name, Line: firstDifference(raw, want)})
		}
		return nil
	})
	return list, err
}

func firstDifference(a, b []byte) int {
	line := 1
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if a[i] == '\n' {
			line++
		}
	}
	return line
}
