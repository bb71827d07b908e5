package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/golden"
	"github.com/runlens/runlens/internal/report"
)

// maxWorkers bounds how many cases are judged at once.
const maxWorkers = 4

// goldenCase is a case and how it came out.
type goldenCase struct {
	c      *golden.Case
	judged []golden.Judged // the rows that are selected, the ledger last
	skip   string
	err    error
}

// golden judges the cases. An error is one that leaves nothing to report.
func (t *tests) golden(ctx context.Context) error {
	files, err := golden.Find(t.dir)
	if _, strays := errors.AsType[*golden.Problems](err); strays {
		t.broken(err)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return hinted("", "%w", err)
	}
	t.found = len(files) > 0
	var cases []*goldenCase
	for _, name := range files {
		c, err := golden.Read(name)
		if err == nil {
			err = c.CheckCodes(t.engine)
		}
		switch {
		case err != nil:
			t.broken(err)
		case t.wants(c):
			cases = append(cases, &goldenCase{c: c, skip: c.Skip()})
		}
	}
	if len(cases) == 0 {
		return nil
	}
	if err := t.judge(ctx, cases); err != nil {
		return err
	}
	t.report.Cases = len(cases)
	for _, one := range cases {
		if err := t.take(one); err != nil {
			return err
		}
	}
	return nil
}

// wants says whether --run selects the case or some of its rows.
func (t *tests) wants(c *golden.Case) bool {
	if t.matches(c.Name()) || c.HasLedger() && t.matches(rowName(c, "ledger")) {
		return true
	}
	for i := range c.Rows {
		if t.matches(rowName(c, c.Rows[i].Name)) {
			return true
		}
	}
	return false
}

// rowName is the name that --run knows a row by.
func rowName(c *golden.Case, row string) string {
	if row == "" {
		return c.Name()
	}
	return c.Name() + "/" + row
}

// judge judges all cases, some at once, in a directory that is removed again.
func (t *tests) judge(ctx context.Context, cases []*goldenCase) (err error) {
	sources, err := t.p.toolSources()
	if err == nil {
		_, err = t.p.loadTools() // so that what is wrong with it is said once
	}
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "runlens-test-")
	if err != nil {
		return hinted("cases are laid out in the directory for temporary files: TMPDIR names another", "make a directory for golden cases: %w", err)
	}
	defer func() {
		if removed := os.RemoveAll(dir); err == nil && removed != nil {
			err = hinted("", "remove what golden cases have laid out: %w", removed)
		}
	}()
	var log sync.Mutex
	env := golden.Env{
		Engine: t.engine, Manifest: sources, Handlers: handlers.Builtin(), TempDir: dir,
		Log: func(format string, args ...any) {
			log.Lock()
			defer log.Unlock()
			fmt.Fprintf(t.p.w.stderr, format+"\n", args...)
		},
	}
	next := make(chan *goldenCase)
	var workers sync.WaitGroup
	for range min(maxWorkers, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for one := range next {
				t.one(ctx, env, one)
			}
		})
	}
	for _, one := range cases {
		next <- one
	}
	close(next)
	workers.Wait()
	return ended(ctx, nil)
}

// one judges a case.
func (t *tests) one(ctx context.Context, env golden.Env, one *goldenCase) {
	if one.skip != "" || ctx.Err() != nil {
		return
	}
	all, err := one.c.Judge(ctx, env)
	if err == nil && one.c.HasLedger() {
		var recorded *golden.Judged
		if recorded, err = one.c.Record(ctx, env); err == nil {
			all = append(all, *recorded)
		}
	}
	if errors.Is(err, golden.ErrUnable) {
		one.skip, err = err.Error(), nil
	}
	one.err = err
	whole := t.matches(one.c.Name())
	for _, j := range all {
		if whole || t.matches(rowName(one.c, j.Name)) {
			one.judged = append(one.judged, j)
		}
	}
}

// take reports a case, and writes it when it is to be updated.
func (t *tests) take(one *goldenCase) error {
	suite := one.c.File
	if one.err != nil {
		t.broken(one.err)
		return nil
	}
	if one.skip != "" {
		t.add(report.Tested{Kind: report.GoldenCase, Finding: report.Finding{
			Suite: suite, Name: one.c.Name(), Status: report.Skip, Message: one.skip, Place: report.Place{File: suite},
		}})
		return nil
	}
	updated := false
	for i := range one.judged {
		j := &one.judged[i]
		if j.Input != nil {
			t.inputs = append(t.inputs, j.Input)
		}
		updated = updated || t.update && !j.AsWanted()
		t.add(t.row(one.c, j))
	}
	if !updated {
		return nil
	}
	if err := rewriteFile(one.c.File, one.c.Update(one.judged)); err != nil {
		return hinted("", "update %s: %w", one.c.File, cause(err))
	}
	t.report.Written = append(t.report.Written, one.c.File)
	return nil
}

// row is a row as a finding.
func (t *tests) row(c *golden.Case, j *golden.Judged) report.Tested {
	kind, name := report.GoldenRow, j.Name
	if j.Row == golden.LedgerRow {
		kind = report.GoldenLedger
	}
	if name == "" {
		name = c.Name()
	}
	one := report.Tested{Kind: kind, Got: j.Got, Want: j.Want, Finding: report.Finding{
		Suite: c.File, Name: name, Status: report.Pass, Place: report.Place{File: c.File, Line: j.Line},
	}}
	switch {
	case j.AsWanted():
	case t.update:
		one.Updated, one.Message = true, "what is wanted has been written anew"
	default:
		one.Status, one.Code, one.Title = report.Fail, "expectation", "not what the case wants"
		one.Message = fmt.Sprintf("got %s, want %s", inLine(j.Got), inLine(j.Want))
		one.Detail = "got\n" + j.Got + "\nwant\n" + j.Want
		if j.Outcome != nil {
			r := j.Outcome.Verdict.Reasons
			if len(r) > 0 && r[0].File != "" {
				one.Rule = report.Place{File: r[0].File, Line: r[0].Line}
			}
		}
	}
	return one
}

func inLine(text string) string {
	if text == "" {
		return "nothing"
	}
	return strings.ReplaceAll(text, "\n", ", ")
}

// rewriteFile replaces a file in one step, so that nothing is lost when it fails.
func rewriteFile(name string, data []byte) error {
	st, err := os.Stat(name)
	if err != nil {
		return err
	}
	// A name with a dot is no case, should it be left behind.
	f, err := os.CreateTemp(filepath.Dir(name), ".runlens-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(st.Mode().Perm()), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
