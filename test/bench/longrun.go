//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/runlens/runlens/internal/ledger"
)

const (
	longEvents, shortEvents = 100_000, 100
	// Enough for a rewriting of the long run's cache, which comes with every
	// sixteenth call, to fall into them.
	longRuns = 31
)

// longRun times exec and check as processes in a run of 100,000 events beside
// one of 100, with the fold cache and without.
func longRun() (missed int, err error) {
	dir, err := os.MkdirTemp("", "runlens-bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	p := longProject{dir: filepath.Join(dir, "project"), env: "XDG_STATE_HOME=" + filepath.Join(dir, "state")}
	if err := p.layOut(); err != nil {
		return 0, err
	}
	var bare []float64
	for range 3 {
		if err := os.RemoveAll(filepath.Join(p.dir, "runs", "run-big", "fold")); err != nil {
			return 0, err
		}
		if err := p.time("exec", "run-big", &bare); err != nil {
			return 0, err
		}
	}
	var execBig, execFew, checkBig, checkFew []float64
	for range longRuns {
		for _, one := range []struct {
			verb, run string
			into      *[]float64
		}{{"exec", "run-big", &execBig}, {"exec", "run-few", &execFew}, {"check", "run-big", &checkBig}, {"check", "run-few", &checkFew}} {
			if err := p.time(one.verb, one.run, one.into); err != nil {
				return 0, err
			}
		}
	}
	fmt.Printf("\nprocesses in a run of %d events beside one of %d, medians of %d\n", longEvents, shortEvents, longRuns)
	fmt.Printf("  exec %.1f ms beside %.1f ms (means %.1f, %.1f), check %.1f ms beside %.1f ms\n",
		median(execBig)/1e6, median(execFew)/1e6, mean(execBig)/1e6, mean(execFew)/1e6, median(checkBig)/1e6, median(checkFew)/1e6)
	missed += show("exec, 100,000 events / 100, wall", median(execBig)/median(execFew), 1.5, false)
	missed += show("check --run, 100,000 events / 100, wall", median(checkBig)/median(checkFew), 1.5, false)
	missed += show("exec, 100,000 events, without the fold cache, s", median(bare)/1e9, 5, false)
	return missed, nil
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// longProject is a project with a long run and a short one.
type longProject struct {
	dir, env string
}

// time runs `runlens <verb> --run <run>` on the project's call.
func (p *longProject) time(verb, run string, into *[]float64) error {
	wall, _, err := once([]string{"bin/runlens", "--project", p.dir, verb, "--run", run, filepath.Join(p.dir, "call.json")}, p.env)
	*into = append(*into, float64(wall))
	return err
}

const sampleRun, sampleCall = "run-000", "call-000000"

// layOut records one call with the program itself and makes both runs of copies
// of its events, each with a call id of its own.
func (p *longProject) layOut() error {
	if err := os.MkdirAll(filepath.Join(p.dir, "data"), 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"data/feedback.txt": "works well\n",
		"call.json":         `{"name":"read_file","arguments":{"path":"data/feedback.txt"},"call_id":"` + sampleCall + `"}`,
	} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	var ignored []float64
	if err := p.time("exec", sampleRun, &ignored); err != nil {
		return err
	}
	var sample []*ledger.Event
	for ev, err := range ledger.Read(filepath.Join(p.dir, "runs", sampleRun)) {
		if err != nil {
			return err
		}
		sample = append(sample, ev)
	}
	for run, events := range map[string]int64{"run-big": longEvents, "run-few": shortEvents} {
		if err := p.build(run, events, sample); err != nil {
			return err
		}
	}
	return nil
}

// build makes a run of at least n events out of those of a call and the start of
// a run before them.
func (p *longProject) build(run string, n int64, sample []*ledger.Event) (err error) {
	dir := filepath.Join(p.dir, "runs", run)
	if err := os.MkdirAll(filepath.Join(dir, "artifacts"), 0o700); err != nil {
		return err
	}
	l, err := ledger.Open(dir, ledger.Options{Create: true})
	if err != nil {
		return err
	}
	defer func() {
		if closed := l.Close(); err == nil {
			err = closed
		}
	}()
	calls := 0
	for seq := int64(0); seq < n; {
		err := l.Commit(context.Background(), func(tx *ledger.Tx) error {
			if tx.Seq() == 0 {
				if _, err := tx.Add(sample[0].Type, sample[0].Payload); err != nil {
					return err
				}
			}
			for begun := time.Now(); tx.Seq() < n && time.Since(begun) < 20*time.Millisecond; calls++ {
				shift := tx.Seq() - sample[0].Seq
				for _, ev := range sample[1:] {
					if _, err := tx.Add(ev.Type, copied(ev.Payload, run, calls, shift)); err != nil {
						return err
					}
				}
			}
			seq = tx.Seq()
			return nil
		})
		if err != nil {
			return err
		}
	}
	report, err := ledger.Verify(dir, nil, nil)
	if err == nil && (report.Status != ledger.Unanchored || len(report.Problems) > 0) {
		err = fmt.Errorf("the run that was made is %s: %v", report.Status, report.Problems)
	}
	return err
}

var numbers = regexp.MustCompile(`"(?:proposal|verdict_seq|started_seq)":\d+`)

// copied is a payload of the sample as that of another call of another run,
// whose events are numbered shift higher.
func copied(payload []byte, run string, call int, shift int64) []byte {
	payload = bytes.ReplaceAll(payload, []byte(sampleCall), fmt.Appendf(nil, "call-%06d", call))
	payload = bytes.ReplaceAll(payload, []byte(sampleRun), []byte(run))
	return numbers.ReplaceAllFunc(payload, func(member []byte) []byte {
		name, number, _ := bytes.Cut(member, []byte(":"))
		seq, _ := strconv.ParseInt(string(number), 10, 64) // the pattern has digits only
		return fmt.Appendf(nil, "%s:%d", name, seq+shift)
	})
}
