package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/engine"
)

// builtName is the bundle that `policy build` writes without -o.
const builtName = "policies.tar.gz"

func (w *world) buildCommand() *cli.Command {
	return &cli.Command{
		Name:  "build",
		Usage: "write the policy tree as an OPA bundle, signed or not",
		Description: `Builds the tree that calls are judged by: the project's own, else the embedded one
with the project's families merged into it, or what --policies names. The bundle stands
alone, and has the same revision as the tree. Tests are left out. A tree that does not
load is not built.

  runlens policy build
  runlens --policies policies.tar.gz check call.json
  opa eval -b policies.tar.gz 'data.runlens.codes'

The same tree is the same bytes, wherever and whenever it is built.

  openssl genpkey -algorithm ed25519 -out key.pem
  openssl pkey -in key.pem -pubout -out key.pub
  runlens policy build --signing-key key.pem
  runlens --policies policies.tar.gz --verification-key key.pub check call.json

RSA keys sign with RS256, ECDSA keys with ES256, ES384 or ES512, Ed25519 keys with EdDSA.
An ECDSA signature is another each time, and so are the bytes of the bundle; with RSA and
Ed25519 they stay the same. A key that others may read is refused.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "bundle `FILE` to write, - is stdout", Value: builtName},
			&cli.StringFlag{Name: "signing-key", Usage: "PEM `FILE` of the private key to sign with"},
			&cli.StringFlag{Name: "signing-key-id", Usage: "`ID` of the key, for readers that keep several (kid in the signature)"},
		},
		Action: w.policyBuild,
	}
}

func (w *world) policyBuild(c *cli.Context) error {
	if err := countFiles(c, 0, 0); err != nil {
		return err
	}
	p, err := w.openProject(c)
	if err != nil {
		return err
	}
	out := c.String("output")
	if out != "-" {
		if err := p.mayHoldBundle(out); err != nil {
			return err
		}
	}
	key, err := signingKey(c)
	if err != nil {
		return err
	}
	src, err := p.policySource()
	if err != nil {
		return err
	}
	built, err := engine.Build(src, key)
	if err != nil {
		return hinted(p.policies.loadHint(), "%w", err)
	}
	if out == "-" {
		if err := w.write(built.Bytes); err != nil {
			return err
		}
		_, err := w.stderr.Write([]byte(aboutBuilt(built, key, "")))
		return err
	}
	if err := putBundle(out, built.Bytes); err != nil {
		return hinted("", "write %s: %w", out, cause(err))
	}
	return w.print(aboutBuilt(built, key, out))
}

// signingKey is --signing-key, nil without it.
func signingKey(c *cli.Context) (*engine.SigningKey, error) {
	name, id := c.String("signing-key"), c.String("signing-key-id")
	if name == "" {
		if id != "" {
			return nil, hinted("give the key: --signing-key FILE", "read arguments: --signing-key-id without a key")
		}
		return nil, nil
	}
	if id != printable(id) || len(id) > 200 {
		return nil, hinted("plain text, 200 bytes at most", "read arguments: --signing-key-id is not a name")
	}
	return readSigningKey(name, id)
}

// aboutBuilt says what was built, a line each.
func aboutBuilt(b *engine.Bundle, key *engine.SigningKey, file string) string {
	signed := "no"
	if key != nil {
		signed = key.Algorithm()
	}
	var text strings.Builder
	for _, line := range [][2]string{{"bundle", file}, {"policy", b.Revision}, {"digest", b.Digest()}, {"signed", signed}} {
		if line[1] != "" {
			fmt.Fprintf(&text, "%-6s %s\n", line[0], line[1])
		}
	}
	return text.String()
}

// mayHoldBundle refuses a place for a bundle where it would do harm: inside a
// policy tree, over the tree that it is built from, and over any file that is no
// bundle, such as a key or a manifest.
func (p *project) mayHoldBundle(out string) error {
	dir, err := realPath(filepath.Dir(out))
	if err != nil {
		return hinted("the directory must exist", "write %s: %w", out, cause(err))
	}
	real := filepath.Join(dir, filepath.Base(out))
	for _, tree := range []string{p.policies.path, p.in("policies")} {
		at, err := realPath(tree)
		if tree == "" || err != nil {
			continue
		}
		if rel, err := filepath.Rel(at, real); err == nil && filepath.IsLocal(rel) {
			return hinted("-o FILE names another place", "write %s: policies are loaded from %s", out, tree)
		}
	}
	st, err := os.Lstat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil:
		err = plain(st)
	}
	if err != nil {
		return hinted("-o FILE names a file, -o - is stdout", "write %s: %w", out, cause(err))
	}
	magic := []byte{0x1f, 0x8b}
	text, err := readHead(real, len(magic))
	if err != nil {
		return hinted("", "write %s: %w", out, cause(err))
	}
	if len(text) > 0 && !bytes.Equal(text, magic) {
		return hinted("remove it first, or name another file with -o", "write %s: a file that is no bundle is there", out)
	}
	return nil
}

// readHead is the first n bytes of a file, fewer when it is shorter.
func readHead(name string, n int) ([]byte, error) {
	f, err := openUnlinked(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, n)
	got, err := f.Read(head)
	if got > 0 {
		err = nil
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return head[:got], err
}

// putBundle writes a file that is whole when it is there, for everybody to read.
func putBundle(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".policies-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // renamed away when all went well
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
