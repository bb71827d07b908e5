package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/bundle"
)

// VerificationKey is the public key (PEM) or secret that a bundle's signature
// is checked with.
type VerificationKey struct {
	ID        string // key id in the signature; "" takes the only key
	Key       string
	Algorithm string // "" is RS256
	Scope     string // must be the signature's scope when set
}

// readBundle reads an OPA bundle, a gzipped tar as `opa build -b` writes it.
// Where the build put the tree does not matter: the folder that holds
// runlens/decision.rego is its root. Data has been gathered into one data.json
// at the top by then.
func readBundle(raw []byte, key *VerificationKey, name string, p *problems) tree {
	if key != nil {
		if err := verifyBundle(raw, key); err != nil {
			p.add(name, 0, "", "signature does not verify: %v", err)
			return tree{}
		}
	}
	entries, err := untar(raw)
	if err != nil {
		p.add(name, 0, "", "is not an OPA bundle: %v", err)
		return tree{}
	}
	prefix, found := "", false
	for _, f := range entries {
		if at, ok := strings.CutSuffix(f.rel, decisionFile); ok && (at == "" || strings.HasSuffix(at, "/")) {
			if !found || len(at) < len(prefix) {
				prefix, found = at, true
			}
		}
	}
	var t tree
	for _, f := range entries {
		base := path.Base(f.rel)
		inBundle := path.Join(name, f.rel)
		switch {
		case f.rel == ".manifest":
			checkManifest(f.raw, inBundle, p)
			continue
		case f.rel == ".signatures.json":
			continue
		case base == "data.json" && (f.rel == base || strings.HasPrefix(f.rel, folder+"/")):
		case strings.HasSuffix(f.rel, ".rego") && strings.HasPrefix(f.rel, prefix):
			f.rel = strings.TrimPrefix(f.rel, prefix)
			if _, why := admitted(f.rel); why != "" {
				p.add(inBundle, 0, "", "%s", why)
				continue
			}
		default:
			p.add(inBundle, 0, "a bundle holds policies, data.json and .manifest", "does not belong in a policy bundle")
			continue
		}
		f.shown = path.Join(name, f.rel)
		t.add(f, p)
	}
	return t
}

// checkManifest refuses what would make stock OPA read the bundle differently.
func checkManifest(raw []byte, shown string, p *problems) {
	var m struct {
		RegoVersion  *int            `json:"rego_version"`
		FileVersions map[string]int  `json:"file_rego_versions"`
		WASM         json.RawMessage `json:"wasm"`
		Roots        *[]string       `json:"roots"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		p.add(shown, 0, "", "is not a bundle manifest: %v", err)
		return
	}
	if m.RegoVersion != nil && *m.RegoVersion != 1 || len(m.FileVersions) > 0 {
		p.add(shown, 0, "build it with --v1-compatible", "policies must be Rego v1")
	}
	if m.Roots != nil && !slices.Contains(*m.Roots, folder) && !slices.Contains(*m.Roots, "") {
		p.add(shown, 0, "list runlens", "roots leave out the policies: a bundle reader would drop them")
	}
	if len(m.WASM) > 0 && string(m.WASM) != "null" && string(m.WASM) != "[]" {
		p.add(shown, 0, "", "WebAssembly modules are not supported")
	}
}

func verifyBundle(raw []byte, key *VerificationKey) error {
	id := key.ID
	if id == "" {
		id = "default"
	}
	algorithm := key.Algorithm
	if algorithm == "" {
		algorithm = "RS256"
	}
	config := bundle.NewVerificationConfig(map[string]*bundle.KeyConfig{
		id: {Key: key.Key, Algorithm: algorithm, Scope: key.Scope},
	}, id, key.Scope, nil)
	_, err := bundle.NewReader(bytes.NewReader(raw)).
		WithSizeLimitBytes(maxFile).
		WithBundleVerificationConfig(config).
		Read()
	return err
}

// nothingBehind refuses what stands behind the archive: another reader of the
// same bytes might take it for part of the bundle.
func nothingBehind(z *gzip.Reader, packed *bytes.Reader) error {
	rest, err := io.ReadAll(io.LimitReader(z, maxTree))
	if err != nil {
		return err
	}
	if len(bytes.Trim(rest, "\x00")) > 0 || packed.Len() > 0 {
		return errors.New("something stands behind the archive")
	}
	return nil
}

// untar returns the files of a gzipped tar, names without a leading slash.
func untar(raw []byte) ([]file, error) {
	packed := bytes.NewReader(raw)
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	r := tar.NewReader(io.LimitReader(z, maxTree))
	var files []file
	seen := map[string]bool{}
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nothingBehind(z, packed)
		}
		if err != nil {
			return nil, err
		}
		rel := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		switch h.Typeflag {
		case tar.TypeDir:
			continue
		case tar.TypeReg:
		default:
			return nil, errors.New("holds something that is not a file: " + cut(h.Name))
		}
		if seen[rel] {
			return nil, errors.New("holds a file twice: " + cut(h.Name))
		}
		seen[rel] = true
		content, err := readLimited(r, h.Size)
		if err != nil {
			return nil, errors.New(cut(h.Name) + ": " + err.Error())
		}
		files = append(files, file{rel: rel, raw: content})
	}
}
