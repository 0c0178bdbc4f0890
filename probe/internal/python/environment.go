package python

import (
	"slices"

	"cudacompat/internal/version"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// frameworks reads each framework from an environment's site directories; nil means that it is not installed.
var frameworks = []func(*host.Host, *site) (*facts.Build, error){torchBuild, tensorflowBuild, jaxBuild}

// readEnvironment reads the packages and frameworks of one prefix.
func readEnvironment(h *host.Host, p prefix, failed *host.Errors) facts.Environment {
	env := facts.Environment{Path: p.path, Python: p.python, Kind: p.kind, Interpreter: unusable(h, p)}
	sites := withPathFiles(h, p.sites, failed)
	torch := &torchProcess{}
	for _, dir := range sites {
		s := newSite(h, p, dir, sites)
		s.torch = torch
		s.dists = distributions(h, dir, failed)
		s.markOverwritten(h)
		for _, read := range frameworks {
			build, err := read(h, s)
			failed.Add(err)
			if build != nil && !has(env.Builds, build.Name) {
				s.hinder(h, build, s.frameworkInfo(build.Name), modules[build.Name])
				s.readSources(h, build)
				env.Builds = append(env.Builds, *build)
			}
		}
		env.Packages = append(env.Packages, notHidden(env.Packages, s.dists)...)
		env.Assemblers = append(env.Assemblers, s.withFaults(h, assemblersIn(h, dir, failed))...)
	}
	cuda := frameworkCUDA(&env)
	for _, dir := range sites {
		s := newSite(h, p, dir, sites)
		s.torch, s.dists = torch, env.Packages
		for _, b := range extensions(h, s, cuda, failed) {
			if !has(env.Builds, b.Name) {
				env.Builds = append(env.Builds, b)
			}
		}
		triton, err := tritonAlone(h, s, &env)
		failed.Add(err)
		if triton != nil {
			env.Builds = append(env.Builds, *triton)
		}
	}
	env.NoPip = !slices.ContainsFunc(sites, func(dir string) bool { return h.Exists(dir + "/pip") })
	env.NoExec = host.FirstNoExec(h, sites)
	env.Managed = managedMark(h, p)
	env.Assemblers = append(env.Assemblers, assemblersNamed(h, failed)...)
	if p.kind == "conda" {
		env.Packages = append(env.Packages, condaPackages(h, p.path)...)
	}
	return env
}

// newSite is one of a prefix's package directories. Only what this user starts finds modules in the directory where he
// stands, unless that is one of Python's own.
func newSite(h *host.Host, p prefix, dir string, sites []string) *site {
	s := &site{dir: dir, path: sites, python: p.python, conda: condaOf(p)}
	if here, err := h.Resolve(h.Var("PWD")); p.started && err == nil && !slices.Contains(sites, here) {
		s.here = []string{here}
	}
	return s
}

func has(builds []facts.Build, name string) bool {
	return slices.ContainsFunc(builds, func(b facts.Build) bool { return b.Name == name })
}

// notHidden leaves out the distributions that an earlier directory of the import path has too: Python imports that one.
func notHidden(before, dists []facts.Package) []facts.Package {
	return slices.DeleteFunc(slices.Clone(dists), func(d facts.Package) bool {
		return slices.ContainsFunc(before, func(p facts.Package) bool { return p.Name == d.Name })
	})
}

// managedMark is the mark of PEP 668 in an installation, /usr/lib/python3.12/EXTERNALLY-MANAGED; empty where there is none.
func managedMark(h *host.Host, p prefix) string {
	name := p.path + "/lib/python" + version.ShortPython(p.python) + "/EXTERNALLY-MANAGED"
	if p.kind != "system" || !h.Exists(name) {
		return ""
	}
	return name
}

// condaOf is the conda prefix that a prefix is, else empty.
func condaOf(p prefix) string {
	if p.kind == "conda" {
		return p.path
	}
	return ""
}

// frameworkCUDA is the CUDA of an environment's framework; empty where none is for CUDA.
func frameworkCUDA(e *facts.Environment) string {
	i := slices.IndexFunc(e.Builds, func(b facts.Build) bool { return b.Accelerator == "cuda" })
	if i < 0 {
		return ""
	}
	return e.Builds[i].CUDA
}
