// Package toolkit reads the CUDA toolkits and the compilers of this root, and the NCCL and cuDNN installed outside of
// Python.
package toolkit

import (
	"encoding/json"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/libversion"
	"cudacompat/probe/internal/source"
)

// Read finds the CUDA toolkits on disk and reads their versions.
func Read(h *host.Host) (source.Update, error) {
	onPath := h.NVCCRoot()
	var toolkits []facts.Toolkit
	var failed host.Errors
	seen := map[string]bool{}
	for _, pattern := range h.ToolkitPlaces(onPath) {
		for _, root := range h.Glob(pattern) {
			real, err := h.Resolve(root)
			failed.Add(err)
			if err != nil || seen[real] {
				continue
			}
			seen[real] = true
			if t, ok := toolkitAt(h, root, &failed); ok {
				t.OnPath = real == onPath
				toolkits = append(toolkits, t)
			}
		}
	}
	if len(toolkits)+len(failed) == 0 {
		return nil, host.ErrAbsent
	}
	return func(f *facts.Facts) { f.Toolkits = toolkits }, failed.Err()
}

// toolkitAt reads the version of a toolkit from its files, the most exact one first.
func toolkitAt(h *host.Host, root string, failed *host.Errors) (facts.Toolkit, bool) {
	for _, s := range []struct {
		pattern string
		parse   func([]byte) string
	}{
		{"version.json", parseVersionJSON},
		{"version.txt", parseVersionTxt},
		{"include/cuda.h", parseCUDAHeader},
		{"targets/*/include/cuda.h", parseCUDAHeader},
	} {
		for _, name := range h.GlobIn(root, s.pattern) {
			data, err := h.ReadFile(name)
			version := s.parse(data)
			if version != "" {
				return addCompiler(h, facts.Toolkit{Version: version, Path: root, From: name}), true
			}
			if err == nil {
				err = host.Damaged(name, "no CUDA version in it")
			}
			failed.Add(err)
		}
	}
	return toolkitByCudart(h, root)
}

// addCompiler adds nvcc and the newest gcc that the toolkit's headers accept.
func addCompiler(h *host.Host, t facts.Toolkit) facts.Toolkit {
	t.NVCC = h.Exists(t.Path + "/bin/nvcc")
	for _, pattern := range []string{"include/crt/host_config.h", "targets/*/include/crt/host_config.h"} {
		for _, name := range h.GlobIn(t.Path, pattern) {
			if t.GCC == "" {
				t.GCC = parseHostConfig(h.ReadQuietly(name))
			}
		}
	}
	return t
}

var newestGCC = lazyregexp.New(`gcc versions later than (\d+) are not supported`)

// parseHostConfig parses the limit in crt/host_config.h: "#error -- unsupported GNU version! gcc versions later than 13
// are not supported! The nvcc flag …".
func parseHostConfig(data []byte) string {
	if m := newestGCC.FindSubmatch(data); m != nil {
		return string(m[1])
	}
	return ""
}

// toolkitByCudart reads the toolkit of a runtime-only image from libcudart.so.12.4.127, which means CUDA 12.4. The
// third part is the component's build, not the toolkit's release.
func toolkitByCudart(h *host.Host, root string) (facts.Toolkit, bool) {
	for _, pattern := range []string{"lib64/libcudart.so.*.*.*", "lib/libcudart.so.*.*.*",
		"targets/*/lib/libcudart.so.*.*.*"} {
		for _, name := range h.GlobIn(root, pattern) {
			if parts := strings.SplitN(libversion.InName(name), ".", 3); len(parts) == 3 {
				return addCompiler(h, facts.Toolkit{Version: parts[0] + "." + parts[1], Path: root, From: name}), true
			}
		}
	}
	return facts.Toolkit{}, false
}

var toolkitVersion = lazyregexp.New(`^(\d+\.\d+)(?:\.(\d+))?`)

var threeParts = lazyregexp.New(`^(\d+\.\d+)\.(\d+)`)

// parseVersionJSON parses {"cuda":{"name":"CUDA SDK","version":"12.4.1"}, …}. Some releases have a date as the third
// part (11.8.20220929); then only the first two parts count.
func parseVersionJSON(data []byte) string {
	var v struct{ CUDA struct{ Version string } }
	if json.Unmarshal(data, &v) != nil {
		return ""
	}
	m := toolkitVersion.FindStringSubmatch(v.CUDA.Version)
	if m == nil {
		return ""
	}
	if len(m[2]) > 3 {
		return m[1]
	}
	return m[0]
}

// parseVersionTxt parses "CUDA Version 10.2.89", the format up to CUDA 11.0.
func parseVersionTxt(data []byte) string {
	rest, ok := strings.CutPrefix(string(data), "CUDA Version ")
	if !ok {
		return ""
	}
	return threeParts.FindString(rest)
}

var cudaVersionDefine = lazyregexp.New(`(?m)^#define[ \t]+CUDA_VERSION[ \t]+(\d+)\b`)

// parseCUDAHeader parses "#define CUDA_VERSION 12040" of cuda.h.
func parseCUDAHeader(data []byte) string {
	m := cudaVersionDefine.FindSubmatch(data)
	if m == nil {
		return ""
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return ""
	}
	return libversion.CUDA(n)
}
