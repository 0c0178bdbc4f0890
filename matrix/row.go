package matrix

import (
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/pin"
)

// row is one release of a framework in one variant: what rules and pins read of any framework's table.
type row struct {
	tables.Wheel
	number     version.Number // the release
	groups     version.Groups
	framework  string        // "torch", "tensorflow" or "jax"
	packages   []string      // "nvidia-cudnn-cu12>=9.8,<10.0"
	companions []pin.Package // packages that are made for this release, with the versions that go with it
	source     []string      // where the row was read
}

func torchRow(w *tables.Torch) row {
	return row{Wheel: w.Wheel, number: version.Of(w.Release), framework: "torch", source: w.Source,
		companions: []pin.Package{{Package: "torchvision", Version: w.Torchvision},
			{Package: "torchaudio", Version: w.Torchaudio}, {Package: "triton", Version: w.Triton}}}
}

func tensorflowRow(r *tables.TensorFlow) row {
	return row{Wheel: r.Wheel, number: version.Of(r.Release), groups: r.Groups, framework: "tensorflow",
		packages: r.Packages, source: r.Source}
}

func jaxRow(r *tables.JAX) row {
	return row{Wheel: r.Wheel, number: version.Of(r.Release), framework: "jax", packages: r.Packages, source: r.Source}
}

// Frameworks are the frameworks whose releases the tables have, by the names of their packages.
func Frameworks() []string { return []string{"torch", "tensorflow", "jax"} }

// framework reports whether a build is one of them, not an extension beside one.
func (b *build) framework() bool { return slices.Contains(Frameworks(), b.Name) }

// frameworkRows are all rows of one framework for this platform that can be installed by name alone: TensorFlow
// brings its libraries with it from 2.14 (the and-cuda extra), JAX from 0.4.22 (the cuda12 extra).
func (m *machine) frameworkRows(framework string) []row {
	var list []row
	add := func(r row) {
		if r.Platform == m.platform {
			list = append(list, r)
		}
	}
	switch framework {
	case "torch":
		rows := tables.Rows[tables.Torch](m.t)
		for i := range rows {
			add(torchRow(&rows[i]))
		}
	case "tensorflow":
		rows := tables.Rows[tables.TensorFlow](m.t)
		for i := range rows {
			if len(rows[i].Packages) > 0 {
				add(tensorflowRow(&rows[i]))
			}
		}
	case "jax":
		rows := tables.Rows[tables.JAX](m.t)
		for i := range rows {
			if len(rows[i].Packages) > 0 && len(rows[i].Python) > 0 {
				add(jaxRow(&rows[i]))
			}
		}
	}
	return list
}

// requirement is the row as pip takes it. The local version is named on purpose: pip and uv take an installed
// 2.9.0+cu130 for torch==2.9.0 and would change nothing.
func (r row) requirement() pin.Package {
	switch r.framework {
	case "tensorflow":
		return pin.Package{Package: "tensorflow[and-cuda]", Version: r.Release}
	case "jax":
		return pin.Package{Package: "jax[" + r.Variant + "]", Version: r.Release}
	}
	return pin.Package{Package: r.framework, Version: r.Release + "+" + r.Variant}
}

// asks is the range of a package's versions that the release asks for, ">=9.8,<10.0"; empty when it names none.
func (r row) asks(name string) string {
	for _, p := range r.packages {
		if asked, ok := strings.CutPrefix(p, name); ok && asked != "" && strings.ContainsAny(asked[:1], "<>=") {
			return asked
		}
	}
	return ""
}

// defaultVariant is the variant of a PyTorch release that the installer's own index has; empty when that is not known.
func (m *machine) defaultVariant(name string, release version.Release) string {
	if name != "torch" || !release.Number.Known() {
		return ""
	}
	for _, d := range tables.Rows[tables.Default](m.t) {
		if d.Release == release.Number.Short() && d.Platform == m.platform {
			return d.Variant
		}
	}
	return ""
}
