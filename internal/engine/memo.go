package engine

import (
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// maxMemo bounds what a memo holds.
const maxMemo = 1024

// memo remembers the term of a value that seldom changes.
type memo[K comparable] struct {
	mu    sync.RWMutex
	terms map[K]*ast.Term
}

func (m *memo[K]) get(k K) *ast.Term {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.terms[k]
}

func (m *memo[K]) put(k K, t *ast.Term) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.terms == nil || len(m.terms) >= maxMemo {
		m.terms = map[K]*ast.Term{}
	}
	m.terms[k] = t
}
