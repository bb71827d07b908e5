package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joshdk/go-junit"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/runlens/runlens/internal/engine"
)

// hostile are texts that try to be more than text somewhere.
var hostile = []string{
	"]]> <failure/> & \" '", "\x00\x01\x1b[2J\x7f", "\ufffe\uffff", "\xed\xa0\x80 \xff\xfe half", "line\none\r\ntwo\u2028three",
	"::error::owned", "  ::set-env name=A::b", "\n::stop-commands::x\n", "##[add-mask]x", "x ##[group]y", "%0A::error::x%0D", "a,line=9,title=x::y",
	"[click](https://example.com/) {0} \\", "\u202egnp.exe", "#\u00ad#[x]", ":\u200b:error::x", strings.Repeat("é##[x]", 2000), "", " ",
}

// findings are one of each status, and each hostile text at each place.
func findings() []Finding {
	list := []Finding{
		{Suite: "calls/a.json", Name: "calls/a.json", Status: Pass, Place: Place{File: "calls/a.json", Line: 1, Column: 1}, Took: 1500 * time.Microsecond},
		{Suite: "calls/b.jsonl", Name: "calls/b.jsonl#1", Status: Fail, Code: "outside_roots", Title: "outside", Message: "path: x is outside", Detail: "also hard_link: x\n", Remedy: "stay inside", Place: Place{File: "calls/b.jsonl", Line: 3, Column: 7}, Rule: Place{File: "policies/p.rego", Line: 26}},
		{Suite: "calls/b.jsonl", Name: "calls/b.jsonl#2", Status: Ask, Code: "approval_required", Message: "ask", Place: Place{File: "calls/b.jsonl", Line: 4}},
		{Suite: "calls/b.jsonl", Name: "calls/b.jsonl#3", Status: Broken, Code: "policy_error", Message: "broken", Place: Place{File: "calls/b.jsonl"}},
		{Suite: "empty", Name: "empty", Status: Skip, Message: "empty holds no calls"},
		{},
	}
	for i, text := range hostile {
		status := []Status{Fail, Ask, Broken, Skip, Pass}[i%5]
		list = append(list,
			Finding{Suite: text, Name: text, Status: status, Code: text, Message: text, Detail: text, Title: text, Remedy: text, Place: Place{File: text, Line: i, Column: i}, Rule: Place{File: text, Line: 1}},
			Finding{Suite: text, Name: text, Status: Fail, Code: "c", Message: text, Place: Place{File: text}})
	}
	return list
}

// amounts are reports of none, one and many.
func amounts() map[string][]Finding {
	all := findings()
	return map[string][]Finding{"none": nil, "none to tell": all[:1], "one": all[1:2], "many": all}
}

func TestSARIFFitsTheSchema(t *testing.T) {
	c := jsonschema.NewCompiler()
	file, err := os.Open("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c.AssertFormat = true
	if err := c.AddResource("sarif.json", file); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(data []byte) error {
		var doc any
		if err := json.Unmarshal(data, &doc); err != nil {
			return err
		}
		return schema.Validate(doc)
	}
	for name, list := range amounts() {
		for _, version := range []string{"", "v1.2.3", "(devel)"} {
			data, err := SARIF(list, version)
			if err != nil {
				t.Fatal(err)
			}
			if err := check(data); err != nil {
				t.Errorf("%s, version %q: %#v", name, version, err)
			}
		}
	}
	// The schema is one that refuses.
	data, err := SARIF(findings(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range [][2]string{{`"startLine": 3`, `"startLine": 0`}, {`"level": "error"`, `"level": "loud"`}, {`"ruleId"`, `"ruleID"`}} {
		if check(bytes.Replace(data, []byte(edit[0]), []byte(edit[1]), 1)) == nil {
			t.Errorf("%s fits", edit[1])
		}
	}
}

func TestSARIF(t *testing.T) {
	data, err := SARIF(findings()[:6], "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	if err := json.Unmarshal(data, &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if d := run.Tool.Driver; d.Name != "RunLens" || d.Version != "v1.2.3" || d.SemanticVersion != "1.2.3" {
		t.Errorf("driver %+v", d)
	}
	var got []string
	for _, r := range run.Results {
		if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("result of %s has the rule of %s", r.RuleID, run.Tool.Driver.Rules[r.RuleIndex].ID)
		}
		line := r.RuleID + " " + r.Level
		for _, l := range slices.Concat(r.Locations, r.Related) {
			line += " " + l.Physical.Artifact.URI
			if l.Physical.Region != nil {
				line += fmt.Sprintf(":%d:%d", l.Physical.Region.StartLine, l.Physical.Region.StartColumn)
			}
		}
		got = append(got, line)
	}
	want := []string{
		"outside_roots error calls/b.jsonl:3:7 policies/p.rego:26:0",
		"approval_required warning calls/b.jsonl:4:0",
		"policy_error error calls/b.jsonl",
		"failed error",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if run.Invocations[0].Successful {
		t.Error("a run with broken policy counts as successful")
	}
	if r := run.Tool.Driver.Rules[2]; r.ID != "outside_roots" || r.Name != "OutsideRoots" || r.Short.Text != "outside" || r.Help.Text != "stay inside" || r.Default.Level != "error" {
		t.Errorf("rule %+v", r)
	}
}

// A result keeps its fingerprint when its call moves, and shares it with none.
func TestSARIFFingerprints(t *testing.T) {
	prints := func(list ...Finding) (all []string) {
		data, err := SARIF(list, "")
		if err != nil {
			t.Fatal(err)
		}
		var log sarifLog
		if err := json.Unmarshal(data, &log); err != nil {
			t.Fatal(err)
		}
		for _, r := range log.Runs[0].Results {
			all = append(all, r.Fingerprints["primaryLocationLineHash"])
		}
		return all
	}
	f := findings()[1]
	moved := f
	moved.Name, moved.Place.Line, moved.Place.Column, moved.Rule.Line = "calls/b.jsonl#7", 30, 1, 99
	if a, b := prints(f), prints(moved); !slices.Equal(a, b) {
		t.Errorf("moved: %v, before %v", b, a)
	}
	twice := prints(f, moved)
	if twice[0] == twice[1] || twice[0] != prints(f)[0] {
		t.Errorf("of two alike: %v", twice)
	}
	for _, change := range []func(*Finding){
		func(f *Finding) { f.Code = "hard_link" },
		func(f *Finding) { f.Message = "path: y is outside" },
		func(f *Finding) { f.Suite, f.Place.File = "calls/c.jsonl", "calls/c.jsonl" },
	} {
		other := f
		change(&other)
		if prints(other)[0] == prints(f)[0] {
			t.Errorf("%+v has the fingerprint of another", other)
		}
	}
}

func TestURI(t *testing.T) {
	for name, want := range map[string]string{
		"calls/a.json": "calls/a.json", "./calls//a.json": "calls/a.json", "../a.json": "../a.json", "stdin": "stdin",
		"a b/100%.json": "a%20b/100%25.json", "a:b.json": "a%3Ab.json", "é?#[].json": "%C3%A9%3F%23%5B%5D.json", "\xff\n": "%FF%0A",
		"/tmp/a b.json": "file:///tmp/a%20b.json", "http://x/y": "http%3A/x/y",
	} {
		if got := uri(name); got != want {
			t.Errorf("uri(%q) = %s, want %s", name, got, want)
		}
	}
}

// A consumer reads the report as it was meant.
func TestJUnitIsRead(t *testing.T) {
	for name, list := range amounts() {
		data, err := JUnit("runlens check", list)
		if err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(bytes.NewReader(data)); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		suites, err := junit.Ingest(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := map[junit.Status]int{}
		for _, s := range suites {
			seen := map[string]bool{}
			for _, c := range s.Tests {
				got[c.Status]++
				if seen[c.Classname+"\x00"+c.Name] {
					t.Errorf("%s: two cases are %q of %q", name, c.Name, c.Classname)
				}
				seen[c.Classname+"\x00"+c.Name] = true
			}
		}
		want := map[junit.Status]int{}
		for i := range list {
			want[map[Status]junit.Status{Pass: junit.StatusPassed, Skip: junit.StatusSkipped, Broken: junit.StatusError, Fail: junit.StatusFailed, Ask: junit.StatusFailed}[list[i].Status]]++
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: read as %v, want %v", name, got, want)
		}
	}
}

// What the attributes count is what is there, and a failure says all of it.
func TestJUnit(t *testing.T) {
	data, err := JUnit("runlens check", findings()[:5])
	if err != nil {
		t.Fatal(err)
	}
	const want = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="runlens check" tests="5" failures="2" errors="1" time="0.002">
  <testsuite name="calls/a.json" tests="1" failures="0" errors="0" skipped="0" time="0.002">
    <testcase name="calls/a.json" classname="calls/a.json" time="0.002"/>
  </testsuite>
  <testsuite name="calls/b.jsonl" tests="3" failures="2" errors="1" skipped="0" time="0.000">
    <testcase name="calls/b.jsonl#1" classname="calls/b.jsonl" time="0.000">
      <failure type="outside_roots" message="path: x is outside">outside_roots: path: x is outside
also hard_link: x
fix: stay inside
rule: policies/p.rego:26
at: calls/b.jsonl:3:7</failure>
    </testcase>
    <testcase name="calls/b.jsonl#2" classname="calls/b.jsonl" time="0.000">
      <failure type="ask" message="ask">approval_required: ask
at: calls/b.jsonl:4</failure>
    </testcase>
    <testcase name="calls/b.jsonl#3" classname="calls/b.jsonl" time="0.000">
      <error type="policy_error" message="broken">policy_error: broken
at: calls/b.jsonl</error>
    </testcase>
  </testsuite>
  <testsuite name="empty" tests="1" failures="0" errors="0" skipped="1" time="0.000">
    <testcase name="empty" classname="empty" time="0.000">
      <skipped>empty holds no calls</skipped>
    </testcase>
  </testsuite>
</testsuites>
`
	if string(data) != want {
		t.Errorf("got\n%s\nwant\n%s", data, want)
	}
}

func TestFindingOf(t *testing.T) {
	reasons := []engine.Reason{
		{Code: "outside_roots", Message: "path: x", Param: "path", Remedy: "stay", File: "p.rego", Line: 3},
		{Code: "hard_link", Message: "path: y"},
	}
	place := Place{File: "c.jsonl", Line: 4, Column: 1}
	for effect, status := range map[engine.Effect]Status{engine.Deny: Fail, engine.Block: Fail, engine.Ask: Ask, engine.Effect(9): Fail} {
		got := FindingOf(&Result{Source: "c.jsonl#2", Place: place, Effect: effect, Reasons: reasons})
		want := Finding{
			Suite: "c.jsonl", Name: "c.jsonl#2", Status: status, Code: "outside_roots", Message: "path: x", Detail: "also hard_link: path: y",
			Place: place, Rule: Place{File: "p.rego", Line: 3}, Remedy: "stay",
		}
		if got != want {
			t.Errorf("%v: got %+v", effect, got)
		}
	}
	if got := FindingOf(&Result{Source: "c.jsonl#2", Place: place, Effect: engine.Allow, Reasons: reasons}); got != (Finding{Suite: "c.jsonl", Name: "c.jsonl#2", Status: Pass, Place: place}) {
		t.Errorf("allowed: %+v", got)
	}
}
