//go:build !race

package executor_test

const raced = false
