package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/facts"
)

// runs tells whether RunLens starts a program for the tool.
func (d *draft) runs() bool {
	return d.Program != "" || d.Operation == facts.Execute && d.Handler != External
}

// confinement reads what a program gets: its place, environment, network,
// limits and sandbox. They say nothing of a tool that runs none.
func (d *draft) confinement() {
	for _, f := range d.decl.fields {
		switch f.name {
		case "dir", "env", "network", "limits":
			if !d.runs() {
				d.runsNone(f)
			}
		case "sandbox":
			if d.Program == "" && d.Operation != facts.Execute {
				d.runsNone(f)
			}
		}
	}
	if d.Sandbox == "" && !d.said("sandbox") && (d.runs() || d.Operation == facts.Execute) {
		d.Sandbox = "full"
	}
	if !d.runs() {
		return
	}
	d.Network = "none"
	for _, f := range d.decl.fields {
		switch f.name {
		case "dir":
			d.dir(f.value)
		case "env":
			d.env(f.value)
		case "network":
			d.Network = d.at.oneOf(f.value, f.name, []string{"none", "private"})
			d.sandboxAlone(f.line, "network")
		case "limits":
			d.limits(f.value)
		}
	}
}

func (d *draft) runsNone(f field) {
	why := "handler " + quoted(d.Handler) + " of operation " + quoted(d.Operation) + " runs none"
	if d.Handler == External {
		why = "another one than RunLens runs it"
	}
	d.at.add(f.line, "leave it out", "%s is for a program, and %s", f.name, why)
}

// sandboxAlone refuses what nothing would hold a program to.
func (d *draft) sandboxAlone(line int, key string) {
	if d.Sandbox == "none" {
		d.at.add(line, `leave one of the two out`, `%s is set beside "sandbox": "none", and holds in the sandbox alone`, key)
	}
}

// dir reads the working directory. "." is the project, which is the default.
func (d *draft) dir(n *node) {
	dir := d.at.text(n, "dir")
	if n.kind != stringKind || n.bad {
		return
	}
	cause, fix := rootTrouble(dir, true)
	switch {
	case cause != "":
	case isAbsolute(dir):
		cause, fix = "is absolute", "name it from the project directory"
	case strings.ContainsAny(dir, "{}"):
		cause, fix = "has a placeholder", "a working directory is the same in every run"
	case path.Clean(dir) != dir:
		cause, fix = "is not plain", "write "+quoted(path.Clean(dir))
	}
	if cause != "" {
		d.at.add(n.line, fix, "dir %s %s", quoted(dir), cause)
	} else if dir != "." {
		d.Dir = dir
	}
}

// mostEnv bounds the variables of a tool, each with its "=" and the NUL that ends
// it: Linux starts no program with a longer one (MAX_ARG_STRLEN, execve(2)).
const mostEnv = 128 << 10

// env reads the variables that a program gets beside those that RunLens sets.
func (d *draft) env(n *node) {
	if !d.at.want(n, "env", objectKind) {
		return
	}
	total := 0
	fields := slices.Clone(n.fields)
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	for _, f := range fields {
		if cause, fix := variableTrouble(f.name); cause != "" {
			d.at.add(f.line, fix, "env names %s, %s", quoted(f.name), cause)
			continue
		}
		value := d.at.text(f.value, "env "+f.name)
		if strings.ContainsRune(value, 0) {
			d.at.add(f.line, "", "env %s holds NUL", f.name)
		}
		d.Env = append(d.Env, f.name+"="+value)
		total += len(f.name) + len(value) + 2
	}
	if total > mostEnv {
		d.at.add(n.line, "put it into a file that the program reads", "env is %d bytes in all, more than %d, with which no program could be started", total, mostEnv)
	}
}

// variableTrouble says why a manifest may not set a variable.
func variableTrouble(name string) (cause, fix string) {
	switch {
	case !isVariable(name):
		return "which is no name of a variable", "a letter or _, then letters, digits, _"
	case name == "PATH":
		return "which is the manifest's own", `set "path" beside "tools"`
	case name == "HOME" || name == "TMPDIR":
		return "which the sandbox sets", "leave it out"
	case strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_"):
		return "which puts other code into the program", "leave it out"
	case strings.HasPrefix(name, "RUNLENS_"):
		return "which is RunLens' own", "choose another name"
	}
	return "", ""
}

// limit is one key of limits: the least and the most that it may say, and where it
// goes.
type limit struct {
	name        string
	least, most int64
	to          func(*Limits) *int64
}

// knownLimits are the keys of limits. With less than the least no program can be
// started; what they may say at most is what no machine or ledger line goes beyond,
// and policy's own limits are smaller.
func knownLimits() []limit {
	return []limit{
		{"cpu_seconds", 1, 24 * 60 * 60, func(l *Limits) *int64 { return &l.CPUSeconds }},
		{"file_bytes", 1, 1 << 40, func(l *Limits) *int64 { return &l.FileBytes }},
		{"open_files", 64, 1 << 20, func(l *Limits) *int64 { return &l.OpenFiles }},
		{"processes", 1, 1 << 16, func(l *Limits) *int64 { return &l.Processes }},
		{"memory_bytes", 16 << 20, 1 << 44, func(l *Limits) *int64 { return &l.MemoryBytes }},
		{"temp_bytes", 4096, 1 << 40, func(l *Limits) *int64 { return &l.TempBytes }},
		{"output_bytes", 1, 16 << 20, func(l *Limits) *int64 { return &l.OutputBytes }},
	}
}

func limitNames() (names []string) {
	for _, l := range knownLimits() {
		names = append(names, l.name)
	}
	return names
}

func (d *draft) limits(n *node) {
	if !d.at.want(n, "limits", objectKind) {
		return
	}
	d.at.unknownKeys(n, limitNames(), "limits: ")
	for _, l := range knownLimits() {
		v := n.get(l.name)
		if v == nil {
			continue
		}
		said := d.at.positive(v, l.name, "leave it out for the policy's own limit")
		switch {
		case said > l.most:
			d.at.add(v.line, "", "%s is more than %d", l.name, l.most)
		case said > 0 && said < l.least:
			d.at.add(v.line, fmt.Sprintf("%d at least", l.least), "%s is %d, with which no program could be started", l.name, said)
		}
		*l.to(&d.Limits) = said
		if l.name != "output_bytes" {
			d.sandboxAlone(n.lineOf(l.name), l.name)
		}
	}
}
