package artefact

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"cudacompat/tools/artefact/reading"
	"cudacompat/tools/artefact/wheel"
)

// extension returns a package of extension.csv whose wheels the index has.
func (l Listed) extension() Product {
	rows := func(s *Source, ctx context.Context, r *reading.Reading) ([]Row, error) {
		row := s.extensionRow(r, l)
		return []Row{row}, s.namedFor(ctx, r, l, row)
	}
	p := Product{Name: l.ID, Table: "extension", Projects: l.Projects, Members: l.Members, rows: rows,
		platform: "linux_x86_64", since: l.Since}
	if l.Platforms {
		p.platform = ""
	}
	return p
}

// namedFor reads the CUDA versions of a package from the names of its libraries in the wheel's directory,
// libbitsandbytes_cuda128.so.
func (s *Source) namedFor(ctx context.Context, r *reading.Reading, e Listed, row Row) error {
	if e.Named == "" {
		return nil
	}
	files, err := s.ListFiles(ctx, e.Projects[0])
	if err != nil {
		return err
	}
	i := slices.IndexFunc(files, func(f wheel.File) bool { return f.SHA256 == r.SHA256 })
	if i < 0 {
		return errors.New("the wheel is not on the index's list")
	}
	names, err := s.ListNames(ctx, files[i])
	if err != nil {
		return err
	}
	var list []string
	for _, name := range names {
		if m := regexp.MustCompile(e.Named).FindStringSubmatch(name); m != nil {
			list = append(list, m[1]+"."+m[2])
		}
	}
	slices.SortFunc(list, reading.CompareVersions)
	row.Cells["cuda"] = strings.Join(slices.Compact(list), " ")
	row.Cells["verified"] = "METADATA RECORD " + r.Date
	return nil
}

// extensionRow returns the row of one release. It leaves out cells about which the wheel says nothing.
func (s *Source) extensionRow(r *reading.Reading, e Listed) Row {
	cells := map[string]string{"package": e.ID, "release": r.Tag.Version, "variant": "pypi",
		"platform": strings.TrimPrefix(r.Tag.Platform, "any")}
	read := append([]string{"METADATA"}, r.NameFamilyFiles()...)
	torch := cmp.Or(r.FindWanted("torch", ""), r.FindWanted("torch", e.Extra))
	if torch != "" {
		cells["torch"] = torch
	}
	if families := s.families(r, torch, e.Code); families != "" {
		cells["cuda"] = families
	}
	if cuda, ok := versionCUDA(r.Build.Version); ok { // of PyTorch's companions, which compare it when they are imported
		cells["cuda"] = cuda
	}
	if len(r.Libraries) > 0 && !e.Part {
		r.Needs.FillCells(cells)
	}
	if r.CuDNN != "" {
		cells["cudnn"] = r.CuDNN
	}
	cells["python"] = "" // the wheels' own, where they are for one each
	if python := requiresPython.FindStringSubmatch(r.Metadata); python != nil {
		cells["python"] = beforePython4.ReplaceAllString(strings.ReplaceAll(python[1], " ", ""), "")
	}
	if sass, ptx, _ := r.ListCode(buildList); e.Code && len(sass) > 0 {
		SetCode(cells, sass, ptx)
		read = append(read, r.NameLibraries()...)
	}
	slices.Sort(read)
	return newRow(r, "extension", slices.Compact(read), cells)
}

// versionCUDA returns the CUDA of a version with a local part: 13.2 of "0.29.2+cu132", "none" of "0.29.2+cpu".
func versionCUDA(version string) (cuda string, ok bool) {
	_, local, _ := strings.Cut(version, "+")
	if local == "cpu" {
		return "none", true
	}
	m := reading.LocalCUDA.FindStringSubmatch(local)
	if m == nil {
		return "", false
	}
	return m[1] + "." + m[2], true
}

var (
	requiresPython = regexp.MustCompile(`(?m)^Requires-Python: *(.+)$`)
	beforePython4  = regexp.MustCompile(`^<4[.0]*,|,<4[.0]*$`)
)

// families returns the CUDA major versions that a release is for: those of the CUDA libraries that its own need or open
// by name; otherwise that of its version file, of its project's name, of the NVIDIA packages that it requires, or of
// the torch that it pins on the index. It returns "none" if all libraries of the package need no CUDA.
func (s *Source) families(r *reading.Reading, torch string, all bool) string {
	if len(r.Families) > 0 {
		return strings.Join(r.Families, " ")
	}
	if family := cmp.Or(r.Paddle, r.Tag.FindFamily(), r.FindRequiredFamily(), s.torchFamily(torch)); family != "" {
		return family
	}
	if all && len(r.Libraries) > 0 && len(r.Code) == 0 {
		return "none"
	}
	return ""
}

// torchFamily returns the CUDA family of a torch, as the index has it; empty for a range of them.
func (s *Source) torchFamily(torch string) string {
	variant := s.Data.defaultVariant(torch)
	if len(variant) < len("cu121") || !strings.HasPrefix(variant, "cu") {
		return ""
	}
	return variant[2:4]
}

// defaultVariant returns the variant of a torch release that the index has for x86-64 Linux.
func (d *Data) defaultVariant(torch string) string {
	for _, row := range d.Grids["pypi_default"].Rows {
		if FinalVersion.MatchString(torch) && row[0] == Shorten(torch) && row[1] == "linux_x86_64" {
			return row[2]
		}
	}
	return ""
}
