# What is clear about a call whatever the families say: the decision's own look,
# for the day that a family which should have objected did not.
package runlens

import data.runlens.lib

# The call is clear by itself, whatever the families say.
_clear if {
	_complete
	not _an_unclear_target
}

# The tool is declared, an operation that needs targets has some, and the command
# is one of the tool's.
_complete if {
	input.tool.declared
	data.runlens.operations[input.tool.operation].targets in {false, count(input.targets) > 0}
	not _an_unclear_command
}

_an_unclear_target if {
	some target in input.targets
	not _clear_target(target)
}

_clear_target(target) if {
	lib.fits(target)
	lib.suits(target)
	lib.under_a_root(target)
}

_an_unclear_command if {
	input.tool.operation == "execute"
	not input.command.argv in input.tool.commands
}
