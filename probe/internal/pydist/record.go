package pydist

import (
	"bytes"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
)

// Record is the RECORD of a distribution: a line for each file, "torch/version.py,sha256=…,293".
type Record struct {
	data  []byte
	err   error
	index *FileIndex

	libraries *[]library // of its lines that have ".so" in them, once looked for
}

// library is a line of a file that may be a library.
type library struct {
	name []byte
	size int64
}

// File is one line of a RECORD.
type File struct {
	Name string // from the package directory on, "torch/version.py"
	Hash string // base64 without padding, of SHA-256; empty where the line has none
	Size int64  // -1 where the line tells none
}

// ParseRecord returns the record that a text is.
func ParseRecord(data []byte) *Record { return &Record{data: data} }

// Err tells why RECORD could not be read.
func (r *Record) Err() error { return r.err }

// Has reports whether the RECORD lists a file.
func (r *Record) Has(file string) bool { return r.HasPrefix(file + ",") }

// HasPrefix reports whether a line of the RECORD begins so.
func (r *Record) HasPrefix(beginning string) bool {
	_, ok := lineBeginning(r.data, beginning)
	return ok
}

// File returns the line of a file. ok is false if there is none.
func (r *Record) File(name string) (f File, ok bool) {
	rest, ok := lineBeginning(r.data, name+",")
	if !ok {
		return File{Name: name, Size: -1}, false
	}
	return parseLine([]byte(name + "," + string(rest))), true
}

// Files yields the lines in their order.
func (r *Record) Files() iter.Seq[File] {
	return func(yield func(File) bool) {
		for line := range bytes.Lines(r.data) {
			if f := parseLine(line); f.Name != "" && !yield(f) {
				return
			}
		}
	}
}

// lineBeginning returns the rest of the first line that begins so.
func lineBeginning(text []byte, with string) (rest []byte, found bool) {
	rest, found = bytes.CutPrefix(text, []byte(with))
	if !found {
		_, rest, found = bytes.Cut(text, []byte("\n"+with))
	}
	rest, _, _ = bytes.Cut(rest, []byte("\n"))
	return rest, found
}

// parseLine reads "xgboost/VERSION,sha256=MP9Q…,6". A name with a comma stands in quotes.
func parseLine(line []byte) File {
	text := strings.TrimSpace(string(line))
	name, rest, _ := strings.Cut(text, ",")
	if quoted, isQuoted := strings.CutPrefix(text, `"`); isQuoted {
		name, rest, _ = strings.Cut(quoted, `"`)
		rest = strings.TrimPrefix(rest, ",")
	}
	f := File{Name: name, Size: -1}
	hash, size, ok := strings.Cut(rest, ",")
	f.Hash, _ = strings.CutPrefix(hash, "sha256=")
	if n, err := strconv.ParseInt(strings.TrimSpace(size), 10, 64); ok && err == nil {
		f.Size = n
	}
	return f
}

// Libraries lists the files that are libraries and that worth accepts by name and size, such as
// "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so". RECORDs can have ten thousands of lines.
func (r *Record) Libraries(worth func(name []byte, size int64) bool) []string {
	if r.libraries == nil {
		found := r.findLibraries()
		r.libraries = &found
	}
	var list []string
	for _, l := range *r.libraries {
		if worth(l.name, l.size) {
			list = append(list, string(l.name))
		}
	}
	return list
}

// findLibraries finds the lines with ".so" in them and a size. Most RECORDs have none.
func (r *Record) findLibraries() []library {
	var list []library
	for at := 0; ; {
		i := bytes.Index(r.data[at:], []byte(".so"))
		if i < 0 {
			return list
		}
		line := r.data[bytes.LastIndexByte(r.data[:at+i], '\n')+1:]
		end := bytes.IndexByte(line, '\n')
		if end < 0 {
			end = len(line)
		}
		at = len(r.data) - len(line) + end
		name, rest, _ := bytes.Cut(line[:end], []byte(","))
		_, size, ok := bytes.Cut(rest, []byte(","))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(size)), 10, 64)
		if ok && err == nil && !bytes.HasPrefix(name, []byte("..")) && bytes.Contains(name, []byte(".so")) {
			list = append(list, library{name, n})
		}
	}
}

// AllLibraries lists every library.
func (r *Record) AllLibraries() []string {
	return r.Libraries(func(name []byte, _ int64) bool { return LibraryFile.Match(name) })
}

// HasLibrary reports whether a file of that name stands in a directory of the distribution.
func (r *Record) HasLibrary(base string) bool { return bytes.Contains(r.data, []byte("/"+base+",")) }

// LargeLibraries lists the libraries that are worth reading for CUDA code.
func (r *Record) LargeLibraries() []string { return r.Libraries(WorthReading) }

// plainModule matches an extension module without a Python version in its name, "faiss/_swigfaiss.so".
var plainModule = lazyregexp.New(`(?m)^(\w+/\w+)\.so,`)

// Modules lists the modules that the distribution brings to the top of the import path.
// One is a package, a source or an extension module: "xgboost/__init__.py,", "pkg.abi3.so,".
func (r *Record) Modules() []string {
	var list []string
	for line := range bytes.Lines(r.data) {
		file, _, ok := bytes.Cut(line, []byte(","))
		name := file[:max(bytes.IndexAny(file, "/."), 0)]
		if !ok || len(name) == 0 || !isWord(name) {
			continue
		}
		switch rest := string(file[len(name):]); {
		case rest == "/__init__.py", rest == ".py", rest == ".so", rest == ".abi3.so",
			strings.HasPrefix(rest, ".cpython-") && strings.HasSuffix(rest, ".so") && !strings.Contains(rest, "/"):
			list = append(list, string(name))
		}
	}
	return list
}

// isWord reports whether a name has letters, digits and underscores only.
func isWord(name []byte) bool {
	return !bytes.ContainsFunc(name, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// PlainModules lists the extension modules of top-level packages without a Python version in their names, without
// suffix.
func (r *Record) PlainModules() []string { return r.names(plainModule) }

// names returns the first match of a pattern in the lines of files at the top or one directory below. Matching the
// whole RECORD of torch, which has 15,000 lines, took a tenth of the time of a run.
func (r *Record) names(pattern *lazyregexp.Regexp) []string {
	var list []string
	for line := range bytes.Lines(r.data) {
		name, _, _ := bytes.Cut(line, []byte(","))
		if bytes.Count(name, []byte("/")) > 1 {
			continue
		}
		if m := pattern.FindSubmatch(line); m != nil {
			list = append(list, string(m[1]))
		}
	}
	return list
}

// Index returns the index of the RECORD, for whoever asks of many files.
func (r *Record) Index() *FileIndex {
	if r.index == nil {
		r.index = indexRecord(r.data)
	}
	return r.index
}

// FileIndex is what a RECORD lists of sources and libraries.
type FileIndex struct {
	Tops    map[string]bool     // the first names of its files
	Sources map[string]string   // sizes: "torch/version.py" has "293"
	Modules map[string]string   // extension modules by what imports them: "vllm/_C" is "vllm/_C.abi3.so"
	Named   map[string][]string // libraries by their file's name
}

func indexRecord(record []byte) *FileIndex {
	x := &FileIndex{Tops: map[string]bool{}, Sources: map[string]string{}, Modules: map[string]string{}, Named: map[string][]string{}}
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
		name := parseLine(line).Name
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

// FileOf returns the file of a module that the RECORD lists; empty where it lists none.
func (x *FileIndex) FileOf(module string) string {
	for _, source := range []string{module + ".py", module + "/__init__.py"} {
		if _, ok := x.Sources[source]; ok {
			return source
		}
	}
	return x.Modules[module]
}

// TopModules lists the modules and packages that the distribution brings to the top of the import path.
func (x *FileIndex) TopModules() []string {
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
func (x *FileIndex) HasLibraries(top string) bool {
	for _, files := range x.Named {
		if slices.ContainsFunc(files, func(file string) bool { return strings.HasPrefix(file, top+"/") }) {
			return true
		}
	}
	return false
}
