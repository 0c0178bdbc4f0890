package host

import (
	"debug/elf"
	"os"

	"cudacompat/internal/ldso"
)

// tree lets the loader's search read a host.
type tree struct{ *Host }

// Files are the host's files as the loader's search opens them.
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
	*os.File
	size int64
}

func (s sized) Size() int64 { return s.size }

// Loader is the loader of this host; it is made once.
func (h *Host) Loader() *ldso.Resolver {
	if h.seen.loader != nil {
		return h.seen.loader
	}
	r := &ldso.Resolver{FS: h.Files(), Machine: elf.EM_X86_64,
		LibraryPath: ldso.SplitLibraryPath(h.Var("LD_LIBRARY_PATH")), Preload: ldso.SplitPreload(h.Var("LD_PRELOAD"))}
	interpreter := "/lib64/ld-linux-x86-64.so.2"
	if !h.Exists(interpreter) && h.Exists("/lib/ld-linux-aarch64.so.1") {
		r.Machine, interpreter = elf.EM_AARCH64, "/lib/ld-linux-aarch64.so.1"
	}
	r.PreloadFile, _ = ldso.ReadPreload(r.FS)
	r.Cache, _ = ldso.ReadCache(r.FS) // none in many images: then the directories alone count
	r.SystemDirs, _ = ldso.SystemDirs(r.FS, interpreter)
	if len(r.SystemDirs) == 0 {
		r.SystemDirs = ldso.DefaultSystemDirs(r.FS, r.Machine)
	}
	h.seen.loader = r
	return r
}
