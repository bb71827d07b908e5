//go:build linux

package executor_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/executor"
)

func benchProject(b *testing.B) (x *executor.Executor, project string) {
	b.Helper()
	project = b.TempDir()
	write(b, project, "data/feedback.txt", "works well\n")
	return open(b, project, nil), project
}

// BenchmarkCheckRead is a whole check: bytes to verdict, the file on disk.
func BenchmarkCheckRead(b *testing.B) {
	x, _ := benchProject(b)
	b.ReportAllocs()
	for b.Loop() {
		out, err := x.Check(context.Background(), readCall, "")
		if err != nil || out.Verdict.Effect.String() != "allow" {
			b.Fatalf("%v %+v", err, out)
		}
	}
}

// BenchmarkCheckDecision is the decision of that check alone.
func BenchmarkCheckDecision(b *testing.B) {
	x, _ := benchProject(b)
	out, err := x.Check(context.Background(), readCall, "")
	if err != nil {
		b.Fatal(err)
	}
	e := shippedEngine(b)
	b.ReportAllocs()
	for b.Loop() {
		if v := e.Decide(context.Background(), out.Input); v.Effect.String() != "allow" {
			b.Fatalf("%+v", v)
		}
	}
}

// BenchmarkCheckRun is a check against a run that has events already.
func BenchmarkCheckRun(b *testing.B) {
	for _, events := range []int{20, 20000} {
		b.Run(fmt.Sprint(events), func(b *testing.B) {
			x, _ := benchProject(b)
			for i := 0; i < events; i += 4 {
				if _, err := x.Propose(context.Background(), readCall, "long"); err != nil {
					b.Fatal(err)
				}
				if i%4000 == 0 {
					x.Exec(context.Background(), readCall, "long")
				}
			}
			for b.Loop() {
				if _, err := x.Check(context.Background(), readCall, "long"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func succeed(b *testing.B, r *executor.ToolResult) {
	if r.Status != executor.StatusSuccess {
		b.Errorf("%s %s: %s", r.Status, r.ErrorCode, r.ErrorMessage)
	}
}

// BenchmarkExecRead is one durable read after the other.
func BenchmarkExecRead(b *testing.B) {
	x, _ := benchProject(b)
	for b.Loop() {
		succeed(b, x.Exec(context.Background(), readCall, "bench"))
	}
}

// BenchmarkExecRead64 is the same by 64 callers at once.
func BenchmarkExecRead64(b *testing.B) {
	x, _ := benchProject(b)
	parallel64(b, func() { succeed(b, x.Exec(context.Background(), readCall, "bench")) })
}

// parallel64 calls fn from 64 goroutines.
func parallel64(b *testing.B, fn func()) {
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make(chan struct{})
	b.ResetTimer()
	for range 64 {
		go func() {
			for left.Add(-1) >= 0 {
				fn()
			}
			done <- struct{}{}
		}()
	}
	for range 64 {
		<-done
	}
}

// writeCalls makes calls that each write an artifact of their own.
func writeCalls() func() []byte {
	var n atomic.Int64
	content := strings.Repeat("a line of the report\n", 40)
	return func() []byte {
		return fmt.Appendf(nil, `{"name":"write_markdown_file","arguments":{"artifact_name":"report-%d.md","content":%q}}`, n.Add(1), content)
	}
}

// BenchmarkExecWrite is one durable write after the other.
func BenchmarkExecWrite(b *testing.B) {
	x, _ := benchProject(b)
	call := writeCalls()
	for b.Loop() {
		succeed(b, x.Exec(context.Background(), call(), "bench"))
	}
}

// BenchmarkExecWrite64 is the same by 64 callers at once.
func BenchmarkExecWrite64(b *testing.B) {
	x, _ := benchProject(b)
	call := writeCalls()
	parallel64(b, func() { succeed(b, x.Exec(context.Background(), call(), "bench")) })
}

// bareWriter does the same syncs as a durable write and nothing else: append a
// line, write a file, sync its directory, append a line.
type bareWriter struct {
	log  *os.File
	dir  *os.File
	path string
	n    atomic.Int64
	data []byte
	line []byte
}

func newBareWriter(b *testing.B) *bareWriter {
	b.Helper()
	dir := b.TempDir()
	artifacts := filepath.Join(dir, "artifacts")
	if err := os.Mkdir(artifacts, 0o700); err != nil {
		b.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(dir, "events.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	d, err := os.Open(artifacts)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { log.Close(); d.Close() })
	line := make([]byte, 2000)
	_, _ = rand.Read(line)
	line[len(line)-1] = '\n'
	return &bareWriter{log: log, dir: d, path: artifacts, data: []byte(strings.Repeat("a line of the report\n", 40)), line: line}
}

func (w *bareWriter) write() error {
	if err := w.append(); err != nil {
		return err
	}
	name := filepath.Join(w.path, fmt.Sprint(w.n.Add(1)))
	f, err := os.OpenFile(name+".tmp", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(w.data); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	if err == nil {
		err = w.dir.Sync()
	}
	if err != nil {
		return err
	}
	return w.append()
}

func (w *bareWriter) append() error {
	if _, err := w.log.Write(w.line); err != nil {
		return err
	}
	return unix.Fdatasync(int(w.log.Fd()))
}

// BenchmarkBareWrite is the baseline of BenchmarkExecWrite.
func BenchmarkBareWrite(b *testing.B) {
	w := newBareWriter(b)
	for b.Loop() {
		if err := w.write(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBareWrite64 is the baseline of BenchmarkExecWrite64.
func BenchmarkBareWrite64(b *testing.B) {
	w := newBareWriter(b)
	parallel64(b, func() {
		if err := w.write(); err != nil {
			b.Error(err)
		}
	})
}
