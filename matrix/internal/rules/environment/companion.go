package environment

import (
	"cmp"
	"slices"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/matrix/internal/fit"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
	"cudacompat/matrix/pin"
)

// FindCompanion returns the companion release that fits a torch. It adds the local version if the index of torch's
// variant has it. It takes the release that torch's row names, otherwise the newest on the installer's own index, and
// returns "" if none fits.
func FindCompanion(m *model.Machine, torch *model.Build, name string) (release, index string) {
	if len(torch.Rows) > 0 {
		row := torch.Rows[0]
		i := slices.IndexFunc(row.Companions, func(c pin.Package) bool { return c.Package == name })
		if i >= 0 && row.Companions[i].Version != "" {
			c := row.Companions[i]
			local, ok := pins.CompanionFor(m, c, row)
			switch {
			case name == "triton" || len(torch.Rows) > 1 && ok:
				return c.Version, ""
			case ok:
				return local.Version, pins.TorchIndex(row.Variant)
			}
		}
	}
	own, target := fitTorch(m, torch), fitTarget(m, torch)
	for _, e := range slices.Backward(tables.RowsOf[tables.Extension](m.Tables, name)) {
		if e.Variant != "pypi" || e.Platform != m.Platform {
			continue
		}
		p := fit.Package{Name: name, Rows: []tables.Extension{e}}
		p.Release, _ = version.ParseRelease(e.Release)
		p.CUDA = cudaof.Find(m.Tables, cudaof.Package{Name: name, Release: p.Release, Version: e.Release, Rows: p.Rows,
			Index: cudaof.DefaultIndex, Platform: m.Platform})
		if p.Release.Final() && fit.Compare(m.Tables, own, p, target).Fits() {
			return e.Release, ""
		}
	}
	if own.CUDA.Device == "cpu" || own.CUDA.Device == "rocm" {
		return pairedRelease(m, torch, name, torch.Release.Local)
	}
	return "", ""
}

// pairedRelease returns the companion release that belongs to a torch whose build has no row in the tables, from the
// index of torch's variant, if the tables have that companion release for CUDA.
func pairedRelease(m *model.Machine, torch *model.Build, name, variant string) (release, index string) {
	for _, row := range m.Tables.Torch(torch.Release.Number.String(), m.Platform) {
		release = cmp.Or(release, map[string]string{"torchvision": row.Torchvision, "torchaudio": row.Torchaudio}[name])
	}
	if release == "" || variant == "" {
		return "", ""
	}
	return release + "+" + variant, pins.TorchIndex(variant)
}
