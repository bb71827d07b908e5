// Package manifests carries the manifests that RunLens uses where a project has
// none of its own. Its tools read CSV and text below data/ and among the run's
// artifacts, list those, and write into the run's artifacts, and nothing else;
// its skills are kinds of runs with these tools.
package manifests

import "embed"

// FS holds the manifest files by their names, as a project's manifests/ does.
//
//go:embed tools.json skills/*.yaml
var FS embed.FS
