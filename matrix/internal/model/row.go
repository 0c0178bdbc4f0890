package model

import (
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/pin"
)

// Row is one release of a framework in one variant, with the columns that rules and pins read from every framework's
// table.
type Row struct {
	tables.Wheel
	Number     version.Number // the release
	groups     version.Groups
	Framework  string        // "torch", "tensorflow" or "jax"
	Packages   []string      // "nvidia-cudnn-cu12>=9.8,<10.0"
	Companions []pin.Package // Packages that are made for this release, with the versions that go with it
	Source     []string      // where the row was read
}

func torchRow(w *tables.Torch) Row {
	return Row{Wheel: w.Wheel, Number: version.ParseOrZero(w.Release), Framework: "torch", Source: w.Source,
		Companions: []pin.Package{{Package: "torchvision", Version: w.Torchvision},
			{Package: "torchaudio", Version: w.Torchaudio}, {Package: "triton", Version: w.Triton}}}
}

func tensorflowRow(r *tables.TensorFlow) Row {
	return Row{Wheel: r.Wheel, Number: version.ParseOrZero(r.Release), groups: r.Groups, Framework: "tensorflow",
		Packages: r.Packages, Source: r.Source}
}

func jaxRow(r *tables.JAX) Row {
	return Row{Wheel: r.Wheel, Number: version.ParseOrZero(r.Release), Framework: "jax", Packages: r.Packages, Source: r.Source}
}

// Frameworks returns the package names of the frameworks in the tables.
func Frameworks() []string { return []string{"torch", "tensorflow", "jax"} }

// IsFramework reports whether a build is a framework and not an extension.
func (b *Build) IsFramework() bool { return slices.Contains(Frameworks(), b.Name) }

// ReleasesOf returns the releases of a framework in the tables, one for each row.
func ReleasesOf(t *tables.Tables, framework string) []string {
	var list []string
	switch framework {
	case "torch":
		for _, r := range tables.Rows[tables.Torch](t) {
			list = append(list, r.Release)
		}
	case "tensorflow":
		for _, r := range tables.Rows[tables.TensorFlow](t) {
			list = append(list, r.Release)
		}
	case "jax":
		for _, r := range tables.Rows[tables.JAX](t) {
			list = append(list, r.Release)
		}
	}
	return list
}

// FrameworkRows returns all rows of a framework for this platform that a name alone installs. TensorFlow brings its
// libraries from 2.14 on (the and-cuda extra), JAX from 0.4.22 on (the cuda12 extra).
func (m *Machine) FrameworkRows(framework string) []Row {
	if m.rows[framework] == nil {
		m.rows[framework] = m.frameworkRows(framework)
	}
	return slices.Clone(m.rows[framework])
}

func (m *Machine) frameworkRows(framework string) []Row {
	var list []Row
	add := func(r Row) {
		if r.Platform == m.Platform {
			list = append(list, r)
		}
	}
	switch framework {
	case "torch":
		rows := tables.Rows[tables.Torch](m.Tables)
		for i := range rows {
			add(torchRow(&rows[i]))
		}
	case "tensorflow":
		rows := tables.Rows[tables.TensorFlow](m.Tables)
		for i := range rows {
			if len(rows[i].Packages) > 0 {
				add(tensorflowRow(&rows[i]))
			}
		}
	case "jax":
		rows := tables.Rows[tables.JAX](m.Tables)
		for i := range rows {
			if len(rows[i].Packages) > 0 && len(rows[i].Python) > 0 {
				add(jaxRow(&rows[i]))
			}
		}
	}
	return list
}

// Requirement returns the row as a pip requirement. It includes the local version, because pip and uv accept an
// installed 2.9.0+cu130 for torch==2.9.0 and would change nothing.
func (r Row) Requirement() pin.Package {
	switch r.Framework {
	case "tensorflow":
		return pin.Package{Package: "tensorflow[and-cuda]", Version: r.Release}
	case "jax":
		return pin.Package{Package: "jax[" + r.Variant + "]", Version: r.Release}
	}
	return pin.Package{Package: r.Framework, Version: r.Release + "+" + r.Variant}
}

// Asks returns the version range of a package that the release requires, such as ">=9.8,<10.0", or "".
func (r Row) Asks(name string) string {
	for _, p := range r.Packages {
		if asked, ok := strings.CutPrefix(p, name); ok && asked != "" && strings.ContainsAny(asked[:1], "<>=") {
			return asked
		}
	}
	return ""
}

// DefaultVariant returns the variant of a PyTorch release on the installer's own index, or "" if unknown.
func (m *Machine) DefaultVariant(name string, release version.Release) string {
	if name != "torch" {
		return ""
	}
	return m.Tables.DefaultVariant(release.Number, m.Platform)
}
