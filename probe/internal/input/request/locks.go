package request

import (
	"strings"

	"cudacompat/probe/internal/distname"
)

// Wheel is one wheel of a lock: its file name stands in one of these.
type Wheel struct {
	Name     string `toml:"name"`
	Filename string `toml:"filename"`
	URL      string `toml:"url"`
	Path     string `toml:"path"`
	File     string `toml:"file"` // of Poetry
}

func WheelFiles(wheels []Wheel) []string {
	var names []string
	for _, w := range wheels {
		for _, text := range []string{w.Name, w.Filename, w.URL, w.Path, w.File} {
			if name := WheelFile(text); name != "" {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

// localOf returns the local version that all wheels for Linux have of a release, where the lock's version has none; empty
// where they differ or have none.
func localOf(version string, wheels []string) (local string) {
	if version == "" || strings.Contains(version, "+") {
		return ""
	}
	for _, name := range wheels {
		parts := strings.Split(name, "-")
		if len(parts) < 5 || strings.Contains(parts[len(parts)-1], "win") || strings.Contains(parts[len(parts)-1], "macos") {
			continue
		}
		public, own, _ := strings.Cut(parts[1], "+")
		if public != version || own == "" || local != "" && own != local {
			return ""
		}
		local = own
	}
	return local
}

// New returns one package of a resolved lock. A version without a local one is the installer's own index's: every
// build of PyTorch's indexes has a local version.
func New(name, version, index string, wheels []string) Package {
	if local := localOf(version, wheels); local != "" {
		version += "+" + local
	}
	p := Package{Name: distname.Normal(name), Version: version, Index: IndexOf(index), Wheels: wheels,
		From: "package " + distname.Normal(name)}
	p.IndexCUDA = IndexCUDA(p.Index)
	switch {
	case version == "":
		p.Specifier = "(version unknown)"
	case !strings.Contains(version, "+") && p.Index == "":
		p.Index = DefaultIndex
	}
	return p
}
