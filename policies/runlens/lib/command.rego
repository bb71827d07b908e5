# What the families and the decision itself ask about a command.
package runlens.lib

# METADATA
# title: The command is one of the tool's, as a whole
# description: |
#   Word by word as declared, or an instance of one pattern: of its words, choices
#   and texts, with every path in the very root that the pattern names for it.
command_fits if input.command.argv in input.tool.commands

command_fits if {
	some pattern in spelt_patterns
	every position, part in pattern {
		_placed(part, position + 1)
	}
}

# METADATA
# title: The command is one of the tool's by its text
# description: Where its paths lead is another question.
command_is_spelt_right if input.command.argv in input.tool.commands

command_is_spelt_right if spelt_patterns[0]

# METADATA
# title: The patterns that the command is an instance of by its text
spelt_patterns := [pattern |
	some pattern in input.tool.patterns
	_instance(pattern)
]

_instance(pattern) if {
	count(pattern) > 0
	count(pattern) == count(input.command.argv)
	every position, part in pattern {
		_takes(part, input.command.argv[position])
	}
}

_takes(part, argument) if {
	part.kind == "word"
	argument == part.word
}

_takes(part, _) if part.kind == "path"

_takes(part, argument) if {
	part.kind == "choice"
	argument in part.values
}

_takes(part, argument) if {
	part.kind == "text"
	regex.match(part.pattern, argument)
}

_placed(part, _) if part.kind in {"word", "choice", "text"}

# Only a path has a target.
_placed(part, position) if {
	some target in input.targets
	target.param == part.arg
	target.position == position
	target.access == part.access
	fits(target)
	suits(target)
	some root in input.tool.roots
	root.declared == part.root
	holds(root, target)
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
	under_its_root(target)
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
