package pyimport

import (
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
)

// sharedLibrary matches the wheels whose CUDA families own the same files.
var sharedLibrary = lazyregexp.New(`^nvidia-(nccl|cudnn|nvshmem|cusparselt)-cu\d+$`)

// wheelLibrary matches the libraries of NVIDIA's wheels, "nvidia/nccl/lib/libnccl.so.2".
var wheelLibrary = lazyregexp.New(`^nvidia/\w+/lib/lib\S+?\.so[.\d]*$`)

// MarkReplaced compares the wheels of one library in two CUDA families with their RECORDs: both own one path, and the one
// installed last has won.
func MarkReplaced(s *pyenv.Site, h *host.Host) {
	index := s.Index(h)
	for i := range s.Dists {
		p := &s.Dists[i]
		m := sharedLibrary.FindStringSubmatch(p.Name)
		if m == nil || len(s.Twins(m[1])) < 2 {
			continue
		}
		d := index.At(p.Path)
		libraries := d.Record().Libraries(func(name []byte, _ int64) bool { return wheelLibrary.Match(name) })
		for _, file := range libraries {
			if p.Altered = index.Explain(d, file); p.Altered != "" {
				p.Overwritten = true
				p.Replaced = index.Replaced(d, libraries)
				break
			}
		}
	}
}

// ReplacedFiles notes that another distribution was installed over a build, as onnxruntime over onnxruntime-gpu: one of
// the libraries, or a module that Python imports, is the other one's. builds are those of the environment; a module of one
// of these says nothing.
func ReplacedFiles(s *pyenv.Site, h *host.Host, b *facts.Build, libraries []string, builds []facts.Build) {
	d := s.Index(h).At(b.Path)
	found := s.Index(h).Replaced(d, libraries)
	if found == nil && len(b.Hindrances) == 0 && strings.HasSuffix(b.From, "/RECORD") {
		found = replacedModule(s, h, d, builds)
	}
	if found != nil {
		b.Hindrances = append(b.Hindrances, facts.Hindrance{Kind: facts.HindranceOverwritten, Of: b.Name + " " + b.Version,
			Path: found.File, By: found.By})
	}
}

// replacedModule returns the first module that Python takes for one of a distribution's and that is another
// distribution's without CUDA code: a package's first file, or an extension module for Python's stable interface, which
// comes before "_swigfaiss.so".
func replacedModule(s *pyenv.Site, h *host.Host, d *pydist.Distribution, builds []facts.Build) *facts.Replaced {
	index := s.Index(h)
	for _, name := range d.Record().Modules() {
		by := index.Intact(d, name+"/__init__.py").By
		if by != nil && !pyenv.Has(builds, by.Name) {
			return &facts.Replaced{By: by.String(), File: path.Join(d.Dir(), name, "__init__.py")}
		}
	}
	for _, name := range d.Record().PlainModules() {
		file := name + ".abi3.so"
		full := path.Join(d.Dir(), file)
		if d.Record().Has(file) || !h.Exists(full) {
			continue
		}
		if by := index.Owner(full); by != nil && by != d && !pyenv.Has(builds, by.Name) {
			return &facts.Replaced{By: by.String(), File: full}
		}
	}
	return nil
}
