package report

import "io"

// Guard is w for a program whose output a CI runner reads: under GitHub Actions
// a line that begins with "::", blanks aside, is a command, and so is "##["
// anywhere in a line. What is written here can't be one: the last character of
// such a mark comes out as its \u escape, which in a JSON string is the same
// text. It holds back nothing and is for one goroutine at a time, as w is.
//
// The runner compares text by the rules of a language, for which characters that
// show nothing are not there: none of them ends a mark.
func Guard(w io.Writer) io.Writer { return &guard{under: w, fresh: true} }

// Unguarded is what w guards, and whether it guards anything.
func Unguarded(w io.Writer) (io.Writer, bool) {
	if g, ok := w.(*guard); ok {
		return g.under, true
	}
	return w, false
}

type guard struct {
	under  io.Writer
	fresh  bool // nothing but blanks and colons since the line began
	colons int  // of them
	hashes int  // right before
}

func (g *guard) Write(p []byte) (int, error) {
	if _, err := g.under.Write(g.defuse(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (g *guard) defuse(p []byte) []byte {
	out := make([]byte, 0, len(p)+16)
	for _, c := range p {
		switch {
		case c == '\n' || c == '\r':
			g.fresh, g.colons, g.hashes = true, 0, 0
		case c == '#':
			g.hashes++
			g.fresh = false
		case c == '[' && g.hashes >= 2:
			g.hashes = 0
			out = append(out, `\u005b`...)
			continue
		case c == ':' && g.fresh:
			g.hashes = 0
			if g.colons++; g.colons > 1 {
				g.fresh = false
				out = append(out, `\u003a`...)
				continue
			}
		case c == ' ' || c == '\t':
			g.hashes = 0
			g.fresh = g.fresh && g.colons == 0
		case c > ' ' && c < 0x7f:
			g.fresh, g.hashes = false, 0
		}
		out = append(out, c)
	}
	return out
}
