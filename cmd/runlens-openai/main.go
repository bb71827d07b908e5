// Command runlens-openai asks the model behind an OpenAI-compatible endpoint.
// `runlens run --provider openai` starts it from beside itself and talks to it
// over stdin and stdout, in the lines that package provider describes.
//
// It is a program of its own for two reasons: the process that decides about tool
// calls never holds the API key, and the vendor's client slows nobody else down.
package main

import (
	"os"

	"github.com/runlens/runlens/internal/loop/openai"
)

func main() {
	os.Exit(openai.Main(os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}
