// Package artefact makes rows of the tables from the wheels themselves, compares them with the tables, and seals the
// rows that a source vouches for. It is for the program that keeps data/ true, tools/tables; nothing of it is in the
// cudacompat that ships.
//
// Package wheel finds and opens the wheels, package reading reads them, and package pages reads the other sources.
package artefact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"cudacompat/internal/fatbin"
	"cudacompat/tools/artefact/reading"
	"cudacompat/tools/artefact/wheel"
)

// Product is a family of wheels whose rows make one table.
type Product struct {
	Name     string
	Table    string   // of data/
	Projects []string // on the index
	Members  []string // what is taken out of a wheel, as patterns of package path
	rows     func(*Source, context.Context, *reading.Reading) ([]Row, error)
	platform string            // the one platform whose wheels make rows, where a table has one row for all
	first    []string          // members that tell whether there is a row; the others are fetched only then
	since    string            // the oldest release that makes a row; empty: as far back as the table reaches
	ended    map[string]string // the first release, by project, that makes no row any more
}

// wheelReaders are the readers of sources whose wheels each make rows; data/sources.toml names the projects.
var wheelReaders = []Product{
	{Name: "torch", Table: "torch", rows: torchRows,
		Members: []string{"torch/version.py", "torch/lib/libtorch_cuda.so", "torch/lib/libtorch_cuda_c*.so",
			"torch/lib/libc10*.so", "torch/lib/libgomp*.so*"}}, // these want the newest glibc; the tag manylinux1 does not tell
	{Name: "tensorflow", Table: "tensorflow", rows: tensorflowRows,
		first: []string{"tensorflow/python/platform/build_info.py"},
		Members: []string{"tensorflow/python/platform/build_info.py", "tensorflow/libtensorflow_cc.so.2",
			"tensorflow/python/_pywrap_tensorflow_internal.so"}},
	{Name: "jax", Table: "jax", rows: jaxRows, Members: []string{"jax_cuda*_plugin/*.so"},
		ended: map[string]string{"jax": "0.4.26"}}, // from then on CUDA is in plugins
	{Name: "nccl", Table: "nccl", rows: ncclRows, Members: []string{"nvidia/nccl/lib/libnccl.so.2"},
		platform: "linux_x86_64"},
	{Name: "cudnn", Table: "cudnn", rows: cudnnRows,
		Members:  []string{"nvidia/cudnn/lib/libcudnn_cnn.so.9", "nvidia/cudnn/lib/libcudnn_cnn_infer.so.8"},
		platform: "linux_x86_64"},
	{Name: "triton", Table: "triton", rows: tritonRows,
		Members: []string{"triton/common/../third_party/cuda/bin/ptxas", "triton/third_party/cuda/bin/ptxas",
			"triton/common/third_party/cuda/bin/ptxas", "triton/backends/nvidia/bin/ptxas*"}, platform: "linux_x86_64"},
}

// Row contains what the artefact says about one row: its cells by column. A missing column means that the artefact does
// not say; an empty cell means that there is nothing.
type Row struct {
	Table string
	Cells map[string]string
	// Sources are what was read for it, by project.
	Sources map[string]string
	// Restated: the next release of the same source says it again, so that a row that says so already keeps its source.
	Restated bool
}

// Source is an index with a reader of its wheels.
type Source struct {
	wheel.Index
	reading.Reader
	Copies map[string]string // of sources that no address has as they are read: a file or a clone, by id
	Data   *Data
	lists  map[string][]wheel.File
}

// NewSource returns an index with a reader that keeps what it read in a directory.
func NewSource(address, cache string, web *wheel.Web, d *Data) *Source {
	return &Source{Index: wheel.Index{Address: address, Web: web}, Reader: reading.Reader{Web: web, Cache: cache}, Data: d, lists: map[string][]wheel.File{}}
}

// Candidate is one wheel that stands for all of a release on a platform.
type Candidate struct {
	wheel.File
	wheel.Tag
	Pythons []string // of all the release's wheels for the platform
}

// String names what the wheel represents: "torch 2.9.0 linux_x86_64".
func (c Candidate) String() string {
	version := c.Version
	if c.Local != "" {
		version += "+" + c.Local
	}
	return wheel.NameSeparators.ReplaceAllString(c.Project, "-") + " " + version + " " + c.Platform
}

// Candidates lists the releases on the index in order, with one wheel for each platform: the one that a row already
// names, otherwise CPython 3.12's, otherwise the newest. It omits release candidates and development builds.
func (s *Source) Candidates(ctx context.Context, p Product) ([]Candidate, error) {
	var all []Candidate
	for _, project := range p.Projects {
		files, err := s.ListFiles(ctx, project)
		if err != nil {
			return nil, err
		}
		named := func(f wheel.File) bool { return s.Data.names(p.Table, f) }
		list := slices.DeleteFunc(choose(files, named), func(c Candidate) bool {
			return p.ended[project] != "" && reading.CompareVersions(c.Version, p.ended[project]) >= 0
		})
		all = append(all, p.onPlatform(list)...)
	}
	slices.SortStableFunc(all, func(a, b Candidate) int {
		return cmp.Or(reading.CompareVersions(a.Version, b.Version), cmp.Compare(a.Local, b.Local),
			cmp.Compare(a.Platform, b.Platform))
	})
	return all, nil
}

// onPlatform keeps the wheels for the product's platform and, for a release without one, those for any platform.
func (p Product) onPlatform(list []Candidate) []Candidate {
	if p.platform == "" {
		return list
	}
	own := map[string]bool{}
	for _, c := range list {
		own[c.Version] = own[c.Version] || c.Platform == p.platform
	}
	return slices.DeleteFunc(list, func(c Candidate) bool {
		return c.Platform != p.platform && (c.Platform != "any" || own[c.Version])
	})
}

// ListFiles returns a project's wheels on the index.
func (s *Source) ListFiles(ctx context.Context, project string) ([]wheel.File, error) {
	files, err := s.archives(ctx, project)
	return slices.DeleteFunc(slices.Clone(files), func(f wheel.File) bool { return !strings.HasSuffix(f.Name, ".whl") }), err
}

// archives returns a project's wheels and source archives on the index.
func (s *Source) archives(ctx context.Context, project string) ([]wheel.File, error) {
	if files, ok := s.lists[project]; ok {
		return files, nil
	}
	files, err := s.projectFiles(ctx, project)
	if err == nil {
		s.lists[project] = files
	}
	return files, err
}

// FinalVersion matches the versions of releases; 2.15.0.post1 is one.
var FinalVersion = regexp.MustCompile(`^\d+(\.\d+)*(\.post\d+)?$`)

func choose(files []wheel.File, named func(wheel.File) bool) []Candidate {
	best := map[[3]string]Candidate{}
	for _, f := range files {
		tag, ok := f.Tag()
		if !ok || tag.Platform == "" || !FinalVersion.MatchString(tag.Version) {
			continue
		}
		key := [3]string{tag.Version, tag.Local, tag.Platform}
		have, seen := best[key]
		c := Candidate{File: f, Tag: tag}
		if seen && !better(c, have, named) {
			c = have
		}
		c.Pythons = have.Pythons
		if tag.Python != "" && !slices.Contains(c.Pythons, tag.Python) {
			c.Pythons = append(c.Pythons, tag.Python)
		}
		best[key] = c
	}
	return slices.Collect(maps.Values(best))
}

// Releases gives one wheel for each final release for a platform, the newest first.
func Releases(files []wheel.File, platform string) []wheel.File {
	list := choose(files, func(wheel.File) bool { return false })
	list = slices.DeleteFunc(list, func(c Candidate) bool { return c.Platform != platform })
	slices.SortFunc(list, func(a, b Candidate) int { return reading.CompareVersions(b.Version, a.Version) })
	wheels := make([]wheel.File, len(list))
	for i, c := range list {
		wheels[i] = c.File
	}
	return wheels
}

func better(a, b Candidate, named func(wheel.File) bool) bool {
	rank := func(c Candidate) int {
		switch {
		case named(c.File):
			return 3
		case c.Yanked:
			return 0
		case c.Python == "3.12":
			return 2
		}
		return 1
	}
	// The wheel for older systems is the poorer one where there are two: XGBoost's has no CUDA.
	return cmp.Or(cmp.Compare(rank(a), rank(b)), reading.CompareVersions(a.Python, b.Python),
		reading.CompareVersions(a.Glibc, b.Glibc)) > 0
}

// Rows reads one wheel and says what rows come out of it.
func (s *Source) Rows(ctx context.Context, p Product, c Candidate) ([]Row, error) {
	if err := s.isEmpty(ctx, p, c); err != nil {
		return nil, err
	}
	reading, err := s.Read(ctx, c.File, p.Members)
	if err != nil {
		return nil, err
	}
	rows, err := p.rows(s, ctx, reading)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	for i := range rows {
		if _, ok := rows[i].Cells["python"]; ok && len(c.Pythons) > 0 {
			slices.SortFunc(c.Pythons, comparePythons)
			rows[i].Cells["python"] = strings.Join(c.Pythons, " ")
		}
		if s.Data.hasColumn(rows[i].Table, "released") && c.Date != "" {
			rows[i].Cells["released"] = c.Date
		}
	}
	return rows, nil
}

// isEmpty reads the part of a wheel that shows that it makes no row, and then returns Empty: 22 of TensorFlow's wheels
// for aarch64 are CPU builds with libraries of 130 MB.
func (s *Source) isEmpty(ctx context.Context, p Product, c Candidate) error {
	if p.first == nil {
		return nil
	}
	reading, err := s.Read(ctx, c.File, p.first)
	if err != nil {
		return err
	}
	var empty *Empty
	if _, err := p.rows(s, ctx, reading); errors.As(err, &empty) {
		return empty
	}
	return nil
}

// comparePythons puts "3.13t" behind "3.13".
func comparePythons(a, b string) int {
	x, y := strings.TrimSuffix(a, "t"), strings.TrimSuffix(b, "t")
	return cmp.Or(reading.CompareVersions(x, y), cmp.Compare(a, b))
}

// newRow returns a row of the reading's own wheel.
func newRow(r *reading.Reading, table string, by []string, cells map[string]string) Row {
	if by != nil {
		cells["verified"] = strings.Join(append(by, r.Date), " ")
	}
	return Row{Table: table, Cells: cells, Sources: map[string]string{r.Tag.Project: r.NameSource()}}
}

// SetCode writes the machine code into the row's cells, "none" if there is none.
func SetCode(cells map[string]string, sass, ptx []string) {
	cells["sass"] = strings.Join(sass, " ")
	cells["ptx"] = cmp.Or(strings.Join(ptx, " "), "none")
}

// Shorten returns a release's first two parts.
func Shorten(version string) string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return version
	}
	return parts[0] + "." + parts[1]
}

const buildList = fatbin.BuildList

// Lacking is the error for a source that names something the tables lack and only a person can add.
type Lacking struct{ What string }

// Error implements error.
func (l *Lacking) Error() string { return l.What }
