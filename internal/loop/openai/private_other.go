//go:build !linux

package openai

// private does nothing here: there is no way, or none that we know of.
func private() error { return nil }
