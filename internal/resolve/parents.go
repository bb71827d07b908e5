package resolve

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

// parents are the directories below the held one that a write had to make.
type parents struct {
	o    *Object
	dirs []int // dirs[0] is the held one
	made []bool
}

// makeParents makes the missing directories below the judged handle. One that
// somebody else made meanwhile is used if it is a directory and no link.
func (o *Object) makeParents() (*parents, error) {
	p := &parents{o: o, dirs: []int{o.dir}, made: []bool{false}}
	for _, name := range o.rest {
		err := mkdirAt(p.last(), name)
		made := err == nil
		if err != nil && !errors.Is(err, os.ErrExist) {
			p.undo()
			p.close()
			return nil, err
		}
		n, err := openNode(p.last(), name)
		if err == nil && n.st.kind() != facts.Directory {
			closeFD(n.fd)
			err = ErrChanged
		}
		if err != nil {
			p.undo()
			p.close()
			return nil, err
		}
		p.dirs, p.made = append(p.dirs, n.fd), append(p.made, made)
	}
	return p, nil
}

func (p *parents) last() int { return p.dirs[len(p.dirs)-1] }

// undo removes what was made, unless something is in it by now.
func (p *parents) undo() {
	for i := len(p.dirs) - 1; i > 0; i-- {
		if p.made[i] {
			_ = unlinkAt(p.dirs[i-1], p.o.rest[i-1], true)
		}
	}
}

// sync makes the entries durable, the innermost first, so that a name that
// survives a crash leads to what it should.
func (p *parents) sync() error {
	for i := len(p.dirs) - 1; i >= 0; i-- {
		if err := syncFolder(p.dirs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *parents) names() []string {
	out := []string{}
	at := strings.TrimSuffix(p.o.path, "/"+strings.Join(append(slices.Clone(p.o.rest), p.o.name), "/"))
	for i, name := range p.o.rest {
		at += "/" + name
		if p.made[i+1] {
			out = append(out, valid(at))
		}
	}
	return out
}

func (p *parents) close() {
	for _, fd := range p.dirs[1:] {
		closeFD(fd)
	}
}
