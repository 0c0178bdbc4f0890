// Package pylock reads the lock of PEP 751.
package pylock

import (
	"bytes"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/internal/input/document"
	"cudacompat/probe/internal/input/request"

	"github.com/pelletier/go-toml/v2"
)

var pyLock = lazyregexp.New(`(?m)^lock-version\s*=`)

func Is(d document.Document) bool {
	return pyLock.Match(d.Data) && bytes.Contains(d.Data, []byte("[[packages"))
}

func Read(d document.Document) (facts.Facts, error) {
	list, err := parse(d.Data)
	return request.Facts("pylock.toml", list, nil), err
}

// parse reads a lock of PEP 751:
//
//	[[packages]]
//	name = "torch"
//	version = "2.9.0+cu130"
//	index = "https://download.pytorch.org/whl/cu130"
//	wheels = [{ url = "https://…/torch-2.9.0%2Bcu130-cp312-cp312-manylinux_2_28_x86_64.whl", … }]
func parse(data []byte) ([]request.Package, error) {
	var parsed struct {
		Packages []struct {
			Name    string          `toml:"name"`
			Version string          `toml:"version"`
			Index   string          `toml:"index"`
			Marker  string          `toml:"marker"`
			Wheels  []request.Wheel `toml:"wheels"`
		} `toml:"packages"`
	}
	if err := toml.Unmarshal(data, &parsed); err != nil {
		return nil, document.TOMLError(err)
	}
	var list []request.Package
	for _, p := range parsed.Packages {
		l := request.New(p.Name, p.Version, p.Index, request.WheelFiles(p.Wheels))
		l.Markers = []string{p.Marker}
		list = append(list, l)
	}
	return list, nil
}
