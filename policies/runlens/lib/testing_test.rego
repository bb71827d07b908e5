# Inputs for tests: one that is total and clear, and ways to change it.
package runlens.lib.testing

# A read of data/a.csv in the root data/.
base := {
	"v": 1,
	"call": {
		"id": "c1",
		"tool": "read_file",
		"digest": "sha256:0a",
		"arguments": {
			"path": "data/a.csv",
		},
		"payloads": [],
		"withheld": [],
		"interrupted": false,
	},
	"tool": {
		"declared": true,
		"name": "read_file",
		"operation": "read",
		"handler": "read_file",
		"max_bytes": 0,
		"timeout_ms": 0,
		"commands": [],
		"patterns": [],
		"absolute": false,
		"create_parents": false,
		"network": "",
		"sandbox": "",
		"roots": [root],
	},
	"targets": [target],
	"command": {
		"present": false,
		"argv": [],
		"run": [],
		"pattern": 0,
		"dir": "",
		"executable": {
			"path": "",
			"resolution": "",
			"kind": "",
			"in_project": false,
			"executable": false,
			"uid": 0,
			"foreign": false,
			"group_writable": false,
			"other_writable": false,
			"protected": "",
			"planted": false,
		},
	},
	"sandbox": {
		"level": "none",
		"filesystem": false,
		"network": false,
		"secrets": false,
		"limits": false,
	},
	"run": {
		"id": "r1",
		"door": "cli",
		"read_only": false,
		"denials": {
			"in_row": 0,
			"total": 0,
			"malformed": 0,
		},
		"limits": {
			"in_row": -1,
			"total": -1,
			"malformed": -1,
		},
		"signed_approvals": false,
	},
	"skill": {
		"present": false,
		"name": "",
		"tools": [],
	},
	"plan": {
		"status": "none",
		"step": {
			"id": "",
			"index": 0,
			"tools": [],
			"failed": false,
			"retries": 0,
		},
	},
	"contract": {
		"present": false,
		"matches": false,
		"drift": [],
	},
	"approvals": [],
	"now": "2026-01-02T03:04:05.000000Z",
}

root := {
	"declared": "data",
	"path": "/srv/app/data",
	"prefix": "/srv/app/data/",
	"exists": true,
	"access": [
		"read",
		"list",
		"write",
		"delete",
		"execute",
	],
	"param": "",
	"place": "",
	"mount_id": 30,
	"device": 64769,
}

target := {
	"param": "path",
	"position": 0,
	"access": "read",
	"recursive": false,
	"entry": false,
	"raw": "data/a.csv",
	"requested": "data/a.csv",
	"resolution": "ok",
	"missing": "",
	"path": "/srv/app/data/a.csv",
	"segments": [
		"data",
		"a.csv",
	],
	"in_project": true,
	"folded": [
		"a.csv",
		"data",
	],
	"kind": "file",
	"size": 120,
	"allocated": 4096,
	"nlink": 1,
	"device": 64769,
	"mount_id": 30,
	"via_symlink": false,
	"link_target": false,
	"pseudo_fs": "",
	"protected": "",
	"resolver": "openat2",
	"handle": true,
	"below": [],
	"walk": "",
	"place": "",
	"lexical": lexical,
}

lexical := {
	"absolute": false,
	"parent_segment": false,
	"parent_escape": false,
	"backslash": false,
	"drive": false,
	"tilde": false,
	"nul": false,
	"control": false,
	"invisible": false,
	"bad_utf8": false,
	"percent_encoded": false,
	"url": false,
	"empty": false,
	"too_long": false,
	"trailing_dot_space": false,
	"reserved_name": false,
	"stream_name": false,
	"short_name": false,
	"expansion": false,
}

# base with some facts changed; objects are merged, arrays replaced.
with_facts(changed) := object.union(base, changed)

with_call(changed) := with_facts({"call": changed})

with_tool(changed) := with_facts({"tool": changed})

with_run(changed) := with_facts({"run": changed})

# base with this one target.
with_target(changed) := with_targets([changed])

# base with a target for each of these.
with_targets(list) := with_facts({"targets": [object.union(target, changed) | some changed in list]})

# base with a target whose path is spelt in this way.
with_oddity(name) := with_target({"lexical": {name: true}})

# A tool that runs one command, and a call of it.
with_command(changed) := object.union(
	with_facts({
		"call": {"tool": "run_tests"},
		"tool": {
			"name": "run_tests",
			"operation": "execute",
			"handler": "run_tests",
			"commands": [["python", "-m", "unittest"]],
			"sandbox": "none",
		},
		"targets": [],
		"command": {
			"present": true,
			"argv": ["python", "-m", "unittest"],
			"run": ["python", "-m", "unittest"],
			"dir": "/srv/app",
			"executable": {
				"path": "/usr/bin/python3",
				"resolution": "ok",
				"kind": "file",
				"executable": true,
			},
		},
	}),
	{"command": changed},
)

# A tool whose command takes a path in data/, and a call of it for data/a.csv.
with_pattern(changed) := object.union(
	object.union(with_command({"argv": ["wc", "data/a.csv"], "run": ["wc", "data/a.csv"], "pattern": 1}), {
		"tool": {
			"commands": [],
			"patterns": [[word("wc"), path_part("file", "data")]],
			"roots": [root, argument_root("file", "data")],
		},
		"targets": [argument("file", {})],
	}),
	changed,
)

_part := {"kind": "word", "word": "", "arg": "", "root": "", "access": "", "values": [], "pattern": ""}

word(text) := object.union(_part, {"word": text})

path_part(arg, place) := object.union(_part, {"kind": "path", "arg": arg, "root": place, "access": "read"})

choice_part(arg, values) := object.union(_part, {"kind": "choice", "arg": arg, "values": values})

text_part(arg, pattern) := object.union(_part, {"kind": "text", "arg": arg, "pattern": pattern})

# The root of a path argument, a folder of /srv/app.
argument_root(arg, place) := object.union(root, {
	"declared": place,
	"path": sprintf("/srv/app/%s", [place]),
	"prefix": sprintf("/srv/app/%s/", [place]),
	"access": ["read"],
	"param": arg,
})

# The last argument of a command of two, a path.
argument(arg, changed) := object.union(target, object.union({"param": arg, "position": 2}, changed))

# An approval of base that may be used.
approval := {
	"seq": 7,
	"tool": "read_file",
	"digest": "sha256:0a",
	"by": "eve",
	"expires": "2026-01-02T04:00:00Z",
	"remaining": 1,
	"signed": false,
	"refused": false,
	"matches_call": true,
	"expired": false,
}
