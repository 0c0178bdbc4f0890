//go:build !linux

package host

import "os"

func rootAt(dir string) (rootFS, error) { return walk(dir) }

// directoryOf identifies a directory, if the system can.
func directoryOf(*os.File) (directory, bool) { return directory{}, false }

func entriesOf(dir *os.File, keep func([]keptEntry) error) ([]keptEntry, error) {
	return namedEntries(dir, keep)
}
