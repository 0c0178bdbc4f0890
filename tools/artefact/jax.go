package artefact

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"cudacompat/tools/artefact/reading"
)

// jaxRows returns the row of a CUDA plugin. The wheel of jax says which jaxlib belongs to it, and up to about 0.4.30
// also the libraries.
func jaxRows(s *Source, ctx context.Context, r *reading.Reading) ([]Row, error) {
	if r.Tag.Project == "jax" {
		return jaxlibRows(r)
	}
	family := r.Tag.FindFamily()
	sass, ptx, isa := r.ListCode(buildList)
	if len(sass) == 0 {
		return nil, errors.New("there is no machine code in it")
	}
	cells := map[string]string{
		"release": r.Tag.Version, "variant": "cuda" + family, "platform": r.Tag.Platform, "python": "", "glibc": r.FindGlibc(),
	}
	SetCode(cells, sass, ptx)
	if cuda := s.builtWith(family, isa, r.Constants); cuda != "" {
		cells["cuda"] = cuda
	}
	if cudnn := reading.FindCuDNN(r.Constants); cudnn != "" {
		cells["cudnn"] = cudnn
	}
	row := newRow(r, "jax", slices.Concat([]string{"METADATA", "_versions.so"}, r.NameLibraries()), cells)
	if packages := r.ListExtra("with-cuda"); len(packages) > 0 {
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
	for _, q := range r.ListRequirements() {
		if q.Name == "jaxlib" && !strings.Contains(q.Marker, "extra") {
			row.Cells["jaxlib"] = q.Spec
			row.Sources[r.Tag.Project] = r.NameSource()
		}
	}
	libraries := slices.DeleteFunc(r.ListExtra(row.Cells["variant"]),
		func(p string) bool { return !strings.HasPrefix(p, "nvidia-") })
	if len(libraries) > 0 {
		row.Cells["packages"] = strings.Join(libraries, " ")
		row.Sources[r.Tag.Project] = r.NameSource()
	}
	return nil
}

// jaxlibWithCUDA matches the jaxlib with CUDA and cuDNN inside that an extra of jax asks for,
// "==0.4.16+cuda11.cudnn86".
var jaxlibWithCUDA = regexp.MustCompile(`^==[\d.]+\+cuda(\d+)\.cudnn(\d)(\d)$`)

// jaxlibRows returns the cuDNN of each jaxlib with CUDA inside, by the extras of its jax: those jaxlibs are on no
// package index. The files of a plugin for the same CUDA say it more exactly.
func jaxlibRows(r *reading.Reading) ([]Row, error) {
	var rows []Row
	for _, variant := range []string{"cuda11", "cuda12"} {
		var found []string
		for _, q := range r.ListRequirements() {
			m := jaxlibWithCUDA.FindStringSubmatch(q.Spec)
			switch {
			case q.Name == "jax-"+variant+"-plugin":
				found = append(found, "")
			case q.Name == "jaxlib" && m != nil && "cuda"+m[1] == variant:
				found = append(found, m[2]+"."+m[3])
			}
		}
		slices.Sort(found)
		found = slices.Compact(found)
		if len(found) == 1 && found[0] != "" {
			rows = append(rows, newRow(r, "jax", nil, map[string]string{
				"release": r.Tag.Version, "variant": variant, "platform": "linux_x86_64", "cudnn": found[0],
			}))
		}
	}
	if len(rows) == 0 {
		return nil, &Empty{"no extra names the one cuDNN of a jaxlib with CUDA inside"}
	}
	return rows, nil
}

// builtWith returns the CUDA release among the numbers in _versions.so. Other libraries' versions are numbers of the
// same kind, so it must be a release of the family, and the one whose compiler writes the newest PTX in the plugin.
func (s *Source) builtWith(family, isa string, constants []int) string {
	var found []string
	table := s.Data.Grids["cuda"]
	for i := range table.Rows {
		release := Shorten(table.Cell(i, "release"))
		major, minor, _ := strings.Cut(release, ".")
		number := reading.ParsePart([]string{major}, 0)*1000 + reading.ParsePart([]string{minor}, 0)*10
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
