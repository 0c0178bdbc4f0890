package framework

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"

	"github.com/google/go-cmp/cmp"
)

func TestLoadedOf(t *testing.T) {
	all := []string{"b/libb_cpu.so", "b/libb_cuda118.so", "b/libb_cuda126.so", "b/libb_cuda128.so", "b/libb_cuda130.so"}
	for _, c := range []struct {
		cuda string
		want []string
	}{
		{"12.8", []string{"b/libb_cpu.so", "b/libb_cuda128.so"}},
		{"12.8.1", []string{"b/libb_cpu.so", "b/libb_cuda128.so"}},
		{"12.9", []string{"b/libb_cpu.so", "b/libb_cuda126.so", "b/libb_cuda128.so"}},
		{"14.0", []string{"b/libb_cpu.so"}},
	} {
		t.Run(c.cuda, func(t *testing.T) {
			if diff := cmp.Diff(c.want, loadedOf(all, c.cuda)); diff != "" {
				t.Errorf("libraries (-want +got):\n%s", diff)
			}
		})
	}
	modules := []string{"f/_cuda_cu118.cpython-311-x86_64-linux-gnu.so", "f/_cuda_cu128.cpython-311-x86_64-linux-gnu.so", "f/_ops_cu124.abi3.so"}
	if diff := cmp.Diff(modules[1:2], loadedOf(modules, "12.8")); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a.so"}, loadedOf([]string{"a.so"}, "12.8")); diff != "" {
		t.Errorf("without families (-want +got):\n%s", diff)
	}
}

// fatSource returns the C source of a library with one container of code, in the layout that package fatbin describes:
// machine code for each capability and PTX of version 8.7 for the last, and padding that makes the file large.
func fatSource(capabilities ...int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "__asm__(\".pushsection .nv_fatbin, \\\"a\\\"\\n.balign 8\\n.long 0xBA55ED50\\n.short 1, "+
		"16\\n.quad 1f - 0f\\n0:\\n")
	entry := func(kind, arch int) {
		fmt.Fprintf(&b, ".short %d, 0\\n.long 64\\n.quad 8\\n.quad 0\\n.short 7, 8\\n.long %d\\n.quad 0\\n.quad "+
			"0x8000\\n.quad 0, 0\\n.quad 0\\n", kind, arch)
	}
	for _, c := range capabilities {
		entry(2, c)
	}
	entry(1, capabilities[len(capabilities)-1])
	b.WriteString("1:\\n.popsection\\n.pushsection .big, \\\"a\\\"\\n.zero 1100000\\n.popsection\");\n")
	return b.String()
}

// TestExtensions finds a distribution with CUDA code that no table knows, beside torch, and no other.
func TestExtensions(t *testing.T) {
	root := torchTree(t)
	record := func(dist, library string) {
		info, err := os.Stat(filepath.Join(root, hosttest.Site+library))
		if err != nil {
			t.Fatal(err)
		}
		hosttest.Write(t, filepath.Join(root, hosttest.Site+dist+".dist-info/RECORD"),
			fmt.Sprintf("%s,sha256=x,%d\n", library, info.Size()))
	}
	cudart := []string{hosttest.Site + "nvidia/cuda_runtime/lib/libcudart.so.12"}
	hosttest.Compile(t, root,
		hosttest.Library{Name: hosttest.Site + "ours/_C.so",
			Source: "int cudaMalloc(void); int ours(void) { return cudaMalloc(); }\n" + fatSource(80, 90),
			Needs:  cudart},
		hosttest.Library{Name: hosttest.Site + "plain/_C.so", Source: "char plain[1100000] = {1};\n"})
	record("our_kernels-1.2", "ours/_C.so")
	record("plain-3.4", "plain/_C.so")

	found, err := Read(&host.Host{Root: root}, []string{"/opt/venv"})
	if err != nil {
		t.Fatal(err)
	}
	var f facts.Facts
	f.Environments = found.Environments
	path := "/" + hosttest.Site + "our_kernels-1.2.dist-info"
	want := []facts.Build{{Name: "our-kernels", Version: "1.2", Extension: true, Standalone: true, Accelerator: "cuda",
		CUDA: "12",
		SASS: []string{"sm_80", "sm_90"},
		PTX:  []string{"compute_90"}, PTXISA: map[string]string{"compute_90": "8.7"},
		Zstd: []string{"sm_80", "sm_90", "compute_90"}, Path: path, From: path + "/RECORD",
		Looked: true, Beside: []string{"/" + cudart[0]}}}
	if diff := cmp.Diff(want, f.Environments[0].Builds[1:]); diff != "" {
		t.Errorf("extensions (-want +got):\n%s", diff)
	}
}

// TestNotExtensions checks that NVIDIA's packages that vLLM 0.32 and FlashInfer bring, among them nccl-extensions with
// code from sm_80 on, do not make a machine with a T4 broken.
func TestNotExtensions(t *testing.T) {
	for name, want := range map[string]bool{"nccl-extensions": true, "nvshmem4py-cu12": true, "nvidia-cudnn-cu12": true,
		"tensorrt-cu12": true,
		"flash-attn":    false, "nvidia-dali-cuda120": false, "vllm": false, "onnxruntime-gpu": false} {
		if got := notExtension(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
