package artefact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// NVIDIA's headers are equal on all systems; the Linux wheels for x86-64 are read. The next release repeats most rows;
// such rows are Restated.

var errNoWheel = errors.New("the index has no wheel of it")

// newestHeaders returns the newest wheel of a project.
func (s *Source) newestHeaders(ctx context.Context, project string) (File, error) {
	list, err := s.headers(ctx, project, false)
	if err != nil {
		return File{}, err
	}
	return list[len(list)-1], nil
}

// headers returns the newest wheels of every major version of a project, or of every minor one, the oldest of them
// first.
func (s *Source) headers(ctx context.Context, project string, minors bool) ([]File, error) {
	files, err := s.files(ctx, project)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(newestOf(files, minors), func(f File) bool {
		tag, _ := f.Tag()
		return tag.Platform != "linux_x86_64"
	})
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w", project, errNoWheel)
	}
	return list, nil
}

// member returns the one file of a wheel that a pattern of package path matches, read there or in the cache.
func (r *Reader) member(ctx context.Context, f File, pattern string) (string, error) {
	kept := filepath.Join(r.Cache, form, f.SHA256+"-"+nameOf([]string{pattern}))
	if text, err := os.ReadFile(kept); err == nil {
		return string(text), nil
	}
	if r.Web.Offline {
		return "", fmt.Errorf("%s: %w", f.Name, errNotKept)
	}
	wheel, err := r.Web.Open(ctx, f)
	if err != nil {
		return "", err
	}
	defer wheel.Close()
	members := wheel.members(pattern)
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
	return string(text), writeWhole(kept, text)
}

// row returns a row of which a wheel's header speaks.
func (f File) row(table string, cells map[string]string) Row {
	tag, _ := f.Tag()
	return Row{Table: table, Cells: cells, Restated: true,
		Sources: map[string]string{tag.Project: "wheel " + f.Name + " sha256:" + f.SHA256}}
}
