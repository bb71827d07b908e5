package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/runlens/runlens/internal/executor/handlers"
	"github.com/runlens/runlens/internal/manifest"
	shippedmanifests "github.com/runlens/runlens/manifests"
)

// manifestNames are what makes a directory one of manifests.
func manifestNames() []string {
	return append(manifest.FileNames(), manifest.SkillDir, manifest.PlanDir)
}

// findManifests fixes the manifests: the flag, else the project's manifests/
// when it holds tools, skills or plans, else a tools.json of the project, else
// the embedded ones.
func (p *project) findManifests(flag string) error {
	if flag != "" {
		st, err := os.Stat(flag)
		switch {
		case err != nil:
			return hinted(similar(flag), "load manifests %s: %w", flag, cause(err))
		case st.IsDir():
			p.tools = place{kind: manifestDir, path: flag, given: true}
		default:
			p.tools = place{kind: manifestFile, path: flag, given: true}
		}
		return nil
	}
	dir := p.in("manifests")
	counts, dirErr := present(dir, manifestNames()...)
	loose, looseErr := present(p.dir, "tools.json")
	if err := errors.Join(dirErr, looseErr); err != nil {
		return hinted("mend or remove it: without it the embedded manifests would count", "load manifests: %w", err)
	}
	switch {
	case counts:
		p.tools = place{kind: manifestDir, path: dir}
	case loose:
		p.tools = place{kind: looseFile, path: p.in("tools.json")}
	}
	return nil
}

// loadTools loads the manifests: tools, skills and plans.
func (p *project) loadTools() (*manifest.Set, error) {
	sources, err := p.toolSources()
	if err != nil {
		return nil, err
	}
	builtin := handlers.Builtin()
	list := make([]manifest.Handler, 0, len(builtin))
	for _, h := range builtin {
		list = append(list, h.Handler)
	}
	set, err := manifest.Load(sources, list)
	if err != nil {
		return nil, err
	}
	if p.tools.kind == looseFile {
		p.w.note("tools come from %s; manifests/tools.json is where they are looked for first", p.tools.path)
	}
	for _, n := range set.Notes {
		p.w.note("%s", n)
	}
	return set, nil
}

func (p *project) toolSources() ([]manifest.Source, error) {
	switch p.tools.kind {
	case embedded:
		return readManifests(shippedmanifests.FS, "manifests")
	case manifestDir:
		// Nobody keeps tools from writing to what a link leads to.
		for _, name := range manifestNames() {
			if st, err := os.Lstat(filepath.Join(p.tools.real, name)); err == nil && st.Mode()&fs.ModeSymlink != 0 {
				return nil, hinted(linkHint, "load manifests %s: %w", filepath.Join(p.tools.path, name), errLink)
			}
		}
		return readManifests(plainDir(p.tools.real), p.tools.path)
	case looseFile:
		if st, err := os.Lstat(p.tools.path); err == nil && st.Mode()&fs.ModeSymlink != 0 {
			return nil, hinted(linkHint, "load manifests %s: %w", p.tools.path, errLink)
		}
	}
	data, err := readOpened(openUnlinked, p.tools.real, maxManifest)
	if err != nil {
		return nil, hinted("", "load manifests %s: %w", p.tools.path, cause(err))
	}
	return []manifest.Source{{Name: p.tools.path, Data: data}}, nil
}

const linkHint = "put the file itself there, or name it with --manifests FILE"

// readManifests reads the files of a manifest directory.
func readManifests(fsys fs.FS, shown string) ([]manifest.Source, error) {
	sources, err := manifest.Files(fsys, shown)
	if err != nil {
		hint := ""
		if errors.Is(err, errLink) {
			hint = "put the file itself there"
		}
		return nil, hinted(hint, "%w", err)
	}
	if !slices.ContainsFunc(sources, func(s manifest.Source) bool { return s.Kind == manifest.ToolFile }) {
		hint := "tools are declared in tools.json, tools.yaml or tools.yml"
		if len(sources) > 0 {
			hint += " beside skills/ and plans/, which name them"
		}
		return nil, hinted(hint, "load manifests %s: no manifest of tools in it", shown)
	}
	return sources, nil
}
