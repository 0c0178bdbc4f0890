package framework

import (
	"cmp"
	"path"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
	"cudacompat/probe/internal/loader"
	"cudacompat/probe/internal/pydist"
	"cudacompat/probe/internal/pyenv"
	"cudacompat/probe/internal/pyimport"
)

// jaxLocal matches the old wheels that carried CUDA themselves: jaxlib 0.4.23+cuda12.cudnn89.
var jaxLocal = lazyregexp.New(`\+cuda(\d+)\.cudnn(\d+)$`)

// jaxBuild reads a JAX from its distributions: the CUDA plugin, otherwise a jaxlib with CUDA inside. Without either it
// is a CPU build.
func jaxBuild(h *host.Host, s *pyenv.Site) (*facts.Build, error) {
	jaxlib := s.Dist("jaxlib")
	if jaxlib == nil {
		return nil, nil
	}
	b := &facts.Build{Name: "jax", Version: jaxlib.Version, Accelerator: "cpu", Path: s.Dir + "/jaxlib",
		From: jaxlib.Path, Hindrances: pyimport.LostFiles(s, h, "jax", "jaxlib/__init__.py")}
	m, err := readWheel(s.Index(h).At(jaxlib.Path))
	b.Requires, b.Glibc, b.Arch = m.pins, m.Glibc, m.Arch
	if m.pip {
		b.Origin = "wheel"
	}
	b.Python = cmp.Or(pyenv.ExtensionPython(h, s.Dir+"/jaxlib/*.cpython-*.so"), m.Python)
	if local := jaxLocal.FindStringSubmatch(jaxlib.Version); local != nil {
		b.Accelerator, b.CUDA, b.CuDNN = "cuda", local[1], strings.Join(strings.Split(local[2], ""), ".")
	}
	for _, d := range s.Dists { // sorted: where both are there cuda13's comes last, and JAX takes it
		if p := distname.JAXPlugin.FindStringSubmatch(d.Name); p != nil {
			b.Accelerator, b.CUDA, b.From = "cuda", p[1], d.Path
		}
	}
	if family := pluginFamily(h, s); family != "" && b.Accelerator == "cpu" {
		b.Accelerator, b.CUDA = "cuda", family
	}
	if s.Conda != "" && pyenv.CondaFind(h, s.Conda, "jaxlib") != nil {
		b.Origin, b.Accelerator = "conda-forge", ""
	}
	failed := host.Errors{}
	failed.Add(err)
	if b.Accelerator == "cuda" {
		failed.Add(loader.ReadCode(h, s.Dir, "jax_cuda"+b.CUDA+"_plugin/*.so", "jax_plugins/xla_cuda"+b.CUDA+"/*.so")(b))
		failed.Add(loader.JAXLoads(b, h, s))
		b.Hindrances = append(b.Hindrances, otherJaxlib(h, s, jaxlib)...)
	}
	return b, failed.Err()
}

// otherJaxlib returns that jax requires another release of jaxlib than the one that is there. Its metadata has the
// range that it compares when it is imported (jax/_src/lib/__init__.py, check_jaxlib_version).
func otherJaxlib(h *host.Host, s *pyenv.Site, jaxlib *facts.Package) []facts.Hindrance {
	jax := s.Dist("jax")
	if jax == nil {
		return nil
	}
	for _, r := range s.Index(h).At(jax.Path).Requires() {
		if asked := r.Plain(); r.Name == "jaxlib" && !pydist.Accepts(asked, jaxlib.Version) {
			return []facts.Hindrance{{Kind: facts.HindranceRelease, Of: "jaxlib " + jaxlib.Version,
				By: "jaxlib" + asked, Path: jax.Path + "/METADATA"}}
		}
	}
	return nil
}

// pluginFamily returns the CUDA major version of the plugin that JAX finds by its directory, whatever its metadata, or
// "". If there are two, JAX takes the newer.
func pluginFamily(h *host.Host, s *pyenv.Site) string {
	family := ""
	for _, dir := range s.Path {
		for _, file := range h.GlobIn(dir, "jax_plugins/xla_cuda[0-9]*/__init__.py") {
			family = max(family, strings.TrimPrefix(path.Base(path.Dir(file)), "xla_cuda"))
		}
	}
	return family
}
