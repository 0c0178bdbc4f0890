package pages

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"
)

// toolkitRows returns the releases of the CUDA toolkit that came after the table's newest: the list of its wheels names
// them and their days.
func toolkitRows(ctx context.Context, s *artefact.Source, l artefact.Listed) ([]artefact.Row, error) {
	var rows []artefact.Row
	newest := findNewestToolkit(s.Data)
	for _, project := range l.Projects {
		files, err := s.ListFiles(ctx, project)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			tag, ok := f.Tag()
			if !ok || !artefact.FinalVersion.MatchString(tag.Version) || f.Yanked {
				continue
			}
			release := strings.Join(strings.SplitN(tag.Version, ".", 4)[:min(3, strings.Count(tag.Version, ".")+1)], ".")
			if reading.CompareVersions(release, newest) <= 0 {
				continue
			}
			rows = append(rows, artefact.Row{Table: "cuda", Sources: map[string]string{tag.Project: "wheel " + f.Name + " sha256:" +
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
func toolkitManifestRows(ctx context.Context, s *artefact.Source, l artefact.Listed) ([]artefact.Row, error) {
	listing, err := s.ReadPage(ctx, l.Address, l.Address, "text/html")
	if err != nil {
		return nil, err
	}
	names := toolkitManifest.FindAllStringSubmatch(string(listing.Body), -1)
	if len(names) == 0 {
		return nil, fmt.Errorf("%s lists no toolkit", l.Address)
	}
	newest := findNewestToolkit(s.Data)
	seen := map[string]bool{}
	var rows []artefact.Row
	for _, m := range names {
		release := m[1]
		known := s.Data.HasRow("cuda", release)
		if seen[release] || !known && reading.CompareVersions(release, newest) <= 0 || s.Data.FindCell("cuda", "driver_linux", release) != "" {
			continue
		}
		seen[release] = true
		of, from, err := readManifest(s, ctx, l, release)
		if err != nil {
			return nil, err
		}
		row := artefact.Row{Table: "cuda", Sources: map[string]string{from: from}, Cells: map[string]string{"release": release}}
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

// findNewestToolkit returns the newest release in the table of toolkits.
func findNewestToolkit(d *artefact.Data) string {
	newest := ""
	for _, row := range d.Grids["cuda"].Rows {
		newest = reading.PickNewer(newest, row[0])
	}
	return newest
}
