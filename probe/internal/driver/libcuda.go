package driver

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"

	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// readLibcuda says how the search went whose end is taken, or err: in what state the file is that the loader meets
// first, and where a driver's stands that it does not meet.
func readLibcuda(h *host.Host, taken userDriver, err error, ml *facts.Library) *facts.Libcuda {
	paths, of := h.LibraryPath()
	l := &facts.Libcuda{Path: taken.path, Paths: paths, Of: of}
	if l.Path == "" {
		l.Path = refusedFile(h, err)
	}
	if l.Path != "" {
		l.State = libraryState(h, l.Path)
	}
	if l.State != "whole" {
		l.Elsewhere = elsewhere(h, ml)
	}
	return l
}

// refusedFile is the file at which the loader stopped, or over which it went to find nothing.
func refusedFile(h *host.Host, err error) string {
	if file, _ := (ldso.Missing{Name: "libcuda.so.1", Err: err}).Unloadable(); file != "" {
		return file
	}
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		return named.Path
	}
	for _, dir := range searchedDirectories(h) {
		if _, err := h.Size(path.Join(dir, "libcuda.so.1")); errors.Is(err, fs.ErrPermission) {
			return path.Join(dir, "libcuda.so.1")
		}
	}
	return ""
}

// searchedDirectories are the directories that the loader of a CUDA program looks into for libcuda.so.1.
func searchedDirectories(h *host.Host) []string {
	loader := h.Loader()
	dirs := slices.Clone(loader.LibraryPath)
	if loader.Cache != nil {
		if file := loader.Cache.Lookup("libcuda.so.1", loader.Machine, nil); file != "" {
			dirs = append(dirs, path.Dir(file))
		}
	}
	return append(dirs, loader.SystemDirs...)
}

// elsewhere is a driver's libcuda.so.1 in none of these directories.
func elsewhere(h *host.Host, ml *facts.Library) string {
	looked := searchedDirectories(h)
	for _, dir := range driverDirs {
		if slices.Contains(looked, dir) {
			continue
		}
		lib := ownLibrary(h, "libcuda", []string{dir}, ml, new(host.Errors))
		if lib != nil && libraryState(h, lib.Path) == "whole" {
			return lib.Path
		}
	}
	return ""
}

// libraryState tells whether a file can be a library of this machine: "whole", "empty", "cut short", "other
// architecture" or "unreadable", which no library is either.
func libraryState(h *host.Host, name string) string {
	f, err := h.Open(name)
	if err != nil {
		return "unreadable"
	}
	defer f.Close()
	size, err := sizeOf(f)
	switch {
	case err != nil:
		return "unreadable"
	case size == 0:
		return "empty"
	}
	return elfState(f, uint64(size), h.Loader().Machine)
}

func sizeOf(f host.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// elfState reads the header and the two tables that it names, and of the segments where they end.
func elfState(r io.ReaderAt, size uint64, machine elf.Machine) string {
	var ident [20]byte
	n, err := r.ReadAt(ident[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "unreadable"
	}
	if magic := min(n, len(elf.ELFMAG)); string(ident[:magic]) != elf.ELFMAG[:magic] {
		return "unreadable"
	}
	if n == len(ident) && (elf.Class(ident[elf.EI_CLASS]) != elf.ELFCLASS64 ||
		elf.Machine(binary.LittleEndian.Uint16(ident[18:])) != machine) {
		return "other architecture"
	}
	var head elf.Header64
	if binary.Read(io.NewSectionReader(r, 0, int64(size)), binary.LittleEndian, &head) != nil ||
		!inside(head.Phoff, uint64(head.Phnum)*uint64(head.Phentsize), size) ||
		!inside(head.Shoff, uint64(head.Shnum)*uint64(head.Shentsize), size) {
		return "cut short"
	}
	segments := io.NewSectionReader(r, int64(head.Phoff), int64(head.Phnum)*int64(head.Phentsize))
	for range head.Phnum {
		var segment elf.Prog64
		if binary.Read(segments, binary.LittleEndian, &segment) != nil ||
			elf.ProgType(segment.Type) == elf.PT_LOAD && !inside(segment.Off, segment.Filesz, size) {
			return "cut short"
		}
	}
	return "whole"
}

// inside reports whether so many bytes at that place lie in a file of that size.
func inside(at, n, size uint64) bool { return at <= size && n <= size-at }
