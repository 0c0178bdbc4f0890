package model

import (
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Unsaid returns why nothing is known of a build: the file leaves its version open, or the tables do not have it.
func (m *Machine) Unsaid(b *Build) verdict.Reason {
	why := Unpinned(b.Version, b.Specifier)
	if why == verdict.Unpinned && b.byPython {
		return verdict.ByPython
	}
	if why.Words == "" && b.Named != nil && b.Named.Elsewhere {
		return m.NoWheelHere(b.Named)
	}
	if why.Words != "" || b.Path != "" || !b.IsFramework() || !b.Release.Number.Known() || m.Platform == "" {
		return why
	}
	switch {
	case b.Name == "jax" && m.Windows():
		return verdict.TablesReason("know no CUDA plugin of JAX for Windows, and " + InWSL)
	case m.eitherOnWindows(b):
		return verdict.Reason{Kind: "file", Words: "the list does not say whether this is the package index's build for CPUs or conda's"}
	case !b.Release.Final():
		return verdict.TablesReason("have no nightly builds and no release candidates")
	case !b.Official():
		return verdict.TablesReason("have only the official wheels of " + b.Name + ", and this one is from " + b.Origin + closedChannel(b))
	}
	var variants []string
	for _, r := range m.FrameworkRows(b.Name) {
		if r.Release == b.Release.Number.String() && b.Release.Local != "" {
			variants = append(variants, r.Variant)
		}
	}
	if len(b.Rows) > 1 {
		for _, r := range b.Rows {
			variants = append(variants, r.Variant)
		}
		return verdict.FileReason("does not say which of its builds is installed: " + strings.Join(variants, ", "))
	}
	release, platform := b.Name+" "+b.Release.Number.String(), ""
	if m.Platform != "linux_x86_64" {
		platform = " on " + m.Platform
	}
	if len(variants) > 0 {
		return verdict.TablesReason("have " + release + " only for " + inWords(variants) + platform)
	}
	return verdict.TablesReason("do not have " + release + platform)
}

// InWSL is what users of Windows can do with a package that has wheels for Linux only.
const InWSL = "WSL2 runs the wheels for Linux"

// forWindows are the packages that others build for Windows where the project itself does not.
var forWindows = map[string]string{"triton": "triton-windows"}

// needsForLinux are the packages of one wheel for any platform that need another one.
var needsForLinux = map[string]string{"sglang": "sgl-kernel"}

// NoWindowsWheel returns, for Windows, that a package has no wheel for it; "" where it has one or where that is not known.
func (m *Machine) NoWindowsWheel(name, release string) string {
	if needed := needsForLinux[name]; needed != "" {
		if why := m.NoWindowsWheel(needed, ""); why != "" {
			return name + " needs " + needed + ", and " + why
		}
	}
	if !m.Windows() || !m.Tables.Trait("no-windows-wheel", name, version.ParseOrZero(release)) {
		return ""
	}
	words := name + " has no wheel for Windows"
	if other := forWindows[name]; other != "" {
		return words + "; " + other + " is its build there, and " + InWSL
	}
	return words + "; " + InWSL
}

// ForLinux reports whether facts name a package that has no wheel for Windows: what was frozen or locked on Linux does.
func ForLinux(t *tables.Tables, f *facts.Facts) bool {
	lacks := func(name, release string) bool {
		return t.Trait("no-windows-wheel", name, version.ParseOrZero(release))
	}
	return slices.ContainsFunc(f.Environments, func(e facts.Environment) bool {
		return slices.ContainsFunc(e.Packages, func(p facts.Package) bool { return lacks(p.Name, p.Version) }) ||
			slices.ContainsFunc(e.Requested, func(r facts.Requested) bool { return lacks(r.Name, r.Version) })
	})
}

// NoWheelHere returns the reason that nothing is known of a release that the tables have for other platforms only.
func (m *Machine) NoWheelHere(n *Requested) verdict.Reason {
	return verdict.TablesReason("know no wheel of " + n.Name + " " + n.Version + " for " + m.Platform)
}

// inWords returns a list in words, "cu118, cu124 and cu126".
func inWords(list []string) string {
	last := len(list) - 1
	if last < 1 {
		return verdict.JoinAnd(list)
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// Unpinned tells by a file's words why no release is known; no reason where they name one.
func Unpinned(release, specifier string) verdict.Reason {
	switch {
	case release == "" && specifier == facts.Conditional:
		return verdict.Conditional
	case release == "" && specifier != "":
		return verdict.Unpinned
	}
	return verdict.Reason{}
}

// closedChannel says of a torch from conda that PyTorch's own channel ended: https://github.com/pytorch/pytorch/issues/138506.
func closedChannel(b *Build) string {
	switch {
	case b.Name != "torch" || b.Origin != "conda":
		return ""
	case version.ParseOrZero("2.5.1").Less(b.Release.Number):
		return ", whose pytorch channel ended with 2.5.1 and so never had this release"
	}
	return ", whose pytorch channel ended with 2.5.1"
}
