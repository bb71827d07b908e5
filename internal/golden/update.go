package golden

import (
	"strings"
)

// Update is the case's file with what was judged put where it is wanted. Every
// other byte stays as it is: comments, blank lines, the ends of lines. Rows that
// came out as wanted are not touched.
func (c *Case) Update(judged []Judged) []byte {
	text := append([]string(nil), c.lines...)
	for i := range judged {
		j := &judged[i]
		switch {
		case j.AsWanted():
		case j.Row == LedgerRow:
			c.replace(text, c.sections["ledger"], j.Got)
		case c.want == "want":
			c.replace(text, c.sections["want"], j.Got)
		default:
			r := &c.Rows[j.Row]
			old := text[r.Line-1]
			body := strings.TrimRight(old, "\r\n")
			gap := body[r.at:]
			gap = gap[:len(gap)-len(strings.TrimLeft(gap, " \t"))]
			if gap == "" {
				gap = " "
			}
			text[r.Line-1] = body[:r.at] + gap + j.Got + old[len(body):]
		}
	}
	return []byte(strings.Join(text, ""))
}

// replace puts got into the lines of a section that say something, one by one.
// Lines too many are dropped, further ones come behind the last.
func (c *Case) replace(text []string, s *section, got string) {
	lines := strings.Split(got, "\n")
	end, last := c.end(), -1
	for i := s.from; i < s.to; i++ {
		if !says(strings.TrimSpace(text[i])) {
			continue
		}
		last = i
		if len(lines) == 0 {
			text[i] = ""
			continue
		}
		text[i], lines = lines[0]+end, lines[1:]
	}
	if len(lines) == 0 {
		return
	}
	more := strings.Join(lines, end) + end
	if last < 0 {
		// Behind the marker; the file may end in it.
		last = s.line - 1
	}
	if !strings.HasSuffix(text[last], "\n") {
		text[last] += end
	}
	text[last] += more
}
