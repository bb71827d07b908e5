// Package policies carries the shipped policy tree, so that a project without
// policies of its own is judged by the same rules, data and tests that stand
// in this folder.
//
// Everything below runlens/ is policy: Rego modules, their tests and data.json
// files. Nothing else may live there, since OPA loads what it finds. Whoever
// loads the tree for decisions leaves *_test.rego out.
package policies

import "embed"

// FS holds .manifest and runlens/, as `opa build -b policies` would see them.
//
//go:embed .manifest all:runlens
var FS embed.FS
