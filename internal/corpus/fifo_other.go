//go:build !unix

package corpus

import "errors"

func makeFIFO(string) error { return errors.New("no named pipes on this system") }
