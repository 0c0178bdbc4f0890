package python

import (
	"path"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
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

// assemblersNamed reads those that Triton's variables name instead of its own
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
		if one, ok := readAssembler(h, file, v.name, v.variable, failed); ok {
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
	data, err := host.FirstConstants(f, bannerWithin)
	if err != nil {
		failed.Add(host.Damaged(file, err.Error()))
		return one, true
	}
	one.Version = assemblerVersion(data)
	return one, true
}

var assemblerBanner = lazyregexp.New(`Cuda compilation tools, release \d+\.\d+, V(\d+(?:\.\d+)+)`)

// bannerWithin is how far into its constants a ptxas has its banner at most: 15 kB in those of Triton 2.0 to 3.9.
const bannerWithin = 1 << 20

// assemblerVersion finds what `ptxas --version` prints:
//
//	Cuda compilation tools, release 12.8, V12.8.93
func assemblerVersion(data []byte) string {
	m := assemblerBanner.FindSubmatch(data)
	if m == nil {
		return ""
	}
	return string(m[1])
}
