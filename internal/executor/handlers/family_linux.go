package handlers

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/runlens/runlens/internal/executor/sandbox"
)

// process is a line of /proc/<pid>/stat.
type process struct {
	id
	parent, group, session int
	zombie                 bool // all of it has ended; only its number is left to be reaped
}

// id tells a process from a later one with the same number.
type id struct {
	pid   int
	start uint64 // clock ticks since boot
}

// family is a command and everything that descends from it.
//
// A process belongs to it when its parent does, when it is in a session of the
// family, or when it was started with the family's marker. A double fork into a
// new session breaks the first two and a cleared environment the third; done in
// less than lookEvery, between two looks, such a process is an orphan of unknown
// origin. It counts as the last running command's, provided that nothing but
// commands was started by this process meanwhile.
type family struct {
	leader id
	marker []byte
	known  map[id]struct{}
	over   bool // its command was given up on, and only stays until its leader can be reaped
}

// start starts a command and enters its family before anyone looks again.
func (s *supervisor) start(c *child) (*family, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	exited, err := c.start()
	if err != nil {
		return nil, nil, err
	}
	f := &family{marker: []byte(c.marker), known: map[id]struct{}{}}
	if p, ok := readProcess(c.cmd.Process.Pid); ok { // it can't be gone: nobody has reaped it
		f.leader = p.id
	}
	f.leader.pid = c.cmd.Process.Pid
	f.known[f.leader] = struct{}{}
	if s.families == nil {
		s.families = map[*family]struct{}{}
	}
	if s.alone(f) {
		s.since, s.foreign = f.leader.start, false
	}
	s.families[f] = struct{}{}
	return f, exited, nil
}

// alone says whether no other command than the family's runs.
func (s *supervisor) alone(f *family) bool {
	for other := range s.families {
		if other != f && !other.over {
			return false
		}
	}
	return true
}

// look learns who belongs to the family now, and says how long that took.
func (s *supervisor) look(f *family) time.Duration {
	begin := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members(f)
	return time.Since(begin)
}

// finish ends and reaps every process of the family, and says how its command
// ended, how many others it ended and how many it could not.
func (s *supervisor) finish(f *family, c *child, exited <-chan struct{}) ending {
	hit := map[id]struct{}{}
	for deadline := time.Now().Add(killBound); ; {
		if end, done := s.finishRound(f, c, exited, hit, deadline); done {
			return end
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// finishRound kills, and when nothing is left to kill or the deadline has passed
// lets the family go. That it is one hold of s.mu is what the others rely on:
//
//   - No look falls between the reaping of a leader and the removal of its
//     family. It would find a family whose leader this process does not hold, or
//     a program that it holds and that leads no family; both pass for something
//     else that was started here, and from then on no orphan is claimed.
//   - The last family to go has looked when it was the last, so an orphan of
//     unknown origin is claimed even when several commands end at once.
func (s *supervisor) finishRound(f *family, c *child, exited <-chan struct{}, hit map[id]struct{}, deadline time.Time) (end ending, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	alive, dead := s.killRound(f, hit)
	late := time.Now().After(deadline)
	select {
	case <-exited:
		if alive+dead > 0 && !late {
			return ending{}, false
		}
		s.leave(f, c)
		end = c.ending()
	default:
		if !late {
			return ending{}, false
		}
		s.giveUp(f, c, exited)
		end = ending{exit: -1}
	}
	delete(hit, f.leader)
	end.ended, end.left = max(0, len(hit)-alive), alive
	return end, true
}

// leave reaps the leader, which is dead, and removes its family. The caller
// holds s.mu.
func (s *supervisor) leave(f *family, c *child) {
	if s.reap != nil {
		s.reap(&c.cmd)
	} else {
		c.cmd.Wait()
	}
	delete(s.families, f)
}

// giveUp leaves a command that can't be killed (it hangs in the kernel) to a
// goroutine. Until its leader is reaped its family says whose that is. The caller
// holds s.mu.
func (s *supervisor) giveUp(f *family, c *child, exited <-chan struct{}) {
	f.over = true
	go func() {
		<-exited
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave(f, c)
	}()
}

// killRound signals every living process of the family and reaps its dead. It
// returns how many were alive, and how many dead are still to be reaped by their
// own parent or, when that is gone too, by a later round. It lets the leader's
// remains lie. The caller holds s.mu.
func (s *supervisor) killRound(f *family, hit map[id]struct{}) (alive, dead int) {
	members := s.members(f)
	groups := map[int]struct{}{}
	for _, p := range members {
		if !p.zombie {
			groups[p.group] = struct{}{}
		}
	}
	// A group is killed at one blow, so a process that forks faster than it can
	// be found does not get away within its group.
	for group := range groups {
		unix.Kill(-group, unix.SIGKILL)
	}
	for _, p := range members {
		switch {
		case p.zombie && p.id == f.leader:
		case p.zombie:
			if !p.reap() {
				dead++
			}
		default:
			alive++
			hit[p.id] = struct{}{}
			p.kill()
		}
	}
	return alive, dead
}

// reap buries a dead process that this one inherited.
func (p process) reap() bool {
	pid, err := unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
	return err == nil && pid == p.pid
}

// kill signals the process that was found, not a later one with its number.
func (p process) kill() {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, ok := readProcess(p.pid); ok && now.id == p.id {
		unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

// members finds the family's processes, living and dead, and remembers them.
// The caller holds s.mu.
func (s *supervisor) members(f *family) []process {
	all := processes()
	below := descendants(all, os.Getpid())
	f.claim(below)
	if orphans := s.strays(below); len(orphans) > 0 && s.alone(f) {
		for _, p := range orphans {
			f.known[p.id] = struct{}{}
		}
		f.claim(below)
	}
	var members []process
	for _, p := range below {
		if _, ok := f.known[p.id]; ok {
			members = append(members, p)
		}
	}
	return members
}

// claim adds to the family, until nothing is added, every process that belongs
// to it.
func (f *family) claim(below map[int]process) {
	own, _ := unix.Getsid(0)
	sessions := map[int]struct{}{f.leader.pid: {}}
	unknown := map[int]process{}
	for pid, p := range below {
		if _, ok := f.known[p.id]; !ok {
			unknown[pid] = p
		} else if p.session != own {
			sessions[p.session] = struct{}{}
		}
	}
	marked := map[int]bool{}
	for again := true; again; {
		again = false
		for pid, p := range unknown {
			_, parent := f.known[below[p.parent].id]
			_, session := sessions[p.session]
			if !parent && !session {
				carries, asked := marked[pid]
				if !asked {
					carries = p.carries(f.marker)
					marked[pid] = carries
				}
				if !carries {
					continue
				}
			}
			f.known[p.id] = struct{}{}
			if p.session != own {
				sessions[p.session] = struct{}{}
			}
			delete(unknown, pid)
			again = true
		}
	}
}

// strays are the orphans that this process inherited from a command, nobody
// knows from which: they are in a session of their own, were started since the
// first command, belong to no family, and this process did not start them. The
// dead among them are reaped here. There are no others to tell while this
// process has started something other than commands.
func (s *supervisor) strays(below map[int]process) (strays []process) {
	self := os.Getpid()
	own, _ := unix.Getsid(0)
	var started map[int]struct{}
	for _, p := range below {
		if p.parent != self || s.knows(p.id) {
			continue
		}
		if started == nil {
			started = startedHere()
			s.foreign = s.foreign || !s.complete(started)
		}
		_, here := started[p.pid]
		s.foreign = s.foreign || here && !sandbox.Forks(p.pid)
		switch {
		case here || p.session == own || p.start < s.since:
		case p.zombie && s.complete(started) && p.reap():
		default:
			strays = append(strays, p)
		}
	}
	if s.foreign {
		return nil
	}
	return strays
}

// complete says whether started can be relied on: it must name the leaders.
func (s *supervisor) complete(started map[int]struct{}) bool {
	for f := range s.families {
		if _, ok := started[f.leader.pid]; !ok {
			return false
		}
	}
	return true
}

func (s *supervisor) knows(p id) bool {
	for f := range s.families {
		if _, ok := f.known[p]; ok {
			return true
		}
	}
	return false
}

// startedHere are the children that package os started in this process and has
// not reaped: it holds a pidfd of each. Inherited orphans have none.
func startedHere() map[int]struct{} {
	const dir = "/proc/self/fdinfo"
	started := map[int]struct{}{}
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		info, _ := os.ReadFile(dir + "/" + entry.Name())
		_, rest, found := bytes.Cut(info, []byte("\nPid:\t"))
		if !found {
			continue
		}
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		if pid, err := strconv.Atoi(string(line)); err == nil && pid > 0 {
			started[pid] = struct{}{}
		}
	}
	return started
}
