package runlens.lib.targets_test

import data.runlens.lib
import data.runlens.lib.testing

_argument(changed) := testing.argument("file", changed)

_read := object.union(testing.target, {"param": "file"})

test_roots_of_an_argument if {
	own := testing.argument_root("file", "data")
	every pair in [[own, _argument({})], [testing.root, _read]] {
		lib.meant_for(pair[0], pair[1]) with input as testing.with_pattern({})
		lib.holds(pair[0], pair[1]) with input as testing.with_pattern({})
	}
	every pair in [
		[testing.root, _argument({})],
		[own, _read],
		[testing.argument_root("other", "data"), _argument({})],
		[own, _argument({"position": 1})],
		[own, _argument({"position": 3})],
		[own, _argument({"param": "other"})],
		[testing.argument_root("other", "data"), _argument({"param": "other"})],
		[testing.argument_root("file", "logs"), _argument({})],
	] {
		not lib.meant_for(pair[0], pair[1]) with input as testing.with_pattern({})
		not lib.holds(pair[0], pair[1]) with input as testing.with_pattern({})
	}
	lib.holds(own, _argument({"path": "/srv/app/data"})) with input as testing.with_pattern({})
	every change in [{"path": "/srv/app/data2"}, {"access": "write"}] {
		not lib.holds(own, _argument(change)) with input as testing.with_pattern({})
	}
	not lib.holds(own, object.union(_read, {"path": "/srv/app/data"})) with input as testing.with_pattern({})
	not lib.holds(testing.root, _argument({"path": "/srv/app/data"})) with input as testing.with_pattern({})
}

# Two patterns name the same parameter; one of them counts.
test_root_of_a_pattern_that_does_not_count if {
	logs := [testing.word("wc"), testing.path_part("file", "logs")]
	roots := [testing.argument_root("file", "data"), testing.argument_root("file", "logs")]
	call := testing.with_pattern({"tool": {"patterns": [[testing.word("wc"), testing.path_part("file", "data")], logs], "roots": roots}})
	target := _argument({"path": "/srv/app/logs/a"})
	not lib.outside(_argument({})) with input as call
	lib.outside(target) with input as call

	second := object.union(call, {"command": {"pattern": 2}})
	lib.outside(_argument({})) with input as second
	not lib.outside(target) with input as second
	lib.outside(_argument({})) with input as object.union(call, {"command": {"pattern": 0}})
	lib.outside(_argument({})) with input as object.union(call, {"tool": {"commands": [["wc", "data/a.csv"]]}})
}

# A root that may be read and written is for what the part says of it.
test_root_of_another_access if {
	wide := object.union(testing.argument_root("file", "data"), {"access": ["read", "write"]})
	lib.holds(wide, _argument({})) with input as testing.with_pattern({})
	not lib.holds(wide, _argument({"access": "write"})) with input as testing.with_pattern({})
}

test_folders_suit_an_argument_that_is_read if {
	lib.suits(_argument({"kind": "directory"}))
	not lib.suits(_argument({"kind": "directory", "access": "write"}))
	not lib.suits(object.union(_read, {"kind": "directory"}))
	not lib.suits(_argument({"kind": "fifo"}))
}

_missing(root) := testing.with_pattern({"tool": {
	"patterns": [[testing.word("wc"), testing.path_part("file", "ws/tests")]],
	"roots": [object.union(testing.argument_root("file", "ws/tests"), root)],
}})

# The root is not there yet, which is not the same as a place outside.
test_argument_meant_for_a_root_that_is_missing if {
	target := _argument({"resolution": "not_found", "path": "/srv/app/ws", "requested": "tests/a.py"})
	call := object.union(_missing({"exists": false}), {"command": {"dir": "/srv/app/ws"}})
	lib.under_a_missing_root(target) with input as call
	not lib.outside(target) with input as call

	not lib.under_a_missing_root(object.union(target, {"requested": "other/a.py"})) with input as call
	not lib.under_a_missing_root(object.union(target, {"position": 0})) with input as call
	not lib.under_a_missing_root(object.union(target, {"param": "other"})) with input as call
	not lib.under_a_missing_root(target) with input as _missing({"exists": false})
	not lib.under_a_missing_root(target) with input as object.union(call, _missing({"exists": true}))

	# Only an argument counts from where the command works.
	shared := object.union(_missing({"exists": false, "param": ""}), {"command": {"dir": "/srv/app/ws"}})
	not lib.under_a_missing_root(object.union(target, {"position": 0})) with input as shared
	lib.under_a_missing_root(object.union(target, {"position": 0, "requested": "ws/tests/a.py"})) with input as shared
}
