package matrix

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/pin"
)

// loader is what loads libraries before a package needs them: the loader then finds them by soname, wherever they lie.
func (b *build) loader() string {
	if b.Name == "onnxruntime-gpu" {
		return "onnxruntime.preload_dlls() or `import torch`"
	}
	return "`import torch`"
}

// withoutOpened: the libraries are in no place that anything could lead to. The severity is the package's: whether it
// raises, or goes on without the GPU (withoutLibraries).
func (m *machine) withoutOpened(b *build) Finding {
	severity, fails, source := b.without()
	f := Finding{Severity: severity, Subject: b.subject, Need: strings.Join(b.Missing, ", "), Source: []string{source},
		Steps: m.openSteps(b),
		Message: nowhereWords(b.Missing) + ", and no wheel or toolkit " +
			"has " + plural(len(b.Missing), "it", "them") + ": " + b.Name + " " + fails,
		Evidence: b.evidenceLost(b.Missing)}
	if len(b.unloadable(b.Missing)) > 0 {
		f.Message = b.lostWords(b.Missing) + ": " + b.Name + " " + fails
	}
	// All their wheels are installed and only files are gone: putting the files back is enough.
	if whole := !slices.ContainsFunc(b.Missing, func(s string) bool { return b.installed(s) == nil }); whole {
		f.Steps = nil
		b.putBack(&f, b.Missing)
	} else if b.jit { // numba-cuda names its compilers' wheels in an extra
		f.Steps, f.Pins = nil, b.withLibraries()
	}
	framework := m.frameworkOf(b)
	if framework != nil {
		f.Evidence = append(f.Evidence, framework.evidence()...)
	}
	// As CuPy, which an extra of Ray installs beside vLLM: nobody here asked for it.
	if framework != nil && b.PartOf != "" {
		f.Severity = Note
		f.Message += "; it was installed with " + b.PartOf + ", whose parts that need it fail"
	}
	return f
}

// bringsNone are the packages of which METADATA asks for no library of CUDA's, or only in an extra: wheels
// onnxruntime-gpu 1.18.0 and 1.23.2, ctranslate2 4.6.0.
var bringsNone = []string{"onnxruntime-gpu", "ctranslate2"}

// opens: a package that uses CUDA by itself finds a library nowhere. An error for what ends in an exception or asks for
// the GPU by its name; what goes on without it is a warning. Where a program may still be led to the files by
// LD_LIBRARY_PATH or by what it imports first, the answer is unknown.
func (m *machine) opens(b *build) []*result {
	switch {
	// What opens CUDA when a GPU is first used never opens it without one.
	case len(m.gpus) == 0 || m.shown.hidden:
		return nil
	case !b.Looked && slices.Contains(bringsNone, b.Name):
		return m.bare(b)
	case !b.Looked && m.withoutLibrariesOfCUDA(b):
		return b.lacksLibraries(fmt.Sprintf("where it finds its libraries of CUDA %d: none of their wheels is there or comes", b.cuda.Major()))
	case !b.Looked:
		return nil
	// At rest the environment of the process that will run is not known.
	case len(b.Missing) > 0 && m.f.System.Rest:
		return undecidable(b.subject, "the LD_LIBRARY_PATH of the process, which must lead to "+some(b.Missing))
	case len(b.Missing) > 0:
		return found(m.withoutOpened(b))
	case len(b.Beside) > 0 && b.opensByName() && !m.f.System.Rest && !m.lent(b):
		return found(m.notOnPath(b))
	// `import torch` loads the wheels' libraries by path, and the loader then finds them by soname.
	case len(b.Beside) > 0 && !b.opensLate() && m.lent(b):
		return holds(b.subject)
	case len(b.Beside) > 0:
		return unknown(b.subject, "whether the program loads "+some(b.Beside)+" first, as "+b.loader()+
			" may, or is led there by LD_LIBRARY_PATH")
	}
	return holds(b.subject)
}

// opensLate reports whether a package opens the libraries of CUDA when a GPU is first used; others need them on import.
func (b *build) opensLate() bool {
	return b.Name == "onnxruntime-gpu" || b.opensByName() || strings.HasPrefix(b.Name, "cupy-")
}

// opensByName reports whether a package gives the loader no more than a library's name, and looks nowhere itself.
func (b *build) opensByName() bool { return b.Name == "ctranslate2" || b.Name == "paddlepaddle-gpu" }

// lent reports whether a framework beside an extension loads the libraries of its CUDA family, once it is imported.
// The names that PaddlePaddle opens have no version, and so are not theirs.
func (m *machine) lent(b *build) bool {
	framework := m.frameworkOf(b)
	return framework != nil && framework.cuda.Major() == b.cuda.Major() && b.Name != "paddlepaddle-gpu"
}

// notOnPath: CTranslate2 and PaddlePaddle open cuBLAS only by its name. That a wheel or a toolkit has it does not help:
// nothing in them, or in faster-whisper, looks there. A framework of the same CUDA can lend CTranslate2 the library
// (lent), so beside one it is not said.
func (m *machine) notOnPath(b *build) Finding {
	var libraries, dirs []string
	for _, file := range b.Beside {
		libraries = append(libraries, path.Base(file))
		if dir := path.Dir(file); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	severity, fails, source := withoutLibraries(b.Name, libraries)
	f := Finding{Severity: severity, Subject: b.subject, Need: strings.Join(libraries, ", "), Source: []string{source},
		Message:  b.Beside[0] + " is not on the loader's path, and " + b.Name + " does not look there: it " + fails,
		Steps:    []pin.Step{pin.Run("export LD_LIBRARY_PATH=" + first(strings.Join(dirs, ":"))).That("before the program starts")},
		Evidence: b.evidence()}
	for _, file := range b.Beside {
		f.Evidence = append(f.Evidence, Evidence{Fact: path.Base(file), Value: "not on the loader's path", From: file})
	}
	return f
}
