package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// entry is one entry of an archive, as an attacker writes it.
type entry struct {
	tar.Header
	text string
}

// entriesOf unpacks without any check.
func entriesOf(t testing.TB, raw []byte) (list []entry) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, entry{Header: *h, text: string(text)})
	}
}

func plainEntry(name, text string) entry {
	return entry{Header: tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, text: text}
}

func tarOf(t testing.TB, list []entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range list {
		h := e.Header
		h.Size = int64(len(e.text))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func zipped(t testing.TB, raw []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// signers are one key of each kind.
func signers(t testing.TB) map[string]*SigningKey {
	t.Helper()
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]any{"RS256": rs}
	for name, curve := range map[string]elliptic.Curve{"ES256": elliptic.P256(), "ES384": elliptic.P384(), "ES512": elliptic.P521()} {
		if keys[name], err = ecdsa.GenerateKey(curve, rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	if _, keys["EdDSA"], err = ed25519.GenerateKey(rand.Reader); err != nil {
		t.Fatal(err)
	}
	list := map[string]*SigningKey{}
	for name, key := range keys {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if list[name], err = ParseSigningKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), "release"); err != nil {
			t.Fatal(err)
		}
		if list[name].Algorithm() != name {
			t.Errorf("a key for %s signs with %s", name, list[name].Algorithm())
		}
	}
	return list
}

func verifierOf(t testing.TB, k *SigningKey) *VerificationKey {
	t.Helper()
	key, err := verificationKey(k.signer.Public())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func builtSmall(t testing.TB, key *SigningKey) *Bundle {
	t.Helper()
	b, err := Build(Source{FS: with(nil), Schemas: testSchemas(t)}, key)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSignedBuilds holds that each kind of key signs, and that only it verifies.
func TestSignedBuilds(t *testing.T) {
	keys := signers(t)
	want := loadWith(t, nil).Revision()
	for name, key := range keys {
		t.Run(name, func(t *testing.T) {
			first, second := builtSmall(t, key), builtSmall(t, key)
			if same := bytes.Equal(first.Bytes, second.Bytes); same != key.Repeats() {
				t.Errorf("built twice: the same bytes: %t, want %t", same, key.Repeats())
			}
			if first.Revision != want {
				t.Errorf("revision %s, want %s", first.Revision, want)
			}
			for other, k := range keys {
				e, err := Load(Source{Bundle: first.Bytes, Key: verifierOf(t, k), Schemas: testSchemas(t)})
				if (err == nil) != (other == name) {
					t.Errorf("with the key for %s: %v", other, err)
				}
				if err == nil && (e.Revision() != want || e.Unchecked()) {
					t.Errorf("revision %s, unchecked %t", e.Revision(), e.Unchecked())
				}
			}
			e, err := Load(Source{Bundle: first.Bytes, Schemas: testSchemas(t)})
			if err != nil || !e.Unchecked() {
				t.Errorf("without a key: %v", err)
			}
		})
	}
}

// token is a web token over payload with a header of its own; sign makes the
// last part.
func token(header string, payload []byte, sign func(text []byte) []byte) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(payload)
	return text + "." + base64.RawURLEncoding.EncodeToString(sign([]byte(text)))
}

// TestAttackedBundles changes a signed bundle in each way that we know of. Every
// one is refused with the place named, and with something to do about it.
func TestAttackedBundles(t *testing.T) {
	key := signers(t)["RS256"]
	verifier := verifierOf(t, key)
	good := entriesOf(t, builtSmall(t, key).Bytes)
	text := map[string]string{}
	for _, e := range good {
		text[e.Name] = e.text
	}
	var sc struct{ Signatures []string }
	if err := json.Unmarshal([]byte(text[signaturesFile]), &sc); err != nil {
		t.Fatal(err)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(sc.Signatures[0], ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	edit := func(name string, change func(e *entry)) func([]entry) []entry {
		return func(list []entry) []entry {
			change(&list[slices.IndexFunc(list, func(e entry) bool { return e.Name == name })])
			return list
		}
	}
	add := func(e entry) func([]entry) []entry {
		return func(list []entry) []entry { return append(list, e) }
	}
	flip := func(e *entry) { e.text = strings.Replace(e.text, "runlens", "runlenr", 1) }
	signature := func(tokens ...string) func([]entry) []entry {
		raw, err := json.Marshal(map[string]any{"signatures": tokens})
		if err != nil {
			t.Fatal(err)
		}
		return edit(signaturesFile, func(e *entry) { e.text = string(raw) })
	}
	ours := func(text []byte) []byte {
		s, err := key.signature(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	with := func(name string, value any) []byte {
		var m map[string]any
		if err := json.Unmarshal(payload, &m); err != nil {
			t.Fatal(err)
		}
		m[name] = value
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	const policy, refused = "runlens/rules/names/names.rego", "signature does not verify: "
	const plainRS = `{"alg":"RS256"}`
	weak := strings.ReplaceAll(string(payload), "SHA-256", "SHA-1")
	for _, test := range []struct {
		name   string
		change func([]entry) []entry
		want   string
	}{
		{"policy", edit(policy, flip), "load policies/" + policy + ": " + refused + "the file is not what was signed"},
		{"data", edit("data.json", flip), "load policies/data.json: " + refused + "the file is not what was signed"},
		{"manifest", edit(manifestFile, flip), "load policies/.manifest: " + refused + "the file is not what was signed"},
		{"YAML for data", edit("data.json", func(e *entry) { e.text = "a: &a [x]\nb: *a\n" }), "load policies/data.json: " + refused + "not JSON"},
		{"added policy", add(plainEntry("runlens/rules/names/more.rego", goodRule)), "load policies/runlens/rules/names/more.rego: " + refused + "the file is not signed"},
		{"added test", add(plainEntry("runlens/rules/names/x_test.rego", "package x\n")), "load policies/runlens/rules/names/x_test.rego: " + refused + "the file is not signed"},
		{"added dotfile", add(plainEntry(".hidden", "x")), "load policies/.hidden: " + refused + "the file is not signed"},
		{"added page", add(plainEntry("README.md", "x")), "load policies/README.md: " + refused + "the file is not signed"},
		{"added WebAssembly", add(plainEntry("policy.wasm", "x")), "load policies/policy.wasm: " + refused + "the file is not signed"},
		{"second signature file", add(plainEntry("runlens/.signatures.json", text[signaturesFile])), "load policies/runlens/.signatures.json: " + refused + "the file is not signed"},
		{"removed", func(list []entry) []entry {
			return slices.DeleteFunc(list, func(e entry) bool { return e.Name == policy })
		}, "load policies: " + refused + `the signed file "` + policy + `" is not there`},
		{"renamed", edit(policy, func(e *entry) { e.Name = "runlens/rules/names/other.rego" }), "load policies/runlens/rules/names/other.rego: " + refused + "the file is not signed"},
		{"climbs", add(plainEntry("../data.json", "{}")), `load policies: "../data.json" is a name that could lead elsewhere`},
		{"climbs on the way", add(plainEntry("runlens/../data.json", "{}")), `load policies: "runlens/../data.json" is a name that could lead elsewhere`},
		{"backslash", add(plainEntry(`runlens\x.rego`, "x")), `load policies: "runlens\\x.rego" is a name that could lead elsewhere`},
		{"empty step", add(plainEntry("runlens//x.rego", "x")), `load policies: "runlens//x.rego" is a name that could lead elsewhere`},
		{"twice", add(plainEntry(policy, text[policy])), "load policies/" + policy + ": is there twice"},
		{"twice by ./", add(plainEntry("./"+policy, text[policy])), "load policies/" + policy + ": is there twice"},
		{"twice by /", add(plainEntry("/"+policy, text[policy])), "load policies/" + policy + ": is there twice"},
		{"twice by ../", add(plainEntry("../"+policy, text[policy])), "load policies/" + policy + ": is there twice"},
		{"twice by case", add(plainEntry("Runlens/rules/names/names.rego", text[policy])), "load policies/Runlens/rules/names/names.rego: differs from"},
		{"signature twice", add(plainEntry("/"+signaturesFile, text[signaturesFile])), "load policies/.signatures.json: is there twice"},
		{"symbolic link", add(entry{Header: tar.Header{Name: "runlens/x.rego", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}}), "load policies/runlens/x.rego: is not a plain file"},
		{"hard link", add(entry{Header: tar.Header{Name: "runlens/x.rego", Typeflag: tar.TypeLink, Linkname: policy}}), "load policies/runlens/x.rego: is not a plain file"},
		{"FIFO", add(entry{Header: tar.Header{Name: "runlens/x.rego", Typeflag: tar.TypeFifo}}), "load policies/runlens/x.rego: is not a plain file"},
		{"header for all", func(list []entry) []entry {
			global := entry{Header: tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"path": policy}}}
			return append([]entry{global}, list...)
		}, "is not a plain file"},
		{"unsigned", func(list []entry) []entry {
			return slices.DeleteFunc(list, func(e entry) bool { return e.Name == signaturesFile })
		}, "load policies: " + refused + "the bundle is not signed"},
		{"signed with nothing", signature(token(`{"alg":"none"}`, payload, func([]byte) []byte { return nil })), refused + `signed with "none", which is not for this key`},
		{"signed with the public key as a secret", signature(token(`{"alg":"HS256"}`, payload, func(text []byte) []byte {
			mac := hmac.New(sha256.New, []byte(verifier.pem))
			mac.Write(text)
			return mac.Sum(nil)
		})), refused + `signed with "HS256", which is not for this key`},
		{"secret that passes for RS256", signature(token(plainRS, payload, func(text []byte) []byte {
			mac := hmac.New(sha256.New, []byte(verifier.pem))
			mac.Write(text)
			return mac.Sum(nil)
		})), "load policies/.signatures.json: " + refused},
		{"other algorithm of the key", signature(token(`{"alg":"RS512"}`, payload, ours)), "load policies/.signatures.json: " + refused},
		{"no signature", signature(), refused + "0 signatures, one is needed"},
		{"two signatures", signature(sc.Signatures[0], sc.Signatures[0]), refused + "2 signatures, one is needed"},
		{"no token", signature("x"), refused + "the signature is no JSON web token"},
		{"payload of another", signature(token(plainRS, with("files", nil), func([]byte) []byte { return ours([]byte("x")) })), "load policies/.signatures.json: " + refused},
		{"lists nothing", signature(token(plainRS, with("files", nil), ours)), "load policies/.manifest: " + refused + "the file is not signed"},
		{"scope", signature(token(plainRS, with("scope", "write"), ours)), refused + "signed for a scope"},
		{"weak digest", signature(token(plainRS, []byte(weak), ours)), refused + `its digest is "SHA-1", which is no safe one`},
		{"plugin", edit(signaturesFile, func(e *entry) { e.text = `{"signatures":["x"],"plugin":"mine"}` }), refused + `signed by the plugin "mine"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			raw := zipped(t, tarOf(t, test.change(slices.Clone(good))))
			_, err := Load(Source{Bundle: raw, Key: verifier, Schemas: testSchemas(t)})
			refusedWith(t, err, test.want)
		})
	}
	// What signs the same thing again, in another spelling, is no attack.
	for name, change := range map[string]func([]entry) []entry{
		"unchanged":        func(list []entry) []entry { return list },
		"spaces in data":   edit("data.json", func(e *entry) { e.text = strings.ReplaceAll(e.text, ",", ", ") }),
		"other order":      func(list []entry) []entry { slices.Reverse(list); return list },
		"names with ./":    func(list []entry) []entry { return prefixed(list, "./") },
		"names with /":     func(list []entry) []entry { return prefixed(list, "/") },
		"another key's id": signature(token(`{"alg":"RS256","kid":"other"}`, payload, ours)),
		"folders":          add(entry{Header: tar.Header{Name: "./runlens/", Typeflag: tar.TypeDir}}),
	} {
		e, err := Load(Source{Bundle: zipped(t, tarOf(t, change(slices.Clone(good)))), Key: verifier, Schemas: testSchemas(t)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := loadWith(t, nil)
		if e.Revision() != want.Revision() || !reflect.DeepEqual(emitted(e), emitted(want)) || !reflect.DeepEqual(e.Rules(), want.Rules()) {
			t.Errorf("%s: another policy", name)
		}
	}
}

// emitted are the codes of a tree and the rules that emit them, without the
// lines of the data that declares them: a bundle has it in one file.
func emitted(e *Engine) []Code {
	list := e.Codes()
	for i := range list {
		list[i].File, list[i].Line = "", 0
	}
	return list
}

func prefixed(list []entry, prefix string) []entry {
	for i := range list {
		list[i].Name = prefix + list[i].Name
	}
	return list
}

// refusedWith holds an error to a line that begins or goes on as said, and every
// line of it to a fix.
func refusedWith(t *testing.T, err error, want string) {
	t.Helper()
	failed, ok := errors.AsType[*LoadError](err)
	if !ok {
		t.Fatalf("loads, or breaks: %v", err)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("says\n%v\nwant %s", err, want)
	}
	for _, p := range failed.Problems {
		if p.Fix == "" {
			t.Errorf("no fix: %v", p)
		}
	}
}
