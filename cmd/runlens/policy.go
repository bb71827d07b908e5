package main

import "github.com/urfave/cli/v2"

func (w *world) policyCommand() *cli.Command {
	return &cli.Command{
		Name:        "policy",
		Usage:       "reason codes, the input document, a new family, the shipped tree, bundles, a comparison",
		Description: `Policies are Rego, one folder a family, below policies/runlens/rules/.`,
		Subcommands: []*cli.Command{w.codesCommand(), w.inputCommand(), w.newCommand(), w.exportCommand(), w.buildCommand(), w.diffCommand()},
	}
}
