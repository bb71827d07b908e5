package ledger

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds nesting in a payload.
const maxDepth = 1000

// links are the members of a payload that the ledger itself reads.
type links struct {
	verdict, started int64 // 0 when absent
	detached         bool
	file             string
}

// Encoded is a payload in the ledger's form. Making it before Commit keeps the
// work on a large one out of the critical section.
type Encoded struct {
	raw   json.RawMessage
	found links
}

// Encode prepares payload for Tx.Add, which says what it may be.
func Encode(payload any) (Encoded, error) {
	raw, found, err := encodePayload(payload)
	return Encoded{raw, found}, err
}

// encodePayload returns payload as one JSON object in the ledger's form, and
// its links. Bytes that already have the form are returned as they are.
func encodePayload(payload any) ([]byte, links, error) {
	var raw []byte
	switch p := payload.(type) {
	case nil:
		return []byte("{}"), links{}, nil
	case Encoded:
		if p.raw == nil {
			return nil, links{}, errors.New("payload was not encoded")
		}
		return p.raw, p.found, nil
	case json.RawMessage:
		raw = p
	case []byte:
		raw = p
	default:
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(payload); err != nil {
			return nil, links{}, errors.New("payload has no JSON form")
		}
		raw = bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	}
	found, err := scanPayload(raw)
	if errors.Is(err, errSpace) {
		var buf bytes.Buffer
		if json.Compact(&buf, raw) == nil {
			raw = buf.Bytes()
			found, err = scanPayload(raw)
		}
	}
	return raw, found, err
}

var (
	errSpace = errors.New("payload has white space outside strings")
	errTwice = errors.New("payload has a member name twice")
)

// scanPayload checks, in one pass, that p is a JSON object in the form that
// the package comment demands, and picks out its links.
func scanPayload(p []byte) (links, error) {
	s := scanner{p: p, keys: make([][]byte, 0, 64)} // room for a recorded input: growing it costs a sixth of a fold
	if len(p) == 0 || p[0] != '{' && !isSpace(p[0]) {
		return links{}, errors.New("payload is not a JSON object")
	}
	if err := s.value(0); err != nil {
		return links{}, err
	}
	if s.i != len(p) {
		return links{}, s.unexpected()
	}
	if !utf8.Valid(p) {
		return links{}, errors.New("payload is not valid UTF-8")
	}
	return s.links, nil
}

type scanner struct {
	p     []byte
	i     int
	keys  [][]byte // of all open objects, innermost last
	links links
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (s *scanner) peek() byte {
	if s.i < len(s.p) {
		return s.p[s.i]
	}
	return 0
}

func (s *scanner) unexpected() error {
	switch {
	case s.i >= len(s.p):
		return errors.New("payload ends in the middle")
	case isSpace(s.p[s.i]):
		return errSpace
	default:
		return fmt.Errorf("payload is not JSON at byte %d", s.i)
	}
}

func (s *scanner) value(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("payload is nested deeper than %d", maxDepth)
	}
	switch c := s.peek(); {
	case c == '"':
		_, err := s.str()
		return err
	case c == '{':
		return s.object(depth)
	case c == '[':
		return s.array(depth)
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(s.p[min(s.i, len(s.p)):], []byte(word)) {
			s.i += len(word)
			return nil
		}
	}
	return s.unexpected()
}

func (s *scanner) array(depth int) error {
	s.i++
	if s.peek() == ']' {
		s.i++
		return nil
	}
	for {
		if err := s.value(depth + 1); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.i++
		case ']':
			s.i++
			return nil
		default:
			return s.unexpected()
		}
	}
}

func (s *scanner) object(depth int) error {
	s.i++
	if s.peek() == '}' {
		s.i++
		return nil
	}
	outer := len(s.keys)
	defer func() { s.keys = s.keys[:outer] }()
	var many map[string]bool // takes over from the linear search in a wide object
	for {
		if s.peek() != '"' {
			return s.unexpected()
		}
		key, err := s.key()
		if err != nil {
			return err
		}
		if many, err = s.once(key, outer, many); err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.unexpected()
		}
		s.i++
		start := s.i
		if err := s.value(depth + 1); err != nil {
			return err
		}
		if depth == 0 {
			s.link(key, s.p[start:s.i])
		}
		switch s.peek() {
		case ',':
			s.i++
		case '}':
			s.i++
			return nil
		default:
			return s.unexpected()
		}
	}
}

// once notes key among those of the object whose keys start at outer.
func (s *scanner) once(key []byte, outer int, many map[string]bool) (map[string]bool, error) {
	const wide = 32
	if many != nil {
		if many[string(key)] {
			return many, errTwice
		}
		many[string(key)] = true
		return many, nil
	}
	for _, k := range s.keys[outer:] {
		if bytes.Equal(k, key) {
			return nil, errTwice
		}
	}
	s.keys = append(s.keys, key)
	if len(s.keys)-outer == wide {
		many = make(map[string]bool, 2*wide)
		for _, k := range s.keys[outer:] {
			many[string(k)] = true
		}
	}
	return many, nil
}

// link keeps the value of a member that the ledger reads. A value of the wrong
// kind counts as absent; pairs.add then refuses the event.
func (s *scanner) link(key, value []byte) {
	switch string(key) {
	case "verdict_seq":
		s.links.verdict, _ = parseSeq(string(value))
	case "started_seq":
		s.links.started, _ = parseSeq(string(value))
	case "detached":
		s.links.detached = string(value) == "true"
	case "file":
		if len(value) < 64 {
			s.links.file = strings.Trim(string(value), `"`)
		}
	}
}

// key reads a member name and returns it unescaped.
func (s *scanner) key() ([]byte, error) {
	start := s.i
	escaped, err := s.str()
	if err != nil {
		return nil, err
	}
	if !escaped {
		return s.p[start+1 : s.i-1], nil
	}
	var plain string
	if err := json.Unmarshal(s.p[start:s.i], &plain); err != nil {
		return nil, fmt.Errorf("payload is not JSON at byte %d", start)
	}
	return []byte(plain), nil
}

// str passes over a string and tells whether it holds an escape.
func (s *scanner) str() (escaped bool, err error) {
	p := s.p
	for i := plain(p, s.i+1); i < len(p); i = plain(p, i) {
		switch p[i] {
		case '"':
			s.i = i + 1
			return escaped, nil
		case '\\':
			escaped = true
			n := escape(p[i:])
			if n == 0 {
				return false, fmt.Errorf("payload has a bad escape at byte %d", i)
			}
			i += n
		default:
			return false, fmt.Errorf("payload has a control character at byte %d", i)
		}
	}
	s.i = len(p)
	return false, s.unexpected()
}

// plain returns the index of the first byte at or behind i that is a quote, a
// backslash or a control character, len(p) when there is none. It looks at
// eight bytes at a time: of v, the lowest byte whose top bit is set in
// (v-n)&^v is the first that is smaller than n.
func plain(p []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(p); i += 8 {
		v := binary.LittleEndian.Uint64(p[i:])
		quote, slash := v^ones*'"', v^ones*'\\'
		hit := (v-ones*0x20)&^v | (quote-ones)&^quote | (slash-ones)&^slash
		if hit &= tops; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(p) && p[i] >= 0x20 && p[i] != '"' && p[i] != '\\'; i++ {
	}
	return i
}

// escape returns the length of the escape that p begins with (a surrogate pair
// is one), 0 when it is none.
func escape(p []byte) int {
	if len(p) < 2 {
		return 0
	}
	if bytes.IndexByte([]byte(`"\/bfnrt`), p[1]) >= 0 {
		return 2
	}
	switch r := hex4(p); {
	case r < 0 || r >= 0xdc00 && r < 0xe000:
		return 0
	case r >= 0xd800 && r < 0xdc00:
		if low := hex4(p[6:]); low < 0xdc00 || low >= 0xe000 {
			return 0
		}
		return 12
	default:
		return 6
	}
}

// hex4 returns the code unit of a \uXXXX that p begins with, else -1.
func hex4(p []byte) int {
	if len(p) < 6 || p[0] != '\\' || p[1] != 'u' {
		return -1
	}
	r := 0
	for _, c := range p[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | int(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | int(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.i++
	}
	if s.peek() == '0' {
		s.i++
	} else if !s.digits() {
		return s.unexpected()
	}
	if s.peek() == '.' {
		s.i++
		if !s.digits() {
			return s.unexpected()
		}
	}
	if s.peek()|0x20 == 'e' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		if !s.digits() {
			return s.unexpected()
		}
	}
	return nil
}

func (s *scanner) digits() bool {
	start := s.i
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.i++
	}
	return s.i > start
}
