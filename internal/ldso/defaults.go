package ldso

import (
	"bytes"
	"debug/elf"
	"io"
	"path"
	"slices"
	"strings"
)

// maxLoader bounds the size of a loader that is searched for its directories; glibc's has some 200 kB.
const maxLoader = 4 << 20

// SystemDirs returns the directories compiled into the loader at path ("/lib64/ld-linux-x86-64.so.2", a program's
// PT_INTERP), in order: on Debian and Ubuntu the multiarch ones, /lib and /usr/lib; on Red Hat's systems /lib64 and
// /usr/lib64; on NixOS one in the store. It returns none for a file without such a list, such as another C library's
// loader.
//
// The list has the form of glibc's elf/gen-trusted-dirs.awk, "/lib64/\0/usr/lib64/\0". It is among the file's
// constants, a tenth of the file, or anywhere if the section table is missing.
func SystemDirs(fsys FS, path string) ([]string, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if dirs := findSystemDirs(constants(f)); len(dirs) > 0 {
		return dirs, nil
	}
	b, err := readAll(fsys, path, maxLoader)
	return findSystemDirs(b), err
}

// constants returns the bytes of a loader's .rodata, none where it cannot be found.
func constants(f File) []byte {
	file, err := elf.NewFile(f)
	if err != nil {
		return nil
	}
	section := file.Section(".rodata")
	if section == nil {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(section.Open(), maxLoader))
	return data
}

// findSystemDirs returns the longest run of consecutive strings that look like library directories.
func findSystemDirs(b []byte) []string {
	var longest, run []string
	for at, next := 0, 0; ; at = next {
		i := bytes.Index(b[at:], []byte("/\x00")) // few strings end so, of the many that a file's zeroes end
		if i < 0 {
			return longest
		}
		end := at + i + 1
		start := bytes.LastIndexByte(b[:end], 0) + 1
		if start != next {
			run = nil // another string lies between
		}
		if next = end + 1; isSystemDir(b[start:end]) {
			run = append(run, strings.TrimRight(string(b[start:end]), "/"))
		} else {
			run = nil
		}
		if len(run) > len(longest) {
			longest = run
		}
	}
}

func isSystemDir(text []byte) bool {
	return bytes.HasPrefix(text, []byte("/")) && bytes.HasSuffix(text, []byte("/")) && bytes.Contains(text, []byte("/lib"))
}

// DefaultSystemDirs returns the directories of a loader that could not be read: Debian's if the tree has a C library in
// a multiarch directory, otherwise Red Hat's.
func DefaultSystemDirs(fsys FS, m elf.Machine) []string {
	dir := "/lib/" + machineName(m) + "-linux-gnu"
	if _, err := fsys.Resolve(dir + "/libc.so.6"); err == nil {
		return []string{dir, "/usr" + dir, "/lib", "/usr/lib"}
	}
	return []string{"/lib64", "/usr/lib64"}
}

// libToken returns the value of $LIB of a loader with these system directories: the last part of the
// first, which Debian extends by the one before: "lib64", "lib/x86_64-linux-gnu".
func libToken(systemDirs []string, m elf.Machine) string {
	if len(systemDirs) == 0 {
		return ""
	}
	first := path.Base(systemDirs[0])
	if first == machineName(m)+"-linux-gnu" {
		return "lib/" + first
	}
	return first
}

// machineName returns the machine's name in multiarch directories, which is also the value of $PLATFORM.
func machineName(m elf.Machine) string {
	switch m {
	case elf.EM_X86_64:
		return "x86_64"
	case elf.EM_AARCH64:
		return "aarch64"
	}
	return ""
}

// X86Hwcaps returns the glibc-hwcaps subdirectories that a loader uses on an x86-64 CPU with these
// flags ("flags" of /proc/cpuinfo), best first. The levels are those of glibc's
// sysdeps/x86/get-isa-level.h. On AArch64 glibc has no such subdirectories.
func X86Hwcaps(flags []string) []string {
	var dirs []string
	for _, level := range x86Levels {
		if slices.ContainsFunc(level.flags, func(f string) bool { return !slices.Contains(flags, f) }) {
			break
		}
		dirs = append([]string{level.name}, dirs...)
	}
	return dirs
}

var x86Levels = []struct {
	name  string
	flags []string // by the kernel's names: lahf_lm is LAHF64_SAHF64, pni SSE3, abm LZCNT
}{
	{"x86-64-v2", []string{"cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2"}},
	{"x86-64-v3", []string{"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}},
	{"x86-64-v4", []string{"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
}
