package framework

import (
	"os"
	"testing"

	"cudacompat/probe/facts"
	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pyenv"

	"github.com/google/go-cmp/cmp"
)

// The banner is that of the ptxas in Triton 3.4.0.
func TestAssemblers(t *testing.T) {
	h := hosttest.Tree(t, `
-- s/triton/backends/nvidia/bin/ptxas = elf x86_64 .rodata --
Cuda compilation tools, release 12.8, V12.8.93
-- s/triton/backends/nvidia/bin/ptxas-blackwell --
not an ELF file
-- s/nvidia/cu13/bin/ptxas = elf x86_64 .rodata --
no banner in it
-- usr/local/cuda/bin/ptxas = elf x86_64 .rodata --
Cuda compilation tools, release 13.0, V13.0.88
`)
	hosttest.Must(t, os.Chmod(h.Root+"/usr/local/cuda/bin/ptxas", 0o755))
	h.Env = map[string]string{"TRITON_PTXAS_PATH": "/usr/local/cuda/bin/ptxas", "TRITON_PTXAS_BLACKWELL_PATH": "/gone"}
	var failed host.Errors
	got := append(assemblersIn(h, "/s", &failed), assemblersNamed(h, &failed)...)
	want := []facts.Assembler{
		{Name: "ptxas", Version: "12.8.93", Path: "/s/triton/backends/nvidia/bin/ptxas", By: "triton"},
		{Name: "ptxas-blackwell", Path: "/s/triton/backends/nvidia/bin/ptxas-blackwell", By: "triton"},
		{Name: "ptxas", Path: "/s/nvidia/cu13/bin/ptxas", By: "nvcc"},
		{Name: "ptxas", Version: "13.0.88", Path: "/usr/local/cuda/bin/ptxas", By: "TRITON_PTXAS_PATH"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(failed) != 1 {
		t.Errorf("%v; want one line, of the file that is no library", failed)
	}
	h.Env["TRITON_PTXAS_PATH"] = "/s/nvidia/cu13/bin/ptxas" // of mode 0644
	want = []facts.Assembler{{Name: "ptxas", Path: "/s/nvidia/cu13/bin/ptxas", By: "TRITON_PTXAS_PATH", Fault: notExecutable}}
	if diff := cmp.Diff(want, assemblersNamed(h, &failed)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestFaultyAssemblers checks that assemblers in a Triton's RECORD that cannot start are named, also beside a torch.
// conda's package omits files of the wheel.
func TestFaultyAssemblers(t *testing.T) {
	const bin = "triton/backends/nvidia/bin/"
	for installer, want := range map[string][]facts.Assembler{
		"pip": {{Name: "ptxas", Path: "/s/" + bin + "ptxas", By: "triton", Fault: "not executable"},
			{Name: "ptxas-blackwell", Path: "/s/" + bin + "ptxas-blackwell", By: "triton", Fault: "gone"}},
		"conda": {{Name: "ptxas", Path: "/s/" + bin + "ptxas", By: "triton"}},
	} {
		h := hosttest.Tree(t, "-- s/triton-3.6.0.dist-info/INSTALLER --\n"+installer+
			"\n-- s/triton-3.6.0.dist-info/RECORD --\n"+bin+"ptxas,sha256=x,9\n"+bin+"ptxas-blackwell,sha256=x,9\n"+
			"-- s/"+bin+"ptxas --\nno ELF file, of mode 0644\n")
		s := &pyenv.Site{Dir: "/s", Dists: []facts.Package{{Name: "triton", Version: "3.6.0", Path: "/s/triton-3.6.0.dist-info"}}}
		var failed host.Errors
		if diff := cmp.Diff(want, addFaults(s, h, assemblersIn(h, "/s", &failed))); diff != "" {
			t.Errorf("%s: -want +got:\n%s", installer, diff)
		}
	}
}
