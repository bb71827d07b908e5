package main

import (
	"io/fs"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/policies"
)

func (w *world) exportCommand() *cli.Command {
	return &cli.Command{
		Name:      "export",
		Usage:     "write the shipped policy tree into a directory",
		ArgsUsage: "DIR",
		Description: `With the shipped tree beside them, stock opa tests the families that a project adds:

  runlens policy export shipped
  opa test shipped policies/

As a start for a tree of your own:

  runlens policy export policies
  $EDITOR policies/runlens/data.json

Files that exist are never written over.`,
		Action: w.export,
	}
}

func (w *world) export(c *cli.Context) error {
	if err := countFiles(c, 1, 1); err != nil {
		return err
	}
	dir := c.Args().First()
	files := map[string][]byte{}
	err := fs.WalkDir(policies.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(policies.FS, name)
		files[filepath.FromSlash(name)] = data
		return err
	})
	if err != nil {
		return hinted("", "read the shipped policies: %w", err)
	}
	return w.lay(dir, files)
}
