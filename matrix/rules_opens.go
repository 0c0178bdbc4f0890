package matrix

import (
	"strings"
)

// loader is what loads libraries before a package needs them.
func (b *build) loader() string {
	if b.Name == "onnxruntime-gpu" {
		return "onnxruntime.preload_dlls() or `import torch`"
	}
	return "`import torch`"
}

func (m *machine) withoutOpened(b *build) Finding {
	severity, fails, source := b.without()
	f := Finding{Severity: severity, Subject: b.subject, Need: strings.Join(b.Missing, ", "), Source: []string{source},
		Do:       m.openSteps(b),
		Message:  nowhereWords(b.Missing) + ", nor in a wheel or a toolkit: " + b.Name + " " + fails,
		Evidence: b.evidenceLost(b.Missing)}
	if len(b.unloadable(b.Missing)) > 0 {
		f.Message = b.lostWords(b.Missing) + ": " + b.Name + " " + fails
	}
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
