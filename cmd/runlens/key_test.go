package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A bundle that stock opa signed is taken with the key it was signed with, and
// with no other; an unsigned one is not taken when a key is asked for.
func TestSignedBundle(t *testing.T) {
	dir := t.TempDir()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, ecPub := writeKeys(t, dir, "ec", ec, &ec.PublicKey)
	rsKey, rsPub := writeKeys(t, dir, "rsa", rs, &rs.PublicKey)
	plain := buildBundle(t, dir, "plain")
	ecBundle := buildBundle(t, dir, "es256", "--signing-alg", "ES256", "--signing-key", ecKey)
	rsBundle := buildBundle(t, dir, "rs256", "--signing-key", rsKey)

	t.Chdir(dir)
	write := filepath.Join(dir, "call.json")
	if err := os.WriteFile(write, []byte(`{"name": "list_run_files", "arguments": {}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bundle, key string
		code        int
		says        string
	}{
		{plain, "", exitAllowed, ""},
		{plain, rsPub, exitBroken, "signature does not verify"},
		{ecBundle, ecPub, exitAllowed, ""},
		{ecBundle, rsPub, exitBroken, "signature does not verify"},
		{rsBundle, rsPub, exitAllowed, ""},
		{rsBundle, ecPub, exitBroken, "signature does not verify"},
		{rsBundle, rsKey, exitBroken, "not a public key"},
		{rsBundle, write, exitBroken, "not PEM"},
	} {
		words := []string{"check", "--policies", c.bundle, write}
		if c.key != "" {
			words = append(words, "--verification-key", c.key)
		}
		_, stderr, code := command(t, words...)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("%s with key %s: exit code %d, want %d and %q: %s",
				filepath.Base(c.bundle), filepath.Base(c.key), code, c.code, c.says, stderr)
		}
	}
}

func buildBundle(t *testing.T, dir, name string, flags ...string) string {
	t.Helper()
	out := filepath.Join(dir, name+".tar.gz")
	build := exec.Command("go", append([]string{"tool", "opa", "build", "-b", "policies", "-o", out}, flags...)...)
	build.Dir = "../.."
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("opa build: %v\n%s", err, text)
	}
	return out
}

func writeKeys(t *testing.T, dir, name string, private, public crypto.PublicKey) (privateFile, publicFile string) {
	t.Helper()
	write := func(name, kind string, der []byte, err error) string {
		if err == nil {
			err = os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	privateFile = write(filepath.Join(dir, name+".pem"), "PRIVATE KEY", der, err)
	der, err = x509.MarshalPKIXPublicKey(public)
	return privateFile, write(filepath.Join(dir, name+".pub"), "PUBLIC KEY", der, err)
}
