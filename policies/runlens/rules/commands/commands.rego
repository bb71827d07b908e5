# METADATA
# title: Commands
# description: Only the tool's own commands, word by word, and programs that nobody else can change.
package runlens.rules.commands

import data.runlens.lib

# METADATA
# title: the command is not one of the tool's
# custom:
#   code: command_not_allowed
#   message: "the command is not one of the tool's: {allowed}"
deny contains lib.reason(rego.metadata.rule(), {"argv": input.command.argv, "allowed": input.tool.commands}) if {
	input.tool.operation == "execute"
	not input.command.argv in input.tool.commands
}

# METADATA
# title: the tool runs no commands
# custom:
#   code: command_not_allowed
#   message: a tool that does {operation} runs no commands
deny contains lib.reason(rego.metadata.rule(), {"argv": input.command.argv, "operation": input.tool.operation}) if {
	input.command.present == true
	not input.tool.operation == "execute"
}

# METADATA
# title: the program is not there
# custom:
#   code: executable_not_found
#   message: "no program {program} in the manifest's path ({resolution})"
deny contains lib.reason(rego.metadata.rule(), {
	"program": concat("", array.slice(input.command.argv, 0, 1)),
	"resolution": input.command.executable.resolution,
}) if {
	input.command.present == true
	not input.command.executable.resolution == "ok"
}

# METADATA
# title: the program is not to be trusted
# custom:
#   code: executable_untrusted
#   message: "{path} is not to be trusted: {causes}"
deny contains lib.reason(rego.metadata.rule(), {
	"path": input.command.executable.path,
	"causes": _causes,
}) if {
	input.command.executable.resolution == "ok"
	count(_causes) > 0
}

_causes contains "not a file" if not input.command.executable.kind == "file"

_causes contains "not executable" if not input.command.executable.executable

_causes contains "inside the project" if {
	input.command.executable.in_project
	data.runlens.executables.refuse.in_project
}

_causes contains "its group may change it" if {
	input.command.executable.group_writable
	data.runlens.executables.refuse.group_writable
}

_causes contains "everyone may change it" if {
	input.command.executable.other_writable
	data.runlens.executables.refuse.other_writable
}
