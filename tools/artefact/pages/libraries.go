package pages

import (
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"
	"cudacompat/tools/artefact/wheel"
)

// libraryRows returns the names of the libraries in NVIDIA's wheels, for Linux and Windows: of each project the newest
// wheel of every major version, or of every minor one, since names change with them. Only a wheel's directory is read.
func libraryRows(ctx context.Context, s *artefact.Source, l artefact.Listed) ([]artefact.Row, error) {
	rows := map[string]*artefact.Row{}
	for _, project := range l.Projects {
		files, err := s.ListFiles(ctx, project)
		if err != nil {
			return nil, err
		}
		for _, f := range newestOf(files, l.Minors) {
			names, err := s.ListNames(ctx, f)
			if err != nil {
				return nil, err
			}
			for name, family := range librariesIn(names, project) {
				if rows[name] == nil {
					rows[name] = &artefact.Row{Table: "library", Sources: map[string]string{}, Cells: map[string]string{"name": name,
						"library": l.Library}}
				}
				addWheel(rows[name], project, family, f)
			}
		}
	}
	var list []artefact.Row
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, *rows[name])
	}
	return list, nil
}

// addWheel adds a project whose wheel has the library; newestOf gives the newest wheel last.
func addWheel(row *artefact.Row, project, family string, f wheel.File) {
	for column, word := range map[string]string{"cuda": family, "pip": project} {
		words := strings.Fields(row.Cells[column])
		if word != "" && !slices.Contains(words, word) {
			words = append(words, word)
		}
		slices.Sort(words)
		row.Cells[column] = strings.Join(words, " ")
	}
	row.Sources[strings.ReplaceAll(project, "-", "_")] = "wheel " + f.Name + " sha256:" + f.SHA256
}

var systemTag = regexp.MustCompile(`-(?:py3|py2\.py3)-none-\S*(linux\S*x86_64|win_amd64)\.whl$`)

// newestOf is, for each system, the newest wheel of every major version, the oldest of them first.
func newestOf(files []wheel.File, minors bool) []wheel.File {
	best := map[[2]string]wheel.File{}
	version := func(f wheel.File) string { tag, _ := f.Tag(); return tag.Version }
	for _, f := range files {
		system := systemTag.FindStringSubmatch(f.Name)
		if system == nil || f.Yanked || f.SHA256 == "" || !artefact.FinalVersion.MatchString(version(f)) {
			continue
		}
		series, _, _ := strings.Cut(version(f), ".")
		if minors {
			series = artefact.Shorten(version(f))
		}
		key := [2]string{strings.TrimLeft(system[1], "manyliux_0123456789"), series}
		if have, ok := best[key]; !ok || reading.CompareVersions(version(have), version(f)) < 0 {
			best[key] = f
		}
	}
	return slices.SortedFunc(maps.Values(best), func(a, b wheel.File) int {
		if c := reading.CompareVersions(version(a), version(b)); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
}

var (
	sharedName = regexp.MustCompile(`^(lib.+\.so)((?:\.\d+)*)$`)
	// What is of no use by itself, or belongs to the system: variants without a driver's compiler, helpers of CUPTI, OpenCL's
	// loader.
	aside      = regexp.MustCompile(`\.alt\.|^libOpenCL\.|^(lib)?(checkpoint|pcsamplingutil)\.`)
	cudaFolder = regexp.MustCompile(`^nvidia/cu(\d\d)/`)
)

// librariesIn returns the libraries among a wheel's members with their CUDA major version, from the directory or the
// project's name. A name without a version counts only if the wheel has none with one.
func librariesIn(members []string, project string) map[string]string {
	found := map[string]string{}
	versioned := map[string]bool{}
	for _, member := range members {
		name := path.Base(member)
		m := sharedName.FindStringSubmatch(name)
		if !strings.HasPrefix(member, "nvidia/") || strings.Contains(member, "/stubs/") || aside.MatchString(name) ||
			m == nil && !strings.HasSuffix(name, ".dll") {
			continue
		}
		family := wheel.Tag{Project: strings.ReplaceAll(project, "-", "_")}.FindFamily()
		if in := cudaFolder.FindStringSubmatch(member); in != nil {
			family = in[1]
		}
		found[name] = family
		if m != nil && m[2] != "" {
			versioned[m[1]] = true
		}
	}
	maps.DeleteFunc(found, func(name, _ string) bool { return versioned[name] })
	return found
}
