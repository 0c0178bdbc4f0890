package site

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix"
	"cudacompat/matrix/requires"
	"cudacompat/probe"
)

// gridGPUs are the columns of the grid: one GPU for each kind that differs.
var gridGPUs = []gridGPU{{"GTX 980", "GTX 9xx", "5.2", false}, {"P100", "P100", "6.0", false}, {"GTX 1080", "GTX 10xx", "6.1", false}, {"V100", "V100", "7.0", false},
	{"T4", "T4", "7.5", false}, {"A100", "A100", "8.0", false}, {"A10G", "A10G", "8.6", false}, {"L4", "L4", "8.9", false}, {"H100", "H100", "9.0", false},
	{"B200", "B200", "10.0", false}, {"RTX 5090", "RTX 5090", "12.0", false}, {"GH200 480GB", "GH200", "9.0", true}, {"GB200", "GB200", "10.0", true}, {"GB10", "GB10", "12.1", true}}

type gridGPU struct {
	Name, Words, Capability string
	Arm                     bool
}

// gridFrom is the first release in the grid.
const gridFrom = "2.4"

// grid is torch's releases by GPU.
type grid struct {
	Releases []gridRelease `json:"releases"`
	GPUs     []gridGPU     `json:"gpus"`
	Sources  []string      `json:"sources"` // each once; a build names them by their places
}

type gridRelease struct {
	Release string     `json:"release"`
	Cells   []gridCell `json:"cells"` // one a GPU
}

// gridCell is the builds of a release for a GPU.
type gridCell struct {
	Builds  []gridBuild `json:"builds"`
	Default string      `json:"default"` // the variant of plain pip install, "cu130"; "cpu"; empty: not known
}

// gridBuild is one build on one GPU.
type gridBuild struct {
	Variant   string           `json:"variant"` // "cu126"
	Drivers   requires.Drivers `json:"drivers"`
	Undecided requires.Drivers `json:"undecided"`
	Code      string           `json:"code"` // "machine code", "ptx", "unknown", "none"
	Because   []string         `json:"because"`
	Forward   string           `json:"forward,omitempty"` // the cuda-compat package that lifts older drivers
	Source    []int            `json:"source"`            // places in Sources
}

// works reports whether some driver runs the build.
func (g gridBuild) works() bool { return len(g.Drivers) > 0 }

// number returns "126" of "cu126".
func (g gridBuild) number() string { return strings.TrimPrefix(g.Variant, "cu") }

// makeGrid asks of every build of torch which drivers it needs on each GPU.
func (b *builder) makeGrid(ctx context.Context) (grid, error) {
	g := grid{GPUs: gridGPUs}
	var releases []string
	for _, r := range tables.Rows[tables.Torch](b.Tables) {
		if version.CompareTexts(r.Release, gridFrom) >= 0 && !slices.Contains(releases, r.Release) {
			releases = append(releases, r.Release)
		}
	}
	slices.SortFunc(releases, func(x, y string) int { return version.CompareTexts(y, x) })
	for _, release := range releases {
		row := gridRelease{Release: release, Cells: make([]gridCell, len(gridGPUs))}
		for i, gpu := range gridGPUs {
			row.Cells[i].Default = b.defaultVariant(release, gpu.platform())
		}
		var variants []tables.Torch
		for _, r := range tables.Rows[tables.Torch](b.Tables) {
			if r.Release == release && strings.HasPrefix(r.Variant, "cu") && strings.HasPrefix(r.Platform, "linux_") {
				variants = append(variants, r)
			}
		}
		slices.SortFunc(variants, func(x, y tables.Torch) int { return x.CUDA.Compare(y.CUDA) })
		done := map[string]bool{}
		for _, r := range variants {
			if done[r.Variant] {
				continue
			}
			done[r.Variant] = true
			if err := b.addBuild(ctx, &g, &row, release, r.Variant, variants); err != nil {
				return g, err
			}
		}
		g.Releases = append(g.Releases, row)
	}
	return g, nil
}

func (g gridGPU) platform() string {
	if g.Arm {
		return "linux_aarch64"
	}
	return "linux_x86_64"
}

// addBuild adds one variant to the cells of the GPUs whose platform has it.
func (b *builder) addBuild(ctx context.Context, g *grid, row *gridRelease, release, variant string, rows []tables.Torch) error {
	facts, err := probe.Given([]byte("torch==" + release + "+" + variant + "\n"))
	if err != nil {
		return err
	}
	var targets []matrix.Target
	for _, gpu := range gridGPUs {
		targets = append(targets, matrix.Target{GPUs: []string{gpu.Name}})
	}
	for i, need := range matrix.RequiredBy(ctx, b.Tables, facts, targets) {
		at := slices.IndexFunc(rows, func(r tables.Torch) bool { return r.Variant == variant && r.Platform == gridGPUs[i].platform() })
		if at < 0 { // there is no wheel of it for this platform
			continue
		}
		row.Cells[i].Builds = append(row.Cells[i].Builds, gridBuild{Variant: variant, Drivers: need.Drivers, Undecided: need.Undecided,
			Code: need.Code, Because: need.Because, Forward: b.forward(rows[at].CUDA, gridGPUs[i], need.Drivers), Source: g.cite(rows[at].Source)})
	}
	return ctx.Err()
}

// cite returns the places of sources in g.Sources, and adds those that are new.
func (g *grid) cite(sources []string) []int {
	places := make([]int, 0, len(sources))
	for _, source := range sources {
		at := slices.Index(g.Sources, source)
		if at < 0 {
			at = len(g.Sources)
			g.Sources = append(g.Sources, source)
		}
		places = append(places, at)
	}
	return places
}

// forward returns the cuda-compat package with which a driver below the first range runs a build's CUDA, or "" if there
// is none or the GPU is no data-centre one.
func (b *builder) forward(cuda version.Number, gpu gridGPU, drivers requires.Drivers) string {
	chip := b.Tables.ChipNamed(gpu.Name)
	if chip == nil || len(drivers) == 0 || strings.HasPrefix(gpu.Words, "GTX") || strings.HasPrefix(gpu.Words, "RTX") || gpu.Words == "GB10" {
		return ""
	}
	floor := version.ParseOrZero(drivers[0].From)
	for _, f := range tables.Rows[tables.Forward](b.Tables) {
		if f.CUDA.LessShort(cuda) || chip.LastBranch.Known() && version.Int(f.Branch) > chip.LastBranch.Major() {
			continue
		}
		for _, base := range f.Base {
			if n := version.ParseOrZero(base); n.Known() && n.Major() < floor.Major() && !n.Less(chip.FirstBranch) {
				return f.Package
			}
		}
		return ""
	}
	return ""
}

// defaultVariant returns the build of a release that plain pip install gets on a platform.
func (b *builder) defaultVariant(release, platform string) string {
	n := version.ParseOrZero(release)
	short := fmt.Sprintf("%d.%d", n.Major(), n.Minor())
	variant := ""
	for _, d := range tables.Rows[tables.Default](b.Tables) {
		if (d.Release == short || d.Release == release) && d.Platform == platform {
			variant = d.Variant
		}
	}
	return variant
}

// The rest is for the page.

type gridBody struct {
	Plain  gridTable
	Tables []gridTable
	Ladder ladder
	From   string
}

type gridTable struct {
	ID, Caption string
	GPUs        []gridGPU
	Rows        []gridLine
}

type gridLine struct {
	Release string
	Cells   []gridShown
}

// gridShown is a cell as it is shown.
type gridShown struct {
	Class, Text, Label string
	Release, GPU       int
}

// gridPages works the grid out and writes its page.
func (b *builder) gridPages() error {
	g, err := b.makeGrid(b.Context)
	if err != nil {
		return err
	}
	b.grid = g
	if err := b.writeJSON("grid.json", g); err != nil {
		return err
	}
	plain := g.table("plain", "What plain pip install torch gets", true)
	body := gridBody{From: gridFrom, Plain: plain, Tables: []gridTable{plain, g.table("any", "Every build, from any index", false)}, Ladder: b.ladder(g)}
	b.listed("PyTorch by GPU: the lowest driver that runs a release", "grid/", "grid matrix table ladder")
	return b.page("grid", page{Title: "PyTorch by GPU: the lowest driver that runs a release", Path: "grid/", Wide: true, JSON: "../grid.json",
		Description: "Which driver each PyTorch release needs on each NVIDIA GPU, for plain pip install and for every build.",
		Scripts:     []string{"lookup.js", "grid.js"}, Body: body})
}

func (g grid) table(id, caption string, plain bool) gridTable {
	t := gridTable{ID: id, Caption: caption, GPUs: g.GPUs}
	for i, r := range g.Releases {
		line := gridLine{Release: r.Release}
		for j, c := range r.Cells {
			shown := c.shown(plain)
			shown.Release, shown.GPU, shown.Label = i, j, shown.Text+": "+shown.Label
			line.Cells = append(line.Cells, shown)
		}
		t.Rows = append(t.Rows, line)
	}
	return t
}

// shown returns a cell for plain pip install, or for every build.
func (c gridCell) shown(plain bool) gridShown {
	builds := c.Builds
	if plain {
		builds = slices.DeleteFunc(slices.Clone(builds), func(b gridBuild) bool { return b.Variant != c.Default })
		switch {
		case c.Default == "cpu":
			return gridShown{Class: "f0", Text: "CPU", Label: "a CPU build"}
		case c.Default == "" || len(builds) == 0 && len(c.Builds) == 0:
			return gridShown{Class: "unknown", Text: "?", Label: "not known"}
		case len(builds) == 0:
			return gridShown{Class: "unknown", Text: "?", Label: c.Default + " is not in the tables"}
		}
	}
	var text, label []string
	lowest, ends, ptx, compat, undecided := "", false, true, false, len(builds) == 0
	for _, b := range builds {
		if !b.works() {
			undecided = undecided || len(b.Undecided) > 0 || b.Code == "unknown"
			continue
		}
		text = append(text, b.number())
		label = append(label, b.Variant+": driver "+b.Drivers.String())
		if from := b.Drivers[0].From; lowest == "" || version.CompareTexts(from, lowest) < 0 {
			lowest = from
		}
		ends = ends || b.Drivers[len(b.Drivers)-1].Before != ""
		ptx = ptx && b.Code == "ptx"
		compat = compat || b.Forward != ""
	}
	if len(text) == 0 {
		if undecided {
			return gridShown{Class: "unknown", Text: "?", Label: "not known"}
		}
		return gridShown{Class: "f0", Text: "–", Label: "no build runs"}
	}
	s := gridShown{Class: floorClass(lowest), Text: strings.Join(text, " "), Label: strings.Join(label, "; ")}
	if ptx {
		s.Class += " ptx"
		s.Label += "; PTX only, compiled on first use"
	}
	if ends {
		s.Text += " †"
		s.Label += "; ends at a driver"
	}
	if compat {
		s.Text += " c"
		s.Label += "; with cuda-compat also on some older drivers"
	}
	return s
}

// floorClass returns the colour of a lowest driver.
func floorClass(from string) string {
	for _, step := range []string{"580", "570", "525"} {
		if version.CompareTexts(from, step) >= 0 {
			return "f" + step
		}
	}
	return "f450"
}
