package manifest

import "testing"

// Declared before programs had arguments, a network or limits. Runs that were
// recorded then name these revisions, so that what says nothing of the new keys
// must keep them.
const (
	oldTools = `{"schema_version":1,"path":"/bin","record":"full","tools":{
  "read_file":{"operation":"read","description":"d","roots":["workspace/src",{"path":"/srv","access":["read"]}],"absolute":true,"max_bytes":65536},
  "write_file":{"operation":"write","create_parents":true,"payload":["body"],"targets":[{"param":"n","template":"out/{dir}/{run_id}/{n}"},{"param":"q","access":"read","default":"x","recursive":true}],"roots":["."]},
  "bare":{"operation":"execute","commands":[["a"],["b","-c"]],"sandbox":"none"},
  "full":{"operation":"execute","commands":[["python","-m","unittest"]],"timeout_ms":9},
  "out":{"operation":"execute","handler":"external","commands":[["a"]],"input_schema":{"type":"object"},"output_schema":{}}}}`
	oldSkill = "schema_version: 1\nname: s\ngoal: g\ntools: [read_file, bare]\nnarrow: {bare: {commands: [[a]]}}\n"

	seedRevision = "sha256:b52143cc5bf3a712321a933e953e1eacf5a6d93d11767ae10b2875cbcd03527f"
	oldRevision  = "sha256:d695544cf4b98e22e61c3a2ad9e80e35a183dffa72e204150aa6f094f92a6825"
)

func TestOldRevisions(t *testing.T) {
	if got := load(t, "tools.json", seed).Revision; got != seedRevision {
		t.Errorf("the seed has revision %s", got)
	}
	src := []Source{{Name: "tools.json", Data: []byte(oldTools)}, {Name: "skills/s.yaml", Kind: SkillFile, Data: []byte(oldSkill)}}
	if got := mustLoad(t, src).Revision; got != oldRevision {
		t.Errorf("the old tools have revision %s", got)
	}
}

// TestRevisionOfPrograms: every part of what a program is and gets counts; what
// says the default does not.
func TestRevisionOfPrograms(t *testing.T) {
	of := func(body string) string {
		return load(t, "tools.json", `{"schema_version":1,"tools":{"t":{`+body+`}}}`).Revision
	}
	const run = `"operation":"execute","roots":["a"],"input_schema":{"type":"object","properties":{"argv":{"type":"array"}}}`
	const plain = run + `,"commands":[["a"]]`
	for _, same := range []string{`"dir":"."`, `"env":{}`, `"network":"none"`, `"limits":{}`, `"sandbox":"full"`} {
		if of(plain+","+same) != of(plain) {
			t.Errorf("%s has another revision", same)
		}
	}
	if a, b := of(plain+`,"env":{"A":"1","B":"2"}`), of(plain+`,"env":{"B":"2","A":"1"}`); a != b {
		t.Error("the order of variables counts")
	}
	if a, b := of(run+`,"commands":[["a",{"arg":"x","root":"a"}]]`), of(run+`,"commands":[["a",{"access":"read","root":"a","arg":"x"}]]`); a != b {
		t.Error("the spelling of an argument counts")
	}
	seen := map[string]string{}
	for _, body := range []string{
		plain,
		plain + `,"dir":"a"`, plain + `,"dir":"b"`,
		plain + `,"env":{"A":"1"}`, plain + `,"env":{"A":"2"}`, plain + `,"env":{"B":"1"}`, plain + `,"env":{"A":"1","B":"2"}`,
		plain + `,"network":"private"`, plain + `,"sandbox":"none"`,
		plain + `,"limits":{"cpu_seconds":1}`, plain + `,"limits":{"cpu_seconds":2}`, plain + `,"limits":{"file_bytes":1}`, plain + `,"limits":{"open_files":64}`,
		plain + `,"limits":{"processes":1}`, plain + `,"limits":{"memory_bytes":16777216}`, plain + `,"limits":{"temp_bytes":4096}`, plain + `,"limits":{"output_bytes":1}`,
		run + `,"commands":[["a","b"]]`,
		run + `,"commands":[["a",{"arg":"x","root":"a"}]]`, run + `,"commands":[["a",{"arg":"y","root":"a"}]]`, run + `,"commands":[["b",{"arg":"x","root":"a"}]]`,
		run + `,"commands":[["a",{"arg":"x","root":"a/b"}]]`, run + `,"commands":[["a",{"arg":"x","root":"a","access":"write"}]]`,
		run + `,"commands":[["a",{"arg":"x","values":["b"]}]]`, run + `,"commands":[["a",{"arg":"x","values":["c"]}]]`, run + `,"commands":[["a",{"arg":"x","pattern":"b"}]]`,
		run + `,"commands":[["a"],["a",{"arg":"x","pattern":"b"}]]`, run + `,"commands":[["a",{"arg":"x","pattern":"b"}],["a",{"arg":"x","pattern":"c"}]]`,
		run + `,"handler":"exec:a"`, run + `,"handler":"exec:./a"`, run + `,"handler":"exec:b"`, run + `,"handler":"exec:a","network":"private"`,
	} {
		r := of(body)
		if before, twice := seen[r]; twice {
			t.Errorf("%s has the revision of %s", body, before)
		}
		seen[r] = body
	}
}
