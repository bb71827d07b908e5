//go:build !linux && !darwin

package resolve

import "errors"

// Nothing is resolved on other systems: Open fails, so nothing that needs a
// project starts.

const (
	haveOpenat2 = false
	atCWD       = -1
)

var errUnsupported = errors.New("not supported on this system")

func openProc() (int, error)                    { return -1, errUnsupported }
func openTop() (int, error)                     { return -1, errUnsupported }
func openBest(int, string) (int, error)         { return -1, errNoOpenat2 }
func openNode(int, string) (node, error)        { return node{fd: -1}, errUnsupported }
func openFolder(string) (int, error)            { return -1, errUnsupported }
func closeFD(int)                               {}
func dupFD(int) int                             { return -1 }
func statFD(int) (stat, error)                  { return stat{}, errUnsupported }
func statAt(int, string) (stat, error)          { return stat{}, errUnsupported }
func statThrough(int, string) (stat, error)     { return stat{}, errUnsupported }
func changedAt(int) ([2]int64, error)           { return [2]int64{}, errUnsupported }
func nameOf(int, int) (string, error)           { return "", errUnsupported }
func liveName(int, int, stat) (string, error)   { return "", errUnsupported }
func pseudoFS(int, stat) string                 { return "unknown" }
func reopen(int) (int, error)                   { return -1, errUnsupported }
func permitted(int, uint32) error               { return errUnsupported }
func heldPath(int) string                       { return "" }
func readNames(int, int) ([]Entry, bool, error) { return nil, false, errUnsupported }
func createFile(int, string) (int, error)       { return -1, errUnsupported }
func keepOwner(int, stat) error                 { return errUnsupported }
func writeAll(int, []byte) error                { return errUnsupported }
func syncFD(int) error                          { return errUnsupported }
func syncFolder(int) error                      { return errUnsupported }
func renameNew(int, string, int, string) error  { return errUnsupported }
func landNew(int, string, string) error         { return errUnsupported }
func setAside(int, string, string) error        { return errUnsupported }
func exchange(int, string, int, string) error   { return errUnsupported }
func unlinkAt(int, string, bool) error          { return errUnsupported }
func mkdirAt(int, string) error                 { return errUnsupported }
