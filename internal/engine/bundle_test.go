package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/compile"
)

// built is the bundle that `opa build -b dir` writes, made in process.
func built(t testing.TB, dir string, signing *bundle.SigningConfig) []byte {
	t.Helper()
	var buf bytes.Buffer
	c := compile.New().WithAsBundle(true).WithRegoVersion(ast.RegoV1).WithOutput(&buf).WithPaths(dir)
	if signing != nil {
		c = c.WithBundleSigningConfig(signing)
	}
	if err := c.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// layOut writes a tree into a new directory.
func layOut(t testing.TB, fsys fs.FS) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "policies")
	if err := os.CopyFS(dir, fsys); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSameTreeSameRevision holds that a directory, a copy of it, a bundle that
// OPA builds in process and one that a stock opa builds are the same policy:
// same revision, same verdicts, same places of rules.
func TestSameTreeSameRevision(t *testing.T) {
	dir := "../../policies"
	want := shipped(t)
	sources := map[string]Source{
		"copy":   {FS: os.DirFS(layOut(t, os.DirFS(dir)))},
		"bundle": {Bundle: built(t, dir, nil)},
	}
	if opa, err := exec.LookPath("opa"); err != nil {
		t.Log("no opa on PATH: the bundle of a stock opa is not compared")
	} else {
		file := filepath.Join(t.TempDir(), "bundle.tar.gz")
		if out, err := exec.Command(opa, "build", "-b", dir, "-o", file).CombinedOutput(); err != nil {
			t.Fatalf("opa build: %v\n%s", err, out)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources["stock bundle"] = Source{Bundle: raw}
	}
	for name, src := range sources {
		t.Run(name, func(t *testing.T) {
			src.Schemas = os.DirFS("../../schemas")
			e, err := Load(src)
			if err != nil {
				t.Fatal(err)
			}
			if e.Revision() != want.Revision() {
				t.Errorf("revision %s, want %s", e.Revision(), want.Revision())
			}
			if !reflect.DeepEqual(e.Rules(), want.Rules()) {
				t.Errorf("rules differ: %v, want %v", e.Rules(), want.Rules())
			}
			for i, in := range corpus()[:60] {
				if a, b := e.Decide(t.Context(), in), want.Decide(t.Context(), in); !reflect.DeepEqual(a, b) {
					t.Errorf("input %d: %+v, want %+v", i, a, b)
				}
			}
		})
	}
}

func TestRevisionFollowsWhatJudges(t *testing.T) {
	base := loadWith(t, nil).Revision()
	test := "runlens/rules/names/names_test.rego"
	if loadWith(t, map[string]string{test: small()[test] + "\ntest_more if true\n"}).Revision() != base {
		t.Error("a test file changes the revision")
	}
	same := strings.Replace(small()["runlens/codes/data.json"], "\n", " ", -1)
	if loadWith(t, map[string]string{"runlens/codes/data.json": same}).Revision() != base {
		t.Error("spaces in data change the revision")
	}
	if loadWith(t, edit(t, "runlens/data.json", "5000000", "4999999")).Revision() == base {
		t.Error("a changed limit keeps the revision")
	}
	if loadWith(t, edit(t, "runlens/rules/names/names.rego", `"delete"`, `"write"`)).Revision() == base {
		t.Error("a changed rule keeps the revision")
	}
}

func TestSignedBundle(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	pemOf := func(kind string, der []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	privatePEM := pemOf("PRIVATE KEY", der, err)
	verifier := func(public any) *VerificationKey {
		der, err := x509.MarshalPKIXPublicKey(public)
		key, err := ParseVerificationKey([]byte(pemOf("PUBLIC KEY", der, err)))
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	key := verifier(public)

	dir := layOut(t, with(nil))
	signed := built(t, dir, bundle.NewSigningConfig(privatePEM, "EdDSA", ""))
	load := func(raw []byte, key *VerificationKey) error {
		_, err := Load(Source{Bundle: raw, Key: key, Schemas: testSchemas(t)})
		return err
	}
	if err := load(signed, key); err != nil {
		t.Error(err)
	}
	if err := load(signed, nil); err != nil {
		t.Errorf("without a key a signature is not looked at: %v", err)
	}
	matchProblems(t, load(built(t, dir, nil), key), []string{"load policies: signature does not verify:"})
	other, _, _ := ed25519.GenerateKey(nil)
	matchProblems(t, load(signed, verifier(other)), []string{"load policies/.signatures.json: signature does not verify:"})
}

func TestRefusesBundles(t *testing.T) {
	good := func() map[string]string {
		m := map[string]string{"/.manifest": `{"revision":"","roots":["runlens"],"rego_version":1}`}
		for name, text := range small() {
			if strings.HasSuffix(name, ".rego") {
				m["/home/x/policies/"+name] = text
			}
		}
		return m
	}
	data := `{"runlens":` + strings.TrimSuffix(small()["runlens/data.json"], "}") + `,"codes":` + small()["runlens/codes/data.json"] + `}}`
	tests := []struct {
		name   string
		change func(m map[string]string)
		want   []string
	}{
		{"good", func(map[string]string) {}, nil},
		{"WebAssembly", func(m map[string]string) { m["/policy.wasm"] = "x" }, []string{"load policies/policy.wasm: does not belong in a policy bundle"}},
		{"plan", func(m map[string]string) { m["/plan.json"] = "{}" }, []string{"load policies/plan.json: does not belong"}},
		{"patch", func(m map[string]string) { m["/patch.json"] = "{}" }, []string{"load policies/patch.json: does not belong"}},
		{"other signatures", func(m map[string]string) { m["/x.signatures.json"] = "{}" }, []string{"load policies/x.signatures.json: does not belong"}},
		{"policy beside the tree", func(m map[string]string) { m["/home/x/other/runlens/rules/y/y.rego"] = goodRule }, []string{"load policies/home/x/other/runlens/rules/y/y.rego: does not belong"}},
		{"version 0", func(m map[string]string) { m["/.manifest"] = `{"roots":["runlens"],"rego_version":0}` }, []string{"load policies/.manifest: policies must be Rego v1"}},
		{"version of a file", func(m map[string]string) { m["/.manifest"] = `{"rego_version":1,"file_rego_versions":{"/x.rego":0}}` }, []string{"load policies/.manifest: policies must be Rego v1"}},
		{"data of another root", func(m map[string]string) { m["/data.json"] = strings.TrimSuffix(data, "}") + `,"acme":1}` }, []string{`load policies/data.json:20: top-level data "acme" is outside runlens`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := good()
			m["/data.json"] = data
			test.change(m)
			_, err := Load(Source{Bundle: tarball(t, m), Schemas: testSchemas(t)})
			if len(test.want) == 0 {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			matchProblems(t, err, test.want)
		})
	}
	whole := good()
	whole["/data.json"] = data
	twice := append(tarball(t, whole), tarball(t, whole)...)
	for _, raw := range [][]byte{nil, []byte("x"), tarball(t, nil)[:20], twice, append(tarball(t, whole), 'x')} {
		if _, err := Load(Source{Bundle: append([]byte{}, raw...), Schemas: testSchemas(t)}); err == nil {
			t.Errorf("%.40q loads", raw)
		}
	}
}

func tarball(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
