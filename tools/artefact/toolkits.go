package artefact

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// toolkitRows returns the releases of the CUDA toolkit that came after the table's newest: the list of its wheels names
// them and their days.
func toolkitRows(ctx context.Context, s *Source, l Listed) ([]Row, error) {
	var rows []Row
	newest := s.data.newestToolkit()
	for _, project := range l.Projects {
		files, err := s.files(ctx, project)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			tag, ok := f.Tag()
			if !ok || !final.MatchString(tag.Version) || f.Yanked {
				continue
			}
			release := strings.Join(strings.SplitN(tag.Version, ".", 4)[:min(3, strings.Count(tag.Version, ".")+1)], ".")
			if compareVersions(release, newest) <= 0 {
				continue
			}
			rows = append(rows, Row{Table: "cuda", Sources: map[string]string{tag.Project: "wheel " + f.Name + " sha256:" +
				f.SHA256}, Cells: map[string]string{"release": release, "released": f.Date}})
		}
	}
	return rows, nil
}

// toolkitManifest matches the names of NVIDIA's manifests of its toolkits in the listing of their directory. One is, where
// it names a driver at all, which it does up to 13.3:
//
//	{"release_date": "2026-04-13", "release_label": "13.2.1", "release_product": "cuda",
//	 "nvidia_driver": {"name": "NVIDIA Linux Driver", "version": "595.58.03", …}, …}
var toolkitManifest = regexp.MustCompile(`redistrib_(\d\d\.\d+\.\d+)\.json`)

// toolkitManifestRows returns the toolkits newer than the table's newest, with their dates, and the drivers that
// toolkits bring, if the table has none.
func toolkitManifestRows(ctx context.Context, s *Source, l Listed) ([]Row, error) {
	listing, err := s.page(ctx, l.Address, l.Address, "text/html")
	if err != nil {
		return nil, err
	}
	names := toolkitManifest.FindAllStringSubmatch(string(listing.Body), -1)
	if len(names) == 0 {
		return nil, fmt.Errorf("%s lists no toolkit", l.Address)
	}
	newest := s.data.newestToolkit()
	seen := map[string]bool{}
	var rows []Row
	for _, m := range names {
		release := m[1]
		known := s.data.hasRow("cuda", release)
		if seen[release] || !known && compareVersions(release, newest) <= 0 || s.data.cell("cuda", "driver_linux", release) != "" {
			continue
		}
		seen[release] = true
		of, from, err := s.manifest(ctx, l, release)
		if err != nil {
			return nil, err
		}
		row := Row{Table: "cuda", Sources: map[string]string{from: from}, Cells: map[string]string{"release": release}}
		if !known {
			row.Cells["released"] = of.Date
		}
		if of.Driver.Version != "" {
			row.Cells["driver_linux"] = of.Driver.Version
		}
		if len(row.Cells) > 1 {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// newestToolkit returns the newest release in the table of toolkits.
func (d *Data) newestToolkit() string {
	newest := ""
	for _, row := range d.grids["cuda"].Rows {
		newest = newer(newest, row[0])
	}
	return newest
}
