//go:build !race

package main

// everyNth thins out what starts many processes: not at all.
const everyNth = 1
