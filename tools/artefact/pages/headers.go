package pages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"cudacompat/tools/artefact"
	"cudacompat/tools/artefact/reading"
	"cudacompat/tools/artefact/wheel"
)

// NVIDIA's headers are equal on all systems; the Linux wheels for x86-64 are read. The next release repeats most rows;
// such rows are Restated.

var errNoWheel = errors.New("the index has no wheel of it")

// findNewestHeaders returns the newest wheel of a project.
func findNewestHeaders(s *artefact.Source, ctx context.Context, project string) (wheel.File, error) {
	list, err := findHeaders(s, ctx, project, false)
	if err != nil {
		return wheel.File{}, err
	}
	return list[len(list)-1], nil
}

// findHeaders returns the newest wheels of every major version of a project, or of every minor one, the oldest of them
// first.
func findHeaders(s *artefact.Source, ctx context.Context, project string, minors bool) ([]wheel.File, error) {
	files, err := s.ListFiles(ctx, project)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(newestOf(files, minors), func(f wheel.File) bool {
		tag, _ := f.Tag()
		return tag.Platform != "linux_x86_64"
	})
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w", project, errNoWheel)
	}
	return list, nil
}

// readMember returns the one file of a wheel that a pattern of package path matches, read there or in the cache.
func readMember(r *reading.Reader, ctx context.Context, f wheel.File, pattern string) (string, error) {
	kept := filepath.Join(r.Cache, reading.CacheForm, f.SHA256+"-"+reading.NamePatterns([]string{pattern}))
	if text, err := os.ReadFile(kept); err == nil {
		return string(text), nil
	}
	if r.Web.Offline {
		return "", fmt.Errorf("%s: %w", f.Name, reading.ErrNotKept)
	}
	wheel, err := r.Web.Open(ctx, f)
	if err != nil {
		return "", err
	}
	defer wheel.Close()
	members := wheel.ListMembers(pattern)
	if len(members) != 1 {
		return "", fmt.Errorf("%s: %d of its files are %s", f.Name, len(members), pattern)
	}
	file, err := members[0].Open()
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name, err)
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.Name, err)
	}
	return string(text), reading.WriteWhole(kept, text)
}

// newHeaderRow returns a row of which a wheel's header speaks.
func newHeaderRow(f wheel.File, table string, cells map[string]string) artefact.Row {
	tag, _ := f.Tag()
	return artefact.Row{Table: table, Cells: cells, Restated: true,
		Sources: map[string]string{tag.Project: "wheel " + f.Name + " sha256:" + f.SHA256}}
}
