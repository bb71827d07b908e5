package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
	"github.com/runlens/runlens/internal/resolve"
)

// readFile returns a file's text: whole, or its head when it has more bytes
// than the grant. A byte order mark is taken off and stated. Content that is
// not UTF-8 text is described, not returned.
func readFile() Handler {
	return Handler{
		Handler: manifest.Handler{
			Name:       "read_file",
			Operations: []string{facts.Read},
			Targets:    []manifest.Target{{Param: "path", Access: facts.Read}},
			Input: schema(map[string]any{
				"path": kind("string", "the file to read, counted from the project directory"),
			}),
			Output: schema(map[string]any{
				"path":      kind("string", ""),
				"content":   kind("string", "the text; empty when the content is binary"),
				"encoding":  map[string]any{"enum": []string{"utf-8", "binary"}},
				"size":      kind("integer", "bytes of the file"),
				"returned":  kind("integer", "bytes of the content"),
				"lines":     kind("integer", "lines of the content"),
				"truncated": kind("boolean", "the content is the head of the file"),
				"bom":       kind("boolean", "the file begins with a byte order mark; it is not in the content"),
				"summary":   kind("string", "what the content is when it is not returned"),
			}, "bom", "summary"),
		},
		Run: runReadFile,
	}
}

func runReadFile(ctx context.Context, g *Grant) (Result, error) {
	o, label, err := g.object("path")
	if err != nil {
		return Result{}, err
	}
	read, err := readHead(ctx, o, g.MaxBytes)
	if err != nil {
		return Result{}, err
	}
	return describeText(read, label), nil
}

func describeText(read head, label string) Result {
	output := map[string]any{
		"path": label, "content": "", "encoding": "utf-8",
		"size": read.size, "returned": 0, "lines": 0, "truncated": read.over,
	}
	text, bom := bytes.CutPrefix(read.data, utf8BOM)
	if bom {
		output["bom"] = true
	}
	if read.over {
		text = text[:wholeEnd(text)]
	}
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		summary := fmt.Sprintf("binary content, %d bytes%s", read.size, guess(read.data))
		output["encoding"], output["summary"], output["truncated"] = "binary", summary, false
		return Result{Output: output, Observation: "(" + summary + ")"}
	}
	output["content"], output["returned"], output["lines"] = string(text), len(text), lines(text)
	observation := string(text)
	switch {
	case read.over:
		observation += fmt.Sprintf("\n[… the first %d of %d bytes …]\n", len(text), read.size)
	case len(text) == 0:
		observation = "(the file is empty)"
	}
	return Result{Output: output, Truncated: read.over, Observation: observation}
}

// head is the beginning of a file, read while the file did not change.
type head struct {
	data []byte // at most the limit
	size int64  // of the file; what was read where the file system does not say
	over bool   // the file has more than the limit
}

// attempts is how often a file that changes while it is read is read again.
const attempts = 3

// readHead reads up to limit bytes of the object. A file whose size, mtime or
// ctime moved during the read is read again a few times; then its bytes are
// withheld and the error is object_changed. A change that leaves the size alone
// within the file system's clock tick goes unseen. Sizes are not trusted: files
// of /proc say 0 and have content.
func readHead(ctx context.Context, o *resolve.Object, limit int64) (head, error) {
	if limit <= 0 {
		return head{}, failed("read file: the grant lets no bytes through")
	}
	for range attempts {
		read, same, err := readOnce(ctx, o, limit)
		if err != nil || same {
			return read, err
		}
	}
	return head{}, &Error{Code: CodeChanged, Message: "read file: it changed while it was read; its bytes are withheld"}
}

func readOnce(ctx context.Context, o *resolve.Object, limit int64) (read head, same bool, err error) {
	f, err := o.Open()
	if err != nil {
		return head{}, false, objectError("open file", err)
	}
	defer f.Close()
	before, err := stampOf(f)
	if err != nil {
		return head{}, false, objectError("read file", err)
	}
	data, err := readUpTo(ctx, f, limit+1, before.size)
	if err != nil {
		return head{}, false, objectError("read file", err)
	}
	after, err := stampOf(f)
	if err != nil {
		return head{}, false, objectError("read file", err)
	}
	read = head{data: data, size: max(after.size, int64(len(data)))}
	if int64(len(data)) > limit {
		read.data, read.over = data[:limit], true
	}
	return read, before == after, nil
}

// readUpTo reads at most n bytes, heeding ctx between blocks. hint is the size
// the file says it has.
func readUpTo(ctx context.Context, f *os.File, n, hint int64) ([]byte, error) {
	const block = 1 << 20
	var buf bytes.Buffer
	buf.Grow(int(min(n, max(hint, 0), 64<<20)) + bytes.MinRead)
	for rest := n; rest > 0; {
		if err := ctx.Err(); err != nil {
			return nil, &Error{Code: CodeTimeout, Message: "read file: the deadline came first"}
		}
		got, err := io.CopyN(&buf, f, min(rest, block))
		rest -= got
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return buf.Bytes(), nil
}

// stamp is what moves when a file is written.
type stamp struct{ size, mtime, ctime int64 }

// objectError turns an error of an object into an *Error. Of an error of the
// system only the cause is told, not the path.
func objectError(what string, err error) error {
	var e *Error
	var errno syscall.Errno
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, resolve.ErrChanged):
		return &Error{Code: CodeChanged, Message: what + ": it is no longer the object that was judged"}
	case errors.As(err, &errno):
		err = errno
	}
	return failed("%s: %s", what, clip(visible(err.Error())))
}

var utf8BOM = []byte("\xef\xbb\xbf")

// wholeEnd is where a cut text ends without the beginning of a character that
// was cut through.
func wholeEnd(text []byte) int {
	for i := len(text) - 1; i >= 0 && len(text)-i < utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return i
			}
			break
		}
	}
	return len(text)
}

// lines counts lines; a last line needs no line feed.
func lines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// guess names the format that binary content begins like.
func guess(data []byte) string {
	for _, known := range []struct{ prefix, name string }{
		{"\xff\xfe", "UTF-16 or UTF-32 text, little endian"},
		{"\xfe\xff", "UTF-16 text, big endian"},
		{"\x89PNG\r\n", "a PNG image"},
		{"\xff\xd8\xff", "a JPEG image"},
		{"GIF8", "a GIF image"},
		{"%PDF-", "a PDF document"},
		{"PK\x03\x04", "a ZIP archive or an office document"},
		{"\x1f\x8b", "gzip data"},
		{"BZh", "bzip2 data"},
		{"\xfd7zXZ", "xz data"},
		{"\x28\xb5\x2f\xfd", "zstd data"},
		{"\x7fELF", "an ELF program or library"},
		{"SQLite format 3\x00", "an SQLite database"},
	} {
		if bytes.HasPrefix(data, []byte(known.prefix)) {
			return ", " + known.name
		}
	}
	return ""
}
