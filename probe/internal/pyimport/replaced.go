package pyimport

import (
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
)

// wheelLibrary matches the libraries of NVIDIA's wheels, "nvidia/nccl/lib/libnccl.so.2".
var wheelLibrary = lazyregexp.New(`^nvidia/\w+/lib/lib\S+?\.so[.\d]*$`)

// variantSuffix matches what names of distributions of one project differ in: "nvidia-nccl-cu12", "cupy-cuda13x", "tensorflow-gpu".
var variantSuffix = lazyregexp.New(`(-(gpu|cpu|cpu-aws|rocm|intel))?(-cu(da)?\d+x?)?$`)

// MarkReplaced returns the libraries whose files several of a site's distributions own, by their RECORDs: of one project, under
// names for several CUDA families. The one installed last has won. It marks NVIDIA's wheels whose files are another one's.
func MarkReplaced(s *pyenv.Site, h *host.Host) []facts.Shared {
	var projects []string
	groups := map[string][]*facts.Package{}
	for i := range s.Dists {
		project := variantSuffix.ReplaceAllString(s.Dists[i].Name, "")
		if len(groups[project]) == 0 {
			projects = append(projects, project)
		}
		groups[project] = append(groups[project], &s.Dists[i])
	}
	shared := []facts.Shared{}
	for _, project := range projects {
		list := owners(s, h, groups[project])
		if len(list) == 0 {
			continue
		}
		one := facts.Shared{Library: strings.TrimPrefix(project, "nvidia-")}
		for _, p := range list {
			one.Packages = append(one.Packages, p.Name)
			if strings.HasPrefix(p.Name, "nvidia-") {
				markReplaced(s, h, p)
			}
		}
		shared = append(shared, one)
	}
	return shared
}

// owners returns the distributions among some that list a library, or a package's first file, that another of them
// lists, too.
func owners(s *pyenv.Site, h *host.Host, list []*facts.Package) []*facts.Package {
	if len(list) < 2 {
		return nil
	}
	index := s.Index(h)
	shares := func(p, o *facts.Package) bool {
		record, other := index.At(p.Path).Record(), index.At(o.Path).Record()
		if record.Err() != nil || other.Err() != nil { // what cannot be compared may be the same
			return strings.HasPrefix(p.Name, "nvidia-")
		}
		return slices.ContainsFunc(record.AllLibraries(), other.Has) || slices.ContainsFunc(record.Modules(), func(module string) bool {
			return other.Has(module + "/__init__.py")
		})
	}
	return slices.DeleteFunc(slices.Clone(list), func(p *facts.Package) bool {
		return !slices.ContainsFunc(list, func(o *facts.Package) bool { return o != p && shares(p, o) })
	})
}

// markReplaced compares the libraries of one of NVIDIA's wheels with its RECORD.
func markReplaced(s *pyenv.Site, h *host.Host, p *facts.Package) {
	index := s.Index(h)
	d := index.At(p.Path)
	libraries := d.Record().Libraries(func(name []byte, _ int64) bool { return wheelLibrary.Match(name) })
	for _, file := range libraries {
		if p.Altered = index.Explain(d, file); p.Altered != "" {
			p.Overwritten, p.Replaced = true, index.Replaced(d, libraries)
			return
		}
	}
}

// ReplacedFiles records that another distribution was installed over a build, as onnxruntime over onnxruntime-gpu: one
// of the libraries, or a module that Python imports, belongs to the other one. builds are those of the environment;
// their modules do not count.
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
