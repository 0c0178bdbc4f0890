package framework

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cudacompat/probe/host"
	"cudacompat/probe/host/hosttest"
	"cudacompat/probe/internal/pyenv"
)

// fatbinSource is a library with one fat binary: a container of one entry, SASS for sm_80.
const fatbinSource = `__attribute__((section(".nv_fatbin"), used)) static const unsigned fatbin[] = {
	0xBA55ED50, 0x00100001, 64, 0, 0x01010002, 64, 0, 0, 0, 0, 0x00010007, 80, 0, 0, 0x11, 0, 0, 0, 0, 0};
int cuda(void) { return 0; }
`

// TestDebianTorch reads a torch as Debian's python3-torch-cuda 2.6.0+dfsg-7 is laid out: its libraries are the
// system's, and torch/lib has links to all but the one with the machine code.
func TestDebianTorch(t *testing.T) {
	root := t.TempDir()
	const lib, torch = "usr/lib/x86_64-linux-gnu/", "usr/lib/python3/dist-packages/torch/"
	hosttest.Compile(t, root,
		hosttest.Library{Name: lib + "libtorch_cuda.so.2.6", Source: fatbinSource},
		hosttest.Library{Name: lib + "libtorch.so.2.6", Source: "int cuda(void); int torch(void) { return cuda(); }\n",
			Needs: []string{lib + "libtorch_cuda.so.2.6"}})
	hosttest.Write(t, filepath.Join(root, lib+"libc.so.6"), "")
	hosttest.Link(t, root, "usr/lib", "lib")
	if err := os.MkdirAll(filepath.Join(root, torch+"lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	hosttest.Link(t, root, "../../../../x86_64-linux-gnu/libtorch.so.2.6", torch+"lib/libtorch.so")
	hosttest.Write(t, filepath.Join(root, torch+"version.py"),
		"__version__ = '2.6.0+debian'\ncuda: Optional[str] = '12.4'\n")
	h := &host.Host{Root: root}
	b, err := torchBuild(h, &pyenv.Site{Dir: "/" + filepath.Dir(filepath.Clean(torch)), Dists: nil})
	if err != nil || strings.Join(b.SASS, " ") != "sm_80" || b.Origin != "distribution" {
		t.Errorf("%+v, %v", b, err)
	}
}
