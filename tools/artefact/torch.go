package artefact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cudacompat/tools/artefact/reading"
)

// torchRows returns a CUDA wheel's row of torch.csv, and any wheel's of pypi_default.csv: PyPI has one variant of a
// release.
func torchRows(s *Source, ctx context.Context, r *reading.Reading) ([]Row, error) {
	variant := findVariant(r)
	if variant == "" {
		return nil, errors.New("its version.py names no variant")
	}
	byDefault := newRow(r, "pypi_default", nil, map[string]string{"release": Shorten(r.Tag.Version),
		"platform": r.Tag.Platform, "variant": variant})
	switch {
	case r.Tag.Local != "" && variant == "cpu":
		return nil, &Empty{"a build for CPUs"}
	case variant == "cpu":
		return []Row{byDefault}, nil
	}
	if len(r.Code) == 0 {
		return nil, errors.New("there is no machine code in it, though it is for CUDA")
	}
	cells := map[string]string{
		"release": r.Tag.Version, "variant": variant, "platform": r.Tag.Platform,
		"cuda": cmp.Or(r.FindPin("cuda-toolkit"), r.Build.CUDA), "python": "", "glibc": r.FindGlibc(),
	}
	if r.Needs.CXX11 != "" {
		cells["cxx11_abi"] = r.Needs.CXX11
	}
	by := []string(nil)
	if r.Build.CuDNN != "" { // else cuDNN and cuBLAS are inside, with code for GPUs that PyTorch was not built for
		sass, ptx, _ := r.ListCode(buildList)
		SetCode(cells, sass, ptx)
		by = slices.Concat([]string{"METADATA", "version.py"}, r.NameLibraries())
	}
	for column, version := range map[string]string{"cudnn": r.Build.CuDNN, "nccl": r.Build.NCCL, "triton": findTriton(r)} {
		if version != "" { // else it is inside, or not for this release
			cells[column] = version
		}
	}
	row := newRow(r, "torch", by, cells)
	for _, companion := range []string{"torchvision", "torchaudio"} {
		if err := s.findCompanion(ctx, &row, companion, r.Tag.Version); err != nil {
			return nil, err
		}
	}
	if r.Tag.Local != "" { // PyTorch's own index names the variant in the version, and has no default
		return []Row{row}, nil
	}
	return []Row{row, byDefault}, nil
}

// findTriton returns the version of Triton that METADATA requires on the wheel's platform: 3.5.0 for "==3.5.0", 3.9.0
// for "~=3.9.0".
func findTriton(r *reading.Reading) string {
	machine := strings.TrimPrefix(r.Tag.Platform, "linux_")
	for _, q := range r.ListRequirements() {
		elsewhere := strings.Contains(q.Marker, "platform_machine") && !strings.Contains(q.Marker, machine)
		if version, ok := reading.ParseExact(q.Spec); ok && q.Name == "triton" && !elsewhere {
			return version
		}
	}
	return ""
}

// findVariant returns the variant of a wheel, "cu117", from the local version in version.py, which in 1.13 is
// "cu117.with.pypi.cudnn". Up to 1.12 the version has no local part, so the CUDA version in the same file decides.
func findVariant(r *reading.Reading) string {
	_, local, _ := strings.Cut(r.Build.Version, "+")
	variant, _, _ := strings.Cut(local, ".")
	switch {
	case r.Build.Accelerator == "cpu":
		return "cpu"
	case variant == "" && r.Build.CUDA != "":
		return "cu" + strings.ReplaceAll(r.Build.CUDA, ".", "")
	}
	return variant
}

// findCompanion finds the release of torchvision or torchaudio for a row of PyTorch and writes it into the row. It
// prefers the newest release that requires exactly this PyTorch. Otherwise it uses the newest release whose range
// includes this PyTorch: torchvision 0.29.2 accepts any PyTorch from 2.14 on. It reads a wheel for the row's platform
// if the release has one.
//
// A row that is already in the table keeps its companion as long as the two fit. PyTorch's own index, which the pins
// name, may lack later releases of the companion for this variant.
func (s *Source) findCompanion(ctx context.Context, row *Row, project, torch string) error {
	list, err := s.Candidates(ctx, Product{Projects: []string{project}})
	if err != nil {
		return err
	}
	var loose *reading.Reading
	platform := row.Cells["platform"]
	have, known := s.Data.torchCell(row.Cells, project)
	own := map[string]bool{} // releases with a wheel for the row's platform
	for _, c := range list {
		if !c.Yanked && c.Platform == platform {
			own[c.Version] = true
		}
	}
	for _, c := range slices.Backward(list) {
		if c.Yanked || c.Platform != platform && own[c.Version] {
			continue
		}
		r, err := s.Read(ctx, c.File, nil)
		switch {
		case err != nil:
			return fmt.Errorf("%s of torch %s: %w", project, torch, err)
		case r.FindPin("torch") == torch:
			row.setCompanion(project, r)
			return nil
		case r.Accepts("torch", torch) && isCompanion(r.Tag.Version, have, known, loose != nil):
			loose = r
		}
	}
	if loose != nil {
		row.setCompanion(project, loose)
	}
	return nil
}

// isCompanion reports whether a release that accepts a range of PyTorch versions becomes a row's companion. A row of
// the table accepts only the companion it has. A new row accepts the first release found, which is the newest.
func isCompanion(release, have string, known, found bool) bool {
	if known {
		return release == have
	}
	return !found
}

// torchCell returns a cell of the row for a release, variant and platform. It reports false if there is no such row.
func (d *Data) torchCell(key map[string]string, column string) (value string, known bool) {
	if d == nil {
		return "", false
	}
	g := d.Grids["torch"]
	for i := range g.Rows {
		if g.Cell(i, "release") == key["release"] && g.Cell(i, "variant") == key["variant"] && g.Cell(i, "platform") == key["platform"] {
			return g.Cell(i, column), true
		}
	}
	return "", false
}

// setCompanion writes a companion's version and source into the row.
func (row *Row) setCompanion(project string, r *reading.Reading) {
	row.Cells[project], row.Sources[project] = r.Tag.Version, r.NameSource()
}
