//go:build !race

package replay_test

// workerCounts are the numbers of workers that must come to the same.
var workerCounts = []int{1, 2, 8}
