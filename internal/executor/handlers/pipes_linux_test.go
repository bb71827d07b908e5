package handlers

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// holding takes what streams bring, and holds up the reader until it is let.
type holding struct {
	came chan string
	let  chan struct{}
}

func (h holding) Write(p []byte) (int, error) {
	h.came <- string(p)
	<-h.let
	return len(p), nil
}

// What comes while the reader is at work is read in the order in which it came,
// whichever stream is first.
func TestPipesKeepTheOrder(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		for _, first := range order {
			h := holding{make(chan string), make(chan struct{})}
			p, err := newPipes(h, h)
			if err != nil {
				t.Fatal(err)
			}
			for round := range 20 {
				put(t, p, first, "begin")
				took := []string{<-h.came} // and now the reader waits
				put(t, p, order[0], "1")
				put(t, p, order[1], "2")
				for range 2 {
					h.let <- struct{}{}
					took = append(took, <-h.came)
				}
				h.let <- struct{}{}
				if got := strings.Join(took, " "); got != "begin 1 2" {
					t.Fatalf("round %d, order %v after %d: %s", round, order, first, got)
				}
			}
			p.started()
			p.drain(time.Minute) // both are at their end
			p.close()
		}
	}
}

func put(t *testing.T, p *pipes, stream int, text string) {
	t.Helper()
	if _, err := p.write[stream].WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// All of a stream is read, though more comes than one reading takes, and the end of
// one doesn't end the other.
func TestPipesReadAll(t *testing.T) {
	out := newPrinted(1 << 20)
	stdout, stderr := out.writers()
	p, err := newPipes(stdout, stderr)
	if err != nil {
		t.Fatal(err)
	}
	chunk := strings.Repeat("x", 32<<10) // as much as one reading
	for range 20 {
		put(t, p, 0, chunk)
	}
	p.write[0].Close()
	for range 20 {
		put(t, p, 1, chunk)
	}
	p.write[1].Close()
	p.drain(time.Minute)
	for name, c := range map[string]*capture{"stdout": out.stdout, "stderr": out.stderr} {
		if _, total, _ := c.text(); total != 20*int64(len(chunk)) {
			t.Errorf("%s: %d bytes", name, total)
		}
	}
	p.close()
}

// Reading ends though somebody holds the pipes open and goes on writing, and no
// descriptor and no goroutine is left of it.
func TestPipesAreLetGo(t *testing.T) {
	before, routines := descriptors(t), runtime.NumGoroutine()
	for _, drains := range []bool{true, false} {
		out := newPrinted(100)
		stdout, stderr := out.writers()
		p, err := newPipes(stdout, stderr)
		if err != nil {
			t.Fatal(err)
		}
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := p.write[0].WriteString("flood\n"); err != nil {
						return
					}
				}
			}
		}()
		if drains {
			p.drain(time.Millisecond)
		}
		close(stop)
		p.close()
		<-stopped
	}
	for range 100 {
		if descriptors(t) <= before && runtime.NumGoroutine() <= routines {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("descriptors %d, then %d; goroutines %d, then %d", before, descriptors(t), routines, runtime.NumGoroutine())
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
