package python

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// site is one package directory and the distributions that stand in it.
type site struct {
	dir    string
	path   []string      // all of the environment's, in the order of sys.path
	here   []string      // the working directory, which comes first for what is started there; none of a tree at rest
	python string        // the environment's version, empty where it is not known
	torch  *torchProcess // the environment's torch, which extensions are loaded into
	conda  string        // the conda prefix it belongs to, else empty
	dists  []facts.Package

	required map[string]requirements // by dist-info directory, of those that were asked for
	whole    map[string]bool         // likewise: whether its libraries are as they were installed
}

// inWheels finds what Python would below nvidia/, which wheels in several directories share.
func (s *site) inWheels(h *host.Host, pattern string) []string {
	var list []string
	for _, dir := range s.path {
		list = append(list, h.GlobIn(dir, "nvidia/"+pattern)...)
	}
	return list
}

// dist returns the site's distribution of that name, or nil.
func (s *site) dist(name string) *facts.Package {
	i := slices.IndexFunc(s.dists, func(p facts.Package) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &s.dists[i]
}

// wheelOf is the middle of the name of a library's wheel; nvidia-cuda-runtime-cu12 has libcudart.
func wheelOf(library string) string {
	switch library {
	case "cudart":
		return "cuda-runtime"
	case "nvrtc":
		return "cuda-nvrtc"
	case "cublasLt":
		return "cublas"
	case "cupti":
		return "cuda-cupti"
	case "nvJitLink", "cusparseLt":
		return strings.ToLower(library)
	case "nvshmem_host":
		return "nvshmem"
	}
	return library
}

// familyDir is where the wheels of a CUDA family from 13 on put their libraries together, nvidia/cu13/lib.
var familyDir = lazyregexp.New(`^cu(\d+)/lib/`)

// wheelVersion is the version of the wheel that has a file below nvidia/, and the CUDA family that it is for.
func (s *site) wheelVersion(wheel, file string) (version, cuda string) {
	if m := familyDir.FindStringSubmatch(file); m != nil {
		if d := s.dist("nvidia-" + wheel); d != nil {
			return d.Version, m[1]
		}
	}
	twins := s.twins(wheel)
	if !strings.HasPrefix(file, strings.ReplaceAll(wheel, "-", "_")+"/") || len(twins) != 1 || twins[0].Overwritten {
		return "", ""
	}
	return twins[0].Version, twins[0].Name[strings.LastIndex(twins[0].Name, "-cu")+3:]
}

// wheelsOf are the site's wheels of one CUDA library: its twins, or, from CUDA 13 on, the one without a suffix.
func (s *site) wheelsOf(wheel string) []facts.Package {
	list := s.twins(wheel)
	if d := s.dist("nvidia-" + wheel); d != nil {
		list = append(list, *d)
	}
	return list
}

// twins are the site's wheels of one CUDA library, one for each CUDA family.
func (s *site) twins(library string) []facts.Package {
	var list []facts.Package
	for _, d := range s.dists {
		if strings.HasPrefix(d.Name, "nvidia-"+library+"-cu") {
			list = append(list, d)
		}
	}
	return list
}
