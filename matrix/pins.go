package matrix

import (
	"fmt"
	"slices"
	"strings"
)

// torchIndex is PyTorch's own package index of one variant.
func torchIndex(variant string) string { return "https://download.pytorch.org/whl/" + variant }

// pins says what to install instead of a build that does not run here: the same framework in a variant that runs on
// this driver, these GPUs and this Python, else the nearest release. do says why there is none, or what else helps.
func (m *machine) pins(b *build) (pins []Pin, do []string) {
	if b.Name != "torch" {
		return nil, []string{frameworkSteps(b)}
	}
	if pins = m.torchPins(b); len(pins) == 0 {
		do = []string{m.whyNoTorch(b)}
	}
	return pins, do
}

func frameworkSteps(b *build) string {
	switch b.Name {
	case "tensorflow":
		return `install the CUDA build: pip install "tensorflow[and-cuda]"`
	case "jax":
		return `install the CUDA plugin: pip install "jax[cuda12]", or "jax[cuda13]" on driver 580 and newer`
	}
	return "install a build of " + b.Name + " for this driver and these GPUs"
}

// torchPins picks the torch to install instead: of the same release the variants that run here, those nearest to the
// driver's own CUDA first; else the one of the nearest release.
func (m *machine) torchPins(b *build) []Pin {
	candidates := m.runnable(b)
	if len(candidates) == 0 {
		return nil
	}
	m.rankWheels(b, candidates)
	best := candidates[0]
	pins := []Pin{m.torchPin(b, best)}
	if len(candidates) > 1 && candidates[1].Release == best.Release {
		pins = append(pins, m.torchPin(b, candidates[1]))
	}
	return pins
}

// runnable are the wheels of this platform that this machine can run.
func (m *machine) runnable(b *build) []Wheel {
	var list []Wheel
	for _, w := range must(m.t.torch()) {
		if w.Platform == m.platform && m.runs(b, w) {
			list = append(list, w)
		}
	}
	return list
}

// runs asks of a wheel what Check would ask of it once it is installed.
func (m *machine) runs(b *build, w Wheel) bool {
	python := shortPython(b.python)
	if python != "" && !slices.Contains(w.Python, python) {
		return false
	}
	if libc := version(m.f.System.Libc); libc.Known() && libc.Less(w.Glibc) || m.f.System.Libc == "musl" {
		return false
	}
	if state, _, _ := m.floor(w.CUDA); state != floorFull && state != floorMinor {
		return false
	}
	return m.hasCode(w)
}

// hasCode says that the wheel has machine code for every GPU that is known here, and that there is one.
func (m *machine) hasCode(w Wheel) bool {
	for _, g := range m.gpus {
		if !g.capability.Known() || cover(w.SASS, nil, g.capability) != bySASS {
			return false
		}
	}
	return true
}

// rankWheels sorts by nearness: first of the release, then of the CUDA to the driver's own.
func (m *machine) rankWheels(b *build, list []Wheel) {
	releases := m.torchReleases()
	wanted, exact := slices.BinarySearchFunc(releases, b.release.Number, Version.Compare)
	if !b.release.Number.Known() { // nothing to stay near to: the newest
		wanted, exact = len(releases), true
	}
	distance := func(w Wheel) int {
		at, _ := slices.BinarySearchFunc(releases, version(w.Release), Version.Compare)
		d := at - wanted
		if d >= 0 && !exact {
			d++ // a release that the table does not know stands before the next one
		}
		return max(d, -d)
	}
	slices.SortStableFunc(list, func(x, y Wheel) int {
		if c := distance(x) - distance(y); c != 0 {
			return c
		}
		if c := version(y.Release).Compare(version(x.Release)); c != 0 {
			return c // of two as near, the newer
		}
		return m.cudaDistance(x.CUDA) - m.cudaDistance(y.CUDA)
	})
}

// cudaDistance is how far a CUDA is from the driver's own, in minor versions; ten make a family.
func (m *machine) cudaDistance(cuda Version) int {
	d := (cuda.Major()-m.driver.cuda.Major())*10 + cuda.Minor() - m.driver.cuda.Minor()
	return max(d, -d)
}

// torchReleases is every release of the table once, oldest first.
func (m *machine) torchReleases() []Version {
	var list []Version
	for _, w := range must(m.t.torch()) {
		if v := version(w.Release); len(list) == 0 || list[len(list)-1].Compare(v) != 0 {
			list = append(list, v)
		}
	}
	return list
}

// torchPin writes the commands. The local version is named on purpose: pip and uv take an installed 2.9.0+cu130 for
// torch==2.9.0 and would change nothing. Companions that are installed come along, or they would break.
func (m *machine) torchPin(b *build, w Wheel) Pin {
	local := w.Release + "+" + w.Variant
	specs := []string{"torch==" + local}
	for _, c := range []struct{ name, version string }{{"torchvision", w.Torchvision}, {"torchaudio", w.Torchaudio}} {
		if b.env.Package(c.name) != nil && c.version != "" {
			specs = append(specs, c.name+"=="+c.version+"+"+w.Variant)
		}
	}
	install := strings.Join(specs, " ") + " --index-url " + torchIndex(w.Variant)
	pip, uv := "pip install "+install, "uv pip install "+install
	if stale := b.otherFamily(w.CUDA); len(stale) > 0 {
		pip = "pip uninstall -y " + strings.Join(stale, " ") + " && " + pip
		uv = "uv pip uninstall " + strings.Join(stale, " ") + " && " + uv
	}
	return Pin{Package: "torch", Version: local, Why: "keeps the driver", Commands: map[string]string{"pip": pip, "uv": uv}}
}

// otherFamily are the installed wheels that own the same files as those of the new CUDA family: left in place, they
// would take the new files with them when they are removed.
func (b *build) otherFamily(cuda Version) []string {
	var list []string
	for _, library := range sharedPaths {
		for _, p := range b.env.Packages {
			if rest, ok := strings.CutPrefix(p.Name, "nvidia-"+library+"-cu"); ok && rest != fmt.Sprint(cuda.Major()) {
				list = append(list, p.Name)
			}
		}
	}
	return list
}

// whyNoTorch names the first condition that no wheel of the table meets.
func (m *machine) whyNoTorch(b *build) string {
	var left []Wheel
	for _, w := range must(m.t.torch()) {
		if w.Platform == m.platform {
			left = append(left, w)
		}
	}
	python := shortPython(b.python)
	for _, c := range []struct {
		words string
		meets func(Wheel) bool
	}{
		{"Python " + python, func(w Wheel) bool { return python == "" || slices.Contains(w.Python, python) }},
		{"glibc " + m.f.System.Libc, func(w Wheel) bool {
			return !version(m.f.System.Libc).Known() && m.f.System.Libc != "musl" || m.f.System.Libc != "musl" && !version(m.f.System.Libc).Less(w.Glibc)
		}},
		{m.gpuWords(), m.hasCode},
		{m.driverWords(), func(w Wheel) bool { state, _, _ := m.floor(w.CUDA); return state == floorFull || state == floorMinor }},
	} {
		before := len(left)
		left = slices.DeleteFunc(left, func(w Wheel) bool { return !c.meets(w) })
		if len(left) == 0 && before > 0 {
			return "no PyTorch wheel in the tables runs on " + c.words + " together with the rest of this machine"
		}
	}
	return "the tables have no PyTorch wheel for " + m.platform
}

func (m *machine) gpuWords() string {
	if len(m.gpus) == 0 {
		return "no GPU"
	}
	var labels []string
	for _, g := range m.gpus {
		if !slices.Contains(labels, g.label) {
			labels = append(labels, g.label)
		}
	}
	return joinAnd(labels)
}
