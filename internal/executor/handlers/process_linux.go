package handlers

import (
	"bytes"
	"os"
	"strconv"
)

// processes reads the process table.
func processes() map[int]process {
	all := map[int]process{}
	dir, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				all[pid] = p
			}
		}
	}
	return all
}

// readProcess reads one process; ok is false when it is gone. See proc_pid_stat(5).
func readProcess(pid int) (p process, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	// The program's name stands in parentheses and may hold some itself.
	field := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(field) < 20 {
		return process{}, false
	}
	number := func(i int) int {
		n, err := strconv.Atoi(string(field[i]))
		ok = ok && err == nil
		return n
	}
	ok = true
	p = process{id: id{pid: pid}, parent: number(1), group: number(2), session: number(3)}
	// A process whose first thread has ended looks like a zombie while its other
	// threads run on.
	p.zombie = bytes.ContainsAny(field[0], "ZXx") && number(17) <= 1
	p.start, err = strconv.ParseUint(string(field[19]), 10, 64)
	return p, ok && err == nil
}

// carries says whether the process was started with the variable.
func (p process) carries(marker []byte) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
	return err == nil && bytes.Contains(environ, marker)
}

// descendants are the processes below root.
func descendants(all map[int]process, root int) map[int]process {
	children := map[int][]process{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	below := map[int]process{}
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, p := range children[queue[0]] {
			if _, seen := below[p.pid]; !seen {
				below[p.pid] = p
				queue = append(queue, p.pid)
			}
		}
	}
	return below
}
