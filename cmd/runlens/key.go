package main

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"

	"github.com/runlens/runlens/internal/engine"
)

// readVerificationKey reads the public key that a bundle must be signed with.
// The algorithm follows from the kind of key, never from the bundle: it is the
// one that `opa build --signing-alg` was given, or RS256, its default.
func readVerificationKey(name string) (*engine.VerificationKey, error) {
	text, err := readFile(name, maxKey)
	if err != nil {
		return nil, hinted(similar(name), "read verification key %s: %w", name, cause(err))
	}
	algorithm, err := algorithmOf(text)
	if err != nil {
		return nil, hinted("a PEM file with a public key, such as `openssl pkey -in key.pem -pubout` writes", "read verification key %s: %w", name, err)
	}
	return &engine.VerificationKey{Key: string(text), Algorithm: algorithm}, nil
}

func algorithmOf(text []byte) (string, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return "", errors.New("not PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		if _, err := x509.ParsePKCS1PublicKey(block.Bytes); err != nil {
			return "", errors.New("not a public key")
		}
		return "RS256", nil
	}
	switch key := key.(type) {
	case *rsa.PublicKey:
		return "RS256", nil
	case ed25519.PublicKey:
		return "EdDSA", nil
	case *ecdsa.PublicKey:
		switch key.Curve.Params().BitSize {
		case 256:
			return "ES256", nil
		case 384:
			return "ES384", nil
		case 521:
			return "ES512", nil
		}
	}
	return "", errors.New("a kind of key that no bundle is signed with")
}
