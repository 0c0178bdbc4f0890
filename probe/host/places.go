package host

import (
	"path"
	"slices"
)

// standardPath is where a tree at rest keeps its programs.
var standardPath = []string{"/usr/local/bin", "/usr/bin", "/bin"}

// OnPath returns the file that a shell would start for a name.
func (h *Host) OnPath(name string) string {
	dirs := SplitPath(h.Var("PATH"))
	if h.Rest && len(dirs) == 0 {
		dirs = standardPath
	}
	for _, dir := range dirs {
		if file := path.Join(dir, name); path.IsAbs(dir) && h.Exists(file) {
			return file
		}
	}
	return ""
}

// toolkitRoots is where toolkits are put: NVIDIA's packages, Arch, Debian, the HPC SDK.
var toolkitRoots = []string{
	"/usr/local/cuda", "/usr/local/cuda-*", "/opt/cuda", "/usr/lib/cuda", "/usr/lib/nvidia-cuda-toolkit",
	"/opt/nvidia/hpc_sdk/*/*/cuda/*.*",
}

// ToolkitPlaces returns the usual places, and what variables and PATH name.
func (h *Host) ToolkitPlaces(onPath string) []string {
	patterns := slices.Clone(toolkitRoots)
	for _, dir := range []string{h.Var("CUDA_HOME"), h.Var("CUDA_PATH"), h.Var("CONDA_PREFIX"), onPath} {
		if path.IsAbs(dir) {
			patterns = append(patterns, dir)
		}
	}
	return patterns
}

// NVCCRoot returns the root of the toolkit whose compiler `nvcc` starts, after following links, or "" if PATH has none.
func (h *Host) NVCCRoot() string {
	real, err := h.Resolve(h.OnPath("nvcc"))
	if err != nil || path.Base(real) != "nvcc" {
		return ""
	}
	return path.Dir(path.Dir(real))
}
