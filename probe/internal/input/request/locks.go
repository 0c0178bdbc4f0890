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
}

func WheelFiles(wheels []Wheel) []string {
	var names []string
	for _, w := range wheels {
		for _, text := range []string{w.Name, w.Filename, w.URL, w.Path} {
			if name := WheelFile(text); name != "" {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

// New returns one package of a resolved lock. A version without a local one is the installer's own index's: every
// build of PyTorch's indexes has a local version.
func New(name, version, index string, wheels []string) Package {
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
