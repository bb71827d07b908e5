package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"time"
)

// Bundle is a policy tree as an OPA bundle.
type Bundle struct {
	Bytes    []byte // a gzipped tar
	Revision string // of the tree, as every engine that loads it says
}

// Build writes the tree that src describes as one OPA bundle that stands alone,
// an overlay merged into the tree below it: the Rego files as they are, without
// tests, all data in one data.json, and a .manifest with the revision. With a
// key it is signed. Stock OPA reads it.
//
// The same tree is the same bytes, wherever and whenever it is built, but for
// the signatures of keys that do not repeat themselves. A tree that does not
// load is refused with a *LoadError, as Load does.
func Build(src Source, key *SigningKey) (*Bundle, error) {
	src, err := src.filled()
	if err != nil {
		return nil, err
	}
	p := &problems{}
	t, data, _, err := gatherTree(src, p)
	if err != nil {
		return nil, err
	}
	e, err := compileTree(src, t, data, p)
	if err != nil {
		return nil, err
	}
	files := []file{
		{rel: manifestFile, raw: fmt.Appendf(nil, "{\"revision\":%q,\"roots\":[%q],\"rego_version\":1}\n", e.Revision(), folder)},
		{rel: "data.json", raw: append(data.canonical(nil), '\n')},
	}
	files = append(files, t.modules...) // in order
	again := Source{Name: "bundle", Schemas: src.Schemas}
	if key != nil {
		signature, err := key.sign(files)
		if err != nil {
			return nil, fmt.Errorf("sign bundle: %w", err)
		}
		files = append(files, file{rel: signaturesFile, raw: signature})
		if again.Key, err = verificationKey(key.signer.Public()); err != nil {
			return nil, fmt.Errorf("sign bundle: %w", err)
		}
	}
	if again.Bundle, err = pack(files); err != nil {
		return nil, fmt.Errorf("build bundle: %w", err)
	}
	// Nobody gets a bundle that is not read back as the tree it was made of.
	back, err := Load(again)
	if err != nil {
		return nil, fmt.Errorf("build bundle: what was built does not load: %w", err)
	}
	if back.Revision() != e.Revision() {
		return nil, fmt.Errorf("build bundle: what was built has another revision, %s instead of %s", back.Revision(), e.Revision())
	}
	return &Bundle{Bytes: again.Bundle, Revision: e.Revision()}, nil
}

// pack writes a gzipped tar in which nothing is left to the machine. It is not
// made smaller: what a compressor writes changes between releases of Go, and a
// bundle must stay the same bytes.
func pack(files []file) ([]byte, error) {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.NoCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.rel, Size: int64(len(f.raw)), Mode: 0o644, ModTime: time.Unix(0, 0)}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%s: %w", f.rel, err)
		}
		if _, err := w.Write(f.raw); err != nil {
			return nil, fmt.Errorf("%s: %w", f.rel, err)
		}
	}
	err = errors.Join(w.Close(), z.Close())
	return buf.Bytes(), err
}
