package main

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// world is everything outside the process that a command may touch, besides
// the files it is told about.
type world struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	stdinTerminal  bool // a person would have to type
	stderrTerminal bool // progress can be shown

	getenv func(string) string
	home   func() string // of the user, as the system knows it; nil: unknown
	now    func() time.Time
	random io.Reader

	private func() error // keeps this process from the tools that it starts; nil in tests
}

// system is the world as the operating system gives it.
func system() *world {
	return &world{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		stdinTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		stderrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		getenv:         os.Getenv, home: passwdHome, now: time.Now, random: rand.Reader,
		private: private,
	}
}

// newRunID makes the id of a fresh run: runs sort by the time they began, and
// two that begin at once differ.
func (w *world) newRunID() string {
	var tail [4]byte
	if _, err := io.ReadFull(w.random, tail[:]); err != nil {
		// Without randomness the id may collide: the run is then shared, and
		// its ledger stays one unbroken chain.
		return w.now().UTC().Format("20060102T150405.000000000")
	}
	return w.now().UTC().Format("20060102T150405") + "-" + hex.EncodeToString(tail[:])
}
