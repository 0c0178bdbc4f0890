package pins

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/matrix/internal/fit"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/internal/model"
	"cudacompat/matrix/pin"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// EnginesIn returns the engines of an environment: packages whose releases each require one PyTorch, or few. They undo
// a pin that changes only PyTorch, or fail to load with it. A package that an engine brings, as vLLM brought xFormers
// and SGLang brings sglang-kernel, counts only if there is no engine.
func EnginesIn(m *model.Machine, e *model.Environment) []*model.Installed {
	var own, brought []*model.Installed
	for _, name := range m.Tables.ListWithTrait("pins-torch") {
		for _, p := range Beside(e) {
			switch {
			case p.Name != name || len(EngineRows(m, name)) == 0:
			case m.Tables.Trait("brought-by-engine", name, p.Number):
				brought = append(brought, p)
			default:
				own = append(own, p)
			}
		}
	}
	if len(own) == 0 {
		return brought
	}
	return own
}

// EngineRows returns the engine releases on the package index for this platform, oldest first.
func EngineRows(m *model.Machine, name string) []tables.Extension {
	if m.Platform != "linux_x86_64" { // the rows are read from these wheels
		return nil
	}
	var rows []tables.Extension
	for _, e := range tables.RowsOf[tables.Extension](m.Tables, name) {
		if e.Variant == "pypi" && len(e.Torch) > 0 && len(e.CUDA) > 0 {
			rows = append(rows, e)
		}
	}
	return rows
}

// pinEngines returns what to install if engines share the environment with PyTorch or require it: releases that fit,
// all from the installer's own index. The nearest torch comes first.
func pinEngines(m *model.Machine, b *model.Build, list []*model.Installed, candidates []model.Row) []verdict.Pin {
	for _, r := range candidates {
		if set := EngineSet(m, b, list, r); set != nil {
			return []verdict.Pin{EnginePin(m, b, r, set)}
		}
	}
	return nil
}

// EngineSet returns a release of every engine for one torch, or nil if an engine has none.
func EngineSet(m *model.Machine, b *model.Build, list []*model.Installed, r model.Row) []pin.Package {
	release, _ := version.ParseRelease(r.Release)
	if r.Variant != m.DefaultVariant("torch", release) {
		return nil
	}
	var set []pin.Package
	for _, p := range list {
		e := engineFor(m, p, r, version.ShortPython(b.Interpreter))
		if e == nil {
			return nil
		}
		set = append(set, pin.Package{Package: p.Name, Version: e.Release})
	}
	return set
}

// engineFor returns the engine's own release if it accepts a torch, otherwise the newest that does.
func engineFor(m *model.Machine, p *model.Installed, r model.Row, python string) *tables.Extension {
	rows := slices.DeleteFunc(EngineRows(m, p.Name), func(e tables.Extension) bool {
		return !TakesTorch(m, e, r) || m.Tables.CompiledForOlder(&e) || python != "" && !TakesPython(e, python) || !LoadsWheel(m, e) ||
			len(e.SASS) > 0 && !Covers(m, e) || !supports(m, e)
	})
	if i := slices.IndexFunc(rows, func(e tables.Extension) bool { return e.Release == p.Version }); i >= 0 {
		return &rows[i]
	}
	if len(rows) == 0 {
		return nil
	}
	return &rows[len(rows)-1]
}

// supports reports whether an engine's project supports one of the GPUs here, or does not say.
func supports(m *model.Machine, e tables.Extension) bool {
	least, _ := m.Tables.LeastCapability(e.Package, version.ParseOrZero(e.Release))
	return !least.Known() || len(m.GPUs) == 0 ||
		slices.ContainsFunc(m.GPUs, func(g hardware.GPU) bool { return !g.Capability.Known() || g.Capability.AtLeast(least) })
}

// wheelGlibc matches the minimum glibc in a wheel's name: "vllm-0.19.1-cp38-abi3-manylinux_2_31_x86_64.whl".
var wheelGlibc = lazyregexp.New(`-manylinux_(\d+)_(\d+)_x86_64`)

// LoadsWheel reports whether the C library here is new enough for a release's wheel, judging by the wheel's name in its
// source.
func LoadsWheel(m *model.Machine, e tables.Extension) bool {
	f := wheelGlibc.FindStringSubmatch(strings.Join(e.Source, " "))
	return f == nil || !m.Libc.Known() || !m.Libc.Less(version.ParseOrZero(f[1]+"."+f[2]))
}

// TakesTorch reports whether a release fits a torch, as package fit compares them. A release that requires one patch of
// torch accepts no other, because an installer would replace it.
func TakesTorch(m *model.Machine, e tables.Extension, r model.Row) bool {
	asks := func(text string) bool {
		exact := model.Exactly(text)
		return !exact.Known() || exact.Compare(r.Number) == 0
	}
	return slices.ContainsFunc(e.Torch, asks) && LoadsBeside(m, e, r)
}

// TakesPython reports whether a release has a wheel for a Python, "3.12".
func TakesPython(e tables.Extension, python string) bool {
	return len(e.Python) == 0 || slices.ContainsFunc(e.Python, func(text string) bool {
		if version.ParseOrZero(text).Known() {
			return text == python
		}
		ok, err := version.Allows(text, version.ParseOrZero(python))
		return err == nil && ok
	})
}

// EnginePin returns the commands for an engine. They also name PyTorch and the installed companions, because pip keeps
// whatever is installed as long as nothing forbids it.
func EnginePin(m *model.Machine, b *model.Build, r model.Row, set []pin.Package) verdict.Pin {
	why := fmt.Sprintf("%s %s is built for torch %s; keeps the driver", set[0].Package, set[0].Version, r.Release)
	list := append(slices.Clone(set), pin.Package{Package: "torch", Version: r.Release})
	for _, c := range r.Companions {
		if c.Package != "triton" && c.Version != "" && b.Env.Package(c.Package) != nil {
			list = append(list, c)
		}
	}
	return verdict.Pin{Package: set[0].Package, Version: set[0].Version, Why: why,
		Commands: Commands(b, r.CUDA, list, "", InstalledForOtherCUDA(b, r, list)...)}
}

// InstalledForOtherCUDA returns the packages of a list that are installed in the same release for another CUDA version
// or another torch. pip accepts 2.9.0+cu130 for torch==2.9.0 and would keep it.
func InstalledForOtherCUDA(b *model.Build, r model.Row, list []pin.Package) []string {
	var names []string
	beside := Beside(b.Env)
	for _, p := range list {
		have := ""
		if i := slices.IndexFunc(beside, func(o *model.Installed) bool { return o.Name == p.Package }); p.Package == b.Name {
			have = b.Version
		} else if i >= 0 {
			have = beside[i].Version
		}
		local, _ := version.ParseRelease(have)
		cuda, ok := local.LocalCUDA()
		if _, torch := local.Compiled(); torch.Known() {
			cuda, ok = version.Number{}, true
		}
		if ok && cuda.Short() != r.CUDA.Short() && strings.HasPrefix(have, p.Version+"+") {
			names = append(names, p.Package)
		}
	}
	return names
}

// asFramework returns the torch that an engine brings if a file names only the engine.
func asFramework(b *model.Build) *model.Build {
	torch := &model.Build{Build: &facts.Build{Name: "torch", Version: b.Named.Torch}, Env: b.Env, Interpreter: b.Interpreter}
	torch.Release, _ = version.ParseRelease(b.Named.Torch)
	return torch
}

// enginePins returns what to install instead of an engine that a file names. If there is nothing, the steps say so.
func enginePins(m *model.Machine, b *model.Build) (pins []verdict.Pin, steps []pin.Step) {
	own := []*model.Installed{model.NewInstalled(&facts.Package{Name: b.Name, Version: b.Version})}
	torch := asFramework(b)
	if pins = pinEngines(m, torch, own, Ranked(m, torch)); len(pins) == 0 {
		steps = []pin.Step{pin.Say(elsewhere + noEngine(m, b.Name))}
	}
	return pins, steps
}

func noEngine(m *model.Machine, name string) string {
	return fmt.Sprintf("no release of %s in the tables brings a torch that runs on %s with %s", pin.Quoted(name),
		pin.Quoted(m.DriverWords()), pin.Quoted(GPUWords(m)))
}

// Beside returns the packages of an environment, including those that a file only names, which have no path.
func Beside(e *model.Environment) []*model.Installed {
	var list []*model.Installed
	for i := range e.Packages {
		list = append(list, model.NewInstalled(&e.Packages[i]))
	}
	for _, w := range e.Requested {
		if w.Version != "" && w.Origin != "image" && e.Package(w.Name) == nil {
			list = append(list, model.NewInstalled(&facts.Package{Name: w.Name, Version: w.Version}))
		}
	}
	return list
}

// LoadsBeside reports whether no key of the comparison differs between a release and a row of torch.
func LoadsBeside(m *model.Machine, e tables.Extension, r model.Row) bool {
	result := FitRow(m, e, r)
	return !slices.ContainsFunc(result[:], func(a fit.Answer) bool {
		return a.State == fit.Differs || a.State == fit.Doubtful || a.State == fit.Lesser
	})
}

// FitRow compares a release with a row of torch.
func FitRow(m *model.Machine, e tables.Extension, r model.Row) fit.Result {
	release, _ := version.ParseRelease(e.Release)
	p := fit.Package{Name: e.Package, Release: release, Rows: []tables.Extension{e}}
	p.CUDA = cudaof.Find(m.Tables, cudaof.Package{Name: e.Package, Release: release, Version: e.Release, Rows: p.Rows,
		Index: cudaof.DefaultIndex, Platform: r.Platform})
	return fit.Compare(m.Tables, TorchOfRow(r), p, fit.Target{})
}

// TorchOfRow converts a row of torch to the form that package fit compares.
func TorchOfRow(r model.Row) fit.Torch {
	return fit.Torch{Release: version.Release{Number: r.Number, Local: r.Variant}, Platform: r.Platform,
		CUDA: cudaof.Exactly(r.CUDA, cudaof.Framework)}
}
