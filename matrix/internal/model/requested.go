package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/matrix/internal/cudaof"
	"cudacompat/matrix/internal/hardware"
	"cudacompat/matrix/verdict"
	"cudacompat/probe/facts"
)

// Requested is one package that is not installed but that a file, a plan or an argument names. Everything known of it
// comes without its files. All named packages have this form, and package rules judges them in one place.
type Requested struct {
	*facts.Requested
	cudaof.Answer                    // the CUDA that it needs, or its family
	Environment   *facts.Environment // the set of the file that names it
	Rows          []tables.Extension // those that may be this release
	made          []tables.Extension // those of a wheel whose local version says what it was compiled for
	Uses          string             // of the table of packages; empty: not in it; Unrecognised: nothing knows the name
	Nearest       string             // the package that was meant by such a name, as far as can be told
	Torch         string             // the one release of PyTorch that it asks for
	dispensable   bool               // what it carries, the rest of it does without
	Companion     bool               // of PyTorch's own, released with a torch: judged with the torch beside it
	Image         *tables.Container  // of the table of images; nil: not in it
	Unlisted      bool               // each of its releases is for one torch, and the tables do not have this one
	Unread        bool               // the tables have other releases of it, and not this one
	NoWindows     string             // on Windows: that it has no wheel for it; else empty
	Elsewhere     bool               // the tables have wheels of this release, and none for this platform
	tables        *tables.Tables
}

// Subject names the package in findings: "vllm 0.30.0".
func (n *Requested) Subject() string {
	return strings.TrimSpace(n.Name+" "+cmp.Or(n.Version, n.Specifier)) + PlaceOf(n.Environment)
}

// Helper matches wheels that other packages load: NVIDIA's own libraries, and the libraries under RAPIDS' wheels. They
// are judged together with the packages that load them.
var Helper = lazyregexp.New(`^(nvidia|cuda|lib\w+|py(lib|nv)\w+)-`)

// requested lists the packages that files and arguments name and that are not installed: first the unknown ones, then
// those that need or can use a GPU, as far as tables and names show.
func (m *Machine) requested() []*Requested {
	var list, unknown []*Requested
	for i := range m.Facts.Environments {
		env := &m.Facts.Environments[i]
		for j := range env.Requested {
			w := &env.Requested[j]
			if n := m.requestedPackage(env, w); n != nil {
				list = append(list, n)
			}
			n := m.unrecognised(env, w)
			if n != nil && !slices.ContainsFunc(unknown, func(u *Requested) bool { return u.Name == n.Name }) {
				unknown = append(unknown, n)
			}
		}
	}
	return append(unknown, list...)
}

// OmitPrivate returns facts without the packages that nothing here knows. Their names may be private, and people
// paste reports into public threads.
func OmitPrivate(t *tables.Tables, f facts.Facts) facts.Facts {
	if f.Plan == nil && !slices.ContainsFunc(f.Environments, func(e facts.Environment) bool { return len(e.Requested) > 0 }) {
		return f
	}
	f.Environments = slices.Clone(f.Environments)
	m := NewMachine(t, &f, hardware.Target{}, verdict.Policy{})
	for i := range f.Environments {
		env := &f.Environments[i]
		env.Requested = slices.DeleteFunc(slices.Clone(env.Requested),
			func(w facts.Requested) bool { n := m.requestedPackage(env, &w); return n == nil || n.Uses == "unsaid" })
	}
	if f.Plan != nil {
		f.Plan = m.publicPlan(f.Plan)
	}
	return f
}

// requestedPackage returns what is known of one package, or nil if it has nothing to do with a GPU.
func (m *Machine) requestedPackage(env *facts.Environment, w *facts.Requested) *Requested {
	n := &Requested{tables: m.Tables, Requested: w, Environment: env, Uses: m.UsesOf(w)}
	if w.Origin == "image" {
		return m.requestedImage(n)
	}
	n.dispensable = m.Tables.Trait("dispensable", w.Name, version.Number{}) &&
		!m.Tables.Trait("pins-torch", w.Name, version.Number{})
	n.Companion = m.Tables.Trait("companion", w.Name, version.Number{})
	all, listed, compares := 0, false, false // compares: its releases differ in what is compared
	public, _, _ := strings.Cut(w.Version, "+")
	release, _ := version.ParseRelease(w.Version)
	for _, e := range tables.RowsOf[tables.Extension](m.Tables, w.Name) {
		all++
		compares = compares || len(e.Torch)+len(e.CUDA)+len(e.SASS) > 0
		listed = listed || version.SameRelease(e.Release, public)
		if version.SameRelease(e.Release, public) && (release.Local == "" || e.Variant == release.Local) {
			n.Rows = append(n.Rows, e)
		} else if version.SameRelease(e.Release, public) && MadeFor(e, release) {
			n.made = append(n.made, e)
		}
	}
	if release.Local == "" { // of what the index has as a source only, the code is that of where it is installed
		n.Rows = n.publishedRows()
	}
	if n.Uses == "" && w.Origin == "" && (asksByName(w.Name) || slices.ContainsFunc(w.Extras, cudaof.FamilyExtra.MatchString)) {
		n.Uses = "gpu"
	}
	n.Unread = compares && !listed && release.Number.Known()
	n.Unlisted = all > 0 && len(n.Rows) == 0 && release.Number.Known() && release.Local == "" &&
		(n.Companion || m.Tables.Trait("pins-torch", w.Name, version.Number{}))
	rows := slices.Concat(n.Rows, n.made)
	n.Elsewhere = m.Platform != "" && len(rows) > 0 && len(rowsFor(rows, m.Platform)) == 0
	n.NoWindows = m.NoWindowsWheel(w.Name, w.Version)
	n.resolveCUDA(m, release)
	switch {
	case n.NoWindows != "":
	case len(n.Rows) == 0 && all == 0 && n.Uses == "" && (!n.CUDANumber.Known() || Helper.MatchString(n.Name)), n.Uses == "none":
		return nil
	case n.Uses == "":
		n.Uses = "gpu"
	}
	return n
}

// DoesWithout reports whether the rest of the environment works without the package's own code, or that code is
// compiled on the machine.
func (n *Requested) DoesWithout() bool {
	return n.dispensable || n.tables.Trait("compiled-when-used", n.Name, version.Number{})
}

// asksByName reports whether the name of an unknown wheel says that it needs a GPU: "foo-gpu", "pycuda".
func asksByName(name string) bool { return gpuName.MatchString(name) && !Helper.MatchString(name) }

// publishedRows returns the rows of the wheel on the package index.
func (n *Requested) publishedRows() []tables.Extension {
	return slices.DeleteFunc(slices.Clone(n.Rows),
		func(e tables.Extension) bool { return e.Variant != "pypi" && e.Variant != "sdist" })
}

// rowsFor returns the rows of the wheels for a platform.
func rowsFor(rows []tables.Extension, platform string) []tables.Extension {
	return slices.DeleteFunc(slices.Clone(rows), func(e tables.Extension) bool { return !e.IsFor(platform) })
}

// resolveCUDA determines which CUDA and which PyTorch the package is for.
func (n *Requested) resolveCUDA(m *Machine, release version.Release) {
	p := cudaof.Package{Name: n.Name, Release: release, Version: n.Version, Said: n.CUDA, Accelerator: n.Accelerator,
		Rows: rowsFor(n.Rows, m.Platform), Platform: m.Platform}
	if n.Uses == "gpu" {
		p.Extras = n.Extras
	}
	n.Answer = cudaof.Find(m.Tables, p)
	if cuda := version.ParseOrZero(n.IndexCUDA); cuda.Known() && !n.CUDANumber.Known() && (n.Uses == "gpu" || n.Uses == "either") {
		n.Uses = "gpu"
		n.Answer = cudaof.Answer{Device: "cuda", CUDANumber: cuda, CUDAs: []version.Number{cuda}, By: cudaof.Index}
	}
	for _, r := range n.Rows {
		if !n.Companion && len(r.Torch) == 1 && Exactly(r.Torch[0]).Known() {
			n.Torch = Exactly(r.Torch[0]).String()
		}
	}
	if n.Torch == "" && n.Version != "" {
		n.Torch = m.torchBeside(n.Name, n.Version)
	}
	if n.Torch == "" && !n.Companion && !n.NamesFramework("torch") {
		n.Torch = m.newestOfOneMinor(n.Rows)
	}
}

// newestOfOneMinor returns the PyTorch release that an installer takes for a package that requires a range of it, if
// all releases in the range have one minor version (">=2.8.0,<2.9.0"). Otherwise it returns "".
func (m *Machine) newestOfOneMinor(rows []tables.Extension) string {
	if len(rows) == 0 || len(rows[0].Torch) != 1 {
		return ""
	}
	wanted, err := version.ParseSpecifiers(rows[0].Torch[0])
	if err != nil {
		return ""
	}
	var newest version.Number
	for _, t := range tables.Rows[tables.Torch](m.Tables) {
		switch n := version.ParseOrZero(t.Release); {
		case !wanted.Has(t.Release):
		case newest.Known() && n.Short() != newest.Short():
			return ""
		case newest.Less(n):
			newest = n
		}
	}
	if !newest.Known() || wanted.Has(fmt.Sprintf("%d.%d.0", newest.Major(), newest.Minor()+1)) {
		return ""
	}
	return newest.String()
}

// torchBeside returns the PyTorch release that a torchvision or torchaudio release belongs to.
func (m *Machine) torchBeside(name, release string) string {
	if name != "torchvision" && name != "torchaudio" {
		return ""
	}
	release, _, _ = strings.Cut(release, "+")
	for _, t := range tables.Rows[tables.Torch](m.Tables) {
		if name == "torchvision" && t.Torchvision == release ||
			name == "torchaudio" && t.Torchaudio == release && !m.Tables.Trait("stable-abi", name, version.ParseOrZero(release)) {
			return t.Release
		}
	}
	return ""
}

// PackageOf returns the row for a name in the table of packages, or nil.
func (m *Machine) PackageOf(name string) *tables.Package {
	if rows := tables.RowsOf[tables.Package](m.Tables, name); len(rows) > 0 {
		return &rows[0]
	}
	return nil
}

// UsesOf returns how a requested package uses the GPU, according to the table of packages.
func (m *Machine) UsesOf(w *facts.Requested) string {
	if p := m.PackageOf(w.Name); p != nil {
		return p.Uses
	}
	return ""
}

// NamesFramework reports whether the file also names the framework, with which this package is then judged.
func (n *Requested) NamesFramework(name string) bool {
	return slices.ContainsFunc(n.Environment.Builds, func(b facts.Build) bool { return b.Name == name })
}

// BringsTorch reports whether a file brings PyTorch without naming it: through an engine or companion made for one
// release, or through a PyTorch image. A package that needs any torch gets that one.
func (m *Machine) BringsTorch(env *facts.Environment) bool {
	return slices.ContainsFunc(m.Requested, func(n *Requested) bool {
		return n.Environment == env && (n.Torch != "" || n.Origin == "image" && torchImage.MatchString(n.Name))
	})
}

// build returns the package as a build that can be judged. It returns nil if too little is known of it, or if the
// framework beside it is judged instead.
func (n *Requested) build() *facts.Build {
	if n.NoWindows != "" {
		return nil // nothing of it can be installed
	}
	torch := n.Torch != "" || n.Companion || len(n.Rows) > 0 && len(n.Rows[0].Torch) > 0
	open := !n.CUDANumber.Known() && n.Torch == "" && TwinNamed(n.Environment, n.Name) == ""
	if torch && n.NamesFramework("torch") && !n.settles() || open || n.ForCPU() || n.Companion && n.Torch == "" && len(n.Rows) == 0 {
		return nil
	}
	if n.Torch == "" && n.dispensable {
		return nil // what it carries, the rest of it does without: the torch that it brings decides
	}
	b := &facts.Build{Name: n.Name, Extension: true, Version: n.Version, Specifier: n.Specifier, CUDA: n.CUDANumber.String(),
		Origin: cmp.Or(n.Origin, "wheel"), Index: n.Index, From: n.From}
	if n.CUDANumber.Known() {
		b.Accelerator = "cuda"
	}
	if rows := slices.Concat(n.Rows, n.made); sameCode(rows) && !n.Elsewhere {
		b.SASS, b.PTX = rows[0].SASS, rows[0].PTX
	}
	return b
}

// ForCPU reports whether a file names the package's CPU build.
func (n *Requested) ForCPU() bool {
	return n.Device == "cpu" && (n.By == cudaof.Files || n.By == cudaof.Local)
}

// settles reports whether the file leaves torch's release open and this package pins it. The package is then judged in
// torch's place, because no other release can be installed.
func (n *Requested) settles() bool { return n.Torch != "" && n.mayStay() }

// mayStay reports whether the file leaves open the release of a torch, so that the installed torch may stay.
func (n *Requested) mayStay() bool {
	return slices.ContainsFunc(n.Environment.Builds, func(b facts.Build) bool {
		wanted, err := version.ParseSpecifiers(b.Specifier)
		return isUnsettledTorch(&b) && (n.Torch == "" || b.Specifier == facts.Unspecified || err == nil && wanted.Has(n.Torch))
	})
}

// isUnsettledTorch reports whether a build is a torch for which a file gives neither the release nor CPU or CUDA.
func isUnsettledTorch(b *facts.Build) bool {
	return b.Name == "torch" && b.Version == "" && b.Accelerator == ""
}

// sameCode reports whether all rows that may describe a release have the same machine code.
func sameCode(rows []tables.Extension) bool {
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(e tables.Extension) bool {
		return !slices.Equal(e.SASS, rows[0].SASS) || !slices.Equal(e.PTX, rows[0].PTX)
	})
}

// MadeFor reports whether a row describes the wheel that a local version names, such as flash-attn
// 2.8.3+cu12torch2.8cxx11abiTRUE.
func MadeFor(e tables.Extension, release version.Release) bool {
	cuda, torch := release.Compiled()
	return torch.Known() && len(e.Torch) > 0 && !OtherTorch(e.Torch, torch) && !OtherFamily(e.CUDA, cuda)
}

// addRequested adds the packages that files name to the builds. Each is independent of its neighbours and of the order
// of lines. A CUDA image counts only if there is no other build.
func (m *Machine) addRequested(standing func(*facts.Environment) Standing) {
	m.Requested = m.requested()
	for _, n := range m.Requested {
		if n.settles() {
			m.Builds = slices.DeleteFunc(m.Builds, func(b *Build) bool {
				return b.Env.Environment == n.Environment && isUnsettledTorch(b.Build)
			})
		}
		if n.Origin != "image" {
			m.layOne(n, standing(n.Environment))
		}
	}
	for _, n := range m.Requested {
		if n.Origin == "image" && !m.SpokenFor(n) {
			m.layOne(n, standing(n.Environment))
		}
	}
}

// layOne adds a package as a build if enough is known of it.
func (m *Machine) layOne(n *Requested, s Standing) {
	b := n.build()
	if b == nil {
		return
	}
	v := newBuild(m, m.Environment(n.Environment), b, s, n)
	if n.Origin == "image" {
		v.Rows, v.Release = nil, version.Release{}
	}
	if n.Torch != "" {
		m.asTorch(v, n.Torch)
	}
	m.Builds = append(m.Builds, v)
}

// asTorch judges an engine that pins a PyTorch by that PyTorch's rows: torch is loaded first, and the engine's own code
// is for the same GPUs or fewer.
func (m *Machine) asTorch(b *Build, release string) {
	torch := &Build{Build: &facts.Build{Name: "torch", Version: release}}
	torch.Release, _ = version.ParseRelease(release)
	if variant := m.DefaultVariant("torch", torch.Release); variant != "" && b.Index == "default" {
		b.Rows = slices.DeleteFunc(m.torchRows(torch), func(r Row) bool { return r.Variant != variant })
	}
	if len(b.Rows) == 0 {
		torch.CUDANumber = b.CUDANumber
		b.Rows = m.torchRows(torch)
	}
	b.Answer = b.Narrow(cudasOf(b.Rows))
}

// Either reports whether the package is the same with and without a GPU and works without one.
func (b *Build) Either() bool { return b.Named != nil && b.Named.Uses == "either" }

// CompilesLater reports whether the package compiles its GPU code at run time, so that there is none to compare.
func (b *Build) CompilesLater() bool { return b.JIT || b.Named != nil && b.Named.Uses == "jit" }

// OtherFamily reports whether no CUDA release in a list has the same major version.
func OtherFamily(list []string, cuda version.Number) bool {
	return len(list) > 0 && !slices.ContainsFunc(list,
		func(text string) bool { return version.ParseOrZero(text).Major() == cuda.Major() })
}

// publicPlan returns a plan without packages that have nothing to do with CUDA. Their names may be private.
func (m *Machine) publicPlan(p *facts.Plan) *facts.Plan {
	private := func(one facts.Planned) bool { return !m.Public(one.Name, one.Version) }
	public := *p
	public.Removes = slices.DeleteFunc(slices.Clone(p.Removes), private)
	public.Installs = slices.DeleteFunc(slices.Clone(p.Installs), private)
	public.Lacks = slices.DeleteFunc(slices.Clone(p.Lacks), func(l facts.Lack) bool { return !m.Public(l.Of, "") })
	return &public
}

// Public reports whether a distribution's name shows that it has to do with CUDA.
func (m *Machine) Public(name, release string) bool {
	n := m.requestedPackage(&facts.Environment{}, &facts.Requested{Name: name, Version: release})
	return IsFramework(name) || n != nil && n.Uses != "either" || Helper.MatchString(name) ||
		slices.Contains([]string{"triton", "numpy", "protobuf", "torchvision", "torchaudio"}, name)
}

func IsFramework(name string) bool {
	return slices.Contains(Frameworks(), name) || strings.HasPrefix(name, "jax") || strings.HasPrefix(name, "tensorflow")
}

// OtherTorch reports whether no release or range in a list matches the torch's minor version. Minor versions decide,
// because torch's C++ interface changes with each. Wheels on torch's stable ABI give only a lower bound. An empty list
// says nothing.
func OtherTorch(list []string, torch version.Number) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(text string) bool {
		if v := Exactly(text); v.Known() {
			return v.Short() == torch.Short()
		}
		taken, err := version.ParseSpecifiers(text)
		return err != nil || slices.ContainsFunc([]string{torch.String(), torch.Short() + ".0", torch.Short() + ".99"}, taken.Has)
	})
}
