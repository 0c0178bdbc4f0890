package host

import "golang.org/x/sys/unix"

// exchange swaps two names at once: neither is ever missing.
func exchange(one, other string) error {
	return unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
}
