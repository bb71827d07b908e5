package main

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/runlens/runlens/policies"
)

// stockOPA is the file of the pinned opa, which runs in any directory.
func stockOPA(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "tool", "-n", "opa").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func runOPA(t *testing.T, opa, dir string, words ...string) string {
	t.Helper()
	c := exec.Command(opa, words...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("opa %s: %v\n%s", strings.Join(words, " "), err, out)
	}
	return string(out)
}

// revisionOf is the revision that `policy build` prints for a tree; "" when it
// does not load, with what was said.
func revisionOf(t *testing.T, words ...string) (revision, stderr string) {
	t.Helper()
	_, stderr, code := command(t, append(words, "policy", "build", "-o", "-")...)
	for line := range strings.Lines(stderr) {
		if after, ok := strings.CutPrefix(line, "policy "); ok && code == exitAllowed {
			return strings.TrimSpace(after), stderr
		}
	}
	if code != exitBroken {
		t.Errorf("%v: exit code %d without a revision", words, code)
	}
	return "", stderr
}

// TestStockBundles holds that what a stock opa builds and signs is the same
// policy here, and that what it rewrote or compiled is refused with a way out.
func TestStockBundles(t *testing.T) {
	opa, dir := stockOPA(t), t.TempDir()
	tree := filepath.Join(dir, "policies")
	if err := os.CopyFS(tree, policies.FS); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	want, _ := revisionOf(t)
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsKey, rsPub := writeKeys(t, dir, "rsa", rs, &rs.PublicKey)
	ecKey, ecPub := writeKeys(t, dir, "ec", ec, &ec.PublicKey)
	edKey, edPub := writeKeys(t, dir, "ed", ed, ed.Public())
	for _, c := range []struct {
		name, key string
		build     []string
		says      string // what is refused says so
	}{
		{"bundle", "", []string{"-b", "policies"}, ""},
		{"no bundle mode", "", []string{"policies"}, ""},
		{"from below", "", []string{"-b", "../" + filepath.Base(dir) + "/policies"}, ""},
		{"without tests", "", []string{"-b", "policies", "--ignore", "*_test.rego"}, ""},
		{"RS256", rsPub, []string{"-b", "policies", "--signing-key", rsKey}, ""},
		{"RS512", rsPub, []string{"-b", "policies", "--signing-key", rsKey, "--signing-alg", "RS512"}, ""},
		{"PS256", rsPub, []string{"-b", "policies", "--signing-key", rsKey, "--signing-alg", "PS256"}, ""},
		{"ES384", ecPub, []string{"-b", "policies", "--signing-key", ecKey, "--signing-alg", "ES384"}, ""},
		{"EdDSA", edPub, []string{"-b", "policies", "--signing-key", edKey, "--signing-alg", "EdDSA"}, ""},
		{"key id", edPub, []string{"-b", "policies", "--signing-key", edKey, "--signing-alg", "EdDSA", "--verification-key-id", "2027"}, ""},
		{"secret", edPub, []string{"-b", "policies", "--signing-key", "secret", "--signing-alg", "HS256"}, `signed with "HS256", which is not for this key (sign it with one of: EdDSA)`},
		{"secret that is the public key", edPub, []string{"-b", "policies", "--signing-key", edPub, "--signing-alg", "HS256"}, `signed with "HS256", which is not for this key`},
		{"optimized", "", []string{"-b", "policies", "-O", "1", "-e", "runlens/decision"}, "rewritten by an optimizer (build without --optimize"},
		{"plan", "", []string{"-b", "policies", "-t", "plan", "-e", "runlens/decision"}, "plan.json: cannot be read: too large (build without --target"},
		{"WebAssembly", "", []string{"-b", "policies", "-t", "wasm", "-e", "runlens/decision"}, "policy.wasm: does not belong in a policy bundle (build without --target"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "bundle.tar.gz")
			runOPA(t, opa, dir, append([]string{"build", "-o", out}, c.build...)...)
			words := []string{"--policies", out}
			if c.key != "" {
				words = append(words, "--verification-key", c.key)
			}
			got, stderr := revisionOf(t, words...)
			switch {
			case c.says == "" && got != want:
				t.Errorf("revision %q, want %q: %s", got, want, stderr)
			case c.says != "" && (got != "" || !strings.Contains(stderr, c.says)):
				t.Errorf("loads as %q, or does not say %s: %s", got, c.says, stderr)
			}
		})
	}
	t.Run("opa sign", func(t *testing.T) {
		runOPA(t, opa, tree, "sign", "-b", ".", "--signing-key", edKey, "--signing-alg", "EdDSA")
		pack := exec.Command("tar", "-C", tree, "-czf", filepath.Join(dir, "packed.tar.gz"), ".")
		if out, err := pack.CombinedOutput(); err != nil {
			t.Fatalf("tar: %v\n%s", err, out)
		}
		if got, stderr := revisionOf(t, "--policies", "packed.tar.gz", "--verification-key", edPub); got != want {
			t.Errorf("revision %q, want %q: %s", got, want, stderr)
		}
	})
}

// TestStockReaders holds that a stock opa reads what we build, and verifies what
// we sign.
func TestStockReaders(t *testing.T) {
	opa, dir := stockOPA(t), t.TempDir()
	t.Chdir(dir)
	ec, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, ecPub := writeKeys(t, dir, "ec", ec, &ec.PublicKey)
	rsKey, rsPub := writeKeys(t, dir, "rsa", rs, &rs.PublicKey)
	edKey, edPub := writeKeys(t, dir, "ed", ed, ed.Public())
	if _, stderr, code := command(t, "policy", "build", "--signing-key-id", "2027", "--signing-key", edKey); code != exitAllowed {
		t.Fatal(stderr)
	}
	want, _ := revisionOf(t)
	if out := runOPA(t, opa, dir, "inspect", "-f", "json", builtName); !strings.Contains(out, want) {
		t.Errorf("opa inspect shows no revision %s:\n%s", want, out)
	}
	if out := runOPA(t, opa, dir, "eval", "-b", builtName, "-f", "raw", "data.runlens.codes.outside_roots.gate"); strings.TrimSpace(out) == "" {
		t.Error("opa eval sees no data")
	}
	runOPA(t, opa, dir, "test", "-b", builtName)
	// opa build reads a signed bundle with its key, and with no other.
	for _, c := range []struct{ algorithm, key, pub string }{{"EdDSA", edKey, edPub}, {"ES512", ecKey, ecPub}, {"RS256", rsKey, rsPub}} {
		name := c.algorithm + ".tar.gz"
		if _, stderr, code := command(t, "policy", "build", "-o", name, "--signing-key", c.key); code != exitAllowed {
			t.Fatal(stderr)
		}
		for _, other := range []struct{ algorithm, pub string }{{"EdDSA", edPub}, {"ES512", ecPub}, {"RS256", rsPub}} {
			build := exec.Command(opa, "build", "-b", name, "-o", "out.tar.gz", "--verification-key", other.pub, "--signing-alg", other.algorithm)
			if out, err := build.CombinedOutput(); (err == nil) != (other.algorithm == c.algorithm) {
				t.Errorf("opa build of %s with the key for %s: %v\n%s", name, other.algorithm, err, out)
			}
		}
	}
}

// TestBundlesPage does what docs/bundles.md says, step by step. Keys are made
// here instead of by openssl.
func TestBundlesPage(t *testing.T) {
	page, opa := readPage(t, "../../docs/bundles.md"), stockOPA(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if err := os.WriteFile("call.json", []byte(`{"name": "list_run_files", "arguments": {}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if len(page.commands) < 10 {
		t.Fatalf("the page runs %d commands", len(page.commands))
	}
	digest, line := regexp.MustCompile(`sha256:[0-9a-f]{64}`), regexp.MustCompile(`(decision\.rego:)[0-9]+`)
	for _, c := range page.commands {
		words := strings.Fields(c.line)
		got := ""
		switch words[0] {
		case "openssl":
			if words[1] == "genpkey" {
				public, private, err := ed25519.GenerateKey(rand.Reader)
				if err != nil {
					t.Fatal(err)
				}
				writeKeys(t, dir, strings.TrimSuffix(words[len(words)-1], ".pem"), private, public)
			}
		case "opa":
			got = runOPA(t, opa, dir, words[1:]...)
		case "runlens":
			stdout, stderr, code := command(t, words[1:]...)
			if got = stdout; code == exitBroken {
				got = stderr
			}
			got = strings.ReplaceAll(digest.ReplaceAllString(line.ReplaceAllString(got, "${1}LINE"), "sha256:…"), dir+"/", "")
		default:
			t.Errorf("the page runs %q, which this test can't", c.line)
		}
		if got != c.output {
			t.Errorf("%s prints\n%s\nthe page says\n%s", c.line, got, c.output)
		}
	}
}
