// Package corpus makes calls that cover a tool set: every tool, class of path,
// class of size and position in a plan.
package corpus
