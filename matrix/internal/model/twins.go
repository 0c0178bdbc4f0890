package model

import (
	"slices"
	"strings"

	"cudacompat/probe/facts"
)

// The probe determines which of several distributions wrote a file, by RECORD and the bytes: facts.Environment.Shared,
// facts.Package.Replaced and a build's hindrance "overwritten". For a file, a plan or an older document only names are
// known. The tables below say which names own the same files.

// SharedFiles is a library or framework whose files belong to several installed distributions.
type SharedFiles struct {
	Library string       // "nccl" of nvidia-nccl-cu12
	Wheels  []*Installed // those that are there
}

// SharedFiles returns the libraries and frameworks whose files belong to several distributions of the environment.
func (e *Environment) SharedFiles() []SharedFiles {
	if e.shared != nil {
		return e.shared
	}
	e.shared = []SharedFiles{}
	if e.Shared == nil {
		e.shared = e.sharedByName()
	}
	for _, s := range e.Shared {
		one := SharedFiles{Library: s.Library}
		for _, name := range s.Packages {
			if p := e.Package(name); p != nil {
				one.Wheels = append(one.Wheels, p)
			}
		}
		if len(one.Wheels) > 1 {
			e.shared = append(e.shared, one)
		}
	}
	return e.shared
}

// Twins returns the wheels of one NVIDIA library that own the same files, one for each CUDA major version.
func (e *Environment) Twins(library string) []*Installed {
	for _, s := range e.SharedFiles() {
		if s.Library == library && strings.HasPrefix(s.Wheels[0].Name, "nvidia-") {
			return s.Wheels
		}
	}
	return nil
}

// FrameworkTwins returns the distributions that own a framework's files under another name.
func (e *Environment) FrameworkTwins(framework string) []string {
	var list []string
	for _, s := range e.SharedFiles() {
		if s.Library != framework {
			continue
		}
		for _, p := range s.Wheels {
			if p.Name != framework {
				list = append(list, p.Name)
			}
		}
	}
	return list
}

// variants lists the suffixes in the names of a framework's distributions, such as tensorflow-gpu until 2.12.
var variants = []string{"-gpu", "-cpu", "-cpu-aws", "-rocm"}

// sharedByName finds shared files by names alone: NVIDIA's wheels of one library by the trait same-files, frameworks by
// their suffixes.
func (e *Environment) sharedByName() []SharedFiles {
	list := []SharedFiles{}
	add := func(library string, p *Installed) {
		i := slices.IndexFunc(list, func(s SharedFiles) bool { return s.Library == library && sameSonames(library, s.Wheels[0], p) })
		if i < 0 {
			i, list = len(list), append(list, SharedFiles{Library: library})
		}
		// A lock file lists a package once for each Python that it was resolved for.
		if !slices.ContainsFunc(list[i].Wheels, func(o *Installed) bool { return o.Name == p.Name }) {
			list[i].Wheels = append(list[i].Wheels, p)
		}
	}
	for i := range e.Packages {
		name, isFromNVIDIA := strings.CutPrefix(e.Packages[i].Name, "nvidia-")
		if p := NewInstalled(&e.Packages[i]); isFromNVIDIA && e.t.Trait("same-files", p.Name, p.Number) {
			add(FamilySuffix.ReplaceAllString(name, ""), p)
		}
	}
	for _, b := range e.Builds {
		for _, suffix := range variants {
			if twin := e.Package(b.Name + suffix); twin != nil && b.Path != "" { // a file that names one is written anew
				add(b.Name, twin)
			}
		}
	}
	return list
}

// sameSonames reports whether two wheels of a library contain files with the same names. Two major versions of cuDNN do
// not (libcudnn.so.8, libcudnn.so.9).
func sameSonames(library string, a, b *Installed) bool {
	return library != "cudnn" || a.Number.Major() == b.Number.Major()
}

// cpuTwins maps a GPU package to the CPU package with the same modules.
var cpuTwins = map[string]string{"onnxruntime-gpu": "onnxruntime", "faiss-gpu": "faiss-cpu", "faiss-gpu-cu11": "faiss-cpu",
	"faiss-gpu-cu12": "faiss-cpu", "tensorflow": "tensorflow-cpu"}

// IsTwin reports whether cpu names the CPU package with the same modules as the GPU package gpu.
func IsTwin(cpu, gpu string) bool { return cpu != "" && cpu == cpuTwins[gpu] }

// TwinNamed returns the CPU package that a file names and that has the modules of a GPU package, such as "faiss-cpu
// 1.15.1", or "".
func TwinNamed(e *facts.Environment, name string) string {
	for _, p := range e.Packages {
		if IsTwin(p.Name, name) {
			return p.Name + " " + p.Version
		}
	}
	for _, w := range e.Requested {
		if IsTwin(w.Name, name) {
			return strings.TrimSpace(w.Name + " " + w.Version)
		}
	}
	return ""
}
