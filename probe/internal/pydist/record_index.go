package pydist

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// RecordIndex is what a RECORD lists of sources and libraries, for whoever asks of many.
type RecordIndex struct {
	Tops    map[string]bool     // the first names of its files
	Sources map[string]string   // sizes: "torch/version.py" has "293"
	Modules map[string]string   // extension modules by what imports them: "vllm/_C" is "vllm/_C.abi3.so"
	Named   map[string][]string // libraries by their file's name
}

// IndexRecord reads the lines of a RECORD, "torch/version.py,sha256=…,293".
func IndexRecord(record []byte) *RecordIndex {
	x := &RecordIndex{Tops: map[string]bool{}, Sources: map[string]string{}, Modules: map[string]string{}, Named: map[string][]string{}}
	var last []byte
	for line := range bytes.Lines(record) {
		if top := line[:max(bytes.IndexAny(line, "/.,"), 0)]; !bytes.Equal(top, last) && len(top) < 200 {
			last = top
			x.Tops[string(top)] = true
		}
		if before, rest, ok := bytes.Cut(line, []byte(".py,")); ok {
			if _, size, ok := bytes.Cut(rest, []byte(",")); ok {
				x.Sources[string(before)+".py"] = string(bytes.TrimSpace(size))
			}
			continue
		}
		if !bytes.Contains(line, []byte(".so")) {
			continue
		}
		name := RecordedName(line)
		base := path.Base(name)
		x.Named[base] = append(x.Named[base], name)
		if stem, _, _ := strings.Cut(base, "."); strings.HasSuffix(name, ".so") {
			module := path.Join(path.Dir(name), stem)
			if x.Modules[module] == "" {
				x.Modules[module] = name
			}
		}
	}
	return x
}

// FileOf is the file of a module that the RECORD lists; empty where it lists none.
func (x *RecordIndex) FileOf(module string) string {
	for _, source := range []string{module + ".py", module + "/__init__.py"} {
		if _, ok := x.Sources[source]; ok {
			return source
		}
	}
	return x.Modules[module]
}

// TopModules are the modules and packages that it brings to the top of the import path.
func (x *RecordIndex) TopModules() []string {
	var list []string
	for name := range x.Tops {
		if x.FileOf(name) != "" {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// HasLibraries reports whether a package of the top has libraries in it.
func (x *RecordIndex) HasLibraries(top string) bool {
	for _, files := range x.Named {
		if slices.ContainsFunc(files, func(file string) bool { return strings.HasPrefix(file, top+"/") }) {
			return true
		}
	}
	return false
}
