package matrix

import (
	"slices"
	"strings"
)

// opens: a package that uses CUDA by itself finds a library nowhere. RULES' row of extension-mismatch, an error for
// what is built for another CUDA, is for those that end in an exception; what goes on without the GPU is a warning.
func (m *machine) opens(b *build) []*result {
	switch {
	case !b.Looked || len(m.gpus) == 0 || m.shown.hidden:
		return nil
	case len(b.Missing) > 0 && m.f.System.Rest:
		return unknown(b.subject, "the LD_LIBRARY_PATH of the process, which has to lead to "+some(b.Missing))
	case len(b.Missing) > 0:
		return found(m.withoutOpened(b))
	case len(b.Beside) > 0:
		return unknown(b.subject, "whether the program loads "+some(b.Beside)+" first, as "+b.loader()+
			" may, or is led there by LD_LIBRARY_PATH")
	}
	return holds(b.subject)
}

// loader is what loads libraries before a package needs them.
func (b *build) loader() string {
	if b.Name == "onnxruntime-gpu" {
		return "onnxruntime.preload_dlls() or `import torch`"
	}
	return "`import torch`"
}

// offGPU says that nothing of a package runs on a GPU: it raises, or takes the CPU.
func (b *build) offGPU() bool {
	severity, _, _ := b.without()
	return b.Extension && b.Looked && len(b.Missing) > 0 && (severity == Error || b.Name == "onnxruntime-gpu")
}

func (m *machine) withoutOpened(b *build) Finding {
	severity, fails, source := b.without()
	f := Finding{Severity: severity, Subject: b.subject, Need: strings.Join(b.Missing, ", "), Source: []string{source},
		Do:      m.openSteps(b),
		Message: nowhereWords(b.Missing) + ", nor in a wheel or a toolkit: " + b.Name + " " + fails,
		Evidence: append(b.evidence(), Evidence{Fact: "missing libraries", Value: strings.Join(b.Missing, " "),
			From: b.Path})}
	framework := m.frameworkOf(b)
	if framework != nil {
		f.Evidence = append(f.Evidence, framework.evidence()...)
	}
	if framework != nil && b.PartOf != "" {
		f.Severity = Note
		f.Message += "; it came along with " + b.PartOf + ": what of that needs it fails"
	}
	return f
}

// without is what becomes of a package whose libraries are nowhere, and who says so.
func (b *build) without() (severity Severity, fails, source string) {
	notCuDNN := func(name string) bool { return !strings.HasPrefix(name, "libcudnn") }
	switch {
	case b.Name == "onnxruntime-gpu":
		return Error, "runs on the CPU, though its name asks for the GPU",
			"https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"
	case b.Name != "ctranslate2":
		return Error, "compiles no kernel", "https://docs.cupy.dev/en/stable/install.html"
	case slices.ContainsFunc(b.Missing, notCuDNN):
		return Error, "runs no model on the GPU", "https://github.com/OpenNMT/CTranslate2/blob/v4.8.1/src/cuda/cublas_stub.cc"
	}
	return Warning, "runs no model with convolutions, such as Whisper's, on the GPU",
		"https://github.com/OpenNMT/CTranslate2/blob/v4.8.1/CHANGELOG.md"
}

// frameworkOf is the framework for CUDA beside an extension, nil where there is none.
func (m *machine) frameworkOf(b *build) *build {
	i := slices.IndexFunc(m.builds, func(o *build) bool {
		return o.env == b.env && !o.Extension && o.accelerator == "cuda" && o.cuda.Known()
	})
	if i < 0 {
		return nil
	}
	return m.builds[i]
}
