package matrix

import (
	"cmp"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/tables"
	"cudacompat/internal/version"
	"cudacompat/probe/facts"
)

// named is one package that a file names, with what is known of it without its files.
type named struct {
	*facts.Wanted
	env         *facts.Environment // the set of the file that names it
	rows        []tables.Extension // those that may be this release
	made        []tables.Extension // those of a wheel whose local version says what it was compiled for
	uses        string             // of the table of packages; empty: not in it
	cuda        version.Number     // the CUDA that it needs, or its family
	torch       string             // the one release of PyTorch that it asks for
	dispensable bool               // what it carries, the rest of it does without
	companion   bool               // of PyTorch's own, released with a torch: judged with the torch beside it
	image       *tables.Container  // of the table of images; nil: not in it
	unlisted    bool               // each of its releases is for one torch, and the tables do not have this one
}

// subject names it in findings: "vllm 0.30.0".
func (n *named) subject() string {
	return strings.TrimSpace(n.Name+" "+cmp.Or(n.Version, n.Specifier)) + placeOf(n.env)
}

// familyName matches names that tell a CUDA family or release: "cupy-cuda12x", "cudf-cu12", "nvidia-dali-cuda120",
// "mxnet-cu112".
var familyName = lazyregexp.New(`-cu(?:da)?(\d\d)(\d)?x?$`)

// paddleCUDA matches PaddlePaddle's own releases for one CUDA from 2.0 on, "2.6.1.post120"; those of 1.x tell cuDNN,
// too ("1.8.5.post107" is for CUDA 10.0 and cuDNN 7).
var paddleCUDA = lazyregexp.New(`^[2-9]\..*\.post(1\d)(\d)$`)

// helper matches the wheels that others load: NVIDIA's own libraries, and libraries under the wheels of RAPIDS. They
// are judged with what loads them.
var helper = lazyregexp.New(`^(nvidia|cuda|lib\w+|py(lib|nv)\w+)-`)

// wanted are the packages of the files that need or can use a GPU, as far as tables and names tell.
func (m *machine) wanted() []*named {
	var list []*named
	for i := range m.f.Environments {
		env := &m.f.Environments[i]
		for j := range env.Wanted {
			if n := m.namedOf(env, &env.Wanted[j]); n != nil {
				list = append(list, n)
			}
		}
	}
	return list
}

// WithoutPrivate is facts without the packages of which nothing is known here: their names may be nobody else's
// business, and reports are pasted into public threads.
func WithoutPrivate(t *Tables, f facts.Facts) facts.Facts {
	if f.Plan == nil && !slices.ContainsFunc(f.Environments, func(e facts.Environment) bool { return len(e.Wanted) > 0 }) {
		return f
	}
	f.Environments = slices.Clone(f.Environments)
	m := newMachine(t, &f, Target{}, Policy{})
	for i := range f.Environments {
		env := &f.Environments[i]
		env.Wanted = slices.DeleteFunc(slices.Clone(env.Wanted),
			func(w facts.Wanted) bool { n := m.namedOf(env, &w); return n == nil || n.uses == "unsaid" })
	}
	if f.Plan != nil {
		f.Plan = m.publicPlan(f.Plan)
	}
	return f
}

// namedOf is what is known of one package; nil of one that has nothing to do with a GPU.
func (m *machine) namedOf(env *facts.Environment, w *facts.Wanted) *named {
	n := &named{Wanted: w, env: env, uses: m.usesOf(w)}
	if w.Origin == "image" {
		return m.namedImage(n)
	}
	n.dispensable = m.t.Trait("dispensable", w.Name, version.Number{}) &&
		!m.t.Trait("pins-torch", w.Name, version.Number{})
	n.companion = m.t.Trait("companion", w.Name, version.Number{})
	all := 0
	public, _, _ := strings.Cut(w.Version, "+")
	release, _ := version.ParseRelease(w.Version)
	for _, e := range tables.RowsOf[tables.Extension](m.t, w.Name) {
		all++
		if version.SameRelease(e.Release, public) && (release.Local == "" || e.Variant == release.Local) {
			n.rows = append(n.rows, e)
		} else if version.SameRelease(e.Release, public) && madeFor(e, release) {
			n.made = append(n.made, e)
		}
	}
	if release.Local == "" { // of what the index has as a source only, the code is that of where it is installed
		n.rows = n.published()
	}
	if n.uses == "" && w.Origin == "" && asksByName(w.Name) {
		n.uses = "gpu"
	}
	n.unlisted = all > 0 && len(n.rows) == 0 && release.Number.Known() && release.Local == "" &&
		(n.companion || m.t.Trait("pins-torch", w.Name, version.Number{}))
	n.learn(m, release)
	switch {
	case len(n.rows) == 0 && all == 0 && n.uses == "" && (!n.cuda.Known() || helper.MatchString(n.Name)), n.uses == "none":
		return nil
	case n.uses == "":
		n.uses = "gpu"
	}
	return n
}

// asksByName reports whether a wheel of which no table knows says by its name that it needs a GPU: "foo-gpu", "pycuda".
func asksByName(name string) bool { return gpuName.MatchString(name) && !helper.MatchString(name) }

// published are the rows of the wheel that the package index has.
func (n *named) published() []tables.Extension {
	return slices.DeleteFunc(slices.Clone(n.rows),
		func(e tables.Extension) bool { return e.Variant != "pypi" && e.Variant != "sdist" })
}

// learn takes the CUDA and the PyTorch from what tells the most: the file, the rows, the version, the table of
// packages, the name.
func (n *named) learn(m *machine, release version.Release) {
	n.cuda = version.Of(n.CUDA)
	if cuda := leastCUDA(n.rows); !n.cuda.Known() && cuda.Known() {
		n.cuda = cuda
	}
	if local, ok := release.LocalCUDA(); ok && !n.cuda.Known() {
		n.cuda = local
	}
	if compiled, _ := release.Compiled(); !n.cuda.Known() {
		n.cuda = compiled
	}
	if post := paddleCUDA.FindStringSubmatch(n.Version); post != nil && n.Name == "paddlepaddle-gpu" && !n.cuda.Known() {
		n.cuda = version.Of(post[1] + "." + post[2])
	}
	if p := m.packageOf(n.Name); p != nil && !n.cuda.Known() &&
		(n.Version == "" || !version.Of(n.Version).Less(p.Release)) {
		n.cuda = p.CUDA
	}
	if f := familyName.FindStringSubmatch(n.Name); f != nil && !n.cuda.Known() {
		n.cuda = version.Of(strings.TrimSuffix(f[1]+"."+cmp.Or(strings.Trim(f[2], "0"), ""), "."))
	}
	for _, r := range n.rows {
		if !n.companion && len(r.Torch) == 1 && exactly(r.Torch[0]).Known() {
			n.torch = exactly(r.Torch[0]).String()
		}
	}
	if n.torch == "" && n.Version != "" {
		n.torch = m.torchBeside(n.Name, n.Version)
	}
}

// leastCUDA is the oldest CUDA among rows: one of them will do.
func leastCUDA(rows []tables.Extension) version.Number {
	var least version.Number
	for _, r := range rows {
		for _, text := range r.CUDA {
			if v := version.Of(text); !least.Known() || v.Less(least) {
				least = v
			}
		}
	}
	return least
}

// torchBeside is the release of PyTorch that a torchvision or torchaudio is made for.
func (m *machine) torchBeside(name, release string) string {
	release, _, _ = strings.Cut(release, "+")
	for _, t := range tables.Rows[tables.Torch](m.t) {
		if name == "torchvision" && t.Torchvision == release ||
			name == "torchaudio" && t.Torchaudio == release && !m.t.Trait("stable-abi", name, version.Of(release)) {
			return t.Release
		}
	}
	return ""
}

// packageOf is what the table of packages knows of a name; nil where it is not in it.
func (m *machine) packageOf(name string) *tables.Package {
	if rows := tables.RowsOf[tables.Package](m.t, name); len(rows) > 0 {
		return &rows[0]
	}
	return nil
}

// usesOf is what the table of packages says of one.
func (m *machine) usesOf(w *facts.Wanted) string {
	if p := m.packageOf(w.Name); p != nil {
		return p.Uses
	}
	return ""
}

// framework reports whether the file names the framework itself, with which this package is judged.
func (n *named) framework(name string) bool {
	return slices.ContainsFunc(n.env.Builds, func(b facts.Build) bool { return b.Name == name })
}

// build is the package as a build that can be judged; nil where too little is known of it, or where the framework
// beside it is judged in its place.
func (n *named) build() *facts.Build {
	torch := n.torch != "" || n.companion || len(n.rows) > 0 && len(n.rows[0].Torch) > 0
	open := !n.cuda.Known() && n.torch == "" && twinNamed(n.env, n.Name) == ""
	if torch && n.framework("torch") && !n.settles() || open || n.Accelerator == "cpu" {
		return nil
	}
	if n.torch == "" && n.dispensable {
		return nil // what it carries, the rest of it does without: the torch that it brings decides
	}
	b := &facts.Build{Name: n.Name, Extension: true, Version: n.Version, Specifier: n.Specifier, CUDA: n.cuda.String(),
		Origin: cmp.Or(n.Origin, "wheel"), Index: n.Index, From: n.From}
	if n.cuda.Known() {
		b.Accelerator = "cuda"
	}
	if rows := append(n.rows, n.made...); sameCode(rows) {
		b.SASS, b.PTX = rows[0].SASS, rows[0].PTX
	}
	return b
}

// settles reports whether the file leaves open the release of a torch which this package pins: it is judged in the
// torch's place, since no other release can be installed.
func (n *named) settles() bool {
	return n.torch != "" && slices.ContainsFunc(n.env.Builds, func(b facts.Build) bool {
		wanted, err := version.ParseSpecifiers(b.Specifier)
		return unsettled(&b) && (b.Specifier == facts.Unspecified || err == nil && wanted.Has(n.torch))
	})
}

// unsettled reports whether a build is a torch of which a file says neither the release nor what it computes on.
func unsettled(b *facts.Build) bool {
	return b.Name == "torch" && b.Version == "" && b.Accelerator == ""
}

// openTorch reports whether a package brings a torch of a release that the file leaves open.
func (n *named) openTorch() bool {
	return n.torch == "" && !n.companion && len(n.rows) > 0 && len(n.rows[0].Torch) > 0 && !n.framework("torch")
}

// sameCode reports whether every row that may be a release has the same machine code.
func sameCode(rows []tables.Extension) bool {
	return len(rows) > 0 && !slices.ContainsFunc(rows, func(e tables.Extension) bool {
		return !slices.Equal(e.SASS, rows[0].SASS) || !slices.Equal(e.PTX, rows[0].PTX)
	})
}

// madeFor reports whether a row is of the wheel that a local version names, as flash-attn's 2.8.3+cu12torch2.8cxx11abiTRUE.
func madeFor(e tables.Extension, release version.Release) bool {
	cuda, torch := release.Compiled()
	return torch.Known() && len(e.Torch) > 0 && !otherTorch(e.Torch, torch) && !otherFamily(e.CUDA, cuda)
}

// layNamed adds what files name to the builds, each for itself: a neighbour tells nothing of it, whichever line stands
// first. An image of CUDA is one only where nothing else is.
func (m *machine) layNamed(standing func(*facts.Environment) standing) {
	m.names = m.wanted()
	for _, n := range m.names {
		if n.settles() {
			m.builds = slices.DeleteFunc(m.builds, func(b *build) bool {
				return b.env.Environment == n.env && unsettled(b.Build)
			})
		}
		if n.Origin != "image" {
			m.layOne(n, standing(n.env))
		}
	}
	for _, n := range m.names {
		if n.Origin == "image" && !m.spokenFor(n) {
			m.layOne(n, standing(n.env))
		}
	}
}

// layOne adds a package as a build, where enough is known of it.
func (m *machine) layOne(n *named, s standing) {
	b := n.build()
	if b == nil {
		return
	}
	v := newBuild(m, m.environment(n.env), b, s)
	v.named = n
	if n.Origin == "image" {
		v.rows, v.release = nil, version.Release{}
	}
	if n.torch != "" {
		m.asTorch(v, n.torch)
	}
	m.builds = append(m.builds, v)
}

// asTorch judges an engine that pins a PyTorch by the rows of that one: it is loaded first, and the engine's own code
// is for the same GPUs or fewer.
func (m *machine) asTorch(b *build, release string) {
	torch := &build{Build: &facts.Build{Name: "torch", Version: release}}
	torch.release, _ = version.ParseRelease(release)
	if variant := m.defaultVariant("torch", torch.release); variant != "" && b.Index == "default" {
		b.rows = slices.DeleteFunc(m.torchRows(torch), func(r row) bool { return r.Variant != variant })
	}
	if len(b.rows) == 0 {
		torch.cuda = b.cuda
		b.rows = m.torchRows(torch)
	}
	if cuda := commonCUDA(b.rows); cuda.Known() &&
		(!b.cuda.Known() || b.cuda.Parts() < 2 && cuda.Major() == b.cuda.Major()) {
		b.cuda, b.accelerator = cuda, "cuda"
	}
}

// either reports whether the package is the same with and without a GPU: what it cannot have it does without.
func (b *build) either() bool { return b.named != nil && b.named.uses == "either" }

// compilesLater reports whether its code is made for the GPU when it runs: there is none to compare.
func (b *build) compilesLater() bool { return b.jit || b.named != nil && b.named.uses == "jit" }

// namedOnly are packages that need a GPU, or a framework that may, and of which a file says no more than that.
func (m *machine) namedOnly() []*result {
	var results []*result
	standing := standingOf(m.t, m.f)
	for _, n := range m.names {
		judged := slices.ContainsFunc(m.builds, func(b *build) bool { return b.named == n })
		if !judged && standing(n.env) == noted {
			results = append(results, n.optional()...)
			continue
		}
		if m.besideOther(n) {
			results = append(results, leftOpen(n.subject(), "whether it loads beside a torch that it was not built for")...)
			continue
		}
		if m.unbuilt(n) {
			results = append(results, leftOpen(n.subject(), "for which torch and which GPUs its code will be: the tables have "+
				"no wheel of this release")...)
			continue
		}
		if judged || m.spokenFor(n) || n.uses == "unsaid" && m.judges(n.env) {
			continue
		}
		results = append(results, n.left()...)
	}
	return results
}

// judges reports whether an environment has a build.
func (m *machine) judges(env *facts.Environment) bool {
	return slices.ContainsFunc(m.builds, func(b *build) bool { return b.env.Environment == env })
}

// optional names a package for GPUs of a file's extra or group, which is not installed unless it is asked for.
func (n *named) optional() []*result {
	if n.uses != "gpu" || !partOfFile.MatchString(n.env.Path) {
		return nil
	}
	return found(Finding{Severity: Note, Subject: n.subject(), Need: "nothing, unless you install " + n.env.Path,
		Message:  n.Name + " is not judged: nobody said that " + n.env.Path + " is installed",
		Evidence: []Evidence{{Fact: n.Name, Value: cmp.Or(n.Version, n.Specifier), From: n.From}}})
}

// left says what is not known of a package that no rule can judge.
func (n *named) left() []*result {
	switch n.uses {
	case "unsaid":
		return leftOpen("the image in "+n.From, "what is in it: neither its name nor its tag says") // a name may be private
	case "gpu":
		if n.Origin == "image" {
			return leftOpen(n.subject(),
				"which CUDA is in this image: it is for GPUs, but neither its tag nor the tables say more")
		}
	case "either":
		return found(Finding{Severity: Note, Subject: n.subject(), Need: "nothing",
			Message:  n.Name + " is the same package with and without a GPU, so it cannot be judged by its name",
			Evidence: []Evidence{{Fact: n.Name, Value: cmp.Or(n.Version, n.Specifier), From: n.From}}})
	case "torch", "jax", "tensorflow":
		if n.framework(n.uses) && n.unlisted {
			return leftOpen(n.subject(), "which torch it was built for: the tables do not have this release")
		}
		if n.framework(n.uses) {
			return nil // judged as that framework
		}
		return leftOpen(n.subject(), "which "+n.uses+" it brings: the file does not pin one")
	case "jit":
		return nil
	}
	if len(n.rows) > 0 && n.framework("torch") || n.Accelerator == "cpu" {
		return nil // judged beside that torch
	}
	if n.Version == "" && n.Origin != "image" {
		return leftOpen(n.subject(), "which CUDA the package is built for"+cmp.Or(unpinned("", n.Specifier), Unpinned))
	}
	return leftOpen(n.subject(), "which CUDA the package is built for (it needs a GPU, and neither its name nor the tables tell)")
}

// twins are packages for the GPU and those for the CPU with the same modules.
var twins = map[string]string{"onnxruntime-gpu": "onnxruntime", "faiss-gpu": "faiss-cpu", "faiss-gpu-cu11": "faiss-cpu",
	"faiss-gpu-cu12": "faiss-cpu"}

// twinNamed is how a file names the package for the CPU that has the modules of one for the GPU, "faiss-cpu 1.15.1";
// empty where it does not.
func twinNamed(e *facts.Environment, name string) string {
	twin := twins[name]
	if twin == "" {
		return ""
	}
	for _, p := range e.Packages {
		if p.Name == twin {
			return p.Name + " " + p.Version
		}
	}
	for _, w := range e.Wanted {
		if w.Name == twin {
			return strings.TrimSpace(w.Name + " " + w.Version)
		}
	}
	return ""
}
