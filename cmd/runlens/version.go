package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"
)

func (w *world) versionCommand() *cli.Command {
	return &cli.Command{
		Name:  "version",
		Usage: "print what this program is made of",
		Description: `The versions of RunLens, Go and OPA, and the revisions of the embedded policy and
manifests: two programs that print the same revisions judge alike.`,
		Action: w.version,
	}
}

func (w *world) version(c *cli.Context) error {
	if err := countFiles(c, 0, 0); err != nil {
		return err
	}
	shipped := &project{w: w, dir: "."}
	policy, policyErr := shipped.loadPolicies()
	tools, toolsErr := shipped.loadTools()
	if err := together(policyErr, toolsErr); err != nil {
		return err
	}
	build := readBuild()
	var b strings.Builder
	for _, line := range [][2]string{
		{"runlens", build.version},
		{"commit", build.commit},
		{"go", runtime.Version()},
		{"opa", build.opa},
		{"policy", policy.Revision()},
		{"manifest", tools.Revision},
	} {
		fmt.Fprintf(&b, "%-9s %s\n", line[0], line[1])
	}
	return w.print(b.String())
}

// build is what the linker wrote into this program.
type build struct{ version, commit, opa string }

func readBuild() build {
	b := build{version: "unknown", commit: "unknown", opa: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			b.commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			b.commit += " (modified)"
		}
	}
	for _, dep := range info.Deps {
		if dep.Path == "github.com/open-policy-agent/opa" {
			if b.opa = dep.Version; dep.Replace != nil {
				b.opa = dep.Replace.Version
			}
		}
	}
	return b
}
