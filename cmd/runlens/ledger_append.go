package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/ledger"
)

func (w *world) appendCommand() *cli.Command {
	return &cli.Command{
		Name:      "append",
		Usage:     "append a proposal, or a note, to a run",
		ArgsUsage: "RUN [FILE|-]",
		Description: `Records a call as proposed and judges nothing; ` + "`runlens authorize`" + ` does. A run that
does not exist is made. Prints the number of the event.

  runlens ledger append demo-001 call.json
  echo 'deploy window opened' | runlens ledger append demo-001 --note -

A call that is not well-formed is recorded by its size and digest, and the exit code
is 1.`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "note", Usage: "record the text as a note, not as a call"},
		},
		Action: w.ledgerAppend,
	}
}

// maxNote bounds a note; a ledger is no place for documents.
const maxNote = 64 << 10

func (w *world) ledgerAppend(c *cli.Context) error {
	if err := countFiles(c, 1, 2); err != nil {
		return err
	}
	id := c.Args().First()
	if err := ledger.CheckRunID(id); err != nil {
		return hinted("usage: runlens ledger append RUN [FILE|-]", "read arguments: RUN: %w", err)
	}
	if flag := c.String("run"); flag != "" && flag != id {
		return hinted("leave --run out", "read arguments: --run and RUN name different runs")
	}
	raw, err := w.readCall(c.Args().Slice()[1:])
	if err != nil {
		return err
	}
	p, err := w.openProject(c)
	if err != nil {
		return err
	}
	x, _, err := p.open(true)
	if err != nil {
		return err
	}
	defer x.Close()
	if c.Bool("note") {
		text, err := noteText(raw)
		if err != nil {
			return hinted("", "append note: %w", err)
		}
		seq, err := x.Note(c.Context, text, id)
		if err != nil {
			return ledgerTrouble(id, err)
		}
		return w.print(fmt.Sprintf("seq=%d\n", seq))
	}
	seq, err := x.Propose(c.Context, raw, id)
	if seq == 0 && err != nil {
		return ledgerTrouble(id, err)
	}
	if err := w.print(fmt.Sprintf("seq=%d\n", seq)); err != nil {
		return err
	}
	if err != nil {
		w.note("recorded as malformed: %v", err)
		return end(exitDenied)
	}
	return nil
}

// noteText is a note as the ledger holds it: one JSON string.
func noteText(raw []byte) (json.RawMessage, error) {
	for len(raw) > 0 && (raw[len(raw)-1] == '\n' || raw[len(raw)-1] == '\r') {
		raw = raw[:len(raw)-1]
	}
	switch {
	case len(raw) > maxNote:
		return nil, fmt.Errorf("longer than the %d bytes of a note", maxNote)
	case !utf8.Valid(raw):
		return nil, errors.New("not valid UTF-8")
	}
	return json.Marshal(string(raw))
}
