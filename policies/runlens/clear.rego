# What is clear about a call whatever the families say: the decision's own look,
# for the day that a family which should have objected did not.
package runlens

import data.runlens.lib

# The call is clear by itself, whatever the families say.
_clear if {
	_complete
	not _an_unclear_target
	not _an_unclear_command
}

# The tool is declared, and an operation that needs targets has some.
_complete if {
	input.tool.declared
	data.runlens.operations[input.tool.operation].targets in {false, count(input.targets) > 0}
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
	not _a_clear_command
}

_an_unclear_command if {
	input.command.present == true
	not _a_clear_command
}

_a_clear_command if {
	lib.command_fits
	input.command.present == true
	not input.command.dir == ""
}
