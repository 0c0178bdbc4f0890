package model

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/version"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Part is a section of one of a build's libraries, compiled for one set of targets.
type Part struct {
	version.Group
	library string // its path; empty where a table tells of it
	count   int    // its fat binaries; 0 where a table tells of it
}

// Parts returns the parts that were read from the build, otherwise those of its table row. A report whose wheel lists
// code without parts is older than the tables' parts.
func (b *Build) Parts() []Part {
	own := len(b.SASS)+len(b.PTX) > 0 && !b.Official()
	if len(b.read) > 0 || own || b.Damaged != "" || len(b.Rows) != 1 {
		return b.read
	}
	return b.Rows[0].Parts()
}

// partsRead returns the parts that were read from a build's files.
func partsRead(b *facts.Build) []Part {
	var list []Part
	for _, g := range b.Groups {
		group := version.Group{Section: g.Section, SASS: g.SASS, PTX: g.PTX, ISA: isaOf(g.PTXISA)}
		list = append(list, Part{group, g.Library, g.Containers})
	}
	return list
}

// Parts returns the parts that the table row lists.
func (r Row) Parts() []Part {
	var list []Part
	for _, g := range r.groups {
		list = append(list, Part{Group: g})
	}
	return list
}

// Unserved returns a part without code for a GPU, in a library whose other parts have code for it. It skips a library
// that has no code for the GPU at all, because it is for other GPUs, as vLLM's FlashAttention 3 is. It also skips a
// part whose targets all have a suffix.
func Unserved(list []Part, gpu version.Capability) *Part {
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
func (p Part) String() string {
	if p.library == "" {
		return p.Section
	}
	return p.Section + " of " + path.Base(p.library)
}

// Evidence returns the targets that the part was compiled for.
func (p Part) Evidence(b *Build) verdict.Evidence {
	text := strings.Join(slices.Concat(p.SASS, p.PTX), " ")
	if p.library == "" {
		row := "table row " + b.Rows[0].Release + " " + b.Rows[0].Variant
		return verdict.Evidence{Fact: "machine code in " + p.Section, Value: text, From: row}
	}
	fact := fmt.Sprintf("machine code of %d kernels' fat binaries", p.count)
	return verdict.Evidence{Fact: fact, Value: text, From: p.library + ", " + p.Section}
}

// FrameworkOf returns the CUDA framework beside an extension, or nil.
func (m *Machine) FrameworkOf(b *Build) *Build {
	i := slices.IndexFunc(m.Builds, func(o *Build) bool {
		return o.Env == b.Env && !o.Extension && o.Device == "cuda" && o.CUDANumber.Known()
	})
	if i < 0 {
		return nil
	}
	return m.Builds[i]
}

// FailureWithout describes what happens to a package if the loader does not find some libraries, and returns the source
// for that.
func (b *Build) FailureWithout(libraries []string) (severity verdict.Severity, fails, source string) {
	if b.Program() {
		return verdict.Error, "does not load this backend for the GPU", LoaderSource
	}
	name, notCuDNN := b.Name, func(name string) bool { return !strings.HasPrefix(name, "libcudnn") }
	switch {
	case name == "onnxruntime-gpu":
		return verdict.Error, "runs on the CPU, although its name asks for the GPU",
			"https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"
	case strings.HasPrefix(name, "cupy-") && !slices.ContainsFunc(libraries, isNVRTC):
		return verdict.Error, "fails where it uses them", "https://docs.cupy.dev/en/stable/install.html"
	case strings.HasPrefix(name, "cupy-"):
		return verdict.Error, "cannot compile kernels", "https://docs.cupy.dev/en/stable/install.html"
	case name == "numba-cuda":
		return verdict.Error, "cannot compile kernels", "https://nvidia.github.io/numba-cuda/user/installation.html"
	case name == "paddlepaddle-gpu":
		return verdict.Error, "fails where it uses them on the GPU",
			"https://github.com/PaddlePaddle/Paddle/blob/v2.6.2/paddle/phi/backends/dynload/dynamic_loader.cc"
	case b.Late:
		return verdict.Error, "cannot use the GPU", LoaderSource
	case name != "ctranslate2":
		return verdict.Error, "cannot be imported", LoaderSource
	case slices.ContainsFunc(libraries, notCuDNN):
		return verdict.Error, "cannot run models on the GPU",
			"https://github.com/OpenNMT/CTranslate2/blob/v4.8.1/src/cuda/cublas_stub.cc"
	}
	return verdict.Warning, "cannot run models with convolutions, such as Whisper's, on the GPU",
		"https://github.com/OpenNMT/CTranslate2/blob/v4.8.1/CHANGELOG.md"
}

func isNVRTC(library string) bool { return strings.HasPrefix(library, "libnvrtc") }
