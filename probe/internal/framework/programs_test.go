package framework

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

// TestPrograms finds Ollama's libraries for two CUDAs, llama.cpp's in its image, and Triton server with the backend
// that has machine code. An unrelated library of the same name does not count.
func TestPrograms(t *testing.T) {
	root := t.TempDir()
	const v12, v13 = "usr/lib/ollama/cuda_v12/", "usr/lib/ollama/cuda_v13/"
	runtime := func(dir, major string) hosttest.Library {
		return hosttest.Library{Name: dir + "libcudart.so." + major, Source: "int cudaMalloc(void) { return 0; }\n"}
	}
	uses := func(name, cudart string, capabilities ...int) hosttest.Library {
		return hosttest.Library{Name: name, Needs: []string{cudart},
			Source: "int cudaMalloc(void); int ours(void) { return cudaMalloc(); }\n" + fatSource(capabilities...)}
	}
	const toolkit = "usr/local/cuda-12.8/lib64/"
	hosttest.Compile(t, root, runtime(v12, "12"), runtime(v13, "13"), runtime(toolkit, "12"),
		uses(v12+"libggml-cuda.so", v12+"libcudart.so.12", 70, 80), uses(v13+"libggml-cuda.so", v13+"libcudart.so.13", 80, 120),
		uses("app/libggml-cuda.so", toolkit+"libcudart.so.12", 86),
		hosttest.Library{Name: "opt/tritonserver/lib/libtritonserver.so", Source: "int serve;\n"},
		uses("opt/tritonserver/backends/pytorch/libtorch_cuda.so", toolkit+"libcudart.so.12", 90),
		uses("home/u/llama.cpp/build/bin/libggml-cuda.so", toolkit+"libcudart.so.12", 89),
		uses("root/.local/lib/ollama/libggml-cuda.so", toolkit+"libcudart.so.12", 75),
		hosttest.Library{Name: "usr/local/lib/libggml-cuda.so", Source: "int nothing;\n"})

	for name, h := range map[string]*host.Host{
		"running machine": {Root: root, Env: map[string]string{"HOME": "/home/u"}},
		"tree at rest":    {Root: root, Rest: true},
	} {
		found, err := Read(h, nil)
		lines := programLines(found.Programs)
		if others := slices.Contains(lines, "ollama libggml-cuda.so in /root/.local/lib/ollama: CUDA 12, sm_75"); err != nil ||
			others != h.Rest || !slices.Contains(lines, "llama.cpp libggml-cuda.so in /home/u/llama.cpp/build/bin: CUDA 12, sm_89") {
			t.Errorf("%s: %v, %v", name, err, lines)
		}
	}
	found, err := Read(&host.Host{Root: root}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ollama cuda_v12 in /usr/lib/ollama: CUDA 12, sm_70 sm_80",
		"ollama cuda_v13 in /usr/lib/ollama: CUDA 13, sm_80 sm_120",
		"llama.cpp libggml-cuda.so in /app: CUDA 12, sm_86",
		"tritonserver libtorch_cuda.so in /opt/tritonserver: CUDA 12, sm_90",
	}
	if diff := cmp.Diff(want, programLines(found.Programs)); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
	found, err = Read(&host.Host{Root: root}, []string{"/opt/venv"})
	if len(found.Programs) > 0 {
		t.Errorf("with --env: %v, %v", programLines(found.Programs), err)
	}
}

// TestBackendLibraries checks that a backend is loaded as the loader does it, from its own directory, its program's,
// and a toolkit, and that a library in none of them is missing.
func TestBackendLibraries(t *testing.T) {
	for _, c := range []struct {
		name, runtime string
		want          []string
	}{
		{"beside it", "app/", nil},
		{"in a toolkit", "usr/local/cuda-13.0/lib64/", nil},
		{"on the loader's path", "usr/lib64/", nil},
		{"where nothing leads", "srv/", []string{"libcudart.so.13"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			runtime := c.runtime + "libcudart.so.13"
			hosttest.Compile(t, root, hosttest.Library{Name: runtime, Source: "int cudaMalloc(void) { return 0; }\n"},
				hosttest.Library{Name: "app/libggml-cuda.so", Needs: []string{runtime},
					Source: "int cudaMalloc(void); int ours(void) { return cudaMalloc(); }\n" + fatSource(86)})
			found, err := Read(&host.Host{Root: root, Rest: true}, nil)
			hosttest.Must(t, err)
			if len(found.Programs) != 1 {
				t.Fatalf("programs are %v", programLines(found.Programs))
			}
			if diff := cmp.Diff(c.want, found.Programs[0].Builds[0].Missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

func programLines(programs []facts.Environment) []string {
	var list []string
	for _, p := range programs {
		for _, b := range p.Builds {
			list = append(list, fmt.Sprintf("%s %s in %s: CUDA %s, %s", b.Name, b.Specifier, p.Path, b.CUDA,
				strings.Join(b.SASS, " ")))
		}
	}
	return list
}
