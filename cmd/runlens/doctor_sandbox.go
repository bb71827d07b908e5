package main

import (
	"context"
	"os"
	"strings"

	"github.com/runlens/runlens/internal/executor/sandbox"
	"github.com/runlens/runlens/internal/manifest"
)

// sandbox tells what isolation the programs of tools get here, and what would help
// where that is too little. tools is nil when the manifests do not load.
func (x *examination) sandbox(ctx context.Context, tools *manifest.Set) {
	stage := sandboxStage()
	begin := sandbox.Open(stage)
	defer begin.Close()
	x.isolation(begin.Probe(ctx), readKernel)
	if stage == "" {
		x.say(noteworthy, "sandbox", "%s is not beside runlens, so runlens begins sandboxes itself, and each start takes longer: put it there", sandboxProgram)
	} else {
		x.say(fine, "sandbox", "%s begins sandboxes", stage)
	}
	if tools == nil {
		return
	}
	var bare []string
	for _, name := range tools.Names {
		if t := tools.Tools[name]; t.Sandbox == sandbox.None && t.Handler != "external" {
			bare = append(bare, name)
		}
	}
	if len(bare) > 0 {
		x.say(noteworthy, "sandbox", "without any: %s, whose manifest says \"sandbox\": \"none\": what they run may do all that you may", list(bare, 5))
	}
}

// isolation tells the level, what is missing from it, and what to do about that.
func (x *examination) isolation(s sandbox.Support, read func(name string) string) {
	if s.Level == sandbox.Full {
		x.say(fine, "sandbox", "%s: a program that a tool runs is isolated (Landlock version %d)", s.Level, s.Landlock)
		return
	}
	x.say(noteworthy, "sandbox", "%s: the programs of tools don't run here; their calls are denied with sandbox_unavailable (Landlock version %d)", s.Level, s.Landlock)
	for _, m := range s.Missing {
		x.say(noteworthy, "sandbox", "missing: %s", m)
	}
	for _, m := range mends(s, read) {
		x.say(noteworthy, "sandbox", "to do: %s", m)
	}
	x.say(noteworthy, "sandbox", "or give a tool \"sandbox\": \"none\" in its manifest: then its program may do all that you may")
}

// mends are what a person can do about a machine that gives no full isolation, most
// likely first. read is the text of a file of the kernel's, "" when it isn't there.
func mends(s sandbox.Support, read func(name string) string) (list []string) {
	if read("/proc/sys/user/max_user_namespaces") == "0" {
		list = append(list, "as root: sysctl user.max_user_namespaces=10000 (no user namespaces are allowed now)")
	}
	if read("/proc/sys/kernel/unprivileged_userns_clone") == "0" {
		list = append(list, "as root: sysctl kernel.unprivileged_userns_clone=1 (an ordinary user gets no namespaces now)")
	}
	if read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1" {
		list = append(list, "give runlens and runlens-sandbox an AppArmor profile that says `userns,`, or as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0")
	}
	if modules := read("/sys/kernel/security/lsm"); s.Landlock == 0 && modules != "" && !strings.Contains(","+modules+",", ",landlock,") {
		list = append(list, "boot with lsm=landlock,"+modules+" (the kernel has to have it built in: CONFIG_SECURITY_LANDLOCK)")
	} else if !s.Filesystem {
		list = append(list, "use Linux 6.2 or newer, with Landlock (this is "+read("/proc/sys/kernel/osrelease")+")")
	}
	if read("/.dockerenv") != "" || read("/run/.containerenv") != "" {
		list = append(list, "this is a container: let it make user namespaces and mounts (its system call filter and AppArmor profile forbid that by default), or run runlens outside")
	}
	return list
}

// readKernel reads a small file; one that is there and empty is a space.
func readKernel(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	if text := strings.TrimSpace(string(data)); text != "" {
		return text
	}
	return " "
}
