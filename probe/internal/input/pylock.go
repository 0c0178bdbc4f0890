package input

import (
	"bytes"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"

	"github.com/pelletier/go-toml/v2"
)

var pyLock = lazyregexp.New(`(?m)^lock-version\s*=`)

func isPylock(d Document) bool {
	return pyLock.Match(d.Data) && bytes.Contains(d.Data, []byte("[[packages"))
}

func readPylock(d Document) (facts.Facts, error) {
	list, err := parsePylock(d.Data)
	return lockedFacts("pylock.toml", list, nil), err
}

// parsePylock reads a lock of PEP 751:
//
//	[[packages]]
//	name = "torch"
//	version = "2.9.0+cu130"
//	index = "https://download.pytorch.org/whl/cu130"
//	wheels = [{ url = "https://…/torch-2.9.0%2Bcu130-cp312-cp312-manylinux_2_28_x86_64.whl", … }]
func parsePylock(data []byte) ([]lockedRelease, error) {
	var document struct {
		Packages []struct {
			Name    string      `toml:"name"`
			Version string      `toml:"version"`
			Index   string      `toml:"index"`
			Marker  string      `toml:"marker"`
			Wheels  []lockWheel `toml:"wheels"`
		} `toml:"packages"`
	}
	if err := toml.Unmarshal(data, &document); err != nil {
		return nil, tomlError(err)
	}
	var list []lockedRelease
	for _, p := range document.Packages {
		l := lockedPackage(p.Name, p.Version, p.Index, wheelNames(p.Wheels))
		l.markers = []string{p.Marker}
		list = append(list, l)
	}
	return list, nil
}
