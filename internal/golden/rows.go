package golden

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// arrow stands before what is wanted of a call or patch.
const arrow = "=>"

// maxPath bounds what "*N" makes of a table's path, a little above the 16 MiB that
// bound a call; maxCalls bounds all calls of a case together.
const (
	maxPath  = 17 << 20
	maxCalls = 256 << 20
)

// wanted finds the one section that says what is wanted, and reads its rows.
func (p *parser) wanted() {
	c := p.c
	var s *section
	for _, name := range []string{"want", "table", "patches", "calls"} {
		other := c.sections[name]
		switch {
		case other == nil:
		case s != nil:
			p.add(max(s.line, other.line), "keep one", "a case has one of want, table, patches and calls")
			return
		default:
			s, c.want = other, name
		}
	}
	base := c.sections["call.json"]
	switch {
	case s == nil:
		p.add(0, "add want, table, patches or calls", "no section says what is wanted")
		return
	case c.want == "calls" && base != nil:
		p.add(base.line, "leave call.json out", "the calls of a calls section stand in its rows")
		return
	case c.want != "calls" && base == nil:
		p.add(s.line, "add it", "section %s needs call.json", c.want)
		return
	}
	p.rows(s)
	if c.want == "want" {
		return
	}
	for _, name := range []string{"events", "ledger"} {
		if other := c.sections[name]; other != nil {
			p.add(other.line, "put the call into a case of its own", "section %s goes with a want section", cut(name))
		}
	}
	if len(c.Rows) == 0 && len(p.found.List) == 0 {
		p.add(s.line, "", "section %s has no rows", cut(c.want))
	}
}

// rows reads the section that says what is wanted.
func (p *parser) rows(s *section) {
	c := p.c
	call := ""
	if base := c.sections["call.json"]; base != nil {
		call = c.text(base)
	}
	switch c.want {
	case "want":
		var text []string
		for _, l := range c.said(s) {
			text = append(text, l.text)
		}
		p.row(Row{Line: s.line + 1, Call: call, Want: strings.Join(text, "\n"), sep: "\n"})
	case "table":
		if !strings.Contains(call, `"$PATH"`) {
			p.add(c.sections["call.json"].line, "", `call.json of a table names no "$PATH"`)
			return
		}
		for _, l := range c.said(s) {
			p.table(l, call)
		}
	case "patches":
		doc, err := c.base(call)
		if err != nil {
			p.take(err)
			return
		}
		for _, l := range c.said(s) {
			p.patch(l, call, doc)
		}
	case "calls":
		for _, l := range c.said(s) {
			i := strings.LastIndex(l.text+" ", arrow+" ")
			if i < 1 || l.text[i-1] != ' ' {
				p.add(l.n, "", "row without %q: want CALL %s verdict and codes", arrow, arrow)
				continue
			}
			shown := strings.TrimSpace(l.text[:i])
			p.row(p.behind(l, i+len(arrow), Row{Name: shown, Call: shown}))
		}
	}
}

// behind completes a row with what its line wants behind the first n bytes.
func (p *parser) behind(l line, n int, r Row) Row {
	raw := p.c.lines[l.n-1]
	lead := strings.Index(raw, l.text)
	r.Line, r.sep, r.Want = l.n, " ", squeeze(l.text[n:])
	r.at = lead + n
	return r
}

// row adds a row, once its verdict is one.
func (p *parser) row(r Row) {
	if word, _, _ := strings.Cut(strings.Fields(r.Want + " .")[0], "\n"); word != "." && !slices.Contains(verdicts(), word) {
		p.add(r.Line, didYouMean(word, verdicts()), "unknown verdict %s", cut(word))
		return
	}
	if p.size += len(r.Call); p.size > maxCalls {
		p.add(r.Line, "divide the case", "the calls up to here are longer than %d MiB", maxCalls>>20)
		return
	}
	p.c.Rows = append(p.c.Rows, r)
}

func verdicts() []string { return []string{"allow", "deny", "ask", "block"} }

// table reads a row of a table.
func (p *parser) table(l line, call string) {
	path, n, err := tablePath(l.text)
	if err != nil {
		p.add(l.n, "", "row of a table: %v: want \"PATH\" verdict and codes", err)
		return
	}
	quoted, err := json.Marshal(path)
	if err != nil {
		p.add(l.n, "", "row of a table: %v", err)
		return
	}
	p.row(p.behind(l, n, Row{Name: l.text[:n], Call: strings.ReplaceAll(call, `"$PATH"`, string(quoted))}))
}

// tablePath reads the path at the start of a table's row: JSON strings, each with
// "*N" for N times, joined by "+". It ends at n.
func tablePath(row string) (path string, n int, err error) {
	for {
		var text string
		dec := json.NewDecoder(strings.NewReader(row[n:]))
		if err := dec.Decode(&text); err != nil {
			return "", 0, fmt.Errorf("no JSON string at byte %d", n+1)
		}
		n += int(dec.InputOffset())
		times := 1
		if strings.HasPrefix(row[n:], "*") {
			end := n + 1
			for end < len(row) && '0' <= row[end] && row[end] <= '9' {
				end++
			}
			if times, err = strconv.Atoi(row[n+1 : end]); err != nil {
				return "", 0, fmt.Errorf("no number behind \"*\" at byte %d", n+1)
			}
			n = end
		}
		if len(text) > 0 && times > (maxPath-len(path))/len(text) {
			return "", 0, fmt.Errorf("the path is longer than %d bytes", maxPath)
		}
		path += strings.Repeat(text, times)
		if !strings.HasPrefix(row[n:], "+") {
			return path, n, nil
		}
		n++
	}
}

// squeeze leaves one space between words; strings in quotes stay as they are.
func squeeze(s string) string {
	var words []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		n := strings.IndexAny(s, " \t")
		if n < 0 {
			n = len(s)
		}
		if s[0] == '"' {
			if quoted, err := strconv.QuotedPrefix(s); err == nil {
				n = len(quoted)
			}
		}
		words, s = append(words, s[:n]), s[n:]
	}
	return strings.Join(words, " ")
}
