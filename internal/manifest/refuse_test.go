package manifest

import (
	"slices"
	"strings"
	"testing"
)

// tool puts the body of one tool into a file; the tool stands in line 2, its
// body begins in line 3.
func tool(name, body string) string {
	return `{"schema_version":1,"tools":{` + "\n" + `"` + name + `":{` + "\n" + body + "}}}"
}

func TestRefusals(t *testing.T) {
	read := `"operation":"read",` + "\n"
	exec := `"operation":"execute","commands":[["go","test"]],` + "\n"
	write := `"operation":"write",` + "\n"
	for _, c := range []struct{ name, data, want string }{
		// keys and values
		{"unknown key", tool("read_file", read+`"rooots":["src"]`), `4: tool "read_file": unknown key "rooots" (did you mean "roots"?)`},
		{"unknown key, no near one", tool("t", read+`"colour":1`), `4: tool "t": unknown key "colour"`},
		{"unknown top key", `{"schema_version":1,"tols":{},"tools":{}}`, `1: unknown key "tols" (did you mean "tools"?)`},
		{"key in another case", tool("t", read+`"Roots":["src"]`), `4: tool "t": unknown key "Roots" (did you mean "roots"?)`},
		{"no version", `{"tools":{}}`, `1: schema_version is missing (add "schema_version": 1)`},
		{"other version", `{"schema_version":2,"tools":{}}`, `1: unknown schema_version (this version reads 1)`},
		{"version as text", `{"schema_version":"1","tools":{}}`, `1: unknown schema_version (this version reads 1)`},
		{"no tools", `{"schema_version":1}`, `1: tools is missing (add "tools": {} to allow nothing)`},
		{"tools as list", `{"schema_version":1,"tools":[]}`, `1: tools must be an object, not a list`},
		{"tool as string", `{"schema_version":1,"tools":{"t":"read"}}`, `1: tool "t": the declaration must be an object, not a string`},
		{"no object", `[]`, `1: a manifest must be an object, not a list`},
		{"no operation", tool("t", `"max_bytes":1`), `2: tool "t": operation is missing (one of read, list, search, write, delete, rename, execute, fetch, compute)`},
		{"misspelt operation", tool("t", `"operation":"raed"`), `3: tool "t": unknown operation "raed" (did you mean "read"?)`},
		{"operation null", tool("t", `"operation":null`), `3: tool "t": operation must be a string, not null`},
		{"bad name", tool("1st", read+`"max_bytes":1`), `2: tool "1st": bad tool name (a letter or _, then letters, digits, _ . -, at most 64 in all)`},
		{"long name", tool(strings.Repeat("a", 65), read+`"max_bytes":1`), `2: tool "` + strings.Repeat("a", 65) + `": bad tool name (a letter or _, then letters, digits, _ . -, at most 64 in all)`},
		{"name with a space", tool("a b", read+`"max_bytes":1`), `2: tool "a b": bad tool name (a letter or _, then letters, digits, _ . -, at most 64 in all)`},
		{"reserved name", tool("RunLens_x", read+`"max_bytes":1`), `2: tool "RunLens_x": names that begin with "runlens" are reserved (choose another name)`},
		{"duplicate tool", `{"schema_version":1,"tools":{` + "\n" + `"t":{"operation":"read"},` + "\n" + `"t":{"operation":"list"}}}`, `3: key "t" appears twice, first in line 2`},
		{"duplicate key by escape", tool("t", read+`"max_bytes":1,`+"\n"+`"max_byte\u0073":2`), `5: key "max_bytes" appears twice, first in line 4`},
		{"max_bytes zero", tool("t", read+`"max_bytes":0`), `4: tool "t": max_bytes must be a whole number above zero (leave it out for the policy's own limit)`},
		{"max_bytes negative", tool("t", read+`"max_bytes":-1`), `4: tool "t": max_bytes must be a whole number above zero (leave it out for the policy's own limit)`},
		{"max_bytes fraction", tool("t", read+`"max_bytes":1.5`), `4: tool "t": max_bytes must be a whole number above zero (leave it out for the policy's own limit)`},
		{"max_bytes too big", tool("t", read+`"max_bytes":9223372036854775808`), `4: tool "t": max_bytes must be a whole number above zero (leave it out for the policy's own limit)`},
		{"max_bytes as text", tool("t", read+`"max_bytes":"64"`), `4: tool "t": max_bytes must be a number, not a string`},
		{"timeout zero", tool("t", read+`"timeout_ms":0`), `4: tool "t": timeout_ms must be a whole number above zero (leave it out for the policy's own limit)`},
		{"absolute as text", tool("t", read+`"absolute":"true"`), `4: tool "t": absolute must be a boolean, not a string`},
		{"path relative", `{"schema_version":1,"tools":{},` + "\n" + `"path":"/usr/bin:bin"}`, `2: path names "bin", which is not absolute`},
		{"path with an empty part", `{"schema_version":1,"tools":{},` + "\n" + `"path":"/usr/bin:"}`, `2: path names "", which is not absolute`},
		{"path with ..", `{"schema_version":1,"tools":{},` + "\n" + `"path":["/usr/../bin"]}`, `2: path names "/usr/../bin", which is not a plain directory name`},
		{"path empty", `{"schema_version":1,"tools":{},"path":[]}`, `1: path is empty (leave it out for the default)`},
		{"record", `{"schema_version":1,"tools":{},"record":"fact"}`, `1: unknown record "fact" (did you mean "facts"?)`},

		// handlers
		{"unknown handler", tool("t", read+`"handler":"read_fil"`), `4: tool "t": unknown handler "read_fil" (did you mean "read_file"?)`},
		{"handler of another operation", tool("t", read+`"handler":"write_file"`), `4: tool "t": handler "write_file" does not serve operation "read" (it serves write)`},
		{"operation without handler", tool("t", `"operation":"search"`), `3: tool "t": operation "search" has no handler of its own (name one, or "external" where another program runs it)`},

		// roots
		{"roots empty", tool("t", read+`"roots":[]`), `4: tool "t": roots is empty, so nothing could be touched (leave it out for the defaults, or name a directory)`},
		{"root as text", tool("t", read+`"roots":"src"`), `4: tool "t": roots must be a list, not a string`},
		{"root number", tool("t", read+`"roots":[7]`), `4: tool "t": a root must be a string or an object, not a number`},
		{"root empty", tool("t", read+`"roots":[""]`), `4: tool "t": root "" is empty ("." is the project)`},
		{"root absolute", tool("t", read+`"roots":["/srv"]`), `4: tool "t": root "/srv" is absolute (add "absolute": true, or name it from the project directory)`},
		{"root drive", tool("t", read+`"roots":["C:/x"]`), `4: tool "t": root "C:/x" is absolute (add "absolute": true, or name it from the project directory)`},
		{"root ..", tool("t", read+`"roots":["src/../.."]`), `4: tool "t": root "src/../.." holds ".."`},
		{"root NUL", tool("t", read+`"roots":["a\u0000b"]`), `4: tool "t": root "a\x00b" holds NUL or a control character`},
		{"root backslash", tool("t", read+`"roots":["a\\b"]`), `4: tool "t": root "a\\b" holds a backslash (use /)`},
		{"root tilde", tool("t", read+`"roots":["~/src"]`), `4: tool "t": root "~/src" begins with ~, which nobody expands (write the directory out)`},
		{"root pattern", tool("t", read+`"roots":["src/**"]`), `4: tool "t": root "src/**" is a pattern (a root is a directory; everything below it is inside)`},
		{"root placeholder", tool("t", read+`"roots":["runs/{run}/x"]`), `4: tool "t": root "runs/{run}/x" has a placeholder other than {run_id}`},
		{"root access unknown", tool("t", read+`"roots":[{"path":"a","access":["reed"]}]`), `4: tool "t": root: unknown access "reed" (did you mean "read"?)`},
		{"root access empty", tool("t", read+`"roots":[{"path":"a","access":[]}]`), `4: tool "t": a root's access is empty (leave it out for every access)`},
		{"root key", tool("t", read+`"roots":[{"paths":"a"}]`), `4: tool "t": root: unknown key "paths" (did you mean "path"?)` + "\n" + `4: tool "t": a root's path is missing`},
		{"no root for the access", tool("t", read+`"roots":[{"path":"a","access":["write"]}]`), `4: tool "t": no root is for access "read", which a target has`},

		// contradictions
		{"commands on a read", tool("t", read+`"commands":[["ls"]]`), `4: tool "t": commands is for operation "execute", not "read" (leave it out)`},
		{"sandbox on a read", tool("t", read+`"sandbox":"none"`), `4: tool "t": sandbox is for a program, and handler "read_file" of operation "read" runs none (leave it out)`},
		{"commands missing", tool("t", `"operation":"execute"`), `2: tool "t": commands is missing, so nothing could run (add "commands": [["program", "argument"]])`},
		{"commands empty", tool("t", `"operation":"execute","commands":[]`), `3: tool "t": commands is empty, so nothing could run`},
		{"command as text", tool("t", `"operation":"execute","commands":["go test"]`), `3: tool "t": a command must be a list of strings, not a string (split it: ["program", "argument"]; no shell reads it)`},
		{"command empty", tool("t", `"operation":"execute","commands":[[]]`), `3: tool "t": a command is empty`},
		{"command part empty", tool("t", `"operation":"execute","commands":[["go",""]]`), `3: tool "t": a part of a command is empty or holds NUL`},
		{"command part number", tool("t", `"operation":"execute","commands":[["sleep",1]]`), `3: tool "t": a part of a command must be a string or an object, not a number`},
		{"command twice", tool("t", `"operation":"execute","commands":[["ls"],`+"\n"+`["ls"]]`), `4: tool "t": commands holds the same command twice`},
		{"sandbox level", tool("t", exec+`"sandbox":"off"`), `4: tool "t": unknown sandbox "off" (known: full, none)`},
		{"no argv to choose by", tool("t", `"operation":"execute","commands":[["ls"],["pwd"]],`+"\n"+`"input_schema":{"type":"object"}`), `4: tool "t": input_schema has no argv to choose one of the commands`},
		{"create_parents on a read", tool("t", read+`"create_parents":true`), `4: tool "t": create_parents is set, and no target is written (leave it out)`},

		// targets and payload
		{"no target", tool("t", read+`"targets":[]`), `4: tool "t": operation "read" needs a target with access "read" (add {"param": …, "access": "read"} to targets)`},
		{"rename without write", tool("t", `"operation":"rename",`+"\n"+`"targets":[{"param":"a","access":"read"},{"param":"a","access":"delete"}]`), `4: tool "t": operation "rename" needs a target with access "write" (add {"param": …, "access": "write"} to targets)`},
		{"rename of two sources", tool("t", `"operation":"rename",`+"\n"+`"targets":[{"param":"a","access":"read"},{"param":"b","access":"delete"},{"param":"c","access":"write"}]`), `4: tool "t": a rename must read and delete the same target`},
		{"rename onto itself", tool("t", `"operation":"rename",`+"\n"+`"targets":[{"param":"a","access":"read"},{"param":"a","access":"delete"},{"param":"a","access":"write"}]`), `4: tool "t": a rename must write another target than it reads`},
		{"read that writes", tool("t", read+`"targets":[{"param":"a"},`+"\n"+`{"param":"b","access":"write"}]`), `5: tool "t": a target has access "write", which operation "read" does not have`},
		{"search without access", tool("t", `"operation":"search","handler":"external",`+"\n"+`"targets":[{"param":"a"}]`), `4: tool "t": a target's access is missing (one of read, list, write, delete, execute)`},
		{"target twice", tool("t", read+`"targets":[{"param":"a"},`+"\n"+`{"param":"a"}]`), `5: tool "t": a target is declared twice`},
		{"target key", tool("t", read+`"targets":[{"param":"a","acces":"read"}]`), `4: tool "t": target: unknown key "acces" (did you mean "access"?)`},
		{"target without name", tool("t", read+`"targets":[{"access":"read"}]`), `4: tool "t": a target has neither param nor template`},
		{"target in no schema", tool("t", read+`"targets":[{"param":"pth"}],`+"\n"+`"input_schema":{"type":"object","properties":{"path":{"type":"string"}}}`), `4: tool "t": target "pth" names no parameter of input_schema (did you mean "path"?)`},
		{"handler's target in no schema", tool("read_file", read+`"input_schema":{"type":"object","properties":{"file":{"type":"string"}}}`), `2: tool "read_file": target "path" names no parameter of input_schema`},
		{"target not a string", tool("t", read+`"input_schema":{"type":"object","properties":{"path":{"type":["string","null"]}}}`), `2: tool "t": target "path" is not declared as a string in input_schema (its schema must say "type": "string")`},
		{"target of any type", tool("t", read+`"input_schema":{"type":"object","properties":{"path":{}}}`), `2: tool "t": target "path" is not declared as a string in input_schema (its schema must say "type": "string")`},
		{"placeholder in no schema", tool("t", write+`"targets":[{"param":"n","template":"out/{dir}/{n}"}],"payload":[],`+"\n"+`"input_schema":{"type":"object","properties":{"n":{"type":"string"}}}`), `4: tool "t": template placeholder "dir" names no parameter of input_schema`},
		{"param not in template", tool("t", write+`"payload":[],"targets":[{"param":"n","template":"out/x"}]`), `4: tool "t": template "out/x" does not use its param (put {n} into it)`},
		{"template braces", tool("t", write+`"payload":[],"targets":[{"template":"out/{x"}]`), `4: tool "t": template "out/{x" has a brace without its partner`},
		{"template ..", tool("t", write+`"payload":[],"targets":[{"template":"out/../x"}]`), `4: tool "t": template "out/../x" holds "..", a backslash or a control character`},
		{"template absolute", tool("t", write+`"payload":[],"targets":[{"template":"/out/x"}]`), `4: tool "t": template "/out/x" is absolute (add "absolute": true)`},
		{"default absolute", tool("t", read+`"targets":[{"param":"a","default":"/etc"}]`), `4: tool "t": a target's default is absolute or holds a control character`},
		{"default without param", tool("t", read+`"targets":[{"template":"a","default":"b"}]`), `4: tool "t": a target has a default and no param`},
		{"payload in no schema", tool("t", write+`"payload":["contents"],`+"\n"+`"input_schema":{"type":"object","properties":{"path":{"type":"string"},"content":{}}}`), `4: tool "t": payload names "contents", which is no parameter of input_schema (did you mean "content"?)`},
		{"payload is a target", tool("t", write+`"payload":["path"]`), `2: tool "t": target "path" is not declared as a string in input_schema (its schema must say "type": "string")` + "\n" + `4: tool "t": payload names "path", which is a target`},
		{"payload twice", tool("t", write+`"payload":["a","a"]`), `4: tool "t": payload names "a" twice`},

		// schemas
		{"pattern", tool("t", read+`"input_schema":{"type":"object","properties":{`+"\n"+`"path":{"type":"string","pattern":"(a"}}}`), `5: tool "t": input_schema.properties.path.pattern: the pattern does not compile: missing closing ): ` + "`(a`" + ` (RE2 syntax: no look-around, no back references)`},
		{"look-ahead", tool("t", read+`"input_schema":{"type":"object","properties":{"path":{"type":"string","pattern":"^(?!x)"}}}`), `4: tool "t": input_schema.properties.path.pattern: the pattern does not compile: invalid or unsupported Perl syntax: ` + "`(?!`" + ` (RE2 syntax: no look-around, no back references)`},
		{"pattern key", tool("t", read+`"input_schema":{"type":"object","patternProperties":{"[":{}}}`), `4: tool "t": input_schema.patternProperties: the pattern does not compile: missing closing ]: ` + "`[`" + ` (RE2 syntax: no look-around, no back references)`},
		{"ref out by URL", tool("t", read+`"input_schema":{"type":"object","properties":{"path":{`+"\n"+`"$ref":"https://example.com/s.json"}}}`), `5: tool "t": input_schema.properties.path.$ref: "https://example.com/s.json" leaves the document (only "#…" is allowed)`},
		{"ref out by file", tool("t", read+`"input_schema":{"$ref":"file:///etc/passwd","type":"object"}`), `4: tool "t": input_schema.$ref: "file:///etc/passwd" leaves the document (only "#…" is allowed)`},
		{"ref out by name", tool("t", read+`"input_schema":{"$ref":"other.json#/x","type":"object"}`), `4: tool "t": input_schema.$ref: "other.json#/x" leaves the document (only "#…" is allowed)`},
		{"ref out from an odd place", tool("t", read+`"input_schema":{"type":"object","properties":{"path":{"$ref":"#/x-l/0"}},`+"\n"+`"x-l":[{"$ref":"file:///etc/passwd"}]}`), `5: tool "t": input_schema.x-l[0].$ref: "file:///etc/passwd" leaves the document (only "#…" is allowed)`},
		{"ref to nothing", tool("t", read+`"input_schema":{"$ref":"#/$defs/x","type":"object"}`), `4: tool "t": input_schema.$ref: "#/$defs/x" names nothing`},
		{"ref to itself", tool("t", read+`"input_schema":{"$ref":"#","type":"object"}`), `4: tool "t": input_schema: a $ref leads back to itself`},
		{"anchor to nothing", tool("t", read+`"input_schema":{"$ref":"#x","type":"object"}`), `4: tool "t": input_schema: #x not found`},
		{"dialect", tool("t", read+`"input_schema":{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`), `4: tool "t": input_schema.$schema: unknown dialect "http://json-schema.org/draft-04/schema#" (use draft 2020-12 or draft-07)`},
		{"dialect below", tool("t", read+`"input_schema":{"type":"object","properties":{"path":{"$schema":"x"}}}`), `4: tool "t": input_schema.properties.path: $schema is allowed at the top only`},
		{"id below", tool("t", read+`"input_schema":{"type":"object","properties":{"path":{"$id":"x"}}}`), `4: tool "t": input_schema.properties.path: $id is allowed at the top only`},
		{"vocabulary", tool("t", read+`"input_schema":{"type":"object","$vocabulary":{}}`), `4: tool "t": input_schema: $vocabulary is not supported`},
		{"schema as list", tool("t", read+`"input_schema":[]`), `4: tool "t": input_schema must be an object, not a list`},
		{"schema of a string", tool("t", read+`"input_schema":{"type":"string"}`), `4: tool "t": input_schema must describe an object (add "type": "object")`},
		{"type", tool("t", read+`"input_schema":{"type":"object","properties":{"path":{"type":"strng"}}}`), `4: tool "t": input_schema.properties.path.type: "strng" is no JSON type (did you mean "string"?)`},
		{"keyword", tool("t", read+`"input_schema":{"type":"object","properties":{"path":{"type":"string","maxlenght":3}}}`), `4: tool "t": input_schema.properties.path: unknown keyword "maxlenght" (did you mean "maxLength"?)`},
		{"keyword of the wrong kind", tool("t", read+`"input_schema":{"type":"object","properties":{"path":{"type":"string",`+"\n"+`"maxLength":"3"}}}`), `5: tool "t": input_schema.properties.path.maxLength: expected integer, but got string`},
		{"properties in two cases", tool("t", read+`"input_schema":{"type":"object","properties":{"path":{"type":"string"},"Path":{}}}`), `4: tool "t": input_schema.properties: "path" and "Path" differ only in case`},
		{"output pattern", tool("t", read+`"output_schema":{"pattern":"("}`), `4: tool "t": output_schema.pattern: the pattern does not compile: missing closing ): ` + "`(`" + ` (RE2 syntax: no look-around, no back references)`},

		// text
		{"empty", " \n", `1: the file is empty (write {"schema_version":1,"tools":{}} to allow nothing)`},
		{"BOM", "\xef\xbb\xbf{}", `1: the file starts with a byte order mark (save it as UTF-8 without BOM)`},
		{"UTF-8", "{\n\"\xff\":1}", `2: the file is not valid UTF-8`},
		{"UTF-16", "{\x00}\xff\x00", `1: the file is not valid UTF-8`},
		{"comma", "{\"schema_version\":1,\n\"tools\":{},\n}", `3: not valid JSON: invalid character '}' looking for beginning of object key string`},
		{"comment", "{// c\n}", `1: not valid JSON: invalid character '/' looking for beginning of object key string`},
		{"too large", strings.Repeat(" ", maxFile+1), `the file is larger than 4194304 bytes`},
		{"long number", tool("t", read+`"max_bytes":1`+strings.Repeat("0", 64)), `4: a number has more than 64 characters`},
		{"cut", `{"schema_version":1,`, `1: not valid JSON: unexpected end of JSON input`},
		{"trailing", "{\"schema_version\":1,\"tools\":{}}\n{}", `2: not valid JSON: invalid character '{' after top-level value`},
		{"surrogate", tool("t", read+`"description":"\ud800"`), `4: a string holds half a surrogate pair`},
		{"deep", `{"schema_version":1,"tools":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, `1: more than 64 levels deep`},
		{"huge exponent", tool("t", read+`"input_schema":{"type":"object","minProperties":1e999999999}`), `2: tool "t": target "path" names no parameter of input_schema` + "\n" + `4: a number has an exponent beyond ±308`},
		{"key with a control character", tool("t", read+`"a\u001bb":1`), `4: key "a\x1bb" holds a control character` + "\n" + `4: tool "t": unknown key "a\x1bb"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := refusals(t, Source{Name: "manifests/tools.json", Data: []byte(c.data)})
			want := strings.Split(c.want, "\n")
			for i := range want {
				if want[i] = "load manifests/tools.json:" + want[i]; strings.Contains(want[i], "larger") {
					want[i] = strings.Replace(want[i], ":", ": ", 1)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestYAMLRefusals(t *testing.T) {
	head := "schema_version: 1\ntools:\n"
	for _, c := range []struct{ name, data, want string }{
		{"yes", head + "  t: {operation: read, absolute: yes}\n", `3: the word "yes" means different things to different YAML readers (write true, false or null, or quote it)`},
		{"True", head + "  t: {operation: read, absolute: True}\n", `3: the word "True" means different things to different YAML readers (write true, false or null, or quote it)`},
		{"no in argv", head + "  t: {operation: execute, commands: [[echo, no]]}\n", `3: the word "no" means different things to different YAML readers (write true, false or null, or quote it)`},
		{"on as key", head + "  on: {operation: read}\n", `3: the word "on" means different things to different YAML readers (write true, false or null, or quote it)`},
		{"octal", head + "  t: {operation: read, max_bytes: 010}\n", `3: the word "010" is not text to every YAML reader (write a plain decimal number, or quote it)`},
		{"hex", head + "  t: {operation: read, max_bytes: 0x10}\n", `3: the word "0x10" is not text to every YAML reader (write a plain decimal number, or quote it)`},
		{"underscores", head + "  t: {operation: read, max_bytes: 65_536}\n", `3: the word "65_536" is not text to every YAML reader (write a plain decimal number, or quote it)`},
		{"date", head + "  t: {operation: read, description: 2026-01-01}\n", `3: the word "2026-01-01" is not text to every YAML reader (write a plain decimal number, or quote it)`},
		{"infinity", head + "  t: {operation: read, max_bytes: .inf}\n", `3: the word ".inf" is not text to every YAML reader (write a plain decimal number, or quote it)`},
		{"anchor", head + "  t: &a {operation: read}\n", `3: YAML anchors are not read (write the value out)`},
		{"alias", head + "  t: &a {operation: read}\n  u: *a\n", `3: YAML anchors are not read (write the value out)` + "\n" + `4: YAML aliases are not read (write the value out)`},
		{"merge", head + "  t:\n    <<: {max_bytes: 1}\n    operation: read\n", `4: YAML merge keys are not read (write the keys out)`},
		{"tag", head + "  t: {operation: !!str read}\n", `3: YAML tags are not read (leave the tag out)`},
		{"two documents", "schema_version: 1\ntools: {}\n---\nschema_version: 1\n", `3: the file holds more than one YAML document (one file, one document)`},
		{"duplicate key", head + "  t: {operation: read}\n  t: {operation: list}\n", `4: key "t" appears twice, first in line 3`},
		{"number as key", head + "  1: {operation: read}\n", `3: key "1" is a number, not a string (quote it)`},
		{"list as key", head + "  [a]: {operation: read}\n", `3: a key is not a string`},
		{"tab", "schema_version: 1\ntools:\n\tt: {operation: read}\n", `3: not valid YAML: found character that cannot start any token (indent with spaces, not tabs)`},
		{"comment alone", "# nothing\n", `1: the file is empty (write schema_version: 1 and tools: {} to allow nothing)`},
		{"BOM", "\xef\xbb\xbfschema_version: 1\ntools: {}\n", `1: the file starts with a byte order mark (save it as UTF-8 without BOM)`},
		{"null tools", "schema_version: 1\ntools:\n", `2: tools must be an object, not null`},
		{"unknown key", head + "  read_file:\n    operation: read\n    rooots: [src]\n", `5: tool "read_file": unknown key "rooots" (did you mean "roots"?)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := refusals(t, Source{Name: "tools.yaml", Data: []byte(c.data)})
			want := strings.Split(c.want, "\n")
			for i := range want {
				want[i] = "load tools.yaml:" + want[i]
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestAllProblemsAtOnce(t *testing.T) {
	got := refusals(t,
		Source{Name: "a/tools.json", Data: []byte("{\"schema_version\":1,\"record\":\"full\",\"tools\":{\n\"t\":{\"operation\":\"read\"},\n\"u\":{\"operation\":\"raed\",\n\"rots\":[]},\n\"v\":{\"operation\":\"read\",\"roots\":[],\"max_bytes\":0}}}")},
		Source{Name: "a/tools.yaml", Data: []byte("schema_version: 1\nrecord: full\ntools:\n  t: {operation: list}\n")},
		Source{Name: "a/tools.yml", Data: []byte("[")},
	)
	want := []string{
		`load a/tools.json:3: tool "u": unknown operation "raed" (did you mean "read"?)`,
		`load a/tools.json:4: tool "u": unknown key "rots" (did you mean "roots"?)`,
		`load a/tools.json:5: tool "v": max_bytes must be a whole number above zero (leave it out for the policy's own limit)`,
		`load a/tools.json:5: tool "v": roots is empty, so nothing could be touched (leave it out for the defaults, or name a directory)`,
		`load a/tools.yaml:2: record is set twice, first in a/tools.json:1`,
		`load a/tools.yaml:4: tool "t": declared twice, first in a/tools.json:2`,
		`load a/tools.yml:1: not valid YAML: did not find expected node content`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFileNamesArePrintable: a file's name is foreign text too.
func TestFileNamesArePrintable(t *testing.T) {
	got := refusals(t, Source{Name: "a\x1b[31m/tools.json", Data: []byte("x")})
	if want := `load "a\x1b[31m/tools.json":1: not valid JSON: invalid character 'x' looking for beginning of value`; !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNoFile(t *testing.T) {
	if got := refusals(t); !slices.Equal(got, []string{"load manifests: there is no manifest file"}) {
		t.Errorf("got %q", got)
	}
}

// TestHandlersAreChecked holds the executor's own declarations to the rules.
func TestHandlersAreChecked(t *testing.T) {
	src := []Source{{Name: "tools.json", Data: []byte(`{"schema_version":1,"tools":{"t":{"operation":"read","handler":"h"}}}`)}}
	for _, c := range []struct {
		name    string
		handler Handler
		want    string
	}{
		{"name of the outside", Handler{Name: External}, `load manifests: handler "external": the name is empty, reserved or taken`},
		{"operation", Handler{Name: "h", Operations: []string{"reed"}}, `load manifests: handler "h": unknown operation "reed" (did you mean "read"?)`},
		{"schema", Handler{Name: "h", Operations: []string{"read"}, Input: []byte(`{`)}, `load manifests:1: handler "h": input schema: not valid JSON: unexpected end of JSON input`},
		{
			"open output",
			Handler{Name: "h", Operations: []string{"read"}, Targets: []Target{{Param: "p", Access: "read"}}, Output: []byte(`{"type":"object"}`)},
			`load tools.json:1: tool "t": output_schema of handler "h" is not closed`,
		},
		{"no target", Handler{Name: "h", Operations: []string{"read"}}, `load tools.json:1: tool "t": operation "read" needs a target with access "read" (add {"param": …, "access": "read"} to targets)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(src, []Handler{c.handler})
			if err == nil || !slices.Contains(strings.Split(err.Error(), "\n"), c.want) {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}
