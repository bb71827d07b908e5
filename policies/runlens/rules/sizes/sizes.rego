# METADATA
# title: Sizes
# description: How much may be read from one file and written by one call.
package runlens.rules.sizes

import data.runlens.lib

# METADATA
# title: the file is too large to read
# description: A tool with a smaller max_bytes of its own returns the head and says so.
# custom:
#   code: file_too_large
#   message: "{param}: {requested} has {bytes} bytes, {limit} may be read"
deny contains lib.reason(rego.metadata.rule(), {
	"param": target.param,
	"requested": target.requested,
	"bytes": target.size,
	"limit": data.runlens.limits.read_bytes,
}) if {
	some target in input.targets
	target.size > data.runlens.limits.read_bytes
	target.access == "read"
	target.kind == "file"
	_reads_it
	not _returns_less
}

# METADATA
# title: the call writes too much
# custom:
#   code: content_too_large
#   message: the call writes {bytes} bytes, {limit} may be written
deny contains lib.reason(rego.metadata.rule(), {
	"param": _payload,
	"bytes": bytes,
	"limit": _write_limit,
}) if {
	input.call.payloads[0] # spares the sum where there is none
	bytes := sum([payload.bytes | some payload in input.call.payloads])
	bytes > _write_limit
}

# The parameter, when only one holds content.
_payload := split(input.call.payloads[0].pointer, "/")[1] if {
	count(input.call.payloads) == 1
} else := ""

# A rename carries the file along unread, and a program that runs may do as it likes.
_reads_it if not input.tool.operation in {"rename", "execute"}

_returns_less if {
	input.tool.max_bytes > 0
	input.tool.max_bytes < data.runlens.limits.read_bytes
}

_write_limit := min([input.tool.max_bytes, data.runlens.limits.write_bytes]) if {
	input.tool.operation == "write"
	input.tool.max_bytes > 0
} else := data.runlens.limits.write_bytes
