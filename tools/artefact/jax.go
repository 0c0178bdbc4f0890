package artefact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// jaxRows returns the row of a CUDA plugin. The wheel of jax says which jaxlib belongs to it, and up to about 0.4.30
// also the libraries.
func jaxRows(s *Source, ctx context.Context, r *Reading) ([]Row, error) {
	family := r.Tag.family()
	sass, ptx, isa := r.code(buildList)
	if len(sass) == 0 {
		return nil, errors.New("there is no machine code in it")
	}
	cells := map[string]string{
		"release": r.Tag.Version, "variant": "cuda" + family, "platform": r.Tag.Platform, "python": "", "glibc": r.glibc(),
	}
	setCode(cells, sass, ptx)
	if cuda := s.builtWith(family, isa, r.Constants); cuda != "" {
		cells["cuda"] = cuda
	}
	if cudnn := cudnnAmong(r.Constants); cudnn != "" {
		cells["cudnn"] = cudnn
	}
	row := r.newRow("jax", slices.Concat([]string{"METADATA", "_versions.so"}, r.libraries()), cells)
	if packages := r.extra("with-cuda"); len(packages) > 0 {
		cells["packages"] = strings.Join(packages, " ")
	}
	return []Row{row}, s.takeJAX(ctx, &row)
}

// takeJAX adds what jax of the plugin's version asks for.
func (s *Source) takeJAX(ctx context.Context, row *Row) error {
	release := row.Cells["release"]
	list, err := s.Candidates(ctx, Product{Projects: []string{"jax"}})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(c Candidate) bool { return c.Version == release })
	if i < 0 {
		return nil // a plugin without a jax of its own
	}
	r, err := s.Read(ctx, list[i].File, nil)
	if err != nil {
		return err
	}
	for _, q := range r.requires() {
		if q.name == "jaxlib" && !strings.Contains(q.marker, "extra") {
			row.Cells["jaxlib"] = q.spec
			row.Sources[r.Tag.Project] = r.source()
		}
	}
	libraries := slices.DeleteFunc(r.extra(row.Cells["variant"]),
		func(p string) bool { return !strings.HasPrefix(p, "nvidia-") })
	if len(libraries) > 0 {
		row.Cells["packages"] = strings.Join(libraries, " ")
		row.Sources[r.Tag.Project] = r.source()
	}
	return nil
}

// builtWith returns the CUDA release among the numbers in _versions.so. Other libraries' versions are numbers of the
// same kind, so it must be a release of the family, and the one whose compiler writes the newest PTX in the plugin.
func (s *Source) builtWith(family, isa string, constants []int) string {
	var found []string
	table := s.data.grids["cuda"]
	for i := range table.Rows {
		release := short(table.Cell(i, "release"))
		major, minor, _ := strings.Cut(release, ".")
		number := part([]string{major}, 0)*1000 + part([]string{minor}, 0)*10
		fits := isa == "" || table.Cell(i, "ptx_isa") == isa
		if major == family && fits && slices.Contains(constants, number) && !slices.Contains(found, release) {
			found = append(found, release)
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// cudnnAmong returns the cuDNN release among the numbers in _versions.so: 8907 is 8.9.7, 91002 is 9.10.2.
func cudnnAmong(constants []int) string {
	var found []string
	for _, n := range constants {
		switch {
		case 8000 <= n && n < 9000:
			found = append(found, fmt.Sprintf("8.%d.%d", n/100%10, n%100))
		case 90000 <= n && n < 100000:
			found = append(found, fmt.Sprintf("9.%d.%d", n/100%100, n%100))
		}
	}
	if len(found) != 1 {
		return ""
	}
	return found[0]
}
