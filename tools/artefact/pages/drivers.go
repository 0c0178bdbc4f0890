package pages

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"
)

// manifest is one of NVIDIA's drivers, redistrib_620.70.06.json:
//
//	{"release_date": "2026-11-04", "release_label": "620.70.06", "release_product": "nvidia-driver",
//	 "cuda_compat": {"version": "620.70.06", "cuda_variant": ["13.5"], …}, …}
type manifest struct {
	Date   string `json:"release_date"`
	Label  string `json:"release_label"`
	Compat struct {
		CUDA []string `json:"cuda_variant"`
	} `json:"cuda_compat"`
	Driver struct { // of a toolkit
		Version string
	} `json:"nvidia_driver"`
}

// manifestName matches the names of manifests in the listing of their directory.
var manifestName = regexp.MustCompile(`redistrib_(\d{3}\.\d+(?:\.\d+)?)\.json`)

// manifestRows returns the branches with their newest drivers, and the cuda-compat packages made from them. For a
// branch that the table lacks, its first listed driver gives the date.
func manifestRows(ctx context.Context, s *artefact.Source, l artefact.Listed) ([]artefact.Row, error) {
	listing, err := s.ReadPage(ctx, l.Address, l.Address, "text/html")
	if err != nil {
		return nil, err
	}
	branches := map[string][]string{} // their drivers, by branch
	for _, m := range manifestName.FindAllStringSubmatch(string(listing.Body), -1) {
		branch, _, _ := strings.Cut(m[1], ".")
		if !slices.Contains(branches[branch], m[1]) {
			branches[branch] = append(branches[branch], m[1])
		}
	}
	if len(branches) == 0 {
		return nil, fmt.Errorf("%s lists no driver", l.Address)
	}
	var rows []artefact.Row
	for _, branch := range slices.Sorted(maps.Keys(branches)) {
		drivers := branches[branch]
		slices.SortFunc(drivers, reading.CompareVersions)
		if s.Data.HasEnded(branch) {
			continue
		}
		got, err := readBranches(s, ctx, l, branch, drivers[0], drivers[len(drivers)-1])
		if err != nil {
			return nil, err
		}
		rows = append(rows, got...)
	}
	return rows, nil
}

func readBranches(s *artefact.Source, ctx context.Context, l artefact.Listed, branch, first, newest string) ([]artefact.Row, error) {
	last, from, err := readManifest(s, ctx, l, newest)
	if err != nil {
		return nil, err
	}
	prefix := l.Address + "redistrib_" + branch + "."
	row := artefact.Row{Table: "driver_branch", Sources: map[string]string{prefix: from}, Cells: map[string]string{"branch": branch}}
	if known := s.Data.FindCell("driver_branch", "newest", branch); reading.CompareVersions(known, newest) < 0 {
		row.Cells["newest"] = newest
	}
	if !s.Data.HasRow("driver_branch", branch) {
		begun, _, err := readManifest(s, ctx, l, first)
		if err != nil {
			return nil, err
		}
		row.Cells["first_release"] = begun.Date
	}
	var rows []artefact.Row
	for _, cuda := range last.Compat.CUDA {
		if s.Data.FindCell("driver_branch", "cuda", branch) != cuda {
			row.Cells["cuda"] = cuda
		}
		name := "cuda-compat-" + strings.ReplaceAll(cuda, ".", "-")
		if s.Data.HasRow("forward_compat", name) {
			continue // where its other cells have a source of their own
		}
		rows = append(rows, artefact.Row{Table: "forward_compat", Sources: map[string]string{prefix: from}, Cells: map[string]string{
			"package": name, "cuda": cuda, "branch": branch}})
	}
	if len(row.Cells) > len([]string{"branch"}) {
		rows = append(rows, row)
	}
	return rows, nil
}

// readManifest returns that of one driver or toolkit, which must say that it is.
func readManifest(s *artefact.Source, ctx context.Context, l artefact.Listed, release string) (m manifest, from string, err error) {
	from = l.Address + "redistrib_" + release + ".json"
	p, err := s.ReadPage(ctx, from, from, "application/json")
	if err != nil {
		return m, from, err
	}
	if err := json.Unmarshal(p.Body, &m); err != nil {
		return m, from, fmt.Errorf("%s: %w", from, err)
	}
	if m.Label != release {
		return m, from, fmt.Errorf("%s says that it is of %q", from, m.Label)
	}
	return m, from, nil
}

// release is a branch in NVIDIA's releases.json, its newest driver first:
//
//	{"620": {"type": "lts branch", "driver_info": [{"release_version": "620.70.06", "release_date": "2026-11-04", …}]}}
type release struct {
	Type    string `json:"type"`
	Drivers []struct {
		Version string `json:"release_version"`
		Date    string `json:"release_date"`
	} `json:"driver_info"`
}

// branchTypes are the words of releases.json and of the table.
var branchTypes = []struct{ theirs, ours string }{{"lts", "LTS"}, {"long term", "LTS"}, {"production", "PB"},
	{"new feature", "NFB"}}

// releaseRows returns the branches with their types and newest drivers.
func releaseRows(ctx context.Context, s *artefact.Source, l artefact.Listed) ([]artefact.Row, error) {
	p, err := s.ReadPage(ctx, l.Address, l.Address, "application/json")
	if err != nil {
		return nil, err
	}
	var list map[string]release
	if err := json.Unmarshal(p.Body, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", l.Address, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s lists no driver", l.Address)
	}
	var rows []artefact.Row
	for _, branch := range slices.Sorted(maps.Keys(list)) {
		r := list[branch]
		if len(r.Drivers) == 0 || s.Data.HasEnded(branch) {
			continue
		}
		row := artefact.Row{Table: "driver_branch", Sources: map[string]string{l.Address: l.Address}, Cells: map[string]string{
			"branch": branch}}
		for _, t := range branchTypes {
			if strings.Contains(strings.ToLower(r.Type), t.theirs) {
				row.Cells["type"] = t.ours
			}
		}
		if row.Cells["type"] == "" {
			return nil, fmt.Errorf("%s: branch %s is a %q", l.Address, branch, r.Type)
		}
		newest := r.Drivers[0].Version
		if known := s.Data.FindCell("driver_branch", "newest", branch); reading.CompareVersions(known, newest) < 0 {
			row.Cells["newest"] = newest
		}
		if row.Cells["newest"] != "" || s.Data.FindCell("driver_branch", "type", branch) != row.Cells["type"] {
			rows = append(rows, row)
		}
	}
	return rows, nil
}
