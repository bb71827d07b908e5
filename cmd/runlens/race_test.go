//go:build race

package main

// everyNth thins out what starts many processes: under the race detector each
// takes several times as long, and the plain run does them all.
const everyNth = 11
