package framework

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"cudacompat/internal/lazyregexp"
	"cudacompat/internal/ldso"
	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/internal/loader"
	"cudacompat/probe/internal/pyenv"
)

// program is a CUDA program outside Python: the places where packages and installers put it, and its libraries with
// machine code.
type program struct {
	name  string
	roots []string
	homes []string // where users unpack and build it, below their homes
	files []string
}

// programs lists the programs that are searched. Ollama has a library for each CUDA, cuda_v12/libggml-cuda.so, and
// picks one at startup; older releases kept them in one directory. llama.cpp has the same library, in its image under
// /app. Triton's backends bring those of their frameworks.
var programs = []program{
	{"ollama", []string{"/usr/lib/ollama", "/usr/local/lib/ollama", "/opt/ollama/lib/ollama"},
		[]string{".local/lib/ollama", "ollama/lib/ollama", "lib/ollama"},
		[]string{"cuda_v[0-9]*/libggml-cuda.so", "libggml-cuda.so", "libggml_cuda_v[0-9]*.so"}},
	{"llama.cpp", []string{"/app", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64",
		"/usr/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu/ggml/backends0",
		"/usr/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu/ggml/backends0",
		"/opt/llama.cpp/build/bin"}, []string{"llama.cpp/build/bin", ".local/lib"}, []string{"libggml-cuda.so"}},
	{"tritonserver", []string{"/opt/tritonserver"}, nil, []string{"lib/libtritonserver.so",
		"backends/pytorch/libtorch_cuda.so", "backends/onnxruntime/libonnxruntime_providers_cuda.so",
		"backends/tensorrtllm/libtriton_tensorrtllm.so"}},
}

// readPrograms reads the CUDA programs outside Python.
func readPrograms(h *host.Host, failed *host.Errors) []facts.Environment {
	var list []facts.Environment
	seen := map[string]bool{}
	for _, p := range programs {
		for _, root := range p.places(h) {
			real, err := h.Resolve(root)
			if err != nil || seen[p.name+real] {
				continue
			}
			seen[p.name+real] = true
			if builds := p.builds(h, root, failed); len(builds) > 0 {
				list = append(list, facts.Environment{Path: root, Kind: "program", Builds: builds})
			}
		}
	}
	return list
}

// places returns where a program may be: in the calling user's home, and in a tree at rest in every home.
func (p program) places(h *host.Host) []string {
	places := slices.Clone(p.roots)
	for _, home := range pyenv.Homes(h) {
		for _, dir := range p.homes {
			if path.IsAbs(home) {
				places = append(places, path.Join(home, dir))
			}
		}
	}
	return places
}

// builds returns a program's backends under one root, one for each CUDA. Libraries without a CUDA in their name belong
// to all.
func (p program) builds(h *host.Host, root string, failed *host.Errors) []facts.Build {
	var list []facts.Build
	for _, pattern := range p.files {
		for _, file := range h.GlobIn(root, pattern) {
			cuda, variant := backendCUDA(h, root, file)
			i := slices.IndexFunc(list, func(b facts.Build) bool {
				return b.Specifier == variant && (cuda == "" || b.CUDA == cuda)
			})
			if i < 0 {
				i = len(list)
				list = append(list, facts.Build{Name: p.name, Specifier: variant, Extension: true, Standalone: true,
					Accelerator: "cuda", CUDA: cuda, Origin: "program", Path: path.Dir(file), From: file})
			}
			failed.Add(loader.AddCode(&list[i], h, file))
		}
	}
	for i := range list {
		failed.Add(readBackend(h, root, &list[i]))
		list[i].Specifier = cmp.Or(list[i].Specifier, path.Base(list[i].From))
	}
	return slices.DeleteFunc(list, func(b facts.Build) bool {
		return b.CUDA == "" && len(b.SASS)+len(b.PTX) == 0 && b.Damaged == ""
	})
}

// readBackend loads a program's backend as the program does, and records the CUDA libraries that it needs and does not
// get. Programs put the directories of their own backends on the loader's path. For a toolkit's, somebody may set
// LD_LIBRARY_PATH. A library in neither is nowhere.
func readBackend(h *host.Host, root string, b *facts.Build) error {
	p, err := h.Loader().Host()
	if err != nil {
		return err
	}
	if o, err := p.Open(b.From, nil, ldso.Local); o == nil || err != nil {
		return err
	}
	dirs := []string{b.Path, root}
	for _, toolkit := range h.ToolkitPlaces(h.NVCCRoot()) {
		dirs = append(dirs, toolkit+"/lib64", toolkit+"/lib", toolkit+"/targets/*/lib")
	}
	for i := 0; i < len(p.Missing); i++ { // what is loaded can miss more
		name := path.Base(p.Missing[i].Name)
		for _, dir := range dirs {
			files := h.Glob(path.Join(dir, name))
			if loader.CUDAStem(name) == "" || p.Loaded(name) != nil || len(files) == 0 {
				continue
			}
			if _, err := p.Open(files[0], nil, ldso.Global); err != nil {
				return err
			}
		}
	}
	b.Missing = loader.AbsentLibraries(b, p)
	loader.NoteUnloadable(b, h, p)
	return nil
}

var backendName = lazyregexp.New(`cuda_v(\d\d)`)

// backendCUDA returns the CUDA major version that a library is for, by its needs, otherwise by its name. variant is the
// program's own name for it, "cuda_v12".
func backendCUDA(h *host.Host, root, file string) (cuda, variant string) {
	if m := backendName.FindStringSubmatch(strings.TrimPrefix(file, root)); m != nil {
		cuda, variant = m[1], m[0]
	}
	for _, library := range loader.NeededBy(h, file) {
		if m := loader.FamilyName.FindStringSubmatch(library); m != nil {
			cuda = m[1]
		}
	}
	return cuda, variant
}
