package python

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
)

// xlaSonames are the libraries that XLA's stubs open by name for each CUDA family (tsl's dso_loader.cc), on behalf of
// the library that the stubs stand in. They are code for the same reason as knownDlopens.
var xlaSonames = map[string][]string{
	"11": {"libcudart.so.11.0", "libcublas.so.11", "libcublasLt.so.11", "libcufft.so.10", "libcusolver.so.11",
		"libcusparse.so.11"},
	"12": {"libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcufft.so.11", "libcusolver.so.11",
		"libcusparse.so.12"},
	"13": {"libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcufft.so.12", "libcusolver.so.12",
		"libcusparse.so.12"},
}

// xlaLoads maps the libraries of a framework built on XLA, then what their stubs open, and notes which CUDA libraries
// that takes. All is opened on behalf of the first library that is there: TensorFlow 2.21.0 has the run path to
// cuSOLVER in another one, and its own MaybeTryDlopenGPULibraries fails for it, as 2.16.1's does for five.
func xlaLoads(b *facts.Build, h *host.Host, p *ldso.Process, s *site, libraries, sonames []string) error {
	var stubs *ldso.Object
	for _, lib := range libraries {
		if !h.Exists(lib) {
			continue
		}
		o, err := p.Open(lib, nil, ldso.Global)
		if err != nil {
			return err
		}
		if o == nil {
			b.Missing, b.Looked = append(b.Missing, path.Base(lib)), true
		}
		if stubs == nil {
			stubs = o
		}
	}
	if stubs == nil {
		noteUnloadable(b, h, p)
		return nil
	}
	if err := standardLibrary(b, p); err != nil {
		return err
	}
	for _, name := range sonames {
		o, err := p.Open(name, stubs, ldso.Local)
		if err == nil && o != nil && s.notTheWheels(h, o) {
			err = lookUp(b, p, o, stubs)
		}
		if err != nil {
			return err
		}
	}
	err := findShadows(b, h, p, s)
	b.Missing = append(b.Missing, slices.DeleteFunc(absentLibraries(b, p), func(name string) bool {
		return s.doesWithout(h, name) || cudaStem(name) == "libnvshmem_host"
	})...)
	noteUnloadable(b, h, p)
	takeLibraries(b, h, p, s)
	return err
}

// versionFunctions are the functions of CUDA's libraries that tell their versions, which every release of them has.
var versionFunctions = map[string]string{
	"libcudart": "cudaRuntimeGetVersion", "libcublas": "cublasGetVersion_v2", "libcublasLt": "cublasLtGetVersion",
	"libcufft": "cufftGetVersion", "libcusolver": "cusolverGetVersion", "libcusparse": "cusparseGetVersion",
	"libcudnn": "cudnnGetVersion", "libnccl": "ncclGetVersion",
}

// lookUp looks for a function where XLA's stubs would, in a library that is not the one which its wheel brought: the
// stubs need no symbol of it, so that the loader takes whatever bears its name.
func lookUp(b *facts.Build, p *ldso.Process, o, stubs *ldso.Object) error {
	function := versionFunctions[cudaStem(o.Path)]
	if function == "" {
		return nil
	}
	b.Compared = true
	there, err := p.Defines(o, function)
	if !there && err == nil {
		addUnresolved(b, ldso.Symbol{Name: function}, stubs, o)
	}
	return err
}

// tensorflowLoads maps TensorFlow. Its stubs stand in libtensorflow_framework.so.2, whose run path leads to the wheels
// from 2.14 on.
func tensorflowLoads(b *facts.Build, h *host.Host, s *site) error {
	family, _, _ := strings.Cut(b.CUDA, ".")
	sonames := slices.Clone(xlaSonames[family])
	if major, _, _ := strings.Cut(b.CuDNN, "."); major != "" {
		sonames = append(sonames, "libcudnn.so."+major)
	}
	p, err := pythonProcess(h, s)
	if err != nil || len(xlaSonames[family]) == 0 {
		return err
	}
	return xlaLoads(b, h, p, s, []string{b.Path + "/libtensorflow_framework.so.2", b.Path + "/libtensorflow_cc.so.2",
		b.Path + "/python/_pywrap_tensorflow_internal.so"}, sonames)
}

// jaxPreload matches what JAX's plugin opens from the wheels before all else, from jax 0.6.2 on:
//
//	_load("cublas", ["libcublas.so.12", "libcublasLt.so.12"])
var (
	jaxPreload = lazyregexp.New(`(?m)^  _load\("(\w+)", \[([^\]]*)\]\)`)
	quotedName = lazyregexp.New(`"(lib[\w-]+\.so[.\d]*)"`)
)

// jaxCuDNN matches the least cuDNN that the plugin asks for, "nvidia-cudnn-cu12<10.0,>=9.8".
var jaxCuDNN = lazyregexp.New(`(?m)^Requires-Dist: nvidia-cudnn-cu\d+[^;\n]*>=\s*(\d+)`)

// jaxLoads maps JAX's CUDA plugin: first the wheels' libraries that it opens by their paths, then the plugin, whose run
// path leads to the wheels too.
func jaxLoads(b *facts.Build, h *host.Host, s *site) error {
	plugin := s.dir + "/jax_plugins/xla_cuda" + b.CUDA
	p, err := pythonProcess(h, s)
	if err != nil {
		return err
	}
	init, err := h.ReadFile(plugin + "/__init__.py")
	if err != nil && !host.Absent(err) {
		return err
	}
	if b.Missing = jaxLost(b, h, s, init); len(b.Missing) > 0 {
		b.Looked = true
		return nil
	}
	for _, file := range parseJAXPreloads(init) {
		found := s.inWheels(h, file)
		if len(found) == 0 {
			continue
		}
		if _, err := p.Open(found[0], nil, ldso.Local); err != nil {
			return err
		}
	}
	metadata, err := h.ReadFile(b.From + "/METADATA")
	if err != nil && !host.Absent(err) {
		return err
	}
	sonames := append(slices.Clone(xlaSonames[b.CUDA]), "libnccl.so.2")
	if bytes.Contains(init, []byte("cupti_get_version")) { // without it the plugin does not start
		sonames = append(sonames, "libcupti.so."+b.CUDA)
	}
	if m := jaxCuDNN.FindSubmatch(metadata); m != nil {
		sonames = append(sonames, "libcudnn.so."+string(m[1]))
	}
	return xlaLoads(b, h, p, s, []string{plugin + "/xla_cuda_plugin.so"}, sonames)
}

// parseJAXPreloads reads the files below nvidia/ out of the plugin's __init__.py.
func parseJAXPreloads(init []byte) []string {
	var list []string
	for _, m := range jaxPreload.FindAllSubmatch(init, maxMatches) {
		for _, name := range quotedName.FindAllSubmatch(m[2], maxMatches) {
			list = append(list, string(m[1])+"/lib/"+string(name[1]))
		}
	}
	return list
}
