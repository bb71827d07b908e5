//go:build amd64 || arm64

package sandbox

import (
	"slices"

	"golang.org/x/sys/unix"
)

// covers are the hidden paths below which something is to be seen, sorted: an
// empty directory that holds the way to it is put in their place.
func covers(spec Spec) (list [][]byte) {
	shown := append(slices.Concat(spec.Read, spec.Write), spec.Dir)
	hidden := slices.Clone(spec.Hidden)
	slices.Sort(hidden)
	for _, p := range slices.Compact(hidden) {
		if slices.ContainsFunc(shown, func(r Root) bool { return within(r.Path, p) }) {
			list = append(list, []byte(p))
		}
	}
	return list
}

// rootParts are the roots, each after what covers the way to it.
func (s *stage) rootParts() (parts []attachment, err error) {
	left := s.Covers
	cover := func(over string) error {
		for len(left) > 0 && (over == "" || within(over, string(left[0])) || string(left[0]) < over) {
			fd, err := newFS("tmpfs", quiet, "mode=0755", "size=1m")
			if err != nil {
				return err
			}
			parts = append(parts, attachment{fd: fd, at: string(left[0]), folder: true, flags: quiet})
			left = left[1:]
		}
		return nil
	}
	for _, r := range s.Roots {
		if err := cover(string(r.Path)); err != nil {
			return nil, err
		}
		part, err := rootPart(r)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, cover("")
}

// covered says whether a path is one of the covers.
func (s *stage) covered(p string) bool {
	return slices.ContainsFunc(s.Covers, func(c []byte) bool { return string(c) == p })
}

// closeCovers takes the right to write from them.
func (s *stage) closeCovers() error {
	for _, c := range s.Covers {
		fd, err := openInside(string(c))
		if err != nil {
			return unavailable("close a cover", err)
		}
		attr := unix.MountAttr{Attr_set: quiet | unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOEXEC}
		err = unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr)
		unix.Close(fd)
		if err != nil {
			return unavailable("close a cover", err)
		}
	}
	return nil
}

// coveredBelow says whether a path in a root lies in a cover in that root.
func (s *stage) coveredBelow(p, root string) bool {
	return slices.ContainsFunc(s.Covers, func(c []byte) bool { return within(p, string(c)) && within(string(c), root) })
}
