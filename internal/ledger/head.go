package ledger

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Head names the last event of a ledger, and through its hash all before it.
type Head struct {
	RunID string
	Seq   int64  // number of events
	Hash  string // hex SHA-256 of the last line; Genesis when there is none
}

const originPrefix = "runlens/"

// SignHead returns h as a signed note in checkpoint form (package comment).
func SignHead(h Head, signers ...note.Signer) ([]byte, error) {
	root, err := hex.DecodeString(h.Hash)
	if err != nil || len(root) != 32 || !validRunID(h.RunID) || h.Seq < 0 {
		return nil, errors.New("sign head: it is not that of a ledger")
	}
	text := fmt.Sprintf("%s%s\n%d\n%s\n", originPrefix, h.RunID, h.Seq, base64.StdEncoding.EncodeToString(root))
	signed, err := note.Sign(&note.Note{Text: text}, signers...)
	if err != nil {
		return nil, fmt.Errorf("sign head: %w", err)
	}
	return signed, nil
}

// OpenHead returns the head that signed holds, when one of known signed it.
// Extension lines behind the three of the head are allowed and ignored.
func OpenHead(signed []byte, known note.Verifiers) (Head, error) {
	n, err := note.Open(signed, known)
	if err != nil {
		var unverified *note.UnverifiedNoteError
		if errors.As(err, &unverified) {
			return Head{}, errors.New("open head: no known key signed it")
		}
		var forged *note.InvalidSignatureError
		if errors.As(err, &forged) {
			return Head{}, fmt.Errorf("open head: the signature of %q does not fit its text", forged.Name)
		}
		return Head{}, errors.New("open head: not a signed note")
	}
	part := strings.SplitN(n.Text, "\n", 4)
	if len(part) < 4 {
		return Head{}, errors.New("open head: not a checkpoint")
	}
	id, ours := strings.CutPrefix(part[0], originPrefix)
	seq, err := strconv.ParseInt(part[1], 10, 64)
	root, bad := base64.StdEncoding.Strict().DecodeString(part[2])
	if !ours || !validRunID(id) || err != nil || seq < 0 || strconv.FormatInt(seq, 10) != part[1] || bad != nil || len(root) != 32 {
		return Head{}, errors.New("open head: not the checkpoint of a run")
	}
	return Head{RunID: id, Seq: seq, Hash: hex.EncodeToString(root)}, nil
}
