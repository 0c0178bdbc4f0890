package environment

import (
	"slices"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/internal/pins"
)

// PlanInstalls reports whether the plan installs a package.
func PlanInstalls(m *model.Machine, p *model.Installed) bool {
	if m.Facts.Plan == nil {
		return false
	}
	_, comes := m.Facts.Plan.Installed(p.Name)
	return comes
}

// installedKinds names the kinds of environments that show what is installed, not what will be.
var installedKinds = []string{"", "pip list", "conda list", "collect_env report"}

// IsUnbuilt reports whether a plan or file brings a package that must be compiled for its torch and whose release has
// no wheel on the package index. It is compiled on the machine during installation.
func IsUnbuilt(m *model.Machine, n *model.Requested) bool {
	release, _ := version.ParseRelease(n.Version)
	if m.Facts.Plan == nil && slices.Contains(installedKinds, n.Environment.Kind) || n.Version == "" || release.Local != "" || n.Wheel != "" ||
		m.Tables.Trait("compiled-when-used", n.Name, release.Number) || m.Tables.Trait("own-cuda", n.Name, release.Number) {
		return false
	}
	all := tables.RowsOf[tables.Extension](m.Tables, n.Name)
	if m.Facts.Plan != nil && n.Uses == "torch" && len(all) > 0 &&
		!slices.ContainsFunc(n.Rows, func(e tables.Extension) bool { return e.Variant != "sdist" }) {
		return true
	}
	listed, built := false, false
	for _, e := range all {
		if version.SameRelease(e.Release, n.Version) {
			listed = true
			built = built || !(pins.OnReleases(e) || e.Variant == "sdist" && len(e.Torch)+len(e.CUDA) == 0)
		}
	}
	return listed && !built
}
