//go:build race

package replay_test

// The race detector makes each decision many times slower.
var workerCounts = []int{1, 8}
