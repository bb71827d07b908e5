# METADATA
# title: Plan
# description: Tools that the current step of the run's plan allows.
package runlens.rules.plan

import data.runlens.lib

# METADATA
# title: the tool is not part of the current step
# custom:
#   code: step_tool_not_allowed
#   message: tool {tool} is not allowed for current plan step {step}
block contains lib.reason(rego.metadata.rule(), {
	"tool": input.call.tool,
	"step": input.plan.step.id,
	"allowed": input.plan.step.tools,
}) if {
	input.plan.status == "active"
	not input.call.tool in input.plan.step.tools
}

# METADATA
# title: the plan is complete
# custom:
#   code: plan_complete
#   message: tool {tool} is not allowed, the plan is complete
block contains lib.reason(rego.metadata.rule(), {"tool": input.call.tool}) if {
	input.plan.status == "complete"
}

# METADATA
# title: the plan failed
# description: What was tried again failed each time; another tool of the plan would build on nothing.
# custom:
#   code: plan_failed
#   message: tool {tool} is not allowed, plan step {step} failed and so did {retries} retries
block contains lib.reason(rego.metadata.rule(), {
	"tool": input.call.tool,
	"step": input.plan.step.id,
	"retries": input.plan.step.retries,
}) if {
	input.plan.status == "active"
	input.plan.step.failed == true
	input.plan.step.retries >= data.runlens.plan.retries
}

# METADATA
# title: nobody knows where the plan stands
# custom:
#   code: plan_failed
#   message: tool {tool} is not allowed, the plan's status {status} is unknown
block contains lib.reason(rego.metadata.rule(), {"tool": input.call.tool, "status": input.plan.status}) if {
	not input.plan.status in _statuses
}

_statuses := {"none", "active", "complete"}
