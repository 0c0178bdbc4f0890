package matrix

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/pin"
	"cudacompat/probe/facts"
)

// ncclTooOldForGPU: the NCCL that the build takes has neither machine code nor PTX for a GPU. With one GPU it is seldom
// called. So it is a note with one GPU, and an error with several, whose first collective fails.
func ncclTooOldForGPU(m *machine, b *build) []*result {
	lib, known := b.takes("nccl")
	if b.accelerator != "cuda" || !b.framework() || !known || len(m.gpus) == 0 {
		return nil
	}
	n := m.t.NCCL(lib.version, b.cuda)
	// The table was read from the wheels of each release; of another NCCL it is not known what code it has.
	if n == nil {
		return nil
	}
	for _, g := range m.gpus {
		if !g.capability.Known() || version.Cover(n.SASS, n.PTX, g.capability) != version.Uncovered {
			continue
		}
		f := Finding{Severity: Error, Subject: b.subject, Need: "an NCCL with code for " + g.capability.SM(),
			Source:  n.Source,
			Message: fmt.Sprintf("NCCL %s has no code for %s", n.Release, g.label),
			Evidence: append(b.evidence(), lib.evidence("NCCL"), Evidence{Fact: "GPU", Value: g.label, From: g.from},
				Evidence{Fact: "machine code", Value: strings.Join(n.SASS, " "), From: "nccl.csv"})}
		if len(m.gpus) == 1 {
			f.Severity = Note
		}
		if other := m.ncclFor(b.cuda); other.Known() {
			f.Pins = b.env.packagePin(lib.wheel, other.String())
			f.Pins[0].Why = "has code for every GPU here; keeps the driver"
		} else {
			f.Pins, f.Steps = m.pins(b)
		}
		return found(f)
	}
	return holds(b.subject)
}

// ncclFor is the newest NCCL of a CUDA family with machine code for every GPU here; not known when there is none. PTX
// would serve as well where the driver knows its version; machine code does not raise that question.
func (m *machine) ncclFor(cuda version.Number) version.Number {
	for _, n := range slices.Backward(tables.Rows[tables.NCCL](m.t)) {
		bad := func(g gpu) bool { return version.Cover(n.SASS, nil, g.capability) != version.BySASS }
		if n.CUDA.Major() == cuda.Major() && len(n.SASS) > 0 && !slices.ContainsFunc(m.gpus, bad) {
			return n.Release
		}
	}
	return version.Number{}
}

// extensionMismatch: a package beside torch is compiled for another torch, or for another CUDA; or it uses CUDA by
// itself and does not find its libraries. What the files prove comes first, then the tables. The finding is the
// extension's: torch has its own answer.
func extensionMismatch(m *machine, b *build) []*result {
	results := m.mismatched(b)
	for _, r := range results {
		r.without = r.finding != nil && slices.ContainsFunc(m.builds, func(o *build) bool {
			return o.subject == r.subject && (o.offGPU() || m.t.Trait("same-cuda-minor", o.Name, o.release.Number))
		})
	}
	return results
}

// mismatched asks of an extension whether it loads beside what is there, and of a torch which extensions do not. One that
// cannot load what it needs breaks no other; a bitsandbytes without a library for torch's CUDA takes the CPU's.
func (m *machine) mismatched(b *build) []*result {
	over := slices.IndexFunc(b.Hindrances, func(h facts.Hindrance) bool { return h.Kind == facts.HindranceOverwritten })
	release := slices.IndexFunc(b.Hindrances, func(h facts.Hindrance) bool { return h.Kind == facts.HindranceRelease })
	switch {
	// RECORD and the bytes show which of two packages Python imports; what the other one says of itself is void.
	case over >= 0:
		return found(b.overwritten(b.Hindrances[over]))
	// jax compares jaxlib's release before it loads a plugin, so the plugin is not judged beside a jaxlib it refuses
	// (jax/_src/lib/__init__.py).
	case release >= 0 && b.Name == "jax":
		return found(b.otherJaxlib(b.Hindrances[release]))
	case release >= 0 && b.Extension:
		return found(b.otherRelease(b.Hindrances[release]))
	// In a file the order of installation is not known; on disk RECORD shows which files survived.
	case b.env.Kind == "requirements" && twinNamed(b.env.Environment, b.Name) != "":
		return found(b.besideTwin(twinNamed(b.env.Environment, b.Name)))
	case m.comingTwin(b) != "":
		return m.underTwin(b)
	// What the loader does not find goes before the table: it holds for builds from source, too.
	case b.Extension && len(b.Unmet) > 0 && !m.t.Trait("companion", b.Name, version.Number{}):
		return m.unmet(b)
	case b.Extension:
		if open := m.untold(b); open != nil {
			return open
		}
		return m.opens(b)
	}
	switch {
	// jax[cuda12-local] takes CUDA's libraries from where it runs.
	case b.Name == "jax" && slices.ContainsFunc(b.Extras, func(e string) bool { return strings.HasSuffix(e, "local") }):
		return m.bare(b)
	case b.Name == "jax":
		return b.otherPlugin()
	}
	// The table names releases. A nightly or a source build of torch may have been the one that the extension was made
	// for.
	if b.Name != "torch" || !b.official() || !b.release.Final() || !b.release.Number.Known() {
		return nil
	}
	var results []*result
	for _, c := range m.compiledIn(b.env) {
		// The build of that extension says so by its own files.
		if b.env.unmet(c.Name) {
			continue
		}
		if f, bad := m.extension(b, c.installed, c.rows); bad {
			f.Subject = c.subject
			results = append(results, found(f)...)
		} else {
			results = append(results, holds(c.subject)...)
		}
	}
	return results
}

// compiledIn are an environment's packages that are compiled for one torch or one CUDA.
func (m *machine) compiledIn(e *environment) []compiledPackage {
	if e.compiled != nil {
		return e.compiled
	}
	e.compiled = []compiledPackage{}
	for _, p := range e.beside() {
		rows := m.extensionRows(p)
		if len(rows) == 0 && (e.Kind == "requirements" || m.comes(p)) { // of an installed one, its files tell
			rows = saidRows(p)
		}
		if len(rows) == 0 {
			continue
		}
		e.compiled = append(e.compiled, compiledPackage{p, p.Name + " " + p.Version + placeOf(e.Environment), rows})
	}
	return e.compiled
}

// saidRows is the row of a wheel whose local version says what it was compiled for, as flash-attn's
// 2.8.3+cu12torch2.8cxx11abiTRUE; none where it says nothing.
func saidRows(p *installed) []tables.Extension {
	cuda, torch := p.release().Compiled()
	if !torch.Known() {
		return nil
	}
	row := tables.Extension{Package: p.Name, Release: p.Version, Torch: []string{torch.String()}}
	if cuda.Known() {
		row.CUDA = []string{cuda.String()}
	}
	row.Source = []string{"https://github.com/Dao-AILab/flash-attention/blob/v2.8.3/.github/workflows/publish.yml"}
	return []tables.Extension{row}
}

// extensionRows are the table's rows of a wheel that is installed; a local version that is no variant's is a build from
// source, of which no table can tell. Nightlies and pre-releases have no rows.
func (m *machine) extensionRows(p *installed) []tables.Extension {
	if !m.t.Trait("compiled", p.Name, p.version) {
		return nil
	}
	r := p.release()
	public, _, _ := strings.Cut(p.Version, "+")
	if !r.Number.Known() || !r.Final() {
		return nil
	}
	var rows []tables.Extension
	for _, e := range tables.RowsOf[tables.Extension](m.t, p.Name) {
		if version.SameRelease(e.Release, public) && (r.Local == "" || e.Variant == r.Local) {
			rows = append(rows, e)
		}
	}
	return rows
}

// extension compares what a package was built for with what is there; all rows that may be it must disagree. A release
// has variants, and which one is installed is not always known: one that fits is enough for silence.
func (m *machine) extension(b *build, p *installed, rows []tables.Extension) (Finding, bool) {
	f := Finding{Severity: Error, Source: rows[0].Source,
		Evidence: append(b.evidence(), Evidence{Fact: p.Name, Value: p.Version, From: p.Path})}
	every := func(bad func(tables.Extension) bool) bool {
		return !slices.ContainsFunc(rows, func(e tables.Extension) bool { return !bad(e) })
	}
	switch {
	case every(func(e tables.Extension) bool { return otherTorch(e.Torch, b.release.Number) }):
		want := strings.Join(rows[0].Torch, " or ")
		f.Need = "torch " + want
		f.Message = fmt.Sprintf("%s %s was compiled for torch %s, but torch is %s", p.Name, p.Version, want, b.Version)
	// Majors only: within one, the runtime's soname is the same (libcudart.so.12).
	case b.cuda.Known() && every(func(e tables.Extension) bool { return otherFamily(e.CUDA, b.cuda) }):
		f.Need = "CUDA " + strings.Join(rows[0].CUDA, " or ")
		f.Message = fmt.Sprintf("%s %s was compiled for CUDA %s; torch %s uses CUDA %s", p.Name, p.Version,
			strings.Join(rows[0].CUDA, ", "), b.Version, b.cuda.Short())
	// bitsandbytes has a library for each CUDA minor, and before 0.50 opens only the one of torch's CUDA. Without it,
	// bitsandbytes uses its CPU library: a warning.
	case m.t.Trait("same-cuda-minor", p.Name, p.version) && b.cuda.Parts() > 1 &&
		every(func(e tables.Extension) bool { return len(e.CUDA) > 0 && !slices.Contains(e.CUDA, b.cuda.Short()) }):
		f.Severity = Warning
		f.Need = "a library for CUDA " + b.cuda.Short()
		f.Message = fmt.Sprintf("%s %s has no library for CUDA %s; from 0.50 on it falls back within the major", p.Name,
			p.Version, b.cuda.Short())
		f.Steps = []pin.Step{b.env.installStep(pin.Install{Packages: []string{"bitsandbytes"}, Upgrade: true}),
			pin.Run("export BNB_CUDA_VERSION=" + strings.ReplaceAll(rows[0].CUDA[len(rows[0].CUDA)-1], ".", "")).That("names a library that it has").Instead()}
		return f, true
	default:
		return f, false
	}
	// vLLM, SGLang and others pin one torch in their metadata, so the pair is chosen by the engine.
	if m.t.Trait("pins-torch", p.Name, p.version) {
		f.Pins = m.engineMends(p, b)
	}
	if len(f.Pins) == 0 {
		f.Steps = m.extensionSteps(p, b)
	}
	return f, true
}

// otherTorch reports whether a list of releases has none of the torch's minor version, nor a least one below it: wheels
// on torch's stable ABI ask for no more. An empty list says nothing. Minor versions, since torch's C++ interface
// changes with each.
func otherTorch(list []string, torch version.Number) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(text string) bool {
		if least, ok := strings.CutPrefix(text, ">="); ok {
			return !torch.LessShort(version.Of(least))
		}
		v := exactly(text)
		return !v.Known() || v.Short() == torch.Short()
	})
}

// extensionSteps names the newest release of the package that fits this torch, and what else helps. Only a release made
// for exactly this minor is named: one on torch's stable ABI would have fitted already.
func (m *machine) extensionSteps(p *installed, b *build) []pin.Step {
	for _, e := range slices.Backward(tables.RowsOf[tables.Extension](m.t, p.Name)) {
		exact := slices.ContainsFunc(e.Torch, func(text string) bool {
			return exactly(text).Short() == b.release.Number.Short()
		})
		if exact && !otherFamily(e.CUDA, b.cuda) {
			return []pin.Step{b.env.installStep(pin.Install{Packages: []string{p.Name + "==" + e.Release}, NoDeps: true}).That("fits torch " +
				b.release.Number.Short())}
		}
	}
	rows := tables.RowsOf[tables.Extension](m.t, p.Name)
	if len(rows) > 0 && !slices.ContainsFunc(rows, func(e tables.Extension) bool { return len(e.Torch) == 0 }) {
		return []pin.Step{pin.Say("install the torch that it was made for"), pin.Say("install a newer " + pin.Said(p.Name) +
			": none in the tables is made for torch " + b.release.Number.Short() + " and its CUDA").Instead()}
	}
	return []pin.Step{pin.Say("install the " + pin.Said(p.Name) + " that is made for torch " + b.release.Number.Short() + " and its CUDA"),
		pin.Say("install the torch that it was made for").Instead()}
}

// numpyABI: compiled code of before NumPy 2 does not load with it. Conda's builds and those from source are compiled
// against their own NumPy, so only the wheels of the tables are judged.
func numpyABI(m *machine, b *build) []*result {
	p := b.env.Package("numpy")
	if p == nil || b.Name != "tensorflow" && b.Name != "torch" || !b.release.Number.Known() || !b.official() {
		return nil
	}
	// Code compiled against NumPy 2 loads with NumPy 1, too (NumPy's migration guide).
	if p.version.Major() < 2 || !m.t.Trait("before-numpy-2", b.Name, b.release.Number) {
		return holds(b.subject)
	}
	f := Finding{Severity: Warning, Subject: b.subject, Need: "numpy < 2",
		Source:   []string{"https://numpy.org/devdocs/numpy_2_0_migration_guide.html"},
		Message:  fmt.Sprintf("%s %s was compiled before NumPy 2; numpy %s is installed", b.Name, b.Version, p.Version),
		Evidence: append(b.evidence(), Evidence{Fact: "numpy", Value: p.Version, From: p.Path}),
		Pins: []Pin{{Package: "numpy", Version: "<2", Why: "keeps " + b.Name + " and the driver",
			Commands: b.env.install(pin.Install{Packages: []string{"numpy<2"}})}}}
	// TensorFlow does not import; torch does, and cannot convert between tensors and arrays (pytorch issue 107302): up to
	// 2.17 and 2.2 (trait.csv).
	if b.Name == "tensorflow" {
		f.Severity = Error
	}
	return found(f)
}

// besideTwin: a file names the CPU package of the same modules too, and which one is installed last is not known, so it
// is a warning.
func (b *build) besideTwin(twin string) Finding {
	other, release, _ := strings.Cut(twin, " ")
	return Finding{Severity: Warning, Subject: b.subject, Need: "one of " + b.Name + " and " + other,
		Message: fmt.Sprintf("%s is named too and has the same files: Python imports the one that is installed last, "+
			"and %[1]s does not use the GPU", other),
		Evidence: append(b.evidence(), Evidence{Fact: other, Value: cmp.Or(release, "named without a version"),
			From: b.From}),
		Source: []string{"https://packaging.python.org/en/latest/specifications/recording-installed-packages/"},
		Steps:  []pin.Step{pin.Say("remove " + pin.Word(other) + " from the file")}}
}

// otherRelease: a distribution requires a release of another one that is not the one installed. It is an error where
// its library wants what that one does not define; else it may run.
func (b *build) otherRelease(h facts.Hindrance) Finding {
	name, have, _ := strings.Cut(h.Of, " ")
	f := Finding{Severity: Warning, Subject: b.subject, Need: h.By, Pins: b.withLibraries(),
		Message:  fmt.Sprintf("%s %s requires %s; %s is installed", b.Name, b.Version, h.By, have),
		Evidence: append(b.evidence(), Evidence{Fact: name, Value: have, From: h.Path}),
		Source:   []string{"https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist-multiple-use"}}
	f.Pins[0].Why = "installs the " + name + " that it requires; keeps the driver"
	// A C++ type that no library defines keeps the loader from the library: libcudf 26.10 over librmm 25.10.
	if h.Symbol != "" {
		f.Severity, f.Source = Error, []string{loaderSource}
		f.Message += fmt.Sprintf(", and lacks %s: %s cannot be loaded", h.Symbol, path.Base(h.Path))
	}
	return f
}

// overwritten: another distribution's file is imported in the place of the build's, as onnxruntime's that was installed
// over onnxruntime-gpu, or faiss-cpu's _swigfaiss.abi3.so, which Python prefers whichever is last. pip list still names
// the GPU package. Removing the other deletes the shared files, so the build must be installed again.
func (b *build) overwritten(h facts.Hindrance) Finding {
	other, _, _ := strings.Cut(h.By, " ")
	spec := b.Name + "==" + b.Version
	return Finding{Severity: Error, Subject: b.subject, Need: "one of " + b.Name + " and " + other,
		Message: fmt.Sprintf("%s takes the place of %s: Python imports its %s", h.By, b.Name,
			strings.TrimPrefix(h.Path, path.Dir(b.Path)+"/")),
		Evidence: append(b.evidence(), Evidence{Fact: path.Base(h.Path), Value: "as " + h.By + " lists it", From: h.Path}),
		Source:   []string{"https://packaging.python.org/en/latest/specifications/recording-installed-packages/"},
		Pins: []Pin{{Package: b.Name, Version: b.Version, Why: "puts its files back; keeps the driver",
			Commands: b.env.install(pin.Install{Remove: []string{other}, Packages: []string{spec}, NoDeps: true, Again: true})}}}
}
