package python

import (
	"bytes"
	"maps"
	"path"
	"slices"

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
