package handlers

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/runlens/runlens/internal/facts"
	"github.com/runlens/runlens/internal/manifest"
)

// artifacts is where the tools that take an artifact name write.
const artifacts = "runs/{run_id}/artifacts"

// writeFile writes text as it came.
func writeFile() Handler {
	return Handler{
		Handler: manifest.Handler{
			Name:       "write_file",
			Operations: []string{facts.Write},
			Targets:    []manifest.Target{{Param: "path", Access: facts.Write}},
			Payload:    []string{"content"},
			Input: schema(map[string]any{
				"path":    kind("string", "the file to write, counted from the project directory"),
				"content": kind("string", "the whole new content"),
			}),
			Output: schema(map[string]any{
				"path":  kind("string", ""),
				"bytes": kind("integer", "bytes written"),
			}),
		},
		Render: func(args map[string]any) ([]byte, string, error) {
			text, ok := args["content"].(string)
			if !ok {
				return nil, "/content", errors.New("must be a string")
			}
			return []byte(text), "/content", nil
		},
		Run: func(ctx context.Context, g *Grant) (Result, error) {
			w, err := write(g, "path")
			if err != nil {
				return Result{}, err
			}
			return Result{Output: map[string]any{"path": w.Path, "bytes": len(g.Data)}, Written: []Written{w}}, nil
		},
	}
}

// writeJSON writes any JSON value as an artifact of the run, spelt the one way
// that renderJSON knows.
func writeJSON() Handler {
	return writeArtifact("write_json_file", ".json",
		map[string]any{"description": "any JSON value"},
		func(content any) ([]byte, string, error) { return renderJSON(content, "/content") })
}

// writeMarkdown writes text as an artifact of the run, with a final newline.
func writeMarkdown() Handler {
	return writeArtifact("write_markdown_file", ".md",
		kind("string", "Markdown text"),
		func(content any) ([]byte, string, error) {
			text, ok := content.(string)
			if !ok {
				return nil, "/content", errors.New("must be a string")
			}
			if !strings.HasSuffix(text, "\n") {
				text += "\n"
			}
			return []byte(text), "/content", nil
		})
}

func writeArtifact(name, suffix string, content map[string]any, render func(any) ([]byte, string, error)) Handler {
	return Handler{
		Handler: manifest.Handler{
			Name:       name,
			Operations: []string{facts.Write},
			Targets: []manifest.Target{{
				Param: "artifact_name", Access: facts.Write, Template: artifacts + "/{artifact_name}",
			}},
			Payload:  []string{"content"},
			Suffixes: []string{suffix},
			Input: schema(map[string]any{
				"artifact_name": map[string]any{
					"type": "string", "pattern": `[^/]\` + suffix + `$`,
					"description": "the artifact's file name; it ends in " + suffix,
				},
				"content": content,
			}),
			Output: schema(map[string]any{
				"path":          kind("string", ""),
				"artifact_name": kind("string", ""),
			}),
		},
		Render: func(args map[string]any) ([]byte, string, error) {
			if name, ok := args["artifact_name"].(string); ok && !strings.HasSuffix(name, suffix) {
				return nil, "/artifact_name", errors.New("must end in " + suffix)
			}
			value, given := args["content"]
			if !given {
				return nil, "/content", errors.New("field is required")
			}
			return render(value)
		},
		Run: func(ctx context.Context, g *Grant) (Result, error) {
			w, err := write(g, "artifact_name")
			if err != nil {
				return Result{}, err
			}
			return Result{Output: map[string]any{"path": w.Path, "artifact_name": g.artifactName(w.Path)}, Written: []Written{w}}, nil
		},
	}
}

// write puts the rendered bytes into the object.
func write(g *Grant, param string) (Written, error) {
	o, label, err := g.object(param)
	if err != nil {
		return Written{}, err
	}
	if g.Data == nil {
		return Written{}, failed("write file: the grant holds no rendered content")
	}
	if _, err := o.Write(g.Data); err != nil {
		return Written{}, objectError("write file", err)
	}
	return newWritten(label, g.Data), nil
}

// artifactName is the label counted from the run's artifacts, or its last name
// when it lies elsewhere.
func (g *Grant) artifactName(label string) string {
	below := strings.ReplaceAll(artifacts, "{run_id}", g.RunID) + "/"
	if name, ok := strings.CutPrefix(label, below); ok {
		return name
	}
	return path.Base(label)
}

// deleteFile removes one object.
func deleteFile() Handler {
	return Handler{
		Handler: manifest.Handler{
			Name:       "delete_file",
			Operations: []string{facts.Delete},
			Targets:    []manifest.Target{{Param: "path", Access: facts.Delete}},
			Input: schema(map[string]any{
				"path": kind("string", "the file to delete, counted from the project directory"),
			}),
			Output: schema(map[string]any{"path": kind("string", "")}),
		},
		Run: func(ctx context.Context, g *Grant) (Result, error) {
			o, label, err := g.object("path")
			if err != nil {
				return Result{}, err
			}
			if err := o.Remove(); err != nil {
				return Result{}, objectError("delete file", err)
			}
			return Result{Output: map[string]any{"path": label}}, nil
		},
	}
}

// renameFile moves one object to a name.
func renameFile() Handler {
	return Handler{
		Handler: manifest.Handler{
			Name:       "rename_file",
			Operations: []string{facts.Rename},
			Targets: []manifest.Target{
				{Param: "from", Access: facts.Read},
				{Param: "from", Access: facts.Delete},
				{Param: "to", Access: facts.Write},
			},
			Input: schema(map[string]any{
				"from": kind("string", "the file to rename, counted from the project directory"),
				"to":   kind("string", "its new name, counted from the project directory"),
			}),
			Output: schema(map[string]any{"from": kind("string", ""), "to": kind("string", "")}),
		},
		Run: func(ctx context.Context, g *Grant) (Result, error) {
			from, to := g.Objects["from"], g.Objects["to"]
			if from == nil || to == nil {
				return Result{}, failed("rename file: the grant needs objects for from and to")
			}
			if err := from.RenameTo(to); err != nil {
				return Result{}, objectError("rename file", err)
			}
			return Result{Output: map[string]any{"from": g.Declared["from"], "to": g.Declared["to"]}}, nil
		},
	}
}
