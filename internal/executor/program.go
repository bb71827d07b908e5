package executor

// openProgram finds the program that is the tool's handler.
func (p *proposal) openProgram() {}
