package golden

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// section is a part of a case's file: lines[from:to] below the marker's line.
type section struct {
	name     string
	line     int // of the marker, from 1
	from, to int
}

// line is one line of a section that says something.
type line struct {
	text string // trimmed
	n    int    // from 1
}

// split cuts the file into sections. The format is that of txtar: a marker is a
// line "-- NAME --".
func (c *Case) split(data []byte) (list []*section) {
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n') + 1
		if end == 0 {
			end = len(data)
		}
		text := string(data[:end])
		c.lines, data = append(c.lines, text), data[end:]
		if name, is := marker(text); is {
			if len(list) > 0 {
				list[len(list)-1].to = len(c.lines) - 1
			}
			list = append(list, &section{name: name, line: len(c.lines), from: len(c.lines), to: len(c.lines)})
		}
	}
	if len(list) > 0 {
		list[len(list)-1].to = len(c.lines)
	}
	return list
}

// marker reads the name of a section.
func marker(text string) (name string, is bool) {
	text = strings.TrimRight(text, "\r\n")
	if len(text) < len("-- x --") || !strings.HasPrefix(text, "-- ") || !strings.HasSuffix(text, " --") {
		return "", false
	}
	name = strings.TrimSpace(text[3 : len(text)-3])
	return name, name != ""
}

// text is the section as it stands.
func (c *Case) text(s *section) string { return strings.Join(c.lines[s.from:s.to], "") }

// said are the lines of a section without blank ones and comments.
func (c *Case) said(s *section) (list []line) {
	for i := s.from; i < s.to; i++ {
		if text := strings.TrimSpace(c.lines[i]); says(text) {
			list = append(list, line{text, i + 1})
		}
	}
	return list
}

func says(trimmed string) bool { return trimmed != "" && trimmed[0] != '#' }

// story is the number of lines before the first section.
func (c *Case) story() int {
	for i, text := range c.lines {
		if _, is := marker(text); is {
			return i
		}
	}
	return len(c.lines)
}

// end is what ends the lines of the file.
func (c *Case) end() string {
	if len(c.lines) > 0 && strings.HasSuffix(c.lines[0], "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// readable says what keeps data from being a case at all.
func readable(name string, data []byte) error {
	found := &Problems{}
	switch {
	case len(data) > maxCase:
		found.add(name, 0, "make large files with `size NAME BYTES` in a layout section", "longer than %d MiB", maxCase>>20)
	case bytes.HasPrefix(data, []byte("\ufeff")):
		found.add(name, 1, "save it as UTF-8 without one", "starts with a byte order mark")
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		found.add(name, 1, "save it as UTF-8", "is UTF-16")
	}
	return found.err()
}

// plain says whether the section is text.
func (c *Case) plain(s *section) (line int, is bool) {
	for i := s.from; i < s.to; i++ {
		if !utf8.ValidString(c.lines[i]) || strings.ContainsRune(c.lines[i], 0) {
			return i + 1, false
		}
	}
	return 0, true
}
