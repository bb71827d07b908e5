package main

import (
	"embed"
	"path/filepath"

	"github.com/urfave/cli/v2"
)

// The files that `init` writes.
//
//go:embed scaffold/project
var starter embed.FS

// starterFiles says where each of them goes.
var starterFiles = map[string]string{
	"manifests/tools.json":     "tools.json",
	"data/notes.txt":           "notes.txt",
	"calls/read-notes.json":    "read-notes.json",
	"calls/read-outside.json":  "read-outside.json",
	"calls/write-summary.json": "write-summary.json",
}

func (w *world) initCommand() *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "write a small project to start from",
		ArgsUsage: "[DIR]",
		Description: `Writes manifests/tools.json with three tools, a file to read and three calls to try,
two that are allowed and one that is not. The policies are the embedded ones;
` + "`runlens policy new`" + ` adds rules of your own. Files that exist are never written over.

  runlens init my-project && cd my-project
  runlens check calls/
  runlens exec calls/write-summary.json`,
		Action: w.initProject,
	}
}

func (w *world) initProject(c *cli.Context) error {
	if err := countFiles(c, 0, 1); err != nil {
		return err
	}
	dir := c.Args().First()
	switch project := c.String("project"); {
	case dir != "" && project != "":
		return hinted("give the directory once", "read arguments: both DIR and --project name the project")
	case dir == "":
		dir = project
	}
	if dir == "" {
		dir = "."
	}
	files := map[string][]byte{}
	for name, from := range starterFiles {
		data, err := starter.ReadFile("scaffold/project/" + from)
		if err != nil {
			return hinted("", "read scaffold: %w", err)
		}
		files[filepath.FromSlash(name)] = data
	}
	if err := w.lay(dir, files); err != nil {
		return err
	}
	w.note("next: runlens --project %s check %s", dir, filepath.Join(dir, "calls"))
	return nil
}
