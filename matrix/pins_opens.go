package matrix

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/pin"
)

// openSteps are what to install so that a package finds the libraries that it opens.
func (m *machine) openSteps(b *build) []pin.Step {
	steps := m.releaseSteps(b)
	if b.Name == "ctranslate2" {
		steps = m.wheelSteps(b)
	}
	if len(steps) == 0 {
		return []pin.Step{pin.Say(fmt.Sprintf("install %s of CUDA %d, and start the program with an LD_LIBRARY_PATH that leads there", pin.Said(some(b.Missing)), b.cuda.Major()))}
	}
	return steps
}

// releaseSteps name a release that takes the libraries of the framework beside it, else one that brings its own. Those
// of another CUDA than the framework's stay apart: their cuDNN would be written over the framework's.
func (m *machine) releaseSteps(b *build) []pin.Step {
	framework := m.frameworkOf(b)
	own := m.releaseFor(b, m.fitsDriver)
	if framework == nil || own == nil {
		return b.change(own, true, b.env.place())
	}
	if framework.lends(b) {
		if steps := b.change(m.releaseFor(b, framework.sharesWith), false, b.env.place()); len(steps) > 0 {
			steps[0] = steps[0].That("it takes the libraries of " + pin.Said(framework.Name))
			return steps
		}
	}
	steps := b.change(own, true, pin.Place{})
	if len(steps) == 0 {
		return nil
	}
	steps[0] = steps[0].That("in an environment of its own, without " + pin.Said(framework.Name))
	return steps
}

// fitsDriver reports whether the driver runs what a release is built for.
func (m *machine) fitsDriver(e tables.Extension) bool { return m.reached(e.Family()) }

// lends reports whether a framework is of another CUDA than the package, and that its own libraries are there.
func (b *build) lends(to *build) bool {
	lost := func(name string) bool { return strings.HasPrefix(name, "lib") }
	return b.cuda.Major() != to.cuda.Major() && b.Looked && !slices.ContainsFunc(b.Missing, lost)
}

// sharesWith reports whether a release needs the libraries that a framework has: of the same CUDA, and, where both are
// known, of the same cuDNN.
func (b *build) sharesWith(e tables.Extension) bool {
	cudnn := !e.CuDNN.Known() || !b.cudnn.Known() || e.CuDNN.Major() == b.cudnn.Major()
	return cudnn && e.Family().Major() == b.cuda.Major()
}

// releaseFor is the package's own release where that will do, else the newest, of the same CUDA if one is.
func (m *machine) releaseFor(b *build, fits func(tables.Extension) bool) *tables.Extension {
	var list []tables.Extension
	for _, e := range slices.Backward(tables.Rows[tables.Extension](m.t)) {
		python := version.ShortPython(b.python)
		if sameProject(e.Package, b.Name) && m.t.Trait("cuda-from-wheels", e.Package, version.Of(e.Release)) && fits(e) &&
			(python == "" || slices.Contains(e.Python, python)) {
			list = append(list, e)
		}
	}
	own := func(e tables.Extension) bool { return e.Package == b.Name && e.Release == b.Version }
	family := func(e tables.Extension) bool { return e.Family().Major() == b.cuda.Major() && m.covers(e) }
	for _, best := range []func(tables.Extension) bool{own, family, m.covers} {
		if i := slices.IndexFunc(list, best); i >= 0 {
			return &list[i]
		}
	}
	return nil
}

// covers reports whether a release has machine code for every GPU here.
func (m *machine) covers(e tables.Extension) bool {
	return !slices.ContainsFunc(m.gpus, func(g gpu) bool {
		return version.Cover(e.SASS, nil,
			g.capability) != version.BySASS
	})
}

// sameProject reports whether two names are of one project: CuPy has a name for every CUDA.
func sameProject(a, b string) bool {
	return a == b || strings.HasPrefix(a, "cupy-cuda") && strings.HasPrefix(b, "cupy-cuda")
}

// change are the steps that put a release in the place of the one that is there, with its extras that bring
// libraries.
func (b *build) change(e *tables.Extension, extras bool, at pin.Place) []pin.Step {
	if e == nil {
		return nil
	}
	extra, onnx := "[ctk]", e.Package == "onnxruntime-gpu"
	if onnx {
		extra = "[cuda,cudnn]"
	}
	if !extras {
		extra = ""
	}
	install := pin.Install{Packages: []string{e.Package + extra + "==" + e.Release}}
	if e.Package != b.Name {
		install.Remove = []string{b.Name}
	}
	command := install.Step(at)
	switch {
	case command == "":
		return nil
	case onnx:
		return []pin.Step{pin.Run(command), pin.Say("call onnxruntime.preload_dlls() before the first session")}
	}
	return []pin.Step{pin.Run(command)}
}

// wheelSteps install the wheels with what CTranslate2 opens, which has no extra and looks into none. A framework's
// cuDNN stays as it is.
func (m *machine) wheelSteps(b *build) []pin.Step {
	var wheels, dirs []string
	for _, library := range b.Missing {
		stem, major, _ := strings.Cut(library, ".so.")
		part, version := "cublas", ""
		if strings.HasPrefix(stem, "libcudnn") {
			part, version = "cudnn", "=="+major+".*"
		}
		if dir := path.Join(path.Dir(b.Path), "nvidia", part, "lib"); !slices.Contains(dirs, dir) {
			wheels = append(wheels, fmt.Sprintf("nvidia-%s-cu%d%s", part, b.cuda.Major(), version))
			dirs = append(dirs, dir)
		}
	}
	cudnn := func(wheel string) bool { return strings.HasPrefix(wheel, "nvidia-cudnn") }
	if b.cuda.Major() > 12 || m.frameworkOf(b) != nil && slices.ContainsFunc(wheels, cudnn) {
		return nil
	}
	command := b.env.installStep(pin.Install{Packages: wheels})
	if command.Run == "" {
		return nil
	}
	return []pin.Step{command, pin.Run("export LD_LIBRARY_PATH=" + first(strings.Join(dirs, ":"))).That("before the program starts")}
}
