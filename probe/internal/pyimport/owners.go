package pyimport

import (
	"maps"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
)

// Owners are the distributions of one directory by the libraries that their RECORDs list.
type Owners map[string][]pydist.Info

func (o Owners) Add(i pydist.Info, libraries []string) {
	for _, name := range libraries {
		o[name] = append(o[name], i)
	}
}

// Overwritten is that another distribution owns a library of a build's and was installed over it, as onnxruntime over
// onnxruntime-gpu: the file has the size that the other one's RECORD says.
func (o Owners) Overwritten(h *host.Host, s *pyenv.Site, b *facts.Build) []facts.Hindrance {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		list := o[name]
		if len(list) < 2 || !slices.ContainsFunc(list, func(i pydist.Info) bool { return i.Path() == b.Path }) {
			continue
		}
		size, err := h.Size(path.Join(s.Dir, name))
		if err != nil || pydist.SizeIn(h, b.Path, name) == size {
			continue
		}
		i := slices.IndexFunc(list, func(i pydist.Info) bool { return i.Path() != b.Path && pydist.SizeIn(h, i.Path(), name) == size })
		if i >= 0 {
			by := list[i]
			return []facts.Hindrance{{Kind: facts.HindranceOverwritten, Of: b.Name + " " + b.Version,
				Path: path.Join(s.Dir, name), By: by.Name + " " + by.Version}}
		}
	}
	return nil
}

// DisplacedModules is that Python imports modules of a distribution without CUDA code in the place of a build's, as those of
// faiss-cpu beside faiss-gpu: it was installed over the build, or its module has the name that Python prefers.
func DisplacedModules(s *pyenv.Site, h *host.Host, b *facts.Build, builds []facts.Build, infos []pydist.Info) []facts.Hindrance {
	if len(b.Hindrances) > 0 || !strings.HasSuffix(b.From, "/RECORD") {
		return nil
	}
	record := h.ReadQuietly(b.From)
	for _, file := range replacedModules(s, h, b, record) {
		size, err := h.Size(path.Join(s.Dir, file))
		if err != nil {
			continue
		}
		i := slices.IndexFunc(infos, func(i pydist.Info) bool {
			return i.Path() != b.Path && !pyenv.Has(builds, i.Name) && pydist.SizeIn(h, i.Path(), file) == size
		})
		if i >= 0 {
			return []facts.Hindrance{{Kind: facts.HindranceOverwritten, Of: b.Name + " " + b.Version,
				Path: path.Join(s.Dir, file), By: infos[i].Name + " " + infos[i].Version}}
		}
	}
	return nil
}

// replacedModules are the files that Python takes for a build's modules and that are not as its RECORD has them: its
// packages' first files, and, for its extension modules, those for Python's stable interface, which come before
// "_swigfaiss.so".
func replacedModules(s *pyenv.Site, h *host.Host, b *facts.Build, record []byte) []string {
	var list []string
	for _, name := range pydist.ModulesIn(record) {
		file := name + "/__init__.py"
		size, err := h.Size(path.Join(s.Dir, file))
		if own := pydist.SizeIn(h, b.Path, file); err == nil && own >= 0 && own != size {
			list = append(list, file)
		}
	}
	for m := range plainModule.EachSubmatch(record) {
		if file := string(m[1]) + ".abi3.so"; !pydist.IsRecorded(h, b.Path, file) && h.Exists(path.Join(s.Dir, file)) {
			list = append(list, file)
		}
	}
	return list
}

// plainModule matches an extension module of a RECORD whose name tells of no Python, "faiss/_swigfaiss.so".
var plainModule = lazyregexp.New(`(?m)^(\w+/\w+)\.so,`)
