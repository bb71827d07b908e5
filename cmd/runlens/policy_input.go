package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/runlens/runlens/schemas"
)

func (w *world) inputCommand() *cli.Command {
	return &cli.Command{
		Name:  "input",
		Usage: "describe the document that policy judges",
		Description: `Every field of input, with its type and what it means. A rule that names a field that
is not there does not load.

  runlens policy input
  runlens policy input --format json > input-schema.json
  opa check --strict --schema input-schema.json policies`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: "markdown", Usage: "`FORMAT`: markdown, or json (the JSON schema)"},
		},
		Action: w.policyInput,
	}
}

func (w *world) policyInput(c *cli.Context) error {
	if err := countFiles(c, 0, 0); err != nil {
		return err
	}
	format, err := oneOf(c, "format", "markdown", "json")
	if err != nil {
		return err
	}
	raw, err := fs.ReadFile(schemas.FS, "input.json")
	if err != nil {
		return hinted("", "read schema of the input: %w", err)
	}
	if format == "json" {
		return w.write(raw)
	}
	page, err := inputMarkdown(raw)
	if err != nil {
		return err
	}
	return w.print(page)
}

// schema is what a page says of one field.
type schema struct {
	Title       string          `json:"title"`
	Type        any             `json:"type"`
	Description string          `json:"description"`
	Enum        []any           `json:"enum"`
	Required    []string        `json:"required"`
	Properties  json.RawMessage `json:"properties"`
	Items       *schema         `json:"items"`
}

const inputIntro = `
Rules read it as ` + "`input`" + `; ` + "`runlens check --format input`" + ` prints it for a call, and the
ledger records it with every verdict. In a path below, ` + "`[]`" + ` stands for each element.

This page is generated from schemas/input.json: ` + "`runlens policy input`" + `.

| Field | Type | Meaning |
| --- | --- | --- |
`

// inputMarkdown writes the schema as a page, in the schema's own order.
func inputMarkdown(raw []byte) (string, error) {
	var root schema
	if err := json.Unmarshal(raw, &root); err != nil {
		return "", hinted("", "read schema of the input: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n%s", root.Title, root.Description, inputIntro)
	if err := root.rows(&b, ""); err != nil {
		return "", err
	}
	return b.String(), nil
}

func (s *schema) rows(b *strings.Builder, prefix string) error {
	if len(s.Properties) == 0 {
		return nil
	}
	keys, err := keysInOrder(s.Properties)
	if err != nil {
		return err
	}
	var fields map[string]*schema
	if err := json.Unmarshal(s.Properties, &fields); err != nil {
		return hinted("", "read schema of the input: %w", err)
	}
	for _, key := range keys {
		f := fields[key]
		path := prefix + key
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", path, f.typeWords(), cell(f.meaning()))
		inner, below := f, path+"."
		for inner.Items != nil {
			inner, below = inner.Items, strings.TrimSuffix(below, ".")+"[]."
		}
		if err := inner.rows(b, below); err != nil {
			return err
		}
	}
	return nil
}

// typeWords is a type in words: "array of object".
func (s *schema) typeWords() string {
	name, ok := s.Type.(string)
	switch list, many := s.Type.([]any); {
	case many:
		words := make([]string, len(list))
		for i, t := range list {
			words[i] = fmt.Sprint(t)
		}
		name = strings.Join(words, " or ")
	case !ok:
		name = "any"
	}
	if s.Items != nil {
		return name + " of " + s.Items.typeWords()
	}
	return name
}

func (s *schema) meaning() string {
	values := s.Enum
	for inner := s; values == nil && inner.Items != nil; {
		inner = inner.Items
		values = inner.Enum
	}
	if values == nil {
		return s.Description
	}
	words := make([]string, len(values))
	for i, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			return s.Description
		}
		words[i] = "`" + string(text) + "`"
	}
	return strings.TrimSpace(s.Description + " One of " + strings.Join(words, ", "))
}

// keysInOrder lists the keys of a JSON object as they stand in the text.
func keysInOrder(object json.RawMessage) ([]string, error) {
	dec := json.NewDecoder(strings.NewReader(string(object)))
	if _, err := dec.Token(); err != nil {
		return nil, hinted("", "read schema of the input: %w", err)
	}
	var keys []string
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, hinted("", "read schema of the input: %w", err)
		}
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			return nil, hinted("", "read schema of the input: %w", err)
		}
		name, _ := key.(string)
		keys = append(keys, name)
	}
	return slices.Clip(keys), nil
}
