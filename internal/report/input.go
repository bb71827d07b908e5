package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/runlens/runlens/internal/glyph"
)

// Input is what policy judged, for `opa eval -i` and for tests: one indented
// document when single is set and there is exactly one result, else one line
// each. A call that did not reach policy has none and is left out.
func Input(results []Result, single bool) ([]byte, error) {
	var out bytes.Buffer
	for _, r := range results {
		switch {
		case r.Input == nil:
			continue
		case single && len(results) == 1:
			if err := json.Indent(&out, r.Input, "", "  "); err != nil {
				return nil, fmt.Errorf("write input: %w", err)
			}
		default:
			out.Write(r.Input)
		}
		out.WriteByte('\n')
	}
	return glyph.JSON(out.Bytes(), hidden), nil
}
