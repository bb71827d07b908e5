package report

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mostMessage is how many bytes of a message a runner keeps.
const mostMessage = 4096

// GitHub is the findings as commands of a GitHub Actions runner, one line each:
// an error or a warning at the call's line. What passed or was skipped has none.
// Whatever the findings hold, each line is one command of ours.
func GitHub(list []Finding) []byte {
	var b strings.Builder
	for i := range list {
		f := &list[i]
		kind := levelOf(f.Status)
		if kind == "" {
			continue
		}
		b.WriteString("::" + kind + " ")
		if f.Place.File != "" && f.Place.File != Stdin {
			b.WriteString("file=" + property(filepath.ToSlash(filepath.Clean(f.Place.File))) + ",")
			if f.Place.Line > 0 {
				b.WriteString("line=" + strconv.Itoa(f.Place.Line) + ",")
			}
			if f.Place.Line > 0 && f.Place.Column > 0 {
				b.WriteString("col=" + strconv.Itoa(f.Place.Column) + ",")
			}
		}
		fmt.Fprintf(&b, "title=%s::%s\n", property("runlens: "+f.code()), commandData(strings.Join(f.lines(), "\n")))
	}
	return []byte(b.String())
}

// property is text as a command's property: one line.
func property(text string) string {
	return strings.NewReplacer("%", "%25", ":", "%3A", ",", "%2C").Replace(defused(Escape(text)))
}

// commandData is lines as a command's message, not longer than a runner keeps it.
func commandData(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = defused(Escape(lines[i]))
	}
	text = strings.Join(lines, "\n")
	if len(text) > mostMessage {
		end := mostMessage - len("…")
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return strings.NewReplacer("%", "%25", "\n", "%0A").Replace(text)
}

// defused is text without the mark by which a runner finds a command inside a
// line, for those who write lines that begin with one.
func defused(text string) string { return strings.ReplaceAll(text, "##[", `##\u005b`) }
