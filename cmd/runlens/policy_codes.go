package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/report"
)

func (w *world) codesCommand() *cli.Command {
	return &cli.Command{
		Name:  "codes",
		Usage: "list the reason codes that a verdict can carry",
		Description: `Codes of the policy tree in use, and those of RunLens itself. Scripts and agents may
rely on a code; messages may change.

  runlens policy codes
  runlens policy codes --format markdown > docs/reason-codes.md`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT`: text, markdown or json"},
		},
		Action: w.policyCodes,
	}
}

func (w *world) policyCodes(c *cli.Context) error {
	if err := countFiles(c, 0, 0); err != nil {
		return err
	}
	format, err := oneOf(c, "format", "text", "markdown", "json")
	if err != nil {
		return err
	}
	p, err := w.openProject(c)
	if err != nil {
		return err
	}
	e, err := p.loadPolicies()
	if err != nil {
		return err
	}
	switch format {
	case "markdown":
		return w.print(codesMarkdown(e.Codes()))
	case "json":
		text, err := codesJSON(e)
		if err != nil {
			return err
		}
		return w.write(text)
	}
	return w.print(codesText(e.Codes()))
}

func codesText(codes []engine.Code) string {
	var b strings.Builder
	for _, c := range codes {
		fmt.Fprintf(&b, "%-26s %-10s %s\n", c.Code, verdictsOf(c), c.Title)
	}
	return b.String()
}

// verdictsOf names the verdicts that a code comes with; "failed" is a call that
// was allowed, or that nobody could judge, and came to nothing.
func verdictsOf(c engine.Code) string {
	switch {
	case len(c.Effects) > 0:
		return strings.Join(c.Effects, ", ")
	case c.Code == "allowed":
		return "allow"
	case slices.Contains([]string{"record", "handler", "output schema", "start"}, c.Gate):
		return "failed"
	}
	return "deny"
}

const codesIntro = `# Reason codes

Every verdict carries at least one reason, and every reason a code. Scripts and
agents may rely on codes; messages may change. "Retry" says whether the same agent
may try again with a corrected call.

This page is generated: ` + "`runlens policy codes --format markdown`" + `.

| Code | Verdict | Gate | Retry | Meaning | What to do |
| --- | --- | --- | --- | --- | --- |
`

func codesMarkdown(codes []engine.Code) string {
	var b strings.Builder
	b.WriteString(codesIntro)
	for _, c := range codes {
		retry := "no"
		if c.Retryable {
			retry = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n",
			c.Code, verdictsOf(c), cell(c.Gate), retry, cell(c.Title), cell(c.Remedy))
	}
	return b.String()
}

// cell is text in a Markdown table.
func cell(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;").Replace(text)
}

func codesJSON(e *engine.Engine) ([]byte, error) {
	type code struct {
		Code      string   `json:"code"`
		Title     string   `json:"title"`
		Gate      string   `json:"gate"`
		Retryable bool     `json:"retryable"`
		Remedy    string   `json:"remedy"`
		Verdicts  []string `json:"verdicts"`
	}
	doc := struct {
		SchemaVersion  int    `json:"schema_version"`
		PolicyRevision string `json:"policy_revision"`
		Codes          []code `json:"codes"`
	}{report.SchemaVersion, e.Revision(), []code{}}
	for _, c := range e.Codes() {
		doc.Codes = append(doc.Codes, code{c.Code, c.Title, c.Gate, c.Retryable, c.Remedy, strings.Split(verdictsOf(c), ", ")})
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, hinted("", "write codes: %w", err)
	}
	return append(text, '\n'), nil
}
