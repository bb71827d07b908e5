package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// sarifSchema is the address by which consumers know the format.
const sarifSchema = "https://json.schemastore.org/sarif-2.1.0.json"

// SARIF is the findings that failed, are broken or ask for an approval as a
// SARIF 2.1.0 log of one run, at the calls' lines, with the Rego rule as a related
// location. What passed or was skipped has no result; the run is there all the
// same. version is RunLens's own.
//
// A result keeps its partialFingerprints when its call moves to another line.
func SARIF(list []Finding, version string) ([]byte, error) {
	driver := sarifDriver{Name: "RunLens", Version: version, Rules: []sarifRule{}}
	if semantic.MatchString(strings.TrimPrefix(version, "v")) {
		driver.SemanticVersion = strings.TrimPrefix(version, "v")
	}
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	complete := true
	for i := range list {
		f := &list[i]
		complete = complete && f.Status != Broken
		if levelOf(f.Status) != "" {
			driver.Rules = addRule(driver.Rules, f)
		}
	}
	slices.SortFunc(driver.Rules, func(a, b sarifRule) int { return cmp.Compare(a.ID, b.ID) })
	seen := map[string]int{}
	for i := range list {
		if f := &list[i]; levelOf(f.Status) != "" {
			at, _ := slices.BinarySearchFunc(driver.Rules, f.code(), func(r sarifRule, id string) int { return cmp.Compare(r.ID, id) })
			run.Results = append(run.Results, resultFor(f, at, seen))
		}
	}
	run.Tool.Driver = driver
	run.Invocations = []sarifInvocation{{Successful: complete}}
	return encode(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}}, "", "  ")
}

// semantic is a version as semver.org wants it.
var semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// addRule lists what a code means, once.
func addRule(rules []sarifRule, f *Finding) []sarifRule {
	id := f.code()
	if slices.ContainsFunc(rules, func(r sarifRule) bool { return r.ID == id }) {
		return rules
	}
	title := plainText(cmp.Or(f.Title, id))
	return append(rules, sarifRule{
		ID: id, Name: pascal(id), Short: title, Full: title,
		Help:    plainText(cmp.Or(f.Remedy, f.Title, id)),
		Default: sarifConfiguration{Level: levelOf(f.Status)},
	})
}

func resultFor(f *Finding, rule int, seen map[string]int) sarifResult {
	r := sarifResult{
		RuleID: f.code(), RuleIndex: rule, Level: levelOf(f.Status),
		Message: plainText(strings.Join(f.lines(), "\n")), Locations: []sarifLocation{},
	}
	if f.Place.File != "" {
		r.Locations = append(r.Locations, locationOf(f.Place))
	}
	if f.Rule.File != "" {
		related := locationOf(f.Rule)
		related.ID, related.Message = 1, &sarifMessage{Text: "the rule that decided"}
		r.Related = append(r.Related, related)
	}
	print := fingerprint(f)
	seen[print]++
	// Code scanning knows this key, and keeps to it instead of reading lines.
	r.Fingerprints = map[string]string{"primaryLocationLineHash": fmt.Sprintf("%s:%d", print, seen[print])}
	return r
}

// fingerprint is the same for a finding wherever in its file the call stands.
func fingerprint(f *Finding) string {
	name := ordinal.ReplaceAllString(f.Name, "")
	sum := sha256.Sum256([]byte(strings.Join([]string{f.code(), f.Suite, f.Place.File, name, f.Message}, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// ordinal is the end of a name that counts the calls of a file.
var ordinal = regexp.MustCompile(`#[0-9]+$`)

func locationOf(p Place) sarifLocation {
	l := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{URI: uri(p.File)}}}
	if p.Line > 0 {
		l.Physical.Region = &sarifRegion{StartLine: p.Line, StartColumn: max(p.Column, 0)}
	}
	return l
}

// uri is a file's name as a URI reference (RFC 3986): relative to wherever the
// reader puts it, or a file URI when the name is absolute.
func uri(name string) string {
	slashed := filepath.ToSlash(filepath.Clean(name))
	var b strings.Builder
	if filepath.IsAbs(name) {
		b.WriteString("file://")
		if !strings.HasPrefix(slashed, "/") { // C:/…
			b.WriteByte('/')
		}
	}
	for i := range len(slashed) {
		switch c := slashed[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		case c == ':' && filepath.IsAbs(name):
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// plainText is text as a message. Square brackets before round ones would make a
// link of it, wherever foreign text wants it to lead.
func plainText(text string) sarifMessage {
	if strings.Contains(text, "](") {
		text = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`).Replace(text)
	}
	return sarifMessage{Text: text}
}

// pascal is a code as a name: outside_roots is OutsideRoots.
func pascal(code string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(code, func(r rune) bool { return r == '_' || r == '-' || r == ' ' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	ColumnKind  string            `json:"columnKind"`
	Results     []sarifResult     `json:"results"`
}

type sarifInvocation struct {
	Successful bool `json:"executionSuccessful"`
}

type sarifDriver struct {
	Name            string      `json:"name"`
	Version         string      `json:"version,omitempty"`
	SemanticVersion string      `json:"semanticVersion,omitempty"`
	Rules           []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      string             `json:"id"`
	Name    string             `json:"name"`
	Short   sarifMessage       `json:"shortDescription"`
	Full    sarifMessage       `json:"fullDescription"`
	Help    sarifMessage       `json:"help"`
	Default sarifConfiguration `json:"defaultConfiguration"`
}

type sarifConfiguration struct {
	Level string `json:"level"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifMessage      `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Related      []sarifLocation   `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints"`
}

type sarifLocation struct {
	ID       int           `json:"id,omitempty"`
	Physical sarifPhysical `json:"physicalLocation"`
	Message  *sarifMessage `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}
