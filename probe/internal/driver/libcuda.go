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

// readLibcuda describes the search for libcuda, which ended with taken or err: the state of the file that the loader
// meets first, and a driver's file that the loader does not reach.
func readLibcuda(h *host.Host, taken loadedLibcuda, err error, ml *facts.Library) *facts.Libcuda {
	paths, of := h.LibraryPath()
	l := &facts.Libcuda{Path: taken.path, Paths: paths, Of: of}
	if l.Path == "" {
		l.Path = refusedFile(h, err)
	}
	if l.Path != "" {
		l.State = libraryState(h, l.Path)
	}
	if l.State != "whole" {
		l.Elsewhere = libcudaElsewhere(h, ml)
	}
	return l
}

// refusedFile returns the file at which the loader stopped, or which it skipped before it found nothing.
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

// searchedDirectories lists the directories in which the loader of a CUDA program looks for libcuda.so.1.
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

// libcudaElsewhere returns a driver's libcuda.so.1 outside of the searched directories.
func libcudaElsewhere(h *host.Host, ml *facts.Library) string {
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

// libraryState returns whether a file can be a library of this machine: "whole", "empty", "cut short", "other
// architecture" or "unreadable". The last covers files that are no library.
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

// sizeOf returns a file's size.
func sizeOf(f host.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// elfState checks the ELF header, the two tables that it names, and that every segment ends inside the file.
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

// inside reports whether n bytes that begin at an offset lie within a file of size bytes.
func inside(at, n, size uint64) bool { return at <= size && n <= size-at }
