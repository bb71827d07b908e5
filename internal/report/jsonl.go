package report

// JSONL is the results as JSON, one line each, in their order.
func JSONL(results []Result) ([]byte, error) {
	var out []byte
	for i := range results {
		line, err := encode(documentOf(&results[i]), "", "")
		if err != nil {
			return nil, err
		}
		out = append(out, line...)
	}
	return out, nil
}
