package python

import (
	"cmp"

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
		From: jaxlib.Path, Hindrances: s.lost(h, "jax", "jaxlib/__init__.py")}
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
	if s.conda != "" && condaFind(h, s.conda, "jaxlib") != nil {
		b.Origin, b.Accelerator = "conda-forge", ""
	}
	failed := host.Errors{}
	failed.Add(err)
	if b.Accelerator == "cuda" {
		failed.Add(readCode(b, h, s.dir, "jax_cuda"+b.CUDA+"_plugin/*.so", "jax_plugins/xla_cuda"+b.CUDA+"/*.so"))
		failed.Add(jaxLoads(b, h, s))
	}
	return b, failed.Err()
}
