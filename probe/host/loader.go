package host

import (
	"bytes"
	"debug/elf"
	"runtime"
	"slices"

	"cudacompat/internal/ldso"
)

// tree lets the loader's search read a host.
type tree struct{ *Host }

// Files returns the host's files as the loader's search opens them.
func (h *Host) Files() ldso.FS { return tree{h} }

// Open opens a library by its path in the tree.
func (t tree) Open(name string) (ldso.File, error) {
	f, err := t.Host.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return sized{f, info.Size()}, nil
}

type sized struct {
	File
	size int64
}

func (s sized) Size() int64 { return s.size }

// Loader returns the loader of a program that runs on the host, with the search path that LibraryPath returns. It is made
// once.
func (h *Host) Loader() *ldso.Resolver {
	if h.lookups.loader == nil {
		h.lookups.loader = h.newLoader()
	}
	return h.lookups.loader
}

// OwnLoader returns the loader for programs that this process starts, with this process's own LD_LIBRARY_PATH. If this
// program has another architecture than the host's programs, as under qemu's user mode, the loader looks for libraries
// of this program's architecture.
func (h *Host) OwnLoader() *ldso.Resolver {
	own := *h.Loader()
	own.LibraryPath = ldso.SplitLibraryPath(h.Var(libraryPath))
	if machine, known := machines[runtime.GOARCH]; known && machine != own.Machine {
		own.Machine, own.SystemDirs, own.Hwcaps = machine, h.systemDirs(machine), nil
	}
	return &own
}

const libraryPath = "LD_LIBRARY_PATH"

// LibraryPath returns the LD_LIBRARY_PATH of a program that runs here, and whose it is: in a container that of the
// first process, otherwise "this process". A shell's environment is the one it started with, without later exports, so
// a shell does not count. At rest there is none.
func (h *Host) LibraryPath() (paths, of string) {
	if h.Rest {
		return h.Var(libraryPath), ""
	}
	if h.ContainerKind() != "" && h.ownsFirstProcess() {
		program, _ := h.ReadLine("/proc/1/comm")
		environ, err := h.ReadFile("/proc/1/environ")
		if err == nil && len(environ) > 0 && !slices.Contains(shells, program) {
			return variable(environ, libraryPath), "process 1"
		}
	}
	return h.Var(libraryPath), "this process"
}

var shells = []string{"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox"}

// ownsFirstProcess reports whether process 1 is of this container: one that shares the host's processes, or a pod's,
// has another's there, with another root.
func (h *Host) ownsFirstProcess() bool {
	first := h.mountsOf("1")
	return !firstProcess(h) && (len(first) == 0 || sameRoot(At(first, "/"), At(h.Mounts(), "/")))
}

// variable returns the value of a variable in /proc/PID/environ, where NUL ends each:
//
//	PATH=/usr/bin\x00LD_LIBRARY_PATH=/usr/local/nvidia/lib64\x00
func variable(environ []byte, name string) string {
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(v, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// machines are those that CUDA's libraries for Linux are built for, by Go's names.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// interpreters are the paths of glibc's loaders.
var interpreters = map[elf.Machine]string{
	elf.EM_X86_64: "/lib64/ld-linux-x86-64.so.2", elf.EM_AARCH64: "/lib/ld-linux-aarch64.so.1",
}

func (h *Host) newLoader() *ldso.Resolver {
	paths, _ := h.LibraryPath()
	r := &ldso.Resolver{FS: h.Files(), Machine: elf.EM_X86_64,
		LibraryPath: ldso.SplitLibraryPath(paths), Preload: ldso.SplitPreload(h.Var("LD_PRELOAD"))}
	if !h.Exists(interpreters[elf.EM_X86_64]) && h.Exists(interpreters[elf.EM_AARCH64]) {
		r.Machine = elf.EM_AARCH64
	}
	r.PreloadFile, _ = ldso.ReadPreload(r.FS)
	if r.Machine == elf.EM_X86_64 {
		r.Hwcaps = ldso.X86Hwcaps(h.CPUFlags())
	}
	r.Cache, _ = ldso.ReadCache(r.FS) // none in many images: then the directories alone count
	r.SystemDirs = h.systemDirs(r.Machine)
	return r
}

// systemDirs returns the directories that the loader for a machine searches last.
func (h *Host) systemDirs(machine elf.Machine) []string {
	if dirs, _ := ldso.SystemDirs(h.Files(), interpreters[machine]); len(dirs) > 0 {
		return dirs
	}
	return ldso.DefaultSystemDirs(h.Files(), machine)
}
