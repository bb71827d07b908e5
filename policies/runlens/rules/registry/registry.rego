# METADATA
# title: Registry
# description: Only tools that the manifest declares and the run's skill lists.
package runlens.rules.registry

import data.runlens.lib

# METADATA
# title: the tool is not declared
# description: In the hook door the agent's user decides about tools that nobody declared.
# custom:
#   code: unknown_tool
#   message: tool {tool} is not declared
deny contains lib.reason(rego.metadata.rule(), {"tool": input.call.tool}) if {
	input.tool.declared == false
	not _hook
}

# METADATA
# title: the tool is not declared, a person must approve it
# custom:
#   code: unknown_tool
#   message: tool {tool} is not declared
ask contains lib.reason(rego.metadata.rule(), {"tool": input.call.tool}) if {
	input.tool.declared == false
	_hook
}

# METADATA
# title: the run's skill does not list the tool
# custom:
#   code: tool_not_allowed
#   message: "tool {tool} is not allowed for skill {skill}; its tools: {allowed}"
deny contains lib.reason(rego.metadata.rule(), {
	"tool": input.call.tool,
	"skill": input.skill.name,
	"allowed": input.skill.tools,
}) if {
	input.skill.present == true
	not input.call.tool in input.skill.tools
}

_hook if input.run.door == "hook"
