package engine

import (
	"fmt"
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Data is a copy of data.runlens as the tree's files make it: values as
// encoding/json gives them, numbers as json.Number.
func (e *Engine) Data() (map[string]any, error) {
	own := e.data.Get(ast.StringTerm(folder))
	if own == nil {
		return map[string]any{}, nil
	}
	value, err := ast.JSON(own.Value)
	if err != nil {
		return nil, fmt.Errorf("read policy data: %w", err)
	}
	object, is := value.(map[string]any)
	if !is {
		return map[string]any{}, nil
	}
	object = maps.Clone(object)
	delete(object, notesKey) // the loader's own
	return object, nil
}
