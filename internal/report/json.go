package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/runlens/runlens/internal/engine"
	"github.com/runlens/runlens/internal/glyph"
)

// JSON is the results as one indented document with a final newline: the object
// itself when single is set and there is exactly one, else an array.
func JSON(results []Result, single bool) ([]byte, error) {
	if single && len(results) == 1 {
		return encode(documentOf(&results[0]), "", "  ")
	}
	out := []byte{}
	for i := range results {
		element, err := JSONElement(&results[i], i == 0)
		if err != nil {
			return nil, err
		}
		out = append(out, element...)
	}
	return append(out, JSONEnd(len(results) == 0)...), nil
}

// JSONElement is one result as the first or a later element of the array that
// JSON gives, for those who do not want to hold all results at once. JSONEnd
// comes behind the last one.
func JSONElement(r *Result, first bool) ([]byte, error) {
	before := ",\n  "
	if first {
		before = "[\n  "
	}
	element, err := encode(documentOf(r), "  ", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(before), bytes.TrimSuffix(element, []byte("\n"))...), nil
}

// JSONEnd ends the array.
func JSONEnd(empty bool) []byte {
	if empty {
		return []byte("[]\n")
	}
	return []byte("\n]\n")
}

// document is a Result as programs see it: every field is always there. What it
// is called and in which order is part of the contract.
type document struct {
	SchemaVersion  int            `json:"schema_version"`
	CallID         string         `json:"call_id"`
	Tool           string         `json:"tool"`
	Verdict        string         `json:"verdict"`
	Reason         string         `json:"reason"`
	Reasons        []reason       `json:"reasons"`
	Normalized     map[string]any `json:"normalized"`
	PolicyRevision string         `json:"policy_revision"`
	InputDigest    string         `json:"input_digest"`
}

type reason struct {
	Code      string         `json:"code"`
	Message   string         `json:"message"`
	Param     string         `json:"param"`
	Detail    map[string]any `json:"detail"`
	Gate      string         `json:"gate"`
	Retryable bool           `json:"retryable"`
	Remedy    string         `json:"remedy"`
	File      string         `json:"file"`
	Line      int            `json:"line"`
}

func documentOf(r *Result) document {
	d := document{
		SchemaVersion: SchemaVersion, CallID: r.CallID, Tool: r.Tool,
		Verdict: r.Effect.String(), Reason: r.primary().Code, Reasons: make([]reason, 0, len(r.Reasons)),
		Normalized: map[string]any{}, PolicyRevision: r.PolicyRevision, InputDigest: r.InputDigest,
	}
	for _, given := range r.Reasons {
		d.Reasons = append(d.Reasons, reasonOf(given))
	}
	for param, path := range r.Normalized {
		d.Normalized[param] = path
	}
	// A target parameter of that name keeps its place; a limit alone says
	// nothing, since it belongs to what was resolved.
	if _, taken := d.Normalized["max_bytes"]; !taken && len(d.Normalized) > 0 && r.MaxBytes > 0 {
		d.Normalized["max_bytes"] = r.MaxBytes
	}
	return d
}

func reasonOf(r engine.Reason) reason {
	detail := r.Detail
	if detail == nil {
		detail = map[string]any{}
	}
	return reason{
		Code: r.Code, Message: r.Message, Param: r.Param, Detail: detail,
		Gate: r.Gate, Retryable: r.Retryable, Remedy: r.Remedy, File: r.File, Line: r.Line,
	}
}

// encode writes v with a final newline. Text stays as it is but for what JSON
// must escape, invisible characters and those that turn the direction of text:
// a report is looked at in terminals and in reviews.
func encode(v any, prefix, indent string) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, indent)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write report: %w", err)
	}
	return glyph.JSON(buf.Bytes(), hidden), nil
}

func hidden(r rune) bool { return r != '\n' && r != '\ufffd' && !shown(r) }
