package corpus

import (
	"reflect"
	"slices"

	"github.com/runlens/runlens/internal/facts"
)

// facts are what no file of an ordinary user shows, and what only a broken world
// would: changed one by one in a copy of what was found.
func (m *maker) facts(s *subject) []change {
	list := m.toolFacts(s)
	if s.tool.Operation == facts.Execute || s.tool.Program != "" {
		list = append(list, commandFacts()...)
	}
	return append(list, targetFacts()...)
}

// onTarget is a change of the varied target; without one it changes nothing.
func onTarget(name string, alter func(t *facts.Target)) change {
	return change{name: name, aimed: true, apply: func(in *facts.Input, at int) {
		if at >= 0 && at < len(in.Targets) {
			alter(&in.Targets[at])
		}
	}}
}

func targetFacts() (list []change) {
	add := func(name string, alter func(t *facts.Target)) { list = append(list, onTarget(name, alter)) }
	for _, class := range []string{
		facts.ProtectedRun, facts.ProtectedPolicy, facts.ProtectedManifest, facts.ProtectedConfig,
		facts.ProtectedKey, facts.ProtectedHandler, facts.ProtectedAncestor,
	} {
		add("protected_"+class, func(t *facts.Target) { t.Protected = class })
	}
	for _, kind := range []string{facts.File, facts.Directory, facts.FIFO, facts.Socket, facts.CharDevice, facts.BlockDevice, facts.Symlink, facts.None} {
		add("kind_"+kind, func(t *facts.Target) { t.Kind = kind })
	}
	for _, resolution := range []string{
		facts.OK, facts.Absent, facts.NotFound, facts.NoAccess, facts.NotADirectory, facts.Loop, facts.TooLong,
		facts.Busy, facts.Changed, facts.Invalid, facts.Failed,
	} {
		add("resolution_"+resolution, func(t *facts.Target) { t.Resolution = resolution })
	}
	add("other_mount", func(t *facts.Target) { t.MountID = 1<<31 - 1 })
	add("mount_unknown", func(t *facts.Target) { t.MountID = 0 })
	add("other_device", func(t *facts.Target) { t.MountID, t.Device = 0, 1<<31-1 })
	add("made_up_file_system", func(t *facts.Target) { t.PseudoFS = "proc" })
	add("link_target", func(t *facts.Target) { t.LinkTarget = true })
	add("other_names", func(t *facts.Target) { t.Nlink, t.Kind = 2, facts.File })
	add("not_held", func(t *facts.Target) { t.Handle = false })
	add("entry", func(t *facts.Target) { t.Entry = true })
	add("recursive", func(t *facts.Target) { t.Recursive, t.Walk = true, "complete" })
	add("recursive_folder", func(t *facts.Target) { t.Recursive, t.Walk, t.Kind = true, "complete", facts.Directory })
	add("seen_place", func(t *facts.Target) { t.Place = facts.PlaceInside })
	add("argument", func(t *facts.Target) { t.Position = 1 })
	for i := range reflect.TypeFor[facts.Lexical]().NumField() {
		field := reflect.TypeFor[facts.Lexical]().Field(i)
		add("spelling_"+field.Tag.Get("json"), func(t *facts.Target) {
			reflect.ValueOf(&t.Lexical).Elem().Field(i).SetBool(true)
		})
	}
	return list
}

// onTool is a change of the tool, which other inputs share.
func onTool(name string, alter func(t *facts.Tool)) change {
	return change{name: name, apply: func(in *facts.Input, _ int) {
		tool := *in.Tool
		alter(&tool)
		in.Tool = &tool
	}}
}

func (m *maker) toolFacts(s *subject) (list []change) {
	add := func(name string, alter func(t *facts.Tool)) { list = append(list, onTool(name, alter)) }
	for _, operation := range []string{
		facts.Read, facts.List, facts.Search, facts.Write, facts.Delete, facts.Rename, facts.Execute, facts.Fetch, facts.Compute, "unknown",
	} {
		if operation != s.tool.Operation {
			add("operation_"+operation, func(t *facts.Tool) { t.Operation = operation })
		}
	}
	roots := func(name string, alter func(r *facts.Root)) {
		add(name, func(t *facts.Tool) {
			t.Roots = slices.Clone(t.Roots)
			for i := range t.Roots {
				alter(&t.Roots[i])
			}
		})
	}
	roots("roots_missing", func(r *facts.Root) { r.Exists = false })
	roots("roots_without_access", func(r *facts.Root) { r.Access = []string{} })
	for _, place := range []string{facts.PlaceInside, facts.PlaceHolds, facts.PlaceSecret, facts.PlacePlanted} {
		roots("roots_"+place, func(r *facts.Root) { r.Place = place })
	}
	add("no_roots", func(t *facts.Tool) { t.Roots = []facts.Root{} })
	add("external", func(t *facts.Tool) { t.Handler = "external" })
	add("absolute_allowed", func(t *facts.Tool) { t.Absolute = !t.Absolute })
	list = append(
		list,
		change{name: "external_tree_cut", apply: func(in *facts.Input, at int) {
			tool := *in.Tool
			tool.Handler, in.Tool = "external", &tool
			if at >= 0 && at < len(in.Targets) {
				t := &in.Targets[at]
				t.Recursive, t.Walk, t.Kind = true, "cut", facts.Directory
			}
		}},
		change{name: "external_tree_with_name", apply: func(in *facts.Input, at int) {
			tool := *in.Tool
			tool.Handler, in.Tool = "external", &tool
			if at >= 0 && at < len(in.Targets) && len(m.known.names) > 0 {
				t, name := &in.Targets[at], m.known.names[0]
				t.Recursive, t.Walk, t.Kind = true, "complete", facts.Directory
				t.Below = []facts.Below{{Path: "d/" + name, Folded: name, Kind: facts.File}}
			}
		}},
		change{name: "no_targets", apply: func(in *facts.Input, _ int) { in.Targets = []facts.Target{} }},
		change{name: "plan_unknown", apply: func(in *facts.Input, _ int) { in.Plan.Status = "unknown" }},
		change{name: "door_unknown", apply: func(in *facts.Input, _ int) { in.Run.Door = "unknown" }},
		change{name: "argument_withheld", apply: func(in *facts.Input, _ int) {
			in.Call.Withheld = []facts.Withheld{{Pointer: "/note", Bytes: 9000, Kinds: []string{}}}
		}},
		change{name: "argument_withheld_door_hook", apply: func(in *facts.Input, _ int) {
			in.Run.Door = "hook"
			in.Call.Withheld = []facts.Withheld{{Pointer: "/note", Bytes: 9000, Kinds: []string{}}}
		}},
		change{name: "command", apply: func(in *facts.Input, _ int) { in.Command.Present = !in.Command.Present }},
	)
	return list
}

func commandFacts() (list []change) {
	add := func(name string, alter func(c *facts.Command)) {
		list = append(list, change{name: name, apply: func(in *facts.Input, _ int) { alter(&in.Command) }})
	}
	add("no_directory", func(c *facts.Command) { c.Dir = "" })
	exe := func(name string, alter func(e *facts.Executable)) {
		add("program_"+name, func(c *facts.Command) { alter(&c.Executable) })
	}
	exe("missing", func(e *facts.Executable) { e.Path, e.Resolution, e.Kind = "", facts.NotFound, facts.None })
	exe("unreadable", func(e *facts.Executable) { e.Resolution = facts.NoAccess })
	exe("folder", func(e *facts.Executable) { e.Kind = facts.Directory })
	exe("not_executable", func(e *facts.Executable) { e.Executable = false })
	exe("in_project", func(e *facts.Executable) { e.InProject, e.Protected = true, "" })
	exe("foreign", func(e *facts.Executable) { e.Foreign = true })
	exe("group_writable", func(e *facts.Executable) { e.GroupWritable = true })
	exe("other_writable", func(e *facts.Executable) { e.OtherWritable = true })
	exe("planted", func(e *facts.Executable) { e.Planted = true })
	for _, level := range []string{"none", "partial", "full"} {
		for _, asked := range []string{"none", "partial", "full"} {
			list = append(list, change{name: "sandbox_" + level + "_asked_" + asked, apply: func(in *facts.Input, _ int) {
				tool := *in.Tool
				tool.Sandbox, in.Tool = asked, &tool
				in.Sandbox = facts.Sandbox{Level: level}
			}})
		}
	}
	for _, place := range []string{facts.PlaceInside, facts.PlaceHolds, facts.PlaceSecret, facts.PlacePlanted} {
		list = append(list, change{name: "confined_roots_" + place, apply: func(in *facts.Input, _ int) {
			tool := *in.Tool
			tool.Sandbox, tool.Roots = "full", slices.Clone(tool.Roots)
			for i := range tool.Roots {
				tool.Roots[i].Place = place
			}
			in.Tool, in.Sandbox = &tool, facts.Sandbox{Level: "full"}
		}})
	}
	return list
}

// limits are those of a tool left out, where there is much to read.
func (m *maker) limits(s *subject) (list []change) {
	if s.tool.MaxBytes > 0 {
		list = append(list, onTool("no_max_bytes", func(t *facts.Tool) { t.MaxBytes = 0 }))
	}
	return append(list, onTool("operation_execute", func(t *facts.Tool) { t.Operation = facts.Execute }))
}

// contents are sizes of what the call writes. They are changed in the facts: so
// much text in each call would cost more than judging it.
func (m *maker) contents(s *subject) []change {
	list := []change{}
	if len(s.tool.Payload) == 0 {
		return list
	}
	for _, size := range sizesOf(s.tool, m.known.writes) {
		list = append(list, change{name: "content_" + size.name, apply: func(in *facts.Input, _ int) {
			in.Call.Payloads = slices.Clone(in.Call.Payloads)
			for i := range in.Call.Payloads {
				in.Call.Payloads[i].Bytes = size.bytes
			}
		}})
	}
	for _, secret := range m.known.secrets[:min(1, len(m.known.secrets))] {
		list = append(list, change{name: "content_secret", apply: func(in *facts.Input, _ int) {
			in.Call.Payloads = slices.Clone(in.Call.Payloads)
			for i := range in.Call.Payloads {
				in.Call.Payloads[i].Kinds = []string{secret.kind}
			}
		}})
	}
	return list
}
