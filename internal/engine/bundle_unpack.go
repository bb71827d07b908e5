package engine

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxFiles bounds how many entries a bundle may have.
const maxFiles = 10_000

const (
	packFix  = "build the bundle with `runlens policy build` or `opa build -b`"
	anewFix  = "fetch or build the bundle anew"
	plainFix = "a bundle holds plain files and folders"
)

// unpack returns the files of a gzipped tar. Whatever two readers of the same
// bytes might take for different files is refused: a second archive behind the
// first, a file that is there twice, names that systems read in different ways,
// links and other kinds of entries. It reads at most maxTree bytes, however
// well they were packed.
func unpack(raw []byte, name string, p *problems) (files []file) {
	broken := func(err error) []file {
		p.add(name, 0, anewFix, "is not an OPA bundle: %v", err)
		return nil
	}
	packed := bytes.NewReader(raw)
	z, err := gzip.NewReader(packed)
	if err != nil {
		return broken(err)
	}
	z.Multistream(false)
	all := &bounded{r: z, left: maxTree}
	r := tar.NewReader(all)
	seen := map[string]string{}
	for n := 1; ; n++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			if err := nothingBehind(all, packed); err != nil {
				return broken(err)
			}
			return files
		}
		if err != nil {
			return broken(err)
		}
		if n > maxFiles {
			return broken(fmt.Errorf("holds more than %d entries", maxFiles))
		}
		rel, why, fix := entryName(h)
		if why == "" && h.Typeflag == tar.TypeReg {
			why, fix = seenTwice(seen, rel)
		}
		if why != "" {
			p.add(path.Join(name, rel), 0, fix, "%s", why)
			continue
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		content, err := readLimited(r, h.Size)
		if err != nil {
			p.add(path.Join(name, rel), 0, cmp.Or(otherTarget(rel), anewFix), "cannot be read: %v", err)
			return nil
		}
		files = append(files, file{rel: rel, raw: content})
	}
}

// entryName is the plain name of an entry, and what is wrong with the entry; a
// name that is refused comes quoted.
func entryName(h *tar.Header) (rel, why, fix string) {
	rel = plainName(h.Name)
	if h.Typeflag == tar.TypeDir {
		rel = strings.TrimSuffix(rel, "/")
	}
	odd := func(r rune) bool { return r == '\\' || unicode.IsControl(r) }
	switch top := rel == "" && h.Typeflag == tar.TypeDir; {
	case top:
		return ".", "", ""
	case !utf8.ValidString(rel), strings.ContainsFunc(rel, odd), !fs.ValidPath(rel), rel == ".",
		climbs(h.Name) && !strings.HasSuffix(rel, ".rego"):
		return "", cut(h.Name) + " is a name that could lead elsewhere", "names are plain: folders and a file, no .., no empty step, no backslash"
	case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir:
		return rel, "is not a plain file", plainFix
	}
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") || key == "hdrcharset" {
			return rel, "is not a plain file: its header has " + cut(key), plainFix
		}
	}
	return rel, "", ""
}

// plainName is a name without what builders write in front of it: a slash, ./,
// and the ../ of `opa build -b ../policies`. The folders in front of a tree do
// not matter, and no two files may end up with the same name.
func plainName(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "/"), "./")
	for strings.HasPrefix(name, "../") {
		name = name[len("../"):]
	}
	return name
}

func climbs(name string) bool {
	return strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "/"), "./"), "../")
}

// seenTwice refuses a name that was there before, also in other case: some file
// systems and readers would keep one of the two.
func seenTwice(seen map[string]string, rel string) (why, fix string) {
	folded := strings.ToLower(rel)
	first, twice := seen[folded]
	seen[folded] = rel
	switch {
	case !twice:
		return "", ""
	case first == rel:
		return "is there twice", packFix
	default:
		return "differs from " + cut(first) + " in case alone", "rename one of them"
	}
}

// bounded fails where a stream goes on behind so many bytes.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(into []byte) (int, error) {
	if b.left < 0 {
		return 0, fmt.Errorf("holds more than %d bytes", maxTree)
	}
	n, err := b.r.Read(into[:min(int64(len(into)), b.left+1)])
	b.left -= int64(n)
	return n, err
}

// nothingBehind refuses what stands behind the archive: another reader of the
// same bytes might take it for part of the bundle. Zeros pad a tar.
func nothingBehind(all io.Reader, packed *bytes.Reader) error {
	for buf := make([]byte, 4096); ; {
		n, err := all.Read(buf)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return errors.New("something stands behind the archive")
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if packed.Len() > 0 {
		return errors.New("something stands behind the archive")
	}
	return nil
}
