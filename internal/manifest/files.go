package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// FileNames are the names of tool manifests in a manifest directory.
func FileNames() []string { return []string{"tools.json", "tools.yaml", "tools.yml"} }

// The directories in a manifest directory whose files declare one skill or plan
// each.
const (
	SkillDir = "skills"
	PlanDir  = "plans"
)

// maxEntries is how many names skills/ or plans/ may hold.
const maxEntries = 1000

// Files reads the manifests of fsys: tools at the top in the order of FileNames,
// then plans and skills, sorted by name. dir is what stands before their names in
// errors; "" for nothing. In plans/ and skills/ a file counts by its extension
// (json, yaml, yml); a directory there is an error, since nobody would look into
// it. A directory that holds no manifest gives none. Every file that cannot be
// read is reported.
func Files(fsys fs.FS, dir string) ([]Source, error) {
	r := fileReader{fsys: fsys, dir: dir}
	for _, name := range FileNames() {
		r.file(name, ToolFile)
	}
	r.folder(PlanDir, PlanFile)
	r.folder(SkillDir, SkillFile)
	if len(r.errs) > 0 {
		return nil, errors.Join(r.errs...)
	}
	return r.sources, nil
}

type fileReader struct {
	fsys    fs.FS
	dir     string
	sources []Source
	errs    []error
}

func (r *fileReader) failed(name string, err error) {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err // the message has the name
	}
	r.errs = append(r.errs, fmt.Errorf("load manifests %s: %w", printable(path.Join(r.dir, name)), err))
}

// file reads one file if it is there. What is too large is left for Load to
// refuse.
func (r *fileReader) file(name string, kind SourceKind) {
	f, err := r.fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		r.failed(name, err)
		return
	}
	r.sources = append(r.sources, Source{Name: path.Join(r.dir, name), Data: data, Kind: kind})
}

func (r *fileReader) folder(name string, kind SourceKind) {
	entries, err := fs.ReadDir(r.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil && len(entries) > maxEntries {
		err = fmt.Errorf("more than %d files", maxEntries)
	}
	if err != nil {
		r.failed(name, err)
		return
	}
	for _, e := range entries {
		full := path.Join(name, e.Name())
		switch {
		case e.IsDir():
			r.failed(full, errors.New("is a directory; a "+strings.TrimSuffix(name, "s")+" is one file right in "+name+"/"))
		case slices.Contains([]string{".json", ".yaml", ".yml"}, strings.ToLower(path.Ext(full))):
			r.file(full, kind)
		}
	}
}
