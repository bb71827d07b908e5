package engine

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// leastRSA is the shortest RSA key that signs bundles.
const leastRSA = 2048

// VerificationKey is the public key that a bundle's signature is checked with.
type VerificationKey struct {
	pem        string
	algorithms []string // what a key of this kind may sign with
}

// ParseVerificationKey reads one public key in PEM: RSA, ECDSA on a NIST curve,
// or Ed25519. A secret that both sides share, as for HS256, is no such key.
func ParseVerificationKey(text []byte) (*VerificationKey, error) {
	block, err := onlyBlock(text)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, errors.New("not a public key but a private one")
	case block.Type == "CERTIFICATE":
		return nil, errors.New("not a public key but a certificate")
	}
	var key any
	if key, err = x509.ParsePKIXPublicKey(block.Bytes); err != nil {
		if key, err = x509.ParsePKCS1PublicKey(block.Bytes); err != nil {
			return nil, errors.New("not a public key")
		}
	}
	return verificationKey(key)
}

func verificationKey(public any) (*VerificationKey, error) {
	algorithms, err := algorithmsOf(public)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, err
	}
	return &VerificationKey{pem: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), algorithms: algorithms}, nil
}

// algorithmsOf lists what a key may sign with, what we sign with first.
func algorithmsOf(public any) ([]string, error) {
	switch key := public.(type) {
	case *rsa.PublicKey:
		if n := key.N.BitLen(); n < leastRSA {
			return nil, fmt.Errorf("an RSA key of %d bits, %d is the least", n, leastRSA)
		}
		return []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}, nil
	case ed25519.PublicKey:
		return []string{"EdDSA"}, nil
	case *ecdsa.PublicKey:
		switch key.Curve.Params().BitSize {
		case 256:
			return []string{"ES256"}, nil
		case 384:
			return []string{"ES384"}, nil
		case 521:
			return []string{"ES512"}, nil
		}
	}
	return nil, errors.New("a kind of key that no bundle is signed with")
}

// SigningKey signs bundles. It never shows the key.
type SigningKey struct {
	signer    crypto.Signer
	algorithm string
	id        string
}

// ParseSigningKey reads one private key in PEM (PKCS #8, PKCS #1 or SEC 1) of
// the kinds that ParseVerificationKey takes. id goes into the signature for
// readers that keep several keys; "" leaves it out.
func ParseSigningKey(text []byte, id string) (*SigningKey, error) {
	block, err := onlyBlock(text)
	if err != nil {
		return nil, err
	}
	if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
		return nil, errors.New("the key is encrypted")
	}
	if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
		return nil, errors.New("not a private key")
	}
	var key any
	switch block.Type {
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil { // the cause could hold some of it
		return nil, errors.New("not a private key that can be read")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("a kind of key that no bundle is signed with")
	}
	algorithms, err := algorithmsOf(signer.Public())
	if err != nil {
		return nil, err
	}
	return &SigningKey{signer: signer, algorithm: algorithms[0], id: id}, nil
}

// Algorithm is the name of what the key signs with: RS256, ES256, ES384, ES512
// or EdDSA.
func (k *SigningKey) Algorithm() string { return k.algorithm }

// Repeats tells whether the same bytes have the same signature each time.
func (k *SigningKey) Repeats() bool { return slices.Contains([]string{"RS256", "EdDSA"}, k.algorithm) }

// onlyBlock is the one PEM block of a key file. openssl puts the parameters of
// a curve before the key.
func onlyBlock(text []byte) (*pem.Block, error) {
	var found *pem.Block
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		if block.Type == "EC PARAMETERS" {
			continue
		}
		if found != nil {
			return nil, errors.New("holds more than one key")
		}
		found = block
	}
	if found == nil {
		return nil, errors.New("not PEM")
	}
	if bytes.Contains(text, []byte("-----BEGIN")) {
		return nil, errors.New("holds a key that is cut short")
	}
	return found, nil
}
