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

// Known reports whether it is known what the package was built for.
func (a Answer) Known() bool { return a.Device != "" }

// ladder asks each kind of evidence in turn.
var ladder = []func(*tables.Tables, Package) Answer{saidOf, localOf, platformOf, rowOf, codeOf, indexOf, frameworkOf, listedOf,
	nameOf, extraOf}

// Find returns the CUDA of a package by the strongest evidence. Where that tells the device and not its CUDA, weaker
// evidence tells the CUDA.
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

// Exactly returns the answer that evidence gives which names one CUDA, or a family.
func Exactly(cuda version.Number, by By) Answer {
	if !cuda.Known() {
		return Answer{}
	}
	return Answer{Device: "cuda", CUDANumber: cuda, CUDAs: []version.Number{cuda}, By: by}
}

// Narrow returns the answer for a package that brings a framework, of which the rows have these CUDAs: the release of a
// family, or that of a package of which nothing else tells.
func (a Answer) Narrow(framework []version.Number) Answer {
	b := Exactly(common(framework), Framework)
	if b.Known() && (!a.CUDANumber.Known() || a.CUDANumber.Parts() < 2 && a.CUDANumber.Major() == b.CUDANumber.Major()) {
		return b
	}
	return a
}

// saidOf takes what was read of the package itself. A report may name a CUDA beside a build for another device.
func saidOf(_ *tables.Tables, p Package) Answer {
	a := Exactly(version.Of(p.Said), Files)
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
		return Exactly(version.Of(post[1]+"."+post[2]), Local)
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

// rowOf takes every CUDA of the rows: any of them may be it. Of a package with the runtime linked in, which no library
// that it needs tells, it takes the family that all of them share.
func rowOf(_ *tables.Tables, p Package) Answer {
	a := Answer{By: Row}
	none, families := false, map[int]bool{}
	for _, r := range p.Rows {
		for _, text := range r.CUDA {
			none = none || text == "none"
			v := version.Of(text)
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

// family returns the CUDA family of a release; not known of none.
func family(cuda version.Number) version.Number {
	if !cuda.Known() {
		return version.Number{}
	}
	return version.Of(strconv.Itoa(cuda.Major()))
}

// codeOf returns the family of the first CUDA that could have written the PTX of a package with the runtime linked in.
func codeOf(t *tables.Tables, p Package) Answer {
	var newest version.Number
	for _, isa := range p.PTX {
		if v := version.Of(isa); !newest.Known() || newest.Less(v) {
			newest = v
		}
	}
	if !p.Linked || !newest.Known() {
		return Answer{}
	}
	return Exactly(family(t.CUDAOfPTX(newest)), Code)
}

// common returns the CUDA that all rows share; where they differ, nothing tells which it is.
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

// indexOf returns the build that the installer's own index has of torch and its companions, on this platform: of a
// companion that of the torch with which it was released.
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

// pairedTorch returns the first torch with which a companion was released; not known where no row pairs them.
func pairedTorch(t *tables.Tables, name string, release version.Number) version.Number {
	first := version.Number{}
	if name != "torchvision" && name != "torchaudio" {
		return first
	}
	for _, r := range tables.Rows[tables.Torch](t) {
		paired := map[string]string{"torchvision": r.Torchvision, "torchaudio": r.Torchaudio}[name]
		torch := version.Of(r.Release)
		if paired != "" && version.Of(paired).Compare(release) == 0 && (!first.Known() || torch.Less(first)) {
			first = torch
		}
	}
	return first
}

func listedOf(t *tables.Tables, p Package) Answer {
	rows := tables.RowsOf[tables.Package](t, p.Name)
	if p.Installed || len(rows) == 0 || p.Version != "" && version.Of(p.Version).Less(rows[0].Release) {
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
	return Exactly(version.Of(strings.TrimSuffix(f[1]+"."+strings.Trim(f[2], "0"), ".")), Name)
}

// FamilyExtra matches extras that tell a CUDA family, "cuda12x", "cu128", or that the GPU is asked for.
var FamilyExtra = lazyregexp.New(`^(?:cu(?:da)?-?(\d\d)?\d?x?|gpu)$`)

func extraOf(_ *tables.Tables, p Package) Answer {
	for _, extra := range p.Extras {
		if f := FamilyExtra.FindStringSubmatch(extra); f != nil && f[1] != "" {
			return Exactly(version.Of(f[1]), Extra)
		}
	}
	return Answer{}
}
