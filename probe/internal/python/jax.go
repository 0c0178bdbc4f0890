package python

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/distname"
)

// jaxLocal matches the old wheels that carried CUDA themselves: jaxlib 0.4.23+cuda12.cudnn89.
var jaxLocal = lazyregexp.New(`\+cuda(\d+)\.cudnn(\d)(\d+)$`)

// jaxBuild reads a JAX from its distributions: the CUDA plugin's, else a jaxlib with CUDA inside, else JAX is for CPUs.
func jaxBuild(h *host.Host, s *site) (*facts.Build, error) {
	jaxlib := s.dist("jaxlib")
	if jaxlib == nil {
		return nil, nil
	}
	b := &facts.Build{Name: "jax", Version: jaxlib.Version, Accelerator: "cpu", Path: s.dir + "/jaxlib",
		From: jaxlib.Path, Hindrances: s.lostFiles(h, "jax", "jaxlib/__init__.py")}
	m, err := readMetadata(h, jaxlib)
	b.Requires, b.Glibc, b.Arch = m.requires, m.glibc, m.arch
	if m.pip {
		b.Origin = "wheel"
	}
	b.Python = cmp.Or(extensionPython(h, s.dir+"/jaxlib/*.cpython-*.so"), m.python)
	if local := jaxLocal.FindStringSubmatch(jaxlib.Version); local != nil {
		b.Accelerator, b.CUDA, b.CuDNN = "cuda", local[1], local[2]+"."+local[3]
	}
	for _, d := range s.dists { // sorted: where both are there cuda13's comes last, and JAX takes it
		if p := distname.JAXPlugin.FindStringSubmatch(d.Name); p != nil {
			b.Accelerator, b.CUDA, b.From = "cuda", p[1], d.Path
		}
	}
	if family := pluginFamily(h, s); family != "" && b.Accelerator == "cpu" {
		b.Accelerator, b.CUDA = "cuda", family
	}
	if s.conda != "" && condaFind(h, s.conda, "jaxlib") != nil {
		b.Origin, b.Accelerator = "conda-forge", ""
	}
	failed := host.Errors{}
	failed.Add(err)
	if b.Accelerator == "cuda" {
		failed.Add(readCode(h, s.dir, "jax_cuda"+b.CUDA+"_plugin/*.so", "jax_plugins/xla_cuda"+b.CUDA+"/*.so")(b))
		failed.Add(jaxLoads(b, h, s))
		b.Hindrances = append(b.Hindrances, otherJaxlib(h, s, jaxlib)...)
	}
	return b, failed.Err()
}

// otherJaxlib is that jax requires another release of jaxlib than the one that is there. Its metadata has the range
// that it compares when it is imported (jax/_src/lib/__init__.py, check_jaxlib_version).
func otherJaxlib(h *host.Host, s *site, jaxlib *facts.Package) []facts.Hindrance {
	jax := s.dist("jax")
	if jax == nil {
		return nil
	}
	for _, m := range rangedRequirement.FindAllSubmatch(headerOf(h.ReadQuietly(jax.Path+"/METADATA")), -1) {
		if string(m[1]) == "jaxlib" && !accepts(string(m[2]), jaxlib.Version) {
			return []facts.Hindrance{{Kind: facts.HindranceRelease, Of: "jaxlib " + jaxlib.Version,
				By: "jaxlib" + strings.TrimSpace(string(m[2])), Path: jax.Path + "/METADATA"}}
		}
	}
	return nil
}

// pluginFamily is the CUDA family of the plugin that JAX finds by its directory, whatever became of its metadata; empty
// where there is none. Of two, JAX takes the newer.
func pluginFamily(h *host.Host, s *site) string {
	family := ""
	for _, dir := range s.path {
		for _, file := range h.GlobIn(dir, "jax_plugins/xla_cuda[0-9]*/__init__.py") {
			family = max(family, strings.TrimPrefix(path.Base(path.Dir(file)), "xla_cuda"))
		}
	}
	return family
}

// jaxLost is what the plugin cannot do without and is nowhere: its library, and the extension that registers its
// functions, where it imports one. A plugin that is neither there nor asked for is none.
func jaxLost(b *facts.Build, h *host.Host, s *site, init []byte) []string {
	there := func(name string) bool {
		return slices.ContainsFunc(s.path, func(dir string) bool { return h.Exists(dir + "/" + name) })
	}
	family := "cuda" + b.CUDA
	extension := "jax_" + family + "_plugin/cuda_plugin_extension.so"
	asked := init != nil || s.pins(h, "jax-"+family+"-plugin", "jax-"+family+"-pjrt")
	switch {
	case asked && !there("jax_plugins/xla_"+family+"/xla_cuda_plugin.so"):
		return []string{"xla_cuda_plugin.so"}
	case bytes.Contains(init, []byte("cuda_plugin_extension")) && !there(extension) &&
		!there("jaxlib/cuda/cuda_plugin_extension.so"):
		return []string{extension}
	}
	return nil
}

// pins reports whether an installed distribution requires one release of another.
func (s *site) pins(h *host.Host, name, other string) bool {
	dist := s.dist(name)
	if dist == nil {
		return false
	}
	_, pins := parseMetadata(h.ReadQuietly(dist.Path + "/METADATA"))
	return pins[other] != ""
}
