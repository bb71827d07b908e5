package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/runlens/runlens/internal/ledger"
)

// maxHead bounds a signed head.
const maxHead = 64 << 10

// givenHeads are the signed heads that --head names, and who may have signed
// them.
type givenHeads struct {
	all   [][]byte
	dir   bool // they come from a directory, where most are of other runs
	known note.Verifiers
	key   bool // --key says who signed them; this machine's own heads are another matter
}

// givenHeads reads what --head and --key name.
func (w *world) givenHeads(name, key string) (*givenHeads, error) {
	g := &givenHeads{key: key != ""}
	var err error
	if g.all, g.dir, err = readHeads(name); err != nil {
		return nil, err
	}
	g.known, err = w.verifiers(key, len(g.all) > 0)
	return g, err
}

// of are the heads to compare a run with. In a directory these are the ones
// whose first line names the run, and those that name none: they are for the
// report to refuse.
func (g *givenHeads) of(run string) [][]byte {
	if !g.dir {
		return g.all
	}
	var list [][]byte
	for _, h := range g.all {
		if id, ours := headNames(h); !ours || id == run {
			list = append(list, h)
		}
	}
	return list
}

// name tells whether one of the heads says that it is of the run.
func (g *givenHeads) name(run string) bool {
	for _, h := range g.all {
		if id, ours := headNames(h); ours && id == run {
			return true
		}
	}
	return false
}

// headNames is the run that an unverified head says it is of.
func headNames(head []byte) (run string, ours bool) {
	first, _, _ := bytes.Cut(head, []byte("\n"))
	id, ours := bytes.CutPrefix(first, []byte("runlens/"))
	return string(id), ours
}

// verify compares a run with the heads given and with the one that is to be
// replaced by a new one. inVain is how many were given when none was a good one
// of this run.
func (g *givenHeads) verify(dir, id string, old *earlierHead) (r ledger.Report, inVain int, err error) {
	heads, known, own := g.of(id), g.known, 0
	if old != nil && !g.key { // one pass for both: the signer is the same
		heads, known, own = append(heads[:len(heads):len(heads)], old.signed), old.known, 1
	}
	if r, err = ledger.Verify(dir, heads, known); err != nil {
		return r, 0, err
	}
	if len(g.all) > 0 && r.Heads == own {
		inVain = len(g.all)
	}
	if old == nil || !g.key || inVain > 0 || len(r.Problems) > 0 {
		return r, inVain, nil
	}
	r, err = ledger.Verify(dir, [][]byte{old.signed}, old.known)
	return r, 0, err
}

// readHeads reads the signed heads that --head names.
func readHeads(name string) (heads [][]byte, dir bool, err error) {
	if name == "" {
		return nil, false, nil
	}
	st, err := os.Stat(name)
	if err != nil {
		return nil, false, hinted(similar(name), "read head %s: %w", name, cause(err))
	}
	files := []string{name}
	if st.IsDir() {
		if files, err = filepath.Glob(filepath.Join(escapeGlob(name), "*.head")); err != nil || len(files) == 0 {
			return nil, true, hinted("heads are files named RUN.head", "read heads %s: none there", name)
		}
	}
	for _, f := range files {
		data, err := readFile(f, maxHead)
		if err != nil {
			return nil, true, hinted("", "read head %s: %w", f, cause(err))
		}
		heads = append(heads, data)
	}
	return heads, st.IsDir(), nil
}

func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// verifiers are the keys that may have signed heads; none when there is no key,
// unless heads are to be compared.
func (w *world) verifiers(name string, needed bool) (note.Verifiers, error) {
	if name != "" {
		text, err := readFile(name, maxKey)
		if err != nil {
			return nil, hinted(similar(name), "read key %s: %w", name, cause(err))
		}
		v, err := note.NewVerifier(strings.TrimSpace(string(text)))
		if err != nil {
			return nil, hinted("the public key is head.pub in the key directory (`runlens doctor` names it)", "read key %s: not a public key for heads", name)
		}
		return note.VerifierList(v), nil
	}
	dir, err := w.stateDir()
	if err != nil {
		if needed {
			return nil, hinted("--key FILE names a public key", "%w", err)
		}
		return nil, nil
	}
	known, err := ledger.ReadVerifiers(dir)
	if err != nil && needed {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("there is none")
		}
		return nil, hinted("--key FILE names another", "read this machine's public key in %s: %w", dir, cause(err))
	}
	return known, nil
}

// signing is where heads are signed to; nil when they are not.
type signing struct {
	keys *ledger.Keys
	path string
	dir  bool // path is a directory of heads
}

// signing opens the keys for --sign.
func (w *world) signing(target string, several bool) (*signing, error) {
	if target == "" {
		return nil, nil
	}
	dir, err := w.stateDir()
	if err != nil {
		return nil, err
	}
	keys, err := ledger.OpenKeys(dir, signerName)
	if err != nil {
		return nil, err
	}
	st, err := os.Stat(target)
	return &signing{keys: keys, path: target, dir: several || err == nil && st.IsDir()}, nil
}

// file is where the head of a run goes.
func (s *signing) file(run string) string {
	if s.dir {
		return filepath.Join(s.path, run+".head")
	}
	return s.path
}

// earlierHead is a head of the run that stands where the next one is to go.
type earlierHead struct {
	ledger.Head
	signed []byte
	known  note.Verifiers
}

// earlier is the head in the place of the one that is to be signed, nil when the
// place is free. A place in a run, and one that holds anything but a head of
// this run, are refused.
func (s *signing) earlier(dir, run string) (*earlierHead, error) {
	if s == nil {
		return nil, nil
	}
	target := s.file(run)
	refuse := func(hint, format string, args ...any) error {
		return hinted(hint, "sign head of run %s: %s: %w", run, target, fmt.Errorf(format, args...))
	}
	const elsewhere = "name a file that the run can't reach, best on another machine"
	if within, err := runAround(target, dir); err != nil {
		return nil, refuse("", "%w", cause(err))
	} else if within != "" {
		return nil, refuse(elsewhere, "it lies in the run in %s: who changes a ledger there changes the head with it", within)
	}
	st, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, refuse("", "%w", cause(err))
	case !st.Mode().IsRegular():
		return nil, refuse(elsewhere, "it is there, and no regular file")
	}
	const keep = "it is not written over: name another file, or move it away"
	signed, err := readFile(target, maxHead)
	if err != nil {
		return nil, refuse(keep, "%w", cause(err))
	}
	old := &earlierHead{signed: signed, known: note.VerifierList(s.keys.Verifier)}
	if old.Head, err = ledger.OpenHead(signed, old.known); err != nil {
		return nil, refuse(keep, "it is there, and no head that this machine signed: %w", err)
	}
	if old.RunID != run {
		return nil, refuse(keep, "it is the head of run %s", quoted(old.RunID))
	}
	return old, nil
}

// runAround is the directory of a run in which target lies, that of run or of
// any other; "" when there is none.
func runAround(target, run string) (string, error) {
	abs, err := filepath.Abs(target)
	if err != nil {
		return "", err
	}
	own, ownErr := os.Stat(run)
	dir := filepath.Dir(abs)
	for dir != filepath.Dir(dir) && !exists(dir) {
		dir = filepath.Dir(dir)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	for {
		st, err := os.Stat(dir)
		if err != nil {
			return "", err
		}
		if ownErr == nil && os.SameFile(st, own) || exists(filepath.Join(dir, "events.jsonl")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", nil
		}
		dir = filepath.Dir(dir)
	}
}

// signHead signs what was verified, unless that is what old says already.
func (w *world) signHead(s *signing, h ledger.Head, old *earlierHead) error {
	target := s.file(h.RunID)
	if old != nil && old.Head == h {
		w.note("the head of event %d is in %s already", h.Seq, target)
		return nil
	}
	if err := s.keys.SaveHead(target, h); err != nil {
		return hinted("", "sign head of run %s: %w", h.RunID, cause(err))
	}
	w.note("head of event %d is signed in %s; keep it where the run can't reach", h.Seq, target)
	return nil
}
