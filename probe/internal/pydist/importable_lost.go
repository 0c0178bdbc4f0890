package pydist

import (
	"path"
	"strings"

	"cudacompat/probe/internal/distname"
)

// DistOf is "numpy 2.3.1" of "/opt/venv/…/numpy-2.3.1.dist-info".
func DistOf(info string) string {
	name, version, _ := strings.Cut(strings.TrimSuffix(path.Base(info), ".dist-info"), "-")
	return distname.Normal(name) + " " + version
}
