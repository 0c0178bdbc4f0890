package python

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// owners are the distributions of one directory by the libraries that their RECORDs list.
type owners map[string][]info

func (o owners) add(i info, libraries []string) {
	for _, name := range libraries {
		o[name] = append(o[name], i)
	}
}

// overwritten is that another distribution owns a library of a build's and was installed over it, as onnxruntime over
// onnxruntime-gpu: the file has the size that the other one's RECORD says.
func (o owners) overwritten(h *host.Host, s *site, b *facts.Build) []facts.Hindrance {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		list := o[name]
		if len(list) < 2 || !slices.ContainsFunc(list, func(i info) bool { return i.path() == b.Path }) {
			continue
		}
		size, err := h.Size(path.Join(s.dir, name))
		if err != nil || sizeIn(h, b.Path, name) == size {
			continue
		}
		i := slices.IndexFunc(list, func(i info) bool { return i.path() != b.Path && sizeIn(h, i.path(), name) == size })
		if i >= 0 {
			by := list[i]
			return []facts.Hindrance{{Kind: facts.HindranceOverwritten, Of: b.Name + " " + b.Version,
				Path: path.Join(s.dir, name), By: by.name + " " + by.version}}
		}
	}
	return nil
}

// displacedModules is that Python imports modules of a distribution without CUDA code in the place of a build's, as those of
// faiss-cpu beside faiss-gpu: it was installed over the build, or its module has the name that Python prefers.
func (s *site) displacedModules(h *host.Host, b *facts.Build, builds []facts.Build, infos []info) []facts.Hindrance {
	if len(b.Hindrances) > 0 || !strings.HasSuffix(b.From, "/RECORD") {
		return nil
	}
	record := h.ReadQuietly(b.From)
	for _, file := range s.replacedModules(h, b, record) {
		size, err := h.Size(path.Join(s.dir, file))
		if err != nil {
			continue
		}
		i := slices.IndexFunc(infos, func(i info) bool {
			return i.path() != b.Path && !has(builds, i.name) && sizeIn(h, i.path(), file) == size
		})
		if i >= 0 {
			return []facts.Hindrance{{Kind: facts.HindranceOverwritten, Of: b.Name + " " + b.Version,
				Path: path.Join(s.dir, file), By: infos[i].name + " " + infos[i].version}}
		}
	}
	return nil
}

// replacedModules are the files that Python takes for a build's modules and that are not as its RECORD has them: its
// packages' first files, and, for its extension modules, those for Python's stable interface, which come before
// "_swigfaiss.so".
func (s *site) replacedModules(h *host.Host, b *facts.Build, record []byte) []string {
	var list []string
	for _, name := range modulesIn(record) {
		file := name + "/__init__.py"
		size, err := h.Size(path.Join(s.dir, file))
		if own := sizeIn(h, b.Path, file); err == nil && own >= 0 && own != size {
			list = append(list, file)
		}
	}
	for m := range plainModule.EachSubmatch(record) {
		if file := string(m[1]) + ".abi3.so"; !isRecorded(h, b.Path, file) && h.Exists(path.Join(s.dir, file)) {
			list = append(list, file)
		}
	}
	return list
}

// plainModule matches an extension module of a RECORD whose name tells of no Python, "faiss/_swigfaiss.so".
var plainModule = lazyregexp.New(`(?m)^(\w+/\w+)\.so,`)

// sizeIn is the size that a distribution's RECORD says of a file; -1 where it does not list it.
func sizeIn(h *host.Host, info, file string) int64 {
	for line := range bytes.Lines(h.ReadQuietly(info + "/RECORD")) {
		if bytes.HasPrefix(line, []byte(file+",")) {
			_, size := recordedFile(line)
			return size
		}
	}
	return -1
}
