package artefact

import (
	"context"

)

// pageReaders make rows from sources that are not one wheel per row: a project's list, several wheels together, a
// manifest.
var pageReaders = map[string]func(context.Context, *Source, Listed) ([]Row, error){
	"ec2":               instanceRows,
	"sagemaker":         sageMakerRows,
	"library":           libraryRows,
	"toolkit":           toolkitRows,
	"driver-manifests":  manifestRows,
	"toolkit-manifests": toolkitManifestRows,
	"ptx-isa":           isaRows,
	"statuses":          statusRows,
	"host-compilers":    compilerRows,
	"driver-releases":   releaseRows,
	"pci-ids":           chipRows,
	"open-modules":      productRows,
	"torch-windows":     buildRows,
	watching:            watchReleases,
	withoutWindows:      windowsRows,
}

// Page reads a source that is not one of wheels; false where it is.
func (s *Source) Page(ctx context.Context, l Listed) ([]Row, bool, error) {
	read, ok := pageReaders[l.Reader]
	if !ok {
		return nil, false, nil
	}
	rows, err := read(ctx, s, l)
	return rows, true, err
}
