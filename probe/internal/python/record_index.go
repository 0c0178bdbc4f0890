package python

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// recordIndex is what a RECORD lists of sources and libraries, for whoever asks of many.
type recordIndex struct {
	tops    map[string]bool     // the first names of its files
	sources map[string]string   // sizes: "torch/version.py" has "293"
	modules map[string]string   // extension modules by what imports them: "vllm/_C" is "vllm/_C.abi3.so"
	named   map[string][]string // libraries by their file's name
}

// indexRecord reads the lines of a RECORD, "torch/version.py,sha256=…,293".
func indexRecord(record []byte) *recordIndex {
	x := &recordIndex{tops: map[string]bool{}, sources: map[string]string{}, modules: map[string]string{}, named: map[string][]string{}}
	var last []byte
	for line := range bytes.Lines(record) {
		if top := line[:max(bytes.IndexAny(line, "/.,"), 0)]; !bytes.Equal(top, last) && len(top) < 200 {
			last = top
			x.tops[string(top)] = true
		}
		if before, rest, ok := bytes.Cut(line, []byte(".py,")); ok {
			if _, size, ok := bytes.Cut(rest, []byte(",")); ok {
				x.sources[string(before)+".py"] = string(bytes.TrimSpace(size))
			}
			continue
		}
		if !bytes.Contains(line, []byte(".so")) {
			continue
		}
		name := recordedName(line)
		base := path.Base(name)
		x.named[base] = append(x.named[base], name)
		if stem, _, _ := strings.Cut(base, "."); strings.HasSuffix(name, ".so") {
			module := path.Join(path.Dir(name), stem)
			if x.modules[module] == "" {
				x.modules[module] = name
			}
		}
	}
	return x
}

// fileOf is the file of a module that the RECORD lists; empty where it lists none.
func (x *recordIndex) fileOf(module string) string {
	for _, source := range []string{module + ".py", module + "/__init__.py"} {
		if _, ok := x.sources[source]; ok {
			return source
		}
	}
	return x.modules[module]
}

// topModules are the modules and packages that it brings to the top of the import path.
func (x *recordIndex) topModules() []string {
	var list []string
	for name := range x.tops {
		if x.fileOf(name) != "" {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// hasLibraries reports whether a package of the top has libraries in it.
func (x *recordIndex) hasLibraries(top string) bool {
	for _, files := range x.named {
		if slices.ContainsFunc(files, func(file string) bool { return strings.HasPrefix(file, top+"/") }) {
			return true
		}
	}
	return false
}
