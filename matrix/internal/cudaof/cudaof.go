// Package cudaof answers one question: which CUDA is this package for, and how do we know?
package cudaof

import (
	"slices"
	"strconv"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// By is the kind of evidence for the CUDA of a package.
type By string

// The kinds of evidence, the strongest first.
const (
	Unknown   By = ""
	Files     By = "its files"                 // DT_NEEDED, version.py, conda's build string, or what a report says
	Local     By = "its local version"         // +cu126, +cpu, +cu12torch2.8cxx11abiTRUE, .post120
	Platform  By = "the platform"              // TensorFlow and JAX have no CUDA on Windows
	Row       By = "the row of its release"    // extension.csv
	Code      By = "its PTX"                   // no older toolkit writes it
	Index     By = "the package index's build" // a wheel without a tag is that of its index and platform
	Framework By = "the row of its framework"  // torch.csv, tensorflow.csv, jax.csv
	Listed    By = "the table of packages"     // package.csv
	Name      By = "its name"                  // cupy-cuda12x
	Extra     By = "its extra"                 // foo[cuda12]
	Image     By = "the table of images"       // container.csv
	Tag       By = "the image's tag"           // 2.9.0-cuda12.6-cudnn9-runtime
)

// Package is what is known of a package.
type Package struct {
	Name        string
	Release     version.Release
	Version     string                  // as it is written
	Said        string                  // the CUDA that its files, conda or a report say: "12.6"
	Accelerator string                  // likewise: "cuda", "cpu", "rocm", "xpu"
	Index       string                  // "default", "cu126", "cpu"; empty where it is open
	Platform    string                  // "linux_x86_64"; empty where the index's build proves nothing
	Rows        []tables.Extension      // those that may be it
	Linked      bool                    // the runtime is linked in, so that a row tells no more than the family
	PTX         map[string]string       // the PTX version of each target in its files
	Frameworks  func() []version.Number // the CUDAs of the framework's rows that may be it; nil: it is no framework
	Installed   bool                    // it is on disk or in a list of what is: package.csv speaks of what an installer takes
	Extras      []string                // with which a file asks for the GPU
}

// DefaultIndex is Package.Index of the installer's own index.
const DefaultIndex = "default"

// Answer is the CUDA of a package, or the other device that it was built for, with the evidence.
type Answer struct {
	Device     string           // "cuda", "cpu", "rocm", "xpu"; empty where nothing tells
	CUDANumber version.Number   // the CUDA, or its family; the oldest of several
	CUDAs      []version.Number // every CUDA that it has code for, or of the rows that may be it
	By         By
}

// Known reports whether the device that the package was built for is known.
func (a Answer) Known() bool { return a.Device != "" }

// ladder lists the kinds of evidence, the strongest first.
var ladder = []func(*tables.Tables, Package) Answer{saidOf, localOf, platformOf, rowOf, codeOf, indexOf, frameworkOf, listedOf,
	nameOf, extraOf}

// Find returns the CUDA of a package from the strongest evidence. If this evidence gives the device but not the CUDA
// version, weaker evidence for the same device supplies the version.
func Find(t *tables.Tables, p Package) Answer {
	var a Answer
	for _, ask := range ladder {
		next := ask(t, p)
		if !a.Known() || next.Device == a.Device {
			a = next
		}
		if a.Known() && (a.Device != "cuda" || a.CUDANumber.Known()) {
			break
		}
	}
	return a
}

// Exactly returns the answer for evidence that names one CUDA release or one major version. The answer is empty if cuda
// is unknown.
func Exactly(cuda version.Number, by By) Answer {
	if !cuda.Known() {
		return Answer{}
	}
	return Answer{Device: "cuda", CUDANumber: cuda, CUDAs: []version.Number{cuda}, By: by}
}

// Narrow returns the answer for a package that contains a framework, given the CUDA versions in the table's rows for
// this framework. If all rows have the same CUDA, this version completes an answer that has no CUDA or only its major
// version. Otherwise the answer is unchanged.
func (a Answer) Narrow(framework []version.Number) Answer {
	b := Exactly(common(framework), Framework)
	if b.Known() && (!a.CUDANumber.Known() || a.CUDANumber.Parts() < 2 && a.CUDANumber.Major() == b.CUDANumber.Major()) {
		return b
	}
	return a
}

// saidOf answers from the package's own files. A report may name a CUDA version and a build for another device: then the
// device of the build counts.
func saidOf(_ *tables.Tables, p Package) Answer {
	a := Exactly(version.ParseOrZero(p.Said), Files)
	switch {
	case p.Accelerator != "":
		a.Device, a.By = p.Accelerator, Files
	case p.Said != "":
		a.Device, a.By = "cuda", Files
	}
	return a
}

// paddleCUDA matches PaddlePaddle's own releases for one CUDA from 2.0 on, "2.6.1.post120"; those of 1.x tell cuDNN,
// too ("1.8.5.post107" is for CUDA 10.0 and cuDNN 7).
var paddleCUDA = lazyregexp.New(`^[2-9]\..*\.post(1\d)(\d)$`)

func localOf(_ *tables.Tables, p Package) Answer {
	if cuda, ok := p.Release.LocalCUDA(); ok {
		return Exactly(cuda, Local)
	}
	if compiled, _ := p.Release.Compiled(); compiled.Known() {
		return Exactly(compiled, Local)
	}
	if post := paddleCUDA.FindStringSubmatch(p.Version); post != nil && p.Name == "paddlepaddle-gpu" {
		return Exactly(version.ParseOrZero(post[1]+"."+post[2]), Local)
	}
	switch local := p.Release.Local; {
	case local == "cpu" || strings.HasPrefix(local, "cpu.") || local == "xpu":
		return Answer{Device: strings.TrimSuffix(local, ".cxx11.abi"), By: Local}
	case strings.HasPrefix(local, "rocm"):
		return Answer{Device: "rocm", By: Local}
	}
	return Answer{}
}

// platformOf reports that TensorFlow from 2.11 on and JAX have no CUDA on Windows. WSL2 runs the wheels for Linux.
func platformOf(t *tables.Tables, p Package) Answer {
	switch {
	case p.Platform != "win_amd64" || !p.Release.Number.Known():
	case p.Name == "tensorflow" && !t.Trait("windows-cuda", p.Name, p.Release.Number), p.Name == "jax":
		return Answer{Device: "cpu", By: Platform}
	}
	return Answer{}
}

// rowOf answers with every CUDA of the package's rows, because each may be the right one. A package with the runtime
// linked in needs no library that would give its CUDA. Its answer is the major version that all rows share.
func rowOf(_ *tables.Tables, p Package) Answer {
	a := Answer{By: Row}
	none, families := false, map[int]bool{}
	for _, r := range p.Rows {
		for _, text := range r.CUDA {
			none = none || text == "none"
			v := version.ParseOrZero(text)
			families[v.Major()] = true
			if !v.Known() {
				continue
			}
			a.Device = "cuda"
			a.CUDAs = append(a.CUDAs, v)
			if !a.CUDANumber.Known() || v.Less(a.CUDANumber) {
				a.CUDANumber = v
			}
		}
	}
	switch {
	case p.Linked && len(families) != 1:
		return Answer{}
	case p.Linked:
		return Exactly(family(a.CUDANumber), Row)
	case a.Device == "" && none:
		a.Device = "cpu"
	}
	return a
}

// family returns the major version of a CUDA release, or an unknown version if the release is unknown.
func family(cuda version.Number) version.Number {
	if !cuda.Known() {
		return version.Number{}
	}
	return version.ParseOrZero(strconv.Itoa(cuda.Major()))
}

// codeOf answers for a package with the runtime linked in: the major version of the first CUDA that can generate the PTX
// in its files.
func codeOf(t *tables.Tables, p Package) Answer {
	var newest version.Number
	for _, isa := range p.PTX {
		if v := version.ParseOrZero(isa); !newest.Known() || newest.Less(v) {
			newest = v
		}
	}
	if !p.Linked || !newest.Known() {
		return Answer{}
	}
	return Exactly(family(t.CUDAOfPTX(newest)), Code)
}

// common returns the CUDA that all rows share, or an unknown version if the rows differ.
func common(cudas []version.Number) version.Number {
	if len(cudas) == 0 || slices.ContainsFunc(cudas, func(c version.Number) bool { return c.Short() != cudas[0].Short() }) {
		return version.Number{}
	}
	return cudas[0]
}

func frameworkOf(_ *tables.Tables, p Package) Answer {
	if p.Frameworks == nil {
		return Answer{}
	}
	return Exactly(common(p.Frameworks()), Framework)
}

// indexOf answers with the variant of torch, torchvision or torchaudio that the installer's default index has for this
// platform. The variant of torchvision and torchaudio is that of the torch they were released with.
func indexOf(t *tables.Tables, p Package) Answer {
	if p.Index == "" || p.Release.Local != "" || !p.Release.Number.Known() || !p.Release.Final() {
		return Answer{}
	}
	variant := p.Index
	if p.Index == DefaultIndex {
		torch := p.Release.Number
		if p.Name != "torch" {
			torch = pairedTorch(t, p.Name, p.Release.Number)
		}
		variant = t.DefaultVariant(torch, p.Platform)
	}
	a := localOf(t, Package{Release: version.Release{Number: p.Release.Number, Local: variant}})
	if a.Known() && p.Index == DefaultIndex {
		a.By = Index
	}
	return a
}

// pairedTorch returns the first torch that torchvision or torchaudio was released with, or an unknown version if the
// table has no such row.
func pairedTorch(t *tables.Tables, name string, release version.Number) version.Number {
	first := version.Number{}
	if name != "torchvision" && name != "torchaudio" {
		return first
	}
	for _, r := range tables.Rows[tables.Torch](t) {
		paired := map[string]string{"torchvision": r.Torchvision, "torchaudio": r.Torchaudio}[name]
		torch := version.ParseOrZero(r.Release)
		if paired != "" && version.ParseOrZero(paired).Compare(release) == 0 && (!first.Known() || torch.Less(first)) {
			first = torch
		}
	}
	return first
}

func listedOf(t *tables.Tables, p Package) Answer {
	rows := tables.RowsOf[tables.Package](t, p.Name)
	if p.Installed || len(rows) == 0 || p.Version != "" && version.ParseOrZero(p.Version).Less(rows[0].Release) {
		return Answer{}
	}
	return Exactly(rows[0].CUDA, Listed)
}

// familyName matches names that tell a CUDA family or release: "cupy-cuda12x", "cudf-cu12", "nvidia-dali-cuda120",
// "mxnet-cu112".
var familyName = lazyregexp.New(`-cu(?:da)?(\d\d)(\d)?x?$`)

func nameOf(_ *tables.Tables, p Package) Answer {
	f := familyName.FindStringSubmatch(p.Name)
	if f == nil {
		return Answer{}
	}
	return Exactly(version.ParseOrZero(strings.TrimSuffix(f[1]+"."+strings.Trim(f[2], "0"), ".")), Name)
}

// FamilyExtra matches extras that tell a CUDA family, "cuda12x", "cu128", or that the GPU is asked for.
var FamilyExtra = lazyregexp.New(`^(?:cu(?:da)?-?(\d\d)?\d?x?|gpu)$`)

func extraOf(_ *tables.Tables, p Package) Answer {
	for _, extra := range p.Extras {
		if f := FamilyExtra.FindStringSubmatch(extra); f != nil && f[1] != "" {
			return Exactly(version.ParseOrZero(f[1]), Extra)
		}
	}
	return Answer{}
}
