package engine

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

const (
	manifestFile   = ".manifest"
	signaturesFile = ".signatures.json"
)

// readBundle reads an OPA bundle, a gzipped tar as `opa build -b` writes it.
// Where the build put the tree does not matter: the folder that holds
// runlens/decision.rego is its root. Data has been gathered into one data.json
// at the top by then.
//
// The archive is unpacked once. With a key nothing of it is looked at before
// the signature holds for every file; what holds is what is loaded.
func readBundle(raw []byte, key *VerificationKey, name string, p *problems) (t tree, signed bool) {
	found := len(p.list)
	entries := unpack(raw, name, p)
	if len(p.list) > found {
		return tree{}, false
	}
	signed = slices.ContainsFunc(entries, func(f file) bool { return f.rel == signaturesFile })
	if key != nil {
		if verify(entries, key, name, p); len(p.list) > found {
			return tree{}, signed
		}
	}
	prefix := rootOf(entries)
	for _, f := range entries {
		inBundle := path.Join(name, f.rel)
		switch {
		case f.rel == manifestFile:
			checkManifest(f.raw, inBundle, p)
			continue
		case f.rel == signaturesFile:
			continue
		case isData(f.rel):
		case strings.HasSuffix(f.rel, ".rego") && strings.HasPrefix(f.rel, prefix):
			f.rel = strings.TrimPrefix(f.rel, prefix)
			if _, why := admitted(f.rel); why != "" {
				p.add(inBundle, 0, "", "%s", why)
				continue
			}
		default:
			p.add(inBundle, 0, strayFix(f.rel), "does not belong in a policy bundle")
			continue
		}
		f.shown = path.Join(name, f.rel)
		t.add(f, p)
	}
	if len(p.list) > found { // what is in it may not be what was meant
		return tree{}, signed
	}
	return t, signed
}

// rootOf is the folder, with a slash behind it, that holds runlens/.
func rootOf(entries []file) (prefix string) {
	found := false
	for _, f := range entries {
		at, ok := strings.CutSuffix(f.rel, decisionFile)
		if ok && (at == "" || strings.HasSuffix(at, "/")) && (!found || len(at) < len(prefix)) {
			prefix, found = at, true
		}
	}
	return prefix
}

func isData(rel string) bool {
	return rel == "data.json" || path.Base(rel) == "data.json" && strings.HasPrefix(rel, folder+"/")
}

// otherTarget says what to do about what was compiled from policies.
func otherTarget(rel string) string {
	if base := path.Base(rel); base == "policy.wasm" || base == "plan.json" {
		return "build without --target: rules are judged as they are written"
	}
	return ""
}

// strayFix says what to do about a file that no policy bundle has.
func strayFix(rel string) string {
	if fix := otherTarget(rel); fix != "" {
		return fix
	}
	switch base := path.Base(rel); {
	case base == "patch.json":
		return "a delta bundle is no policy tree, build a whole one"
	case strings.HasPrefix(rel, "optimized/"):
		return "build without --optimize: rules are judged as they are written"
	case base == "data.json":
		return "data counts from the top of a bundle: pack the folder that holds runlens/, not one above it"
	case base == signaturesFile:
		return "the signature stands at the top of a bundle"
	case strings.HasPrefix(base, "._"):
		return "macOS packs such files, COPYFILE_DISABLE=1 keeps them out"
	}
	return "a bundle holds policies, data.json and .manifest, and nothing beside them"
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
	if m.Roots != nil && slices.Contains(*m.Roots, "partial") {
		p.add(shown, 0, "build without --optimize: rules are judged as they are written", "the policies were rewritten by an optimizer")
	}
	if len(m.WASM) > 0 && string(m.WASM) != "null" && string(m.WASM) != "[]" {
		p.add(shown, 0, "build without --target: rules are judged as they are written", "WebAssembly modules are not supported")
	}
}
