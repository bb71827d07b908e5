package runlens.rules.arguments_test

import data.runlens.lib.testing
import data.runlens.rules.arguments

_token := {"pointer": "/headers/token", "bytes": 40, "kinds": ["github_token"]}

_withheld := {
	"code": "argument_withheld",
	"message": "/headers/token was withheld (40 bytes; secrets found: github_token)",
	"param": "headers",
	"detail": {"pointer": "/headers/token", "bytes": 40, "kinds": ["github_token"]},
}

_long := {
	"code": "argument_withheld",
	"message": "/note was withheld (9000 bytes; secrets found: none)",
	"param": "note",
	"detail": {"pointer": "/note", "bytes": 9000, "kinds": []},
}

test_nothing_withheld if {
	every door in {"cli", "hook", "mcp"} {
		arguments.deny == set() with input as testing.with_run({"door": door})
		arguments.ask == set() with input as testing.with_run({"door": door})
	}
}

test_withheld if {
	call := testing.with_call({"withheld": [_token, {"pointer": "/note", "bytes": 9000, "kinds": []}]})
	arguments.deny == {_withheld, _long} with input as call
	arguments.ask == set() with input as call
}

test_withheld_in_agent_doors if {
	every door in {"hook", "mcp"} {
		call := object.union(testing.with_call({"withheld": [_token]}), {"run": {"door": door}})
		arguments.deny == set() with input as call
		arguments.ask == {_withheld} with input as call
	}
}

test_secret_in_payload_is_not_withheld if {
	call := testing.with_call({"payloads": [{"pointer": "/content", "bytes": 40, "digest": "sha256:0b", "kinds": ["github_token"]}]})
	arguments.deny == set() with input as call
}
