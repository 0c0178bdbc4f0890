package loader

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/pyenv"
)

// xlaSonames are the libraries that XLA's stubs open by name for each CUDA major version (tsl's dso_loader.cc), on
// behalf of the library that contains the stubs. They are code for the same reason as knownDlopens.
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
func xlaLoads(b *facts.Build, h *host.Host, p *ldso.Process, s *pyenv.Site, libraries, sonames []string) error {
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
		NoteUnloadable(b, h, p)
		return nil
	}
	if err := standardLibrary(b, p); err != nil {
		return err
	}
	for _, name := range sonames {
		o, err := p.Open(name, stubs, ldso.Local)
		if err == nil && o != nil && notTheWheels(s, h, o) {
			err = lookUp(b, p, o, stubs)
		}
		if err != nil {
			return err
		}
	}
	err := findShadows(b, h, p, s)
	b.Missing = append(b.Missing, slices.DeleteFunc(AbsentLibraries(b, p), func(name string) bool {
		return doesWithout(s, h, name) || CUDAStem(name) == "libnvshmem_host"
	})...)
	NoteUnloadable(b, h, p)
	recordLoaded(b, h, p, s)
	return err
}

// versionFunctions are the functions of CUDA libraries that return their versions. Every release has them.
var versionFunctions = map[string]string{
	"libcudart": "cudaRuntimeGetVersion", "libcublas": "cublasGetVersion_v2", "libcublasLt": "cublasLtGetVersion",
	"libcufft": "cufftGetVersion", "libcusolver": "cusolverGetVersion", "libcusparse": "cusparseGetVersion",
	"libcudnn": "cudnnGetVersion", "libnccl": "ncclGetVersion",
}

// lookUp looks for a function as XLA's stubs would, in a library that is not the one its wheel brought. The stubs need
// none of its symbols, so the loader takes any file of that name.
func lookUp(b *facts.Build, p *ldso.Process, o, stubs *ldso.Object) error {
	function := versionFunctions[CUDAStem(o.Path)]
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

// TensorflowLoads maps TensorFlow. Its stubs are in libtensorflow_framework.so.2, whose run path leads to the wheels
// from 2.14 on.
func TensorflowLoads(b *facts.Build, h *host.Host, s *pyenv.Site) error {
	family, _, _ := strings.Cut(b.CUDA, ".")
	sonames := slices.Clone(xlaSonames[family])
	if major, _, _ := strings.Cut(b.CuDNN, "."); major != "" {
		sonames = append(sonames, "libcudnn.so."+major)
	}
	p, err := PythonProcess(h, s)
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
var jaxCuDNN = lazyregexp.New(`^nvidia-cudnn-cu\d+[^;]*>=\s*(\d+)`)

// JAXLoads maps JAX's CUDA plugin: first the wheels' libraries that it opens by path, then the plugin, whose run path
// leads to the wheels, too.
func JAXLoads(b *facts.Build, h *host.Host, s *pyenv.Site) error {
	plugin := s.Dir + "/jax_plugins/xla_cuda" + b.CUDA
	p, err := PythonProcess(h, s)
	if err != nil {
		return err
	}
	init, err := h.ReadFile(plugin + "/__init__.py")
	if err != nil && !host.Absent(err) {
		return err
	}
	if b.Missing = jaxLost(b, h, s, init); len(b.Missing) == 0 {
		findPluginDamage(h, s, b)
	}
	if len(b.Missing) > 0 {
		b.Looked = true
		return nil
	}
	for _, file := range parseJAXPreloads(init) {
		found := s.InWheels(h, file)
		if len(found) == 0 {
			continue
		}
		if _, err := p.Open(found[0], nil, ldso.Local); err != nil {
			return err
		}
	}
	metadata := s.Index(h).At(b.From).Metadata()
	if err := metadata.Err(); err != nil && !host.Absent(err) {
		return err
	}
	sonames := append(slices.Clone(xlaSonames[b.CUDA]), "libnccl.so.2")
	if bytes.Contains(init, []byte("cupti_get_version")) { // without it the plugin does not start
		sonames = append(sonames, "libcupti.so."+b.CUDA)
	}
	for _, r := range metadata.Requires {
		if m := jaxCuDNN.FindStringSubmatch(r.Text); m != nil {
			sonames = append(sonames, "libcudnn.so."+m[1])
			break
		}
	}
	return xlaLoads(b, h, p, s, []string{plugin + "/xla_cuda_plugin.so"}, sonames)
}

// parseJAXPreloads reads the files below nvidia/ out of the plugin's __init__.py.
func parseJAXPreloads(init []byte) []string {
	var list []string
	for _, m := range jaxPreload.FindAllSubmatch(init, pyenv.MaxMatches) {
		for _, name := range quotedName.FindAllSubmatch(m[2], pyenv.MaxMatches) {
			list = append(list, string(m[1])+"/lib/"+string(name[1]))
		}
	}
	return list
}

// jaxLost returns what the plugin needs and is missing: its library, and the extension that registers its functions, if
// it imports one. A plugin that is neither installed nor required does not count.
func jaxLost(b *facts.Build, h *host.Host, s *pyenv.Site, init []byte) []string {
	there := func(name string) bool {
		return slices.ContainsFunc(s.Path, func(dir string) bool { return h.Exists(dir + "/" + name) })
	}
	family := "cuda" + b.CUDA
	extension := "jax_" + family + "_plugin/cuda_plugin_extension.so"
	asked := init != nil || pins(s, h, "jax-"+family+"-plugin", "jax-"+family+"-pjrt")
	switch {
	case asked && !there("jax_plugins/xla_"+family+"/xla_cuda_plugin.so"):
		return []string{"xla_cuda_plugin.so"}
	case bytes.Contains(init, []byte("cuda_plugin_extension")) && !there(extension) &&
		!there("jaxlib/cuda/cuda_plugin_extension.so"):
		return []string{extension}
	}
	return nil
}

// findPluginDamage records missing or empty files of JAX's CUDA plugin without which JAX does not load it. Another
// damaged file leaves the result open, because its use shows only when a program runs.
func findPluginDamage(h *host.Host, s *pyenv.Site, b *facts.Build) {
	for _, name := range []string{"jax-cuda" + b.CUDA + "-pjrt", "jax-cuda" + b.CUDA + "-plugin"} {
		d := s.Index(h).Find(name)
		if d == nil {
			continue
		}
		for _, one := range s.Index(h).Damaged(d) {
			needed := strings.HasPrefix(one.Name, "jax_plugins/") || strings.HasSuffix(one.Name, "/cuda_plugin_extension.so")
			bad := facts.Hindrance{Kind: facts.HindrancePerhaps, Of: d.String(), Path: path.Join(d.Dir(), one.Name), By: "it is gone"}
			switch {
			case one.Size == 0:
				bad.By = "it is empty"
			case one.Size > 0:
				bad.By = fmt.Sprintf("it has %d bytes, RECORD says %d", one.Size, one.Told)
			}
			switch {
			case needed && one.Size <= 0:
				bad.Kind = facts.HindranceSpoiled
				b.Hindrances = slices.Insert(b.Hindrances, 0, bad)
			case needed && strings.HasSuffix(one.Name, "xla_cuda_plugin.so"): // the loader says so
			default:
				b.Hindrances = append(b.Hindrances, bad)
			}
		}
	}
}

// pins reports whether an installed distribution requires one release of another.
func pins(s *pyenv.Site, h *host.Host, name, other string) bool {
	dist := s.Dist(name)
	if dist == nil {
		return false
	}
	return s.Index(h).At(dist.Path).Metadata().Pins()[other] != ""
}
