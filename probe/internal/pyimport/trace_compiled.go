package pyimport

import (
	"bytes"
	"io"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pyenv"
)

// The imports of an extension module are in no source. Two kinds show in its constants: Cython's modules import the
// modules whose C functions they use when they are loaded, and NumPy's C API comes from NumPy's module.

// fromCompiled follows what an extension module that is loaded imports by itself.
func (w *importTracer) fromCompiled(dir, name string, certain bool) {
	file := path.Join(dir, name)
	if certain && w.lacksNumPy(name) && bytes.Contains(constantsOf(w.h, file), numpyCAPI) {
		w.noteOther("numpy", nil, file)
	}
	if len(w.injured) == 0 {
		return
	}
	constants := constantsOf(w.h, file)
	for _, module := range w.cImports(constants) {
		w.module(module, nil, file, certain)
	}
	w.unreadable = w.unreadable || hidesNames(constants, name)
	if certain {
		w.noteNamed(constants)
	}
}

// hidesNames reports whether a Cython extension module imports C functions of other modules without naming any: Cython
// 3.2 compresses its constants. A name that begins with the module's own belongs to a class or function.
func hidesNames(constants []byte, name string) bool {
	if !bytes.Contains(constants, cFunction) {
		return false
	}
	own := []byte(strings.ReplaceAll(moduleOf(name), "/", "."))
	top, _, _ := bytes.Cut(own, []byte("."))
	for text := range bytes.SplitSeq(constants, []byte{0}) {
		if bytes.HasPrefix(text, append(top, '.')) && !bytes.HasPrefix(text, own) && dottedName.Match(text) {
			return false
		}
	}
	return true
}

// noteNamed records a damaged module whose name is in the constants of a loaded module: C code imports such modules,
// NumPy's when it is loaded and others later.
func (w *importTracer) noteNamed(constants []byte) {
	constants = append([]byte{0}, constants...)
	for _, i := range w.injured {
		d := w.s.Index(w.h).At(i.info)
		for _, one := range i.damaged {
			name := strings.ReplaceAll(strings.TrimSuffix(moduleOf(one.Name), "/__init__"), "/", ".")
			if w.doubtful != nil || !strings.Contains(name, ".") || !bytes.Contains(constants, []byte("\x00"+name+"\x00")) {
				continue
			}
			if reason := damageOf(w.s, w.h, d, one); reason != "" {
				w.doubt(facts.Hindrance{Of: d.String(), Path: path.Join(d.Dir(), one.Name), By: reason})
			}
		}
	}
}

// numpyCAPI is in what NumPy's headers compile to if a module takes the C API when it is loaded (import_array). Modules
// of pybind11 take it at first use and do not contain this.
var numpyCAPI = []byte("_ARRAY_API is NULL pointer")

// lacksNumPy reports whether the distribution that lists a file requires NumPy and does not have it. One that does not
// require it, such as torch, uses its C API if it is there.
func (w *importTracer) lacksNumPy(name string) bool {
	return slices.ContainsFunc(w.unmet, func(u pyenv.Unmet) bool {
		return u.Name == "numpy" && u.Have == "" && w.s.Index(w.h).At(u.By).Record().Has(name)
	})
}

// cFunction is in what Cython makes of a module that imports C functions of another, "%.200s does not export expected C
// function %.200s".
var cFunction = []byte(" does not export expected C ")

// dottedName matches the whole name of a module among the constants.
var dottedName = lazyregexp.New(`^[A-Za-z_]\w*(?:\.\w+)+$`)

// cImports returns the modules named in the constants of a Cython extension module that imports C functions: those that
// were extension modules in one of the examined distributions.
func (w *importTracer) cImports(constants []byte) []string {
	if !bytes.Contains(constants, cFunction) {
		return nil
	}
	var list []string
	for text := range bytes.SplitSeq(constants, []byte{0}) {
		if len(text) > 200 || bytes.IndexByte(text, '.') < 0 || !dottedName.Match(text) {
			continue
		}
		module := strings.ReplaceAll(string(text), ".", "/")
		if slices.ContainsFunc(w.injured, func(i injuredDistribution) bool { return i.record.Modules[module] != "" }) {
			list = append(list, string(text))
		}
	}
	return list
}

// maxConstants limits what is read of a module's constants, in bytes. Those of ONNX Runtime have 4 MB.
const maxConstants = 16 << 20

// constantsOf reads the constants of a library; none of what cannot be read.
func constantsOf(h *host.Host, file string) []byte {
	f, err := h.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	r, err := host.Constants(f)
	if err != nil {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(r, maxConstants))
	return data
}
