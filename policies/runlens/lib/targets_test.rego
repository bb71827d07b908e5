package runlens.lib.targets_test

import data.runlens.lib
import data.runlens.lib.testing

_argument(changed) := testing.argument("file", changed)

_read := object.union(testing.target, {"param": "file"})

test_roots_of_an_argument if {
	own := testing.argument_root("file", "data")
	lib.meant_for(own, _argument({}))
	lib.meant_for(testing.root, _read)
	not lib.meant_for(testing.root, _argument({}))
	not lib.meant_for(own, _read)
	not lib.meant_for(testing.argument_root("other", "data"), _argument({}))

	lib.holds(own, _argument({}))
	lib.holds(own, _argument({"path": "/srv/app/data"}))
	not lib.holds(own, _argument({"path": "/srv/app/data2"}))
	not lib.holds(own, _argument({"access": "write"}))
	not lib.holds(own, object.union(_read, {"path": "/srv/app/data"}))
	not lib.holds(own, _read)
}

test_folders_suit_an_argument_that_is_read if {
	lib.suits(_argument({"kind": "directory"}))
	not lib.suits(_argument({"kind": "directory", "access": "write"}))
	not lib.suits(object.union(_read, {"kind": "directory"}))
	not lib.suits(_argument({"kind": "fifo"}))
}

# An argument that another pattern's root holds is no matter when one pattern fits.
test_argument_of_a_pattern_that_does_not_fit if {
	other := testing.argument("other", {})
	call := testing.with_pattern({"targets": [_argument({}), other]})
	lib.under_a_root(other) with input as call
	not lib.under_its_root(other) with input as call
	not lib.outside(other) with input as call

	neither := testing.with_pattern({"targets": [_argument({"path": "/etc"}), other]})
	lib.outside(other) with input as neither
	lib.outside(object.union(other, {"position": 0, "path": "/etc"})) with input as call
}

_missing(root) := testing.with_pattern({"tool": {"roots": [object.union(testing.argument_root("file", "ws/tests"), root)]}})

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
}
