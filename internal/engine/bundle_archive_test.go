package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestAttackedArchives changes the archive around the files.
func TestAttackedArchives(t *testing.T) {
	key := signers(t)["EdDSA"]
	verifier := verifierOf(t, key)
	whole := builtSmall(t, key).Bytes
	inner := tarOf(t, entriesOf(t, whole))
	bomb := append(slices.Clone(inner[:len(inner)-1024]), make([]byte, maxTree)...)
	big := tarOf(t, []entry{plainEntry("data.json", strings.Repeat(" ", maxFile+1))})
	var many []entry
	for i := range maxFiles + 1 {
		many = append(many, plainEntry(fmt.Sprintf("runlens/x%d.rego", i), ""))
	}
	for name, test := range map[string]struct {
		raw  []byte
		want string
	}{
		"nothing":            {[]byte{}, "is not an OPA bundle: EOF"},
		"no gzip":            {inner, "is not an OPA bundle: gzip: invalid header"},
		"cut":                {whole[:len(whole)-9], "is not an OPA bundle: "},
		"second member":      {slices.Concat(whole, whole), "something stands behind the archive"},
		"trailing byte":      {append(slices.Clone(whole), 'x'), "something stands behind the archive"},
		"trailing zero":      {append(slices.Clone(whole), 0), "something stands behind the archive"},
		"behind the end":     {zipped(t, slices.Concat(inner, []byte("x"))), "something stands behind the archive"},
		"archive behind":     {zipped(t, slices.Concat(inner, inner)), "something stands behind the archive"},
		"bomb of zeros":      {zipped(t, bomb), "holds more than 67108864 bytes"},
		"file too large":     {zipped(t, big), "load policies/data.json: cannot be read: too large"},
		"too many files":     {zipped(t, tarOf(t, many)), "holds more than 10000 entries"},
		"sparse file":        {zipped(t, sparse(t)), "load policies/data.json: is not a plain file"},
		"flipped in the CRC": {flipped(whole, len(whole)-6), "is not an OPA bundle: gzip: invalid checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(Source{Bundle: test.raw, Key: verifier, Schemas: testSchemas(t)})
			refusedWith(t, err, test.want)
		})
	}
}

func flipped(raw []byte, at int) []byte {
	raw = slices.Clone(raw)
	raw[at] ^= 1
	return raw
}

// sparse is a tar whose one file has a header of GNU's sparse format 1.0, which
// archive/tar reads and does not write: two records of the same length are put
// in the place of others.
func sparse(t testing.TB) []byte {
	t.Helper()
	h := tar.Header{Name: "data.json", Typeflag: tar.TypeReg, Mode: 0o644, Format: tar.FormatPAX, PAXRecords: map[string]string{
		"GNU/sparse.major": "1", "GNU/sparse.minor": "0", "GNU/sparse.realsize": "7", "GNU/sparse.name": "data.json",
	}}
	raw := tarOf(t, []entry{{Header: h, text: "1\n0\n7\n" + strings.Repeat("\x00", 506) + `{"a":1}`}})
	return bytes.ReplaceAll(raw, []byte("GNU/sparse."), []byte("GNU.sparse."))
}

// TestFlippedBytes flips bytes of a signed archive, one at a time: what
// still loads is the same policy.
func TestFlippedBytes(t *testing.T) {
	key := signers(t)["EdDSA"]
	verifier := verifierOf(t, key)
	inner := tarOf(t, entriesOf(t, builtSmall(t, key).Bytes))
	want := signedFiles(t, inner, verifier)
	if want == "" {
		t.Fatal("the bundle does not verify")
	}
	for at := 0; at < len(inner); at += 5 { // 5 and 512 have no divisor in common: every place of a block has its turn
		if got := signedFiles(t, flipped(inner, at), verifier); got != "" && got != want {
			t.Errorf("byte %d flipped: another policy verifies", at)
		}
	}
}

// signedFiles is everything that a verified archive would load; "" when refused.
func signedFiles(t testing.TB, inner []byte, key *VerificationKey) string {
	p := &problems{}
	tree, _ := readBundle(stored(t, inner), key, "policies", p)
	if len(p.list) > 0 {
		return ""
	}
	data := mergeData(tree, "policies", p)
	if len(p.list) > 0 {
		return ""
	}
	var b strings.Builder
	modules := slices.Clone(tree.modules)
	slices.SortFunc(modules, func(a, b file) int { return strings.Compare(a.rel, b.rel) })
	for _, f := range modules {
		fmt.Fprintf(&b, "%q %q\n", f.rel, f.raw)
	}
	return b.String() + string(data.canonical(nil))
}

func stored(t testing.TB, raw []byte) []byte {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// FuzzReadBundle holds that reading never breaks, and that whatever a key
// verifies is the policy that was signed with it.
func FuzzReadBundle(f *testing.F) {
	// The same in every process of the fuzzer.
	key := &SigningKey{signer: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), algorithm: "EdDSA"}
	verifier := verifierOf(f, key)
	inner := tarOf(f, entriesOf(f, builtSmall(f, key).Bytes))
	want := signedFiles(f, inner, verifier)
	if want == "" {
		f.Fatal("the bundle does not verify")
	}
	f.Add([]byte("x"), false)
	f.Add(inner, false)
	f.Add(inner, true)
	f.Add(sparse(f), true)
	f.Add(builtSmall(f, nil).Bytes, false)
	f.Fuzz(func(t *testing.T, raw []byte, pack bool) {
		if pack {
			if got := signedFiles(t, raw, verifier); got != "" && got != want {
				t.Error("another policy verifies")
			}
			raw = stored(t, raw)
		}
		readBundle(raw, nil, "policies", &problems{})
		readBundle(raw, verifier, "policies", &problems{})
	})
}

// TestFilesInAnyOrder holds that a code that two rules emit is named by the same
// one, however the files of a bundle are ordered.
func TestFilesInAnyOrder(t *testing.T) {
	want := shipped(t)
	src := Source{FS: os.DirFS("../../policies"), Schemas: os.DirFS("../../schemas")}
	b, err := Build(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	list := entriesOf(t, b.Bytes)
	slices.Reverse(list)
	e, err := Load(Source{Bundle: zipped(t, tarOf(t, list)), Schemas: src.Schemas})
	if err != nil {
		t.Fatal(err)
	}
	if e.Revision() != want.Revision() || !reflect.DeepEqual(emitted(e), emitted(want)) {
		t.Error("another order of the files is another policy")
	}
}
