package artefact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// jaxRows is the row of a CUDA plugin. Which jaxlib goes with it stands in the wheel of jax.
func jaxRows(s *Source, ctx context.Context, r *Reading) ([]Row, error) {
	family := r.Tag.family()
	sass, ptx, isa := r.code(buildList)
	if len(sass) == 0 {
		return nil, errors.New("there is no machine code in it")
	}
	cells := map[string]string{
		"release": r.Tag.Version, "variant": "cuda" + family, "platform": r.Tag.Platform, "python": "", "glibc": r.glibc(),
		"packages": strings.Join(r.extra("with-cuda"), " "),
	}
	setCode(cells, sass, ptx)
	if cuda := s.builtWith(family, isa, r.Constants); cuda != "" {
		cells["cuda"] = cuda
	}
	if cudnn := cudnnAmong(r.Constants); cudnn != "" {
		cells["cudnn"] = cudnn
	}
	row := r.newRow("jax", slices.Concat([]string{"METADATA", "_versions.so"}, r.libraries()), cells)
	return []Row{row}, s.takeJaxlib(ctx, &row, r.Tag.Version)
}

// takeJaxlib adds the range of jaxlib releases that jax of the plugin's version asks for.
func (s *Source) takeJaxlib(ctx context.Context, row *Row, release string) error {
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
			row.Cells["jaxlib"] = lowerBoundFirst(q.spec)
			row.Sources[r.Tag.Project] = r.source()
		}
	}
	return nil
}

// lowerBoundFirst turns "<=0.9.2,>=0.9.1" round.
func lowerBoundFirst(spec string) string {
	clauses := strings.Split(spec, ",")
	slices.SortStableFunc(clauses, func(a, b string) int { return strings.Compare(b[:min(1, len(b))], a[:min(1, len(a))]) })
	return strings.Join(clauses, ",")
}

// builtWith is the CUDA release among the numbers in _versions.so. Other libraries' versions are numbers of the same
// kind, so it must be a release of the family, and the one whose compiler writes the newest PTX in the plugin.
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

// cudnnAmong is the cuDNN release among the numbers in _versions.so: 8907 is 8.9.7, 91002 is 9.10.2.
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
