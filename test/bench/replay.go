//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/ledger"
)

const (
	replayRuns, replayCalls = 100, 1000 // calls of each run
	replayRepeats           = 240       // different calls of a run in which each comes about four times
)

// replaySamples are the kinds of calls of a record, and how many of twenty are of
// that kind. The number in each is replaced.
var replaySamples = []struct {
	call  string
	share int
}{
	{`{"name":"read_file","arguments":{"path":"data/file-314159.txt"}}`, 11},
	{`{"name":"write_markdown_file","arguments":{"artifact_name":"note-314159.md","content":"# 314159"}}`, 4},
	{`{"name":"list_run_files","arguments":{}}`, 1},
	{`{"name":"read_file","arguments":{"path":"secret/key-314159.txt"}}`, 2},
	{`{"name":"fetch_page","arguments":{"address":"page-314159"}}`, 2},
}

// replays times the judging of 100,000 recorded calls: by the policy that gave the
// verdicts, and by that one and another.
func replays() (missed int, err error) {
	dir, err := os.MkdirTemp("", "runlens-bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	p := &replayProject{dir: dir}
	if err := p.record(); err != nil {
		return 0, err
	}
	fmt.Printf("\nreplay of %d recorded calls in %d runs\n", replayRuns*replayCalls, replayRuns)
	for _, r := range []struct {
		what, runs string
		argv       []string
	}{
		{"each call four times, policy of the record", "again", nil},
		{"each call four times, policy of the record and another", "again", []string{"--policies", filepath.Join(dir, "other")}},
		{"all calls differ, policy of the record", "differ", nil},
		{"all calls differ, policy of the record and another", "differ", []string{"--policies", filepath.Join(dir, "other")}},
	} {
		wall, peak, err := p.replay(r.runs, r.argv)
		if err != nil {
			return missed, err
		}
		missed += show(r.what+", s", wall.Seconds(), 10, false)
		missed += show(r.what+", MiB", float64(peak)/1024, 200, false)
	}
	return missed, nil
}

// replayProject is a project whose record is made of copies of a few real calls.
type replayProject struct {
	dir    string
	events [][]*ledger.Event // of each sample
}

// replay replays a directory of runs and checks that all was judged and came out as
// recorded.
func (p *replayProject) replay(runs string, argv []string) (wall time.Duration, rss int64, err error) {
	cmd := exec.Command("bin/runlens", append([]string{"--project", p.dir, "replay", "--format", "json", filepath.Join(p.dir, runs)}, argv...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("replay %s: %w: %s%.2000s", runs, err, stderr.Bytes(), stdout.Bytes())
	}
	wall = time.Since(begin)
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		rss = usage.Maxrss
	}
	var got struct{ Judged, Same int }
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		return 0, 0, fmt.Errorf("read the report: %w", err)
	}
	if want := replayRuns * replayCalls; got.Judged != want || got.Same != want {
		return 0, 0, fmt.Errorf("replay %s: %+v, want %d the same: %.2000s", runs, got, want, stdout.Bytes())
	}
	return wall, rss, nil
}

// record records the samples with the program itself, and makes two directories of
// runs of copies: one in which calls come again, one in which all differ.
func (p *replayProject) record() error {
	for _, name := range []string{"data/file-314159.txt", "secret/key-314159.txt"} {
		if err := os.MkdirAll(filepath.Join(p.dir, filepath.Dir(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte("text\n"), 0o644); err != nil {
			return err
		}
	}
	for i, sample := range replaySamples {
		if err := p.sample(fmt.Sprintf("s%04d", i), sample.call); err != nil {
			return err
		}
	}
	codes := filepath.Join(p.dir, "other", "runlens", "codes")
	if err := os.MkdirAll(codes, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(codes, "data.json"), []byte("{}"), 0o644); err != nil {
		return err
	}
	if err := addSiteRules(filepath.Join(p.dir, "other"), 20); err != nil {
		return err
	}
	for i := range replayRuns {
		if err := p.run("again", i, replayRepeats); err != nil {
			return err
		}
		if err := p.run("differ", i, replayRuns*replayCalls); err != nil {
			return err
		}
	}
	return nil
}

func (p *replayProject) sample(run, call string) error {
	name := filepath.Join(p.dir, "call.json")
	if err := os.WriteFile(name, []byte(call), 0o644); err != nil {
		return err
	}
	cmd := exec.Command("bin/runlens", "--project", p.dir, "exec", "--run", run, name)
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		return fmt.Errorf("record %s: %w: %s", call, err, out)
	}
	var events []*ledger.Event
	for ev, err := range ledger.Read(filepath.Join(p.dir, "runs", run)) {
		if err != nil {
			return err
		}
		if ev.Type != ledger.RunStarted {
			events = append(events, ev)
		}
	}
	p.events = append(p.events, events)
	return nil
}

// run makes one run of copies. Their numbers are below modulus.
func (p *replayProject) run(into string, number, modulus int) (err error) {
	dir := filepath.Join(p.dir, into, fmt.Sprintf("r%04d", number))
	if err := os.MkdirAll(dir, 0o700); err != nil {
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
	for i := 0; i < replayCalls; {
		err := l.Commit(context.Background(), func(tx *ledger.Tx) error {
			for range 50 {
				call := number*replayCalls + i
				if err := p.copy(tx, filepath.Base(dir), call%20, call%modulus); err != nil {
					return err
				}
				i++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// copy adds the events of one call: the sample that has this share, as that of
// another run, with another number.
func (p *replayProject) copy(tx *ledger.Tx, run string, share, number int) error {
	kind := 0
	for share >= replaySamples[kind].share {
		share -= replaySamples[kind].share
		kind++
	}
	sample := p.events[kind]
	shift := tx.Seq() + 1 - sample[0].Seq
	for _, ev := range sample {
		payload := numbers.ReplaceAllFunc(ev.Payload, func(member []byte) []byte {
			name, value, _ := strings.Cut(string(member), ":")
			var seq int64
			fmt.Sscan(value, &seq) // the pattern has digits only
			return fmt.Appendf(nil, "%s:%d", name, seq+shift)
		})
		payload = bytes.ReplaceAll(payload, []byte("314159"), fmt.Appendf(nil, "%06d", number))
		payload = bytes.ReplaceAll(payload, []byte(ev.RunID), []byte(run))
		payload, err := redigested(payload)
		if err != nil {
			return err
		}
		if _, err := tx.Add(ev.Type, payload); err != nil {
			return err
		}
	}
	return nil
}

// redigested is a payload with the digest of the input that it holds.
func redigested(payload []byte) (json.RawMessage, error) {
	at := bytes.Index(payload, []byte(`,"input":{`))
	if at < 0 {
		return payload, nil
	}
	input := payload[at+len(`,"input":`) : len(payload)-1]
	var d facts.Decoder
	r, err := d.Decode(input)
	if err != nil {
		return nil, err
	}
	const lead = `"input_digest":"`
	begin := bytes.Index(payload, []byte(lead)) + len(lead)
	out := append([]byte{}, payload[:begin]...)
	out = append(out, r.Digest...)
	return append(out, payload[begin+len(r.Digest):]...), nil
}
