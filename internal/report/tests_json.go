package report

// testDocument is one thing that was tested, in JSON. got and want are there for
// golden cases.
type testDocument struct {
	Kind    TestKind `json:"kind"`
	Status  string   `json:"status"`
	Suite   string   `json:"suite"`
	Name    string   `json:"name"`
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Detail  string   `json:"detail"`
	Got     *string  `json:"got,omitempty"`
	Want    *string  `json:"want,omitempty"`
	Updated bool     `json:"updated"`
}

type shareDocument struct {
	Name    string  `json:"name"`
	Rules   int     `json:"rules"`
	Covered int     `json:"covered"`
	Percent float64 `json:"percent"`
	Low     bool    `json:"below_threshold"`
}

type uncoveredDocument struct {
	Name string `json:"name"`
	File string `json:"file"`
	Line int    `json:"line"`
}

type coverageDocument struct {
	Threshold *float64            `json:"threshold"`
	Packages  []shareDocument     `json:"packages"`
	Codes     []shareDocument     `json:"codes"`
	Uncovered []uncoveredDocument `json:"uncovered"`
}

type testCounts struct {
	Cases       int `json:"cases"`
	Rows        int `json:"rows"`
	Failed      int `json:"rows_failed"`
	Skipped     int `json:"cases_skipped"`
	Rego        int `json:"rego_tests"`
	RegoFailed  int `json:"rego_failed"`
	RegoSkipped int `json:"rego_skipped"`
	Problems    int `json:"problems"`
	Low         int `json:"below_threshold"`
}

type testsDocument struct {
	SchemaVersion int               `json:"schema_version"`
	Kind          string            `json:"kind,omitempty"` // "summary" in lines
	Counts        testCounts        `json:"counts"`
	LeftOut       string            `json:"rego_left_out"` // why no Rego test was run; ""
	Written       []string          `json:"written"`
	Coverage      *coverageDocument `json:"coverage,omitempty"`
	Tests         []testDocument    `json:"tests,omitzero"`
}

// TestsJSON is the tests as one JSON object.
func TestsJSON(t *Tests) ([]byte, error) {
	doc := t.document()
	doc.Tests = make([]testDocument, 0, len(t.List))
	for i := range t.List {
		doc.Tests = append(doc.Tests, t.List[i].document())
	}
	return encode(doc, "", "  ")
}

// TestsJSONL is a line of JSON for each test, and the summary last.
func TestsJSONL(t *Tests) ([]byte, error) {
	var all []byte
	for i := range t.List {
		line, err := encode(struct {
			SchemaVersion int `json:"schema_version"`
			testDocument
		}{1, t.List[i].document()}, "", "")
		if err != nil {
			return nil, err
		}
		all = append(all, line...)
	}
	doc := t.document()
	doc.Kind = "summary"
	line, err := encode(doc, "", "")
	return append(all, line...), err
}

func (t *Tests) document() testsDocument {
	golden := []TestKind{GoldenRow, GoldenLedger}
	doc := testsDocument{
		SchemaVersion: 1, LeftOut: t.LeftOut, Written: orEmpty(t.Written),
		Counts: testCounts{
			Cases: t.Cases, Rows: t.count(Pass, golden...) + t.count(Fail, golden...), Failed: t.count(Fail, golden...),
			Skipped: t.count(Skip, GoldenCase), Rego: t.count(Pass, RegoTest) + t.count(Fail, RegoTest),
			RegoFailed: t.count(Fail, RegoTest), RegoSkipped: t.count(Skip, RegoTest),
			Problems: t.count(Broken, TestProblem), Low: t.count(Fail, TestCoverage),
		},
	}
	if c := t.Coverage; c != nil {
		doc.Coverage = &coverageDocument{Threshold: c.Threshold, Packages: c.shares(c.Packages), Codes: c.shares(c.Codes), Uncovered: []uncoveredDocument{}}
		for _, u := range c.Uncovered {
			doc.Coverage.Uncovered = append(doc.Coverage.Uncovered, uncoveredDocument{u.Name, u.Place.File, u.Place.Line})
		}
	}
	return doc
}

func (c *Coverage) shares(list []Share) []shareDocument {
	docs := make([]shareDocument, 0, len(list))
	for _, s := range list {
		docs = append(docs, shareDocument{s.Name, s.Rules, s.Covered, s.Percent, c.Low(s)})
	}
	return docs
}

func (one *Tested) document() testDocument {
	d := testDocument{
		Kind: one.Kind, Status: one.Status.String(), Suite: one.Suite, Name: one.Name,
		File: one.Place.File, Line: one.Place.Line, Code: one.Code, Message: one.Message, Detail: one.Detail, Updated: one.Updated,
	}
	if one.Kind == GoldenRow || one.Kind == GoldenLedger {
		d.Got, d.Want = &one.Got, &one.Want
	}
	return d
}
