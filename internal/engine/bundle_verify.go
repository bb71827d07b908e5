package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/bundle"
)

// digests are the hashes that a signature may rest on. OPA's reader also takes
// MD5 and SHA-1, for which two files with the same digest can be made.
var digests = []string{"SHA-256", "SHA-384", "SHA-512", "SHA-512-256"}

// verify holds every file of a bundle but the signature itself to the
// signature, and the signature to the key. The algorithm must be one of the
// key's own: what the signature says of itself only picks among them. Key ids
// are not looked at, since there is one key.
func verify(entries []file, key *VerificationKey, name string, p *problems) {
	files := map[string][]byte{}
	for _, f := range entries {
		files[f.rel] = f.raw
	}
	shown := path.Join(name, signaturesFile)
	raw, signed := files[signaturesFile]
	if !signed {
		p.add(name, 0, "sign it with `runlens policy build --signing-key FILE`", "signature does not verify: the bundle is not signed")
		return
	}
	listed, fix, err := key.open(raw)
	if err != nil {
		p.add(shown, 0, fix, "signature does not verify: %v", err)
		return
	}
	found := &problems{}
	for _, rel := range slices.Sorted(maps.Keys(files)) {
		if rel == signaturesFile {
			continue
		}
		if info, ok := listed[rel]; !ok {
			found.add(path.Join(name, rel), 0, "a file was added or renamed: "+anewFix, "signature does not verify: the file is not signed")
		} else if err := sameDigest(rel, files[rel], info); err != nil {
			found.add(path.Join(name, rel), 0, anewFix, "signature does not verify: %v", err)
		}
	}
	for _, rel := range slices.Sorted(maps.Keys(listed)) {
		if _, ok := files[rel]; !ok {
			found.add(name, 0, "a file was taken out or renamed: "+anewFix, "signature does not verify: the signed file %s is not there", cut(rel))
		}
	}
	p.list = append(p.list, found.list[:min(len(found.list), mostDiffering)]...)
	if more := len(found.list) - mostDiffering; more > 0 {
		p.add(name, 0, "sign the bundle itself, or in the folder that is packed: `opa sign -b .`", "signature does not verify: %d files more differ from what was signed", more)
	}
}

// mostDiffering is how many files are named when a signature belongs to others.
const mostDiffering = 10

// open checks the signature and returns the files that it lists, by their names
// in the archive.
func (k *VerificationKey) open(raw []byte) (listed map[string]bundle.FileInfo, fix string, err error) {
	var sc bundle.SignaturesConfig
	if err := json.Unmarshal(raw, &sc); err != nil {
		return nil, anewFix, fmt.Errorf("not JSON: %w", err)
	}
	if sc.Plugin != "" && sc.Plugin != "_default" {
		return nil, "sign it without --signing-plugin", fmt.Errorf("signed by the plugin %s", cut(sc.Plugin))
	}
	if len(sc.Signatures) != 1 {
		return nil, "sign it anew, with one key", fmt.Errorf("%d signatures, one is needed", len(sc.Signatures))
	}
	algorithm, err := algorithmOf(sc.Signatures[0])
	if err != nil {
		return nil, anewFix, err
	}
	if !slices.Contains(k.algorithms, algorithm) {
		return nil, "sign it with one of: " + strings.Join(k.algorithms, ", "), fmt.Errorf("signed with %s, which is not for this key", cut(algorithm))
	}
	const id = "key"
	config := bundle.NewVerificationConfig(map[string]*bundle.KeyConfig{id: {Key: k.pem, Algorithm: algorithm}}, id, "", nil)
	infos, err := bundle.VerifyBundleSignature(sc, config)
	switch {
	case err != nil && err.Error() == "scope mismatch":
		return nil, "sign it without the claim scope", fmt.Errorf("signed for a scope")
	case err != nil:
		return nil, "the bundle was altered, or another key signed it: give the key of whoever built it", err
	}
	listed = map[string]bundle.FileInfo{}
	for signedAs, info := range infos {
		rel := plainName(signedAs)
		if _, twice := listed[rel]; twice {
			return nil, "sign it anew", fmt.Errorf("lists %s twice", cut(rel))
		}
		listed[rel] = info
	}
	return listed, "", nil
}

// algorithmOf is what a token says it was signed with.
func algorithmOf(token string) (string, error) {
	head, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(head)
	var header struct {
		Algorithm string `json:"alg"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &header)
	}
	if err != nil {
		return "", fmt.Errorf("the signature is no JSON web token")
	}
	return header.Algorithm, nil
}

// sameDigest compares a file with its digest in the signature. OPA takes the
// digest of JSON over its values, so that spaces don't count.
func sameDigest(rel string, raw []byte, info bundle.FileInfo) error {
	if !slices.Contains(digests, info.Algorithm) {
		return fmt.Errorf("its digest is %s, which is no safe one", cut(info.Algorithm))
	}
	if bundle.IsStructuredDoc(rel) && !json.Valid(raw) {
		return fmt.Errorf("not JSON")
	}
	if err := bundle.VerifyBundleFile(rel, *bytes.NewBuffer(raw), map[string]bundle.FileInfo{rel: info}); err != nil {
		return fmt.Errorf("the file is not what was signed")
	}
	return nil
}
