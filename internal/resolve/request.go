package resolve

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/facts"
)

// Request asks for one object.
type Request struct {
	Param         string
	Access        string                   // facts.Read, List, Write, Delete or Execute
	Raw           string                   // the parameter's value as it came: lexical facts
	Values        []string                 // what else went into Requested, such as a template's other parameters: lexical facts, too
	Requested     string                   // the template filled in: what is resolved
	Recursive     bool                     // describe what lies below, too
	Absolute      bool                     // an absolute Requested may be resolved
	CreateParents bool                     // write: missing parents are no obstacle
	Below         func(folded string) bool // recursive: names worth a mention
	Dir           *Object                  // held directory that Requested counts from; nil: the project

	shown bool // an entry that is listed, not used
}

// Lexical says what is odd about any of the values that made up the request.
func (req *Request) Lexical() facts.Lexical {
	l := Lexical(req.Raw)
	for _, v := range req.Values {
		l = either(l, Lexical(v))
	}
	return l
}

// Resolve opens what the request names and describes it. It never fails: what
// went wrong is in Facts.Resolution. The caller closes the Object.
func (r *Resolver) Resolve(req Request) *Object {
	o := newObject(r, req)
	if !askable(req) {
		o.Facts.Resolution = facts.Invalid
		o.setNames()
		return o
	}
	if req.Dir == nil {
		o.resolve(req, r.dir, r.project)
		return o
	}
	if !req.Dir.held() {
		o.fail(reached{fd: -1, res: facts.NotFound, missing: "parent"})
		o.conclude(req, "")
		return o
	}
	// By its handle: the directory's name may lead elsewhere by now.
	name, _ := nameOf(r.proc, req.Dir.fd)
	o.resolve(req, req.Dir.fd, name)
	return o
}

// askable says whether the kernel can be asked for a request at all. An
// absolute path that the tool may not use is not asked for, so that its verdict
// cannot depend on what exists.
func askable(req Request) bool {
	p := req.Requested
	return p != "" && strings.IndexByte(p, 0) < 0 && (req.Absolute || p[0] != '/')
}

func newObject(r *Resolver, req Request) *Object {
	o := &Object{r: r, fd: -1, dir: -1, deepest: -1}
	f := &o.Facts // field by field: this is the hot path, and Target is large
	f.Param, f.Access, f.Recursive = req.Param, req.Access, req.Recursive
	f.Raw, f.Requested, f.Lexical = valid(req.Raw), valid(req.Requested), req.Lexical()
	f.Segments, f.Folded, f.Below = []string{}, []string{}, []facts.Below{}
	f.Kind, f.Resolver = facts.None, r.resolver()
	return o
}

func (r *Resolver) resolver() string {
	if r.walk || !haveOpenat2 {
		return rootWalkResolver
	}
	return openat2Resolver
}

// resolve opens Requested below base and fills in the facts.
func (o *Object) resolve(req Request, base int, baseName string) {
	want := ""
	if req.Access == facts.Write || req.Access == facts.Delete {
		want = o.resolveEntry(req, base)
	} else {
		o.accept(o.r.openPath(base, req.Requested, &o.Facts))
	}
	o.conclude(req, want)
	if !req.shown {
		o.checkAccess()
	}
	o.Facts.ViaSymlink = o.Facts.Handle && !isLexical(o.path, baseName, req.Requested)
	if o.Facts.Recursive && o.Facts.Resolution == facts.OK && o.Facts.Kind == facts.Directory {
		o.lookBelow(req.Below)
	}
}

// resolveEntry opens the directory that holds the last name, then the entry
// itself, which is never followed. It returns the names that stand between
// the held directory and the entry when the entry is free.
func (o *Object) resolveEntry(req Request, base int) (tail string) {
	parent, last, slash := splitLast(req.Requested)
	if last == "" || last == "." || last == ".." {
		o.accept(o.r.openPath(base, req.Requested, &o.Facts))
		return ""
	}
	got := o.r.openPath(base, parent, &o.Facts)
	if got.res != facts.OK {
		if got.res == facts.NotFound && len(got.rest) > 0 && req.CreateParents && req.Access == facts.Write && !slash {
			o.dir, o.rest, o.name = got.fd, got.rest, last
			o.Facts.Resolution = facts.Absent
			return strings.Join(got.rest, "/") + "/" + last
		}
		o.fail(got)
		if got.res == facts.NotFound {
			o.Facts.Missing = "parent"
		}
		return ""
	}
	n, err := openNode(got.fd, last)
	switch res := resolutionOf(err); {
	case res == facts.OK && slash && n.st.kind() != facts.Directory:
		closeFD(got.fd)
		o.fail(reached{fd: n.fd, res: facts.NotADirectory})
	case res == facts.OK:
		o.dir, o.name, o.fd, o.st = got.fd, last, n.fd, n.st
		o.Facts.Resolution = facts.OK
		o.Facts.LinkTarget = n.st.kind() == facts.Symlink
	case res == facts.NotFound && !slash && req.Access == facts.Write:
		o.dir, o.name = got.fd, last
		o.Facts.Resolution = facts.Absent
		return last
	default:
		got.res, got.missing = res, ""
		if res == facts.NotFound {
			got.missing = "name"
		}
		o.fail(got)
	}
	return ""
}

// accept takes what openPath reached as the object.
func (o *Object) accept(got reached) {
	if got.res != facts.OK {
		o.fail(got)
		return
	}
	o.fd = got.fd
	o.Facts.Resolution = facts.OK
}

// fail keeps the deepest object only until conclude has read its name.
func (o *Object) fail(got reached) {
	o.Facts.Resolution, o.Facts.Missing = got.res, got.missing
	o.deepest = got.fd
	o.failed = true
}

// conclude reads the facts from the handle, once. tail is what comes after the
// held directory's name while the entry is free.
func (o *Object) conclude(req Request, tail string) {
	fd, absent := o.fd, o.Facts.Resolution == facts.Absent
	switch {
	case o.failed:
		fd = o.deepest
	case absent:
		fd = o.dir
	}
	st, err := o.st, error(nil)
	if st.mode == 0 && fd >= 0 {
		st, err = statFD(fd)
	}
	name := ""
	if err == nil && fd >= 0 {
		name, err = liveName(o.r.proc, fd, st)
	}
	if err != nil && !o.failed {
		o.Facts.Resolution = resolutionOf(err)
		o.Facts.Missing = ""
		o.failed = true
	}
	if tail != "" && name != "" {
		name = join(name, tail)
	}
	o.path = name
	if o.failed {
		o.Close()
	} else {
		o.describe(fd, st, absent)
	}
	o.setNames()
}

func (o *Object) describe(fd int, st stat, absent bool) {
	f := &o.Facts
	f.Handle = true
	f.Device, f.MountID = int64(st.dev), int64(st.mount)
	f.PseudoFS = pseudoFS(fd, st)
	if absent {
		return
	}
	o.st = st
	f.Kind = st.kind()
	f.Size, f.Allocated, f.Nlink = st.size, st.allocated, int64(st.nlink)
}

// setNames writes what comes from the canonical path: the path, its segments,
// the folded names, and the protected place that they, or the object, are in.
func (o *Object) setNames() {
	f, rel := &o.Facts, o.path
	var buf [32]string
	folded := buf[:0]
	if o.path != "" && within(o.path, o.r.project) {
		f.InProject = true
		rel = o.path[len(o.r.project):]
		folded = append(folded, o.r.folded...)
	}
	f.Path = o.path
	if o.path != "" {
		f.Segments = segments(rel)
	}
	above := len(folded)
	folded = foldEach(folded, f.Segments)
	f.Folded = foldedNames(f.Requested, rel, folded[above:])
	if !utf8.ValidString(o.path) {
		f.Lexical.BadUTF8 = true
		f.Path = valid(o.path)
		for i, s := range f.Segments {
			f.Segments[i] = valid(s)
		}
	}
	if !o.failed && f.Handle {
		f.Protected = o.r.protect(o, folded)
	}
}

// foldedNames lists the folded segments of the requested path and of the
// canonical one, whose segments are folded already.
func foldedNames(requested, canonical string, folded []string) []string {
	out := make([]string, 0, len(folded)+4)
	for _, s := range folded {
		if strings.ContainsAny(s, `/\`) {
			out = foldSegments(out[:0], canonical)
			break
		}
		if s != "" {
			out = append(out, s)
		}
	}
	if strings.TrimPrefix(canonical, "/") != requested {
		out = foldSegments(out, requested)
	} else if strings.IndexByte(canonical, '\\') >= 0 {
		out = foldSegments(out, canonical) // a stream name may hide what follows
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// splitLast cuts a path before its last name. slash says that the name was
// followed by one: it must be a directory.
func splitLast(p string) (parent, last string, slash bool) {
	t := strings.TrimRight(p, "/")
	slash = len(t) < len(p)
	i := strings.LastIndexByte(t, '/')
	if i < 0 {
		return ".", t, slash
	}
	return t[:i+1], t[i+1:], slash
}

// segments splits a canonical path; "/" has none.
func segments(p string) []string {
	p = strings.Trim(p, "/")
	if p == "" {
		return []string{}
	}
	return strings.Split(p, "/")
}

// prefix is a canonical path cut after n names; segment is the name after them.
func prefix(p string, n int) string {
	for i := 1; i < len(p); i++ {
		if p[i] == '/' {
			if n--; n == 0 {
				return p[:i]
			}
		}
	}
	return p
}

func segment(p string, n int) string {
	if n > 0 {
		p = p[len(prefix(p, n)):]
	}
	p, _, _ = strings.Cut(strings.TrimPrefix(p, "/"), "/")
	return p
}

// within says whether a canonical path is dir or below it.
func within(p, dir string) bool {
	if dir == "/" || p == dir {
		return true
	}
	return len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir
}

func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// isLexical says that a canonical path is what the text says: nothing on the
// way was a link.
func isLexical(canonical, base, p string) bool {
	if strings.HasPrefix(p, "/") {
		return canonical == path.Clean(p)
	}
	if within(canonical, base) && len(canonical) > len(base) && canonical[len(base)+1:] == p {
		return true
	}
	return canonical == path.Join(base, p)
}

// valid writes bytes that are no UTF-8 as \xNN, since JSON cannot carry them.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	const hex = "0123456789abcdef"
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b.WriteString(`\x`)
			b.WriteByte(hex[s[i]>>4])
			b.WriteByte(hex[s[i]&15])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
