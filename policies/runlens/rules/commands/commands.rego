# METADATA
# title: Commands
# description: Only the tool's own commands, word by word, and programs that nobody else can change.
package runlens.rules.commands

import data.runlens.lib

# METADATA
# title: the command is not one of the tool's
# description: Where a path of it is what is wrong, the families that look at paths say so.
# custom:
#   code: command_not_allowed
#   message: "the command is not one of the tool's: {allowed}"
deny contains lib.reason(rego.metadata.rule(), {"argv": input.command.argv, "allowed": lib.commands_in_words}) if {
	input.tool.operation == "execute"
	not lib.command_fits
	not _explained
}

# METADATA
# title: the command is not the program that serves the tool
# custom:
#   code: command_not_allowed
#   message: "the command is not one of the tool's: {allowed}"
deny contains lib.reason(rego.metadata.rule(), {"argv": input.command.argv, "allowed": lib.commands_in_words}) if {
	input.command.present == true
	not input.tool.operation == "execute"
	_declares_commands
	not lib.command_fits
}

# METADATA
# title: the tool runs no commands
# custom:
#   code: command_not_allowed
#   message: a tool that does {operation} runs no commands
deny contains lib.reason(rego.metadata.rule(), {"argv": input.command.argv, "operation": input.tool.operation}) if {
	input.command.present == true
	not input.tool.operation == "execute"
	not _declares_commands
}

# METADATA
# title: the working directory is not there
# description: Without it nobody knows what a path of the command means.
# custom:
#   code: no_working_directory
#   message: "the directory that the tool works in can't be opened: it is not there, not in the project, in a place of policies, manifests, runs or keys, or behind a link that a tool could have made"
deny contains lib.reason(rego.metadata.rule(), {}) if {
	input.command.present == true
	input.command.dir == ""
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
	not _bound
}

_causes contains "it belongs to another user" if {
	input.command.executable.foreign
	data.runlens.executables.refuse.foreign_owner
}

_causes contains "its group may change it" if {
	input.command.executable.group_writable
	data.runlens.executables.refuse.group_writable
}

_causes contains "everyone may change it" if {
	input.command.executable.other_writable
	data.runlens.executables.refuse.other_writable
}

_causes contains "a tool could have put it there, or a link on the way to it" if input.command.executable.planted == true

# A program of the project that the manifest binds a tool to is protected from
# every tool.
_bound if {
	input.command.executable.protected == "handler"
	startswith(input.tool.handler, "exec:")
}

_declares_commands if input.tool.commands[0]

_declares_commands if input.tool.patterns[0]

_explained if {
	lib.command_is_spelt_right
	lib.unclear_argument
}

_explained if {
	lib.command_is_spelt_right
	input.command.dir == ""
}
