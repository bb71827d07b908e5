package main

import (
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
)

func (w *world) ledgerCommand() *cli.Command {
	return &cli.Command{
		Name:  "ledger",
		Usage: "append a proposal to a run, check its chain, show what happened",
		Description: `A run's ledger is runs/RUN/events.jsonl: one event a line, each bound to the one
before by its hash.`,
		Subcommands: []*cli.Command{w.appendCommand(), w.verifyCommand(), w.showCommand()},
	}
}

// runDir is the directory of a run that is named by its id, or by a path to it.
func (p *project) runDir(run string) (string, error) {
	if strings.ContainsRune(run, '/') || strings.ContainsRune(run, filepath.Separator) {
		run = strings.TrimSuffix(filepath.Clean(run), string(filepath.Separator)+"events.jsonl")
		if exists(filepath.Join(run, "events.jsonl")) {
			return run, nil
		}
		return "", hinted(similar(run), "open run %s: no events.jsonl in it", run)
	}
	if err := p.mustExist(run); err != nil {
		return "", err
	}
	return filepath.Join(p.in("runs"), run), nil
}
