package engine

import (
	"cmp"
	"maps"
	"slices"
)

// catalogue checks data.runlens.codes against the rules that emit them and
// joins them with Go's own codes. Every code is declared once and is used.
func catalogue(data *node, public []Rule, emits []emitter, name string, p *problems) map[string]*Code {
	codes := map[string]*Code{}
	for _, c := range goCodes() {
		codes[c.Code] = &c
	}
	declared := data.at(folder, "codes")
	if declared == nil || declared.kind != '{' {
		p.add(name, 0, "declare each code with gate, retryable and remedy", "data.runlens.codes is missing")
		declared = &node{kind: '{'}
	}
	for _, code := range declared.keys() {
		n := declared.obj[code]
		if codes[code] != nil {
			p.add(n.file, n.line, "internal/engine declares it", "code %s is declared twice", cut(code))
			continue
		}
		if c := readCode(code, n, p); c != nil {
			codes[code] = c
		}
	}
	names := slices.Sorted(maps.Keys(codes))
	used := map[string]bool{}
	for _, e := range emits {
		used[e.code] = true
		c := codes[e.code]
		switch {
		case c == nil:
			p.add(e.file, e.line, cmp.Or(didYouMean(e.code, names), "declare it in data.runlens.codes"), "code %s is unknown", cut(e.code))
		case c.File == "":
			p.add(e.file, e.line, "", "code %s belongs to RunLens itself, no rule can emit it", cut(e.code))
		case c.ruleFile == "":
			c.Title, c.ruleFile, c.ruleLine = cmp.Or(c.Title, e.title), e.file, e.line
		}
	}
	for _, r := range public {
		if c := codes[r.Code]; c != nil && !slices.Contains(c.Effects, r.Kind) {
			c.Effects = append(c.Effects, r.Kind)
		}
	}
	for _, code := range names {
		if c := codes[code]; c.File != "" && !used[code] {
			p.add(c.File, c.Line, "delete it, or name it in the METADATA of the rule that emits it", "code %s is not used by any rule", cut(code))
		}
		slices.Sort(codes[code].Effects)
	}
	return codes
}

func readCode(code string, n *node, p *problems) *Code {
	c := &Code{Code: code, File: n.file, Line: n.line}
	where := "data.runlens.codes." + code
	if n.kind != '{' {
		p.add(n.file, n.line, "", "%s must be an object", where)
		return nil
	}
	for _, k := range n.keys() {
		v := n.obj[k]
		ok := true
		switch k {
		case "title":
			c.Title, ok = v.leaf.(string)
		case "gate":
			c.Gate, ok = v.leaf.(string)
		case "remedy":
			c.Remedy, ok = v.leaf.(string)
		case "retryable":
			c.Retryable, ok = v.leaf.(bool)
		default:
			p.add(v.file, v.line, didYouMean(k, []string{"gate", "remedy", "retryable", "title"}), "%s has an unknown key %s", where, cut(k))
		}
		if !ok {
			p.add(v.file, v.line, "", "%s.%s has the wrong type", where, k)
		}
	}
	for _, k := range []string{"gate", "remedy", "retryable"} {
		if n.obj[k] == nil {
			p.add(n.file, n.line, "", "%s has no %s", where, k)
		}
	}
	return c
}

// gate is one entry of data.runlens.order.
type gate struct {
	name  string
	codes []string
}

// readOrder reads data.runlens.order and refuses one that names codes nobody
// knows: a typo there would quietly change which reason comes first.
func readOrder(data *node, codes map[string]*Code, p *problems) []gate {
	names := slices.Sorted(maps.Keys(codes))
	order := data.at(folder, "order")
	if order == nil || len(order.arr) == 0 {
		p.add(data.file, 0, "list the gates and their codes, first reason first", "data.runlens.order is missing or empty")
		return nil
	}
	var gates []gate
	var known []string
	for _, entry := range order.arr {
		var g gate
		if n := entry.at("gate"); n != nil {
			g.name, _ = n.leaf.(string)
		}
		if g.name == "" {
			p.add(entry.file, entry.line, "", "entry of data.runlens.order has no gate")
			continue
		}
		if list := entry.at("codes"); list != nil {
			for _, e := range list.arr {
				code, _ := e.leaf.(string)
				if codes[code] == nil {
					p.add(e.file, e.line, didYouMean(code, names), "data.runlens.order names an unknown code %s", cut(code))
				}
				g.codes = append(g.codes, code)
			}
		}
		gates, known = append(gates, g), append(known, g.name)
	}
	for _, code := range names {
		if c := codes[code]; c.File != "" && !slices.Contains(known, c.Gate) {
			p.add(c.File, c.Line, didYouMean(c.Gate, known), "gate %s of code %s is not in data.runlens.order", cut(c.Gate), cut(code))
		}
	}
	return gates
}
