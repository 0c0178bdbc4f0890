package framework

import (
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
)

// wheel is what the metadata of a framework's distribution says.
type wheel struct {
	*pydist.Tags
	pins map[string]string // exact pins that hold on Linux without an extra, name to version
	pip  bool              // installed by pip or uv, not by conda
}

// readWheel reads METADATA, WHEEL and INSTALLER of a distribution.
func readWheel(d *pydist.Distribution) (wheel, error) {
	var failed host.Errors
	failed.Add(d.Damage())
	w := wheel{Tags: d.Tags(), pins: d.Metadata().Pins()}
	failed.Add(w.Err())
	installer, err := d.Installer()
	failed.Add(err)
	w.pip = installer == "pip" || installer == "uv"
	return w, failed.Err()
}
