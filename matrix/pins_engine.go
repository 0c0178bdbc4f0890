package matrix

import (
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// enginesIn are the engines of an environment, packages each release of which asks for one PyTorch, or for few: they
// undo a pin of PyTorch alone, or do not load with it. What others bring along, as vLLM brought xFormers and SGLang
// brings sglang-kernel, is one only where there is no other.
func (m *machine) enginesIn(e *environment) []*installed {
	var own, brought []*installed
	for _, name := range m.t.WithTrait("pins-torch") {
		for _, p := range e.beside() {
			switch {
			case p.Name != name || len(m.engineRows(name)) == 0:
			case m.t.Trait("brought-by-engine", name, p.version):
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

// engineRows are the releases of an engine that the package index has for this platform, oldest first.
func (m *machine) engineRows(name string) []tables.Extension {
	if m.platform != "linux_x86_64" { // the rows are read from these wheels
		return nil
	}
	var rows []tables.Extension
	for _, e := range tables.RowsOf[tables.Extension](m.t, name) {
		if e.Variant == "pypi" && len(e.Torch) > 0 && len(e.CUDA) > 0 {
			rows = append(rows, e)
		}
	}
	return rows
}

// withEngines is what to install where engines share the environment with PyTorch, or ask for it: releases that go
// together, of which the installer's own index has all. Of the torch rows the nearest comes first.
func (m *machine) withEngines(b *build, list []*installed, candidates []row) []Pin {
	for _, r := range candidates {
		if set := m.engineSet(b, list, r); set != nil {
			return []Pin{m.enginePin(b, r, set)}
		}
	}
	return nil
}

// engineSet is a release of every engine for one torch; nil where one has none.
func (m *machine) engineSet(b *build, list []*installed, r row) []pin.Package {
	release, _ := version.ParseRelease(r.Release)
	if r.Variant != m.defaultVariant("torch", release) {
		return nil
	}
	var set []pin.Package
	for _, p := range list {
		e := m.engineFor(p, r, version.ShortPython(b.python))
		if e == nil {
			return nil
		}
		set = append(set, pin.Package{Package: p.Name, Version: e.Release})
	}
	return set
}

// engineFor is the engine's own release where it takes a torch, else the newest that does.
func (m *machine) engineFor(p *installed, r row, python string) *tables.Extension {
	rows := slices.DeleteFunc(m.engineRows(p.Name), func(e tables.Extension) bool {
		return !takesTorch(e, r) || python != "" && !takesPython(e, python) || !m.loadsWheel(e) ||
			len(e.SASS) > 0 && !m.covers(e) || !m.supports(e)
	})
	if i := slices.IndexFunc(rows, func(e tables.Extension) bool { return e.Release == p.Version }); i >= 0 {
		return &rows[i]
	}
	if len(rows) == 0 {
		return nil
	}
	return &rows[len(rows)-1]
}

// supports reports whether an engine's project supports one of the GPUs here, as far as it says.
func (m *machine) supports(e tables.Extension) bool {
	least, _ := m.t.LeastCapability(e.Package, version.Of(e.Release))
	return !least.Known() || len(m.gpus) == 0 ||
		slices.ContainsFunc(m.gpus, func(g gpu) bool { return !g.capability.Known() || g.capability.AtLeast(least) })
}

// wheelGlibc matches the least glibc in a wheel's name: "vllm-0.19.1-cp38-abi3-manylinux_2_31_x86_64.whl".
var wheelGlibc = lazyregexp.New(`-manylinux_(\d+)_(\d+)_x86_64`)

// loadsWheel reports whether the C library here is new enough for a release's wheel, by the wheel's name in its source.
func (m *machine) loadsWheel(e tables.Extension) bool {
	f := wheelGlibc.FindStringSubmatch(strings.Join(e.Source, " "))
	return f == nil || !m.libc.Known() || !m.libc.Less(version.Of(f[1]+"."+f[2]))
}

// takesTorch reports whether a release asks for just this torch, or for a range that has it, and is of its CUDA family.
func takesTorch(e tables.Extension, r row) bool {
	return !otherFamily(e.CUDA, r.CUDA) && slices.ContainsFunc(e.Torch, func(text string) bool {
		if exact := exactly(text); exact.Known() {
			return exact.Compare(r.number) == 0
		}
		ok, err := version.Allows(text, r.number)
		return err == nil && ok
	})
}

// takesPython reports whether there is a wheel of a release for a Python, "3.12".
func takesPython(e tables.Extension, python string) bool {
	return len(e.Python) == 0 || slices.ContainsFunc(e.Python, func(text string) bool {
		if version.Of(text).Known() {
			return text == python
		}
		ok, err := version.Allows(text, version.Of(python))
		return err == nil && ok
	})
}

// enginePin writes the commands. PyTorch is named beside the engine, and the companions that are there: pip leaves what
// is installed as long as nothing forbids it.
func (m *machine) enginePin(b *build, r row, set []pin.Package) Pin {
	why := fmt.Sprintf("%s %s is built for torch %s; keeps the driver", set[0].Package, set[0].Version, r.Release)
	list := append(slices.Clone(set), pin.Package{Package: "torch", Version: r.Release})
	for _, c := range r.companions {
		if c.Package != "triton" && c.Version != "" && b.env.Package(c.Package) != nil {
			list = append(list, c)
		}
	}
	return Pin{Package: set[0].Package, Version: set[0].Version, Why: why,
		Commands: b.commands(r.CUDA, list, "", b.sameButFamily(r, list)...)}
}

// sameButFamily are the installed packages of a list that are of the very releases, for another CUDA family: pip takes
// 2.9.0+cu130 for torch==2.9.0 and would leave it.
func (b *build) sameButFamily(r row, list []pin.Package) []string {
	var names []string
	for _, p := range list {
		have := ""
		if p.Package == b.Name {
			have = b.Version
		} else if installed := b.env.Package(p.Package); installed != nil {
			have = installed.Version
		}
		local, _ := version.ParseRelease(have)
		cuda, ok := local.LocalCUDA()
		if ok && cuda.Major() != r.CUDA.Major() && strings.HasPrefix(have, p.Version+"+") {
			names = append(names, p.Package)
		}
	}
	return names
}

// asFramework is the torch that an engine alone in a file brings.
func (b *build) asFramework() *build {
	torch := &build{Build: &facts.Build{Name: "torch", Version: b.named.torch}, env: b.env, python: b.python}
	torch.release, _ = version.ParseRelease(b.named.torch)
	return torch
}

// enginePins is what to install instead of an engine that a file names; steps say that there is nothing.
func (m *machine) enginePins(b *build) (pins []Pin, steps []pin.Step) {
	own := []*installed{newInstalled(&facts.Package{Name: b.Name, Version: b.Version})}
	torch := b.asFramework()
	if pins = m.withEngines(torch, own, m.ranked(torch)); len(pins) == 0 {
		steps = []pin.Step{pin.Say(m.noEngine(b.Name))}
	}
	return pins, steps
}

func (m *machine) noEngine(name string) string {
	return fmt.Sprintf("no release of %s in the tables brings a torch that runs on %s with %s", pin.Said(name),
		pin.Said(m.driverWords()), pin.Said(m.gpuWords()))
}

// engineMends puts an engine and a torch together again that are not made for each other: the torch that the engine
// asks for, and the engine for the torch that is there, where these run here.
func (m *machine) engineMends(p *installed, b *build) []Pin {
	var pins []Pin
	for _, keep := range []func(row, []pin.Package) bool{
		func(_ row, set []pin.Package) bool { return set[0].Version == p.Version },
		func(r row, _ []pin.Package) bool { return r.number.Short() == b.release.Number.Short() },
	} {
		for _, r := range m.ranked(b) {
			set := m.engineSet(b, []*installed{p}, r)
			if set == nil || !keep(r, set) {
				continue
			}
			pin := m.enginePin(b, r, set)
			if !slices.ContainsFunc(pins, func(have Pin) bool { return have.Commands["pip"] == pin.Commands["pip"] }) {
				pins = append(pins, pin)
			}
			break
		}
	}
	return pins
}

// beside are the packages of an environment, those that a file only names too.
func (e *environment) beside() []*installed {
	var list []*installed
	for i := range e.Packages {
		list = append(list, newInstalled(&e.Packages[i]))
	}
	for _, w := range e.Wanted {
		if w.Version != "" && w.Origin != "image" && e.Package(w.Name) == nil {
			list = append(list, newInstalled(&facts.Package{Name: w.Name, Version: w.Version, Path: w.From}))
		}
	}
	return list
}

// otherFamily reports whether none of a list of CUDA releases is of the family.
func otherFamily(list []string, cuda version.Number) bool {
	return len(list) > 0 && !slices.ContainsFunc(list,
		func(text string) bool { return version.Of(text).Major() == cuda.Major() })
}
