package manifest

// programPrefix begins the name of a handler that is a program of its own.
const programPrefix = "exec:"

// program binds the tool to a program.
func (d *draft) program(name string, n *node) bool {
	d.at.add(n.line, "", "handlers that are programs are not supported yet")
	return false
}
