// Package cudaof answers one question: which CUDA is this package for, and how do we know?
package cudaof

import (
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
)

// By is how the CUDA of a package is known.
type By string

// The ways, the one that tells the most first.
const (
	Unknown     By = ""
	Files       By = "its files"                  // DT_NEEDED, version.py, or the build string of conda
	Local       By = "its local version"          // +cu126, +cpu, +cu12torch2.8cxx11abiTRUE, .post120
	Row         By = "the row of its release"     // extension.csv
	Index       By = "the package index's build"  // a wheel without a tag is that of its index and platform
	Framework   By = "the row of its framework"   // torch.csv, tensorflow.csv, jax.csv
	Listed      By = "the table of packages"      // package.csv
	Name        By = "its name"                   // cupy-cuda12x
	Extra       By = "its extra"                  // foo[cuda12]
	Accelerator By = "what it was said to run on" // cpu, rocm, xpu
)

// Package is what is known of a package.
type Package struct {
	Name        string
	Release     version.Release
	Version     string             // as it is written
	Said        string             // the CUDA that its files, conda or an image's tag say: "12.6"
	Accelerator string             // likewise: "cuda", "cpu", "rocm", "xpu"
	Index       string             // "default", "cu126", "cpu"; empty where it is open
	Installed   bool               // it is on disk, or in a list of what is
	Platform    string             // "linux_x86_64"
	Rows        []tables.Extension // those that may be it
	Framework   []version.Number   // the CUDAs of the framework's rows that may be it
	Extras      []string           // that a file asks for
	Family      bool               // its name, or an extra, may tell a family
}

// Answer is the CUDA of a package.
type Answer struct {
	Device string           // "cuda", "cpu", "rocm", "xpu"; empty where nothing tells
	Number version.Number   // the CUDA, or its family; the oldest of several
	All    []version.Number // every CUDA that it has code for, or of the rows that may be it
	By     By
}

// Known reports whether it is known what the package was built for.
func (a Answer) Known() bool { return a.Device != "" }

// Of asks what tells the most first: the files, the local version, the row, the index, the table of packages, the name.
func Of(t *tables.Tables, p Package) Answer {
	for _, ask := range []func(*tables.Tables, Package) Answer{saidOf, localOf, rowOf, frameworkOf, indexOf, listedOf, nameOf, extraOf} {
		if a := ask(t, p); a.Known() {
			return a
		}
	}
	return Answer{}
}

// one is an answer with one CUDA.
func one(cuda version.Number, by By) Answer {
	if !cuda.Known() {
		return Answer{}
	}
	return Answer{Device: "cuda", Number: cuda, All: []version.Number{cuda}, By: by}
}

func saidOf(_ *tables.Tables, p Package) Answer {
	if a := one(version.Of(p.Said), Files); a.Known() {
		return a
	}
	if p.Accelerator != "" && p.Accelerator != "cuda" {
		return Answer{Device: p.Accelerator, By: Accelerator}
	}
	return Answer{}
}

// paddleCUDA matches PaddlePaddle's own releases for one CUDA from 2.0 on, "2.6.1.post120"; those of 1.x tell cuDNN,
// too ("1.8.5.post107" is for CUDA 10.0 and cuDNN 7).
var paddleCUDA = lazyregexp.New(`^[2-9]\..*\.post(1\d)(\d)$`)

func localOf(_ *tables.Tables, p Package) Answer {
	if cuda, ok := p.Release.LocalCUDA(); ok {
		return one(cuda, Local)
	}
	if compiled, _ := p.Release.Compiled(); compiled.Known() {
		return one(compiled, Local)
	}
	if post := paddleCUDA.FindStringSubmatch(p.Version); post != nil && p.Name == "paddlepaddle-gpu" {
		return one(version.Of(post[1]+"."+post[2]), Local)
	}
	switch local := p.Release.Local; {
	case local == "cpu" || strings.HasPrefix(local, "cpu.") || local == "xpu":
		return Answer{Device: strings.TrimSuffix(local, ".cxx11.abi"), By: Local}
	case strings.HasPrefix(local, "rocm"):
		return Answer{Device: "rocm", By: Local}
	}
	return Answer{}
}

// rowOf takes every CUDA of the rows: any of them may be it.
func rowOf(_ *tables.Tables, p Package) Answer {
	a := Answer{By: Row}
	none := false
	for _, r := range p.Rows {
		for _, text := range r.CUDA {
			none = none || text == "none"
			v := version.Of(text)
			if !v.Known() {
				continue
			}
			a.Device = "cuda"
			a.All = append(a.All, v)
			if !a.Number.Known() || v.Less(a.Number) {
				a.Number = v
			}
		}
	}
	if a.Device == "" && none {
		a.Device = "cpu"
	}
	return a
}

// frameworkOf is the CUDA that all rows of the framework share; where they differ, nothing tells which it is.
func frameworkOf(_ *tables.Tables, p Package) Answer {
	for _, cuda := range p.Framework {
		if cuda.Short() != p.Framework[0].Short() {
			return Answer{}
		}
	}
	if len(p.Framework) == 0 {
		return Answer{}
	}
	return one(p.Framework[0], Framework)
}

// indexOf is the build that the installer's own index has of torch and its companions, on this platform: of a
// companion that of the torch with which it was released.
func indexOf(t *tables.Tables, p Package) Answer {
	if p.Release.Local != "" || !p.Release.Number.Known() || !p.Release.Final() || p.Platform == "" {
		return Answer{}
	}
	if p.Index != "" && p.Index != "default" {
		return localOf(t, Package{Release: version.Release{Number: p.Release.Number, Local: p.Index}})
	}
	torch := ""
	if p.Name == "torch" {
		torch = p.Release.Number.Short()
	} else {
		torch = pairedTorch(t, p.Name, p.Release.Number)
	}
	for _, d := range tables.Rows[tables.Default](t) {
		if d.Release == torch && d.Platform == p.Platform {
			a := localOf(t, Package{Release: version.Release{Number: p.Release.Number, Local: d.Variant}})
			a.By = Index
			return a
		}
	}
	return Answer{}
}

// pairedTorch is the first torch, "2.9", with which a companion was released; empty where no row pairs them.
func pairedTorch(t *tables.Tables, name string, release version.Number) string {
	first := version.Number{}
	for _, r := range tables.Rows[tables.Torch](t) {
		paired := map[string]string{"torchvision": r.Torchvision, "torchaudio": r.Torchaudio}[name]
		torch := version.Of(r.Release)
		if paired != "" && version.Of(paired).Compare(release) == 0 && (!first.Known() || torch.Less(first)) {
			first = torch
		}
	}
	if !first.Known() {
		return ""
	}
	return first.Short()
}

func listedOf(t *tables.Tables, p Package) Answer {
	rows := tables.RowsOf[tables.Package](t, p.Name)
	if len(rows) == 0 || p.Version != "" && version.Of(p.Version).Less(rows[0].Release) {
		return Answer{}
	}
	return one(rows[0].CUDA, Listed)
}

// familyName matches names that tell a CUDA family or release: "cupy-cuda12x", "cudf-cu12", "nvidia-dali-cuda120",
// "mxnet-cu112".
var familyName = lazyregexp.New(`-cu(?:da)?(\d\d)(\d)?x?$`)

// Family is the CUDA that a name tells.
func Family(name string) version.Number {
	f := familyName.FindStringSubmatch(name)
	if f == nil {
		return version.Number{}
	}
	return version.Of(strings.TrimSuffix(f[1]+"."+strings.Trim(f[2], "0"), "."))
}

func nameOf(_ *tables.Tables, p Package) Answer {
	if !p.Family {
		return Answer{}
	}
	return one(Family(p.Name), Name)
}

// FamilyExtra matches extras that tell a CUDA family, "cuda12x", "cu128", or that the GPU is asked for.
var FamilyExtra = lazyregexp.New(`^(?:cu(?:da)?-?(\d\d)?\d?x?|gpu)$`)

func extraOf(_ *tables.Tables, p Package) Answer {
	i := slices.IndexFunc(p.Extras, func(extra string) bool {
		f := FamilyExtra.FindStringSubmatch(extra)
		return f != nil && f[1] != ""
	})
	if i < 0 || !p.Family {
		return Answer{}
	}
	return one(version.Of(FamilyExtra.FindStringSubmatch(p.Extras[i])[1]), Extra)
}
