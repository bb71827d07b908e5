# What the families and the decision itself ask about a command.
package runlens.lib

# METADATA
# title: The command is one of the tool's, as a whole
# description: |
#   Word by word as declared; or an instance of the one pattern that counts for it,
#   with every path in the very root that this pattern names, and run by that path.
command_fits if {
	command_is_spelt_right
	command_runs_its_targets
	not unclear_argument
}

# METADATA
# title: The command is one of the tool's by its text
# description: |
#   What would be run is what was asked for, but for its paths. Where those lead is
#   another question.
command_is_spelt_right if {
	_is_declared
	input.command.pattern == 0
	input.command.run == input.command.argv
}

command_is_spelt_right if {
	count(command_pattern) > 0
	count(command_pattern) == count(input.command.argv)
	count(command_pattern) == count(input.command.run)
	every index, part in command_pattern {
		_takes(part, index)
	}
}

# METADATA
# title: The one pattern that counts for the command
# description: A command that is declared word by word has none.
command_pattern := input.tool.patterns[input.command.pattern - 1] if not _is_declared

_is_declared if input.command.argv in input.tool.commands

_takes(part, index) if {
	part.kind == "word"
	_given(index) == part.word
}

_takes(part, _) if part.kind == "path"

_takes(part, index) if {
	part.kind == "choice"
	_given(index) in part.values
}

_takes(part, index) if {
	part.kind == "text"
	regex.match(part.pattern, _given(index))
}

# What was asked for, where it is what would be run.
_given(index) := input.command.argv[index] if input.command.argv[index] == input.command.run[index]

# METADATA
# title: Each path of the command is run by the path of what was opened for it
command_runs_its_targets if {
	every index, part in _paths {
		_runs(part, index)
	}
}

_paths[index] := part if {
	some index, part in command_pattern
	part.kind == "path"
}

_runs(part, index) if {
	some target in input.targets
	target.position == index + 1
	target.param == part.arg
	target.access == part.access
	_leads_to(input.command.run[index], target)
}

_leads_to(word, target) if word == target.path

_leads_to(".", target) if target.path == input.command.dir

_leads_to(word, target) if {
	from := sprintf("%s/", [trim_suffix(input.command.dir, "/")])
	target.path == concat("", [from, trim_prefix(word, "./")])
}

# METADATA
# title: A path argument is not clear by itself
# description: Then the families that look at targets say what is wrong with it.
unclear_argument if {
	some target in input.targets
	target.position > 0
	not _clear_argument(target)
}

_clear_argument(target) if {
	fits(target)
	suits(target)
	under_a_root(target)
}

# METADATA
# title: The commands of the tool as people read them
# description: What a call fills in stands in braces, as in {path in workspace/tests}.
commands_in_words := array.concat(
	[concat(" ", [_shown(word) | some word in argv]) | some argv in input.tool.commands],
	[concat(" ", [_part_in_words(part) | some part in pattern]) | some pattern in input.tool.patterns],
)

_part_in_words(part) := _shown(part.word) if {
	part.kind == "word"
} else := sprintf("{%s written in %s}", [part.arg, part.root]) if {
	part.access == "write"
} else := sprintf("{%s in %s}", [part.arg, part.root]) if {
	part.kind == "path"
} else := sprintf("{%s: %s}", [part.arg, concat("|", part.values)]) if {
	part.kind == "choice"
} else := sprintf("{%s like %s}", [part.arg, trim_suffix(trim_prefix(part.pattern, "^(?:"), ")$")])

# A word that can be told from its neighbours.
_shown(word) := sprintf("'%s'", [word]) if {
	_needs_quotes(word)
} else := word

_needs_quotes("")

_needs_quotes(word) if {
	some mark in [" ", "\t", "\n", "\r", "\f", `"`, "'", `\`, "{", "}"]
	contains(word, mark)
}
