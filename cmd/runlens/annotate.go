package main

import (
	"github.com/runlens/runlens/internal/report"
)

// runnerVariable is what GitHub Actions, and runners that speak its language,
// set in each step.
const runnerVariable = "GITHUB_ACTIONS"

// onRunner is the world as it is under GitHub Actions, where lines of output can
// be commands: both streams are guarded. Elsewhere it is w.
func (w *world) onRunner() *world {
	if w.getenv(runnerVariable) != "true" {
		return w
	}
	guarded := *w
	guarded.stdout, guarded.stderr = report.Guard(w.stdout), report.Guard(w.stderr)
	return &guarded
}

// annotate shows findings in the pull request: under GitHub Actions it writes
// them to stderr in the runner's form. Elsewhere it does nothing. A command calls
// it on top of its report unless the report has that form itself; it changes
// no exit code, since the report is what counts.
func (w *world) annotate(list []report.Finding) {
	if under, guarded := report.Unguarded(w.stderr); guarded {
		_, _ = under.Write(report.GitHub(list))
	}
}

// writeCommands is write for the github format, which is made of a runner's
// commands.
func (w *world) writeCommands(data []byte) error {
	out := *w
	out.stdout, _ = report.Unguarded(w.stdout)
	return out.write(data)
}

// writeFindings writes a report in one of the formats that are made of findings.
// name is the command it comes from.
func (w *world) writeFindings(format, name string, list []report.Finding) error {
	switch format {
	case "junit":
		data, err := report.JUnit(name, list)
		if err != nil {
			return err
		}
		return w.write(data)
	case "sarif":
		data, err := report.SARIF(list, readBuild().version)
		if err != nil {
			return err
		}
		return w.write(data)
	}
	return w.writeCommands(report.GitHub(list))
}
