package main

import "io/fs"

// owner is the uid of a file, -1 when unknown.
func owner(fs.FileInfo) int { return -1 }
