# What the families ask about a call.
package runlens.lib

# METADATA
# title: The calls of this run come from an agent whose user can be asked
agent_door if input.run.door in {"hook", "mcp"}

# METADATA
# title: Another program than RunLens' own handlers does the work
another_program if input.run.door == "hook"

another_program if input.tool.handler == "external"

# METADATA
# title: The call may change something
may_change if input.tool.operation in {"write", "delete", "rename", "execute"}

may_change if {
	some target in input.targets
	target.access in {"write", "delete", "execute"}
}
