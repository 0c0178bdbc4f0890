package matrix

import (
	"strings"

	"cudacompat/probe/facts"
)

// What is missing (Missing.Missing) ends in the reason where there is one that a reader can do something about: ": the
// file does not pin a version". Every reason begins as Because.
const (
	Because     = ": the "
	Unpinned    = Because + "file does not pin a version"
	Conditional = Because + "file installs it only under a condition" // of a Dockerfile's
	ofTables    = Because + "tables "
	Bare        = Because + "plain wheel has none of the CUDA libraries that it opens" // of TensorFlow, ONNX Runtime and CTranslate2
)

// unsaid is why nothing is known of a build: the file leaves its version open, or the tables do not have it.
func (m *machine) unsaid(b *build) string {
	why := unpinned(b.Version, b.Specifier)
	if why != "" || b.Path != "" || !b.framework() || !b.release.Number.Known() || m.platform == "" {
		return why
	}
	switch {
	case m.eitherOnWindows(b):
		return Because + "list does not say whether this is the package index's build for CPUs or conda's"
	case !b.release.Final():
		return Because + "tables have no nightly builds and no release candidates"
	case !b.official():
		return Because + "tables have only the official wheels of " + b.Name + ", and this one is from " + b.Origin
	}
	var variants []string
	for _, r := range m.frameworkRows(b.Name) {
		if r.Release == b.release.Number.String() && b.release.Local != "" {
			variants = append(variants, r.Variant)
		}
	}
	if len(b.rows) > 1 {
		for _, r := range b.rows {
			variants = append(variants, r.Variant)
		}
		return Because + "file does not say which of its builds is installed: " + strings.Join(variants, ", ")
	}
	release, platform := b.Name+" "+b.release.Number.String(), ""
	if m.platform != "linux_x86_64" {
		platform = " on " + m.platform
	}
	if len(variants) > 0 {
		return Because + "tables have " + release + " only for " + listed(variants) + platform
	}
	return Because + "tables do not have " + release + platform
}

// listed is a list in words, "cu118, cu124 and cu126".
func listed(list []string) string {
	last := len(list) - 1
	if last < 1 {
		return joinAnd(list)
	}
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// unpinned tells by a file's words why no release is known, empty where they name one.
func unpinned(release, specifier string) string {
	switch {
	case release == "" && specifier == facts.Conditional:
		return Conditional
	case release == "" && specifier != "":
		return Unpinned
	}
	return ""
}
