package runlens.rules.protected_test

import data.runlens.lib.testing
import data.runlens.rules.protected

_reason(class, access) := {
	"code": "protected_file",
	"message": sprintf("path: data/a.csv is protected (%s) from %s", [class, access]),
	"param": "path",
	"detail": {"access": access, "requested": "data/a.csv", "class": class},
}

_call(class, access) := testing.with_target({"protected": class, "access": access})

test_ordinary_file if {
	every access in {"read", "list", "write", "delete", "execute"} {
		protected.deny == set() with input as _call("", access)
	}
}

test_policies_may_be_read if {
	every class in {"policy", "manifest", "config", "handler", "ancestor"} {
		every access in {"read", "list", "execute"} {
			protected.deny == set() with input as _call(class, access)
		}
	}
}

test_policies_may_not_be_changed if {
	every class in {"policy", "manifest", "config", "handler", "ancestor"} {
		every access in {"write", "delete"} {
			protected.deny == {_reason(class, access)} with input as _call(class, access)
		}
	}
}

test_runs_and_keys_are_closed if {
	every class in {"run", "key"} {
		every access in {"read", "list", "write", "delete", "execute"} {
			protected.deny == {_reason(class, access)} with input as _call(class, access)
		}
	}
}
