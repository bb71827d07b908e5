package resolve

import "golang.org/x/sys/unix"

func syncFD(fd int) error {
	for {
		if err := unix.Fsync(fd); err != unix.EINTR {
			return err
		}
	}
}

// renameNew gives an entry another name that must be free, in one step.
func renameNew(fromDir int, from string, toDir int, to string) error {
	err := unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE)
	switch err {
	case unix.EEXIST:
		return ErrChanged
	case unix.EINVAL, unix.ENOSYS:
		return ErrNoExchange
	}
	return err
}

// exchange swaps two entries in one step.
func exchange(aDir int, a string, bDir int, b string) error {
	err := unix.Renameat2(aDir, a, bDir, b, unix.RENAME_EXCHANGE)
	if err == unix.EINVAL || err == unix.ENOSYS {
		return ErrNoExchange
	}
	return err
}

func syncAll() { unix.Sync() }
