package main

import (
	"github.com/runlens/runlens/internal/engine"
)

// readVerificationKey reads the public key that a bundle must be signed with.
// What it may be signed with follows from the kind of key, never from the bundle
// alone.
func readVerificationKey(name string) (*engine.VerificationKey, error) {
	text, err := readFile(name, maxKey)
	if err != nil {
		return nil, hinted(similar(name), "read verification key %s: %w", name, cause(err))
	}
	key, err := engine.ParseVerificationKey(text)
	if err != nil {
		return nil, hinted("a PEM file with one public key, such as `openssl pkey -in key.pem -pubout` writes", "read verification key %s: %w", name, err)
	}
	return key, nil
}

// readSigningKey reads the private key that signs a bundle. One that others may
// read is refused, as ssh does: what it signed could be anybody's.
func readSigningKey(name, id string) (*engine.SigningKey, error) {
	text, err := readFile(name, maxKey)
	if err != nil {
		return nil, hinted(similar(name), "read signing key %s: %w", name, cause(err))
	}
	if err := kept(name); err != nil {
		return nil, hinted("chmod 600 "+name, "read signing key %s: %w", name, err)
	}
	key, err := engine.ParseSigningKey(text, id)
	if err != nil {
		return nil, hinted("a PEM file with one private key that is not encrypted, RSA, ECDSA or Ed25519: `openssl genpkey -algorithm ed25519 -out key.pem` makes one, `openssl pkey -in key.pem -out plain.pem` takes a passphrase off",
			"read signing key %s: %w", name, err)
	}
	return key, nil
}

// noteUnchecked says that a signature was there and was not looked at: whoever
// signs a bundle expects it to be.
func (p *project) noteUnchecked(e *engine.Engine, shown string) {
	if e.Unchecked() {
		p.w.note("%s is signed, and the signature was not checked: --verification-key FILE does", shown)
	}
}
