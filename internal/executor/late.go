package executor

import "github.com/runlens/runlens/internal/executor/handlers"

// recordLate records what a handler returned after it had been given up on.
func (p *proposal) recordLate(handlers.Result, error) {}
