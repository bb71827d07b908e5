package handlers

import (
	"io"
	"os"
	"sync"
	"time"
)

// pipes carry a command's two streams. Reading them never waits for a process
// that outlived the command and holds them open.
type pipes struct {
	read, write [2]*os.File
	ended       chan struct{} // closed when both streams are at their end
}

// newPipes copies what is written to the first pipe into stdout, to the second
// into stderr.
func newPipes(stdout, stderr io.Writer) (*pipes, error) {
	p := &pipes{ended: make(chan struct{})}
	var copies sync.WaitGroup
	for i, w := range []io.Writer{stdout, stderr} {
		var err error
		if p.read[i], p.write[i], err = os.Pipe(); err != nil {
			p.close()
			return nil, err
		}
		copies.Add(1)
		go func(r *os.File) {
			defer copies.Done()
			io.CopyBuffer(w, r, make([]byte, 32<<10)) // ends with the stream or with its deadline
		}(p.read[i])
	}
	go func() {
		copies.Wait()
		close(p.ended)
	}()
	return p, nil
}

// started lets go of the ends that are the child's now.
func (p *pipes) started() {
	for _, f := range p.write {
		f.Close()
	}
}

// drain waits for what is still in the pipes, for so long.
func (p *pipes) drain(wait time.Duration) {
	for _, r := range p.read {
		r.SetReadDeadline(time.Now().Add(wait))
	}
	<-p.ended
}

func (p *pipes) close() {
	for i := range p.read {
		if p.read[i] != nil {
			p.read[i].Close()
			p.write[i].Close()
		}
	}
}
