package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The keys' directory by what the environment says; the others that could be it
// stay protected.
func TestStateDirs(t *testing.T) {
	base := t.TempDir()
	abs := func(name string) string { return filepath.Join(base, name) }
	standard := filepath.Join(".local", "state", "runlens")
	for _, c := range []struct {
		name           string
		xdg, env, home string
		want           []string
		noted          bool
	}{
		{"the usual", "", abs("env"), abs("env"), []string{filepath.Join(abs("env"), standard)}, false},
		{"a variable that points elsewhere", abs("xdg"), abs("env"), abs("env"), []string{filepath.Join(abs("xdg"), "runlens"), filepath.Join(abs("env"), standard)}, false},
		{"both point elsewhere", abs("xdg"), abs("env"), abs("home"), []string{filepath.Join(abs("xdg"), "runlens"), filepath.Join(abs("env"), standard), filepath.Join(abs("home"), standard)}, false},
		{"a relative one", "xdg", abs("env"), abs("env"), []string{filepath.Join(abs("env"), standard)}, true},
		{"no HOME", "", "", abs("home"), []string{filepath.Join(abs("home"), standard)}, false},
		{"a relative HOME", "", "here", abs("home"), []string{filepath.Join(abs("home"), standard)}, false},
		{"nothing", "", "", "", nil, false},
	} {
		var stderr bytes.Buffer
		w := &world{
			stderr: &stderr, home: func() string { return c.home },
			getenv: func(name string) string { return map[string]string{"XDG_STATE_HOME": c.xdg, "HOME": c.env}[name] },
		}
		if got := w.stateDirs(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if dir, err := w.stateDir(); (err == nil) != (len(c.want) > 0) || err == nil && dir != c.want[0] {
			t.Errorf("%s: %q, %v", c.name, dir, err)
		}
		w.noteState()
		if strings.Contains(stderr.String(), "XDG_STATE_HOME is ignored") != c.noted {
			t.Errorf("%s: noted: %q", c.name, stderr.String())
		}
	}
}

// The home that the system knows is that of this process's user.
func TestPasswdHome(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	home := passwdHome()
	if home == os.Getenv("HOME") {
		t.Error("it is the environment's")
	}
	if home != "" && !filepath.IsAbs(home) {
		t.Errorf("%q", home)
	}
}
