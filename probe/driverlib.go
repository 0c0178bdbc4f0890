package probe

import (
	"bufio"
	"bytes"
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

// readDriverLibraries reads which driver the user-space libraries belong to, from the names their links end in.
func readDriverLibraries(h *Host, _ Options) (found, error) {
	preferred := splitPath(h.Var("LD_LIBRARY_PATH"))
	configured := append(slices.Clone(preferred), loaderDirs(h)...)
	var libraries, compat []Library
	for _, name := range []string{"libcuda", "libnvidia-ml"} {
		if lib := driverLibrary(h, name, driverDirs); lib != nil {
			libraries = append(libraries, *lib)
		}
	}
	for _, dir := range configured {
		if lib := driverLibrary(h, "libcuda", []string{dir}); lib != nil && isCompat(*lib, libraries) {
			compat = append(compat, *lib)
		}
	}
	if len(libraries)+len(compat) == 0 {
		return nil, errAbsent
	}
	return func(f *Facts) { f.Driver.Libraries, f.Driver.Compat = libraries, compat }, nil
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

// isCompat tells a cuda-compat libcuda from the driver's own: it stands in a directory of that name, or it carries
// another version than the driver's libraries do.
func isCompat(lib Library, own []Library) bool {
	if strings.Contains(path.Dir(lib.Path), "compat") {
		return true
	}
	for _, o := range own {
		if o.Name == "libnvidia-ml" && o.Version != "" && lib.Version != "" {
			return o.Version != lib.Version
		}
	}
	return false
}

// loaderDirs lists the directories of /etc/ld.so.conf and the files that it includes.
func loaderDirs(h *Host) []string {
	names := append([]string{"/etc/ld.so.conf"}, h.Glob("/etc/ld.so.conf.d/*.conf")...)
	var dirs []string
	for _, name := range names {
		data, err := h.ReadFile(name)
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		for lines.Scan() {
			line, _, _ := strings.Cut(lines.Text(), "#")
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") {
				dirs = append(dirs, line)
			}
		}
	}
	return dirs
}

func splitPath(list string) []string {
	return slices.DeleteFunc(strings.Split(list, ":"), func(dir string) bool { return !strings.HasPrefix(dir, "/") })
}
