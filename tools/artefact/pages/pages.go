// Package pages makes rows of the tables from sources that are not one wheel per row: the driver's and the toolkit's
// manifests, releases of the open kernel modules, headers that list compilers, PTX and status codes, the list of PCI
// ids, EC2's instance types, SageMaker's images, and several wheels together.
//
// Each source has a reader, which the file data/sources.toml names. A page comes from the cache, or from a clone or a
// copy that the caller made.
package pages

import (
	"context"

	"cudacompat/tools/artefact"
)

// readers make rows from sources that are not one wheel per row: a project's list, several wheels together, a
// manifest.
var readers = map[string]func(context.Context, *artefact.Source, artefact.Listed) ([]artefact.Row, error){
	"ec2":                   instanceRows,
	"sagemaker":             sageMakerRows,
	"library":               libraryRows,
	"toolkit":               toolkitRows,
	"driver-manifests":      manifestRows,
	"toolkit-manifests":     toolkitManifestRows,
	"ptx-isa":               isaRows,
	"statuses":              statusRows,
	"host-compilers":        compilerRows,
	"driver-releases":       releaseRows,
	"pci-ids":               chipRows,
	"open-modules":          productRows,
	"torch-windows":         buildRows,
	artefact.Watching:       artefact.WatchReleases,
	artefact.WithoutWindows: artefact.ReadWindows,
}

// Read reads a source that is not one of wheels; false where it is.
func Read(s *artefact.Source, ctx context.Context, l artefact.Listed) ([]artefact.Row, bool, error) {
	read, ok := readers[l.Reader]
	if !ok {
		return nil, false, nil
	}
	rows, err := read(ctx, s, l)
	return rows, true, err
}
