package golden

import (
	"errors"
	"slices"
	"strings"

	"github.com/runlens/runlens/internal/manifest"
)

// known are the sections with a meaning of their own.
func known() []string {
	return []string{
		"call.json", "tools.json", "tools.yaml", "layout", "door", "events", "facts",
		"want", "table", "patches", "calls", "ledger",
	}
}

func doors() []string { return []string{"cli", "hook", "mcp"} }

// Parse reads a case. name is its file as messages name it; its last two elements
// name the case. The error is a [*Problems].
func Parse(name string, data []byte) (*Case, error) {
	if err := readable(name, data); err != nil {
		return nil, err
	}
	p := &parser{c: &Case{File: name, sections: map[string]*section{}, door: "cli"}, found: &Problems{}}
	list := p.c.split(data)
	if p.c.Story() == "" {
		p.found.add(name, 1, "say there what the case shows", "no story before the first section")
	}
	for _, s := range list {
		if first := p.c.sections[s.name]; first != nil {
			p.found.add(name, s.line, "", "section %s is there twice, first in line %d", cut(s.name), first.line)
			continue
		}
		p.c.sections[s.name] = s
		p.section(s)
	}
	p.manifest()
	p.wanted()
	if err := p.found.err(); err != nil {
		return nil, err
	}
	return p.c, nil
}

// parser reads a case and gathers what is wrong with it.
type parser struct {
	c     *Case
	found *Problems
	size  int // of the calls so far
}

func (p *parser) add(line int, fix, format string, args ...any) {
	p.found.add(p.c.File, line, fix, format, args...)
}

// take adds the problems of err, which is nil or a *Problems.
func (p *parser) take(err error) {
	if list, ok := errors.AsType[*Problems](err); ok {
		p.found.List = append(p.found.List, list.List...)
	}
}

// section reads what stands for itself; what is wanted of the calls comes last.
func (p *parser) section(s *section) {
	c := p.c
	isFile := strings.Contains(s.name, "/")
	if !isFile && !slices.Contains(known(), s.name) {
		fix := didYouMean(s.name, known())
		if strings.HasPrefix(fix, "one of") {
			fix += ", or FOLDER/FILE for a file of the project"
		}
		p.add(s.line, fix, "unknown section %s", cut(s.name))
		return
	}
	if line, plain := c.plain(s); !isFile && !plain {
		p.add(line, "", "section %s is not text in UTF-8", cut(s.name))
		return
	}
	switch s.name {
	case "door":
		c.door = strings.TrimSpace(c.text(s))
		if !slices.Contains(doors(), c.door) {
			p.add(s.line, didYouMean(c.door, doors()), "unknown door %s", cut(c.door))
		}
	case "layout":
		c.layout = c.said(s)
		for _, l := range c.layout {
			_, err := c.thing(l)
			p.take(err)
		}
	case "events":
		for _, l := range c.said(s) {
			ev, err := c.parseEvent(l)
			p.take(err)
			c.events = append(c.events, ev)
		}
	case "facts":
		for _, l := range c.said(s) {
			ch, err := c.parseChange(l)
			p.take(err)
			c.facts = append(c.facts, ch)
		}
	default:
		if isFile {
			if err := inside(s.name); err != nil {
				p.add(s.line, "", "section %s: %v", cut(s.name), err)
			}
			c.files = append(c.files, file{s.name, c.text(s)})
		}
	}
}

// manifest takes the case's own manifest.
func (p *parser) manifest() {
	json, yaml := p.c.sections["tools.json"], p.c.sections["tools.yaml"]
	s := json
	switch {
	case json != nil && yaml != nil:
		p.add(max(json.line, yaml.line), "keep one", "a case has tools.json or tools.yaml")
		return
	case json == nil && yaml == nil:
		return
	case json == nil:
		s = yaml
	}
	p.c.tools = manifest.Source{Name: s.name, Data: []byte(p.c.text(s))}
	if strings.TrimSpace(p.c.text(s)) == "" {
		p.add(s.line, "leave it out to judge with the project's own", "section %s is empty", cut(s.name))
	}
}
