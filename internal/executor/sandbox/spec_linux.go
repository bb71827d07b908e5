//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// check reports all that is wrong with a Spec.
func (s *Spec) check() error {
	var wrong []string
	add := func(bad bool, text string) {
		if bad {
			wrong = append(wrong, text)
		}
	}
	add(s.Program == nil, "no program")
	add(len(s.Argv) == 0, "no argv")
	add(s.Dir.Handle == nil, "no working directory")
	add(!s.Limits.valid(), "a limit below zero")
	for _, text := range slices.Concat(s.Argv, s.Env, s.Hidden) {
		if strings.Contains(text, "\x00") {
			add(true, "a NUL in argv, env or a hidden path")
			break
		}
	}
	for _, f := range s.Files {
		add(f == nil, "a file that is nil")
	}
	for _, r := range s.Open {
		add(r.Handle == nil, "a file to open without a handle")
		add(!path.IsAbs(r.Path) || path.Clean(r.Path) != r.Path || strings.Contains(r.Path, "\x00"), fmt.Sprintf("a file to open at %.200q", r.Path))
	}
	seen := map[string]bool{}
	covered := map[string]bool{}
	for _, p := range s.Hidden {
		covered[p] = true
	}
	for _, r := range slices.Concat(s.Read, s.Write) {
		add(r.Handle == nil, "a root without a handle")
		add(!grantable(r.Path), fmt.Sprintf("a root at %.200q", r.Path))
		add(seen[r.Path], fmt.Sprintf("two roots at %.200q", r.Path))
		add(covered[r.Path], fmt.Sprintf("a root at a hidden path, %.200q", r.Path))
		seen[r.Path] = true
	}
	add(!s.inRoot(s.Dir.Path) && !s.own(s.Dir.Path), "a working directory that is neither in the roots nor the sandbox's own")
	for _, p := range s.Hidden {
		add(!s.inRoot(p) && !Shows(p), "a hidden path outside the roots")
	}
	if wrong != nil {
		return &Error{Kind: ErrSpec, Step: "read the spec", Note: strings.Join(wrong, ", ")}
	}
	return nil
}

func (s *Spec) inRoot(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && slices.ContainsFunc(slices.Concat(s.Read, s.Write), func(r Root) bool {
		return within(p, r.Path)
	})
}

// own holds for a directory that shows nothing of the host.
func (s *Spec) own(p string) bool {
	return grantable(p) && (!Shows(p) || slices.ContainsFunc(s.Hidden, func(h string) bool { return within(p, h) }))
}

// Shows says whether a path lies in what every sandbox has of the system.
func Shows(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && slices.ContainsFunc(system, func(s string) bool { return within(p, s) })
}

func within(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

// grantable holds for clean absolute paths that are not part of what the sandbox
// makes for itself.
func grantable(p string) bool {
	if !path.IsAbs(p) || path.Clean(p) != p || strings.Contains(p, "\x00") {
		return false
	}
	for _, own := range []string{"/proc", "/dev", "/sys"} {
		if within(p, own) {
			return false
		}
	}
	return !slices.Contains([]string{"/", "/etc", "/home", Home, Temp}, p)
}
