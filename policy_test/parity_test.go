package policy_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/golden"
	"github.com/runlens/runlens/policies"
	"github.com/runlens/runlens/schemas"
)

// TestParity holds that a tree is the same policy in every form it can have: it
// has the same revision and the same rules at the same places, and judges every
// golden case alike. Once for the shipped tree, once for one with a family of a
// site merged into it. TestGolden holds the embedded copy to what is wanted, and
// the directory; what is built from a bundle, or only signed, is not judged again.
func TestParity(t *testing.T) {
	signing, verification := keyPair(t)
	dir := filepath.Join(t.TempDir(), "policies")
	if err := os.CopyFS(dir, policies.FS); err != nil {
		t.Fatal(err)
	}
	signed := engine.Source{Bundle: build(t, engine.Source{FS: os.DirFS(dir), Schemas: schemas.FS}, signing), Key: verification, Schemas: schemas.FS}
	site := overlay(map[string]string{siteRule: denyIf("path", `input.call.tool in {"read_file", "write_file"}`)})
	for name, forms := range map[string][]form{
		"shipped": {
			{"embedded copy", engine.Source{FS: policies.FS, Schemas: schemas.FS}, true},
			{"directory", engine.Source{FS: os.DirFS("../policies"), Schemas: schemas.FS}, false},
			{"bundle", engine.Source{Bundle: build(t, engine.Source{FS: policies.FS, Schemas: schemas.FS}, ""), Schemas: schemas.FS}, true},
			{"signed bundle", signed, true},
			{"bundle of a bundle", engine.Source{Bundle: build(t, signed, ""), Schemas: schemas.FS}, false},
			{"stock bundle", engine.Source{Bundle: stock(t), Schemas: schemas.FS}, true},
			{"signed stock bundle", engine.Source{Bundle: stock(t, signing), Key: verification, Schemas: schemas.FS}, false},
		},
		"site": {
			{"overlay", site, true},
			{"bundle", engine.Source{Bundle: build(t, site, ""), Schemas: schemas.FS}, true},
			{"signed bundle", engine.Source{Bundle: build(t, site, signing), Key: verification, Schemas: schemas.FS}, false},
		},
	} {
		t.Run(name, func(t *testing.T) { alike(t, forms) })
	}
}

// form is a tree in one of its forms.
type form struct {
	name   string
	src    engine.Source
	judged bool
}

// alike holds all forms to the first.
func alike(t *testing.T, forms []form) {
	engines := make([]*engine.Engine, len(forms))
	for i, f := range forms {
		engines[i] = load(t, f.src)
		if got, want := engines[i].Revision(), engines[0].Revision(); got != want {
			t.Errorf("the %s has revision %s, the %s %s", f.name, got, forms[0].name, want)
		}
		if !reflect.DeepEqual(engines[i].Rules(), engines[0].Rules()) || !reflect.DeepEqual(emitted(engines[i]), emitted(engines[0])) {
			t.Errorf("the %s has other rules or codes than the %s", f.name, forms[0].name)
		}
	}
	files, err := golden.Find(".")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, ".txtar"), func(t *testing.T) {
			c, err := golden.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			if why := c.Skip(); why != "" {
				t.Skip(why)
			}
			var first []golden.Judged
			for i, e := range engines {
				if !forms[i].judged {
					continue
				}
				list, err := c.Judge(t.Context(), env(t, e))
				if err != nil || len(list) == 0 {
					t.Fatalf("the %s judges nothing: %v", forms[i].name, err)
				}
				if i == 0 {
					first = list
				}
				for row, j := range list {
					if j.Got != first[row].Got {
						t.Errorf("%s:%d: %s\n from the %s %s\n from the %s %s", c.File, j.Line, j.Name, forms[i].name, indent(j.Got), forms[0].name, indent(first[row].Got))
					}
				}
			}
		})
	}
}

// emitted are the codes of a tree and the rules that emit them, without the
// lines of the data that declares them: a bundle has it in one file.
func emitted(e *engine.Engine) []engine.Code {
	list := e.Codes()
	for i := range list {
		list[i].File, list[i].Line = "", 0
	}
	return list
}

func build(t *testing.T, src engine.Source, keyFile string) []byte {
	t.Helper()
	var key *engine.SigningKey
	if keyFile != "" {
		text, err := os.ReadFile(keyFile)
		if err == nil {
			key, err = engine.ParseSigningKey(text, "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b, err := engine.Build(src, key)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes
}

// stock is the shipped tree as `opa build` packs and signs it.
func stock(t *testing.T, keyFile ...string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "bundle.tar.gz")
	words := []string{"tool", "opa", "build", "-b", "policies", "-o", out}
	for _, key := range keyFile {
		words = append(words, "--signing-alg", "EdDSA", "--signing-key", key)
	}
	opa := exec.Command("go", words...)
	opa.Dir = ".."
	if text, err := opa.CombinedOutput(); err != nil {
		t.Fatalf("opa build: %v\n%s", err, text)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// keyPair makes a key: the file of its private half, and the public one.
func keyPair(t *testing.T) (file string, key *engine.VerificationKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	if der, err = x509.MarshalPKIXPublicKey(public); err != nil {
		t.Fatal(err)
	}
	if key, err = engine.ParseVerificationKey(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})); err != nil {
		t.Fatal(err)
	}
	return file, key
}
