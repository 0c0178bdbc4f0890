package driver

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/libversion"
)

// loadedLibcuda is the libcuda.so.1 that the loader maps for a program that opens it, as every CUDA runtime does.
type loadedLibcuda struct {
	path, real string
	reason     string
}

// findLibcuda searches libcuda.so.1 as the loader does for a caller without a run path. It returns ldso.ErrNotFound if
// the loader would find none.
func findLibcuda(h *host.Host) (loadedLibcuda, error) {
	p, err := h.Loader().Host()
	if err != nil {
		return loadedLibcuda{}, err
	}
	found, err := p.Find("libcuda.so.1", nil)
	if err != nil {
		return loadedLibcuda{}, err
	}
	return loadedLibcuda{found.Path, found.Real, found.Reason.String()}, nil
}

// toFact returns the library as a fact, empty if there is none.
func (u loadedLibcuda) toFact() facts.Taken {
	if u.path == "" {
		return facts.Taken{}
	}
	return facts.Taken{Name: "libcuda.so.1", Version: libversion.InName(u.real), Path: u.path, Reason: u.reason}
}

// stubSize is smaller than any driver's libcuda; 535.261.03's has 29 MB. A toolkit's stub contains only names.
const stubSize = 1 << 20

// isStub reports whether the file is a toolkit's stub to link against. A driver's file has the driver's version in its
// name, except WSL2's, which passes every call on to Windows.
func (u loadedLibcuda) isStub(h *host.Host) bool {
	if path.Base(path.Dir(u.real)) == "stubs" {
		return true
	}
	size, err := h.Size(u.real)
	return err == nil && size < stubSize && libversion.InName(u.real) == "" && !strings.Contains(u.real, "/wsl/")
}

// toLibrary returns libcuda as facts.Driver.Libraries list it.
func (u loadedLibcuda) toLibrary() facts.Library {
	return facts.Library{Name: "libcuda", Version: libversion.InName(u.real), Path: u.path}
}

// readCompat lists the cuda-compat libraries: first the one that the loader chose, then those in toolkits, where images
// carry them unused.
func readCompat(h *host.Host, taken loadedLibcuda, found bool, ml *facts.Library, failed *host.Errors) []facts.Compat {
	var list []facts.Compat
	seen := map[string]bool{}
	if lib := taken.toLibrary(); found && isCompat(h, lib, taken.real, ml) {
		seen[taken.real] = true
		c := facts.Compat{Name: lib.Name, Version: lib.Version, Path: lib.Path, Taken: true, Reason: taken.reason}
		failed.Add(readForwardNote(&c, h))
		list = append(list, c)
	}
	for _, dir := range h.Glob("/usr/local/cuda*/compat") {
		lib := driverLibrary(h, "libcuda", []string{dir}, new(host.Errors)) // a broken toolkit is the toolkits' to tell
		if lib == nil {
			continue
		}
		if real, err := h.Resolve(lib.Path); err != nil || seen[real] {
			continue
		} else {
			seen[real] = true
		}
		c := facts.Compat{Name: lib.Name, Version: lib.Version, Path: lib.Path}
		failed.Add(readForwardNote(&c, h))
		list = append(list, c)
	}
	return list
}

// isCompat distinguishes a cuda-compat libcuda from the driver's own. It is in a directory named compat, or outside the
// driver's directories with another version than the driver's libnvidia-ml, which no compat package contains.
func isCompat(h *host.Host, lib facts.Library, real string, ml *facts.Library) bool {
	dir := path.Dir(real)
	if inCompat(path.Dir(lib.Path)) || inCompat(dir) {
		return true
	}
	differs := ml != nil && ml.Version != "" && lib.Version != "" && ml.Version != lib.Version
	mounted := h.ContainerKind() != "" || len(h.Glob("/usr/local/cuda*/compat/libcuda.so."+lib.Version)) > 0
	return differs && (!slices.Contains(driverDirs, dir) || mounted)
}

// inCompat reports whether a file lies in a directory named compat.
func inCompat(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool {
		return strings.HasPrefix(part, "compat") || part == "cuda-compat"
	})
}

// readForwardNote adds what the library's ELF note says about forward compatibility.
func readForwardNote(c *facts.Compat, h *host.Host) error {
	f, err := h.Open(c.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	note, err := forwardNote(f)
	if err != nil {
		return host.Damaged(c.Path, err.Error())
	}
	if note != nil {
		c.Note, c.CUDA, c.Branches, c.Devices = true, note.CUDA, note.Driver, note.Device
	}
	return nil
}

// compatNote is the ELF note of a libcuda that may run on an older kernel-mode driver. 575.57.08 is the oldest release
// known to carry it; Debian's 535.261.03, 550.163.01 and 555.58.02 do not.
type compatNote struct {
	Format int    `json:"format"`
	CUDA   string `json:"CUDA version"`
	Driver []int  `json:"driver"` // none for Tegra's
	Device []int  `json:"device"`
}

const (
	noteSection = ".note.cuda.fwd_compatibility"
	noteOwner   = "NVIDIA Corporation"
	noteFormat  = 1       // the only one known
	noteCap     = 1 << 16 // of the section; those known have 140 bytes
)

// forwardNote reads the note of a libcuda, or returns nil if it has none.
func forwardNote(r io.ReaderAt) (*compatNote, error) {
	file, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("not an ELF file: %w", err)
	}
	s := file.Section(noteSection)
	if s == nil || s.Type != elf.SHT_NOTE {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(s.Open(), noteCap))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", noteSection, err)
	}
	return parseCompatNote(data, file.ByteOrder)
}

// parseCompatNote reads one ELF note: u32 length of the owner's name, u32 length of what follows, u32 type, the name
// and the rest, each padded to 4 bytes. Of libcuda.so.575.57.08 (nvidia-container-toolkit's testdata, d34b3046) the
// rest is
//
//	{"format":1,"CUDA version":"12.9","driver":[535,550,560,565,570,575],"device":[1,2,7,8,9,10,11,12,13,14]}
//
// Another owner's note gives nil and no error.
func parseCompatNote(data []byte, order binary.ByteOrder) (*compatNote, error) {
	const header = 12
	if len(data) < header {
		return nil, fmt.Errorf("%s is cut short", noteSection)
	}
	name, rest := uint64(order.Uint32(data)), uint64(order.Uint32(data[4:]))
	start := header + (name+3)&^3
	if start > uint64(len(data)) {
		return nil, fmt.Errorf("%s is cut short", noteSection)
	}
	end := min(start+rest, uint64(len(data))) // Orin's is cut by its padding, which NVIDIA's own reader forgives
	if string(bytes.TrimRight(data[header:header+name], "\x00")) != noteOwner {
		return nil, nil
	}
	var note compatNote
	if err := json.Unmarshal(bytes.TrimRight(data[start:end], "\x00"), &note); err != nil {
		return nil, fmt.Errorf("%s is not the JSON that it should be: %w", noteSection, err)
	}
	if note.Format != noteFormat {
		return nil, fmt.Errorf("%s has the unknown format %d", noteSection, note.Format)
	}
	return &note, nil
}
