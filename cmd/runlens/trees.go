package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/engine"
	shippedpolicies "github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

// embeddedTree is the word for the policies inside this program. A directory of
// that name is written ./embedded.
const embeddedTree = "embedded"

// treeWords say how a tree is named by commands that only compare: nothing is
// run under what they load, so that an overlay may be named there too.
const treeWords = `A TREE is a directory that holds runlens/decision.rego; or a directory that holds runlens/
without one, an overlay, which is put on the embedded tree; or an OPA bundle (.tar.gz); or
the word "embedded" for the policies inside this program. --verification-key holds for
every bundle that the command line names.`

// openComparing is openProject for commands that judge under several trees and
// run nothing. --policies is left to them: it is a TREE like the others, and the
// project's policies stay what they are without it.
func (w *world) openComparing(c *cli.Context) (*project, error) {
	p, err := w.projectDir(c)
	if err != nil {
		return nil, err
	}
	if err := p.find("", c.String("manifests")); err != nil {
		return nil, err
	}
	p.key = c.String("verification-key")
	return p, nil
}

// treePlace finds out what kind of policy tree a word of the command line names.
// It loads nothing.
func treePlace(word string) (place, error) {
	if word == embeddedTree {
		return place{}, nil
	}
	st, err := os.Stat(word)
	if err != nil {
		return place{}, hinted(similar(word), "load policies %s: %w", word, cause(err))
	}
	if !st.IsDir() {
		return place{kind: bundleFile, path: word, given: true}.at(), nil
	}
	if _, err := os.Stat(filepath.Join(word, "runlens")); err != nil {
		return place{}, hinted("a tree is a directory that holds runlens/, a bundle, or the word "+embeddedTree,
			"load policies %s: no runlens/ in it", word)
	}
	// Whatever stands in the place of the decision, the tree is meant to stand
	// alone: if it can't be read it does not load.
	if _, err := os.Lstat(filepath.Join(word, "runlens", "decision.rego")); errors.Is(err, fs.ErrNotExist) {
		return place{kind: overlayTree, path: word, given: true}.at(), nil
	}
	return place{kind: ownTree, path: word, given: true}.at(), nil
}

// loadTree loads the policy tree that a word of the command line names. What is
// wrong names the word, or the files in what it names.
func (p *project) loadTree(word string) (*engine.Engine, error) {
	at, err := treePlace(word)
	if err != nil {
		return nil, err
	}
	return p.loadAt(at)
}

// loadAt loads the policy tree of a place.
func (p *project) loadAt(at place) (*engine.Engine, error) {
	src, err := p.sourceAt(at)
	if err != nil {
		return nil, err
	}
	e, err := engine.Load(src)
	if err != nil {
		return nil, hinted(at.loadHint(), "%w", err)
	}
	p.noteUnchecked(e, at.path)
	return e, nil
}

// checkTreeKey refuses a verification key when none of the words names a bundle:
// whoever gave it believes that a signature is looked at.
func (p *project) checkTreeKey(words ...string) error {
	isBundle := func(word string) bool {
		at, err := treePlace(word)
		return err == nil && at.kind == bundleFile
	}
	if p.key == "" || slices.ContainsFunc(words, isBundle) {
		return nil
	}
	return hinted("name a bundle (.tar.gz), or leave the key out", "load policies: --verification-key is only for a bundle, and none is named")
}

// sourceAt is the policy tree of a place. The verification key counts for bundles.
func (p *project) sourceAt(at place) (engine.Source, error) {
	src := engine.Source{Name: at.path, Schemas: schemas.FS, Log: func(s string) { fmt.Fprintln(p.w.stderr, s) }}
	switch at.kind {
	case embedded:
		src.FS, src.Name = shippedpolicies.FS, "policies"
	case overlayTree:
		src.FS, src.Name = shippedpolicies.FS, "policies"
		src.Overlay, src.OverName = plainDir(at.real), at.path
	case bundleFile:
		data, err := readFile(at.real, maxBundle)
		if err != nil {
			return src, hinted("", "load policies %s: %w", at.path, cause(err))
		}
		src.Bundle = data
		if p.key == "" {
			break
		}
		if src.Key, err = readVerificationKey(p.key); err != nil {
			return src, err
		}
	default:
		src.FS = plainDir(at.real)
	}
	return src, nil
}
