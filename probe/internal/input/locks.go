package input

import (
	"errors"
	"fmt"
	"strings"

	"cudacompat/probe/internal/distname"

	"github.com/pelletier/go-toml/v2"
)

// lockWheel is one wheel of a lock: its file name stands in one of these.
type lockWheel struct {
	Name     string `toml:"name"`
	Filename string `toml:"filename"`
	URL      string `toml:"url"`
	Path     string `toml:"path"`
}

func wheelNames(wheels []lockWheel) []string {
	var names []string
	for _, w := range wheels {
		for _, text := range []string{w.Name, w.Filename, w.URL, w.Path} {
			if name := wheelFile(text); name != "" {
				names = append(names, name)
				break
			}
		}
	}
	return names
}

// lockedPackage is one package of a resolved lock. A version without a local one is the installer's own index's: every
// build of PyTorch's indexes has a local version.
func lockedPackage(name, version, index string, wheels []string) lockedRelease {
	p := lockedRelease{name: distname.Normal(name), version: version, index: indexOf(index), wheels: wheels,
		from: "package " + distname.Normal(name)}
	switch {
	case version == "":
		p.specifier = "(version unknown)"
	case !strings.Contains(version, "+") && p.index == "":
		p.index = defaultIndex
	}
	return p
}

// tomlError says in one clause what is wrong with a TOML document, and where.
func tomlError(err error) error {
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		line, column := decode.Position()
		reason, _, _ := strings.Cut(strings.TrimPrefix(decode.Error(), "toml: "), " into ") // a type of Go's
		return fmt.Errorf("not valid TOML: line %d, column %d: %s", line, column, reason)
	}
	return fmt.Errorf("not valid TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
}
