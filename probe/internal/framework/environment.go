package framework

import (
	"slices"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/pyimport"
)

// frameworks reads each framework from an environment's site directories; nil means that it is not installed.
var frameworks = []func(*host.Host, *pyenv.Site) (*facts.Build, error){torchBuild, tensorflowBuild, jaxBuild}

// readEnvironment reads the packages and frameworks of one prefix.
func readEnvironment(h *host.Host, p pyenv.Prefix, index *pydist.Index, failed *host.Errors) facts.Environment {
	env := facts.Environment{Path: p.Path, Python: p.Python, Kind: p.Kind, Interpreter: pyenv.Unusable(h, p, index)}
	sites := pyenv.AddPathFiles(h, p, failed)
	index.Path = sites
	env.Shared = []facts.Shared{}
	torch := &pyenv.TorchProcess{}
	for _, dir := range sites {
		s := pyenv.NewSite(h, p, dir, index)
		s.Torch = torch
		s.Dists = index.Companions(dir, failed)
		env.Shared = append(env.Shared, pyimport.MarkReplaced(s, h)...)
		for _, read := range frameworks {
			build, err := read(h, s)
			failed.Add(err)
			if build != nil && !pyenv.Has(env.Builds, build.Name) {
				pyimport.CheckImport(s, h, build, pyimport.FrameworkInfo(s, build.Name), pyimport.Modules[build.Name])
				pyimport.TraceSources(s, h, build)
				noteSite(build, p, dir, index)
				env.Builds = append(env.Builds, *build)
			}
		}
		env.Packages = append(env.Packages, pyenv.NotHidden(env.Packages, s.Dists)...)
		env.Assemblers = append(env.Assemblers, addFaults(s, h, assemblersIn(h, dir, failed))...)
	}
	cuda := frameworkCUDA(&env)
	for _, dir := range sites {
		s := pyenv.NewSite(h, p, dir, index)
		s.Torch, s.Dists = torch, env.Packages
		for _, b := range extensions(h, s, cuda, failed) {
			if !pyenv.Has(env.Builds, b.Name) {
				noteSite(&b, p, dir, index)
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
	env.Managed = pyenv.ManagedMark(h, p)
	env.Assemblers = append(env.Assemblers, assemblersNamed(h, failed)...)
	if p.Kind == "conda" {
		env.Packages = append(env.Packages, pyenv.CondaPackages(h, p.Path)...)
	}
	return env
}

// noteSite records that a build is in a directory on Python's path that is not the environment's own, and which copies
// of it that hides.
func noteSite(b *facts.Build, p pyenv.Prefix, dir string, index *pydist.Index) {
	names := append(slices.Clone(pyimport.FrameworkDists[b.Name]), b.Name)
	installed := func(dir string) *pydist.Distribution {
		for _, name := range names {
			if d := index.FindIn(dir, name); d != nil {
				return d
			}
		}
		return nil
	}
	at := slices.Index(index.Path, dir)
	if slices.Contains(p.Own, dir) || at < 0 || installed(dir) == nil {
		return
	}
	b.Site = dir
	for _, behind := range index.Path[at+1:] {
		if d := installed(behind); d != nil {
			b.Hides = append(b.Hides, d.String()+" in "+behind)
		}
	}
}

// frameworkCUDA returns the CUDA of an environment's framework, or "".
func frameworkCUDA(e *facts.Environment) string {
	i := slices.IndexFunc(e.Builds, func(b facts.Build) bool { return b.Accelerator == "cuda" })
	if i < 0 {
		return ""
	}
	return e.Builds[i].CUDA
}
