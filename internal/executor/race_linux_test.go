//go:build race

package executor_test

// raced: the race detector keeps memory of its own, which grows with use.
const raced = true
