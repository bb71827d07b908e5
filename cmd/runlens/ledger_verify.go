package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/mod/sumdb/note"

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

Exit codes: 0 nothing is wrong, 1 something is, 2 a ledger can't be read.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "head", Usage: "signed head to compare with: a `FILE`, or a directory of them"},
			&cli.StringFlag{Name: "key", Usage: "public key `FILE` that heads must be signed with (default: this machine's)"},
			&cli.StringFlag{Name: "sign", Usage: "sign the heads of runs that are whole: a `FILE`, or for several runs a directory"},
		},
		Action: w.verify,
	}
}

// maxHead bounds a signed head.
const maxHead = 64 << 10

func (w *world) verify(c *cli.Context) error {
	if err := countFiles(c, 1, -1); err != nil {
		return err
	}
	p, err := w.openProject(c)
	if err != nil {
		return err
	}
	heads, err := readHeads(c.String("head"))
	if err != nil {
		return err
	}
	known, err := w.verifiers(c.String("key"), len(heads) > 0)
	if err != nil {
		return err
	}
	code := exitAllowed
	for _, run := range c.Args().Slice() {
		got, err := w.verifyRun(p, run, heads, known, c.String("sign"), c.NArg() > 1)
		if err != nil {
			complain(w.stderr, err)
			got = exitBroken
		}
		code = worse(code, got)
	}
	return end(code)
}

func (w *world) verifyRun(p *project, run string, heads [][]byte, known note.Verifiers, sign string, several bool) (int, error) {
	dir, err := p.verifiedDir(run, heads)
	if err != nil {
		return exitBroken, err
	}
	id := filepath.Base(dir)
	r, err := ledger.Verify(dir, headsOf(heads, id), known)
	if err != nil {
		return exitBroken, err
	}
	if len(heads) > 0 && len(headsOf(heads, id)) == 0 {
		w.note("none of the heads is one of run %s", id)
	}
	if err := w.print(verifyText(id, &r)); err != nil {
		return exitBroken, err
	}
	code := exitAllowed
	if len(r.Problems) > 0 {
		code = exitDenied
	}
	if sign == "" {
		return code, nil
	}
	if code != exitAllowed {
		w.note("run %s is not whole: its head is not signed", id)
		return code, nil
	}
	return code, w.signHead(r.Head, sign, several)
}

// verifiedDir is the run's directory; one that is gone is looked for all the
// same when a head says that it was there.
func (p *project) verifiedDir(run string, heads [][]byte) (string, error) {
	dir, err := p.runDir(run)
	if err != nil && len(headsOf(heads, run)) > 0 {
		return filepath.Join(p.in("runs"), run), nil
	}
	return dir, err
}

func (w *world) signHead(h ledger.Head, target string, several bool) error {
	dir, err := w.stateDir()
	if err != nil {
		return err
	}
	keys, err := ledger.OpenKeys(dir, signerName)
	if err != nil {
		return err
	}
	if st, err := os.Stat(target); several || err == nil && st.IsDir() {
		target = filepath.Join(target, h.RunID+".head")
	}
	if err := keys.SaveHead(target, h); err != nil {
		return hinted("", "sign head of run %s: %w", h.RunID, err)
	}
	w.note("head of event %d is signed in %s; keep it where the run can't reach", h.Seq, target)
	return nil
}

// verifyText is the report about one run: the status, what it means, and what
// is wrong, line by line.
func verifyText(id string, r *ledger.Report) string {
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

// readHeads reads the signed heads that --head names.
func readHeads(name string) ([][]byte, error) {
	if name == "" {
		return nil, nil
	}
	st, err := os.Stat(name)
	if err != nil {
		return nil, hinted(similar(name), "read head %s: %w", name, cause(err))
	}
	files := []string{name}
	if st.IsDir() {
		if files, err = filepath.Glob(filepath.Join(escapeGlob(name), "*.head")); err != nil || len(files) == 0 {
			return nil, hinted("heads are files named RUN.head", "read heads %s: none there", name)
		}
	}
	var heads [][]byte
	for _, f := range files {
		data, err := readFile(f, maxHead)
		if err != nil {
			return nil, hinted("", "read head %s: %w", f, cause(err))
		}
		heads = append(heads, data)
	}
	return heads, nil
}

func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// headsOf are the heads whose first line names the run, and those that name
// none: they are for the report to refuse.
func headsOf(heads [][]byte, run string) [][]byte {
	var list [][]byte
	for _, h := range heads {
		first, _, _ := bytes.Cut(h, []byte("\n"))
		id, ours := bytes.CutPrefix(first, []byte("runlens/"))
		if !ours || string(id) == run || len(heads) == 1 {
			list = append(list, h)
		}
	}
	return list
}

// verifiers are the keys that may have signed heads; none when there is no key,
// unless heads are to be compared.
func (w *world) verifiers(name string, needed bool) (note.Verifiers, error) {
	if name != "" {
		text, err := readFile(name, maxKey)
		if err != nil {
			return nil, hinted(similar(name), "read key %s: %w", name, cause(err))
		}
		v, err := note.NewVerifier(strings.TrimSpace(string(text)))
		if err != nil {
			return nil, hinted("the public key is head.pub in the key directory (`runlens doctor` names it)", "read key %s: not a public key for heads", name)
		}
		return note.VerifierList(v), nil
	}
	dir, err := w.stateDir()
	if err != nil {
		return nil, err
	}
	known, err := ledger.ReadVerifiers(dir)
	if err != nil && needed {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("there is none")
		}
		return nil, hinted("--key FILE names another", "read this machine's public key in %s: %w", dir, cause(err))
	}
	return known, nil
}
