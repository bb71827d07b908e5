package main

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/executor"
	"github.com/runlens/runlens/internal/ledger"
)

// answering is a person's answer on its way into a run's ledger.
type answering struct {
	w    *world
	p    *project
	dir  string // of the run
	spec executor.AnswerSpec
}

// answering reads what approve and deny have in common; what is wrong with their
// other flags is told together with it.
func (w *world) answering(c *cli.Context, flags ...error) (*answering, error) {
	a := &answering{w: w, spec: executor.AnswerSpec{RunID: c.Args().First(), By: c.String("by")}}
	usage := "usage: " + c.Command.HelpName + " " + c.Command.ArgsUsage
	if err := ledger.CheckRunID(a.spec.RunID); err != nil {
		flags = append(flags, hinted(usage, "read arguments: RUN: %w", err))
	}
	if flag := c.String("run"); flag != "" && flag != a.spec.RunID {
		flags = append(flags, hinted("leave --run out", "read arguments: --run and RUN name different runs"))
	}
	if err := checkPerson(a.spec.By); err != nil {
		flags = append(flags, err)
	}
	if err := together(flags...); err != nil {
		return nil, err
	}
	var err error
	if a.p, err = w.openProject(c); err != nil {
		return nil, err
	}
	if err = a.p.mustExist(a.spec.RunID); err != nil {
		return nil, err
	}
	a.dir = filepath.Join(a.p.in("runs"), a.spec.RunID)
	a.spec.Signer, err = w.signerOf(a.spec.By, c.String("key"), a.p.dir)
	return a, err
}

// maxPerson bounds a person's name, in bytes.
const maxPerson = 100

func checkPerson(by string) error {
	const hint = "--by NAME says who answers"
	switch {
	case strings.TrimSpace(by) == "":
		return hinted(hint, "read arguments: --by is missing")
	case len(by) > maxPerson || by != printable(by) || strings.TrimSpace(by) != by:
		return hinted(hint+", in at most 100 bytes that can be printed", "read arguments: --by: %s is no name", quoted(by))
	}
	return nil
}

// ask finds the call that is answered.
func (a *answering) ask(verb, number string) (c *askedCall, err error) {
	if a.spec.Call, err = callNumber(a.dir, verb, number); err != nil {
		return nil, err
	}
	c, err = findAsked(a.dir, a.spec.Call)
	if err != nil && !errors.Is(err, ledger.ErrTorn) {
		return nil, ledgerTrouble(a.spec.RunID, err)
	}
	return c, c.trouble(verb)
}

// record has the answer recorded and says what was.
func (a *answering) record(answer func(*executor.Executor) (*executor.Answer, error), say func(*executor.Answer) string) error {
	x, tools, err := a.p.open(true)
	if err != nil {
		return err
	}
	defer x.Close()
	done, err := answer(x)
	if errors.Is(err, executor.ErrUnsigned) {
		var names []string
		for _, known := range tools.Approvers {
			names = append(names, known.Name)
		}
		return hinted(unsignedHint(a.spec.Signer != nil, names), "%w", err)
	}
	if err != nil {
		return ledgerTrouble(a.spec.RunID, err)
	}
	return a.w.print(printable(say(done)) + "\n")
}

func unsignedHint(signed bool, approvers []string) string {
	hint := "the manifest's approvers: " + strings.Join(approvers, ", ")
	if signed {
		return hint + "; the key at hand is none of theirs"
	}
	return hint + "; sign with --key FILE, or make a key with `runlens approver new NAME` and have it put into the manifest"
}

// what names the call that was answered: the tool, its objects, its command.
func (a *answering) what(done *executor.Answer) string {
	words := []string{oneWord(done.Tool, maxTool)}
	root, err := realPath(a.p.dir)
	for _, path := range done.Paths {
		if rel, relErr := filepath.Rel(root, path); err == nil && relErr == nil && filepath.IsLocal(rel) {
			path = rel
		}
		words = append(words, oneWord(path, maxPath))
	}
	if len(done.Argv) > 0 {
		words = append(words, argvWords(done.Argv))
	}
	return strings.Join(words, " ")
}

func signedWord(done *executor.Answer) string {
	if done.Signed {
		return "signed"
	}
	return "unsigned"
}

// shortDuration is a duration without its zeros: 10m, 720h.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
