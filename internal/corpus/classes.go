package corpus

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// class is a class of paths.
type class struct {
	name  string
	value func(bytes int64) string
	sizes []size
	few   bool // it stands for others where everything else is varied
	good  bool
}

// size is a class of sizes.
type size struct {
	name  string
	bytes int64
	odd   bool
}

const noSize = "none"

// sizesOf are the sizes at which a verdict may change.
func sizesOf(tool *manifest.Tool, limits []int64) []size {
	list := []size{{"one", 1, false}, {"empty", 0, true}}
	add := func(name string, bytes int64) {
		if !slices.ContainsFunc(list, func(s size) bool { return s.bytes == bytes }) {
			list = append(list, size{name, bytes, true})
		}
	}
	if tool.MaxBytes > 0 {
		add("max", tool.MaxBytes)
		add("over_max", tool.MaxBytes+1)
	}
	for i, limit := range limits {
		name := "limit"
		if i > 0 {
			name = "higher_limit"
		}
		add(name, limit)
		add("over_"+name, limit+1)
	}
	return list
}

func fileOf(bytes int64) string { return "f" + strconv.FormatInt(bytes, 10) }

// classList collects classes.
type classList struct {
	list  []class
	none  []size
	sized []size
}

func (l *classList) add(name, value string) *class {
	l.list = append(l.list, class{name: name, value: func(int64) string { return value }, sizes: l.none})
	return &l.list[len(l.list)-1]
}

// files adds a class of files of each size.
func (l *classList) files(name string, value func(file string) string) *class {
	l.list = append(l.list, class{name: name, value: func(bytes int64) string { return value(fileOf(bytes)) }, sizes: l.sized})
	return &l.list[len(l.list)-1]
}

// classesOf are the classes of paths for a slot: what is there, where it lies, and
// how it is spelt.
func (t *slot) classesOf(l *layout, k *knowledge, tool *manifest.Tool) []class {
	c := &classList{none: []size{{noSize, 1, false}}, sized: sizesOf(tool, k.reads)}
	t.inside(c)
	t.outside(c, l)
	t.protected(c)
	t.names(c, k)
	t.spellings(c, l)
	for _, s := range k.secrets {
		c.add("secret_"+s.kind, t.spelt(s.text))
	}
	c.add("secret_first", t.spelt(firstSecret(k))).few = true
	c.add("longer_than_recorded", t.spelt(strings.Repeat("a/", k.long/2)+"a"))
	return c.list
}

func firstSecret(k *knowledge) string {
	if len(k.secrets) == 0 {
		return "no-secret"
	}
	return k.secrets[0].text
}

// inside are objects in the root.
func (t *slot) inside(c *classList) {
	in := func(name string) string { return t.value(t.at(name)) }
	few := func(k *class) *class { k.few = true; return k }
	write, list := t.has(facts.Write), t.has(facts.List)
	few(c.files("file", in)).good = !write && !list
	few(c.add("new", in("new"))).good = write
	few(c.add("folder", in("folder"))).good = list && !write
	c.add("root", t.value(t.root))
	c.add("new_in_missing_folder", t.value(path.Join(t.root, "nofolder", t.file("new"))))
	c.add("below_file", in("f1")+"/"+t.file("new"))
	c.add("in_folder", t.value(path.Join(t.root, t.file("folder"), t.file("f1"))))
	c.add("folder_slash", in("folder")+"/")
	c.add("file_slash", in("f1")+"/")
	c.files("link_inside", func(f string) string { return in("link-" + f) })
	few(c.files("link_outside", func(f string) string { return in("out-" + f) }))
	few(c.files("hard_link", func(f string) string { return in("hard-" + f) }))
	for _, name := range []string{
		"link_nowhere", "link_loop", "link_to_folder", "link_to_ledger", "link_to_policy", "link_to_key",
		"link_to_env", "fifo", "link_bad_name", "folder_with_env",
	} {
		c.add(name, in(name))
	}
	c.add("link_named_env", t.value(path.Join(t.root, t.file("links"), t.stem+".env"+t.ext+t.tail)))
	c.add("through_link_outside", t.value(path.Join(t.root, t.file("link_folder_outside"), t.file("f1"))))
	for i, root := range t.more {
		c.add("root_"+strconv.Itoa(i+2), t.value(path.Join(root, t.file("f1"))))
	}
}

// outside are objects beside the roots.
func (t *slot) outside(c *classList, l *layout) {
	parent := path.Dir(t.root)
	c.files("outside_project", func(f string) string { return t.value("../beside/" + t.file(f)) }).few = true
	c.files("sibling", func(f string) string { return t.value(path.Join(t.sibling(l), t.file(f))) })
	c.add("outside_roots", t.value(path.Join("elsewhere", t.file("f1")))).few = true
	c.add("outside_new", t.value(path.Join("elsewhere", t.file("new"))))
	c.add("outside_parent", t.value(path.Join(parent, t.file("f1"))))
	c.add("outside_missing", t.value("../beside/"+t.file("missing")))
	c.add("project", t.value("."))
	c.add("above_project", t.value("../"))
	c.add("other_run", t.value("runs/other/artifacts/"+t.file("f1")))
}

// sibling is a folder whose name begins as the root's does.
func (t *slot) sibling(l *layout) string {
	if t.root == "." {
		return "../" + path.Base(l.project) + "-beside"
	}
	return t.root + "-beside"
}

// protected are RunLens' own places.
func (t *slot) protected(c *classList) {
	c.add("ledger", t.value("runs/"+runID+"/events.jsonl")).few = true
	c.add("ledger_of_other_run", t.value("runs/other/events.jsonl"))
	c.add("policy", t.value("policies/runlens/decision.rego"))
	c.add("new_policy", t.value("policies/runlens/rules/"+t.file("new")))
	c.add("manifest", t.value("manifests/tools.json"))
	c.add("loose_manifest", t.value("tools.json"))
	c.add("key", t.value("../keys/"+t.file("f1")))
	c.add("program", t.value("../bin/other-program"))
}

// names are those that policy data cares about.
func (t *slot) names(c *classList, k *knowledge) {
	in := func(name string) string { return t.value(path.Join(t.root, t.stem+name+t.ext+t.tail)) }
	for i, name := range k.names {
		c.add("name_"+name, in(name)).few = i == 0
	}
	if len(k.names) == 0 {
		return
	}
	name := k.names[0]
	c.add("name_upper_case", in(strings.ToUpper(name)))
	c.add("name_missing", t.value(path.Join(t.root, t.file("folder"), t.stem+name+t.ext+t.tail)))
	c.add("name_of_folder", t.value(path.Join(t.root, t.file("folders"), name, t.file("f1"))))
	c.add("name_outside", t.value("../beside/"+t.stem+name+t.ext+t.tail))
}

// spellings are paths that nobody writes by accident.
func (t *slot) spellings(c *classList, l *layout) {
	good := t.at("f1")
	base := strings.TrimSuffix(t.spelt(""), t.ext)
	c.add("absolute", l.absolute(good))
	c.add("absolute_outside", l.absolute("../beside/"+t.file("f1")))
	c.add("dots", base+"././/f1"+t.ext)
	c.add("parent", base+t.file("folder")+"/../f1"+t.ext)
	if !path.IsAbs(good) {
		c.add("parent_outside_and_back", t.value("../"+path.Base(l.project)+"/"+good))
	}
	few := map[string]bool{"expansion": true}
	for _, s := range [][2]string{
		{"backslash", `folder\f1`},
		{"tilde_name", "~f1"},
		{"nul", "f1\x00"},
		{"control", "f1\x07"},
		{"invisible", "f\u200b1"},
		{"percent", "%2e%2e%2ff1"},
		{"reserved", "CON"},
		{"stream", "f1:s"},
		{"short_name", "F1~1"},
		{"expansion", "$HOME"},
		{"glob", "*"},
		{"upper_case", "F1"},
		{"full_width", "\uff461"},
		{"long_name", strings.Repeat("n", 256)},
		{"long_path", strings.Repeat("n/", 2048)},
	} {
		c.add(s[0], t.spelt(s[1])).few = few[s[0]]
	}
	c.add("drive", `C:/f1`+t.ext)
	c.add("unc", `\\host\f1`+t.ext)
	c.add("tilde", "~/f1"+t.ext)
	c.add("url", "file:///f1"+t.ext)
	c.add("empty", "")
	c.add("trailing_dot", t.spelt("f1")+".")
	c.add("trailing_space", t.spelt("f1")+" ")
}
