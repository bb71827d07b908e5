package engine

import (
	"encoding/json"
	"io/fs"
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/runlens/runlens/internal/facts"
)

// small is a policy tree that is complete and has one of everything.
func small() map[string]string {
	return map[string]string{
		".manifest": `{"roots":["runlens"],"rego_version":1}`,
		"runlens/data.json": `{
  "required": ["registry", "names"],
  "order": [
    {"gate": "registry", "codes": ["unknown_tool"]},
    {"gate": "paths", "codes": ["forbidden_path", "approval_required"]},
    {"gate": "policy", "codes": ["incomplete"]},
    {"gate": "allow", "codes": ["allowed"]}
  ],
  "limits": {"withheld_bytes": 8192, "command_bytes": 65536, "read_bytes": 5000000, "write_bytes": 2000000, "observation_bytes": 16384, "policy_timeout_ms": 2000},
  "budget": {"default": {"in_row": 5, "total": 50, "malformed": 20}, "doors": {"hook": {"in_row": 50, "total": -1, "malformed": 20}}},
  "resume": {"judge_again": ["policy"], "judge_again_last": []}, "approvals": {"tools": {}, "operations": {}},
  "names": {"refused": {"exact": [".env"], "prefix": [".env."], "suffix": [".env"]}, "allowed": {"suffix": [".example"]}},
  "secrets": {"kinds": {"aws_access_key": "AKIA[0-9A-Z]{16}"}}, "sandbox": {"limits": {"cpu_seconds": 600, "file_bytes": 1, "open_files": 2, "processes": 3, "memory_bytes": 0, "temp_bytes": 4, "output_bytes": 5}}
}`,
		"runlens/codes/data.json": `{
  "unknown_tool": {"gate": "registry", "retryable": false, "remedy": "declare it"},
  "forbidden_path": {"gate": "paths", "retryable": true, "remedy": "leave it"},
  "approval_required": {"gate": "paths", "retryable": false, "remedy": "ask"},
  "incomplete": {"gate": "policy", "retryable": false, "remedy": "repair"},
  "allowed": {"gate": "allow", "retryable": false, "remedy": "none"}
}`,
		"runlens/decision.rego": `package runlens

import data.runlens.lib

decision := {"verdict": "deny", "reasons": _reasons, "grant": {}} if {
	count(_reasons) > 0
} else := {"verdict": "allow", "reasons": [_allowed], "grant": {"max_bytes": data.runlens.limits.read_bytes}} if {
	input.tool.declared
} else := {"verdict": "deny", "reasons": [_incomplete], "grant": {}}

_reasons := [reason | some reason in data.runlens.rules[_].deny]

# METADATA
# title: allowed
# custom:
#   code: allowed
_allowed := lib.reason(rego.metadata.rule(), {})

# METADATA
# title: not clear
# custom:
#   code: incomplete
_incomplete := lib.reason(rego.metadata.rule(), {})
`,
		"runlens/lib/lib.rego": `package runlens.lib

reason(meta, detail) := {
	"code": meta.custom.code,
	"message": meta.title,
	"param": "",
	"detail": detail,
	"location": meta.custom.location,
}
`,
		"runlens/rules/registry/registry.rego": `package runlens.rules.registry

import data.runlens.lib

# METADATA
# title: the tool is not declared
# custom:
#   code: unknown_tool
deny contains lib.reason(rego.metadata.rule(), {"tool": input.call.tool}) if {
	not input.tool.declared
}
`,
		"runlens/rules/names/names.rego": `package runlens.rules.names

import data.runlens.lib

# METADATA
# title: the name is refused
# custom:
#   code: forbidden_path
deny contains lib.reason(rego.metadata.rule(), {"path": target.requested}) if {
	some target in input.targets
	some name in target.folded
	name in data.runlens.names.refused.exact
}

# METADATA
# title: a person must approve
# custom:
#   code: approval_required
ask contains lib.reason(rego.metadata.rule(), {}) if input.tool.operation == "delete"
`,
		"runlens/rules/names/names_test.rego": `package runlens.rules.names_test

test_quiet if true
`,
	}
}

// with returns small with changes; an empty text deletes the file.
func with(changes map[string]string) fs.FS {
	files := small()
	maps.Copy(files, changes)
	m := fstest.MapFS{}
	for name, text := range files {
		if text != "" {
			m[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return m
}

// edit returns file of small with old replaced by replacement.
func edit(t testing.TB, file, old, replacement string) map[string]string {
	t.Helper()
	text := small()[file]
	if strings.Count(text, old) != 1 {
		t.Fatalf("%s holds %q %d times", file, old, strings.Count(text, old))
	}
	return map[string]string{file: strings.Replace(text, old, replacement, 1)}
}

// testSchemas are schemas made from the facts' own types: closed, every field
// present. Data is free.
func testSchemas(t testing.TB) fs.FS {
	t.Helper()
	raw, err := json.Marshal(schemaOf(reflect.TypeFor[facts.Input]()))
	if err != nil {
		t.Fatal(err)
	}
	return fstest.MapFS{
		"input.json": {Data: raw},
		"data.json":  {Data: []byte(`{"type":"object","properties":{"runlens":{"properties":{"names":{"required":["refused"]}}}}}`)},
	}
}

func schemaOf(typ reflect.Type) map[string]any {
	switch typ.Kind() {
	case reflect.Pointer:
		return schemaOf(typ.Elem())
	case reflect.Struct:
		properties := map[string]any{}
		var required []string
		for f := range typ.Fields() {
			name := f.Tag.Get("json")
			properties[name] = schemaOf(f.Type)
			required = append(required, name)
		}
		return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(typ.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	default:
		return map[string]any{"type": "string"}
	}
}

// loadWith loads small with changes and expects it to load.
func loadWith(t testing.TB, changes map[string]string) *Engine {
	t.Helper()
	e, err := Load(Source{FS: with(changes), Schemas: testSchemas(t)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
