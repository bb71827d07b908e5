package resolve

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/runlens/runlens/internal/facts"
)

// Classes of bytes that make a look at the detail worth while.
const (
	hasBackslash = 1 << iota
	hasColon
	hasTilde
	hasControl
	hasNUL
	hasPercent
	hasShell // $ * `
	hasHigh
)

// classOf is the class of a byte; 0 for one that says nothing by itself.
func classOf(c byte) uint16 {
	switch {
	case c >= utf8.RuneSelf:
		return hasHigh
	case c == 0:
		return hasNUL
	case c < ' ' || c == 0x7f:
		return hasControl
	}
	switch c {
	case '\\':
		return hasBackslash
	case ':':
		return hasColon
	case '~':
		return hasTilde
	case '%':
		return hasPercent
	case '$', '*', '`':
		return hasShell
	}
	return 0
}

// Lexical says what is odd about a path as text, without a look at any file.
// The forms of every system count on every system, so that one policy gives one
// verdict everywhere. It prefers a missed oddity to a refused ordinary name
// where the kernel and Fold take the name literally anyway: `100%.txt`,
// `[id].tsx`, `$lib/x.ts`, `a$b`, `foo~`, `12:30.log` and names in any script
// have none.
func Lexical(raw string) facts.Lexical {
	l := facts.Lexical{Empty: raw == "", TooLong: len(raw) >= maxPath}
	var seen uint16
	for i := 0; i < len(raw); i++ {
		if c := raw[i]; !isLetter(c) { // most bytes are
			seen |= classOf(c)
		}
	}
	l.Absolute = raw != "" && raw[0] == '/'
	l.Backslash = seen&hasBackslash != 0
	l.Tilde = raw != "" && raw[0] == '~'
	l.NUL = seen&hasNUL != 0
	l.Control = seen&hasControl != 0
	if seen&hasHigh != 0 {
		lexicalRunes(&l, raw)
	}
	if seen&hasPercent != 0 {
		l.PercentEncoded = percentEncoded(raw)
	}
	if seen&hasColon != 0 {
		l.URL = isURL(raw)
	}
	l.Drive = isDrive(raw)
	if seen&hasShell != 0 {
		l.Expansion = strings.Contains(raw, "${") || strings.Contains(raw, "$(") || strings.ContainsAny(raw, "*`")
	}
	lexicalSegments(&l, raw, seen)
	return l
}

// either has the flags of both.
func either(a, b facts.Lexical) facts.Lexical {
	return facts.Lexical{
		Absolute:         a.Absolute || b.Absolute,
		ParentSegment:    a.ParentSegment || b.ParentSegment,
		ParentEscape:     a.ParentEscape || b.ParentEscape,
		Backslash:        a.Backslash || b.Backslash,
		Drive:            a.Drive || b.Drive,
		Tilde:            a.Tilde || b.Tilde,
		NUL:              a.NUL || b.NUL,
		Control:          a.Control || b.Control,
		Invisible:        a.Invisible || b.Invisible,
		BadUTF8:          a.BadUTF8 || b.BadUTF8,
		PercentEncoded:   a.PercentEncoded || b.PercentEncoded,
		URL:              a.URL || b.URL,
		Empty:            a.Empty || b.Empty,
		TooLong:          a.TooLong || b.TooLong,
		TrailingDotSpace: a.TrailingDotSpace || b.TrailingDotSpace,
		ReservedName:     a.ReservedName || b.ReservedName,
		StreamName:       a.StreamName || b.StreamName,
		ShortName:        a.ShortName || b.ShortName,
		Expansion:        a.Expansion || b.Expansion,
	}
}

// lexicalSegments looks at each name; '/' and '\' both end one.
func lexicalSegments(l *facts.Lexical, raw string, seen uint16) {
	depth := 0
	for start := 0; start <= len(raw); {
		end := start
		for end < len(raw) && raw[end] != '/' && raw[end] != '\\' {
			end++
		}
		s := raw[start:end]
		start = end + 1
		switch s {
		case "", ".":
			continue
		case "..":
			l.ParentSegment = true
			depth--
			l.ParentEscape = l.ParentEscape || depth < 0 && !l.Absolute
			continue
		}
		depth++
		l.TooLong = l.TooLong || len(s) > 255
		last := s[len(s)-1]
		l.TrailingDotSpace = l.TrailingDotSpace || last == '.' || last == ' '
		l.ReservedName = l.ReservedName || isReserved(s)
		if seen&hasColon != 0 {
			l.StreamName = l.StreamName || isStream(s)
		}
		if seen&hasTilde != 0 {
			l.ShortName = l.ShortName || isShort(s)
		}
		if seen&(hasShell|hasPercent) != 0 {
			l.Expansion = l.Expansion || isVariable(s)
		}
	}
}

// lexicalRunes looks at what is not ASCII. A joiner or a variation selector
// beside a letter or symbol of a script that uses them (Persian, Indic scripts,
// emoji) is spelling, not hiding; Fold drops it either way.
func lexicalRunes(l *facts.Lexical, raw string) {
	prev := rune(0)
	for i, r := range raw {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(raw[i:]); n == 1 {
				l.BadUTF8 = true
			}
		}
		if 0x80 <= r && r < 0xa0 {
			l.Control = true
		}
		if isInvisible(r) {
			next, _ := utf8.DecodeRuneInString(raw[i+utf8.RuneLen(r):])
			if !joins(r, prev, next) {
				l.Invisible = true
			}
		}
		prev = r
	}
}

func joins(r, prev, next rune) bool {
	switch {
	case unicode.Is(unicode.Variation_Selector, r):
		return isScript(prev)
	case r == 0x200c || r == 0x200d:
		return (isScript(prev) || unicode.Is(unicode.Variation_Selector, prev)) && isScript(next)
	}
	return false
}

// isScript holds for what joiners and selectors may stand beside. Wide Latin
// letters are not among them: they fold to ASCII.
func isScript(r rune) bool {
	return r >= 0x300 && !(0xff00 <= r && r <= 0xffef) && !isInvisible(r) && !unicode.Is(unicode.Latin, r) &&
		(unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsSymbol(r))
}

// percentEncoded finds a separator, a dot or a NUL that a URL decoder would
// produce, decoding any number of times, and the overlong forms of the first
// two. `100%.txt` and `50%20off` have none.
func percentEncoded(s string) bool {
	s = strings.ToLower(s)
	for strings.Contains(s, "%25") {
		s = strings.ReplaceAll(s, "%25", "%")
	}
	for _, code := range []string{"%2e", "%2f", "%5c", "%00", "%c0%ae", "%c0%af", "%c1%9c", "%u002e", "%u002f", "%u005c"} {
		if strings.Contains(s, code) {
			return true
		}
	}
	return false
}

// isURL wants a scheme and "://", or "file:/".
func isURL(s string) bool {
	scheme, rest, _ := strings.Cut(s, ":")
	if scheme == "" || !isLetter(scheme[0]) {
		return false
	}
	for i := 1; i < len(scheme); i++ {
		if c := scheme[i]; !isLetter(c) && !isDigit(c) && c != '+' && c != '-' && c != '.' {
			return false
		}
	}
	return strings.HasPrefix(rest, "//") || strings.EqualFold(scheme, "file") && strings.HasPrefix(rest, "/")
}

// isDrive finds what Windows takes for a volume: c:, c:\x, c:x, \\host, \\?\,
// \??\, //host.
func isDrive(s string) bool {
	if len(s) < 2 {
		return false
	}
	switch {
	case isLetter(s[0]) && s[1] == ':':
		return true
	case strings.HasPrefix(s, `\??\`):
		return true
	case isSlash(s[0]) && isSlash(s[1]):
		return len(s) > 2 && !isSlash(s[2])
	}
	return false
}

// isReserved finds the names of Windows devices, with any extension.
// https://learn.microsoft.com/windows/win32/fileio/naming-a-file
func isReserved(s string) bool {
	if c := s[0] | 0x20; c != 'c' && c != 'p' && c != 'a' && c != 'n' && c != 'l' {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '.' || s[i] == ':' {
			s = s[:i]
		}
	}
	s = strings.TrimRight(s, " ")
	switch {
	case len(s) == 3:
		return equalAny(s, "con", "prn", "aux", "nul")
	case len(s) == 4 && isDigit(s[3]):
		return equalAny(s[:3], "com", "lpt")
	case len(s) == 5 && (s[3:] == "¹" || s[3:] == "²" || s[3:] == "³"):
		return equalAny(s[:3], "com", "lpt")
	case len(s) == 6 || len(s) == 7:
		return equalAny(s, "conin$", "conout$")
	}
	return false
}

func equalAny(s string, names ...string) bool {
	for _, n := range names {
		if strings.EqualFold(s, n) {
			return true
		}
	}
	return false
}

// isStream finds an NTFS stream: a type that starts with '$' (x::$DATA,
// x:s:$DATA, d:$I30:$INDEX_ALLOCATION), or a name with an extension and a
// stream after it (f.txt:s, .env:s). A colon by itself is an ordinary
// character: 12:30.log, "Title: more.md", v1.2:rc.
func isStream(s string) bool {
	name, stream, found := strings.Cut(s, ":")
	if !found {
		return false
	}
	if strings.HasPrefix(stream, "$") || strings.Contains(stream, ":$") {
		return true
	}
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 || dot == len(name)-1 || len(name)-dot > 9 || !isLetter(name[dot+1]) {
		return false
	}
	for i := dot + 2; i < len(name); i++ {
		if !isLetter(name[i]) && !isDigit(name[i]) {
			return false
		}
	}
	return stream != "" && stream[0] != ' '
}

// isShort finds a name in the 8.3 form: up to six characters, '~', digits, at
// most eight in all, and an extension of up to three.
func isShort(s string) bool {
	base, ext, _ := strings.Cut(s, ".")
	tilde := strings.LastIndexByte(base, '~')
	if tilde < 1 || tilde > 6 || tilde == len(base)-1 || len(base) > 8 || len(ext) > 3 {
		return false
	}
	for i := tilde + 1; i < len(base); i++ {
		if !isDigit(base[i]) {
			return false
		}
	}
	return !strings.ContainsAny(ext, ".~ ") && !strings.ContainsAny(base, " ")
}

// isVariable finds a name that a shell replaces as a whole: $HOME, $env:X,
// %USERPROFILE%. `$lib`, `$id.tsx` and `a$b` are names in common frameworks.
func isVariable(s string) bool {
	switch s[0] {
	case '$':
		if len(s) > 5 && strings.EqualFold(s[:5], "$env:") {
			return true
		}
		if len(s) < 2 || isDigit(s[1]) {
			return false
		}
		for i := 1; i < len(s); i++ {
			if c := s[i]; c != '_' && !isDigit(c) && !('A' <= c && c <= 'Z') {
				return false
			}
		}
		return true
	case '%':
		end := strings.IndexByte(s[1:], '%')
		if end < 3 || isDigit(s[1]) { // two digits are an encoded byte
			return false
		}
		for _, c := range []byte(s[1 : end+1]) {
			if !isLetter(c) && !isDigit(c) && c != '_' && c != '(' && c != ')' {
				return false
			}
		}
		return true
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isSlash(c byte) bool  { return c == '/' || c == '\\' }
