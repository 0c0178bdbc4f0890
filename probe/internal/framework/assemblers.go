package framework

import (
	"path"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/libversion"
)

// assemblerPlaces are where wheels keep their ptxas, below a package directory.
var assemblerPlaces = []struct{ by, file string }{
	{"triton", "triton/backends/nvidia/bin/ptxas"},
	{"triton", "triton/backends/nvidia/bin/ptxas-blackwell"}, // 3.3, and from 3.6 on
	{"triton", "triton/third_party/cuda/bin/ptxas"},          // before 3.0
	{"nvcc", "nvidia/cuda_nvcc/bin/ptxas"},
	{"nvcc", "nvidia/cu13/bin/ptxas"},
}

// assemblersIn reads those of a package directory.
func assemblersIn(h *host.Host, dir string, failed *host.Errors) []facts.Assembler {
	var list []facts.Assembler
	for _, p := range assemblerPlaces {
		if one, ok := readAssembler(h, path.Join(dir, p.file), path.Base(p.file), p.by, failed); ok {
			list = append(list, one)
		}
	}
	return list
}

// assemblersNamed reads the assemblers that variables name instead of Triton's own. If the file does not exist Triton
// takes its own. If it cannot be started, Triton 2.1 to 3.9 raises PermissionError
// (https://github.com/triton-lang/triton/blob/v3.6.0/python/triton/knobs.py).
func assemblersNamed(h *host.Host, failed *host.Errors) []facts.Assembler {
	var list []facts.Assembler
	for _, v := range []struct{ name, variable string }{
		{"ptxas", "TRITON_PTXAS_PATH"}, {"ptxas-blackwell", "TRITON_PTXAS_BLACKWELL_PATH"},
	} {
		file := h.Var(v.variable)
		if file == "" {
			continue
		}
		if why := notStarted(h, file); why == notExecutable {
			list = append(list, facts.Assembler{Name: v.name, Path: file, By: v.variable, Fault: why})
		} else if one, ok := readAssembler(h, file, v.name, v.variable, failed); ok {
			list = append(list, one)
		}
	}
	return list
}

func readAssembler(h *host.Host, file, name, by string, failed *host.Errors) (facts.Assembler, bool) {
	f, err := h.Open(file)
	if host.Absent(err) {
		return facts.Assembler{}, false
	}
	one := facts.Assembler{Name: name, Path: file, By: by}
	if err != nil {
		failed.Add(err)
		return one, true
	}
	defer f.Close()
	if one.Version, err = libversion.Compiler(f, libversion.PTXAS); err != nil {
		failed.Add(host.Damaged(file, err.Error()))
	}
	return one, true
}
