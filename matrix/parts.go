package matrix

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// part is a section of one of a build's libraries that was built for one set of targets.
type part struct {
	version.Group
	library string // its path; empty where a table tells of it
	count   int    // its fat binaries; 0 where a table tells of it
}

// parts are those of the build itself where they were read, else of its row in the tables: a wheel whose code is listed
// without them is of a report from before they were told.
func (b *build) parts() []part {
	own := len(b.SASS)+len(b.PTX) > 0 && !b.official()
	if len(b.read) > 0 || own || b.Damaged != "" || len(b.rows) != 1 {
		return b.read
	}
	return b.rows[0].parts()
}

// partsRead are those that were read in a build's files.
func partsRead(b *facts.Build) []part {
	var list []part
	for _, g := range b.Groups {
		group := version.Group{Section: g.Section, SASS: g.SASS, PTX: g.PTX, ISA: isaOf(g.PTXISA)}
		list = append(list, part{group, g.Library, g.Containers})
	}
	return list
}

// parts are those of which a table tells.
func (r row) parts() []part {
	var list []part
	for _, g := range r.groups {
		list = append(list, part{Group: g})
	}
	return list
}

// unserved finds a part without code for a GPU that others of its library serve. A library that serves it nowhere is
// for other GPUs, as vLLM's FlashAttention 3 is; so is a part whose targets all have a suffix.
func unserved(list []part, gpu version.Capability) *part {
	for i, p := range list {
		if p.Special() || p.Cover(gpu) != version.Uncovered {
			continue
		}
		for _, other := range list {
			if other.library == p.library && other.Cover(gpu) != version.Uncovered {
				return &list[i]
			}
		}
	}
	return nil
}

// String names the part: ".rodata of libtensorflow_cc.so.2".
func (p part) String() string {
	if p.library == "" {
		return p.Section
	}
	return p.Section + " of " + path.Base(p.library)
}

// evidence is what the part was built for.
func (p part) evidence(b *build) Evidence {
	text := strings.Join(slices.Concat(p.SASS, p.PTX), " ")
	if p.library == "" {
		row := "table row " + b.rows[0].Release + " " + b.rows[0].Variant
		return Evidence{Fact: "machine code in " + p.Section, Value: text, From: row}
	}
	fact := fmt.Sprintf("machine code of %d kernels' fat binaries", p.count)
	return Evidence{Fact: fact, Value: text, From: p.library + ", " + p.Section}
}

// offGPU reports whether nothing of a package runs on a GPU: it raises, or takes the CPU.
func (b *build) offGPU() bool {
	severity, _, _ := b.without()
	return b.Extension && b.Looked && len(b.Missing) > 0 && (severity == Error || b.Name == "onnxruntime-gpu")
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

// without is what becomes of a package whose libraries are nowhere, and who says so.
func (b *build) without() (severity Severity, fails, source string) {
	if b.program() {
		return Error, "does not load this backend for the GPU", loaderSource
	}
	return withoutLibraries(b.Name, b.Missing)
}

// withoutLibraries is what becomes of a package without some libraries, and who says so.
func withoutLibraries(name string, libraries []string) (severity Severity, fails, source string) {
	notCuDNN := func(name string) bool { return !strings.HasPrefix(name, "libcudnn") }
	switch {
	case name == "onnxruntime-gpu":
		return Error, "runs on the CPU, although its name asks for the GPU",
			"https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"
	case strings.HasPrefix(name, "cupy-") && !slices.ContainsFunc(libraries, isNVRTC):
		return Error, "fails where it uses them", "https://docs.cupy.dev/en/stable/install.html"
	case strings.HasPrefix(name, "cupy-"):
		return Error, "cannot compile kernels", "https://docs.cupy.dev/en/stable/install.html"
	case name == "numba-cuda":
		return Error, "cannot compile kernels", "https://nvidia.github.io/numba-cuda/user/installation.html"
	case name == "paddlepaddle-gpu":
		return Error, "fails where it uses them on the GPU",
			"https://github.com/PaddlePaddle/Paddle/blob/v2.6.2/paddle/phi/backends/dynload/dynamic_loader.cc"
	case name != "ctranslate2":
		return Error, "cannot be imported", loaderSource
	case slices.ContainsFunc(libraries, notCuDNN):
		return Error, "cannot run models on the GPU",
			"https://github.com/OpenNMT/CTranslate2/blob/v4.8.1/src/cuda/cublas_stub.cc"
	}
	return Warning, "cannot run models with convolutions, such as Whisper's, on the GPU",
		"https://github.com/OpenNMT/CTranslate2/blob/v4.8.1/CHANGELOG.md"
}

func isNVRTC(library string) bool { return strings.HasPrefix(library, "libnvrtc") }
