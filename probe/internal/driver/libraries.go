package driver

import (
	"debug/elf"
	"errors"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/libversion"
	"cudacompat/probe/internal/source"
)

// driverDirs lists where the driver's user-space libraries are installed by distributions, container runtimes, clouds,
// WSL, NixOS and Bottlerocket.
var driverDirs = []string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib64/nvidia",
	"/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/aarch64-linux-gnu/nvidia/current",
	"/usr/lib/aarch64-linux-gnu/nvidia", "/usr/lib/aarch64-linux-gnu/tegra",
	"/usr/lib/wsl/lib", "/usr/lib64-nvidia", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib",
	"/.singularity.d/libs", "/run/opengl-driver/lib", "/usr/lib/nvidia/tesla", "/home/kubernetes/bin/nvidia/lib64",
	"/run/nvidia/driver/usr/lib/x86_64-linux-gnu", "/run/nvidia/driver/usr/lib/aarch64-linux-gnu",
	"/run/nvidia/driver/usr/lib64",
}

// ReadLibraries reads the driver version of the libraries from the names that their links end in, and lists the
// cuda-compat libraries. The loader's own directories come before the usual places. A compat libcuda says nothing about
// the driver.
func ReadLibraries(h *host.Host) (source.Update, error) {
	var failed host.Errors
	paths, _ := h.LibraryPath()
	dirs := slices.Concat(host.SplitPath(paths), loaderDirs(h, &failed), driverDirs)
	ml := driverLibrary(h, "libnvidia-ml", dirs, &failed)
	var libraries []facts.Library
	if own := ownLibrary(h, "libcuda", dirs, ml, &failed); own != nil {
		libraries = append(libraries, *own)
	}
	if ml != nil {
		libraries = append(libraries, *ml)
	}
	if jit := ownLibrary(h, "libnvidia-ptxjitcompiler", dirs, ml, &failed); jit != nil {
		libraries = append(libraries, *jit)
	}
	taken, err := findLibcuda(h)
	ok := err == nil
	if !errors.Is(err, ldso.ErrNotFound) {
		failed.Add(err)
	}
	libcuda := readLibcuda(h, taken, err, ml)
	compat := readCompat(h, taken, ok, ml, &failed)
	stub := ok && taken.isStub(h)
	apply := func(f *facts.Facts) {
		f.Driver.Libraries, f.Driver.Compat, f.Driver.Stub = libraries, compat, stub
		f.Driver.Taken, f.Driver.Libcuda = taken.toFact(), libcuda
	}
	if len(libraries)+len(compat)+len(failed) == 0 && !ok {
		return apply, host.ErrAbsent
	}
	return apply, failed.Err()
}

// ownLibrary finds the driver's own library in the first of dirs that has one outside of cuda-compat packages.
func ownLibrary(h *host.Host, name string, dirs []string, ml *facts.Library, failed *host.Errors) *facts.Library {
	for _, dir := range dirs {
		lib := driverLibrary(h, name, []string{dir}, failed)
		if lib == nil {
			continue
		}
		real, err := h.Resolve(lib.Path)
		if err == nil && !isCompat(h, *lib, real, ml) {
			return lib
		}
	}
	return nil
}

// driverLibrary finds name.so.1 in the first of dirs that has it. It skips "stubs" directories, which are for link
// time, and 32-bit libraries. The version is empty for Jetson's libcuda.so.1.1 and WSL's files, whose names have none.
func driverLibrary(h *host.Host, name string, dirs []string, failed *host.Errors) *facts.Library {
	for _, dir := range dirs {
		link := path.Join(dir, name+".so.1")
		resolved, err := h.Resolve(link)
		failed.Add(err)
		if err != nil || path.Base(path.Dir(resolved)) == "stubs" || is32Bit(h, resolved) {
			continue
		}
		lib := &facts.Library{Name: name, Path: link}
		if version := libversion.InName(resolved); libversion.Driver.MatchString(version) {
			lib.Version = version
		}
		return lib
	}
	return nil
}

// is32Bit reports whether a file is a 32-bit ELF file.
func is32Bit(h *host.Host, name string) bool {
	f, err := h.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var ident [elf.EI_CLASS + 1]byte
	_, err = f.ReadAt(ident[:], 0)
	return err == nil && string(ident[:4]) == elf.ELFMAG && elf.Class(ident[elf.EI_CLASS]) == elf.ELFCLASS32
}

// loaderDirs lists the directories in /etc/ld.so.conf and the files that it includes, each once.
func loaderDirs(h *host.Host, failed *host.Errors) []string {
	names := append([]string{"/etc/ld.so.conf"}, h.Glob("/etc/ld.so.conf.d/*.conf")...)
	var dirs []string
	seen := map[string]bool{}
	for _, name := range names {
		data, err := h.ReadFile(name)
		failed.Add(err)
		for line := range strings.Lines(string(data)) {
			line, _, _ = strings.Cut(line, "#")
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") && !seen[line] {
				seen[line] = true
				dirs = append(dirs, line)
			}
		}
	}
	return dirs
}
