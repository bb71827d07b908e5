package engine

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxFile bounds one file of a policy tree, maxTree all of them together.
const (
	maxFile = 8 << 20
	maxTree = 64 << 20
)

// file is one file of a tree. rel counts from the folder that holds runlens/.
type file struct {
	rel   string
	shown string // name for people: "policies/" and rel
	raw   []byte
}

// tree is the raw material of an engine: policy files and data files, checked
// as files, not yet parsed.
type tree struct {
	modules []file
	data    []file
	root    *file    // data.json beside runlens/, which only bundles have
	empty   []string // family folders without a policy, as shown

	withTests bool   // keep tests
	tests     []file // *_test.rego
}

const (
	folder       = "runlens"
	decisionFile = "runlens/decision.rego"
	rulesFolder  = "runlens/rules/"
	libFolder    = "runlens/lib"
)

// readTree reads a directory tree. name is shown in front of file names.
func readTree(fsys fs.FS, name string, p *problems) tree {
	var t tree
	t.read(fsys, name, p)
	return t
}

func (t *tree) read(fsys fs.FS, name string, p *problems) {
	var total int64
	var families []string
	err := fs.WalkDir(fsys, ".", func(rel string, d fs.DirEntry, err error) error {
		shown := path.Join(name, rel)
		if err != nil {
			p.add(shown, 0, "", "cannot be read: %v", reason(err))
			if rel == "." {
				return fs.SkipAll
			}
			return nil
		}
		if d.IsDir() {
			if path.Dir(rel) == path.Clean(rulesFolder) {
				families = append(families, rel)
			}
			return nil
		}
		if !d.Type().IsRegular() {
			p.add(shown, 0, "policy trees hold plain files only", "is not a regular file")
			return nil
		}
		if rel == ".manifest" {
			if raw, err := readFile(fsys, rel); err == nil {
				checkManifest(raw, shown, p)
			}
			return nil
		}
		take, why := admitted(rel)
		if why != "" {
			p.add(shown, 0, "", "%s", why)
		}
		if !take {
			return nil
		}
		raw, err := readFile(fsys, rel)
		if err != nil {
			p.add(shown, 0, "", "cannot be read: %v", reason(err))
			return nil
		}
		if total += int64(len(raw)); total > maxTree {
			p.add(name, 0, "", "holds more than %d bytes", maxTree)
			return fs.SkipAll
		}
		t.add(file{rel: rel, shown: shown, raw: raw}, p)
		return nil
	})
	if err != nil {
		p.add(name, 0, "", "cannot be read: %v", reason(err))
	}
	for _, family := range families {
		if !slices.ContainsFunc(t.modules, func(f file) bool { return path.Dir(f.rel) == family }) {
			t.empty = append(t.empty, path.Join(name, family))
		}
	}
}

// add files f under what it is, after the checks that hold for every text.
func (t *tree) add(f file, p *problems) {
	if !plainText(f, p) {
		return
	}
	switch {
	case strings.HasSuffix(f.rel, "_test.rego"):
		checkTestFile(f, p)
		if t.withTests {
			t.tests = append(t.tests, f)
		}
	case strings.HasSuffix(f.rel, ".rego"):
		t.modules = append(t.modules, f)
	case f.rel == "data.json":
		t.root = &f
	case path.Base(f.rel) == "data.json":
		t.data = append(t.data, f)
	}
}

// admitted says whether a file is read, and what is wrong with its being there.
// Every name that could be meant as a rule or as data is either read or refused:
// nothing of the kind is skipped in silence.
func admitted(rel string) (take bool, why string) {
	base := path.Base(rel)
	lower := strings.ToLower(base)
	ext := path.Ext(lower)
	inside := strings.HasPrefix(rel, folder+"/")
	switch {
	case strings.HasPrefix(base, ".") && ext != ".rego" && ext != ".json", strings.HasSuffix(base, "~"):
		return false, ""
	case ext == ".rego" && !inside:
		return false, "policy outside runlens/ would never run"
	case ext == ".rego" && (path.Ext(base) != ".rego" || strings.HasPrefix(base, ".")):
		return false, "policy file must be named *.rego, lower case, without a leading dot"
	case ext == ".rego":
		return true, ""
	case base == "data.json" && inside:
		return true, ""
	case base == "data.json":
		return false, "data outside runlens/ would never be seen by a rule"
	case ext == ".json", ext == ".yaml", ext == ".yml":
		return false, "data must be in a file named data.json, bundles drop this one"
	case strings.Contains(lower, ".rego"), strings.Contains(lower, "data.json"):
		return false, "is neither *.rego nor data.json and would be lost in silence"
	default:
		return false, ""
	}
}

// readFile reads a regular file and refuses what is too large.
func readFile(fsys fs.FS, rel string) ([]byte, error) {
	f, err := fsys.Open(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return readLimited(f, st.Size())
}

func readLimited(r io.Reader, size int64) ([]byte, error) {
	if size > maxFile {
		return nil, errors.New("too large")
	}
	var buf bytes.Buffer
	buf.Grow(int(size) + bytes.MinRead)
	if _, err := buf.ReadFrom(io.LimitReader(r, maxFile+1)); err != nil {
		return nil, err
	}
	if buf.Len() > maxFile {
		return nil, errors.New("too large")
	}
	return buf.Bytes(), nil
}

// plainText refuses what is not plain UTF-8 text.
func plainText(f file, p *problems) bool {
	switch {
	case bytes.HasPrefix(f.raw, []byte("\xef\xbb\xbf")):
		p.add(f.shown, 1, "save it as UTF-8 without BOM", "starts with a byte order mark")
	case !utf8.Valid(f.raw):
		good := f.raw
		for len(good) > 0 {
			r, n := utf8.DecodeRune(good)
			if r == utf8.RuneError && n == 1 {
				break
			}
			good = good[n:]
		}
		p.add(f.shown, lineAt(f.raw, len(f.raw)-len(good)), "", "is not valid UTF-8")
	case bytes.IndexByte(f.raw, 0) >= 0:
		p.add(f.shown, lineAt(f.raw, bytes.IndexByte(f.raw, 0)), "", "holds a NUL byte")
	default:
		return true
	}
	return false
}

// checkTestFile refuses a test file that holds a rule of a family: it would
// look like a rule and never run.
func checkTestFile(f file, p *problems) {
	pattern := regexp.MustCompile(`(?m)^[ \t]*(` + strings.Join(kinds, "|") + `)\s+contains\b`)
	for _, at := range pattern.FindAllSubmatchIndex(f.raw, -1) {
		p.add(f.shown, lineAt(f.raw, at[2]), "move the rule to a file that does not end in _test.rego",
			"%s rule in a test file would never run", f.raw[at[2]:at[3]])
	}
}

func lineAt(raw []byte, offset int) int {
	return 1 + bytes.Count(raw[:offset], []byte("\n"))
}

// reason drops the path from a file error: the problem names it already.
func reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
