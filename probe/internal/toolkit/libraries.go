package toolkit

import (
	"path"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/libversion"
	"cudacompat/probe/internal/source"
)

// libraryDirs lists where NCCL and cuDNN are installed outside of Python: by packages, toolkits and AWS's images.
var libraryDirs = []string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/local/lib", "/usr/local/cuda/lib64",
	"/opt/nccl/build/lib",
}

// systemLibraries lists the libraries that are looked for there.
var systemLibraries = []struct{ name, pattern string }{
	{"nccl", "libnccl.so.2"},
	{"cudnn", "libcudnn.so.[789]"},
}

// ReadLibraries reads the versions of NCCL and cuDNN outside of Python environments, from libraries and headers.
func ReadLibraries(h *host.Host) (source.Update, error) {
	var libraries []facts.Library
	var failed host.Errors
	seen := map[string]bool{}
	for _, dir := range append(host.SplitPath(h.Var("LD_LIBRARY_PATH")), libraryDirs...) {
		for _, s := range systemLibraries {
			for _, name := range h.Glob(path.Join(dir, s.pattern)) {
				real, err := h.Resolve(name)
				failed.Add(err)
				if err != nil || seen[real] {
					continue
				}
				seen[real] = true
				version, err := readLibraryVersion(h, s.name, real)
				failed.Add(err)
				libraries = append(libraries, facts.Library{Name: s.name, Version: version, Path: name})
			}
		}
	}
	libraries = append(libraries, readHeaders(h, &failed)...)
	if len(libraries)+len(failed) == 0 {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Libraries = append(libraries, f.Libraries...) }, failed.Err()
}

// readLibraryVersion reads the version from the real file's name or, for NCCL, from its bytes.
func readLibraryVersion(h *host.Host, name, real string) (string, error) {
	if version := libversion.InName(real); version != "" || name != "nccl" {
		return version, nil
	}
	version, _, err := libversion.NCCL(h, real)
	return version, err
}

var (
	ncclDefines  = lazyregexp.New(`(?m)^#define NCCL_(?:MAJOR|MINOR|PATCH) (\d+)`)
	cudnnDefines = lazyregexp.New(`(?m)^#define CUDNN_(?:MAJOR|MINOR|PATCHLEVEL) (\d+)`)
)

// readHeaders reads the versions in development headers, which may come from another package than the library.
func readHeaders(h *host.Host, failed *host.Errors) []facts.Library {
	var libraries []facts.Library
	for _, s := range []struct {
		name, pattern string
		defines       *lazyregexp.Regexp
	}{
		{"nccl-header", "/usr/include/nccl.h", ncclDefines},
		{"cudnn-header", "/usr/include/cudnn_version.h", cudnnDefines},
		{"cudnn-header", "/usr/include/*-linux-gnu/cudnn_version_v[89].h", cudnnDefines},
		{"cudnn-header", "/usr/local/cuda/include/cudnn_version.h", cudnnDefines},
	} {
		for _, name := range h.Glob(s.pattern) {
			data, err := h.ReadFile(name)
			failed.Add(err)
			if version := parseDefines(data, s.defines); version != "" {
				libraries = append(libraries, facts.Library{Name: s.name, Version: version, Path: name})
			}
		}
	}
	return libraries
}

// parseDefines joins three lines such as "#define NCCL_MAJOR 2" into "2.21.5".
func parseDefines(data []byte, pattern *lazyregexp.Regexp) string {
	m := pattern.FindAllSubmatch(data, 3)
	if len(m) != 3 {
		return ""
	}
	return string(m[0][1]) + "." + string(m[1][1]) + "." + string(m[2][1])
}
