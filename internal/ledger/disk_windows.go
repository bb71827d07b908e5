package ledger

import "os"

const noWait, noFollow = 0, 0

// syncDir does nothing: NTFS journals directory entries and has no call for it.
func syncDir(string) error { return nil }

func datasync(f *os.File) error { return f.Sync() }

// private has nothing to look at: access lists come from the profile folder.
func private(os.FileInfo) error { return nil }
