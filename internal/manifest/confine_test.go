package manifest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestConfinement(t *testing.T) {
	got := load(t, "tools.json", executing(`["a"]`, `"dir":"workspace/app"`, `"env":{"B":"=x","A1":"\t","A":""}`, `"network":"private"`,
		`"limits":{"cpu_seconds":1,"file_bytes":2,"open_files":64,"processes":4,"memory_bytes":16777216,"temp_bytes":4096,"output_bytes":7}`)).Tools["t"]
	if want := (Limits{1, 2, 64, 4, 16 << 20, 4096, 7}); got.Limits != want {
		t.Errorf("limits %+v, want %+v", got.Limits, want)
	}
	if want := []string{"A=", "A1=\t", "B==x"}; !slices.Equal(got.Env, want) {
		t.Errorf("env %q, want %q", got.Env, want)
	}
	if got.Dir != "workspace/app" || got.Network != "private" || got.Sandbox != "full" {
		t.Errorf("dir %q, network %q, sandbox %q", got.Dir, got.Network, got.Sandbox)
	}
	for body, want := range map[string]string{
		`"operation":"execute","commands":[["a"]],"dir":"."`:                                                   " none full",
		`"operation":"execute","commands":[["a"]],"sandbox":"none","limits":{"output_bytes":1},"timeout_ms":1`: " none none",
		`"operation":"execute","handler":"external"`:                                                           "  full",
		`"operation":"compute","handler":"exec:a","dir":"b"`:                                                   "b none full",
		`"operation":"read","handler":"exec:a","sandbox":"none"`:                                               " none none",
		`"operation":"read"`:                         "  ",
		`"operation":"compute","handler":"external"`: "  ",
	} {
		tool := load(t, "tools.json", `{"schema_version":1,"tools":{"t":{`+body+`}}}`).Tools["t"]
		if got := fmt.Sprint(tool.Dir, " ", tool.Network, " ", tool.Sandbox); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// TestMost: what no program could have more of still loads.
func TestMost(t *testing.T) {
	got := load(t, "tools.json", executing(`["a"]`, `"env":{"A":"`+strings.Repeat("b", mostEnv-3)+`"}`, `"timeout_ms":86400000`)).Tools["t"]
	if len(got.Env) != 1 || got.TimeoutMS != 86400000 {
		t.Errorf("%d variables, %d ms", len(got.Env), got.TimeoutMS)
	}
}

func TestConfinementRefusals(t *testing.T) {
	with := func(s string) string { return executing(`["a"]`, s) } // s begins in line 5
	holdRefusals(t, []struct{ name, data, want string }{
		{"dir number", with(`"dir":1`), `5: dir must be a string, not a number`},
		{"dir empty", with(`"dir":""`), `5: dir "" is empty ("." is the project)`},
		{"dir absolute", with(`"dir":"/srv"`), `5: dir "/srv" is absolute (name it from the project directory)`},
		{"dir drive", with(`"dir":"C:/x"`), `5: dir "C:/x" is absolute (name it from the project directory)`},
		{"dir absolute, in a tool that may", with(`"dir":"/srv",` + "\n" + `"absolute":true`), `5: dir "/srv" is absolute (name it from the project directory)`},
		{"dir ..", with(`"dir":"a/../b"`), `5: dir "a/../b" holds ".."`},
		{"dir not plain", with(`"dir":"./a/"`), `5: dir "./a/" is not plain (write "a")`},
		{"dir run_id", with(`"dir":"runs/{run_id}/artifacts"`), `5: dir "runs/{run_id}/artifacts" has a placeholder (a working directory is the same in every run)`},
		{"dir backslash", with(`"dir":"a\\b"`), `5: dir "a\\b" holds a backslash (use /)`},
		{"dir tilde", with(`"dir":"~"`), `5: dir "~" begins with ~, which nobody expands (write the directory out)`},
		{"dir NUL", with(`"dir":"a\u0000"`), `5: dir "a\x00" holds NUL or a control character`},

		{"env list", with(`"env":["A=b"]`), `5: env must be an object, not a list`},
		{"env number", with(`"env":{` + "\n" + `"A":1}`), `6: env A must be a string, not a number`},
		{"env name", with(`"env":{"A-B":"c"}`), `5: env names "A-B", which is no name of a variable (a letter or _, then letters, digits, _)`},
		{"env name with =", with(`"env":{"A=B":"c"}`), `5: env names "A=B", which is no name of a variable (a letter or _, then letters, digits, _)`},
		{"env empty name", with(`"env":{"":"c"}`), `5: env names "", which is no name of a variable (a letter or _, then letters, digits, _)`},
		{"env NUL", with(`"env":{"A":"b\u0000"}`), `5: env A holds NUL`},
		{"env PATH", with(`"env":{"PATH":"b"}`), `5: env names "PATH", which is the manifest's own (set "path" beside "tools")`},
		{"env HOME and TMPDIR", with(`"env":{"TMPDIR":"b",` + "\n" + `"HOME":"b"}`), `5: env names "TMPDIR", which the sandbox sets (leave it out)` + "\n" + `6: env names "HOME", which the sandbox sets (leave it out)`},
		{"env loader", with(`"env":{"LD_PRELOAD":"b"}`), `5: env names "LD_PRELOAD", which puts other code into the program (leave it out)`},
		{"env loader of macOS", with(`"env":{"DYLD_X":"b"}`), `5: env names "DYLD_X", which puts other code into the program (leave it out)`},
		{"env RunLens", with(`"env":{"RUNLENS_RUN":"b"}`), `5: env names "RUNLENS_RUN", which is RunLens' own (choose another name)`},

		{"env of one variable beyond", with(`"env":{"A":"` + strings.Repeat("b", mostEnv-2) + `"}`), `5: env is 131073 bytes in all, more than 131072, with which no program could be started (put it into a file that the program reads)`},
		{"env beyond in all", with("\n" + `"env":{"A":"` + strings.Repeat("b", mostEnv/2) + `","B":"` + strings.Repeat("b", mostEnv/2-5) + `"}`), `6: env is 131073 bytes in all, more than 131072, with which no program could be started (put it into a file that the program reads)`},
		{"deadline beyond", with(`"timeout_ms":86400001`), `5: timeout_ms is 86400001, more than 24 hours (86400000 at most: it counts milliseconds)`},
		{"deadline that overflows", tool("t", `"operation":"read",`+"\n"+`"timeout_ms":18446744073710`), `4: timeout_ms is 18446744073710, more than 24 hours (86400000 at most: it counts milliseconds)`},

		{"network", with(`"network":"privat"`), `5: unknown network "privat" (did you mean "private"?)`},
		{"network of the host", with(`"network":"host"`), `5: unknown network "host" (known: none, private)`},
		{"network null", with(`"network":null`), `5: network must be a string, not null`},

		{"limits list", with(`"limits":[]`), `5: limits must be an object, not a list`},
		{"limit unknown", with(`"limits":{"cpu_second":1}`), `5: limits: unknown key "cpu_second" (did you mean "cpu_seconds"?)`},
		{"limit of the tool", with(`"limits":{"timeout_ms":1}`), `5: limits: unknown key "timeout_ms"`},
		{"limit zero", with(`"limits":{"processes":0}`), `5: processes must be a whole number above zero (leave it out for the policy's own limit)`},
		{"limit fraction", with(`"limits":{"processes":1.5}`), `5: processes must be a whole number above zero (leave it out for the policy's own limit)`},
		{"limit text", with(`"limits":{"processes":"1"}`), `5: processes must be a number, not a string`},
		{"limit below", with(`"limits":{"open_files":63,` + "\n" + `"memory_bytes":16777215,"temp_bytes":4095}`), `5: open_files is 63, with which no program could be started (64 at least)` + "\n" +
			`6: memory_bytes is 16777215, with which no program could be started (16777216 at least)` + "\n" + `6: temp_bytes is 4095, with which no program could be started (4096 at least)`},
		{"limit beyond", with(`"limits":{"cpu_seconds":86401,` + "\n" + `"output_bytes":16777217}`), `5: cpu_seconds is more than 86400` + "\n" + `6: output_bytes is more than 16777216`},

		{"no sandbox, network", with(`"sandbox":"none",` + "\n" + `"network":"private"`), `6: network is set beside "sandbox": "none", and holds in the sandbox alone (leave one of the two out)`},
		{"no sandbox, no network", with(`"network":"none",` + "\n" + `"sandbox":"none"`), `5: network is set beside "sandbox": "none", and holds in the sandbox alone (leave one of the two out)`},
		{"no sandbox, limits", with(`"sandbox":"none","limits":{"output_bytes":1,` + "\n" + `"memory_bytes":16777216}`), `6: memory_bytes is set beside "sandbox": "none", and holds in the sandbox alone (leave one of the two out)`},

		{"of a read", tool("t", `"operation":"read",`+"\n"+`"dir":"a",`+"\n"+`"env":{},"network":"none","limits":{}`), `4: dir is for a program, and handler "read_file" of operation "read" runs none (leave it out)` + "\n" +
			`5: env is for a program, and handler "read_file" of operation "read" runs none (leave it out)` + "\n" + `5: network is for a program, and handler "read_file" of operation "read" runs none (leave it out)` + "\n" + `5: limits is for a program, and handler "read_file" of operation "read" runs none (leave it out)`},
		{"of another program", tool("t", `"operation":"execute","handler":"external",`+"\n"+`"network":"private"`), `4: network is for a program, and another one than RunLens runs it (leave it out)`},
		{"sandbox of another program", tool("t", `"operation":"read","handler":"external",`+"\n"+`"sandbox":"none"`), `4: sandbox is for a program, and another one than RunLens runs it (leave it out)`},
	})
}
