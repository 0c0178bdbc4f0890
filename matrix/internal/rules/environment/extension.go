package environment

import (
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
)

// FindExtension returns the newest release of a package that is made for a torch, has code for the GPUs, and can be
// installed into its Python; nil if there is none. Only a release made for exactly this minor is taken: one on torch's
// stable ABI would have fitted already.
func FindExtension(m *model.Machine, p *model.Installed, b *model.Build) *tables.Extension {
	python := version.ShortPython(b.Interpreter)
	for _, e := range slices.Backward(tables.RowsOf[tables.Extension](m.Tables, p.Name)) {
		exact := slices.ContainsFunc(e.Torch, func(text string) bool {
			return model.Exactly(text).Short() == b.Release.Number.Short()
		})
		if !exact || model.OtherFamily(e.CUDA, b.CUDANumber) || !e.IsFor(m.Platform) || len(e.SASS) > 0 && !pins.Covers(m, e) {
			continue
		}
		_, _, url := pins.ReleaseWheel(m, e, b.Release, python)
		if e.Variant == "pypi" || url != "" || pins.OnReleases(e) && python == "" || e.Variant == b.Release.Local {
			return &e
		}
	}
	return nil
}

// InstallExtension installs one release: from the package index, from the index of PyTorch's variant, or the wheel on
// the page of its project's releases. false is a wheel on such a page, of which the Python is not known.
func InstallExtension(m *model.Machine, p *model.Installed, e tables.Extension, b *model.Build) (pin.Install, bool) {
	install := pin.Install{Packages: []string{p.Name + "==" + e.Release}, NoDeps: true}
	_, _, url := pins.ReleaseWheel(m, e, b.Release, version.ShortPython(b.Interpreter))
	switch {
	case e.Variant == "pypi":
	case url != "":
		install.Packages = []string{p.Name + " @ " + url}
	case pins.OnReleases(e):
		return install, false
	default:
		install.Index = pins.TorchIndex(e.Variant)
	}
	public, _, _ := strings.Cut(p.Version, "+")
	install.Again = url == "" && version.SameRelease(e.Release, public) // an installer takes the one that is there for it
	return install, true
}
