package executor

import (
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/resolve"
)

// ownPlaces are the programs that RunLens runs and that nobody names in a call: the one
// that begins sandboxes, and what stands in the directories in which programs are looked
// up. Whoever could put another in their place would do what they may.
func ownPlaces(cfg *Config) (list []resolve.Place) {
	stage := cfg.Stage
	if stage == "" {
		stage, _ = os.Executable() // what can't tell begins no sandbox either
	}
	if abs, err := filepath.Abs(stage); stage != "" && err == nil {
		list = append(list, resolve.Place{Path: filepath.ToSlash(abs), Class: facts.ProtectedHandler})
	}
	for _, dir := range cfg.Tools.Path {
		place := path.Clean(filepath.ToSlash(dir))
		if path.IsAbs(place) && !slices.ContainsFunc(list, func(have resolve.Place) bool { return have.Path == place }) {
			list = append(list, resolve.Place{Path: place, Class: facts.ProtectedHandler, Plain: true})
		}
	}
	return list
}
