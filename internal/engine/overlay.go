package engine

import (
	"slices"
	"strings"
)

// open are the shipped objects that an overlay may add keys to: more codes, more
// kinds of secrets and more that needs an approval can only tighten. Any other
// key that a shipped rule looks up could loosen it.
var open = []string{"codes", "approvals", "secrets"}

// addOverlay puts a project's own files on top of an embedded tree. It may only
// add: families, data keys and codes that the tree below does not have. So an
// overlay can never change what a shipped rule, helper or setting says.
func addOverlay(t *tree, data *node, src Source, p *problems) {
	mergeOverlay(t, readTree(src.Overlay, src.OverName, p), data, src, p)
}

func mergeOverlay(t *tree, over tree, data *node, src Source, p *problems) {
	t.empty = append(t.empty, over.empty...)
	shipped := map[string]bool{}
	for _, f := range t.modules {
		if family, ok := familyOf(f.rel); ok {
			shipped[family] = true
		}
	}
	for _, f := range over.modules {
		family, ok := familyOf(f.rel)
		switch {
		case !ok:
			p.add(f.shown, 0, "copy the whole tree with `runlens policy export` to change it",
				"an overlay can only add families under runlens/rules/")
		case shipped[family]:
			p.add(f.shown, 0, "give the family a name of its own", "family %s is a shipped one, an overlay cannot change it", cut(family))
		default:
			t.modules = append(t.modules, f)
		}
	}
	added := mergeData(over, src.OverName, p)
	for _, family := range added.at(folder, "rules").keysOrNone() {
		if n := added.at(folder, "rules", family); shipped[family] {
			p.add(n.file, n.line, "", "family %s is a shipped one, an overlay cannot add data to it", cut(family))
		}
	}
	if n := added.at(folder, "lib"); n != nil {
		p.add(n.file, n.line, "", "data.runlens.lib belongs to the shipped tree")
	}
	for _, key := range added.at(folder).keysOrNone() {
		if key != "rules" && !slices.Contains(open, key) {
			onlyOwn(data.at(folder, key), added.at(folder, key), []string{folder, key}, p)
		}
	}
	merge(data, added, nil, func(keys []string, old, add *node) {
		if string(old.canonical(nil)) != string(add.canonical(nil)) {
			p.add(add.file, add.line, "an overlay can only add keys", "data.%s is set by the shipped tree", strings.Join(keys, "."))
		}
	})
}

// onlyOwn refuses keys that are added to an object of the shipped tree.
func onlyOwn(shipped, added *node, at []string, p *problems) {
	if shipped == nil || shipped.kind != '{' || added.kind != '{' {
		return
	}
	for _, key := range added.keys() {
		n := added.obj[key]
		if shipped.obj[key] == nil {
			p.add(n.file, n.line, "an overlay can add keys of its own, and to "+strings.Join(open, ", "),
				"data.%s is an object of the shipped tree, %s cannot be added to it", strings.Join(at, "."), cut(key))
			continue
		}
		onlyOwn(shipped.obj[key], n, append(slices.Clip(at), key), p)
	}
}

func familyOf(rel string) (string, bool) {
	rest, ok := strings.CutPrefix(rel, rulesFolder)
	if !ok {
		return "", false
	}
	family, _, ok := strings.Cut(rest, "/")
	return family, ok
}

func (n *node) keysOrNone() []string {
	if n == nil {
		return nil
	}
	return n.keys()
}
