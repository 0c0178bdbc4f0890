package model

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/pin"
	"cudacompat/probe/facts"
)

// ChosenLibraries returns the libraries that a row leaves to the installer and whose newest release, which the
// installer takes, has no code for a GPU here: cuDNN 9.11 dropped GPUs older than Turing.
func (m *Machine) ChosenLibraries(r Row) []pin.Package {
	var list []pin.Package
	name := fmt.Sprintf("nvidia-cudnn-cu%d", r.CUDA.Major())
	if asked := r.Asks(name); asked != "" && !strings.HasPrefix(asked, "=") {
		if v := m.newestCuDNN(r, asked); v != "" {
			list = append(list, pin.Package{Package: name, Version: v})
		}
	}
	return list
}

// resolvedCuDNN returns the cuDNN that an installer takes for a requested JAX or TensorFlow: the newest in the range
// that the release requires. It returns nil if the file names a cuDNN, or if nothing gets installed.
func (m *Machine) resolvedCuDNN(b *Build) *Installed {
	if b.Index != "default" || b.Path != "" || len(b.Rows) != 1 {
		return nil
	}
	name := fmt.Sprintf("nvidia-cudnn-cu%d", b.Rows[0].CUDA.Major())
	asked := b.Rows[0].Asks(name)
	if asked == "" || b.Env.Package(name) != nil {
		return nil
	}
	for _, c := range slices.Backward(tables.Rows[tables.CuDNN](m.Tables)) {
		if ok, err := version.Allows(asked, c.Release); err == nil && ok && c.CUDA.Major() == b.Rows[0].CUDA.Major() &&
			c.Build.Known() {
			return NewInstalled(&facts.Package{Name: name, Version: c.Build.String(),
				Path: "what " + b.Name + " " + b.Version + " asks for, " + asked})
		}
	}
	return nil
}

// newestCuDNN returns the newest cuDNN in a range that has code for every GPU here. It returns "" if that is the newest
// of all, so that nobody has to name it, or if none is known.
func (m *Machine) newestCuDNN(r Row, asked string) string {
	newest := true
	for _, c := range slices.Backward(tables.Rows[tables.CuDNN](m.Tables)) {
		if c.CUDA.Major() != r.CUDA.Major() || len(c.SASS) == 0 || !c.Build.Known() {
			continue
		}
		if ok, err := version.Allows(asked, c.Release); err != nil || !ok {
			continue
		}
		if !slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool {
			return version.Cover(c.SASS, nil,
				g.Capability) != version.BySASS
		}) {
			if newest {
				return ""
			}
			return c.Build.String()
		}
		newest = false
	}
	return ""
}
