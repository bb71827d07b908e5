package main

import (
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/executor/sandbox"
)

// TestDoctorIsolation: what is missing comes with what to do about it, and nothing
// is to be done where nothing is missing.
func TestDoctorIsolation(t *testing.T) {
	full := sandbox.Support{Filesystem: true, Network: true, Secrets: true, Limits: true, Level: sandbox.Full, Landlock: 6}
	noSpaces := sandbox.Support{Filesystem: true, Network: true, Limits: true, Level: sandbox.Partial, Landlock: 4, Missing: []string{"make the namespaces: operation not permitted"}}
	noLandlock := sandbox.Support{Level: sandbox.None, Missing: []string{"Landlock: the kernel offers version 0"}}
	old := sandbox.Support{Level: sandbox.None, Landlock: 1, Missing: []string{"Landlock: the kernel offers version 1"}}
	for _, c := range []struct {
		name    string
		support sandbox.Support
		kernel  map[string]string
		says    []string // in this order, no other line to do
	}{
		{"full", full, map[string]string{"/proc/sys/user/max_user_namespaces": "0"}, []string{"ok    sandbox    full: a program that a tool runs is isolated (Landlock version 6)"}},
		{"none allowed", noSpaces, map[string]string{"/proc/sys/user/max_user_namespaces": "0"}, []string{
			"note  sandbox    partial: the programs of tools don't run here; their calls are denied with sandbox_unavailable (Landlock version 4)",
			"missing: make the namespaces: operation not permitted", "to do: as root: sysctl user.max_user_namespaces=10000",
		}},
		{"not for users", noSpaces, map[string]string{"/proc/sys/user/max_user_namespaces": "1000", "/proc/sys/kernel/unprivileged_userns_clone": "0"}, []string{"to do: as root: sysctl kernel.unprivileged_userns_clone=1"}},
		{"AppArmor", noSpaces, map[string]string{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"}, []string{"to do: give runlens and runlens-sandbox an AppArmor profile"}},
		{"container", noSpaces, map[string]string{"/.dockerenv": " "}, []string{"to do: this is a container"}},
		{"nobody knows", noSpaces, nil, []string{"missing: make the namespaces"}},
		{"Landlock is off", noLandlock, map[string]string{"/sys/kernel/security/lsm": "capability,yama"}, []string{"missing: Landlock", "to do: boot with lsm=landlock,capability,yama"}},
		{"old kernel", old, map[string]string{"/proc/sys/kernel/osrelease": "5.15.0"}, []string{"to do: use Linux 6.2 or newer, with Landlock (this is 5.15.0)"}},
	} {
		x := &examination{}
		x.isolation(c.support, func(name string) string { return c.kernel[name] })
		text := x.text.String()
		rest, todo := text, 0
		for _, says := range c.says {
			_, after, found := strings.Cut(rest, says)
			if !found {
				t.Errorf("%s: no %q in\n%s", c.name, says, text)
			}
			rest = after
			todo += strings.Count(says, "to do:")
		}
		if strings.Count(text, "to do:") != todo || x.bad {
			t.Errorf("%s: want %d things to do:\n%s", c.name, todo, text)
		}
		if has := strings.Contains(text, `"sandbox": "none"`); has != (c.support.Level != sandbox.Full) {
			t.Errorf("%s: the way out is told: %t\n%s", c.name, has, text)
		}
	}
}
