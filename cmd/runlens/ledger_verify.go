package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/ledger"
)

func (w *world) verifyCommand() *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "check the chain of a run, and compare it with signed heads",
		ArgsUsage: "RUN...",
		Description: `RUN is an id, or a path to a run's directory. The chain shows every change within; a
cut tail, or a ledger written anew, shows only against a signed head that was kept
elsewhere. Without one the answer is "unanchored", never "valid".

  runlens ledger verify demo-001 --sign /mnt/audit/demo-001.head
  runlens ledger verify demo-001 --head /mnt/audit/demo-001.head

--sign compares with the head that is there already, and writes over nothing else.

Exit codes: 0 nothing is wrong, 1 something is, or --head has no head of the run, 2 a
ledger can't be read.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "head", Usage: "signed head to compare with: a `FILE`, or a directory of them"},
			&cli.StringFlag{Name: "key", Usage: "public key `FILE` that heads must be signed with (default: this machine's)"},
			&cli.StringFlag{Name: "sign", Usage: "sign the heads of runs that are whole: a `FILE`, or for several runs a directory"},
		},
		Action: w.verify,
	}
}

func (w *world) verify(c *cli.Context) error {
	if err := countFiles(c, 1, -1); err != nil {
		return err
	}
	p, err := w.openProject(c)
	if err != nil {
		return err
	}
	given, err := w.givenHeads(c.String("head"), c.String("key"))
	if err != nil {
		return err
	}
	sign, err := w.signing(c.String("sign"), c.NArg() > 1)
	if err != nil {
		return err
	}
	code := exitAllowed
	for _, run := range c.Args().Slice() {
		got, err := w.verifyRun(p, run, given, sign)
		if err != nil {
			complain(w.stderr, err)
			got = exitBroken
		}
		code = worse(code, got)
	}
	return end(code)
}

// verifyRun reports on one run, and signs its head when that is asked for and
// nothing is wrong. A head that is in the place of the new one already is
// compared like one from --head.
func (w *world) verifyRun(p *project, run string, given *givenHeads, sign *signing) (int, error) {
	dir, err := p.verifiedDir(run, given)
	if err != nil {
		return exitBroken, err
	}
	id, err := ledger.RunIDOf(dir)
	if err != nil {
		return exitBroken, err
	}
	old, signErr := sign.earlier(dir, id)
	r, inVain, err := given.verify(dir, id, old)
	if err != nil {
		return exitBroken, err
	}
	if err := w.print(verifyText(id, &r, inVain)); err != nil {
		return exitBroken, err
	}
	code := exitAllowed
	if len(r.Problems) > 0 || inVain > 0 {
		code = exitDenied
	}
	switch {
	case sign == nil:
		return code, nil
	case signErr != nil:
		return exitBroken, signErr
	case code != exitAllowed:
		w.note("something is wrong with run %s: its head is not signed", id)
		return code, nil
	}
	return code, w.signHead(sign, r.Head, old)
}

// verifiedDir is the run's directory; one that is gone is looked for all the
// same when a head says that it was there.
func (p *project) verifiedDir(run string, given *givenHeads) (string, error) {
	dir, err := p.runDir(run)
	if err != nil && given.name(run) {
		return filepath.Join(p.in("runs"), run), nil
	}
	return dir, err
}

// verifyText is the report about one run: the status, what it means, and what
// is wrong, line by line.
// Heads that were given in vain are one thing more that is wrong: what was to be
// compared was not.
func verifyText(id string, r *ledger.Report, inVain int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (%d events, head %s)\n", printable(id), r.Status, r.Head.Seq, r.Head.Hash)
	fmt.Fprintf(&b, "  %s\n", statusMeaning(r))
	for _, problem := range r.Problems {
		where := ""
		if problem.Line > 0 {
			where = fmt.Sprintf("events.jsonl:%d (byte %d): ", problem.Line, problem.Offset)
		}
		fmt.Fprintf(&b, "  %s%s\n", where, printable(problem.Message))
	}
	if inVain > 0 {
		fmt.Fprintf(&b, "  no good head of run %s among the %d given: nothing was compared\n", printable(id), inVain)
	}
	for _, seq := range r.Open {
		fmt.Fprintf(&b, "  event %d started a tool, and no event says how it ended\n", seq)
	}
	for _, name := range r.Torn {
		fmt.Fprintf(&b, "  %s: bytes of a torn line that no event names\n", printable(name))
	}
	return b.String()
}

func statusMeaning(r *ledger.Report) string {
	switch r.Status {
	case ledger.Corrupt:
		return "a line is no event, or does not continue the chain"
	case ledger.Foreign:
		return "the events are those of another run: its ledger was copied or moved into this directory"
	case ledger.Rewritten:
		return "a signed head names another event than stands there: the ledger was written anew"
	case ledger.Cut:
		return "a signed head covers more events than there are: the end was cut off"
	case ledger.Inconsistent:
		return "the chain holds, but an event claims what can't be"
	case ledger.Torn:
		return "the last line is not whole, as after a crash; the next command that records repairs it"
	case ledger.Unanchored:
		if r.Anchored > 0 {
			return fmt.Sprintf("the chain holds; a signed head covers it up to event %d, nothing covers the rest", r.Anchored)
		}
		return "the chain holds; no signed head covers it, so a cut end or a rewrite would not show"
	case ledger.Unfinished:
		return "the chain holds up to a signed head; the run has not been stopped"
	}
	return "the chain holds up to a signed head, and the run is finished"
}
