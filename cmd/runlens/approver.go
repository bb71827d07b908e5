package main

import (
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/ledger"
)

func (w *world) approverCommand() *cli.Command {
	return &cli.Command{
		Name:  "approver",
		Usage: "make the key that a person signs approvals with",
		Description: `Where a manifest names approvers, an approval counts only when one of them has signed
it. The key stays in $XDG_STATE_HOME/runlens/approvers/; the line that is printed goes
into the manifest:

  runlens approver new eve
  eve+1a2b3c4d+AbCd...

  {"schema_version": 1, "approvers": ["eve+1a2b3c4d+AbCd..."], "tools": {...}}

"runlens approve ... --by eve" then signs with it.`,
		Subcommands: []*cli.Command{
			{
				Name: "new", ArgsUsage: "NAME", Action: w.approverNew,
				Usage: "make the key of NAME, and print the verifier key for the manifest",
			},
			{
				Name: "show", ArgsUsage: "NAME", Action: w.approverShow,
				Usage: "print the verifier key of NAME again",
			},
		},
	}
}

func (w *world) approverNew(c *cli.Context) error {
	name, err := approverName(c)
	if err != nil {
		return err
	}
	w.noteState()
	path, verifier, err := w.makeApprover(name)
	if err != nil {
		return err
	}
	w.note("the key is in %s; the line below goes into the manifest, under \"approvers\"", path)
	return w.print(verifier + "\n")
}

func (w *world) approverShow(c *cli.Context) error {
	name, err := approverName(c)
	if err != nil {
		return err
	}
	w.noteState()
	dir, err := w.approverDir()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, name+keySuffix)
	if !exists(path) {
		return hinted("`runlens approver new "+name+"` makes it", "read key %s: no such file", path)
	}
	secret, err := readSecret(path)
	if err != nil {
		return err
	}
	verifier, err := ledger.VerifierKey(secret)
	if err != nil {
		return notSigner(path)
	}
	return w.print(verifier + "\n")
}

func approverName(c *cli.Context) (string, error) {
	if err := countFiles(c, 1, 1); err != nil {
		return "", err
	}
	return c.Args().First(), checkApprover(c.Args().First())
}
