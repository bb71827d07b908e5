// Package manifests carries the tool manifest that RunLens uses where a project
// has none of its own: reading and listing below data/ and the run's artifacts,
// writing into the run's artifacts, and nothing else.
package manifests

import "embed"

// FS holds the manifest files by their names, as a project's manifests/ does.
//
//go:embed tools.json
var FS embed.FS
