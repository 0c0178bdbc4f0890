package ldso

import (
	"bytes"
	"fmt"
	"strings"
)

// PreloadPath names the libraries that the loader preloads into every program of a machine.
const PreloadPath = "/etc/ld.so.preload"

const maxPreload = 1 << 16

// SplitPreload splits the value of LD_PRELOAD at spaces and colons.
func SplitPreload(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ':' })
}

// ReadPreload returns the names in [PreloadPath]; the error satisfies [io/fs.ErrNotExist] if there is
// no such file, which is the usual case. Format: names between white space or colons, and a comment
// from "#" to the end of the line.
func ReadPreload(fsys FS) ([]string, error) {
	b, err := readAll(fsys, PreloadPath, maxPreload)
	if err != nil {
		return nil, fmt.Errorf("preloaded libraries: %w", err)
	}
	return parsePreload(string(b)), nil
}

func parsePreload(text string) []string {
	return strings.FieldsFunc(blankComments([]byte(text)), func(r rune) bool { return strings.ContainsRune(" \t\n:", r) })
}

// blankComments blanks the comments that glibc's elf/rtld.c recognises. After the first it searches from the start of
// the text again, but only as far as the remaining length, so a later comment may stay and its words count as names.
func blankComments(b []byte) string {
	for rest := len(b); rest > 0; {
		i := bytes.IndexByte(b[:rest], '#')
		if i < 0 {
			break
		}
		rest -= i
		for more := true; more; more = rest > 0 && b[i] != '\n' {
			b[i] = ' '
			i++
			rest--
		}
	}
	return string(b)
}
