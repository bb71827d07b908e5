package ledger

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Keys are what this machine signs heads and authenticates fold caches with.
type Keys struct {
	Signer   note.Signer
	Verifier note.Verifier
	Fold     []byte // Options.Key, 32 bytes
}

// The files of a key directory.
const (
	signerName   = "head.key"
	verifierName = "head.pub" // may be given away; the other two may not
	foldName     = "fold.key"
)

const foldKeyLen = 32

var errFoldKey = fmt.Errorf("%s is not %d bytes", foldName, foldKeyLen)

// OpenKeys loads the keys in dir and makes those that are missing; name goes
// into every signature. dir (0700) must lie outside every project: who can
// read it can forge heads and caches.
func OpenKeys(dir, name string) (*Keys, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open keys %s: %w", dir, cause(err))
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("open keys %s: %w", dir, cause(err))
	}
	if private(info) != nil {
		return nil, fmt.Errorf("open keys %s: others may enter it, want mode 0700", dir)
	}
	text, err := makeOnce(filepath.Join(dir, signerName), func() ([]byte, error) {
		secret, _, err := note.GenerateKey(rand.Reader, name)
		return []byte(secret + "\n"), err
	})
	if err != nil {
		return nil, fmt.Errorf("open keys %s: %w", dir, cause(err))
	}
	secret, public := strings.TrimSpace(string(text)), ""
	k := &Keys{}
	if k.Signer, err = note.NewSigner(secret); err == nil {
		public, err = VerifierKey(secret)
	}
	if err == nil {
		k.Verifier, err = note.NewVerifier(public)
	}
	if err != nil {
		return nil, fmt.Errorf("open keys %s: not a signer key", filepath.Join(dir, signerName))
	}
	_, err = makeOnce(filepath.Join(dir, verifierName), func() ([]byte, error) { return []byte(public + "\n"), nil })
	if err != nil {
		return nil, fmt.Errorf("open keys %s: %w", dir, cause(err))
	}
	k.Fold, err = makeOnce(filepath.Join(dir, foldName), func() ([]byte, error) {
		key := make([]byte, foldKeyLen)
		_, err := rand.Read(key)
		return key, err
	})
	if err == nil && len(k.Fold) != foldKeyLen {
		err = errFoldKey
	}
	if err != nil {
		return nil, fmt.Errorf("open keys %s: %w", dir, cause(err))
	}
	return k, nil
}

// VerifierKey derives the public half of a signer key as note writes it,
// PRIVATE+KEY+<name>+<hash>+<base64 of algorithm and seed>.
func VerifierKey(secret string) (string, error) {
	s, err := note.NewSigner(secret)
	if err != nil {
		return "", err
	}
	_, text, _ := strings.Cut(strings.TrimPrefix(secret, "PRIVATE+KEY+"+s.Name()+"+"), "+")
	seed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(seed) != 1+ed25519.SeedSize {
		return "", errors.New("not an Ed25519 signer key")
	}
	return note.NewEd25519VerifierKey(s.Name(), ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey))
}

// makeOnce returns the file's content, which make gives when there is none.
// Of several processes that make it at once one wins, and all return its bytes.
func makeOnce(path string, make func() ([]byte, error)) ([]byte, error) {
	data, err := readRegular(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	if data, err = make(); err != nil {
		return nil, err
	}
	temp, err := writeTemp(path, data)
	if err != nil {
		return nil, err
	}
	defer os.Remove(temp)
	if err := os.Link(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return readRegular(path)
}

// maxKeyFile bounds what is read as a key or a head.
const maxKeyFile = 64 << 10

// readRegular reads a small file, and waits at nothing else in its place.
func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err == nil && len(data) > maxKeyFile {
		err = fmt.Errorf("larger than %d bytes", maxKeyFile)
	}
	return data, err
}

// writeTemp writes data to a new file (0600) in path's directory and syncs it.
func writeTemp(path string, data []byte) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// ReadVerifiers loads the public key in a key directory and makes nothing.
func ReadVerifiers(dir string) (note.Verifiers, error) {
	text, err := readRegular(filepath.Join(dir, verifierName))
	if err != nil {
		return nil, err
	}
	v, err := note.NewVerifier(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("read %s: not a verifier key", filepath.Join(dir, verifierName))
	}
	return note.VerifierList(v), nil
}

// ReadFoldKey loads the key of the fold caches in a key directory, under the
// same conditions as OpenKeys, and makes nothing: for those who only look.
func ReadFoldKey(dir string) ([]byte, error) {
	info, err := os.Stat(dir)
	if err == nil {
		err = private(info)
	}
	var key []byte
	if err == nil {
		key, err = readRegular(filepath.Join(dir, foldName))
	}
	if err == nil && len(key) != foldKeyLen {
		err = errFoldKey
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(dir, foldName), cause(err))
	}
	return key, nil
}

// SavedHead reads the head in path as this machine signed it. It is
// fs.ErrNotExist when nothing is there; what is there and is no such head is an
// error too, and is not to be written over.
func (k *Keys) SavedHead(path string) (Head, error) {
	text, err := readRegular(path)
	if err != nil {
		return Head{}, err
	}
	return OpenHead(text, note.VerifierList(k.Verifier))
}

// SaveHead signs h and puts it into path, atomically and durably. It replaces
// nothing but an earlier head of the same run; whether h follows that one is for
// the caller to find out, with Verify. path lies outside the run, best on
// another machine.
func (k *Keys) SaveHead(path string, h Head) error {
	switch have, err := k.SavedHead(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("%s is there and is not written over: %w", path, cause(err))
	case have.RunID != h.RunID:
		return fmt.Errorf("%s is there and is not written over: it holds the head of run %s", path, foreign(have.RunID))
	case have == h:
		return nil
	case have.Seq >= h.Seq:
		return fmt.Errorf("%s is there and is not written over: it holds another head, of event %d", path, have.Seq)
	}
	signed, err := SignHead(h, k.Signer)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp, err := writeTemp(path, signed)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncDir(filepath.Dir(path))
}
