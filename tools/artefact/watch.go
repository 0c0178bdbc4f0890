package artefact

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cudacompat/tools/artefact/reading"
	"cudacompat/tools/artefact/wheel"
)

// Watching is the reader of projects whose rows a person makes.
const Watching = "watch"

// WatchReleases finds releases without a row in extension.csv for which no program can make one: a package that is
// compiled during installation has no wheel, and one that is built on another index has several.
func WatchReleases(ctx context.Context, s *Source, l Listed) ([]Row, error) {
	var missing []string
	for _, project := range l.Projects {
		releases, err := s.releases(ctx, project)
		if err != nil {
			return nil, err
		}
		known := s.Data.releasesOf(project)
		for _, release := range releases {
			if !known[release] && (l.Since == "" || reading.CompareVersions(release, l.Since) >= 0) {
				missing = append(missing, project+" "+release)
			}
		}
	}
	if len(missing) > 0 {
		return nil, &Lacking{"extension.csv has no row of " + strings.Join(missing, ", ")}
	}
	return nil, nil
}

// releases returns the final releases of a project on the index, oldest first, by its wheels and source archives.
func (s *Source) releases(ctx context.Context, project string) ([]string, error) {
	files, err := s.archives(ctx, project)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, f := range files {
		if release := releaseIn(f.Name); !f.Yanked && FinalVersion.MatchString(release) {
			list = append(list, release)
		}
	}
	slices.SortFunc(list, reading.CompareVersions)
	return slices.Compact(list), nil
}

// releaseIn returns the release in the name of a wheel or a source archive; empty if it has none.
func releaseIn(name string) string {
	if m := wheel.NamePattern.FindStringSubmatch(name); m != nil {
		release, _, _ := strings.Cut(m[2], "+")
		return release
	}
	for _, ending := range []string{".tar.gz", ".zip"} {
		if base, ok := strings.CutSuffix(name, ending); ok {
			return base[strings.LastIndex(base, "-")+1:]
		}
	}
	return ""
}

// releasesOf returns the releases of a package for which extension.csv has a row.
func (d *Data) releasesOf(project string) map[string]bool {
	known := map[string]bool{}
	g := d.Grids["extension"]
	for i := range g.Rows {
		if g.Cell(i, "package") == project {
			known[g.Cell(i, "release")] = true
		}
	}
	return known
}

// unwatched returns a complaint for each package of extension.csv that no source names, because nobody would learn of
// its next release.
func (d *Data) unwatched(list []Listed) []string {
	var complaints []string
	watched := map[string]bool{}
	for _, l := range list {
		if slices.Contains(l.Tables, "extension") {
			for _, project := range slices.Concat(l.Projects, l.Beside) {
				watched[project] = true
			}
		}
	}
	g := d.Grids["extension"]
	for i := range g.Rows {
		if name := g.Cell(i, "package"); !watched[name] {
			watched[name] = true
			complaints = append(complaints, fmt.Sprintf("extension.csv: no source names %s: add one to sources.toml (reader \"watch\" if no "+
				"program can make its rows)", name))
		}
	}
	return complaints
}

// neverRead returns a complaint for each source that a program should read, never has, and should have by now.
func (l Lock) neverRead(list []Listed, today string) []string {
	var complaints []string
	for _, s := range list {
		if s.Reader == typed || l[s.ID] != nil && l[s.ID].Fetched != "" {
			continue
		}
		switch {
		case s.ReadBy == "":
			complaints = append(complaints, fmt.Sprintf("sources.toml: %s was never read: read it, or give it read_by, the day by which somebody must", s.ID))
		case s.ReadBy < today:
			complaints = append(complaints, fmt.Sprintf("sources.toml: %s was never read, and should have been by %s", s.ID, s.ReadBy))
		}
	}
	return complaints
}

// Awaited returns the sources of the tables in dir that were never read and have time until a day, as lines to print.
func Awaited(list []Listed, dir string) []string {
	l, err := ReadLock(dir)
	if err != nil {
		return nil // Lint says so
	}
	var lines []string
	for _, s := range list {
		if s.Reader != typed && s.ReadBy != "" && (l[s.ID] == nil || l[s.ID].Fetched == "") {
			lines = append(lines, fmt.Sprintf("warning: %s was never read; it must be by %s", s.ID, s.ReadBy))
		}
	}
	return lines
}

// isDay reports whether a text is a day such as 2026-12-31.
func isDay(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	return err == nil
}

// WithoutWindows is the reader of packages that have no wheel for Windows.
const WithoutWindows = "without-windows"

// noWindowsWheel is the trait of such a package.
const noWindowsWheel = "no-windows-wheel"

// ReadWindows makes a row for each project whose newest release has wheels, and none for Windows. The row holds for all
// releases newer than the last that had one. A project that has one again, or no wheel at all, must leave the list.
func ReadWindows(ctx context.Context, s *Source, l Listed) ([]Row, error) {
	var rows []Row
	var wrong []string
	for _, project := range l.Projects {
		files, err := s.archives(ctx, project)
		if err != nil {
			return nil, err
		}
		newest, last := wheel.File{}, ""
		for _, f := range files {
			release := releaseIn(f.Name)
			if f.Yanked || !FinalVersion.MatchString(release) || !strings.HasSuffix(f.Name, ".whl") {
				continue
			}
			if reading.CompareVersions(release, releaseIn(newest.Name)) >= 0 {
				newest = f
			}
			if isForWindows(f.Name) && reading.CompareVersions(release, last) > 0 {
				last = release
			}
		}
		row := Row{Table: "trait", Cells: map[string]string{"trait": noWindowsWheel, "package": project, "releases": ""},
			Sources: map[string]string{strings.ReplaceAll(project, "-", "_"): "wheel " + newest.Name + " sha256:" + newest.SHA256}}
		switch {
		case newest.Name == "" || last == releaseIn(newest.Name):
			wrong = append(wrong, project)
			continue
		case last != "":
			row.Cells["releases"] = ">" + last
		}
		rows = append(rows, row)
	}
	if len(wrong) > 0 {
		return nil, &Lacking{"of what has no wheel for Windows, take out " + strings.Join(wrong, ", ") + ": it has one, or none at all"}
	}
	return rows, nil
}

// isForWindows reports whether a wheel runs on Windows by its name: it is made for it, or for any platform.
func isForWindows(name string) bool {
	return strings.HasSuffix(name, "-win_amd64.whl") || strings.HasSuffix(name, "-any.whl")
}
