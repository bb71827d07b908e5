package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/ledger"
	"github.com/runlens/runlens/internal/report"
)

func (w *world) showCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "print what happened in a run",
		ArgsUsage: "RUN",
		Description: `RUN is an id, or a path to a run's directory. A call is one line where that fits: the
number of its proposal (what approve and deny ask for), the time, its call_id, the tool,
what it points at, and how it ended. Paths count from the project; artifacts/ is the
run's own.

  runlens ledger show demo-001
  runlens ledger show demo-001 --events
  runlens ledger show demo-001 --format json | jq '.events[] | select(.type == "tool_denied")'`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT`: text (a timeline) or json (the events with their payloads)"},
			&cli.BoolFlag{Name: "events", Usage: "one line an event, in the order of the ledger, instead of one a call"},
		},
		Action: w.show,
	}
}

func (w *world) show(c *cli.Context) error {
	if err := countFiles(c, 1, 1); err != nil {
		return err
	}
	format, err := oneOf(c, "format", "text", "json")
	if err != nil {
		return err
	}
	if c.Bool("events") && format != "text" {
		return hinted("json has every event already", "read arguments: --events is for text")
	}
	p, err := w.openProject(c)
	if err != nil {
		return err
	}
	dir, err := p.runDir(c.Args().First())
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w.stdout)
	show := showTimeline
	switch {
	case format == "json":
		show = showJSON
	case c.Bool("events"):
		show = showEvents
	}
	readErr := show(out, dir)
	if err := out.Flush(); err != nil {
		return hinted("", "write result: %w", err)
	}
	if readErr != nil {
		return hinted(fmt.Sprintf("`runlens ledger verify %s` says more", c.Args().First()), "%w", readErr)
	}
	return nil
}

// showJSON writes one document; it is whole even when reading ends early.
func showJSON(out io.Writer, dir string) error {
	id, err := ledger.RunIDOf(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "{\"schema_version\":%d,\"run_id\":%s,\"events\":[", report.SchemaVersion, quoteJSON(id))
	defer io.WriteString(out, "\n]}\n")
	between := "\n"
	for ev, err := range ledger.Read(dir) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s%s", between, ev.AppendLine(nil))
		between = ",\n"
	}
	return nil
}

func quoteJSON(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(text)
}

// short is a revision or digest as people compare them.
func short(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return hex[:min(len(hex), 12)]
}

func millis(us int64) string { return fmt.Sprintf("%.1f ms", float64(us)/1000) }
