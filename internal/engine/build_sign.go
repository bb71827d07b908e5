package engine

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"

	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/open-policy-agent/opa/v1/util"
)

// sign returns the .signatures.json for files: one JSON web token that lists
// each with its digest, as OPA's own reader checks it
// (openpolicyagent.org/docs/management-bundles#signature-format).
func (k *SigningKey) sign(files []file) ([]byte, error) {
	header := struct {
		Algorithm string `json:"alg"`
		ID        string `json:"kid,omitempty"`
		Type      string `json:"typ"`
	}{k.algorithm, k.id, "JWT"}
	payload := struct {
		Files []bundle.FileInfo `json:"files"`
	}{}
	hasher, err := bundle.NewSignatureHasher(bundle.SHA256)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		content := any(f.raw)
		if bundle.IsStructuredDoc(f.rel) {
			if err := util.UnmarshalJSON(f.raw, &content); err != nil {
				return nil, err
			}
		}
		sum, err := hasher.HashFile(content)
		if err != nil {
			return nil, err
		}
		payload.Files = append(payload.Files, bundle.NewFile(f.rel, hex.EncodeToString(sum), bundle.SHA256.String()))
	}
	token, err := encodeParts(header, payload)
	if err != nil {
		return nil, err
	}
	signature, err := k.signature([]byte(token))
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(bundle.SignaturesConfig{Signatures: []string{token + "." + base64.RawURLEncoding.EncodeToString(signature)}})
	return append(text, '\n'), err
}

func encodeParts(header, payload any) (string, error) {
	h, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	p, err := json.Marshal(payload)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(h) + "." + base64.RawURLEncoding.EncodeToString(p), nil
}

// signature is the last part of the token (RFC 7518 section 3, RFC 8037).
func (k *SigningKey) signature(text []byte) ([]byte, error) {
	hash, sum := crypto.SHA256, []byte(nil)
	switch k.algorithm {
	case "EdDSA":
		return k.signer.Sign(nil, text, crypto.Hash(0))
	case "ES384":
		hash = crypto.SHA384
	case "ES512":
		hash = crypto.SHA512
	}
	if !hash.Available() {
		return nil, errors.New("no " + hash.String())
	}
	h := hash.New()
	h.Write(text)
	sum = h.Sum(nil)
	raw, err := k.signer.Sign(rand.Reader, sum, hash)
	if err != nil {
		return nil, err
	}
	curve, ok := k.signer.Public().(*ecdsa.PublicKey)
	if !ok {
		return raw, nil
	}
	// The web token has the two numbers of the signature side by side.
	var pair struct{ R, S *big.Int }
	if rest, err := asn1.Unmarshal(raw, &pair); err != nil || len(rest) > 0 {
		return nil, errors.New("the signature has an unknown form")
	}
	size := (curve.Curve.Params().BitSize + 7) / 8
	both := make([]byte, 2*size)
	pair.R.FillBytes(both[:size])
	pair.S.FillBytes(both[size:])
	return both, nil
}

// Digest is sha256:<hex> of a bundle's bytes.
func (b *Bundle) Digest() string {
	sum := sha256.Sum256(b.Bytes)
	return "sha256:" + hex.EncodeToString(sum[:])
}
