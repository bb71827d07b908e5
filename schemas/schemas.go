// Package schemas carries the schemas that RunLens stands on: input.json (what
// policy sees), data.json (what policy data may say), decision.json (what
// policy answers), and capabilities.json (the built-in functions that policy
// may call; stock opa takes it with --capabilities).
//
// They stand beside policies/ and not in it, because OPA would load them as
// data there.
package schemas

import "embed"

// FS holds the schemas by their file names.
//
//go:embed *.json
var FS embed.FS
