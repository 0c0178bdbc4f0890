package artefact

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// extension returns a package of extension.csv whose wheels the index has.
func (l Listed) extension() Product {
	rows := func(s *Source, ctx context.Context, r *Reading) ([]Row, error) {
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
func (s *Source) namedFor(ctx context.Context, r *Reading, e Listed, row Row) error {
	if e.Named == "" {
		return nil
	}
	files, err := s.files(ctx, e.Projects[0])
	if err != nil {
		return err
	}
	i := slices.IndexFunc(files, func(f File) bool { return f.SHA256 == r.SHA256 })
	if i < 0 {
		return errors.New("the wheel is not on the index's list")
	}
	names, err := s.names(ctx, files[i])
	if err != nil {
		return err
	}
	var list []string
	for _, name := range names {
		if m := regexp.MustCompile(e.Named).FindStringSubmatch(name); m != nil {
			list = append(list, m[1]+"."+m[2])
		}
	}
	slices.SortFunc(list, compareVersions)
	row.Cells["cuda"] = strings.Join(slices.Compact(list), " ")
	row.Cells["verified"] = "METADATA RECORD " + r.Date
	return nil
}

// extensionRow returns the row of one release. It leaves out cells about which the wheel says nothing.
func (s *Source) extensionRow(r *Reading, e Listed) Row {
	cells := map[string]string{"package": e.ID, "release": r.Tag.Version, "variant": "pypi",
		"platform": strings.TrimPrefix(r.Tag.Platform, "any")}
	read := append([]string{"METADATA"}, r.saidFamily()...)
	torch := cmp.Or(r.wants("torch", ""), r.wants("torch", e.Extra))
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
		r.Needs.cells(cells)
	}
	if r.CuDNN != "" {
		cells["cudnn"] = r.CuDNN
	}
	cells["python"] = "" // the wheels' own, where they are for one each
	if python := requiresPython.FindStringSubmatch(r.Metadata); python != nil {
		cells["python"] = beforePython4.ReplaceAllString(strings.ReplaceAll(python[1], " ", ""), "")
	}
	if sass, ptx, _ := r.code(buildList); e.Code && len(sass) > 0 {
		setCode(cells, sass, ptx)
		read = append(read, r.libraries()...)
	}
	slices.Sort(read)
	return r.newRow("extension", slices.Compact(read), cells)
}

// versionCUDA returns the CUDA of a version with a local part: 13.2 of "0.29.2+cu132", "none" of "0.29.2+cpu".
func versionCUDA(version string) (cuda string, ok bool) {
	_, local, _ := strings.Cut(version, "+")
	if local == "cpu" {
		return "none", true
	}
	m := localCUDA.FindStringSubmatch(local)
	if m == nil {
		return "", false
	}
	return m[1] + "." + m[2], true
}

// saidFamily returns the files that tell the CUDA family beside METADATA.
func (r *Reading) saidFamily() []string {
	if r.Paddle != "" {
		return []string{"version/__init__.py"}
	}
	var list []string
	for _, name := range r.Libraries {
		list = append(list, name[strings.LastIndex(name, "/")+1:])
	}
	return list
}

var (
	requiresPython = regexp.MustCompile(`(?m)^Requires-Python: *(.+)$`)
	beforePython4  = regexp.MustCompile(`^<4[.0]*,|,<4[.0]*$`)
)

// wants returns the version of a package that METADATA requires, directly or for an extra: "2.14.1" if it names one,
// otherwise the range. It returns "" if any version will do.
func (r *Reading) wants(name, extra string) string {
	for _, q := range r.requires() {
		marker := strings.ReplaceAll(q.marker, `'`, `"`)
		asked := extra == "" && !strings.Contains(marker, "extra") || extra != "" && strings.Contains(marker, `"`+extra+`"`)
		if q.name == name && asked && !elsewhere(marker) {
			return strings.TrimPrefix(q.spec, "==")
		}
	}
	return ""
}

// elsewhere reports whether a marker is that of another platform than x86-64 Linux.
func elsewhere(marker string) bool {
	marker = strings.ReplaceAll(strings.ReplaceAll(marker, `'`, `"`), " ", "")
	for _, other := range []string{`sys_platform=="win32"`, `sys_platform=="darwin"`, `platform_machine=="aarch64"`,
		`sys_platform!="linux"`} {
		if strings.HasPrefix(marker, other) || strings.HasPrefix(marker, "("+other) {
			return true
		}
	}
	return false
}

// families returns the CUDA major versions that a release is for: those of the CUDA libraries that its own need or open
// by name; otherwise that of its version file, of its project's name, of the NVIDIA packages that it requires, or of
// the torch that it pins on the index. It returns "none" if all libraries of the package need no CUDA.
func (s *Source) families(r *Reading, torch string, all bool) string {
	if len(r.Families) > 0 {
		return strings.Join(r.Families, " ")
	}
	if family := cmp.Or(r.Paddle, r.Tag.family(), r.requiredFamily(), s.torchFamily(torch)); family != "" {
		return family
	}
	if all && len(r.Libraries) > 0 && len(r.Code) == 0 {
		return "none"
	}
	return ""
}

var (
	localCUDA     = regexp.MustCompile(`^cu(\d\d)(\d)$`)
	packageFamily = regexp.MustCompile(`-cu(\d\d)$|-cuda(\d\d)x$`)
	extraFamily   = regexp.MustCompile(`(?m)^Requires-Dist: *[A-Za-z0-9._-]+\[[^\]]*\bcu(\d\d)\b[^\]]*\] *[^;\n]*$`)
	majorBound    = regexp.MustCompile(`[=>~]=(\d\d)\.`)
)

// requiredFamily returns the CUDA family of the NVIDIA packages that METADATA asks for: nvidia-cublas-cu12,
// cuda-toolkit==13.0.2, flashinfer_python[cu13].
func (r *Reading) requiredFamily() string {
	for _, q := range r.requires() {
		if strings.Contains(q.marker, "extra") || elsewhere(q.marker) {
			continue
		}
		if m := packageFamily.FindStringSubmatch(q.name); m != nil {
			return m[1] + m[2]
		}
		if m := majorBound.FindStringSubmatch(q.spec); m != nil &&
			(q.name == "cuda-toolkit" || q.name == "nvidia-cuda-runtime") {
			return m[1]
		}
	}
	if m := extraFamily.FindStringSubmatch(r.Metadata); m != nil {
		return m[1]
	}
	return ""
}

// torchFamily returns the CUDA family of a torch, as the index has it; empty for a range of them.
func (s *Source) torchFamily(torch string) string {
	variant := s.data.defaultVariant(torch)
	if len(variant) < len("cu121") || !strings.HasPrefix(variant, "cu") {
		return ""
	}
	return variant[2:4]
}

// defaultVariant returns the variant of a torch release that the index has for x86-64 Linux.
func (d *Data) defaultVariant(torch string) string {
	for _, row := range d.grids["pypi_default"].Rows {
		if final.MatchString(torch) && row[0] == short(torch) && row[1] == "linux_x86_64" {
			return row[2]
		}
	}
	return ""
}

// cudaLibrary matches the CUDA libraries whose number is the family's.
var cudaLibrary = regexp.MustCompile(`\blib(?:cudart|cublas|cublasLt|nvrtc|nvJitLink)\.so\.(1[0-9])\b`)

// familiesOf returns the CUDA major versions of the libraries that a file links to or, if it links to none, of those
// whose names it contains for opening them.
func familiesOf(f *elf.File) []string {
	needed, _ := f.ImportedLibraries() // a broken list is an empty one
	list := familiesIn(strings.Join(needed, " "))
	if len(list) == 0 {
		list = familiesIn(string(sectionOf(f, ".rodata")))
	}
	return list
}

var cudnnLibrary = regexp.MustCompile(`^libcudnn\.so\.(\d+)$`)

// cudnnOf returns the major version of the cuDNN to which a library is linked.
func cudnnOf(f *elf.File) string {
	needed, _ := f.ImportedLibraries()
	for _, name := range needed {
		if m := cudnnLibrary.FindStringSubmatch(name); m != nil {
			return m[1]
		}
	}
	return ""
}

func familiesIn(text string) []string {
	var list []string
	for _, m := range cudaLibrary.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	slices.Sort(list)
	return slices.Compact(list)
}
