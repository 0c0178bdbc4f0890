package pyenv

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
)

// Site is one package directory and the distributions that stand in it.
type Site struct {
	Dir    string
	Path   []string      // all of the environment's, in the order of sys.path
	Here   []string      // the working directory, which comes first for what is started there; none of a tree at rest
	Python string        // the environment's version, empty where it is not known
	Torch  *TorchProcess // the environment's torch, which extensions are loaded into
	Conda  string        // the conda prefix it belongs to, else empty
	Dists  []facts.Package

	index *pydist.Index // of Path; see Index

	Required map[string]Requirements // by dist-info directory, of those that were asked for
	Whole    map[string]bool         // likewise: whether its libraries are as they were installed
}

// Index returns the distributions of the import path. The sites of one environment share it.
func (s *Site) Index(h *host.Host) *pydist.Index {
	if s.index == nil {
		path := s.Path
		if !slices.Contains(path, s.Dir) {
			path = append([]string{s.Dir}, path...)
		}
		s.index = pydist.NewIndex(h, path)
	}
	return s.index
}

// InWheels finds what Python would below nvidia/, which wheels in several directories share.
func (s *Site) InWheels(h *host.Host, pattern string) []string {
	var list []string
	for _, dir := range s.Path {
		list = append(list, h.GlobIn(dir, "nvidia/"+pattern)...)
	}
	return list
}

// Dist returns the site's distribution of that name, or nil.
func (s *Site) Dist(name string) *facts.Package {
	i := slices.IndexFunc(s.Dists, func(p facts.Package) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Dists[i]
}

// WheelOf returns the middle of the name of a library's wheel; nvidia-cuda-runtime-cu12 has libcudart.
func WheelOf(library string) string {
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

// familyDir matches the common directory of the CUDA wheels from 13 on, nvidia/cu13/lib.
var familyDir = lazyregexp.New(`^cu(\d+)/lib/`)

// WheelVersion returns the version of the wheel that has a file below nvidia/, and the CUDA family that it is for.
func (s *Site) WheelVersion(wheel, file string) (version, cuda string) {
	if m := familyDir.FindStringSubmatch(file); m != nil {
		if d := s.Dist("nvidia-" + wheel); d != nil {
			return d.Version, m[1]
		}
	}
	twins := s.Twins(wheel)
	if !strings.HasPrefix(file, strings.ReplaceAll(wheel, "-", "_")+"/") || len(twins) != 1 || twins[0].Overwritten {
		return "", ""
	}
	return twins[0].Version, twins[0].Name[strings.LastIndex(twins[0].Name, "-cu")+3:]
}

// WheelsOf returns the site's wheels of one CUDA library: its twins, or, from CUDA 13 on, the one without a suffix.
func (s *Site) WheelsOf(wheel string) []facts.Package {
	list := s.Twins(wheel)
	if d := s.Dist("nvidia-" + wheel); d != nil {
		list = append(list, *d)
	}
	return list
}

// Twins returns the site's wheels of one CUDA library, one for each CUDA family.
func (s *Site) Twins(library string) []facts.Package {
	var list []facts.Package
	for _, d := range s.Dists {
		if strings.HasPrefix(d.Name, "nvidia-"+library+"-cu") {
			list = append(list, d)
		}
	}
	return list
}

// NewSite returns one of a prefix's package directories. Only programs that this user starts find modules in the
// working directory, unless that is one of Python's own.
func NewSite(h *host.Host, p Prefix, dir string, index *pydist.Index) *Site {
	sites := index.Path
	s := &Site{Dir: dir, Path: sites, index: index, Python: p.Python, Conda: condaOf(p)}
	if here, err := h.Resolve(h.Var("PWD")); p.Started && err == nil && !slices.Contains(sites, here) {
		s.Here = []string{here}
	}
	return s
}

func Has(builds []facts.Build, name string) bool {
	return slices.ContainsFunc(builds, func(b facts.Build) bool { return b.Name == name })
}

// NotHidden leaves out the distributions that an earlier directory of the import path has too: Python imports that one.
func NotHidden(before, dists []facts.Package) []facts.Package {
	return slices.DeleteFunc(slices.Clone(dists), func(d facts.Package) bool {
		return slices.ContainsFunc(before, func(p facts.Package) bool { return p.Name == d.Name })
	})
}

// ManagedMark returns the marker file of PEP 668 in an installation, /usr/lib/python3.12/EXTERNALLY-MANAGED, or "".
func ManagedMark(h *host.Host, p Prefix) string {
	name := p.Path + "/lib/python" + version.ShortPython(p.Python) + "/EXTERNALLY-MANAGED"
	if p.Kind != "system" || !h.Exists(name) {
		return ""
	}
	return name
}

// condaOf returns the conda prefix that a prefix is, else empty.
func condaOf(p Prefix) string {
	if p.Kind == "conda" {
		return p.Path
	}
	return ""
}

// InfoOf returns the dist-info directory of a distribution on the import path, or "".
func (s *Site) InfoOf(h *host.Host, name string) string {
	if d := s.Index(h).Find(name); d != nil {
		return d.Path
	}
	return ""
}

// TorchProcess is an environment's torch, loaded in a process, into which extensions are then loaded. It is empty if
// there is none for CUDA or it does not load itself.
type TorchProcess struct {
	Build   *facts.Build
	Process *ldso.Process
	Python  bool // whether its libtorch_python.so is there, which `import torch` brings
}
