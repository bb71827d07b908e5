package manifest

import (
	"strings"
	"testing"
)

// TestReach: which tools can make which artifact. A tool gets the benefit of the
// doubt, so what is refused here can never be made.
func TestReach(t *testing.T) {
	const artifacts = "runs/{run_id}/artifacts"
	named := func(template string) string {
		return `"operation":"write","targets":[{"param":"name","template":"` + template + `"}],"roots":["."]`
	}
	for _, c := range []struct {
		tool, artifact string
		makes          bool
	}{
		{`"operation":"write","handler":"write_file"`, "a.txt", true},
		{`"operation":"write","handler":"write_file","roots":["out"]`, "a.txt", false},
		{`"operation":"write","handler":"write_file","roots":["."]`, "a.txt", true},
		{`"operation":"write","handler":"write_file","roots":["runs"]`, "a.txt", true},
		{`"operation":"write","handler":"write_file","roots":["./runs/{run_id}/"]`, "a.txt", true},
		{`"operation":"write","handler":"write_file","roots":["` + artifacts + `/a"]`, "a.txt", false},
		{`"operation":"write","handler":"write_file","roots":["/srv"],"absolute":true`, "a.txt", true},
		{`"operation":"write","handler":"write_file","roots":["/srv",{"path":"x","access":["read"]}],"absolute":true`, "a.txt", true},
		{`"operation":"write","handler":"write_json_file"`, "a.json", true},
		{`"operation":"write","handler":"write_json_file"`, "a.JSON", false},
		{`"operation":"write","handler":"write_json_file"`, "a.md", false},
		{`"operation":"write","handler":"write_markdown_file"`, "a.md", true},
		{`"operation":"write","handler":"write_json_file"`, "deep/a.json", false},
		{`"operation":"write","handler":"write_json_file","create_parents":true`, "deep/a.json", true},
		{`"operation":"write","handler":"external","targets":[{"param":"name"}]`, "a.txt", true},
		{named(artifacts + "/{name}"), "a.txt", true},
		{named(artifacts + "/{name}.txt"), "a.txt", true},
		{named(artifacts + "/{name}.txt"), "a.md", false},
		{named(artifacts + "/x-{name}"), "x-a", true},
		{named(artifacts + "/x-{name}"), "a", false},
		{named("runs//{run_id}/./artifacts/{name}"), "a.txt", true},
		{named("out/{name}"), "a.txt", false},
		{named("{name}"), "a.txt", true},
		{named("runs/r/artifacts/{name}"), "a.txt", false},
		{`"operation":"write","targets":[{"template":"` + artifacts + `/report.md"}],"payload":[]`, "report.md", true},
		{`"operation":"write","targets":[{"template":"` + artifacts + `/report.md"}],"payload":[]`, "report_md", false},
		{`"operation":"write","targets":[{"param":"a","template":"` + artifacts + `/{b}-{a}"}]`, "x-y", true},
		{`"operation":"write","targets":[{"param":"a","template":"` + artifacts + `/{b}-{a}"}]`, "xy", false},
		{`"operation":"write","payload":[],"targets":[{"param":"a","template":"` + artifacts + `/{a}"}],"input_schema":{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]+$"}}}`, "ab", true},
		{`"operation":"write","payload":[],"targets":[{"param":"a","template":"` + artifacts + `/{a}"}],"input_schema":{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]+$"}}}`, "a1", false},
		{`"operation":"write","payload":[],"targets":[{"param":"a","template":"/srv/{a}"}],"absolute":true`, "a1", true},
		{`"operation":"write","targets":[{"param":"q","access":"read"},{"param":"p","access":"write","template":"out/{p}"},{"param":"path","access":"write"}]`, "a", true},
		{`"operation":"rename"`, "a.txt", true},
		{`"operation":"rename","roots":["data"]`, "a.txt", false},
		{`"operation":"fetch","handler":"external","targets":[{"param":"p","access":"write"}],"roots":["."]`, "a.txt", true},
		{`"operation":"fetch","handler":"external"`, "a.txt", false},
		{`"operation":"read"`, "a.txt", false},
		{`"operation":"delete"`, "a.txt", false},
		{`"operation":"execute","commands":[["make"]]`, "a.txt", false},
		{`"operation":"execute","commands":[["make"]],"roots":["."]`, "deep/a.txt", true},
		{`"operation":"execute","commands":[["make"]],"roots":["out"]`, "a.txt", false},
		{`"operation":"execute","commands":[["make",{"arg":"x","root":"out"}]],"roots":[".","out"]`, "a.txt", true},
		{`"operation":"execute","handler":"exec:make"`, "a.txt", false},
		{`"operation":"execute","handler":"exec:make","roots":["."]`, "a.txt", false}, // it sees no roots
		{`"operation":"execute","handler":"exec:make","roots":["."],"targets":[{"param":"p","access":"write"}]`, "a.txt", true},
		{`"operation":"execute","handler":"exec:make","roots":["."],"targets":[{"param":"p","access":"write"}]`, "deep/a.txt", false},
		{`"operation":"write","handler":"exec:x"`, "a.txt", true},
		{`"operation":"write","handler":"exec:x","roots":["out"]`, "a.txt", false},
		{`"operation":"read","handler":"exec:x","roots":["."]`, "a.txt", false},
	} {
		_, err := Load([]Source{
			{Name: "tools.json", Data: []byte(`{"schema_version":1,"tools":{"t":{` + c.tool + `}}}`)},
			{Name: "skills/s.json", Kind: SkillFile, Data: []byte(`{"schema_version":1,"name":"s","goal":"g","tools":["t"],"artifacts":[{"path":"` + c.artifact + `"}]}`)},
		}, testHandlers())
		if err != nil && !strings.Contains(err.Error(), "no tool of the skill can make it: ") {
			t.Errorf("%s: %v", c.tool, err)
		} else if makes := err == nil; makes != c.makes {
			t.Errorf("%s makes %s: %t, want %t (%v)", c.tool, c.artifact, makes, c.makes, err)
		}
	}
}

// TestReachOfSeveral: one tool may make the folder that another writes into, and
// what an earlier step can make a later one may wait for.
func TestReachOfSeveral(t *testing.T) {
	src := func(steps string) []Source {
		return []Source{
			{Name: "tools.json", Data: []byte(`{"schema_version":1,"tools":{"write_json_file":{"operation":"write","create_parents":true},"write_markdown_file":{"operation":"write"}}}`)},
			{Name: "skills/s.json", Kind: SkillFile, Data: []byte(`{"schema_version":1,"name":"s","goal":"g","tools":["write_json_file","write_markdown_file"],"plan":{"steps":[` + steps + `]}}`)},
		}
	}
	const json, markdown = `{"id":"a","tools":["write_json_file"]}`, `{"id":"b","tools":["write_markdown_file"],"completion":{"artifacts":[{"path":"x/a.json"},{"path":"x/b.md"}]}}`
	mustLoad(t, src(json+","+markdown))
	refusals(t, src(markdown+","+json)...)
}

// TestReachOfInputs: which tools can read a default input, with the same benefit
// of the doubt.
func TestReachOfInputs(t *testing.T) {
	for _, c := range []struct {
		tool, input string
		reads       bool
	}{
		{`"operation":"read","roots":["data"]`, "data/a.csv", true},
		{`"operation":"read","roots":["./data/"]`, "data/deep/a.csv", true},
		{`"operation":"read","roots":["data"]`, "data", true},
		{`"operation":"read","roots":["data"]`, "database/a.csv", false},
		{`"operation":"read","roots":["."]`, "a.csv", true},
		{`"operation":"read"`, "a.csv", false},
		{`"operation":"read","roots":[{"path":"data","access":["read"]},{"path":"logs","access":["list"]}]`, "logs/a", false},
		{`"operation":"read","roots":["/srv"],"absolute":true`, "a.csv", true},
		{`"operation":"read","roots":["."],"targets":[{"param":"name","template":"data/{name}.csv"}]`, "data/a.csv", true},
		{`"operation":"read","roots":["."],"targets":[{"param":"name","template":"data/{name}.csv"}]`, "data/a.txt", false},
		{`"operation":"read","handler":"external","roots":["data"],"targets":[{"param":"path"}]`, "a.csv", false},
		{`"operation":"list","roots":["data"]`, "data/a.csv", true},
		{`"operation":"write"`, "data/a.csv", false},
		{`"operation":"write","roots":["data"]`, "data/a.csv", false},
		{`"operation":"execute","commands":[["make"]]`, "a.csv", true},
		{`"operation":"compute","handler":"external","input_schema":{"type":"object"}`, "a.csv", true},
		{`"operation":"compute","handler":"exec:x"`, "a.csv", false},
		{`"operation":"compute","handler":"exec:x","sandbox":"none"`, "a.csv", true},
		{`"operation":"execute","handler":"exec:x","roots":["."]`, "a.csv", false},
		{`"operation":"read","handler":"exec:x"`, "a.csv", false},
		{`"operation":"read","handler":"exec:x","roots":["."]`, "a.csv", true},
	} {
		_, err := Load([]Source{
			{Name: "tools.json", Data: []byte(`{"schema_version":1,"tools":{"t":{` + c.tool + `}}}`)},
			{Name: "skills/s.json", Kind: SkillFile, Data: []byte(`{"schema_version":1,"name":"s","goal":"g","tools":["t"],"inputs":{"in":{"default":"` + c.input + `"}}}`)},
		}, testHandlers())
		if err != nil && !strings.Contains(err.Error(), "no tool of the skill can read the default ") {
			t.Errorf("%s: %v", c.tool, err)
		} else if reads := err == nil; reads != c.reads {
			t.Errorf("%s reads %s: %t, want %t (%v)", c.tool, c.input, reads, c.reads, err)
		}
	}
}
