package given

import (
	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"

	"github.com/pelletier/go-toml/v2"
)

var (
	uvLock    = lazyregexp.New(`(?m)^version\s*=\s*\d+\s*$`)
	tomlTable = lazyregexp.New(`(?m)^\[\[package\]\]\s*$`)
)

func isUVLock(d Document) bool { return uvLock.Match(d.Data) && tomlTable.Match(d.Data) }

func readUVLock(d Document) (facts.Facts, error) {
	list, err := parseUVLock(d.Data)
	return lockedFacts("uv.lock", list, nil), err
}

// uvPackage is one package of uv's lock. What was resolved more than once stands there once for each resolution; the
// project itself is among the packages.
type uvPackage struct {
	Name    string `toml:"name"`
	Version string `toml:"version"`
	Source  struct {
		Registry string `toml:"registry"`
		URL      string `toml:"url"`
		Editable string `toml:"editable"`
		Virtual  string `toml:"virtual"`
	} `toml:"source"`
	Markers []string    `toml:"resolution-markers"`
	Wheels  []lockWheel `toml:"wheels"`
}

// parseUVLock reads uv's lock, version 1:
//
//	[[package]]
//	name = "torch"
//	version = "2.9.0+cu130"
//	source = { registry = "https://download.pytorch.org/whl/cu130" }
//	wheels = [{ url = "https://…/torch-2.9.0%2Bcu130-cp312-cp312-manylinux_2_28_x86_64.whl", … }]
func parseUVLock(data []byte) ([]locked, error) {
	var document struct {
		Package []uvPackage `toml:"package"`
	}
	if err := toml.Unmarshal(data, &document); err != nil {
		return nil, tomlError(err)
	}
	var list []locked
	for _, p := range document.Package {
		if p.Source.Editable+p.Source.Virtual == "." {
			continue
		}
		l := lockedPackage(p.Name, p.Version, p.Source.Registry+p.Source.URL, wheelNames(p.Wheels))
		l.markers = p.Markers
		list = append(list, l)
	}
	return list, nil
}
