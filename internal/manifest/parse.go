package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxFile  = 4 << 20 // bytes of one manifest file
	maxDepth = 64      // levels of lists and objects

	emptyFile = "the file is empty"
)

// syntaxError is what stops a file from being read at all.
type syntaxError struct {
	line       int
	cause, fix string
}

func (e *syntaxError) Error() string { return e.cause }

// parse reads a file strictly. Duplicate keys and values that JSON could not
// carry are reported to at, beside the tree; a tree that could not be read is nil.
func parse(src Source, at place) *node { return parseLimited(src, at, maxFile) }

// parseLimited is parse of at most limit bytes.
func parseLimited(src Source, at place, limit int) *node {
	root, err := parseTree(src, at, limit)
	if err != nil {
		var broken *syntaxError
		if !errors.As(err, &broken) {
			broken = &syntaxError{cause: err.Error()}
		}
		if broken.cause == emptyFile && src.Kind != ToolFile {
			broken.fix = "" // what allows nothing is a file of tools
		}
		at.add(broken.line, broken.fix, "%s", broken.cause)
		return nil
	}
	return root
}

func parseTree(src Source, at place, limit int) (*node, error) {
	data := src.Data
	switch {
	case len(data) > limit:
		return nil, &syntaxError{cause: fmt.Sprintf("the file is larger than %d bytes", limit)}
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return nil, &syntaxError{line: 1, cause: "the file starts with a byte order mark", fix: "save it as UTF-8 without BOM"}
	case !utf8.Valid(data):
		return nil, &syntaxError{line: lineOfBadUTF8(data), cause: "the file is not valid UTF-8"}
	case len(bytes.TrimSpace(data)) == 0:
		return nil, &syntaxError{line: 1, cause: emptyFile, fix: `write {"schema_version":1,"tools":{}} to allow nothing`}
	}
	if isYAML(src) {
		return parseYAML(data, at)
	}
	return parseJSON(data, at)
}

// isYAML goes by the name, and without a known extension by the first byte.
func isYAML(src Source) bool {
	switch strings.ToLower(path.Ext(src.Name)) {
	case ".json":
		return false
	case ".yaml", ".yml":
		return true
	}
	return !bytes.HasPrefix(bytes.TrimSpace(src.Data), []byte("{"))
}

func lineOfBadUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return lineAt(data, int64(i))
		}
		i += size
	}
	return 0
}

func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
}

// jsonReader builds a tree from tokens and counts lines as it goes.
type jsonReader struct {
	at     place
	data   []byte
	dec    *json.Decoder
	line   int   // of counted
	seen   int64 // bytes counted into line
	before int64 // offset at which the last token's text may start
}

func parseJSON(data []byte, at place) (*node, error) {
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			broken := &syntaxError{line: lineAt(data, syntax.Offset-1), cause: "not valid JSON"}
			if !at.foreign {
				broken.cause += ": " + printable(syntax.Error())
			}
			return nil, broken
		}
		return nil, &syntaxError{line: 1, cause: "not valid JSON"}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	r := &jsonReader{at: at, data: data, dec: dec, line: 1}
	tok, err := r.next()
	if err != nil {
		return nil, err
	}
	return r.value(tok, 1)
}

func (r *jsonReader) next() (json.Token, error) {
	r.before = r.dec.InputOffset()
	tok, err := r.dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = &syntaxError{line: r.line, cause: "not valid JSON: unexpected end"}
		}
		return nil, err
	}
	end := r.dec.InputOffset()
	r.line += bytes.Count(r.data[r.seen:end], []byte("\n"))
	r.seen = end
	return tok, nil
}

func (r *jsonReader) value(tok json.Token, depth int) (*node, error) {
	n := &node{line: r.line}
	if depth > maxDepth {
		return nil, &syntaxError{line: r.line, cause: fmt.Sprintf("more than %d levels deep", maxDepth)}
	}
	switch tok := tok.(type) {
	case bool:
		n.kind, n.text = boolKind, strconv.FormatBool(tok)
	case json.Number:
		n.kind, n.text = numberKind, tok.String()
		checkNumber(n, r.at)
	case string:
		n.kind, n.text = stringKind, r.text(tok)
	case json.Delim:
		if tok == '[' {
			n.kind = listKind
			return n, r.list(n, depth)
		}
		n.kind = objectKind
		return n, r.object(n, depth)
	}
	return n, nil
}

func (r *jsonReader) list(n *node, depth int) error {
	for r.dec.More() {
		tok, err := r.next()
		if err != nil {
			return err
		}
		item, err := r.value(tok, depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := r.next()
	return err
}

func (r *jsonReader) object(n *node, depth int) error {
	for r.dec.More() {
		tok, err := r.next()
		if err != nil {
			return err
		}
		key, _ := tok.(string)
		key = r.text(key)
		line := r.line
		if tok, err = r.next(); err != nil {
			return err
		}
		v, err := r.value(tok, depth+1)
		if err != nil {
			return err
		}
		n.set(field{name: key, line: line, value: v}, r.at)
	}
	_, err := r.next()
	return err
}

// text refuses what encoding/json quietly replaces: half a surrogate pair.
func (r *jsonReader) text(s string) string {
	if strings.ContainsRune(s, utf8.RuneError) {
		raw := r.data[r.before:r.dec.InputOffset()]
		if !bytes.ContainsRune(raw, utf8.RuneError) && !bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) {
			r.at.add(r.line, "", "a string holds half a surrogate pair")
		}
	}
	return s
}

// set adds a field; a name that is there already, or that nobody could read in
// an error, is a problem.
func (n *node) set(f field, at place) {
	if first, twice := n.lines[f.name]; twice {
		at.add(f.line, "", "%s appears twice, first in line %d", at.key(f.name), first)
		return
	}
	if n.lines == nil {
		n.lines = make(map[string]int)
	}
	n.lines[f.name] = f.line
	if strings.ContainsFunc(f.name, isControl) {
		at.add(f.line, "", "%s holds a control character", at.key(f.name))
	}
	n.fields = append(n.fields, f)
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// jsonNumber tells whether s is a number by the grammar of RFC 8259, section 6,
// and returns the digits of its exponent ("" without one).
func jsonNumber(s string) (exponent string, ok bool) {
	s = strings.TrimPrefix(s, "-")
	whole, s := digits(s)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return "", false
	}
	if after, dot := strings.CutPrefix(s, "."); dot {
		var fraction string
		if fraction, s = digits(after); fraction == "" {
			return "", false
		}
	}
	if s == "" {
		return "", true
	}
	return jsonExponent(s)
}

func jsonExponent(s string) (exponent string, ok bool) {
	if s[0] != 'e' && s[0] != 'E' {
		return "", false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	exponent, s = digits(s)
	return exponent, exponent != "" && s == ""
}

func digits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// checkNumber holds a manifest's numbers to the range that calls have: a number
// that needs gigabytes to write out would stop the schema compiler.
func checkNumber(n *node, at place) {
	exponent, ok := jsonNumber(n.text)
	if !ok || len(n.text) > 64 {
		at.add(n.line, "", "a number has more than 64 characters")
		n.text, n.bad = "0", true
		return
	}
	if exponent != "" {
		if e, err := strconv.Atoi(exponent); err != nil || e > 308 {
			at.add(n.line, "", "a number has an exponent beyond ±308")
			n.text, n.bad = "0", true
		}
	}
}
