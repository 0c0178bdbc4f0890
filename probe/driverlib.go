package probe

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// driverDirs is where the driver's user space is put: distributions, container runtimes, clouds, WSL, NixOS.
var driverDirs = []string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib64/nvidia",
	"/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/aarch64-linux-gnu/nvidia/current",
	"/usr/lib/wsl/lib", "/usr/lib64-nvidia", "/usr/local/nvidia/lib64", "/usr/local/nvidia/lib",
	"/.singularity.d/libs", "/run/opengl-driver/lib", "/home/kubernetes/bin/nvidia/lib64",
	"/run/nvidia/driver/usr/lib/x86_64-linux-gnu", "/run/nvidia/driver/usr/lib/aarch64-linux-gnu", "/run/nvidia/driver/usr/lib64",
}

// readDriverLibraries reads which driver the user-space libraries belong to, from the names their links end in, and
// which cuda-compat libraries there are. A compat libcuda that a container runtime has mounted over the driver's own
// says nothing of the driver.
func readDriverLibraries(h *Host, _ Options) (found, error) {
	var libraries []Library
	var failed errorList
	if ml := driverLibrary(h, "libnvidia-ml", driverDirs); ml != nil {
		libraries = append(libraries, *ml)
	}
	if own := driverLibrary(h, "libcuda", driverDirs); own != nil && !isCompat(*own, own.Path, libraries) {
		libraries = append([]Library{*own}, libraries...)
	}
	taken, ok, err := takenDriver(h)
	failed.add(err)
	compat := readCompat(h, taken, ok, libraries, &failed)
	if len(libraries)+len(compat)+len(failed) == 0 {
		return nil, errAbsent
	}
	return func(f *Facts) { f.Driver.Libraries, f.Driver.Compat = libraries, compat }, failed.err()
}

// driverLibrary finds name.so.1 in the first of dirs that has it; "stubs" directories are for link time only.
func driverLibrary(h *Host, name string, dirs []string) *Library {
	for _, dir := range dirs {
		link := path.Join(dir, name+".so.1")
		resolved, err := h.Resolve(link)
		if err != nil || path.Base(path.Dir(resolved)) == "stubs" {
			continue
		}
		return &Library{Name: name, Version: sonameVersion(resolved), Path: link}
	}
	return nil
}

var sonameSuffix = regexp.MustCompile(`\.so\.(\d+(?:\.\d+)+)$`)

// sonameVersion is what stands behind ".so." in a library's real name: "libcuda.so.535.183.01" is 535.183.01.
func sonameVersion(name string) string {
	if m := sonameSuffix.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}

func splitPath(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ":"), func(dir string) bool { return !strings.HasPrefix(dir, "/") })
}
