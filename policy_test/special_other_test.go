//go:build !linux

package policy_test

import "errors"

var errNoSpecial = errors.New("no special files on this system")

func makeFIFO(string) error   { return errNoSpecial }
func makeDevice(string) error { return errNoSpecial }
func makeSocket(string) error { return errNoSpecial }
